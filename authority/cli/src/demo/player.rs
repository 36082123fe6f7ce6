//! What is observed of one player: its confirmed timeline up to the last compared state, and what that cost.

use retick_core::client::{Client, ClientEvent};
use retick_core::digest::{Checksum, Digest};
use retick_core::frame::{Frame, FrameChain};
use retick_core::identity::MatchDescriptor;
use retick_core::replay::Recorder;
use retick_core::runtime::RuntimeFactory;
use retick_core::seat::Seat;
use retick_core::session::SessionEvent;
use retick_core::tick::Tick;

use skirmish::{Command, EMOTES};

use super::Plan;

/// Follows one client's events.
pub struct Observer {
    descriptor: MatchDescriptor,
    ticks: Tick,
    chain: FrameChain,
    /// Records the match, if this is the player who does.
    recorder: Option<Recorder>,
    /// What was seen.
    pub seen: Seen,
}

/// What was seen of one player's match.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// Its seat.
    pub seat: Option<Seat>,
    /// Confirmed ticks, up to the last compared state.
    pub confirmed: Tick,
    /// Depth of each rollback, in ticks.
    pub rollback_depths: Vec<u64>,
    /// Times that the seat was resumed on a new connection.
    pub reconnects: u64,
    /// Inputs of each seat that the room substituted, in seat order.
    pub substitutions: Vec<u64>,
    /// Checksums of confirmed states.
    pub checksums: Vec<(Tick, Checksum)>,
    /// Desyncs that the room announced.
    pub desyncs: u64,
    /// Head of the frame chain over the compared ticks.
    pub chain_head: Option<Digest>,
    /// Commands that were confirmed.
    pub commands: u64,
}

impl Observer {
    pub fn new(plan: &Plan, records: Records) -> Observer {
        let recorder = match records {
            Records::Match => Some(Recorder::new(plan.factory.manifest(), &plan.descriptor)),
            Records::Nothing => None,
        };
        let seen = Seen { substitutions: vec![0; plan.descriptor.seats().count()], ..Seen::default() };
        let chain = FrameChain::new(&plan.descriptor);
        Observer { descriptor: plan.descriptor.clone(), ticks: plan.ticks, chain, recorder, seen }
    }

    /// Takes one event of the client's.
    pub fn take(&mut self, event: &ClientEvent) {
        match event {
            ClientEvent::Joined { seat, resumed } => {
                self.seen.seat = Some(*seat);
                self.seen.reconnects += u64::from(*resumed);
            }
            ClientEvent::Session(SessionEvent::Confirmed(frame)) => self.take_frame(frame),
            ClientEvent::Session(SessionEvent::Checksum { tick, checksum }) => self.take_checksum(*tick, *checksum),
            ClientEvent::Session(SessionEvent::RolledBack { from, to }) => self.take_rollback(*from, *to),
            ClientEvent::Desync { .. } => self.seen.desyncs += 1,
            _ => {}
        }
    }

    /// Takes the checksum of a confirmed state.
    pub fn take_checksum(&mut self, tick: Tick, checksum: Checksum) {
        if tick > self.ticks {
            return;
        }
        self.seen.checksums.push((tick, checksum));
        if let Some(recorder) = &mut self.recorder {
            recorder.push_checksum(tick, checksum);
        }
    }

    /// Takes a rollback.
    pub fn take_rollback(&mut self, from: Tick, to: Tick) {
        if from < self.ticks {
            self.seen.rollback_depths.push(to.since(from));
        }
    }

    /// Takes a confirmed frame.
    pub fn take_frame(&mut self, frame: &Frame) {
        if frame.tick() >= self.ticks {
            return;
        }
        self.chain.extend(frame);
        if let Some(recorder) = &mut self.recorder {
            recorder.push_frame(frame);
        }
        for seat in self.descriptor.seats().seats().filter(|seat| frame.substituted().contains(*seat)) {
            self.seen.substitutions[seat.index()] += 1;
        }
        self.seen.commands += frame.commands().len() as u64;
        self.seen.confirmed = frame.tick().saturating_add(1);
        if self.is_done() {
            self.seen.chain_head = Some(self.chain.head());
        }
    }

    /// Whether every tick that is compared was confirmed.
    pub fn is_done(&self) -> bool {
        self.seen.confirmed >= self.ticks
    }

    /// The finished recording, if this player records.
    pub fn finish_recording(&mut self) -> Option<Vec<u8>> {
        let recorder = self.recorder.as_mut()?;
        recorder.finish();
        Some(recorder.take_bytes())
    }
}

/// Whether a player records.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Records {
    /// The whole match.
    Match,
    /// Nothing: somebody else does.
    Nothing,
}

/// Between two commands of one player, in ticks.
const COMMAND_EVERY_TICKS: u64 = 240;

/// The command that a player requests next, once its time has come: emotes and colours in turn.
pub fn due_command(client: &Client, requested: u64) -> Option<[u8; 2]> {
    let session = client.session()?;
    if session.confirmed().index() < (requested + 1) * COMMAND_EVERY_TICKS {
        return None;
    }
    let index = u8::try_from(requested % u64::from(EMOTES)).unwrap_or(0);
    let command = if requested.is_multiple_of(2) { Command::Emote(index) } else { Command::Colour(index) };
    Some(command.encode())
}
