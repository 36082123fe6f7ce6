//! Makes a schedule that fails smaller, as long as it breaks the same rule: fewer events, fewer participants, less time, less
//! trouble on the links.

use super::checks::Rule;
use super::schedule::{LinkPlan, Schedule};

/// Makes `schedule` smaller while `breaks` says that a schedule breaks `rule`, with at most `attempts` tries. What comes back breaks
/// it, if `schedule` did.
pub fn shrink(schedule: &Schedule, attempts: usize, mut breaks: impl FnMut(&Schedule) -> Option<Rule>) -> Schedule {
    let Some(rule) = breaks(schedule) else { return schedule.clone() };
    let mut shrinker = Shrinker { best: schedule.clone(), rule, left: attempts, breaks };
    loop {
        let before = shrinker.best.clone();
        shrinker.drop_events();
        shrinker.drop_actors();
        shrinker.shorten();
        shrinker.simplify();
        if shrinker.best == before || shrinker.left == 0 {
            return shrinker.best;
        }
    }
}

struct Shrinker<B> {
    best: Schedule,
    rule: Rule,
    left: usize,
    breaks: B,
}

impl<B: FnMut(&Schedule) -> Option<Rule>> Shrinker<B> {
    /// Keeps a smaller schedule if it breaks the same rule.
    fn try_out(&mut self, candidate: Schedule) -> bool {
        if self.left == 0 || candidate == self.best {
            return false;
        }
        self.left -= 1;
        let holds = (self.breaks)(&candidate) == Some(self.rule);
        if holds {
            self.best = candidate;
        }
        holds
    }

    /// Delta debugging: drops ever smaller pieces of the list of events.
    fn drop_events(&mut self) {
        let mut piece = self.best.events.len().max(1);
        while piece > 0 && !self.best.events.is_empty() {
            let mut start = 0;
            while start < self.best.events.len() {
                let mut candidate = self.best.clone();
                let end = (start + piece).min(candidate.events.len());
                candidate.events.drain(start..end);
                if !self.try_out(candidate) {
                    start += piece;
                }
            }
            piece /= 2;
        }
    }

    fn drop_actors(&mut self) {
        let mut index = self.best.actors.len();
        while index > 0 {
            index -= 1;
            let mut candidate = self.best.clone();
            let gone = candidate.actors.remove(index).number;
            candidate.events.retain(|planned| planned.event.actor() != Some(gone));
            self.try_out(candidate);
        }
    }

    fn shorten(&mut self) {
        while self.best.safety_millis > 500 {
            let mut candidate = self.best.clone();
            candidate.safety_millis = candidate.safety_millis * 3 / 4;
            let most = candidate.safety_millis;
            candidate.events.retain(|planned| planned.at_millis < most);
            if !self.try_out(candidate) {
                break;
            }
        }
    }

    fn simplify(&mut self) {
        for index in 0..self.best.actors.len() {
            let mut candidate = self.best.clone();
            let Some(actor) = candidate.actors.get_mut(index) else { return };
            let steady = |link: &LinkPlan| LinkPlan { latency_micros: link.latency_micros, ..LinkPlan::default() };
            (actor.up, actor.down) = (steady(&actor.up), steady(&actor.down));
            (actor.datagrams, actor.clock_ppm) = (false, 0);
            self.try_out(candidate);
        }
        let mut candidate = self.best.clone();
        candidate.room.clock_ppm = 0;
        self.try_out(candidate);
    }
}
