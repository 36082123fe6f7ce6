//! K10: ordinals, marks and the limits of one tick and one batch.

use std::vec;
use std::vec::Vec;

use super::*;

const ID: EventId = EventId { module: 1, source: 2, event: 3 };

fn batch(tick: u64) -> EventBatch {
    let mut batch = EventBatch::default();
    batch.begin_tick(Tick::new(tick));
    batch
}

#[test]
fn k10_ordinals_count_each_id_of_each_tick_by_itself() {
    let others = [EventId { module: 9, ..ID }, EventId { source: 9, ..ID }, EventId { event: 9, ..ID }];
    let mut batch = batch(4);
    for id in [ID, others[0], ID, others[1], others[2], ID] {
        batch.push(id, b"x");
    }
    batch.begin_tick(Tick::new(5));
    batch.push(ID, b"");
    let seen: Vec<_> = batch.iter().map(|event| (event.key.id(), event.key.tick.index(), event.key.ordinal)).collect();
    let expected = [(ID, 4, 0), (others[0], 4, 0), (ID, 4, 1), (others[1], 4, 0), (others[2], 4, 0), (ID, 4, 2)];
    assert_eq!(seen[..6], expected);
    assert_eq!(seen[6..], [(ID, 5, 0)]);
    assert_eq!((batch.len(), batch.dropped()), (7, 0));
}

/// Pushes payloads of these lengths in one tick; gives how many were taken and how many dropped.
fn pushed(batch: &mut EventBatch, lengths: impl IntoIterator<Item = usize>) -> (usize, u64) {
    let (len, dropped) = (batch.len(), batch.dropped());
    lengths.into_iter().for_each(|length| batch.push(ID, &vec![7; length]));
    (batch.len() - len, batch.dropped() - dropped)
}

#[test]
fn k10_each_limit_holds_at_it_and_drops_one_past_it() {
    use core::iter::repeat_n;
    assert_eq!(pushed(&mut batch(0), [MAX_EVENT_BYTES, MAX_EVENT_BYTES + 1, 1]), (2, 1));
    assert_eq!(pushed(&mut batch(0), repeat_n(0, MAX_EVENTS_PER_TICK + 1)), (MAX_EVENTS_PER_TICK, 1));
    let full = MAX_EVENT_BYTES_PER_TICK / MAX_EVENT_BYTES;
    // A shorter one still fits, where a longer one did not.
    let mut bytes = batch(0);
    assert_eq!(pushed(&mut bytes, repeat_n(MAX_EVENT_BYTES, full - 1)), (full - 1, 0));
    assert_eq!(pushed(&mut bytes, [MAX_EVENT_BYTES - 1, 2, 1, 1, 0]), (3, 2));
    bytes.begin_tick(Tick::new(1));
    assert_eq!(pushed(&mut bytes, [MAX_EVENT_BYTES]), (1, 0), "the next tick has limits of its own");
}

#[test]
fn k10_a_batch_is_bounded_whatever_its_ticks_emit() {
    for (length, count) in [(0, MAX_EVENTS_PER_TICK), (MAX_EVENT_BYTES, MAX_EVENT_BYTES_PER_TICK / MAX_EVENT_BYTES)] {
        let mut batch = EventBatch::default();
        for tick in 0..256 {
            batch.begin_tick(Tick::new(tick));
            assert_eq!(pushed(&mut batch, core::iter::repeat_n(length, count)), (count, 0));
        }
        batch.begin_tick(Tick::new(256));
        assert_eq!(pushed(&mut batch, [length.max(1)]), (0, 1));
    }
}

#[test]
fn k2_a_mark_brings_back_everything() {
    let mut batch = batch(3);
    batch.push(ID, b"one");
    batch.push(ID, &[0; MAX_EVENT_BYTES + 1]);
    let (mark, before) = (batch.mark(), batch.clone());
    batch.push(ID, b"two");
    batch.begin_tick(Tick::new(4));
    batch.push(ID, &[0; MAX_EVENT_BYTES + 1]);
    batch.truncate(mark);
    assert_eq!(batch, before);
    batch.push(ID, b"two");
    assert_eq!(batch.iter().last().map(|event| event.key.ordinal), Some(1));
}

#[test]
fn k10_an_appended_batch_keeps_keys_payloads_and_drops() {
    let (mut one, mut other) = (batch(3), batch(4));
    one.push(ID, b"one");
    other.push(ID, b"two");
    other.push(ID, &[0; MAX_EVENT_BYTES + 1]);
    other.begin_tick(Tick::new(5));
    one.append(&other);
    one.push(ID, b"three");
    let seen: Vec<_> = one.iter().map(|event| (event.key.tick.index(), event.key.ordinal, event.payload)).collect();
    assert_eq!(seen, [(3, 0, &b"one"[..]), (4, 0, b"two"), (5, 0, b"three")]);
    assert_eq!(one.dropped(), 1);
}
