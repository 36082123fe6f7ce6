//! I4: a report leaves once its state is confirmed and applied, says what the session said, and leaves once.

use std::collections::{BTreeMap, BTreeSet};

use retick_core::digest::Checksum;
use retick_core::seat::Generation;
use retick_core::tick::{Moment, Tick};

use super::super::trace::{Seen, Who};
use super::{Breach, Check, Rule, breach};

type Key = (Who, Generation, Tick);

/// What sessions confirmed, and what was reported of it.
#[derive(Default)]
pub(super) struct Reports {
    confirmed: BTreeMap<Key, Checksum>,
    reported: BTreeSet<Key>,
}

impl Check for Reports {
    fn see(&mut self, at: Moment, seen: &Seen) -> Result<(), Breach> {
        match seen {
            Seen::Checksum { who, generation, tick, checksum } => {
                self.confirmed.insert((*who, *generation, *tick), *checksum);
            }
            Seen::Report { who, generation, tick, checksum, confirmed } => {
                let wrong = |rule| breach(rule, at).by(who.actor).of(*tick).numbers(confirmed.index(), tick.index());
                let key = (*who, *generation, *tick);
                if tick > confirmed {
                    return Err(wrong(Rule::EarlyReport));
                }
                // The session's event comes out behind the message that reports it, or before.
                if self.confirmed.get(&key).is_some_and(|it| it != checksum) || !self.reported.insert(key) {
                    return Err(wrong(Rule::WrongReport));
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn finish(&mut self, at: Moment) -> Result<(), Breach> {
        let unconfirmed = self.reported.iter().find(|key| !self.confirmed.contains_key(*key));
        match unconfirmed {
            Some((who, _, tick)) => Err(breach(Rule::WrongReport, at).by(who.actor).of(*tick)),
            None => Ok(()),
        }
    }
}
