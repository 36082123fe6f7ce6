//! K10: what a module emits comes out with the step that emitted it, and is never part of the state.

use retick_core::event::{EventId, EventKey, MAX_EVENTS_PER_TICK};
use retick_core::runtime::{AdvanceError, Keep, Runtime, StepFault};
use retick_core::tick::Tick;
use retick_wasm::{Limits, WasmFactory};

use crate::support::{Match, load, module};

const EVENTS: &str = include_str!("../wat/events.wat");

fn emitted(game: &Match) -> Vec<(EventKey, Vec<u8>)> {
    game.output.events.iter().map(|event| (event.key, event.payload.to_vec())).collect()
}

fn bang(tick: u64, ordinal: u32) -> (EventKey, Vec<u8>) {
    let (module, source, event) = (65_535, u32::MAX, 7);
    (EventKey { module, source, event, tick: Tick::new(tick), ordinal }, b"bang".to_vec())
}

#[test]
fn k10_every_step_of_a_batch_emits_in_order_and_again_when_it_runs_again() {
    let mut game = Match::new(EVENTS);
    let start = game.checkpoint();
    for _ in 0..2 {
        game.output.clear();
        game.run(&[2, 0, 1], Keep::CHECKSUM).expect("good steps");
        assert_eq!(emitted(&game), [bang(0, 0), bang(0, 1), bang(2, 0)]);
        game.runtime.restore(start).expect("there");
    }
}

#[test]
fn k10_emitting_is_no_state() {
    // The last input stands in the state, and the number of events before it does not.
    let [quiet, loud] = [0, 99].map(|events| {
        let mut game = Match::new(EVENTS);
        game.run(&[events, 1], Keep::NOTHING).expect("good steps");
        assert_eq!(game.output.events.len(), events as usize + 1);
        game.checksum()
    });
    assert_eq!(quiet, loud);
}

#[test]
fn k10_a_span_outside_the_memory_and_a_number_beyond_16_bits_are_faults_and_emit_nothing() {
    let mut game = Match::new(EVENTS);
    game.step(1);
    let before = (game.output.clone(), game.checksum());
    game.output = before.0.clone();
    for (input, fault) in [
        (1000, StepFault::Interface),
        (1001, StepFault::Interface),
        (1002, StepFault::Interface),
        (1003, StepFault::Interface),
        (1004, StepFault::Aborted),
    ] {
        let failed = game.run(&[3, input, 1], Keep::NOTHING);
        assert_eq!(failed, Err(AdvanceError::Fault { tick: Tick::new(2), fault }), "{input}");
        assert_eq!(game.output, before.0, "{input}");
    }
    assert_eq!(game.checksum(), before.1);
    game.output.clear();
    game.run(&[1], Keep::NOTHING).expect("it plays on");
    assert_eq!(emitted(&game), [bang(1, 0)]);
}

#[test]
fn k10_beyond_its_limits_an_event_is_dropped_and_counted() {
    let mut game = Match::new(EVENTS);
    let most = u32::try_from(MAX_EVENTS_PER_TICK).expect("small");
    game.run(&[most, most + 1, 1005], Keep::NOTHING).expect("good steps");
    assert_eq!((game.output.events.len(), game.output.events.dropped()), (2 * MAX_EVENTS_PER_TICK + 1, 2));
    let long = EventId { module: 1, source: 1, event: 1 };
    let last = emitted(&game).pop().expect("there");
    assert_eq!((last.0.id(), last.0.tick, last.1.len()), (long, Tick::new(2), 1024));
}

#[test]
fn k10_only_a_step_emits() {
    let mut game = Match::new(EVENTS);
    game.run(&[2000], Keep::PROJECTION).expect("a good step");
    assert_eq!((game.output.failed_projections, game.output.events.len()), (1, 0));
    // In init it ends the match before it began.
    let emitting = EVENTS.replace(
        ";; interface\n",
        ";; interface\n(func (export \"_initialize\") (call $emit
        (i32.const 1) (i32.const 1) (i32.const 1) (i32.const 512) (i32.const 4)))\n",
    );
    assert!(load(&emitting).is_err());
}

#[test]
fn w5_an_event_costs_gas_whether_it_is_kept_or_not() {
    let gas_of = |limits: Limits, input| {
        let mut game = Match::of(&WasmFactory::load(&module(EVENTS), limits).expect("loads"));
        game.step(input);
        game.runtime.gas_used()
    };
    let base = Limits::default();
    let dear = Limits { event_gas: base.event_gas + 1000, ..base };
    for events in [0, 1, 300] {
        assert_eq!(gas_of(dear, events) - gas_of(base, events), 1000 * u64::from(events));
    }
}
