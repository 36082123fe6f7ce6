//! Games written in Rust: the small [`Simulation`] trait, and the adapter that makes a whole runtime of it (K3).

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::marker::PhantomData;
use core::ops::RangeInclusive;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::spare::Spares;
use super::{
    AdvanceError, Capabilities, Checkpoint, CheckpointError, CheckpointTable, CreateError, HydrateError, Keep, Kept,
    Output, Runtime, RuntimeFactory, StepBatch, StepView, check_descriptor,
};
use crate::codec::canonical;
use crate::config::{ConfigSchema, ConfigValues};
use crate::digest::{Checksum, Digest};
use crate::event::{EventCollector, EventId, EventSink};
use crate::frame::CommandSource;
use crate::identity::{IdentityManifest, ManifestBuilder, ManifestError, MatchDescriptor};
use crate::input::{GameInput, InputSchema};
use crate::rng::{RngStream, SessionSeed};
use crate::seat::{ControlEpoch, Presence, Seat, SeatCount};
use crate::tick::{Tick, TickRate};

/// What a game says of itself before any match.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GameDescription {
    /// Ticks per second.
    pub tick_rate: TickRate,
    /// Id of the state's schema, for example `"my-game/state/v1"`.
    pub state_schema: &'static str,
    /// Schema of the session config.
    pub config_schema: ConfigSchema,
    /// How many seats the game takes.
    pub seats: RangeInclusive<u8>,
    /// Whether it decodes commands and projects.
    pub capabilities: Capabilities,
}

/// The command type of a game that has none: no value of it exists.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NoCommand {}

/// A game's rules. The same implementation runs natively, by [`NativeFactory`], and as a WASM module, by `retick-guest`.
///
/// Nothing in here may read a clock, OS randomness, an unordered map or an address: the step's arguments and `self` are all
/// that a state may depend on.
pub trait Simulation: Sized {
    /// The game's input.
    type Input: GameInput;
    /// The game's command; [`NoCommand`] for none.
    type Command;

    /// What the game is, before any match.
    fn describe() -> GameDescription;

    /// `S(0)` of a match.
    ///
    /// # Errors
    /// A code of the game's own when it can't be played so; it reaches the caller as [`CreateError::Refused`].
    fn init(context: &InitContext<'_>) -> Result<Self, u32>;

    /// One tick: turns `S(t)` into `S(t+1)`.
    fn step(&mut self, context: &StepContext<'_, Self>);

    /// Appends what presentation shows of the state (K9). The format is the game's own.
    fn project(&self, out: &mut Vec<u8>) {
        let _ = out;
    }

    /// Decodes a command; `None` for a malformed one, which is skipped and counted everywhere (K7).
    fn decode_command(payload: &[u8]) -> Option<Self::Command> {
        let _ = payload;
        None
    }
}

/// What a game knows when a match begins.
#[derive(Clone, Copy, Debug)]
pub struct InitContext<'a> {
    /// How many seats the match has.
    pub seats: SeatCount,
    /// Ticks per second.
    pub tick_rate: TickRate,
    /// The session config's values, already checked against the schema.
    pub config: &'a ConfigValues,
    /// The seed of the match.
    pub seed: &'a SessionSeed,
}

impl InitContext<'_> {
    /// The random stream of this name. Keep it in the state: that is what rolls it back (K6).
    pub fn rng(&self, name: &str) -> RngStream {
        RngStream::derive(self.seed, name)
    }
}

/// What a step sees (K8).
#[derive(Debug)]
pub struct StepContext<'a, S: Simulation> {
    view: StepView<'a>,
    schema: &'a InputSchema,
    commands: &'a [(CommandSource, S::Command)],
    tick_rate: TickRate,
    events: Option<&'a dyn EventSink>,
}

impl<'a, S: Simulation> StepContext<'a, S> {
    /// A context for one step, whose events go nowhere; adapters build it, games only read it.
    pub fn new(
        view: StepView<'a>,
        schema: &'a InputSchema,
        commands: &'a [(CommandSource, S::Command)],
        tick_rate: TickRate,
    ) -> Self {
        StepContext { view, schema, commands, tick_rate, events: None }
    }

    /// The same context, whose events go to `events`.
    #[must_use]
    pub fn with_events(self, events: &'a dyn EventSink) -> Self {
        StepContext { events: Some(events), ..self }
    }

    /// The tick: 0 for the first step of a match.
    pub fn tick(&self) -> Tick {
        self.view.tick()
    }

    /// Ticks per second.
    pub fn tick_rate(&self) -> TickRate {
        self.tick_rate
    }

    /// The seats of the match, in order.
    pub fn seats(&self) -> impl Iterator<Item = Seat> + use<S> {
        Seat::first(self.view.seat_count())
    }

    /// The input of `seat`; neutral for a seat without one.
    #[inline]
    pub fn input(&self, seat: Seat) -> S::Input {
        let packed = self.view.input(seat).unwrap_or(self.schema.neutral());
        self.schema.unpack_validated(packed)
    }

    /// Every seat with its input, in order.
    #[inline]
    pub fn inputs(&self) -> impl ExactSizeIterator<Item = (Seat, S::Input)> {
        let schema = self.schema;
        let inputs = self.view.inputs().map(move |packed| schema.unpack_validated(packed));
        Seat::first(self.view.seat_count()).zip(inputs)
    }

    /// Whether the input of `seat` stands in for one that came too late.
    pub fn substituted(&self, seat: Seat) -> bool {
        self.view.seat(seat).is_some_and(|seat| seat.substituted)
    }

    /// Whether the input of `seat` was malformed, and is neutral therefore.
    pub fn malformed(&self, seat: Seat) -> bool {
        self.view.seat(seat).is_some_and(|seat| seat.malformed)
    }

    /// Who drives `seat`.
    pub fn presence(&self, seat: Seat) -> Presence {
        self.view.seat(seat).map_or(Presence::Empty, |seat| seat.presence)
    }

    /// Since which change of drivers `seat` is driven so.
    pub fn epoch(&self, seat: Seat) -> ControlEpoch {
        self.view.seat(seat).map_or(ControlEpoch(0), |seat| seat.epoch)
    }

    /// The commands of this tick, in the authority's order.
    pub fn commands(&self) -> &'a [(CommandSource, S::Command)] {
        self.commands
    }

    /// Emits a one-shot event for presentation (K10): emit it in every execution, and let the session tell them apart. Beyond
    /// [`MAX_EVENTS_PER_TICK`](crate::event::MAX_EVENTS_PER_TICK) and its fellows it is dropped and counted.
    pub fn emit(&self, id: EventId, payload: &[u8]) {
        if let Some(events) = self.events {
            events.emit(id, payload);
        }
    }
}

/// How a game's state becomes bytes and comes back: both halves or neither (K3). The bytes must be canonical: equal states
/// give equal bytes, and nothing but what can influence a later step stands in them.
pub trait StateCodec<S> {
    /// Appends the canonical bytes of `state`.
    ///
    /// # Errors
    /// [`canonical::EncodeError`] naming the value that has no canonical form.
    fn encode(state: &S, out: &mut Vec<u8>) -> Result<(), canonical::EncodeError>;

    /// The state with these canonical bytes, or `None`.
    fn decode(bytes: &[u8]) -> Option<S>;
}

/// The codec of any state that is `serde`: the kernel's own canonical form (K13).
#[derive(Clone, Copy, Debug)]
pub enum SerdeState {}

impl<S: Serialize + DeserializeOwned> StateCodec<S> for SerdeState {
    fn encode(state: &S, out: &mut Vec<u8>) -> Result<(), canonical::EncodeError> {
        canonical::encode_into(state, out)
    }

    fn decode(bytes: &[u8]) -> Option<S> {
        canonical::decode(bytes).ok()
    }
}

/// Makes native runtimes of one game.
pub struct NativeFactory<S, C = SerdeState> {
    manifest: IdentityManifest,
    description: GameDescription,
    game: PhantomData<fn() -> (S, C)>,
}

/// Raised only when the native adapter computes other bits for the same game.
const NATIVE_REVISION: u32 = 1;

impl<S: Simulation> NativeFactory<S> {
    /// A factory whose states use the kernel's canonical form. `sources` adds the game's module manifest: every source file and
    /// dependency that can change a bit.
    ///
    /// # Errors
    /// [`ManifestError`] when the manifest can't be.
    pub fn new(sources: impl FnOnce(ManifestBuilder) -> ManifestBuilder) -> Result<Self, ManifestError> {
        NativeFactory::with_codec(sources)
    }
}

impl<S: Simulation, C> NativeFactory<S, C> {
    /// A factory whose states use the game's own codec.
    ///
    /// # Errors
    /// [`ManifestError`] when the manifest can't be.
    pub fn with_codec(sources: impl FnOnce(ManifestBuilder) -> ManifestBuilder) -> Result<Self, ManifestError> {
        let description = S::describe();
        let builder = IdentityManifest::builder("native", NATIVE_REVISION, description.tick_rate)
            .capabilities(description.capabilities)
            .input_schema(S::Input::schema())
            .state_schema(description.state_schema)
            .config_schema(description.config_schema.clone())
            .setting("least-seats", u64::from(*description.seats.start()))
            .setting("most-seats", u64::from(*description.seats.end()));
        let manifest = sources(builder).build()?;
        Ok(NativeFactory { manifest, description, game: PhantomData })
    }
}

impl<S, C> RuntimeFactory for NativeFactory<S, C>
where
    S: Simulation + Clone + Send + 'static,
    S::Command: Send,
    C: StateCodec<S> + 'static,
{
    fn manifest(&self) -> &IdentityManifest {
        &self.manifest
    }

    fn create(&self, descriptor: &MatchDescriptor) -> Result<Box<dyn Runtime>, CreateError> {
        Ok(Box::new(NativeRuntime::<S, C>::new(&self.manifest, &self.description, descriptor)?))
    }
}

/// A native game behind the [`Runtime`] trait. A checkpoint is a clone of the state.
///
/// A released checkpoint's state is kept and overwritten by a later one, with `clone_from`: a state whose `clone_from` uses
/// its own memory again, as [`CheckpointClone`](crate::chunked) derives it, is checkpointed without allocations. Where most
/// of a large state stays the same from tick to tick, keep it in a [`Chunked`](crate::chunked::Chunked).
pub struct NativeRuntime<S: Simulation, C = SerdeState> {
    manifest: IdentityManifest,
    descriptor: Digest,
    capabilities: Capabilities,
    seats: SeatCount,
    state: S,
    tick: Tick,
    checkpoints: CheckpointTable<S>,
    spares: Spares<S>,
    /// The bytes of checkpoints that are being exported in pieces.
    exported: Vec<(Checkpoint, Vec<u8>)>,
    commands: Vec<(CommandSource, S::Command)>,
    command_ends: Vec<usize>,
    scratch: Vec<u8>,
    codec: PhantomData<fn() -> C>,
}

impl<S: Simulation + Clone, C: StateCodec<S>> NativeRuntime<S, C> {
    fn new(
        manifest: &IdentityManifest,
        description: &GameDescription,
        descriptor: &MatchDescriptor,
    ) -> Result<Self, CreateError> {
        check_descriptor(manifest, descriptor)?;
        let (least, most) = (usize::from(*description.seats.start()), usize::from(*description.seats.end()));
        let seats = descriptor.seats();
        if !(least..=most).contains(&seats.count()) {
            return Err(CreateError::Seats { seats: seats.count(), least, most });
        }
        let digest = descriptor.config().digest();
        let config = manifest.config_schema().decode(descriptor.config().bytes());
        let config = config.map_err(|error| CreateError::Config { digest, error })?;
        let (tick_rate, seed) = (descriptor.tick_rate(), descriptor.seed());
        let state = S::init(&InitContext { seats, tick_rate, config: &config, seed });
        Ok(NativeRuntime {
            manifest: manifest.clone(),
            descriptor: descriptor.digest(),
            capabilities: description.capabilities,
            seats,
            state: state.map_err(|code| CreateError::Refused { code, log: Vec::new() })?,
            tick: Tick::ZERO,
            checkpoints: CheckpointTable::default(),
            spares: Spares::new(),
            exported: Vec::new(),
            commands: Vec::new(),
            command_ends: Vec::new(),
            scratch: Vec::new(),
            codec: PhantomData,
        })
    }

    /// The game's state, for a renderer that shares the process. What it reads is what the last call left.
    pub fn state(&self) -> &S {
        &self.state
    }

    /// Decodes every command of the batch before the first step (K7), and notes where each step's commands end; nothing is noted
    /// when there is none.
    fn decode_commands(&mut self, batch: &StepBatch) -> u64 {
        self.commands.clear();
        self.command_ends.clear();
        let mut malformed = 0;
        if !batch.has_commands() {
            return malformed;
        }
        for view in batch.steps() {
            for (source, payload) in view.commands() {
                match S::decode_command(payload) {
                    Some(command) => self.commands.push((source, command)),
                    None => malformed += 1,
                }
            }
            self.command_ends.push(self.commands.len());
        }
        malformed
    }

    fn run(&mut self, batch: &StepBatch, output: &mut Output) -> Result<(), AdvanceError> {
        let mut start = 0;
        for (index, view) in batch.steps().enumerate() {
            let end = self.command_ends.get(index).copied().unwrap_or(start);
            let (schema, tick_rate) = (self.manifest.input_schema(), self.manifest.tick_rate());
            output.events.begin_tick(view.tick());
            let events = EventCollector::new(&mut output.events);
            let commands = self.commands.get(start..end).unwrap_or_default();
            self.state.step(&StepContext { view, schema, commands, tick_rate, events: Some(&events) });
            self.tick = view.tick().saturating_add(1);
            start = end;
            self.keep_current(view.keep(), output)?;
        }
        Ok(())
    }

    fn keep_current(&mut self, keep: Keep, output: &mut Output) -> Result<(), AdvanceError> {
        if keep == Keep::NOTHING {
            return Ok(());
        }
        let checksum = if keep.contains(Keep::CHECKSUM) {
            self.scratch.clear();
            encode_state::<S, C>(self.tick, &self.state, &mut self.scratch)
                .map_err(|error| AdvanceError::Capture { tick: self.tick, error })?;
            Some(Checksum::of(&self.scratch))
        } else {
            None
        };
        let checkpoint = keep.contains(Keep::CHECKPOINT).then(|| {
            let saved = self.save();
            self.checkpoints.issue(self.tick, saved)
        });
        let projection = keep.contains(Keep::PROJECTION).then(|| {
            let start = output.projections.len();
            self.state.project(&mut output.projections);
            start..output.projections.len()
        });
        output.kept.push(Kept { tick: self.tick, checkpoint, checksum, projection });
        Ok(())
    }

    fn save(&mut self) -> S {
        let Some(mut saved) = self.spares.take() else { return self.state.clone() };
        saved.clone_from(&self.state);
        saved
    }

    /// Forgets the bytes of checkpoints that are gone. Few are ever exported.
    fn forget_exported(&mut self) {
        let checkpoints = &mut self.checkpoints;
        self.exported.retain(|(checkpoint, _)| checkpoints.get(*checkpoint).is_ok());
    }
}

/// The canonical bytes of a native state: its tick, then the game's own.
fn encode_state<S, C: StateCodec<S>>(tick: Tick, state: &S, out: &mut Vec<u8>) -> Result<(), canonical::EncodeError> {
    out.extend_from_slice(&tick.index().to_le_bytes());
    C::encode(state, out)
}

impl<S, C> Runtime for NativeRuntime<S, C>
where
    S: Simulation + Clone + Send,
    S::Command: Send,
    C: StateCodec<S>,
{
    fn manifest(&self) -> &IdentityManifest {
        &self.manifest
    }

    fn descriptor_digest(&self) -> Digest {
        self.descriptor
    }

    fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    fn tick(&self) -> Tick {
        self.tick
    }

    fn advance(&mut self, batch: &StepBatch, output: &mut Output) -> Result<(), AdvanceError> {
        if batch.first() != self.tick {
            return Err(AdvanceError::NotCurrent { first: batch.first(), current: self.tick });
        }
        let expected = self.seats.count();
        if let Some(found) = batch.other_seat_count(expected) {
            return Err(AdvanceError::Seats { found, expected });
        }
        self.tick.checked_add(batch.len() as u64).ok_or(AdvanceError::TickRange)?;
        let malformed_commands = self.decode_commands(batch);
        // Only capturing a checksum can fail here, so only then is there something to go back to.
        let captures = batch.keeps_any(Keep::CHECKSUM);
        let before = captures.then(|| (self.save(), self.tick, self.checkpoints.len()));
        let (kept, projected, events) = (output.kept.len(), output.projections.len(), output.events.mark());
        let ran = self.run(batch, output);
        if let (Err(_), Some((before, tick, checkpoints))) = (&ran, &before) {
            self.state.clone_from(before);
            self.tick = *tick;
            while self.checkpoints.len() > *checkpoints {
                let Some(issued) = self.checkpoints.pop() else { break };
                self.spares.put(issued);
            }
            output.kept.truncate(kept);
            output.projections.truncate(projected);
            output.events.truncate(events);
        } else {
            output.malformed_commands += malformed_commands;
        }
        if let Some((before, ..)) = before {
            self.spares.put(before);
        }
        ran
    }

    fn keep(&mut self, keep: Keep, output: &mut Output) -> Result<(), AdvanceError> {
        self.keep_current(keep, output)
    }

    fn restore(&mut self, checkpoint: Checkpoint) -> Result<(), CheckpointError> {
        self.state.clone_from(self.checkpoints.get(checkpoint)?);
        self.tick = checkpoint.tick();
        while let Some(younger) = self.checkpoints.pop_younger(checkpoint) {
            self.spares.put(younger);
        }
        self.forget_exported();
        Ok(())
    }

    fn release(&mut self, checkpoint: Checkpoint) -> Result<(), CheckpointError> {
        let released = self.checkpoints.release(checkpoint)?;
        self.spares.put(released);
        self.forget_exported();
        Ok(())
    }

    fn export(
        &mut self,
        checkpoint: Checkpoint,
        offset: u64,
        max_bytes: usize,
        out: &mut Vec<u8>,
    ) -> Result<u64, CheckpointError> {
        let state = self.checkpoints.get(checkpoint)?;
        if !self.exported.iter().any(|(exported, _)| *exported == checkpoint) {
            let (tick, mut bytes) = (checkpoint.tick(), Vec::new());
            let encoded = encode_state::<S, C>(tick, state, &mut bytes);
            encoded.map_err(|error| CheckpointError::Capture { tick, error })?;
            self.exported.push((checkpoint, bytes));
        }
        let exported = self.exported.iter().find(|(exported, _)| *exported == checkpoint);
        let bytes = exported.map(|(_, bytes)| bytes.as_slice()).unwrap_or_default();
        let rest = usize::try_from(offset).ok().and_then(|offset| bytes.get(offset..)).unwrap_or_default();
        out.extend_from_slice(&rest[..rest.len().min(max_bytes)]);
        let total = bytes.len() as u64;
        if rest.len() <= max_bytes {
            // Its last piece is out. Whoever wants it once more waits once more.
            self.exported.retain(|(exported, _)| *exported != checkpoint);
        }
        Ok(total)
    }

    fn hydrate(&mut self, tick: Tick, canonical_state: &[u8]) -> Result<(), HydrateError> {
        let (found, body) = canonical_state.split_first_chunk().ok_or(HydrateError::Malformed)?;
        let found = Tick::new(u64::from_le_bytes(*found));
        if found != tick {
            return Err(HydrateError::Tick { expected: tick, found });
        }
        let state = C::decode(body).ok_or(HydrateError::Malformed)?;
        self.scratch.clear();
        encode_state::<S, C>(tick, &state, &mut self.scratch).map_err(|_| HydrateError::Malformed)?;
        if self.scratch != canonical_state {
            let equal = self.scratch.iter().zip(canonical_state).take_while(|(a, b)| a == b).count();
            return Err(HydrateError::NotCanonical { offset: equal as u64 });
        }
        while self.checkpoints.pop().is_some() {}
        self.spares.clear();
        self.exported.clear();
        (self.state, self.tick) = (state, tick);
        Ok(())
    }
}
