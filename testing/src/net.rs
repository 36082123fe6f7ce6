//! A network made of one seed (T2): links that delay, lose, repeat, reorder and hold back messages, and one queue in which
//! everything waits for its moment. Integer arithmetic alone; ties go by the order of sending.
//!
//! ```
//! use retick_core::tick::{Moment, TickRate};
//! use retick_testing::net::{Chance, Delivery, Link, LinkProfile, Mailbox};
//!
//! // Half of the datagrams are lost, and the same ones for each link of this seed and name.
//! let (loss, delivery) = (Chance::percent(50), Delivery::Datagrams);
//! let profile = LinkProfile { loss, delivery, ..LinkProfile::ticks(TickRate::Hz60, 3) };
//! let mut links = [(); 2].map(|()| Link::new(profile.clone(), 7, "to the room"));
//! let [one, other] = links.each_mut().map(|link| {
//!     let arrivals = (0..100).map(|at| link.send(Moment::from_millis(at)).count());
//!     arrivals.collect::<Vec<_>>()
//! });
//! assert_eq!(one, other);
//! assert!((20..80).contains(&links[0].stats().lost));
//!
//! // What is under way waits for its moment.
//! let mut mailbox = Mailbox::default();
//! mailbox.post(Moment::from_millis(20), "second");
//! mailbox.post(Moment::from_millis(10), "first");
//! assert_eq!(mailbox.pop_due(Moment::from_millis(15)), Some("first"));
//! assert_eq!(mailbox.pop_due(Moment::from_millis(15)), None);
//! ```

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::ops::Range;

use retick_core::rng::{RngStream, SessionSeed};
use retick_core::tick::{Moment, TickRate};

/// Nanoseconds of one tick, rounded down, so that `n` of them after a tick's beginning never lie beyond the nth tick after it.
pub const fn tick_nanos(rate: TickRate) -> u64 {
    1_000_000_000 / rate.hz() as u64
}

/// A probability in steps of one ten-thousandth.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Chance(u32);

impl Chance {
    const WHOLE: NonZeroU32 = NonZeroU32::new(10_000).expect("not zero");

    /// Never.
    pub const NEVER: Chance = Chance(0);

    /// So many in a hundred.
    pub const fn percent(percent: u32) -> Chance {
        Chance(percent.saturating_mul(100))
    }

    /// So many in ten thousand.
    pub const fn per_ten_thousand(count: u32) -> Chance {
        Chance(count)
    }

    fn strikes(self, rng: &mut RngStream) -> bool {
        rng.chance(self.0, Chance::WHOLE)
    }
}

/// By how much the delay of a message varies: uniformly, by whole steps, from `-steps` to `+steps`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Jitter {
    /// Most steps, up or down.
    pub steps: u32,
    /// Length of a step, in nanoseconds.
    pub step_nanos: u64,
}

/// What becomes of the order of messages, and of those that are lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Delivery {
    /// Like one TCP stream: a loss costs extra time, nothing overtakes anything, and nothing arrives twice.
    #[default]
    Stream,
    /// Reliable messages without order: a loss costs extra time, and others overtake meanwhile.
    Unordered,
    /// Datagrams: a loss is a loss.
    Datagrams,
}

/// What one direction of a connection does to messages. The default is a perfect link without any delay.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LinkProfile {
    /// Delay of every message, in nanoseconds.
    pub latency_nanos: u64,
    /// Another delay that every message has from a moment on, in nanoseconds.
    pub later_latency: Option<(Moment, u64)>,
    /// How the delay varies.
    pub jitter: Jitter,
    /// How often a message is lost.
    pub loss: Chance,
    /// What a loss costs where messages are sent again, in nanoseconds.
    pub resend_nanos: u64,
    /// How often a message arrives twice; never in a [`Delivery::Stream`].
    pub duplication: Chance,
    /// How often a message straggles.
    pub straggling: Chance,
    /// By how much it then comes later, in nanoseconds.
    pub straggle_nanos: u64,
    /// What becomes of order and losses.
    pub delivery: Delivery,
    /// While one of these lasts, nothing arrives; what would have arrives at its end.
    pub stalls: Vec<Range<Moment>>,
    /// What is sent while one of these lasts is lost; a stream holds it back until the end.
    pub cuts: Vec<Range<Moment>>,
}

impl LinkProfile {
    /// A reliable, ordered link that delays everything by `ticks` whole ticks.
    #[must_use]
    pub fn ticks(rate: TickRate, ticks: u64) -> LinkProfile {
        LinkProfile { latency_nanos: ticks * tick_nanos(rate), ..LinkProfile::default() }
    }

    /// The same latency without any fault: what messages get that the link's faults spare.
    #[must_use]
    pub fn without_faults(&self) -> LinkProfile {
        let LinkProfile { latency_nanos, later_latency, .. } = *self;
        LinkProfile { latency_nanos, later_latency, ..LinkProfile::default() }
    }

    fn latency_at(&self, now: Moment) -> u64 {
        let later = self.later_latency.filter(|(from, _)| *from <= now);
        later.map_or(self.latency_nanos, |(_, nanos)| nanos)
    }
}

/// What a link did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LinkStats {
    /// Messages given to it.
    pub sent: u64,
    /// Messages that never arrive.
    pub lost: u64,
    /// Messages that were lost and sent again.
    pub resent: u64,
    /// Second copies.
    pub duplicated: u64,
    /// Arrivals that an earlier message comes after.
    pub inversions: u64,
}

/// One direction of a connection.
#[derive(Clone, Debug)]
pub struct Link {
    profile: LinkProfile,
    rng: RngStream,
    latest: Moment,
    stats: LinkStats,
}

/// One copy of a message that will arrive.
#[derive(Clone, Debug)]
struct Transit {
    due: Moment,
    resent: bool,
}

impl Link {
    /// A link whose faults follow from `seed` and its name alone.
    #[must_use]
    pub fn new(profile: LinkProfile, seed: u64, name: &str) -> Link {
        let rng = RngStream::derive(&SessionSeed::from_u64(seed), name);
        Link { profile, rng, latest: Moment::ZERO, stats: LinkStats::default() }
    }

    /// What becomes of order and losses on it.
    pub fn delivery(&self) -> Delivery {
        self.profile.delivery
    }

    /// What it did so far.
    pub fn stats(&self) -> LinkStats {
        self.stats
    }

    /// When a message that is sent now arrives: never, once or twice. Draws the same numbers whatever they lead to.
    pub fn send(&mut self, now: Moment) -> impl Iterator<Item = Moment> + use<> {
        self.stats.sent += 1;
        let first = self.draw_arrival(now);
        let twice = self.profile.duplication.strikes(&mut self.rng) && self.profile.delivery != Delivery::Stream;
        let second = self.draw_arrival(now).filter(|_| twice);
        self.stats.lost += u64::from(first.is_none() && second.is_none());
        self.stats.duplicated += u64::from(first.is_some() && second.is_some());
        [first, second].map(|copy| copy.map(|copy| self.settle(copy))).into_iter().flatten()
    }

    fn draw_arrival(&mut self, now: Moment) -> Option<Transit> {
        let LinkProfile { jitter, resend_nanos, straggle_nanos, delivery, .. } = self.profile;
        let latency_nanos = self.profile.latency_at(now);
        let up = self.rng.range(0..=jitter.steps.saturating_mul(2));
        let least = latency_nanos.saturating_sub(u64::from(jitter.steps) * jitter.step_nanos);
        let mut nanos = least + u64::from(up) * jitter.step_nanos;
        let lost = self.profile.loss.strikes(&mut self.rng);
        if self.profile.straggling.strikes(&mut self.rng) {
            nanos += straggle_nanos;
        }
        if lost && delivery == Delivery::Datagrams {
            return None;
        }
        if lost {
            nanos += resend_nanos;
        }
        let sent = match self.profile.cuts.iter().find(|cut| cut.contains(&now)) {
            Some(_) if delivery == Delivery::Datagrams => return None,
            Some(cut) => cut.end,
            None => now,
        };
        Some(Transit { due: sent.plus_nanos(nanos), resent: lost })
    }

    /// Holds an arrival back until every stall is over and, in a stream, everything before it has arrived.
    fn settle(&mut self, Transit { mut due, resent }: Transit) -> Moment {
        self.stats.resent += u64::from(resent);
        if self.profile.delivery == Delivery::Stream {
            due = due.max(self.latest);
        }
        while let Some(stall) = self.profile.stalls.iter().find(|stall| stall.contains(&due)) {
            due = stall.end;
        }
        self.stats.inversions += u64::from(due < self.latest);
        self.latest = self.latest.max(due);
        due
    }
}

/// Everything that is under way, by the moment at which it is due and then by the order in which it was posted.
#[derive(Clone, Debug)]
pub struct Mailbox<T> {
    waiting: BTreeMap<(Moment, u64), T>,
    posted: u64,
}

impl<T> Default for Mailbox<T> {
    fn default() -> Self {
        Mailbox { waiting: BTreeMap::new(), posted: 0 }
    }
}

impl<T> Mailbox<T> {
    /// Adds something that is due at `due`.
    pub fn post(&mut self, due: Moment, item: T) {
        self.waiting.insert((due, self.posted), item);
        self.posted += 1;
    }

    /// Takes the next thing that is due by `now`.
    pub fn pop_due(&mut self, now: Moment) -> Option<T> {
        let entry = self.waiting.first_entry()?;
        (entry.key().0 <= now).then(|| entry.remove())
    }

    /// When the next thing is due.
    pub fn next_due(&self) -> Option<Moment> {
        self.waiting.first_key_value().map(|((due, _), _)| *due)
    }

    /// Drops what `lost` says is lost.
    pub fn drop_if(&mut self, mut lost: impl FnMut(&T) -> bool) {
        self.waiting.retain(|_, item| !lost(item));
    }

    /// What is under way, in the order in which it will be due.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.waiting.values()
    }
}
