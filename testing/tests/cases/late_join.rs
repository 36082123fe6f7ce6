//! Late joins beside R02 (A7, T1): everyone converges, and a twin whose donated state is not its own is caught.

use std::sync::Arc;

use retick_authority::room::{RoomEvent, SeatTransition};
use retick_core::client::{Client, ClientEvent};
use retick_core::tick::Tick;
use retick_testing::assert::{Compared, GameFault, assert_late_join_hydration, check_late_join_hydration};
use retick_testing::fixtures::{ent_factory, press_packed, tally_descriptor, tally_factory, zig, zig_packed};
use retick_testing::sim::{ClientSetup, MatchSetup};
use retick_testing::twins::{FlippedSum, flipped_factory};

use crate::support::{RATE, authority_tally, client, input, seat, shown_tally, tally_match, zig_of};

fn player() -> ClientSetup {
    client(zig).latency_ticks(RATE, 2)
}

#[test]
fn t1_a_late_joiner_is_built_from_a_donated_state_and_converges() {
    let tally = Arc::new(tally_factory());
    let proof = assert_late_join_hydration(&tally, &tally_descriptor(&tally, 3, 1), &zig_packed, 700, 200);
    assert_eq!((proof.tick, proof.verified, proof.states), (Tick::new(121), true, 700 - 121 + 1));
    assert!(proof.inputs >= 400, "{proof:?}");
    // A state with random streams and entities in it.
    let ent = Arc::new(ent_factory());
    let proof = assert_late_join_hydration(&ent, &tally_descriptor(&ent, 3, 1), &press_packed, 700, 300);
    assert!(proof.verified && proof.states >= 400, "{proof:?}");
}

#[test]
fn t1_a_joiner_with_another_state_is_caught() {
    // The joiner's own machine flips a bit behind the state that it was given.
    let twin = flipped_factory::<FlippedSum, 2, 300>();
    let setup = || tally_match().client(player()).client(player());
    let joiner = player().factory(Arc::new(twin));
    let fault = check_late_join_hydration(setup(), joiner, 200, 700).expect_err("flagged");
    // Of `frame`, three sums and their length, the lowest byte of seat 2's.
    let GameFault::Differs { compared, tick, difference: Some(difference), .. } = fault else { panic!("{fault}") };
    assert_eq!((compared, tick), (Compared::Clients { seats: [seat(0), seat(2)] }, Tick::new(300)));
    assert_eq!(difference.offset, 8 + 8 + 8 + 2 * 8);
    assert_eq!(difference.first.map(|byte| byte ^ 1), difference.second);
    // One that comes when nothing is left to be compared proves nothing.
    let late = check_late_join_hydration(setup(), player(), 555, 560).expect_err("nothing is proved");
    assert!(matches!(late, GameFault::PremiseNotMet(_)), "{late}");
}

#[test]
fn a7_joiners_come_and_go_in_a_long_match_whose_history_is_bounded() {
    let mut setup = tally_match().hard_tolerance_ticks(20).client(player()).client(player());
    for at in [400, 3_000, 3_000, 6_000, 9_500] {
        setup = setup.late_client(at, player());
    }
    let mut sim = setup.disconnect(5_000, 0).reconnect(5_100, 0).last_tick(10_000).build();
    let mut most = 0;
    while sim.authority_tick() < Tick::new(9_990) {
        sim.advance();
        most = most.max(sim.room().frontier().since(sim.room().history_start()));
    }
    assert!(most <= 45 * 60 + 2 * 120 + 256, "{most} frames were kept");
    sim.run_until_confirmed(10_000);
    let report = sim.finish();
    assert!(report.room.snapshots >= 4 && report.desyncs() == 0);
    let end = authority_tally(&report, 10_000);
    for record in &report.clients {
        assert_eq!(shown_tally(record), end, "seat {}", record.seat);
        let hydrated = record.events.iter().any(|(_, event)| matches!(event, ClientEvent::Hydrated { .. }));
        // The first newcomer missed less than ten seconds.
        assert_eq!(hydrated, record.seat.index() > 2, "seat {}", record.seat);
    }
}

#[test]
fn a7_a_client_that_was_away_for_too_long_is_built_anew_and_its_donors_play_on() {
    let mut setup = tally_match().hard_tolerance_ticks(20).client(player()).client(player()).client(player());
    setup.donation.history_millis = 5_000;
    setup.grace_millis = 60_000;
    let mut sim = setup.disconnect(300, 2).reconnect(1_200, 2).last_tick(2_000).build();
    sim.run_until_confirmed(2_000);
    let session = sim.client(2).and_then(Client::session).expect("it plays");
    assert_eq!(session.confirmed(), Tick::new(2_000));
    let report = sim.finish();
    let away = &report.clients[2];
    assert_eq!(away.hydrations().count(), 1);
    assert!(away.frames.windows(2).any(|pair| pair[1].tick().since(pair[0].tick()) > 500), "guard: it has a gap");
    let end = authority_tally(&report, 2_000);
    assert!(report.clients.iter().all(|client| shown_tally(client) == end));
}

/// Whether it comes so early that it is given every frame, or so late that it is built from a snapshot: it knows its first tick in
/// time, and has an input for it.
#[test]
fn a5_a_late_joiners_first_active_tick_has_its_own_input() {
    for (at, hydrates) in [(200, false), (700, true)] {
        let player = || client(zig).latency_ticks(RATE, 3);
        let setup = tally_match().hard_tolerance_ticks(12).client(player()).client(player()).late_client(at, player());
        let mut sim = setup.last_tick(at + 300).build();
        sim.run_until_confirmed(at + 300);
        let report = sim.finish();
        assert_eq!(report.clients[2].hydrations().count() > 0, hydrates, "guard: {at}");
        let first = report.room_events.iter().find_map(|(_, event)| match event {
            RoomEvent::SeatChanged { seat: it, transition: SeatTransition::EmptyToHuman, tick, .. } => {
                (*it == seat(2) && *tick > Tick::ZERO).then_some(tick.index())
            }
            _ => None,
        });
        let first = first.expect("it took part");
        assert_eq!(input(&report, 2, usize::try_from(first - 1).expect("small")), None, "guard: nobody's before");
        for tick in first..first + 60 {
            let frame = &report.frames[usize::try_from(tick).expect("small")];
            assert!(!frame.substituted().contains(seat(2)), "{tick} from {first}, joined at {at}");
            let found = input(&report, 2, usize::try_from(tick).expect("small"));
            assert_eq!(found, Some(zig_of(2, tick)), "{tick} from {first}");
        }
    }
}

#[test]
fn a7_the_setup_of_a_late_joiner_is_that_of_a_seat() {
    let mut sim = MatchSetup::new(Arc::new(tally_factory())).client(player()).late_client(30, player()).build();
    sim.run_ticks(20);
    assert!(sim.client(1).is_some_and(|client| client.seat().is_none()));
    sim.run_ticks(60);
    assert_eq!(sim.client(1).and_then(Client::seat), Some(seat(1)));
}
