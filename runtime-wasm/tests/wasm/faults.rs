//! W01, W5 and K2: a step that faults names its tick and leaves everything as before, the same way each time.

use retick_core::runtime::{AdvanceError, CheckpointError, Keep, Output, Runtime, StepFault};
use retick_core::tick::Tick;
use retick_wasm::{Limits, WasmFactory};

use crate::support::{Match, batch, batch_with_commands, load, module};

const LOOP: &str = include_str!("../wat/loop.wat");
const ARENA: &str = include_str!("../wat/arena.wat");

#[test]
fn w01_an_endless_loop_ends_at_its_tick_and_the_state_before_it_stays() {
    let mut quick = Match::new(LOOP);
    quick.run(&[1; 10], Keep::NOTHING).expect("ten good steps");
    // The other machine does the same the long way round.
    let mut slow = Match::new(LOOP);
    for _ in 0..10 {
        let checkpoint = slow.checkpoint();
        for _ in 0..20 {
            slow.step(1);
            slow.runtime.restore(checkpoint).expect("still there");
        }
        slow.step(1);
    }
    for client in [&mut quick, &mut slow] {
        let ended = client.run(&[7], Keep::CHECKSUM);
        assert_eq!(ended, Err(AdvanceError::Fault { tick: Tick::new(10), fault: StepFault::OutOfGas }));
        assert_eq!((client.runtime.tick(), client.word(0)), (Tick::new(10), 10));
    }
    assert_eq!(quick.checksum(), slow.checksum());
    quick.step(1);
    assert_eq!(quick.word(0), 11);
}

/// The gas of a step is a property of module, state and input, and the limit is exact.
#[test]
fn w01_gas_is_the_same_for_the_same_steps_everywhere() {
    let factory = load(ARENA).expect("loads");
    let mut used = [Match::of(&factory), Match::new(ARENA)].map(|mut game| {
        (0..1_000)
            .map(|tick| {
                game.step(tick % 7);
                game.runtime.gas_used()
            })
            .collect::<Vec<_>>()
    });
    assert_eq!(used[0], used[1]);
    used[0].dedup();
    // A change of this figure is a change of ENGINE_REVISION.
    assert_eq!(used[0], [GAS_OF_A_STEP]);
    let with_gas = |gas_per_tick| {
        let limits = Limits { gas_per_tick, ..Limits::default() };
        Match::of(&WasmFactory::load(&module(ARENA), limits).expect("loads")).run(&[3], Keep::NOTHING)
    };
    assert!(with_gas(GAS_OF_A_STEP).is_ok());
    let fault = AdvanceError::Fault { tick: Tick::ZERO, fault: StepFault::OutOfGas };
    assert_eq!(with_gas(GAS_OF_A_STEP - 1), Err(fault));
}

/// Of the fixture's ordinary step, its buffer call included.
const GAS_OF_A_STEP: u64 = 143;

#[test]
fn w5_every_fault_has_its_name() {
    let mut game = Match::new(ARENA);
    game.step(5);
    let before = game.checksum();
    for (input, fault) in [
        (1000, StepFault::Aborted),
        (1001, StepFault::Arithmetic),
        (1002, StepFault::OutOfBounds),
        (1003, StepFault::BadCall),
        (1004, StepFault::StackExhausted),
        (1007, StepFault::Interface),
        (1008, StepFault::Interface),
        (1009, StepFault::BadCall),
        (1010, StepFault::OutOfBounds),
        (1011, StepFault::OutOfGas),
        (1012, StepFault::Aborted),
    ] {
        assert_eq!(game.fault(input), fault, "{input}");
        assert_eq!(game.checksum(), before, "{input}");
        assert_eq!(game.runtime.tick(), Tick::new(1));
    }
    let mut other = Match::new(ARENA);
    other.step(5);
    for game in [&mut game, &mut other] {
        game.step(6);
    }
    assert_eq!(game.checksum(), other.checksum());
}

#[test]
fn k2_a_batch_that_fails_changes_nothing_and_names_its_tick() {
    for kept_before in [false, true] {
        let mut game = Match::new(ARENA);
        game.step(1);
        let held = kept_before.then(|| game.checkpoint());
        let before = game.checksum();
        game.run(&[1], Keep::CHECKSUM | Keep::PROJECTION).expect("a good step");
        let output = game.output.clone();
        let checksum = output.kept.last().and_then(|kept| kept.checksum);
        // Grows, keeps two checkpoints and projections, then faults.
        let failed = game.run(&[2, 1005, 1000, 3], Keep::CHECKPOINT | Keep::CHECKSUM | Keep::PROJECTION);
        assert_eq!(failed, Err(AdvanceError::Fault { tick: Tick::new(4), fault: StepFault::Aborted }));
        assert_eq!(game.output, output);
        assert_eq!(game.runtime.tick(), Tick::new(2));
        assert_eq!(game.pages(), 2);
        assert_eq!(Some(game.checksum()), checksum);
        if let Some(held) = held {
            game.runtime.restore(held).expect("a checkpoint from before stays");
            assert_eq!(game.checksum(), before);
        }
    }
}

#[test]
fn k2_a_batch_for_another_state_or_match_is_refused() {
    let mut game = Match::new(ARENA);
    let mut output = Output::default();
    let refused = game.runtime.advance(&batch(Tick::new(1), &[1], Keep::NOTHING), &mut output);
    assert_eq!(refused, Err(AdvanceError::NotCurrent { first: Tick::new(1), current: Tick::ZERO }));
    let mut two = batch(Tick::ZERO, &[1], Keep::NOTHING);
    let seat = batch(Tick::ZERO, &[2], Keep::NOTHING);
    two.push_seat(seat.step(0).and_then(|step| step.seats().next()).expect("one seat"));
    assert_eq!(game.runtime.advance(&two, &mut output), Err(AdvanceError::Seats { found: 2, expected: 1 }));
    assert_eq!(game.runtime.advance(&batch(Tick::ZERO, &[], Keep::NOTHING), &mut output), Ok(()));
    assert_eq!(game.runtime.tick(), Tick::ZERO);
}

#[test]
fn w5_the_last_lines_of_the_log_stay_after_a_fault_and_are_no_state() {
    let mut game = Match::new(ARENA);
    for _ in 0..40 {
        game.step(1006);
    }
    let quiet = game.checksum();
    assert_eq!(game.run(&[1006, 1012], Keep::NOTHING).map_err(|_| ()), Err(()));
    let log = game.runtime.last_log();
    assert_eq!(log.len(), 32);
    assert!(log.iter().all(|line| line == "a line of \u{FFFD} the log"), "{log:?}");
    assert_eq!(game.checksum(), quiet);
}

#[test]
fn w5_a_logged_line_costs_gas_and_is_cut_and_neither_length_nor_cut_is_state() {
    let limits = Limits { log_line_bytes: 6, log_lines: 1, ..Limits::default() };
    let mut cut = Match::of(&WasmFactory::load(&module(ARENA), limits).expect("loads"));
    let mut whole = Match::new(ARENA);
    for game in [&mut cut, &mut whole] {
        game.step(1);
        let silent = game.runtime.gas_used();
        game.run(&[1006, 1006], Keep::NOTHING).expect("good steps");
        assert!(game.runtime.gas_used() >= silent + limits.log_gas);
    }
    assert_eq!(cut.runtime.last_log(), ["a line"]);
    assert_eq!(whole.runtime.last_log().len(), 2);
    assert_eq!(cut.checksum(), whole.checksum());
}

#[test]
fn k7_malformed_commands_are_skipped_and_counted_unless_the_batch_fails() {
    let mut game = Match::new(ARENA);
    let mut advance = |commands: &[&[u8]], next: &[u32]| {
        let mut steps = batch_with_commands(game.runtime.tick(), 1, commands);
        let more = batch(Tick::ZERO, next, Keep::NOTHING);
        (0..next.len()).for_each(|index| steps.push_from(&more, index, Keep::NOTHING));
        let ran = game.runtime.advance(&steps, &mut game.output).is_ok();
        (ran, game.output.malformed_commands)
    };
    assert_eq!(advance(&[b"fine"], &[]), (true, 0));
    assert_eq!(advance(&[b"", b"fine"], &[2]), (true, 1));
    assert_eq!(advance(&[b""], &[1000]), (false, 1));
}

/// Without this, a few instructions could hold a tick for minutes.
#[test]
fn w5_bulk_operations_pay_by_length() {
    let mut game = Match::new(include_str!("../wat/bulk.wat"));
    let mut gas = |input| {
        game.step(input);
        game.runtime.gas_used()
    };
    let none = gas(0);
    // A fill and a copy, each a unit for sixteen bytes.
    for length in [1, 15, 16, 1_000, 60_000] {
        assert_eq!(gas(length) - none, 2 * u64::from(length / 16), "{length}");
    }
}

#[test]
fn k4_stale_handles_are_errors() {
    let mut game = Match::new(ARENA);
    let first = game.checkpoint();
    game.step(1);
    let second = game.checkpoint();
    game.step(1);
    game.runtime.restore(first).expect("there");
    let stale = CheckpointError::Stale { tick: Tick::new(1) };
    let mut out = vec![];
    assert_eq!(game.runtime.restore(second), Err(stale.clone()));
    assert_eq!(game.runtime.release(second), Err(stale.clone()));
    assert_eq!(game.runtime.export(second, 0, 9, &mut out), Err(stale));
    game.runtime.release(first).expect("there");
    assert_eq!(game.runtime.restore(first), Err(CheckpointError::Stale { tick: Tick::ZERO }));
    assert_eq!(out, []);
    assert_eq!(game.runtime.tick(), Tick::ZERO);
}
