//! K09: one-shot effects under prediction: once, not zero times, not twice.

use std::sync::Arc;

use retick_core::event::{EventKey, EventLife, PresentationEvent};
use retick_core::frame::{Frame, SeatFrame};
use retick_core::runtime::RuntimeFactory;
use retick_core::seat::{ControlEpoch, Generation, Presence, Seat};
use retick_core::session::{Budget, DroppedEvents, RemotePrediction, Session, SessionPolicy};
use retick_core::tick::Tick;
use retick_testing::fixtures::{TallyView, beep_key, beeper_factory, pack_tally, tally_descriptor, tally_reference};
use retick_testing::sim::{ClientRecord, MatchReport, MatchSetup};

use crate::support::{RATE, authority_tally, client, seat, shown_tally};

const TICKS: u64 = 200;

fn script(seat: Seat, tick: Tick) -> i32 {
    if seat.number() == 1 && (100..=101).contains(&tick.index()) { 9 } else { 0 }
}

fn beep(tick: u64) -> EventKey {
    beep_key(seat(1), Tick::new(tick))
}

/// Two real clients; both guess each other's inputs so.
fn networked(remote_prediction: RemotePrediction) -> MatchReport {
    let player = || {
        let mut player = client(script).latency_ticks(RATE, 4).window_ticks(16);
        player.config.remote_prediction = remote_prediction;
        player
    };
    let setup = MatchSetup::new(Arc::new(beeper_factory())).strict().hard_tolerance_ticks(30).last_tick(TICKS);
    let mut sim = setup.client(player()).client(player()).build();
    sim.run_until_confirmed(TICKS);
    // Holds each client's confirmed events against an offline fold, too.
    let report = sim.finish();
    assert_eq!(report.flagged_ticks(), [0; 0]);
    assert!(report.clients.iter().all(|client| client.dropped_events == DroppedEvents::default()));
    report
}

/// Both seats on one machine, whose frames are what they give: what is confirmed of it, and its last state.
fn offline() -> (Vec<EventKey>, TallyView, Vec<Frame>) {
    let factory = beeper_factory();
    let descriptor = tally_descriptor(&factory, 2, 1);
    let runtime = factory.create(&descriptor).expect("a match of TALLY");
    let (seats, policy) = ([seat(0), seat(1)], SessionPolicy::default());
    let mut session = Session::new(runtime, &descriptor, policy, seats.into_iter().collect()).expect("a valid policy");
    let (mut confirmed, mut frames) = (vec![], vec![]);
    for tick in (0..TICKS).map(Tick::new) {
        let mut frame = Frame::new(Generation(0), tick);
        for seat in seats {
            let input = pack_tally(script(seat, tick));
            session.submit(seat, tick, &input).expect("the next tick");
            let (presence, epoch) = (Presence::Human, ControlEpoch(0));
            frame.push_seat(SeatFrame { input: Some(&input), substituted: false, presence, epoch });
        }
        session.confirm(&frame).expect("the next frame");
        session.advance(Budget { confirmed_frames: 1, target: tick }).expect("TALLY does not fault");
        while let Some(PresentationEvent { life, key, .. }) = session.poll_presentation_event() {
            assert_eq!(life, EventLife::Confirmed, "nothing is predicted offline");
            confirmed.push(key);
        }
        frames.push(frame);
    }
    (confirmed, TallyView::read(session.projections().0).expect("TALLY projects"), frames)
}

fn keys(client: &ClientRecord, life: EventLife) -> Vec<EventKey> {
    client.presented.iter().filter(|seen| seen.life == life).map(|seen| seen.key).collect()
}

#[test]
fn k09_each_beep_is_heard_once_with_any_prediction_and_offline() {
    let expected = [beep(100), beep(101)];
    let (confirmed, end, frames) = offline();
    assert_eq!((&confirmed[..], end.sum[1]), (&expected[..], 18));
    assert_eq!(end, tally_reference(2, &frames));
    for remote_prediction in [RemotePrediction::RepeatLast, RemotePrediction::Neutral] {
        let report = networked(remote_prediction);
        assert_eq!(authority_tally(&report, 200), end, "{remote_prediction:?}");
        for client in &report.clients {
            assert_eq!(keys(client, EventLife::Confirmed), expected, "{remote_prediction:?}, seat {}", client.seat);
            assert_eq!(shown_tally(client), end, "{remote_prediction:?}, seat {}", client.seat);
        }
        let states: Vec<_> = report.clients.iter().map(|client| client.last_state).collect();
        assert!(states[0].is_some_and(|(tick, _)| tick == Tick::new(TICKS)) && states[0] == states[1]);
    }
}

#[test]
fn k09_what_was_guessed_wrong_is_taken_back_and_neutral_never_guesses_a_beep() {
    // Seat 1 hears itself at once, whatever is guessed of others: both beeps as predicted, none canceled.
    let of_seat_1 =
        |report: &MatchReport| [EventLife::Predicted, EventLife::Canceled].map(|life| keys(&report.clients[1], life));
    let repeated = networked(RemotePrediction::RepeatLast);
    assert_eq!(of_seat_1(&repeated), [vec![beep(100), beep(101)], vec![]]);
    let [predicted, canceled] =
        [EventLife::Predicted, EventLife::Canceled].map(|life| keys(&repeated.clients[0], life));
    // Held beyond its end, the input beeps in ticks that it was not given for: all of those are taken back, and tick 101 is not.
    let wrong: Vec<_> = predicted.iter().filter(|key| key.tick > Tick::new(101)).copied().collect();
    assert!(predicted.contains(&beep(101)) && wrong.contains(&beep(102)), "guard: {predicted:?}");
    assert_eq!(canceled, wrong);
    // Tick 101 was guessed right and never played again; 100 and 102 were guessed wrong. What is not guessed at first, in tick 0, is
    // since when the seats are driven.
    let corrected: Vec<_> = repeated.clients[0].rollbacks.iter().map(|seen| seen.from.index()).collect();
    assert_eq!(corrected, [0, 100, 102], "guard");

    let neutral = networked(RemotePrediction::Neutral);
    assert_eq!(of_seat_1(&neutral), [vec![beep(100), beep(101)], vec![]]);
    assert_eq!(keys(&neutral.clients[0], EventLife::Predicted), []);
    assert_eq!(keys(&neutral.clients[0], EventLife::Canceled), []);
}
