//! A13: the room's own referee names who is wrong, puts it right, and lets no seat hold up snapshots.

use std::sync::Arc;

use retick_authority::referee::{Referee, RefereeMode, Sampling};
use retick_authority::room::{DonationConfig, MatchSettlement, RoomEvent, Verification};
use retick_core::client::{Client, ClientEvent};
use retick_core::fields::{FieldNames, SerdeFields};
use retick_core::runtime::RuntimeFactory;
use retick_core::seat::{Seat, SeatSet};
use retick_core::tick::Tick;
use retick_core::wire::{PlaceTick, Witness};
use retick_testing::fixtures::{Tally, tally_factory, zig};
use retick_testing::sim::{ClientSetup, MatchReport, MatchSetup, Reporting, SimulatedMatch};
use retick_testing::twins::{Plant, PlantedFactory, Reach};

use crate::support::{RATE, client, seat, tally_match};

/// The bit flips in this state.
const FLIPPED: u64 = 130;
/// The first report behind it, and the one after that.
const REPORT: u64 = 181;
const NEXT_REPORT: u64 = 241;
const TICK_COUNT: usize = 420;
const TICKS: u64 = TICK_COUNT as u64;
/// Two seconds.
const REPAIRED_WITHIN_TICKS: u64 = 120;

fn honest() -> ClientSetup {
    client(zig).latency_ticks(RATE, 3)
}

fn tally() -> Arc<dyn RuntimeFactory> {
    Arc::new(tally_factory())
}

/// TALLY that flips a bit of a sum.
fn planted(reach: Reach) -> Arc<PlantedFactory> {
    let place = |state: &[u8]| {
        let names = SerdeFields::<Tally>::new();
        (0..state.len() as u64).find(|at| names.name(state, *at).as_deref() == Some("sum[1]"))
    };
    let plant = Plant { tick: Tick::new(FLIPPED), place: Arc::new(place), mask: 1, reach };
    Arc::new(PlantedFactory::new(tally(), plant))
}

fn without_referee() -> MatchSetup {
    tally_match().hard_tolerance_ticks(20).checksum_cadence_ticks(60).last_tick(TICKS + 60)
}

fn setup() -> MatchSetup {
    without_referee().referee(RefereeMode::Full, tally())
}

fn play(setup: MatchSetup) -> SimulatedMatch {
    let mut sim = setup.build();
    sim.run_until_confirmed(TICKS);
    sim.run_ticks(10);
    sim
}

fn set(numbers: &[u8]) -> SeatSet {
    numbers.iter().map(|number| seat(*number)).collect()
}

/// When each seat was named wrong, and about which state.
fn named(report: &MatchReport) -> Vec<(u64, Seat, u64)> {
    let named = |(at, event): &(Tick, RoomEvent)| match event {
        RoomEvent::SeatWrong { seat, tick } => Some((at.index(), *seat, tick.index())),
        _ => None,
    };
    report.room_events.iter().filter_map(named).collect()
}

fn repaired(report: &MatchReport) -> Vec<(u64, Seat, u64)> {
    let repaired = |(at, event): &(Tick, RoomEvent)| match event {
        RoomEvent::SeatRepaired { seat, tick } => Some((at.index(), *seat, tick.index())),
        _ => None,
    };
    report.room_events.iter().filter_map(repaired).collect()
}

fn verdicts(report: &MatchReport, client: usize) -> Vec<(u64, Vec<Seat>)> {
    let verdict = |(_, event): &(Tick, ClientEvent)| match event {
        ClientEvent::Verdict { tick, wrong, .. } => Some((tick.index(), wrong.clone())),
        _ => None,
    };
    report.clients[client].events.iter().filter_map(verdict).collect()
}

/// Everybody plays on, every tick is confirmed when it is in a match without a fault, and no input is lost.
fn assert_undisturbed(report: &MatchReport) {
    let mut control = play(setup().client(honest()).client(honest()));
    let control = control.report();
    assert_eq!(report.confirm_times[..TICK_COUNT], control.confirm_times[..TICK_COUNT], "no tick is late");
    assert_eq!(report.frames[..TICK_COUNT], control.frames[..TICK_COUNT], "no input is missing");
    for client in &report.clients {
        assert_eq!(client.end, None, "nobody is closed");
        assert_eq!(client.frames[..TICK_COUNT], report.frames[..TICK_COUNT], "each frame is told once");
    }
}

#[test]
fn a13_one_against_one_the_wrong_seat_is_named_and_put_right_and_nobody_loses_a_tick() {
    for reach in [Reach::Every, Reach::First] {
        let mut sim = play(setup().client(honest()).client(honest().factory(planted(reach))));
        let report = sim.report();
        let [(named_at, wrong, tick)] = named(&report)[..] else { panic!("named once: {:?}", named(&report)) };
        assert_eq!((wrong, tick), (seat(1), REPORT));
        let [(repaired_at, right, state)] = repaired(&report)[..] else { panic!("{:?}", repaired(&report)) };
        assert_eq!((right, state), (seat(1), REPORT));
        assert!(repaired_at - named_at <= REPAIRED_WITHIN_TICKS, "named at {named_at}, put right at {repaired_at}");
        for client in [0, 1] {
            assert_eq!(verdicts(&report, client), [(REPORT, vec![seat(1)])], "everybody is told");
        }
        let told = report.clients[1].events.iter().any(|(_, event)| matches!(event, ClientEvent::Repaired { .. }));
        assert!(told, "and the seat itself, that it goes on from another state");
        assert_eq!(sim.room().verification(Tick::new(REPORT)), Verification::Desync);
        assert_eq!(sim.room().verification(Tick::new(NEXT_REPORT)), Verification::Agreed);
        assert_eq!((sim.room().wrong_seats(), report.desyncs(), report.room.seats.refused_reports), (set(&[1]), 1, 0));
        assert_undisturbed(&report);
    }
}

#[test]
fn a13_the_referee_is_one_side_of_what_is_looked_into() {
    let sim = play(setup().client(honest()).client(honest()).client(honest().factory(planted(Reach::Every))));
    let found = sim.room().desync_finding().expect("it was looked into");
    assert_eq!(found.witnesses.1, Witness::Seat(seat(2)));
    assert_eq!(found.place.as_ref().map(|place| place.tick), Some(PlaceTick::First(Tick::new(FLIPPED))), "{found}");
}

#[test]
fn a13_one_forged_hash_never_harms_the_honest_seat() {
    let mut forger = honest();
    forger.reporting = Reporting::Forged(Tick::new(REPORT));
    let mut sim = play(setup().client(honest()).client(forger));
    let report = sim.report();
    assert_eq!(named(&report).iter().map(|(_, seat, tick)| (*seat, *tick)).collect::<Vec<_>>(), [(seat(1), REPORT)]);
    assert_eq!(sim.room().wrong_seats(), set(&[1]));
    assert!((0..2).all(|client| verdicts(&report, client).iter().all(|(_, wrong)| !wrong.contains(&seat(0)))));
    assert_eq!(report.seat_stats[0].refused_reports, 0);
    assert_eq!(sim.room().verification(Tick::new(NEXT_REPORT)), Verification::Agreed);
    assert_undisturbed(&report);
}

#[test]
fn a13_a_seat_that_is_wrong_again_and_again_is_put_right_a_few_times_only() {
    let mut forger = honest();
    forger.reporting = Reporting::ForgedFrom(Tick::new(61));
    let mut sim = setup().last_tick(900).client(honest()).client(forger).build();
    sim.run_until_confirmed(800);
    let report = sim.report();
    assert!(named(&report).len() > 8, "guard: named for each of them: {:?}", named(&report));
    let most = u64::from(retick_authority::room::MAX_REPAIRS_PER_SEAT);
    assert_eq!((repaired(&report).len() as u64, report.room.failed_repairs), (most, 0));
    assert!(report.clients.iter().all(|client| client.end.is_none()));
}

#[test]
fn a13_a_lying_seat_holds_up_no_snapshot() {
    let donation = DonationConfig { snapshot_interval_millis: 2_000, ..DonationConfig::default() };
    let snapshot = |setup: MatchSetup| {
        let mut forger = honest();
        forger.reporting = Reporting::ForgedFrom(Tick::ZERO);
        let mut setup = setup.client(honest()).client(forger);
        setup.donation = donation;
        let sim = play(setup);
        sim.room().newest_snapshot().map(|kept| (kept.tick, kept.verified))
    };
    assert_eq!(snapshot(without_referee()), None, "guard: it can without a referee");
    let (tick, verified) = snapshot(setup()).expect("the referee donates");
    assert!(verified && tick >= Tick::new(121), "S({tick})");
}

#[test]
fn a13_the_settlement_is_what_the_seats_say_that_are_right() {
    let settled = |setup: MatchSetup| {
        let mut sim = play(setup.client(honest()).client(honest().factory(planted(Reach::Every))));
        // The one that is wrong speaks first.
        for (seat, result) in [(1, &b"b wins"[..]), (0, b"a wins")] {
            let client = sim.client_mut(seat).expect("a client");
            client.report_result(Tick::new(300), result).expect("it is connected");
            sim.run_ticks(20);
        }
        match sim.room().settlement() {
            MatchSettlement::Agreed { result, .. } => Some(result.to_vec()),
            MatchSettlement::Disputed => None,
            MatchSettlement::Incomplete { reported } => panic!("only {reported:?} have spoken"),
        }
    };
    assert_eq!(settled(without_referee()), None, "guard: nobody knows who is right");
    assert_eq!(settled(setup()), Some(b"a wins".to_vec()));
}

#[test]
fn a13_a_referee_that_all_seats_contradict_blames_nobody() {
    let mut setup = without_referee().referee(RefereeMode::Full, planted(Reach::Every));
    setup.donation.snapshot_interval_millis = 1_000;
    let mut sim = play(setup.client(honest()).client(honest()));
    let report = sim.report();
    assert!(report.room.undecided_verdicts > 0, "guard: they contradict it");
    assert_eq!((named(&report), repaired(&report), sim.room().wrong_seats()), (vec![], vec![], SeatSet::EMPTY));
    // Nobody is given its state: the seats, which vouch for each other, donate theirs.
    let kept = sim.room().newest_snapshot().map(|kept| (kept.tick, kept.verified));
    assert!(kept.is_some_and(|(tick, verified)| tick > Tick::new(REPORT) && verified), "{kept:?}");
    assert!(report.clients.iter().all(|client| client.end.is_none()));
}

#[test]
fn a13_a_sampling_referee_comes_when_reports_differ_and_goes_again() {
    let sampling = Sampling { every_millis: 60_000, window_millis: 1_500 };
    let mode = RefereeMode::Sampled(sampling);
    let twin = honest().factory(planted(Reach::Every));
    let mut sim = without_referee().referee(mode, tally()).client(honest()).client(twin).build();
    let is_there = |sim: &SimulatedMatch| sim.referee().is_some_and(|referee| referee.client().is_some());
    sim.run_until_confirmed(REPORT - 10);
    assert!(!is_there(&sim), "guard: its first visit is over");
    sim.run_until_confirmed(TICKS);
    sim.run_ticks(10);
    let report = sim.report();
    assert_eq!(named(&report).iter().map(|(_, seat, tick)| (*seat, *tick)).collect::<Vec<_>>(), [(seat(1), REPORT)]);
    assert!(!is_there(&sim), "and its second one");
    assert!(report.clients.iter().all(|client| client.end.is_none()));
}

#[test]
fn a13_a_referee_says_nothing_of_a_state_that_nobody_vouches_for() {
    // One seat alone donates what it has: a wrong state.
    let donation = DonationConfig { snapshot_interval_millis: 1_000, replay_millis: 0, ..DonationConfig::default() };
    let mode = RefereeMode::Sampled(Sampling { every_millis: 4_000, window_millis: 1_000 });
    let mut setup = without_referee().referee(mode, tally()).client(honest().factory(planted(Reach::Every)));
    setup.donation = donation;
    let mut sim = setup.build();
    // The first visit is over by then: it had every frame.
    sim.run_until_confirmed(200);
    let mut came = false;
    sim.run_until(TICKS, |sim| {
        let client = sim.referee().and_then(Referee::client);
        came |= client.is_some();
        let begun = client.and_then(Client::session).is_some_and(|session| session.confirmed() > Tick::ZERO);
        assert!(!begun, "it goes by a state of one seat's");
        sim.room().frontier() >= Tick::new(TICKS)
    });
    assert!(came && sim.room().stats().snapshots > 0, "guard: it came, and there is a state to begin with");
    assert_eq!((sim.room().stats().verdicts, sim.room().wrong_seats()), (0, SeatSet::EMPTY));
    assert_eq!(sim.room().stats().undecided_verdicts, 0);
}
