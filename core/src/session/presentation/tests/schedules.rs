//! K10: whatever is predicted, rolled back and confirmed when, the offline events come out confirmed exactly once, and every
//! prediction has one end.
#![expect(clippy::cast_possible_truncation, reason = "ticks of tests are small")]

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::event::EventKey;

/// What tick `tick` emits when its inputs are `version`; 0 is what is confirmed. Any two versions share some of it.
fn emission(tick: u64, version: u8) -> Vec<(EventId, Vec<u8>)> {
    let noise = |salt: u64| {
        (tick + 1).wrapping_mul(0x9E37_79B9).wrapping_add(salt * 0x85EB_CA6B).wrapping_mul(0xC2B2_AE35) >> 16
    };
    let count = noise(0) % 4;
    let each = |index: u64| {
        let id = EventId { module: MODULE, source: (noise(index) % 2) as u32, event: 0 };
        let change = if version == 0 { 9 } else { noise(u64::from(version) * 100 + index) % 4 };
        (change != 0).then(|| (id, vec![index as u8, if change == 1 { version } else { 0 }]))
    };
    let mut all: Vec<_> = (1..=count).filter_map(each).collect();
    if version > 1 {
        all.reverse();
    }
    all
}

fn emit_into(batch: &mut EventBatch, tick: u64, version: u8) {
    batch.begin_tick(Tick::new(tick));
    emission(tick, version).iter().for_each(|(id, payload)| batch.push(*id, payload));
}

/// A turn: frames taken, ticks predicted beyond them, with which guesses, and where a fault stops it short.
#[derive(Clone, Debug)]
struct Step {
    take: u64,
    ahead: u64,
    guesses: u8,
    short: Option<u64>,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = (0..4_u64, 0..8_u64, any::<u8>(), prop::option::weighted(0.2, 0..8_u64));
    let step = step.prop_map(|(take, ahead, guesses, short)| Step { take, ahead, guesses, short });
    prop::collection::vec(step, 1..60)
}

/// A session reduced to its ticks: which version each one beyond the frontier was played with.
struct Model {
    presentation: Presentation,
    confirmed: u64,
    played: Vec<u8>,
    told: Vec<(EventLife, EventKey, Vec<u8>)>,
}

impl Model {
    fn step(&mut self, step: &Step) {
        let (take, head) = (step.take, self.confirmed + self.played.len() as u64);
        let matched = self.played.iter().take(take as usize).take_while(|version| **version == 0).count() as u64;
        let start = if matched < take { self.confirmed + matched } else { head };
        let confirmed = self.confirmed + take;
        let target = head.max(confirmed).max(confirmed + step.ahead);
        let reached = step.short.map_or(target, |short| target.min(confirmed.max(start) + short));
        self.played.truncate((start - self.confirmed) as usize);
        let mut batch = EventBatch::default();
        for tick in start..reached {
            let guess = (step.guesses >> (tick % 8)) % 3;
            let version = if tick < confirmed { 0 } else { guess };
            emit_into(&mut batch, tick, version);
            self.played.push(version);
        }
        self.played.drain(..take as usize);
        self.confirmed = confirmed;
        self.presentation.turn(turn(start, reached, confirmed), &batch);
        while let Some(PresentationEvent { life, key, payload }) = self.presentation.poll() {
            self.told.push((life, key, payload.to_vec()));
        }
    }
}

proptest! {
    #[test]
    fn k10_any_schedule_confirms_the_offline_events_once_and_ends_every_prediction_once(steps in steps()) {
        let presentation = Presentation::new(PresentationPolicy::default());
        let mut model = Model { presentation, confirmed: 0, played: vec![], told: vec![] };
        steps.iter().for_each(|step| model.step(step));
        let mut offline = EventBatch::default();
        (0..model.confirmed).for_each(|tick| emit_into(&mut offline, tick, 0));
        let confirmed: Vec<_> = model.told.iter().filter(|(life, ..)| *life == Confirmed).map(|(_, key, payload)| (*key, payload.clone())).collect();
        let expected: Vec<_> = offline.iter().map(|event| (event.key, event.payload.to_vec())).collect();
        prop_assert_eq!(confirmed, expected);
        let mut open = BTreeSet::new();
        for (life, key, payload) in &model.told {
            let event = (*key, payload.clone());
            match life {
                Predicted => prop_assert!(open.insert(event), "predicted twice: {key:?}"),
                Canceled => prop_assert!(open.remove(&event), "canceled out of nothing: {key:?}"),
                Confirmed => {
                    open.remove(&event);
                    let other = open.iter().any(|(open, _)| open == key);
                    prop_assert!(!other, "confirmed with another payload than predicted: {key:?}");
                }
            }
        }
        // What is open is exactly what the ticks beyond the frontier emitted last.
        let mut present = EventBatch::default();
        (model.confirmed..).zip(&model.played).for_each(|(tick, version)| emit_into(&mut present, tick, *version));
        let present: BTreeSet<_> = present.iter().map(|event| (event.key, event.payload.to_vec())).collect();
        prop_assert_eq!(open, present);
        prop_assert_eq!(model.presentation.dropped(), DroppedEvents::default());
    }
}
