//! Every twin, with what it is played with: what `TWINS.md` has a row for.

use std::sync::Arc;

use retick_core::runtime::{RuntimeFactory, SerdeState};
use retick_core::seat::Seat;
use retick_core::tick::Tick;

use super::{
    ByAddress, ByCompletion, ByNumber, BySeat, FirstExecution, FlippedMix, FlippedSum, HiddenCache, HonestCounter,
    LastBit, LateEffect, LocalFirst, LogicalForm, LossySnapshot, NanBits, Narrow, Numbered, OrderedIds, ProbedIds,
    ProcessRandom, QueryCache, RandomIds, RawFloats, RawForm, SharedCell, ShownExecutions, ShownMachine, SkippedField,
    SkippedRandom, StartedAt, StaticCounter, Steady, Unencoded, ViewReader, Wide, ZeroSign, duel_factory,
    flipped_factory, floats_factory, noisy_factory, ordered_factory, padded_factory, push_factory, twin_factory,
    wall_clocked_factory,
};
use crate::fixtures::{pack_tally, tally_factory, zig_packed};
use crate::sim::Script;

/// Whether a twin has a fault.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Kind {
    /// It has none, and must pass everything.
    Clean,
    /// Its states have none; its picture is its machine's memory, as it is, which the parity of pictures must flag and nothing else.
    CleanInState,
    /// It has one, which something must catch.
    Faulty,
}

/// A twin, ready to be played by any proof.
#[derive(Clone)]
pub struct Twin {
    /// Its name, as in the code.
    pub name: &'static str,
    /// The class of nondeterminism that it stands for, or what it is the clean one of.
    pub class: &'static str,
    /// Whether it has a fault.
    pub kind: Kind,
    /// The factories of the two machines that are compared; two of one identity.
    pub factories: [Arc<dyn RuntimeFactory>; 2],
    /// Inputs in which its fault shows.
    pub script: Script,
}

impl Twin {
    fn of(kind: Kind, name: &'static str, class: &'static str, factory: impl RuntimeFactory + 'static) -> Twin {
        let factory: Arc<dyn RuntimeFactory> = Arc::new(factory);
        Twin { name, class, kind, factories: [factory.clone(), factory], script: Arc::new(zig_packed) }
    }

    fn clean(name: &'static str, class: &'static str, factory: impl RuntimeFactory + 'static) -> Twin {
        Twin::of(Kind::Clean, name, class, factory)
    }

    fn clean_in_state(name: &'static str, class: &'static str, factory: impl RuntimeFactory + 'static) -> Twin {
        Twin::of(Kind::CleanInState, name, class, factory)
    }

    fn faulty(name: &'static str, class: &'static str, factory: impl RuntimeFactory + 'static) -> Twin {
        Twin::of(Kind::Faulty, name, class, factory)
    }

    /// The second machine has another one.
    fn against(self, other: impl RuntimeFactory + 'static) -> Twin {
        let [one, _] = self.factories;
        Twin { factories: [one, Arc::new(other)], ..self }
    }

    fn script(self, script: fn(Seat, Tick) -> Vec<u8>) -> Twin {
        Twin { script: Arc::new(script), ..self }
    }
}

/// Both shoot at once, now and then; the first time at tick 50.
fn shots(seat: Seat, tick: Tick) -> Vec<u8> {
    let shoots = tick.index() >= 50 && tick.index() % 10 < 1 + 2 * u64::from(seat.number());
    vec![u8::from(shoots)]
}

/// What outgrows a byte in tick 41.
fn growing(_: Seat, tick: Tick) -> Vec<u8> {
    pack_tally(match tick.index() {
        0..40 => i32::from(tick.index().is_multiple_of(3)),
        40 => 300,
        _ => 2 + i32::from(tick.index().is_multiple_of(3)),
    })
}

/// Every twin of the kit, clean ones first.
pub fn every_twin() -> Vec<Twin> {
    [clean(), of_memory_and_order(), of_hidden_state(), of_what_is_shown()].concat()
}

fn clean() -> Vec<Twin> {
    vec![
        Twin::clean("Tally", "of the clock and the flipped bits", tally_factory()),
        Twin::clean("HonestCounter", "of hidden state", twin_factory::<HonestCounter>()),
        Twin::clean("OrderedIds", "of the order of maps", push_factory::<OrderedIds>()),
        Twin::clean("ByNumber", "of the order of machines", ordered_factory::<ByNumber>()),
        Twin::clean("BySeat", "of the local player first", duel_factory::<BySeat>()).script(shots),
        Twin::clean_in_state("LogicalForm", "of padding and narrow saves", padded_factory::<Wide, LogicalForm>())
            .script(growing),
        Twin::clean_in_state(
            "NanBits",
            "of float bits, in the canonical form",
            floats_factory::<NanBits, SerdeState>(),
        ),
        Twin::clean("Steady", "of noise", noisy_factory::<Steady>()),
    ]
}

fn of_memory_and_order() -> Vec<Twin> {
    vec![
        Twin::faulty("RawForm", "uninitialised memory and padding", padded_factory::<Wide, RawForm>()).script(growing),
        Twin::faulty("Narrow", "a checkpoint that loses what it can't hold", padded_factory::<Narrow, LogicalForm>())
            .script(growing),
        Twin::faulty("RandomIds", "the order of a hash map", push_factory::<RandomIds>()),
        Twin::faulty("ProbedIds", "an order that history left behind", push_factory::<ProbedIds>()),
        Twin::faulty("ByAddress", "the order of addresses", ordered_factory::<ByAddress>()),
        Twin::faulty("ByCompletion", "the order in which threads are done", ordered_factory::<ByCompletion>()),
        Twin::faulty("LocalFirst", "the local player first", duel_factory::<LocalFirst<0>>())
            .against(duel_factory::<LocalFirst<1>>())
            .script(shots),
        Twin::faulty("RawFloats", "float bits that are not canonical", floats_factory::<NanBits, RawFloats>()),
        Twin::faulty("ZeroSign", "the sign of a zero", floats_factory::<ZeroSign, SerdeState>()),
        Twin::faulty("LastBit", "functions of floats that platforms round", floats_factory::<LastBit, SerdeState>()),
        Twin::faulty("FlippedSum", "a bit of memory that flips on one machine", tally_factory())
            .against(flipped_factory::<FlippedSum, 1, 30>()),
        Twin::faulty("FlippedMix", "the same, in another field", tally_factory()).against(flipped_factory::<
            FlippedMix,
            1,
            30,
        >()),
    ]
}

fn of_hidden_state() -> Vec<Twin> {
    vec![
        Twin::faulty("WallClocked", "the wall clock in a step", wall_clocked_factory()),
        Twin::faulty("StartedAt", "the wall clock at the start", twin_factory::<StartedAt>()),
        Twin::faulty("StaticCounter", "a counter of the process", twin_factory::<StaticCounter>()),
        Twin::faulty("ProcessRandom", "random numbers of the process", twin_factory::<ProcessRandom>()),
        Twin::faulty("SkippedRandom", "random numbers beside the state", twin_factory::<SkippedRandom>()),
        Twin::faulty("SharedCell", "a cell that clones share", twin_factory::<SharedCell>()),
        Twin::faulty("SkippedField", "a snapshot that leaves a field out", twin_factory::<SkippedField>()),
        Twin::faulty("LossySnapshot", "a snapshot that loses what it can't hold", twin_factory::<LossySnapshot>()),
        Twin::faulty("LateEffect", "a checksum that leaves a field out", twin_factory::<LateEffect>()),
    ]
}

fn of_what_is_shown() -> Vec<Twin> {
    vec![
        Twin::faulty("ViewReader", "the view in a step", twin_factory::<ViewReader>()),
        Twin::faulty("QueryCache", "a query that changes the state", twin_factory::<QueryCache>()),
        Twin::faulty("HiddenCache", "a query that changes what is in no state", twin_factory::<HiddenCache>()),
        Twin::faulty("ShownMachine", "a picture of the machine", twin_factory::<ShownMachine>()),
        Twin::faulty("ShownExecutions", "a picture of what was rolled back", twin_factory::<ShownExecutions>()),
        Twin::faulty("FirstExecution", "events of the first execution alone", noisy_factory::<FirstExecution>()),
        Twin::faulty("Numbered", "events with a number of the process", noisy_factory::<Numbered>()),
        Twin::faulty("Unencoded", "events of what a snapshot leaves out", noisy_factory::<Unencoded>()),
    ]
}
