//! K10: what each turn of a session tells, turn by turn, and what the limits drop.

use std::vec;
use std::vec::Vec;

use super::*;
use crate::event::{EventId, MAX_EVENT_BYTES};

mod schedules;

const MODULE: u16 = 1;

/// An event of a script: tick, source, payload.
type Script = (u64, u32, &'static [u8]);
/// An event that came out: its life, tick, source and payload.
type Told = (EventLife, u64, u32, Vec<u8>);

/// A turn, `(start, reached, confirmed)`, with what it emits and what it must tell.
type Played<'a> = ((u64, u64, u64), &'a [Script], &'a [Told]);

use EventLife::{Canceled, Confirmed, Predicted};

fn told(life: EventLife, tick: u64, source: u32, payload: &[u8]) -> Told {
    (life, tick, source, payload.to_vec())
}

fn batch(script: &[Script]) -> EventBatch {
    let mut batch = EventBatch::default();
    for (tick, source, payload) in script {
        batch.begin_tick(Tick::new(*tick));
        batch.push(EventId { module: MODULE, source: *source, event: 0 }, payload);
    }
    batch
}

fn turn(start: u64, reached: u64, confirmed: u64) -> Turn {
    let [start, reached, confirmed] = [start, reached, confirmed].map(Tick::new);
    Turn { start, reached, confirmed, received: confirmed }
}

fn drain(presentation: &mut Presentation) -> Vec<Told> {
    let mut all = vec![];
    while let Some(PresentationEvent { life, key, payload }) = presentation.poll() {
        all.push((life, key.tick.index(), key.source, payload.to_vec()));
    }
    all
}

/// Plays turns, each of which must tell exactly what it must.
fn check(policy: PresentationPolicy, turns: &[Played<'_>]) {
    let mut presentation = Presentation::new(policy);
    for (index, ((start, reached, confirmed), script, expected)) in turns.iter().enumerate() {
        presentation.turn(turn(*start, *reached, *confirmed), &batch(script));
        assert_eq!(drain(&mut presentation), *expected, "turn {index}");
    }
    assert_eq!(presentation.dropped(), DroppedEvents::default());
}

#[test]
fn k10_a_right_prediction_is_told_twice_and_never_again() {
    check(
        PresentationPolicy::default(),
        &[
            ((0, 2, 0), &[(0, 1, b"a"), (1, 1, b"b")], &[told(Predicted, 0, 1, b"a"), told(Predicted, 1, 1, b"b")]),
            ((2, 3, 1), &[(2, 1, b"c")], &[told(Confirmed, 0, 1, b"a"), told(Predicted, 2, 1, b"c")]),
            ((3, 3, 3), &[], &[told(Confirmed, 1, 1, b"b"), told(Confirmed, 2, 1, b"c")]),
            ((3, 3, 3), &[], &[]),
        ],
    );
}

#[test]
fn k10_what_a_rollback_plays_again_is_told_as_far_as_it_differs() {
    let first: &[Script] = &[(0, 1, b"same"), (0, 2, b"gone"), (1, 3, b"old"), (1, 4, b"same")];
    let again: &[Script] = &[(0, 1, b"same"), (1, 4, b"same"), (1, 3, b"new"), (1, 5, b"more")];
    let predicted: Vec<_> =
        first.iter().map(|(tick, source, payload)| told(Predicted, *tick, *source, payload)).collect();
    check(
        PresentationPolicy::default(),
        &[
            ((0, 2, 0), first, &predicted),
            (
                (0, 2, 0),
                again,
                &[
                    told(Canceled, 0, 2, b"gone"),
                    told(Canceled, 1, 3, b"old"),
                    told(Predicted, 1, 3, b"new"),
                    told(Predicted, 1, 5, b"more"),
                ],
            ),
            // Rolled back once more, and confirmed at the same time: nothing is predicted that is confirmed anyway.
            (
                (0, 2, 2),
                first,
                &[
                    told(Canceled, 1, 3, b"new"),
                    told(Canceled, 1, 5, b"more"),
                    told(Confirmed, 0, 1, b"same"),
                    told(Confirmed, 0, 2, b"gone"),
                    told(Confirmed, 1, 3, b"old"),
                    told(Confirmed, 1, 4, b"same"),
                ],
            ),
        ],
    );
}

#[test]
fn k10_a_tick_that_is_not_played_again_cancels_what_it_told() {
    check(
        PresentationPolicy::default(),
        &[
            ((0, 2, 0), &[(0, 1, b""), (1, 1, b"")], &[told(Predicted, 0, 1, b""), told(Predicted, 1, 1, b"")]),
            ((0, 1, 0), &[(0, 1, b"")], &[told(Canceled, 1, 1, b"")]),
            ((1, 2, 1), &[(1, 1, b"")], &[told(Confirmed, 0, 1, b""), told(Predicted, 1, 1, b"")]),
        ],
    );
}

#[test]
fn k10_ticks_that_were_never_predicted_are_confirmed_alone() {
    let turns: [Played<'_>; 2] = [
        ((0, 2, 2), &[(0, 1, b"a"), (1, 1, b"b")], &[told(Confirmed, 0, 1, b"a"), told(Confirmed, 1, 1, b"b")]),
        ((2, 3, 3), &[(2, 1, b"c")], &[told(Confirmed, 2, 1, b"c")]),
    ];
    check(PresentationPolicy::default(), &turns);
}

#[test]
fn k10_withheld_predictions_come_out_confirmed_alone() {
    let policy = PresentationPolicy { speculative: SpeculativeEvents::Withhold, ..PresentationPolicy::default() };
    check(
        policy,
        &[
            ((0, 2, 0), &[(0, 1, b"a"), (1, 1, b"b")], &[]),
            ((1, 3, 1), &[(2, 1, b"c")], &[told(Confirmed, 0, 1, b"a")]),
            ((3, 3, 3), &[], &[told(Confirmed, 2, 1, b"c")]),
        ],
    );
}

/// The events of a turn that confirms `fresh` ticks which were never played, after two that were, with one more predicted.
fn caught_up(catch_up: CatchUpEvents, fresh: u64) -> (Vec<Told>, u64) {
    let mut presentation = Presentation::new(PresentationPolicy { catch_up, ..PresentationPolicy::default() });
    presentation.turn(turn(0, 2, 0), &batch(&[(0, 1, b""), (1, 1, b"")]));
    drain(&mut presentation);
    let script: Vec<Script> = (1..fresh + 3).map(|tick| (tick, if tick == 1 { 2 } else { 1 }, &b""[..])).collect();
    presentation.turn(turn(1, fresh + 3, fresh + 2), &batch(&script));
    (drain(&mut presentation), presentation.dropped().catch_up)
}

#[test]
fn k10_a_catch_up_drops_what_was_never_played_and_counts_it() {
    let most = u64::from(DEFAULT_CATCH_UP_AFTER_TICKS);
    let (all, dropped) = caught_up(CatchUpEvents::Drop, most);
    assert_eq!((all.len() as u64, dropped), (1 + 2 + most + 1, 0), "at the limit it is none");
    let (all, dropped) = caught_up(CatchUpEvents::Drop, most + 1);
    // What was played before has its end, and what is predicted is of the present.
    let expected = [
        told(Canceled, 1, 1, b""),
        told(Confirmed, 0, 1, b""),
        told(Confirmed, 1, 2, b""),
        told(Predicted, most + 3, 1, b""),
    ];
    assert_eq!((&all[..], dropped), (&expected[..], most + 1));
    let (all, dropped) = caught_up(CatchUpEvents::Deliver, most + 1);
    assert_eq!((all.len() as u64, dropped), (1 + 2 + most + 1 + 1, 0));
}

#[test]
fn k10_a_catch_up_in_small_turns_is_one_until_the_backlog_is_short() {
    let most = u64::from(DEFAULT_CATCH_UP_AFTER_TICKS);
    let mut presentation = Presentation::new(PresentationPolicy::default());
    let received = Tick::new(most + 3);
    for tick in 0..received.index() {
        presentation.turn(Turn { received, ..turn(tick, tick + 1, tick + 1) }, &batch(&[(tick, 1, b"")]));
    }
    let all: Vec<_> = drain(&mut presentation).iter().map(|(_, tick, ..)| *tick).collect();
    assert_eq!(all, (3..received.index()).collect::<Vec<_>>());
    assert_eq!(presentation.dropped().catch_up, 3);
}

#[test]
fn k10_a_stop_and_a_hydration_end_every_prediction() {
    let mut presentation = Presentation::new(PresentationPolicy::default());
    presentation.turn(turn(0, 2, 0), &batch(&[(0, 1, b""), (1, 1, b"")]));
    drain(&mut presentation);
    presentation.hydrated(Tick::new(50));
    assert_eq!(drain(&mut presentation), [told(Canceled, 0, 1, b""), told(Canceled, 1, 1, b"")]);
    presentation.turn(turn(50, 52, 50), &batch(&[(50, 1, b""), (51, 1, b"")]));
    drain(&mut presentation);
    presentation.stopped(Tick::new(51));
    assert_eq!(drain(&mut presentation), [told(Confirmed, 50, 1, b""), told(Canceled, 51, 1, b"")]);
    presentation.stopped(Tick::new(51));
    assert_eq!(drain(&mut presentation), []);
}

/// A batch of `count` events of tick `tick`, in as few ticks as there may be.
fn many(tick: u64, count: usize, payload: usize) -> (EventBatch, u64) {
    let (mut batch, mut end) = (EventBatch::default(), tick);
    let per_tick = if payload == 0 { 256 } else { 16 };
    for index in 0..count {
        if index % per_tick == 0 {
            batch.begin_tick(Tick::new(end));
            end += 1;
        }
        batch.push(EventId::default(), &vec![7; payload]);
    }
    assert_eq!((batch.len(), batch.dropped()), (count, 0), "guard");
    (batch, end)
}

#[test]
fn k10_the_queue_holds_its_limit_and_counts_one_past_it() {
    for (payload, most) in
        [(0, MAX_WAITING_PRESENTATION_EVENTS), (MAX_EVENT_BYTES, MAX_WAITING_PRESENTATION_BYTES / MAX_EVENT_BYTES)]
    {
        let policy = PresentationPolicy { catch_up: CatchUpEvents::Deliver, ..PresentationPolicy::default() };
        let mut presentation = Presentation::new(policy);
        let (emitted, end) = many(0, most + 1, payload);
        presentation.turn(turn(0, end, end), &emitted);
        assert_eq!(presentation.dropped(), DroppedEvents { confirmed: 1, ..DroppedEvents::default() });
        assert_eq!(drain(&mut presentation).len(), most);
    }
}

#[test]
fn k10_predictions_leave_half_of_the_queue_and_keep_room_for_their_ends() {
    for (payload, most) in
        [(0, MAX_WAITING_PRESENTATION_EVENTS), (MAX_EVENT_BYTES, MAX_WAITING_PRESENTATION_BYTES / MAX_EVENT_BYTES)]
    {
        let policy = PresentationPolicy { catch_up: CatchUpEvents::Deliver, ..PresentationPolicy::default() };
        let mut presentation = Presentation::new(policy);
        let (emitted, end) = many(0, most / 4 + 1, payload);
        presentation.turn(turn(0, end, 0), &emitted);
        assert_eq!(presentation.dropped(), DroppedEvents { predicted: 1, ..DroppedEvents::default() });
        // Nobody polls: confirmed ones of other ticks fill what is not reserved.
        let mut presentation = Presentation::new(policy);
        let (emitted, end) = many(0, most / 4, payload);
        presentation.turn(turn(0, end, 0), &emitted);
        let (more, late) = many(end, most / 2 + 1, payload);
        presentation.turn(turn(end, late, 0), &more);
        assert_eq!(
            presentation.dropped(),
            DroppedEvents { predicted: most as u64 / 2 + 1, ..DroppedEvents::default() }
        );
        presentation.turn(turn(late, late, late), &EventBatch::default());
        assert_eq!(presentation.dropped().confirmed, 1);
        let lives: Vec<_> = drain(&mut presentation).iter().map(|(life, ..)| *life).collect();
        let count = |life| lives.iter().filter(|told| **told == life).count();
        assert_eq!((count(Predicted), count(Confirmed), count(Canceled)), (most / 4, most / 4 + most / 2, 0));
    }
}
