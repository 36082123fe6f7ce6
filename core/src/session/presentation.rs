//! The lives of presentation events (K10): what steps emit goes in, what presentation may play or must stop comes out.
//!
//! The machine knows nothing of inputs, checkpoints or frames. The session tells it of each turn which ticks it stepped, what they
//! emitted, and how far it confirmed.

mod log;
mod queue;
#[cfg(test)]
mod tests;

use self::log::{Entry, Log};
use self::queue::Queue;
use crate::event::{EventBatch, EventLife, PresentationEvent};
use crate::tick::Tick;

/// Default of [`PresentationPolicy::catch_up_after_ticks`]: half a second at 60 Hz. What is later than that and comes all at once
/// is not worth hearing.
pub const DEFAULT_CATCH_UP_AFTER_TICKS: u32 = 30;
/// Most events that wait for [`Session::poll_presentation_event`](super::Session::poll_presentation_event), room for the ends of
/// those told as predicted included. Predicted ones are told only while half of it is free, so that confirmed ones find room.
pub const MAX_WAITING_PRESENTATION_EVENTS: usize = 4096;
/// Most payload bytes that wait, counted alike.
pub const MAX_WAITING_PRESENTATION_BYTES: usize = 1 << 20;

/// What a session does with the events of its game (K10).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PresentationPolicy {
    /// Whether predicted events come out.
    pub speculative: SpeculativeEvents,
    /// What becomes of the confirmed events of a catch-up.
    pub catch_up: CatchUpEvents,
    /// A turn that begins with more received frames than this of ticks that were never played is one of a catch-up: after a late
    /// join, a hydration or a stall.
    pub catch_up_after_ticks: u32,
}

impl Default for PresentationPolicy {
    fn default() -> Self {
        PresentationPolicy {
            speculative: SpeculativeEvents::default(),
            catch_up: CatchUpEvents::default(),
            catch_up_after_ticks: DEFAULT_CATCH_UP_AFTER_TICKS,
        }
    }
}

/// Whether events come out before their tick is confirmed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SpeculativeEvents {
    /// As predicted, and then as confirmed or as canceled.
    #[default]
    Deliver,
    /// Events come out confirmed alone.
    Withhold,
}

/// What becomes of the events of ticks that are confirmed in a catch-up and were never played before.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum CatchUpEvents {
    /// They are dropped, and counted in [`DroppedEvents::catch_up`]: nobody wants to hear the last minute in one moment.
    #[default]
    Drop,
    /// They come out like all others.
    Deliver,
}

/// Whether a session is to be heard: what a reconnect brings again is history, and plays silently (N7).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Silence {
    /// Events come out as the policy says.
    #[default]
    Off,
    /// With [`CatchUpEvents::Drop`], nothing new comes out: what is confirmed is dropped as of a catch-up, and nothing is told as
    /// predicted. Of what was told as predicted before, the end still comes out.
    On,
}

/// Events that did not come out, by reason, since the session was made.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DroppedEvents {
    /// Beyond a limit of [`crate::event`], in every step that was run.
    pub over_limit: u64,
    /// Confirmed in a catch-up, by [`CatchUpEvents::Drop`].
    pub catch_up: u64,
    /// Predicted, when the queue was half full; they come out confirmed all the same.
    pub predicted: u64,
    /// Confirmed, when the queue was full: nobody had polled.
    pub confirmed: u64,
    /// Of ticks that were confirmed before an older state was hydrated: they had come out then.
    pub repeated: u64,
}

/// What one turn of a session did, as far as events are concerned.
#[derive(Clone, Copy, Debug)]
pub(super) struct Turn {
    /// The first tick that it stepped. What was played from here on was rolled back.
    pub start: Tick,
    /// The present afterwards: the ticks from `start` to here were stepped.
    pub reached: Tick,
    /// The frontier afterwards.
    pub confirmed: Tick,
    /// Ticks whose frames have been received.
    pub received: Tick,
}

/// Every event from the frontier to the present, and those that wait to be polled.
#[derive(Debug)]
pub(super) struct Presentation {
    policy: PresentationPolicy,
    silence: Silence,
    /// The present.
    head: Tick,
    /// The greatest frontier so far: the events before it have come out confirmed, and don't again after an older hydration.
    told: Tick,
    /// What the ticks beyond the frontier emitted when they were played last.
    log: Log,
    /// What the ticks of this turn emitted when they were played before.
    undone: Log,
    queue: Queue,
    dropped: DroppedEvents,
}

impl Presentation {
    pub(super) fn new(policy: PresentationPolicy) -> Presentation {
        Presentation {
            policy,
            silence: Silence::default(),
            head: Tick::ZERO,
            told: Tick::ZERO,
            log: Log::default(),
            undone: Log::default(),
            queue: Queue::default(),
            dropped: DroppedEvents::default(),
        }
    }

    /// Takes a turn and everything that its steps emitted. Cancellations come out first, then what is confirmed, then what is
    /// newly predicted.
    pub(super) fn turn(&mut self, turn: Turn, emitted: &EventBatch) {
        let played_before = self.head;
        self.head = turn.reached;
        self.dropped.over_limit += emitted.dropped();
        if emitted.is_empty() && self.log.is_empty() {
            self.told = self.told.max(turn.confirmed);
            return;
        }
        self.log.move_from(turn.start, &mut self.undone);
        self.take(emitted);
        self.cancel_undone();
        let backlog = turn.received.since(played_before);
        let drops = self.policy.catch_up == CatchUpEvents::Drop;
        let silent = drops && self.silence == Silence::On;
        let catches_up = drops && backlog > u64::from(self.policy.catch_up_after_ticks);
        let dropped_from = if silent { Some(Tick::ZERO) } else { catches_up.then_some(played_before) };
        self.confirm(turn.confirmed, dropped_from);
        if self.policy.speculative == SpeculativeEvents::Deliver && !silent {
            self.predict(turn.start);
        }
    }

    /// A snapshot of `S(tick)` replaced everything that was played.
    pub(super) fn hydrated(&mut self, tick: Tick) {
        self.stopped(Tick::ZERO);
        self.head = tick;
    }

    /// The ticks before `confirmed` are confirmed, and nothing will be any more of what was predicted beyond.
    pub(super) fn stopped(&mut self, confirmed: Tick) {
        self.confirm(confirmed, None);
        self.log.move_from(Tick::ZERO, &mut self.undone);
        self.cancel_undone();
    }

    pub(super) fn poll(&mut self) -> Option<PresentationEvent<'_>> {
        self.queue.pop()
    }

    pub(super) fn set_silence(&mut self, silence: Silence) {
        self.silence = silence;
    }

    pub(super) fn dropped(&self) -> DroppedEvents {
        self.dropped
    }

    /// Logs what was emitted; what the same tick emitted before goes on as if it had never been rolled back.
    fn take(&mut self, emitted: &EventBatch) {
        for event in emitted.iter() {
            if event.key.tick < self.told {
                self.dropped.repeated += 1;
                continue;
            }
            if !self.log.takes(event.payload.len()) {
                self.dropped.over_limit += 1;
                continue;
            }
            let told = self.undone.take_equal(&event);
            self.log.push(Entry { key: event.key, payload: event.payload, told });
        }
    }

    fn cancel_undone(&mut self) {
        for Entry { key, payload, told } in self.undone.iter() {
            if told {
                self.queue.push_end(PresentationEvent { life: EventLife::Canceled, key, payload });
            }
        }
        self.undone.clear();
    }

    /// Confirms the ticks before `frontier`; in a catch-up, what was not told before of ticks from `catches_up_from` on is dropped.
    fn confirm(&mut self, frontier: Tick, catches_up_from: Option<Tick>) {
        self.told = self.told.max(frontier);
        let count = self.log.count_before(frontier);
        for Entry { key, payload, told } in self.log.iter().take(count) {
            let event = PresentationEvent { life: EventLife::Confirmed, key, payload };
            if told {
                self.queue.push_end(event);
            } else if catches_up_from.is_some_and(|unplayed| key.tick >= unplayed) {
                self.dropped.catch_up += 1;
            } else if !self.queue.push_confirmed(event) {
                self.dropped.confirmed += 1;
            }
        }
        self.log.drop_front(count);
    }

    /// Tells what is new from `start` on.
    fn predict(&mut self, start: Tick) {
        let (queue, dropped) = (&mut self.queue, &mut self.dropped);
        self.log.tell_from(start, |Entry { key, payload, .. }| {
            let told = queue.push_predicted(PresentationEvent { life: EventLife::Predicted, key, payload });
            dropped.predicted += u64::from(!told);
            told
        });
    }
}
