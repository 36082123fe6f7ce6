//! T3: what the proofs on rooms and runners say of a fault: the two sides, the first state, and the first byte with both values.

use std::sync::Arc;

use retick_core::fields::SerdeFields;
use retick_core::identity::MatchDescriptor;
use retick_core::runner::Status;
use retick_core::runtime::RuntimeFactory;
use retick_core::seat::Seat;
use retick_core::tick::{Tick, TickRate};
use retick_testing::assert::{
    ByteDifference, Compared, GameFault, assert_late_join_hydration, assert_presentation_parity,
    assert_replay_verifies, assert_runner_lifecycle, assert_two_client_convergence, check_convergence_of,
    check_presentation_parity, check_replay_verifies, check_runner_lifecycle, check_two_client_convergence,
    name_fields,
};
use retick_testing::fixtures::{
    Tally, beeper_factory, ent_factory, press_packed, tally_descriptor, tally_factory, zig_packed,
};
use retick_testing::sim::{ClientSetup, MatchSetup};
use retick_testing::twins::{
    FirstExecution, FlippedMix, FlippedSum, Noise, Numbered, ShownMachine, StartedAt, StaticCounter, flipped_factory,
    noisy_factory, twin_factory,
};

const TICKS: u64 = 120;
/// The state in which a bit flips.
const FLIPPED: u64 = 40;
/// Where seat 1's sum stands in TALLY of two seats: behind the tick, the count of frames, the sums' length and seat 0's.
const SUM_OF_SEAT_1: u64 = 4 * 8;

fn seat(number: u8) -> Seat {
    Seat::new(number).expect("valid")
}

fn two(factory: &dyn RuntimeFactory) -> MatchDescriptor {
    tally_descriptor(factory, 2, 1)
}

fn shared(factory: impl RuntimeFactory + 'static) -> Arc<dyn RuntimeFactory> {
    Arc::new(factory)
}

/// The state and the byte; one bit of it flipped.
fn assert_flipped(fault: GameFault, sides: Compared, offset: u64) {
    let GameFault::Differs { compared, tick, difference: Some(difference), .. } = fault else { panic!("{fault}") };
    assert_eq!((compared, tick, difference.offset), (sides, Tick::new(FLIPPED), offset));
    assert_eq!(difference.first.map(|byte| byte ^ 1), difference.second);
}

#[test]
fn t1_the_proofs_pass_games_of_every_kind() {
    let tally = Arc::new(tally_factory());
    let proof = assert_two_client_convergence(&tally, &two(tally.as_ref()), &zig_packed, TICKS);
    assert_eq!((proof.states, proof.inputs), (TICKS + 1, [TICKS; 2]));
    assert!(proof.reports.iter().all(|reports| *reports >= TICKS) && proof.rollbacks.iter().all(|it| *it > 50));
    let replayed = assert_replay_verifies(&tally, &two(tally.as_ref()), &zig_packed, TICKS);
    assert_eq!((replayed.ticks, replayed.states, replayed.last), (Tick::new(TICKS), TICKS + 1, proof.last));

    // A state with random streams and entities, and one that is heard.
    let ent = Arc::new(ent_factory());
    assert!(assert_two_client_convergence(&ent, &two(ent.as_ref()), &press_packed, TICKS).rollbacks[0] > 0);
    assert!(assert_late_join_hydration(&ent, &tally_descriptor(&ent, 3, 1), &press_packed, 400, 200).states > 150);
    let beeper = Arc::new(beeper_factory());
    let nine = |seat: Seat, tick: Tick| {
        let beeps = tick.index() % 7 == u64::from(seat.number());
        retick_testing::fixtures::pack_tally(if beeps { retick_testing::fixtures::BEEPING_INPUT } else { 0 })
    };
    let proof = assert_presentation_parity(&beeper, &two(beeper.as_ref()), &nine, TICKS);
    // Each runner of each match in a room has heard every beep of both seats: 18 and 17 in 120 ticks.
    assert_eq!(proof.events, 4 * (18 + 17));
    assert!(proof.pictures > TICKS && proof.distinct > TICKS && proof.rollbacks > 20, "{proof:?}");

    let life = assert_runner_lifecycle(&tally, &two(tally.as_ref()), &zig_packed, TICKS);
    use Status::{Connecting, Live, Offline, Stopped, Syncing};
    assert_eq!(life.statuses, [Offline, Connecting, Syncing, Live, Offline, Stopped]);
    assert!(life.states > TICKS && life.late_messages > 0, "{life:?}");
}

#[test]
fn t3_two_clients_that_differ_are_named_with_the_byte_of_each() {
    for seats in [2, 3] {
        let twin = [shared(tally_factory()), shared(flipped_factory::<FlippedSum, 1, FLIPPED>())];
        let descriptor = tally_descriptor(&twin[0], seats, 1);
        let fault = check_two_client_convergence(twin, &descriptor, &zig_packed, TICKS).expect_err("flagged");
        assert_flipped(fault, Compared::Clients { seats: [seat(0), seat(1)] }, SUM_OF_SEAT_1);
    }
}

#[test]
fn t3_a_fault_that_both_clients_have_is_named_against_the_authoritys_log() {
    let player = || {
        let twin = flipped_factory::<FlippedMix, 0, FLIPPED>();
        ClientSetup::new(zig_packed).latency_ticks(TickRate::Hz60, 3).factory(Arc::new(twin))
    };
    let setup = MatchSetup::new(Arc::new(tally_factory())).hard_tolerance_ticks(30).client(player()).client(player());
    let fault = check_convergence_of(setup, TICKS).expect_err("flagged");
    // The mix stands behind both lists.
    assert_flipped(fault, Compared::Fold { seat: seat(0) }, 8 + 8 + 2 * (8 + 2 * 8));
}

#[test]
fn t3_the_first_state_and_the_last_count() {
    let twin = shared(twin_factory::<StartedAt>());
    for fault in [
        check_two_client_convergence([twin.clone(), twin.clone()], &two(&twin), &zig_packed, TICKS)
            .expect_err("caught"),
        check_replay_verifies([twin.clone(), twin.clone()], &two(&twin), &zig_packed, TICKS).expect_err("caught"),
    ] {
        assert!(matches!(fault, GameFault::Differs { tick: Tick::ZERO, .. }), "{fault}");
    }
    let last = || [shared(tally_factory()), shared(flipped_factory::<FlippedSum, 1, FLIPPED>())];
    let descriptor = two(&last()[0]);
    assert!(check_two_client_convergence(last(), &descriptor, &zig_packed, FLIPPED - 1).is_ok());
    let fault = check_two_client_convergence(last(), &descriptor, &zig_packed, FLIPPED).expect_err("flagged");
    assert_flipped(fault, Compared::Clients { seats: [seat(0), seat(1)] }, SUM_OF_SEAT_1);
    let replay = check_replay_verifies(last(), &descriptor, &zig_packed, FLIPPED);
    assert!(matches!(&replay, Err(GameFault::Differs { tick, .. }) if *tick == Tick::new(FLIPPED)), "{replay:?}");
}

#[test]
fn t3_a_replay_that_differs_is_named_with_the_byte_of_the_match_and_of_the_replay() {
    let twin = [shared(tally_factory()), shared(flipped_factory::<FlippedSum, 1, FLIPPED>())];
    let fault = check_replay_verifies(twin.clone(), &two(&twin[0]), &zig_packed, TICKS).expect_err("flagged");
    assert_flipped(fault, Compared::Replayed, SUM_OF_SEAT_1);
}

#[test]
fn t3_two_pictures_of_one_state_are_named_with_the_byte_of_each() {
    let twin = shared(twin_factory::<ShownMachine>());
    let fault = check_presentation_parity([twin.clone(), twin.clone()], &two(&twin), &zig_packed, TICKS);
    let Err(GameFault::Differs { compared, tick, difference, .. }) = fault else { panic!("{fault:?}") };
    // What is shown beside sum and count is the machine's number: 202 offline, 0 for the first runner in the room.
    assert_eq!((compared, tick), (Compared::Pictures { seat: seat(0) }, Tick::ZERO));
    assert_eq!(difference, Some(ByteDifference { offset: 16, first: Some(202), second: Some(0) }));
    // No comparison of states can see it.
    assert!(check_two_client_convergence([twin.clone(), twin.clone()], &two(&twin), &zig_packed, TICKS).is_ok());
}

#[test]
fn t3_states_that_differ_offline_and_in_a_room_are_named_with_the_byte_of_each() {
    let twin = [shared(tally_factory()), shared(flipped_factory::<FlippedSum, 1, FLIPPED>())];
    let fault = check_presentation_parity(twin.clone(), &two(&twin[0]), &zig_packed, TICKS).expect_err("flagged");
    assert_flipped(fault, Compared::Modes, SUM_OF_SEAT_1);
}

#[test]
fn t3_events_that_differ_are_named_with_both() {
    fn fault<N: Noise>() -> GameFault {
        let twin = shared(noisy_factory::<N>());
        check_presentation_parity([twin.clone(), twin.clone()], &two(&twin), &zig_packed, TICKS).expect_err("flagged")
    }
    for fault in [fault::<FirstExecution>(), fault::<Numbered>()] {
        let GameFault::EventsDiffer { first, second, .. } = &fault else { panic!("{fault}") };
        assert!(first.is_some() && first != second, "{fault}");
    }
}

#[test]
fn t3_a_second_match_that_is_not_the_first_is_named_with_the_byte_of_each() {
    let twin = shared(twin_factory::<StaticCounter>());
    let fault = check_runner_lifecycle(&twin, &two(&twin), &zig_packed, TICKS).expect_err("flagged");
    let GameFault::Differs { compared, tick, difference: Some(difference), .. } = fault else { panic!("{fault}") };
    // Behind the tick and the sum stands what was counted outside of the state.
    assert_eq!((compared, tick, difference.offset), (Compared::Matches, Tick::new(1), 16));
    assert_ne!(difference.first, difference.second);
}

#[test]
fn t3_a_fault_names_the_field_while_somebody_knows_them() {
    let fault = || {
        let twin = [shared(tally_factory()), shared(flipped_factory::<FlippedSum, 1, FLIPPED>())];
        check_two_client_convergence(twin.clone(), &two(&twin[0]), &zig_packed, TICKS).expect_err("flagged")
    };
    {
        let _named = name_fields(SerdeFields::<Tally>::new());
        let named = fault();
        assert!(matches!(&named, GameFault::Differs { field: Some(field), .. } if field == "sum[1]"), "{named}");
        assert!(named.to_string().contains("S(40), first at sum[1], byte 32: "), "{named}");
    }
    assert!(matches!(fault(), GameFault::Differs { field: None, .. }), "nobody knows them any more");
}
