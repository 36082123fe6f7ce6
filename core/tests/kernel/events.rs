//! K10: a native runtime emits what its steps emit, and nothing of a batch that failed.

use retick_core::config::{ConfigSchema, SessionConfig};
use retick_core::event::EventId;
use retick_core::identity::MatchDescriptor;
use retick_core::input::{GameInput, InputSchema, Packer, Unpacker};
use retick_core::rng::SessionSeed;
use retick_core::runtime::{
    AdvanceError, Capabilities, GameDescription, InitContext, Keep, NativeFactory, NoCommand, Output, Runtime,
    RuntimeFactory, SeatStep, Simulation, StepBatch, StepContext,
};
use retick_core::seat::{ControlEpoch, Presence, SeatCount};
use retick_core::tick::{Tick, TickRate};
use serde::{Deserialize, Serialize, Serializer};

/// Emits as many events as its input says. From `S(8)` on it has no canonical form.
#[derive(Clone, Serialize, Deserialize)]
pub struct Bells(#[serde(serialize_with = "brittle")] u64);

fn brittle<S: Serializer>(ticks: &u64, serializer: S) -> Result<S::Ok, S::Error> {
    if *ticks >= 8 { Err(serde::ser::Error::custom("no canonical form")) } else { serializer.serialize_u64(*ticks) }
}

#[derive(Clone)]
pub struct Pulls(i64);

impl GameInput for Pulls {
    fn schema() -> InputSchema {
        InputSchema::builder("pulls/v1").integer("pulls", 0..=255).build().unwrap()
    }

    fn pack(&self, packer: &mut Packer<'_>) {
        packer.integer(self.0);
    }

    fn unpack(unpacker: &mut Unpacker<'_>) -> Self {
        Pulls(unpacker.integer())
    }
}

const BELL: EventId = EventId { module: 3, source: 4, event: 5 };

impl Simulation for Bells {
    type Input = Pulls;
    type Command = NoCommand;

    fn describe() -> GameDescription {
        GameDescription {
            tick_rate: TickRate::Hz60,
            state_schema: "bells/v1",
            config_schema: ConfigSchema::empty(),
            seats: 1..=1,
            capabilities: Capabilities::default(),
        }
    }

    fn init(_: &InitContext<'_>) -> Result<Self, u32> {
        Ok(Bells(0))
    }

    fn step(&mut self, context: &StepContext<'_, Self>) {
        self.0 += 1;
        for seat in context.seats() {
            for pull in 0..context.input(seat).0 {
                context.emit(BELL, &pull.to_le_bytes()[..1]);
            }
        }
    }
}

pub fn factory() -> NativeFactory<Bells> {
    NativeFactory::new(|sources| sources.module("events.rs", include_bytes!("events.rs"))).unwrap()
}

pub fn descriptor() -> MatchDescriptor {
    let seats = SeatCount::new(1).unwrap();
    MatchDescriptor::new(factory().manifest(), SessionConfig::empty(), SessionSeed::from_u64(1), seats)
}

fn runtime() -> Box<dyn Runtime> {
    factory().create(&descriptor()).unwrap()
}

fn batch(first: u64, pulls: &[u8], keep: Keep) -> StepBatch {
    let mut batch = StepBatch::default();
    batch.reset(Tick::new(first));
    for pulls in pulls {
        batch.push_step(keep);
        let (presence, epoch) = (Presence::Human, ControlEpoch(0));
        batch.push_seat(SeatStep { input: &[*pulls], substituted: false, malformed: false, presence, epoch });
    }
    batch
}

#[test]
fn k10_each_execution_emits_and_the_kernel_counts_ordinals() {
    let (mut runtime, mut output) = (runtime(), Output::default());
    runtime.keep(Keep::CHECKPOINT, &mut output).unwrap();
    let start = output.kept[0].checkpoint.unwrap();
    let mut emitted = || {
        runtime.restore(start).unwrap();
        output.clear();
        runtime.advance(&batch(0, &[2, 0, 3], Keep::CHECKSUM), &mut output).unwrap();
        let seen = output.events.iter().map(|event| {
            assert_eq!(event.key.id(), BELL);
            (event.key.tick.index(), event.key.ordinal, event.payload.to_vec())
        });
        (seen.collect::<Vec<_>>(), output.kept.clone())
    };
    let first = emitted();
    assert_eq!(
        first.0,
        [(0, 0), (0, 1), (2, 0), (2, 1), (2, 2)].map(|(tick, ordinal)| (tick, ordinal, vec![ordinal as u8]))
    );
    assert_eq!(emitted(), first);
}

#[test]
fn k10_emitting_changes_no_state() {
    let (mut silent, mut loud, mut output) = (runtime(), runtime(), Output::default());
    silent.advance(&batch(0, &[0, 0], Keep::CHECKSUM), &mut output).unwrap();
    assert!(output.events.is_empty());
    loud.advance(&batch(0, &[9, 9], Keep::CHECKSUM), &mut output).unwrap();
    assert_eq!(output.events.len(), 18);
    assert_eq!(output.kept[..2], output.kept[2..]);
}

#[test]
fn k2_a_batch_that_fails_appends_no_event() {
    let (mut runtime, mut output) = (runtime(), Output::default());
    runtime.advance(&batch(0, &[2, 1], Keep::NOTHING), &mut output).unwrap();
    let before = output.clone();
    let failed = runtime.advance(&batch(2, &[1, 1, 255, 255, 1, 1, 1], Keep::CHECKSUM), &mut output);
    assert!(matches!(failed, Err(AdvanceError::Capture { tick, .. }) if tick == Tick::new(8)), "{failed:?}");
    assert_eq!((output, runtime.tick()), (before, Tick::new(2)));
}
