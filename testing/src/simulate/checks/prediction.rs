//! I5 and I6: how far anyone predicts, and where rollbacks go.

use retick_core::tick::Moment;

use super::super::schedule::ActorPlan;
use super::super::trace::Seen;
use super::{Breach, Check, Rule, Terms, breach};

/// The windows of everyone.
pub(super) struct Prediction {
    actors: Vec<ActorPlan>,
}

impl Prediction {
    pub(super) fn new(terms: &Terms) -> Prediction {
        Prediction { actors: terms.schedule.actors.clone() }
    }
}

impl Check for Prediction {
    fn see(&mut self, at: Moment, seen: &Seen) -> Result<(), Breach> {
        match seen {
            Seen::Turn { who, turn } => {
                let plan = self.actors.iter().find(|plan| plan.number == who.actor);
                let window = plan.map_or(0, |plan| u64::from(plan.window_ticks));
                let lead = turn.head.since(turn.confirmed);
                if lead > window || turn.head < turn.confirmed {
                    return Err(breach(Rule::Window, at).by(who.actor).of(turn.head).numbers(lead, window));
                }
            }
            Seen::RolledBack { who, from, to, head_before, oldest } => {
                let is_kept = oldest.is_some_and(|oldest| oldest <= *from);
                if !is_kept || from >= to || from >= head_before {
                    let wrong = breach(Rule::RollbackTarget, at).by(who.actor).of(*from);
                    return Err(wrong.numbers(from.index(), head_before.index()));
                }
            }
            _ => {}
        }
        Ok(())
    }
}
