//! K07: an observer that is slow, as far as the session and the client have it: a bounded number of confirmed frames in each turn.
//! Observers in the room, with their caps and their closing, are in `k07_observers`.

use std::sync::Arc;

use retick_core::runtime::RuntimeFactory;
use retick_core::seat::SeatSet;
use retick_core::session::{Budget, Recording, Session, SessionEvent, SessionPolicy};
use retick_core::tick::{Moment, Tick};
use retick_testing::fixtures::{TallyView, tally_factory, zig};
use retick_testing::sim::{DEFAULT_LOBBY_TICKS, MatchReport, MatchSetup, TurnSample};

use crate::support::{RATE, authority_tally, client, shown_tally, tally_match, view};

const TICKS: u64 = 10_000;
/// The observer runs freely from this authority tick on.
const RELEASE: u64 = 600;
/// Most confirmed frames in one turn.
const BUDGET: usize = 8;

fn players() -> MatchReport {
    let player = || client(zig).latency_ticks(RATE, 2);
    let setup = MatchSetup::new(Arc::new(tally_factory())).hard_tolerance_ticks(30).last_tick(TICKS);
    let mut sim = setup.client(player()).client(player()).build();
    sim.run_until_confirmed(TICKS);
    sim.finish()
}

/// One turn of the observer, as it was afterwards.
#[derive(Clone, Copy, Debug)]
struct Observed {
    at: u64,
    backlog_before: usize,
    applied: usize,
    backlog: usize,
}

#[test]
fn k07_b_a_slow_observer_drains_its_backlog_within_45_turns_and_changes_nothing() {
    let report = players();
    let end = view(&[-5, -2], &[0, 0], 0xF52D_4D94);
    assert_eq!(authority_tally(&report, 10_000), end);
    assert!(report.clients.iter().all(|client| shown_tally(client) == end));

    // Nobody's seat is its own, and it predicts nothing.
    let (factory, policy) =
        (tally_factory(), SessionPolicy { recording: Recording::Frames, ..SessionPolicy::default() });
    let runtime = factory.create(&report.descriptor).expect("a match of TALLY");
    let mut observer = Session::new(runtime, &report.descriptor, policy, SeatSet::EMPTY).expect("a valid policy");
    let (mut frames, mut seen, mut checksums, mut turns) = (report.frames.iter().peekable(), vec![], vec![], vec![]);
    for at in 0..report.authority_ticks.index() {
        while frames.peek().is_some_and(|frame| report.confirmed_at(frame.tick().index()) <= Some(at)) {
            observer.confirm(frames.next().expect("peeked")).expect("the next frame");
        }
        let backlog_before = observer.queued_frames();
        let confirmed_frames = if at < RELEASE { usize::from(at % 2 == 0) } else { BUDGET };
        let progress = observer.advance(Budget { confirmed_frames, target: Tick::ZERO }).expect("TALLY does not fault");
        assert_eq!((progress.resimulated, progress.predicted), (0, 0));
        let (applied, backlog) = (progress.confirmed_frames, observer.queued_frames());
        turns.push(Observed { at, backlog_before, applied, backlog });
        while let Some(event) = observer.poll_event() {
            match event {
                SessionEvent::Confirmed(frame) => seen.push(*frame),
                SessionEvent::Checksum { tick, checksum } => checksums.push((tick, checksum)),
                SessionEvent::RolledBack { .. } => panic!("nothing was predicted"),
            }
        }
    }
    assert!(turns.iter().all(|turn| turn.applied <= BUDGET));
    assert!(turns.iter().any(|turn| turn.backlog_before >= 250), "guard");
    let free: Vec<_> = turns.iter().filter(|turn| turn.at >= RELEASE).collect();
    let reached = free.iter().position(|turn| turn.backlog == 0).expect("it reaches the frontier");
    assert!(reached < 45, "after {reached} turns");
    assert!(free[..reached - 1].windows(2).all(|pair| pair[0].backlog - pair[1].backlog == 7), "eight off, one more");
    assert!(free[reached..].iter().all(|turn| turn.backlog == 0), "and stays there");
    // From tick 0 on it saw what the players saw.
    assert_eq!(seen, report.frames);
    assert_eq!(checksums, report.clients[0].checksums);
    assert_eq!(TallyView::read(observer.projections().0), Some(end));
}

#[test]
fn k07_b_a_client_keeps_to_its_budget_when_300_frames_arrive_at_once() {
    let moment = |tick: u64| RATE.moment_of(Tick::new(DEFAULT_LOBBY_TICKS + tick));
    let mut starved = client(zig).latency_ticks(RATE, 2);
    starved.config.max_confirmed_frames_per_turn = Some(8);
    starved.down.stalls = vec![moment(300)..Moment::from_nanos(moment(600).as_nanos())];
    let setup = tally_match().hard_tolerance_ticks(6).last_tick(1200);
    let mut sim = setup.client(client(zig).latency_ticks(RATE, 2)).client(starved).build();
    sim.run_until_confirmed(1200);
    // The states of both are the fold of the log, and no cap was passed.
    let report = sim.finish();
    let turns = &report.clients[1].turns;
    assert!(turns.iter().all(|turn| turn.progress.confirmed_frames <= BUDGET));
    assert!(turns.iter().any(|turn| turn.queued_frames >= 250), "guard");
    let left = |turn: &TurnSample| turn.queued_frames - turn.progress.confirmed_frames;
    let start = turns.iter().position(|turn| turn.queued_frames >= 250).expect("the guard");
    let reached = turns[start..].iter().position(|turn| left(turn) == 0).expect("it reaches the frontier");
    assert!(reached < 45, "after {reached} turns");
    assert!(turns[start + reached..].iter().all(|turn| left(turn) == 0), "and stays there");
    let end = authority_tally(&report, 1200);
    assert!(report.clients.iter().all(|client| shown_tally(client) == end));
    // The other player's inputs all stand.
    assert_eq!(report.seat_stats[0].substituted_inputs, 0);
}
