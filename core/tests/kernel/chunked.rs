//! K3, K4: a native game whose state is a chunked array, and what a pool of released states must not change.

use retick_core::chunked::Chunked;
use retick_core::config::{ConfigSchema, SessionConfig};
use retick_core::digest::Checksum;
use retick_core::frame::{Frame, SeatFrame};
use retick_core::identity::MatchDescriptor;
use retick_core::input::{GameInput, InputSchema};
use retick_core::rng::SessionSeed;
use retick_core::runtime::{
    AdvanceError, Capabilities, Checkpoint, GameDescription, InitContext, Keep, NativeFactory, NoCommand, Output,
    Runtime, RuntimeFactory, Simulation, StepBatch, StepContext,
};
use retick_core::seat::{Generation, Seat, SeatCount};
use retick_core::tick::{Tick, TickRate};
use serde::{Deserialize, Serialize, Serializer};

use crate::counter::Add;

/// Three chunks and a part of a fourth.
const PLOTS: usize = 7_000;
/// The input that makes a state without canonical form.
const SPOIL: i64 = 99;

/// Cloned field by field where that can be derived, so that its chunks are used again.
#[cfg_attr(feature = "derive", derive(retick_core::chunked::CheckpointClone))]
#[cfg_attr(not(feature = "derive"), derive(Clone))]
#[derive(Serialize, Deserialize)]
struct Field {
    ground: Chunked<u16>,
    harvest: Chunked<u32>,
    #[serde(serialize_with = "unspoilt")]
    spoilt: bool,
}

fn unspoilt<S: Serializer>(spoilt: &bool, serializer: S) -> Result<S::Ok, S::Error> {
    if *spoilt {
        return Err(serde::ser::Error::custom("spoilt"));
    }
    serializer.serialize_bool(false)
}

impl Simulation for Field {
    type Input = Add;
    type Command = NoCommand;

    fn describe() -> GameDescription {
        GameDescription {
            tick_rate: TickRate::Hz60,
            state_schema: "field/v1",
            config_schema: ConfigSchema::empty(),
            seats: 1..=1,
            capabilities: Capabilities::default(),
        }
    }

    fn init(_: &InitContext<'_>) -> Result<Self, u32> {
        let mut ground = Chunked::new();
        ground.resize(PLOTS, 1);
        Ok(Field { ground, harvest: Chunked::new(), spoilt: false })
    }

    /// Ploughs 500 plots at a moving place, and grows and shrinks a list across a chunk's end.
    fn step(&mut self, context: &StepContext<'_, Self>) {
        let (tick, input) = (context.tick().index() as usize, context.input(Seat::new(0).unwrap()).0);
        let start = tick * 500 % (PLOTS - 500);
        self.ground.for_each_chunk_mut(start..start + 500, |_, plots| {
            plots.iter_mut().for_each(|plot| *plot = plot.wrapping_mul(31).wrapping_add(input.unsigned_abs() as u16));
        });
        self.harvest.extend((0..700).map(|number| number + tick as u32));
        self.harvest.truncate(self.harvest.len() * 2 / 3);
        self.spoilt = input == SPOIL;
    }
}

fn runtime() -> Box<dyn Runtime> {
    let factory = NativeFactory::<Field>::new(|m| m.module("chunked.rs", include_bytes!("chunked.rs"))).unwrap();
    let seats = SeatCount::new(1).unwrap();
    let descriptor = MatchDescriptor::new(factory.manifest(), SessionConfig::empty(), SessionSeed::from_u64(9), seats);
    factory.create(&descriptor).unwrap()
}

fn schema() -> InputSchema {
    Add::schema()
}

/// Steps with these inputs and keeps the same of every state.
fn advance(runtime: &mut dyn Runtime, inputs: &[i64], keep: Keep) -> Result<Output, AdvanceError> {
    let (mut batch, mut output) = (StepBatch::default(), Output::default());
    batch.reset(runtime.tick());
    for (input, tick) in inputs.iter().zip(runtime.tick().index()..) {
        let mut frame = Frame::new(Generation(0), Tick::new(tick));
        let packed = schema().pack(&Add(*input)).unwrap();
        frame.push_seat(SeatFrame { input: Some(&packed), ..SeatFrame::default() });
        batch.push_frame(&frame, &schema(), keep);
    }
    runtime.advance(&batch, &mut output).map(|()| output)
}

fn export(runtime: &mut dyn Runtime, checkpoint: Checkpoint) -> Vec<u8> {
    let mut bytes = vec![];
    runtime.export(checkpoint, 0, usize::MAX, &mut bytes).unwrap();
    bytes
}

fn checksum(runtime: &mut dyn Runtime) -> Checksum {
    let mut output = Output::default();
    runtime.keep(Keep::CHECKSUM, &mut output).unwrap();
    output.kept[0].checksum.unwrap()
}

#[test]
fn k3_k4_a_chunked_state_restores_the_same_bytes_each_time() {
    let mut runtime = runtime();
    advance(runtime.as_mut(), &[1; 20], Keep::CHECKPOINT).unwrap();
    let output = advance(runtime.as_mut(), &[2; 10], Keep::CHECKPOINT | Keep::CHECKSUM).unwrap();
    let base = output.kept[4].clone();
    let (checkpoint, bytes) = (base.checkpoint.unwrap(), export(runtime.as_mut(), base.checkpoint.unwrap()));
    assert_eq!(base.checksum, Some(Checksum::of(&bytes)));
    let mut ends = vec![];
    for turn in 0..60 {
        runtime.restore(checkpoint).unwrap();
        assert_eq!((runtime.tick(), checksum(runtime.as_mut())), (base.tick, Checksum::of(&bytes)), "turn {turn}");
        // Another future each time, so that whatever it shares with the checkpoint would show.
        let future = advance(runtime.as_mut(), &[turn % 3; 9], Keep::CHECKPOINT | Keep::CHECKSUM).unwrap();
        ends.push(future.kept[8].checksum);
        assert_eq!(export(runtime.as_mut(), future.kept[3].checkpoint.unwrap()).len(), bytes_at(&future, 3));
    }
    assert!(ends.iter().zip(&ends[3..]).all(|(end, again)| end == again), "the same future has the same end");
    assert!(ends[0] != ends[1] && ends[1] != ends[2], "guard: the futures differ");
}

/// Bytes of the state kept at `index`: the tick, two lengths, the elements and the flag.
fn bytes_at(output: &Output, index: usize) -> usize {
    let harvest = (0..output.kept[index].tick.index()).fold(0_usize, |count, _| (count + 700) * 2 / 3);
    8 + 8 + PLOTS * 2 + 8 + harvest * 4 + 1
}

#[test]
fn k4_a_state_that_takes_the_place_of_a_released_one_exports_its_own_bytes() {
    let mut runtime = runtime();
    let first = advance(runtime.as_mut(), &[1], Keep::CHECKPOINT | Keep::CHECKSUM).unwrap().kept.remove(0);
    let old = export(runtime.as_mut(), first.checkpoint.unwrap());
    runtime.release(first.checkpoint.unwrap()).unwrap();
    let second = advance(runtime.as_mut(), &[2], Keep::CHECKPOINT).unwrap().kept.remove(0);
    let new = export(runtime.as_mut(), second.checkpoint.unwrap());
    assert_eq!((first.checksum, checksum(runtime.as_mut())), (Some(Checksum::of(&old)), Checksum::of(&new)));
    assert_ne!(old, new);
}

#[test]
fn k2_a_batch_that_fails_leaves_a_chunked_state_as_it_was() {
    let mut runtime = runtime();
    let output = advance(runtime.as_mut(), &[1; 12], Keep::CHECKPOINT).unwrap();
    let (before, tick) = (checksum(runtime.as_mut()), runtime.tick());
    for _ in 0..4 {
        let failed = advance(runtime.as_mut(), &[3, 4, SPOIL, 5], Keep::CHECKPOINT | Keep::CHECKSUM);
        assert!(matches!(failed, Err(AdvanceError::Capture { tick, .. }) if tick == Tick::new(15)), "{failed:?}");
        assert_eq!((checksum(runtime.as_mut()), runtime.tick()), (before, tick));
    }
    // The checkpoints from before are there, and each is still its own state.
    for kept in output.kept.iter().rev() {
        let checkpoint = kept.checkpoint.unwrap();
        let bytes = export(runtime.as_mut(), checkpoint);
        runtime.restore(checkpoint).unwrap();
        assert_eq!((runtime.tick(), checksum(runtime.as_mut())), (kept.tick, Checksum::of(&bytes)));
    }
    assert_ne!(checksum(runtime.as_mut()), before);
}

#[test]
fn k3_a_chunked_state_goes_on_from_its_bytes() {
    let (mut donor, mut joiner) = (runtime(), runtime());
    let kept = advance(donor.as_mut(), &[1; 10], Keep::CHECKPOINT).unwrap().kept.remove(9);
    let bytes = export(donor.as_mut(), kept.checkpoint.unwrap());
    advance(joiner.as_mut(), &[2; 3], Keep::CHECKPOINT).unwrap();
    joiner.hydrate(Tick::new(10), &bytes).unwrap();
    let both = [donor, joiner].map(|mut runtime| {
        advance(runtime.as_mut(), &[5; 30], Keep::CHECKPOINT).unwrap();
        checksum(runtime.as_mut())
    });
    assert_eq!(both[0], both[1]);
}

thread_local! {
    /// How many clones are still allowed on this thread.
    static CLONES_LEFT: std::cell::Cell<u32> = const { std::cell::Cell::new(u32::MAX) };
}

#[derive(PartialEq, Eq, Debug)]
struct Fragile(u64);

impl Clone for Fragile {
    fn clone(&self) -> Fragile {
        let left = CLONES_LEFT.with(|left| left.replace(left.get().saturating_sub(1)));
        assert!(left > 0, "no more clones");
        Fragile(self.0)
    }
}

/// An element's `clone` that panics in the middle of a change leaves the container whole: as long as it says, with elements that
/// were there, and the one that shares its chunks untouched.
#[test]
fn k3_a_clone_that_panics_leaves_a_chunked_state_whole() {
    type Change = fn(&mut Chunked<Fragile>);
    let changes: [(u64, Change); 6] = [
        (10, |items| items.resize(100, Fragile(7))),
        (600, |items| items.resize(3_000, Fragile(7))),
        (10, |items| items.truncate(5)),
        (9_000, |items| items.truncate(5)),
        (10, |items| assert!(items.pop().is_some())),
        (512, |items| items.push(Fragile(1))),
    ];
    let mut panicked = 0;
    for (length, change) in changes {
        for clones in [0, 1, 3, 700] {
            let mut items: Chunked<Fragile> = (0..length).map(Fragile).collect();
            let shared = items.clone();
            CLONES_LEFT.set(clones);
            let changed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| change(&mut items)));
            CLONES_LEFT.set(u32::MAX);
            panicked += u32::from(changed.is_err());
            assert_eq!(items.iter().count(), items.len());
            assert!(items.iter().zip(0..length).all(|(item, number)| item.0 == number));
            assert_eq!(items.get(items.len()), None);
            let place = items.len();
            items.push(Fragile(12_345));
            assert_eq!(items.get(place), Some(&Fragile(12_345)));
            assert!(shared.iter().map(|item| item.0).eq(0..length));
        }
    }
    assert!(panicked > 10, "guard: {panicked} changes panicked");
}
