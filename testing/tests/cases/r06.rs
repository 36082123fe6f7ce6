//! R06: a second session in the same process is like a first one.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use allocation_counter::measure;
use retick_core::client::ClientEvent;
use retick_core::digest::Checksum;
use retick_core::frame::Frame;
use retick_core::identity::MatchDescriptor;
use retick_core::runner::{OfflineOptions, RunnerEvent, Status};
use retick_core::runtime::RuntimeFactory;
use retick_core::seat::SeatSet;
use retick_core::session::{Budget, Session, SessionEvent, SessionPolicy};
use retick_core::tick::Tick;
use retick_testing::fixtures::{TallyView, tally_descriptor, tally_factory, tally_reference, zig_packed};
use retick_testing::runner::{HarnessSetup, RunnerHarness};

use crate::support::view;

const CADENCE: u32 = 60;

/// The last tick whose state is reported before the match is stopped in the middle of things.
const REPORT_TICK: u64 = 540;

/// Two runners, what they play, and by how many ticks their script is shifted from then on.
fn table() -> (RunnerHarness, MatchDescriptor, Arc<AtomicU64>) {
    let (factory, shift) = (Arc::new(tally_factory()), Arc::new(AtomicU64::new(0)));
    let descriptor = tally_descriptor(factory.as_ref(), 2, 1);
    let shifted = shift.clone();
    let script = move |seat, tick: Tick| zig_packed(seat, tick.saturating_add(shifted.load(Ordering::Relaxed)));
    let setup = HarnessSetup { checksum_cadence_ticks: CADENCE, ..HarnessSetup::new(factory, 2, script) };
    (RunnerHarness::new(setup), descriptor, shift)
}

/// Whatever the runners reported since the record was cleared is of the match that they play; both have reported so many states.
fn assert_reports(harness: &RunnerHarness, descriptor: &MatchDescriptor, least: usize) {
    let frames = harness.frames();
    for player in 0..2 {
        let reported = harness.events(player).iter().filter_map(|event| match event {
            RunnerEvent::Match(ClientEvent::Session(SessionEvent::Checksum { tick, checksum })) => {
                Some((*tick, *checksum))
            }
            _ => None,
        });
        let reported: Vec<_> = reported.collect();
        assert!(reported.len() >= least, "player {player}: {reported:?}");
        for (tick, found) in reported {
            let expected = checksum_after(descriptor, &frames[..usize::try_from(tick.index()).expect("small")]);
            assert_eq!(found, expected, "player {player}, S({tick})");
        }
    }
}

/// The checksum of TALLY after these frames, in a session of its own.
fn checksum_after(descriptor: &MatchDescriptor, frames: &[Frame]) -> Checksum {
    let runtime = tally_factory().create(descriptor).expect("a match of TALLY");
    let policy = SessionPolicy { checksum_cadence_ticks: CADENCE, ..SessionPolicy::default() };
    let mut session = Session::new(runtime, descriptor, policy, SeatSet::EMPTY).expect("a session");
    frames.iter().for_each(|frame| session.confirm(frame).expect("in order"));
    session.advance(Budget { confirmed_frames: usize::MAX, target: Tick::ZERO }).expect("TALLY does not fault");
    session.head_checksum().expect("TALLY has a form")
}

/// The room, and both machines' confirmed states, are those of an undisturbed match of `zig`.
fn assert_states(harness: &mut RunnerHarness, descriptor: &MatchDescriptor, ticks: usize, expected: &TallyView) {
    let frames = harness.frames();
    assert_eq!(&tally_reference(2, &frames[..ticks]), expected);
    for player in 0..2 {
        let session = harness.runner_mut(player).session_mut().expect("it plays");
        let confirmed = session.confirmed();
        let found = session.checksum_at(confirmed).expect("the last confirmed state");
        let place = usize::try_from(confirmed.index()).expect("small");
        assert!(place >= ticks);
        assert_eq!(found, checksum_after(descriptor, &frames[..place]), "player {player}, S({confirmed})");
        let net = harness.runner(player).snapshot().net.expect("networked");
        assert_eq!((net.client.own_substitutions, net.client.desyncs), (0, 0));
    }
    assert_eq!(harness.room().stats().desyncs, 0);
}

/// Nothing of an earlier match is in a runner that has just started one.
fn assert_new(harness: &RunnerHarness, player: usize) {
    let snapshot = harness.runner(player).snapshot();
    let net = snapshot.net.expect("networked");
    assert_eq!((snapshot.rollbacks, net.client.own_substitutions, net.client.reports), (0, 0, 0));
    assert_eq!((net.client.desyncs, net.client.received_bytes, net.queued_frames), (0, 0, 0));
    assert_eq!((snapshot.applied_through, snapshot.predicted_through, snapshot.local_seat), (None, None, None));
    assert!(snapshot.presence.is_empty() && snapshot.render.is_none() && !snapshot.ready);
}

/// Starts a match of both runners, and plays until each has taken its first turn in it.
fn start_and_take_first_turns(harness: &mut RunnerHarness, descriptor: &MatchDescriptor) {
    harness.clear_records();
    harness.open_room(descriptor.clone());
    harness.join_all();
    (0..2).for_each(|player| assert_new(harness, player));
    let mut played = [false; 2];
    for _ in 0..60 {
        let ready = [0, 1].map(|player| harness.runner(player).snapshot().ready);
        assert!(ready == [false; 2] || played != [false; 2], "a turn steps as soon as there is something to play");
        harness.advance();
        for (player, played) in played.iter_mut().enumerate() {
            let snapshot = harness.runner(player).snapshot();
            let first = snapshot.ready && !*played;
            assert!(!first || snapshot.predicted_through >= Some(Tick::ZERO), "player {player} steps tick 0 at once");
            *played |= first;
        }
        if played == [true; 2] {
            return;
        }
    }
    panic!("the match did not start: {played:?}");
}

#[test]
fn r06_a_second_session_in_the_same_process_is_like_a_first_one() {
    let (mut harness, descriptor, shift) = table();
    start_and_take_first_turns(&mut harness, &descriptor);
    harness.run_until_confirmed(500);
    assert_states(&mut harness, &descriptor, 500, &view(&[1, 5], &[0, 0], 0x2502_E6D1));
    assert_reports(&harness, &descriptor, 8);

    // Stop where a report, a confirmed frame and a rollback are pending: frames lie in the session that no turn has applied, the
    // reported tick among them, and they are not what was predicted.
    let pending = |harness: &RunnerHarness| {
        let (report, sessions) = (Tick::new(REPORT_TICK), [0, 1].map(|player| harness.runner(player).session()));
        sessions.into_iter().flatten().all(|session| {
            let (confirmed, received) = (session.confirmed(), session.received());
            confirmed <= report && received > report && session.head() > confirmed && session.queued_frames() > 0
        })
    };
    harness.deliver_due();
    while !pending(&harness) {
        assert!(harness.room().frontier() < Tick::new(REPORT_TICK + 10), "guard: it came to that");
        harness.advance();
        harness.deliver_due();
    }
    assert!((0..2).all(|player| harness.runner(player).snapshot().rollbacks > 400), "guard");
    let stale = [0, 1].map(|player| harness.runner(player).stats().stale_transport_events);

    // The second room plays the very same match, so that only the link tells a late message from a right one.
    start_and_take_first_turns(&mut harness, &descriptor);
    harness.run_until_confirmed(60);
    assert_states(&mut harness, &descriptor, 60, &view(&[1, 5], &[0, 0], 0xDAB4_FAC9));
    for (player, before) in stale.into_iter().enumerate() {
        let stats = harness.runner(player).stats();
        assert!(stats.stale_transport_events > before, "guard: a message of the first room came late");
        let snapshot = harness.runner(player).snapshot();
        assert!((1..=60).contains(&snapshot.net.expect("networked").client.reports), "only its own");
        assert_eq!(snapshot.status, Status::Live);
    }
    assert!(harness.room().stats().stray_messages > 0, "guard: what was sent to the first room came to the second");

    // Networked, offline, networked again, on one runner.
    let offline = OfflineOptions::new(descriptor.clone()).fill_with_bots();
    harness.runner_mut(0).start_offline(&offline).expect("TALLY");
    harness.run_until(70, |harness| {
        harness.runner(0).session().is_some_and(|session| session.confirmed() >= Tick::new(60))
    });
    let shown = harness.runner(0).render_state().expect("TALLY projects");
    assert_eq!(shown.tick, Tick::new(60));
    assert_eq!(TallyView::read(shown.current), Some(view(&[1, 5], &[0, 0], 0xDAB4_FAC9)));
    start_and_take_first_turns(&mut harness, &descriptor);
    harness.run_until_confirmed(60);
    assert_states(&mut harness, &descriptor, 60, &view(&[1, 5], &[0, 0], 0xDAB4_FAC9));

    // A match that goes otherwise from its first tick on. Both machines are in this process, so that what they share would agree;
    // it must be right.
    shift.store(3, Ordering::Relaxed);
    start_and_take_first_turns(&mut harness, &descriptor);
    harness.run_until_confirmed(200);
    assert_ne!(
        tally_reference(2, &harness.frames()[..60]),
        view(&[1, 5], &[0, 0], 0xDAB4_FAC9),
        "guard: another match"
    );
    assert_reports(&harness, &descriptor, 3);
    assert_eq!(harness.room().stats().desyncs, 0);
}

/// One session of 30 ticks in a room, and every fifth time one at the machine after it.
fn play_session(harness: &mut RunnerHarness, descriptor: &MatchDescriptor, number: u64) {
    harness.open_room(descriptor.clone());
    harness.join_all();
    harness.run_until_confirmed(30);
    assert_eq!(tally_reference(2, &harness.frames()[..30]).sub, [0, 0]);
    if number.is_multiple_of(5) {
        harness.runner_mut(0).start_offline(&OfflineOptions::new(descriptor.clone())).expect("TALLY");
        harness.run_ticks(30);
    }
    (0..2).for_each(|player| harness.runner_mut(player).stop().expect("not disposed of"));
    (0..2).for_each(|player| harness.drain(player));
    harness.forget_room();
    harness.clear_records();
}

#[test]
fn r06_two_hundred_sessions_leave_as_much_behind_as_twenty() {
    let mut table = None;
    let first = measure(|| {
        let (mut harness, descriptor, _) = self::table();
        (0..20).for_each(|number| play_session(&mut harness, &descriptor, number));
        table = Some((harness, descriptor));
    });
    let Some((harness, descriptor)) = &mut table else { panic!("it was made") };
    let later = measure(|| (20..200).for_each(|number| play_session(harness, descriptor, number)));
    assert!(later.count_total > 100_000, "guard: sessions were played: {later:?}");
    assert!(later.count_current.abs() * 20 <= first.count_current, "live objects: {first:?}, then {later:?}");
    assert!(later.bytes_current.abs() * 20 <= first.bytes_current, "heap: {first:?}, then {later:?}");
}
