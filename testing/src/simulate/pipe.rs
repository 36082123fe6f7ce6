//! One direction of a connection, with everything that can be wrong with it at the moment.

use retick_core::tick::Moment;

use super::schedule::LinkPlan;
use crate::net::{Chance, Delivery, Jitter, Link, LinkProfile, LinkStats};

/// What is wrong with somebody's connection right now.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Trouble {
    /// Nothing gets through before then.
    pub(super) cut_until: Moment,
    /// Losses, in ten thousand, and until when.
    pub(super) lossy: Option<(u32, Moment)>,
    /// Bytes per second, and until when.
    pub(super) slow: Option<(u32, Moment)>,
    /// Whether everything is healthy for good.
    pub(super) healed: bool,
}

/// One direction of a connection.
#[derive(Debug)]
pub(super) struct Pipe {
    plan: LinkPlan,
    name: String,
    seed: u64,
    delivery: Delivery,
    calm: Link,
    clean: Link,
    lossy: Option<(Moment, Link)>,
    latest: Moment,
    free_at: Moment,
}

impl Pipe {
    pub(super) fn new(plan: &LinkPlan, delivery: Delivery, seed: u64, name: String) -> Pipe {
        let profile = profile_of(plan, delivery);
        let clean = Link::new(profile.without_faults(), seed, &format!("clean {name}"));
        let calm = Link::new(profile, seed, &name);
        let (latest, free_at) = (Moment::ZERO, Moment::ZERO);
        Pipe { plan: plan.clone(), name, seed, delivery, calm, clean, lossy: None, latest, free_at }
    }

    pub(super) fn stats(&self) -> LinkStats {
        self.calm.stats()
    }

    /// When so many bytes that are sent now arrive: never, once or twice.
    pub(super) fn send(&mut self, now: Moment, bytes: usize, trouble: &Trouble) -> Vec<Moment> {
        let is_stream = self.delivery == Delivery::Stream;
        let sent = if now < trouble.cut_until { trouble.cut_until } else { now };
        if sent > now && !is_stream {
            return Vec::new();
        }
        let arrivals: Vec<Moment> = self.link(now, trouble).send(sent).collect();
        arrivals.into_iter().map(|due| self.settle(due, now, bytes, trouble)).collect()
    }

    fn link(&mut self, now: Moment, trouble: &Trouble) -> &mut Link {
        let lossy = trouble.lossy.filter(|(_, until)| now < *until && !trouble.healed);
        match lossy {
            _ if trouble.healed => &mut self.clean,
            None => &mut self.calm,
            Some((loss, until)) => {
                if self.lossy.as_ref().is_none_or(|(before, _)| *before != until) {
                    let plan = LinkPlan { loss, ..self.plan.clone() };
                    let name = format!("lossy {} {}", until.as_nanos(), self.name);
                    self.lossy = Some((until, Link::new(profile_of(&plan, self.delivery), self.seed, &name)));
                }
                self.lossy.as_mut().map_or(&mut self.calm, |(_, link)| link)
            }
        }
    }

    /// Holds an arrival back behind what a slow reader has not read, and a stream's behind all before it.
    fn settle(&mut self, mut due: Moment, now: Moment, bytes: usize, trouble: &Trouble) -> Moment {
        if let Some((bytes_per_second, until)) = trouble.slow.filter(|(_, until)| now < *until && !trouble.healed) {
            let nanos = bytes as u64 * 1_000_000_000 / u64::from(bytes_per_second.max(1));
            self.free_at = self.free_at.max(now).plus_nanos(nanos);
            // Whoever is quick again reads all that waits.
            due = due.max(self.free_at.min(until));
        }
        if self.delivery == Delivery::Stream {
            due = due.max(self.latest);
        }
        self.latest = self.latest.max(due);
        due
    }
}

fn profile_of(plan: &LinkPlan, delivery: Delivery) -> LinkProfile {
    /// Steps of a jitter, so that each is a whole number of them.
    const STEPS: u32 = 16;
    LinkProfile {
        latency_nanos: plan.latency_micros.saturating_mul(1_000),
        jitter: Jitter { steps: STEPS, step_nanos: u64::from(plan.jitter_micros) * 1_000 / u64::from(STEPS) },
        loss: Chance::per_ten_thousand(plan.loss),
        resend_nanos: plan.resend_micros.saturating_mul(1_000),
        duplication: Chance::per_ten_thousand(plan.duplication),
        straggling: Chance::per_ten_thousand(plan.straggling),
        straggle_nanos: plan.straggle_micros.saturating_mul(1_000),
        delivery,
        ..LinkProfile::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pipe(delivery: Delivery) -> Pipe {
        let plan = LinkPlan { latency_micros: 10_000, ..LinkPlan::default() };
        Pipe::new(&plan, delivery, 1, "to the room".into())
    }

    #[test]
    fn t2_a_cut_holds_a_stream_back_and_loses_datagrams() {
        let trouble = Trouble { cut_until: Moment::from_millis(500), ..Trouble::default() };
        let now = Moment::from_millis(100);
        assert_eq!(pipe(Delivery::Stream).send(now, 9, &trouble), [Moment::from_millis(510)]);
        assert_eq!(pipe(Delivery::Datagrams).send(now, 9, &trouble), []);
        assert_eq!(pipe(Delivery::Stream).send(Moment::from_millis(500), 9, &trouble), [Moment::from_millis(510)]);
    }

    #[test]
    fn t2_a_slow_reader_takes_its_bytes_one_after_another_until_it_is_healed() {
        let slow = Some((1_000, Moment::from_millis(9_000)));
        let (mut pipe, trouble) = (pipe(Delivery::Stream), Trouble { slow, ..Trouble::default() });
        assert_eq!(pipe.send(Moment::ZERO, 100, &trouble), [Moment::from_millis(100)]);
        assert_eq!(pipe.send(Moment::ZERO, 200, &trouble), [Moment::from_millis(300)]);
        let healed = Trouble { healed: true, ..trouble };
        assert_eq!(pipe.send(Moment::from_millis(400), 200, &healed), [Moment::from_millis(410)]);
    }

    #[test]
    fn t2_a_lossy_phase_loses_datagrams_and_then_ends() {
        let lossy = Some((10_000, Moment::from_millis(100)));
        let (mut pipe, trouble) = (pipe(Delivery::Datagrams), Trouble { lossy, ..Trouble::default() });
        assert_eq!(pipe.send(Moment::from_millis(99), 1, &trouble), []);
        assert_eq!(pipe.send(Moment::from_millis(100), 1, &trouble), [Moment::from_millis(110)]);
    }
}
