//! What it costs to save, restore and hash the state of a module: a runtime that steps between them, and each part timed alone.

use std::time::Instant;

use retick_core::digest::Checksum;
use retick_core::frame::SeatFrame;
use retick_core::identity::MatchDescriptor;
use retick_core::runtime::{Checkpoint, Keep, Output, Runtime, SeatStep, StepBatch};
use retick_core::seat::{Presence, Seat, SeatCount};
use retick_core::tick::Tick;
use retick_wasm::{Tracking, WasmFactory, WasmRuntime};

use crate::game::Inputs;
use crate::rounds::{Plan, Timing};
use crate::touch::touch_match;

/// Checkpoints that are held at once, as a session with a rollback of eight ticks holds them.
const HELD: usize = 9;
/// Rounds in a row with one way of tracking, before the next has its turn: a game plays alone, and not between copies of whole
/// memories.
const ROUNDS_OF_A_TURN: usize = 12;
/// Rounds before these, in which what the last turn left in the caches goes.
const WARM_ROUNDS: usize = 4;
/// Ticks from one checksum to the next, where they are rare.
pub const CADENCE_TICKS: u32 = 60;

/// What each part took, in nanoseconds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Costs {
    /// A step, and saving the state after it.
    pub tick: Timing,
    /// The step alone, with what finding its writes costs while it runs.
    pub step: Timing,
    /// Saving the state after a step.
    pub save: Timing,
    /// Going back to the state before a step.
    pub restore: Timing,
    /// The checksum after a step, when the state before it was hashed.
    pub checksum: Timing,
    /// The checksum after [`CADENCE_TICKS`] steps without one, for each of them; where finding writes costs what was written, and not what
    /// there is.
    pub rare_checksum: Option<Timing>,
}

/// Samples of each part, in the order of [`Costs`].
#[derive(Debug, Default)]
struct Samples([Vec<f64>; 6]);

/// A match, and what its seats press.
#[derive(Clone, Copy)]
pub struct Played<'a> {
    /// The match, as each factory of the game makes it.
    pub descriptor: &'a dyn Fn(&WasmFactory) -> MatchDescriptor,
    /// Packs the input of a seat for a tick.
    pub input: &'a dyn Fn(Seat, Tick) -> Vec<u8>,
}

/// The match of [`crate::touch`]'s game.
pub const TOUCHING: Played<'static> =
    Played { descriptor: &touch_match, input: &|seat, tick| vec![Inputs::Moving.of(seat.index(), tick.index())] };

/// Measures one game in turns with each of some ways of tracking, which stand in its factories.
#[must_use]
pub fn measure(plan: Plan, played: Played<'_>, factories: &[WasmFactory]) -> Vec<Costs> {
    let mut saves: Vec<Saves<'_>> = factories.iter().map(|factory| Saves::new(factory, played)).collect();
    let mut samples: Vec<Samples> = factories.iter().map(|_| Samples::default()).collect();
    let mut left = plan.rounds;
    while left > 0 {
        let rounds = left.min(ROUNDS_OF_A_TURN);
        for (saves, samples) in saves.iter_mut().zip(&mut samples) {
            let mut unheeded = Samples::default();
            (0..WARM_ROUNDS).for_each(|_| saves.round(&mut unheeded));
            (0..rounds).for_each(|_| saves.round(samples));
        }
        left -= rounds;
    }
    samples.into_iter().map(Samples::costs).collect()
}

impl Samples {
    fn costs(self) -> Costs {
        let [tick, step, save, restore, checksum, rare] = self.0;
        let rare_checksum = if rare.is_empty() { None } else { Some(Timing::of(rare)) };
        let [tick, step, save, restore, checksum] = [tick, step, save, restore, checksum].map(Timing::of);
        Costs { tick, step, save, restore, checksum, rare_checksum }
    }
}

/// A runtime, and the states of its match that are held.
struct Saves<'a> {
    played: Played<'a>,
    seats: SeatCount,
    tracking: Tracking,
    runtime: WasmRuntime,
    batch: StepBatch,
    output: Output,
    /// The oldest first.
    held: Vec<Checkpoint>,
}

impl<'a> Saves<'a> {
    fn new(factory: &WasmFactory, played: Played<'a>) -> Saves<'a> {
        let descriptor = (played.descriptor)(factory);
        let runtime = factory.create_runtime(&descriptor).expect("the factory's own match");
        let (seats, tracking, held) = (descriptor.seats(), factory.tracking(), Vec::new());
        let (batch, output) = (StepBatch::default(), Output::default());
        let mut saves = Saves { played, seats, tracking, runtime, batch, output, held };
        saves.save();
        saves
    }

    /// Each part once. Before each of them stands a state that was just saved and hashed, after a step like the one to come.
    fn round(&mut self, samples: &mut Samples) {
        let [tick, step, save, restore, checksum, rare_checksum] = &mut samples.0;
        self.step(Keep::CHECKPOINT);
        self.settle();
        self.prepare(Keep::CHECKPOINT);
        tick.push(timed(|| self.advance()));
        self.settle();

        self.prepare(Keep::NOTHING);
        step.push(timed(|| self.advance()));
        save.push(timed(|| self.save()));
        self.settle();

        self.step(Keep::NOTHING);
        restore.push(timed(|| self.restore()));
        self.settle();

        self.step(Keep::NOTHING);
        checksum.push(timed(|| self.hash()));
        self.settle();

        if matches!(self.tracking, Tracking::DirtyMap | Tracking::ProtectPages) {
            (0..CADENCE_TICKS).for_each(|_| self.step(Keep::CHECKPOINT));
            rare_checksum.push(timed(|| self.hash()) / f64::from(CADENCE_TICKS));
            self.settle();
        }
    }

    /// Saves and hashes the state if it isn't, so that what comes next pays for itself alone.
    fn settle(&mut self) {
        self.save();
        self.hash();
    }

    fn step(&mut self, keep: Keep) {
        self.prepare(keep);
        self.advance();
    }

    fn prepare(&mut self, keep: Keep) {
        let tick = self.runtime.tick();
        self.batch.reset(tick);
        self.batch.push_step(keep);
        for seat in self.seats.seats() {
            let input = &(self.played.input)(seat, tick);
            let (presence, epoch) = (Presence::Human, SeatFrame::default().epoch);
            self.batch.push_seat(SeatStep { input, substituted: false, malformed: false, presence, epoch });
        }
    }

    fn advance(&mut self) {
        self.output.clear();
        self.runtime.advance(&self.batch, &mut self.output).expect("the next tick");
        self.hold();
    }

    fn save(&mut self) {
        self.output.clear();
        self.runtime.keep(Keep::CHECKPOINT, &mut self.output).expect("a state");
        self.hold();
    }

    fn hash(&mut self) {
        self.output.clear();
        self.runtime.keep(Keep::CHECKSUM, &mut self.output).expect("a state");
    }

    fn restore(&mut self) {
        let youngest = *self.held.last().expect("one is always held");
        self.runtime.restore(youngest).expect("a checkpoint");
    }

    /// Holds what was just saved, and gives up the oldest.
    fn hold(&mut self) {
        self.held.extend(self.output.kept.iter().filter_map(|kept| kept.checkpoint));
        if self.held.len() > HELD {
            let oldest = self.held.remove(0);
            self.runtime.release(oldest).expect("still there");
        }
    }
}

fn timed(part: impl FnOnce()) -> f64 {
    let started = Instant::now();
    part();
    started.elapsed().as_secs_f64() * 1e9
}

/// The state after so many ticks of [`TOUCHING`], played straight on, and its checksum.
///
/// # Panics
/// When the game faults.
#[must_use]
pub fn straight(factory: &WasmFactory, ticks: u64) -> (WasmRuntime, Checksum) {
    let mut saves = Saves::new(factory, TOUCHING);
    (0..ticks).for_each(|_| saves.step(Keep::NOTHING));
    assert_eq!(saves.runtime.tick(), Tick::new(ticks));
    saves.hash();
    let checksum = saves.output.kept[0].checksum.expect("asked for");
    (saves.runtime, checksum)
}
