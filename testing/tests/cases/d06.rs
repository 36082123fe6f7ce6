//! D06: the result depends on which player is handled first.

use std::sync::Arc;

use retick_core::client::ClientEvent;
use retick_core::digest::Checksum;
use retick_core::runtime::RuntimeFactory;
use retick_core::seat::Seat;
use retick_core::tick::{Moment, Tick};
use retick_testing::assert::{
    ByteDifference, Compared, GameFault, assert_hydration, check_convergence, check_deterministic, synctest,
};
use retick_testing::checkers::Breach;
use retick_testing::fixtures::tally_descriptor;
use retick_testing::sim::{ClientSetup, DEFAULT_LOBBY_TICKS, MatchReport, MatchSetup};
use retick_testing::twins::{BySeat, LocalFirst, duel_factory};

use crate::support::{RATE, seat};

const SHOT: u64 = 50;

/// The moment at which an authority tick begins.
fn moment(tick: u64) -> Moment {
    RATE.moment_of(Tick::new(DEFAULT_LOBBY_TICKS + tick))
}

/// Both shoot at tick 50.
fn script(_: Seat, tick: Tick) -> Vec<u8> {
    vec![u8::from(tick.index() == SHOT)]
}

fn duelist() -> ClientSetup {
    ClientSetup::new(script).latency_ticks(RATE, 2)
}

fn duel() -> MatchSetup {
    let setup = MatchSetup::new(Arc::new(duel_factory::<BySeat>())).strict();
    setup.hard_tolerance_ticks(20).checksum_cadence_ticks(1).last_tick(60)
}

fn both_shots_stand(report: &MatchReport) -> bool {
    let shots = |tick: usize| report.frames[tick].seats().all(|seat| seat.input == Some(&[1]) && !seat.substituted);
    report.flagged_ticks().is_empty() && (0..60).filter(|tick| shots(*tick)).eq([50])
}

#[test]
fn d06_clean_seat_0_wins_on_both_machines_whoevers_shot_arrives_first() {
    for late in [0, 1] {
        let player = |number: usize| {
            let mut player = duelist();
            if number == late {
                player.up.stalls = vec![moment(47)..moment(54)];
            }
            player
        };
        let mut sim = duel().client(player(0)).client(player(1)).build();
        sim.run_until_confirmed(60);
        sim.run_ticks(4);
        let report = sim.finish();
        assert!(both_shots_stand(&report), "guard");
        // The other one's shot was there when its tick began, two ticks after it was sampled.
        let early = report.clients[1 - late].turns.iter().find(|turn| turn.next_input > Tick::new(SHOT));
        assert!(early.is_some_and(|turn| turn.at <= Tick::new(SHOT)), "guard: early {early:?}");
        assert_eq!(report.confirmed_at(SHOT), Some(54), "guard: late");
        assert!(report.clients.iter().all(|client| client.projection == [0]));
        assert_eq!(report.clients[0].checksums, report.clients[1].checksums);
        assert_eq!((report.clients[0].checksums.len(), report.desyncs()), (60, 0));
    }
}

#[test]
fn d06_clean_passes_every_check_for_10_000_frames() {
    let factory = duel_factory::<BySeat>();
    let descriptor = tally_descriptor(&factory, 2, 1);
    assert_eq!(check_deterministic(&factory, &descriptor, script, 10_000).map(|proof| proof.states), Ok(10_001));
    synctest(&factory, &descriptor, script, 10_000, 3);
    assert_hydration(&factory, &descriptor, script, 10_000, 50);
}

#[test]
fn d06_faulty_local_first_is_flagged_at_frame_51_with_both_values() {
    let (clean, other) = (duel_factory::<LocalFirst<0>>(), duel_factory::<LocalFirst<1>>());
    assert_eq!(clean.manifest().identity(), other.manifest().identity(), "no manifest can see it");
    let descriptor = tally_descriptor(&clean, 2, 1);
    let fault = check_convergence([&clean, &other], &descriptor, script, 60).expect_err("flagged");
    // Behind the tick stands that there is a winner, and then who.
    let difference = Some(ByteDifference { offset: 9, first: Some(0), second: Some(1) });
    assert_eq!(
        fault,
        GameFault::Differs { compared: Compared::Instances, tick: Tick::new(51), difference, field: None }
    );
}

#[test]
fn d06_faulty_local_first_is_flagged_by_two_clients_at_frame_51_with_both_values() {
    let setup = duel().client(duelist().factory(Arc::new(duel_factory::<LocalFirst<0>>())));
    let mut sim = setup.client(duelist().factory(Arc::new(duel_factory::<LocalFirst<1>>()))).build();
    sim.run_until_confirmed(60);
    sim.run_ticks(4);
    let report = sim.report();
    assert!(both_shots_stand(&report), "guard");
    assert_eq!((&report.clients[0].projection[..], &report.clients[1].projection[..]), (&[0][..], &[1][..]));
    let Ok([expected, found]) =
        <[Checksum; 2]>::try_from(report.clients.iter().map(|client| client.checksums[50].1).collect::<Vec<_>>())
    else {
        panic!("two clients")
    };
    assert_ne!(expected, found);
    for client in &report.clients {
        let told = client.events.iter().filter_map(|(_, event)| match event {
            ClientEvent::Desync { tick, values } => Some((*tick, values.clone())),
            _ => None,
        });
        let first = told.min_by_key(|(tick, _)| *tick);
        assert_eq!(first, Some((Tick::new(51), vec![(seat(0), expected), (seat(1), found)])));
    }
    let breaches = sim.check().expect_err("flagged");
    assert_eq!(breaches, [Breach::State { seat: seat(1), tick: Tick::new(51), expected, found }]);
}
