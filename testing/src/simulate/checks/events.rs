//! K10: what happens on the confirmed timeline comes out once, in its order; what was told as predicted ends once.

use std::collections::{BTreeMap, BTreeSet};

use retick_core::event::{EventKey, EventLife};
use retick_core::seat::Generation;
use retick_core::tick::{Moment, Tick};

use super::super::trace::{Seen, Who};
use super::fold::Log;
use super::{Breach, Check, Rule, Terms, breach};

type Event = (EventKey, Vec<u8>);

/// What came out of one session: one life in one generation.
#[derive(Default)]
struct Heard {
    open: BTreeSet<Event>,
    confirmed: Vec<Event>,
    played: BTreeSet<Tick>,
    dropped: u64,
}

/// Everything that came out of everyone.
pub(super) struct Events {
    log: Log,
    heard: BTreeMap<(Who, Generation), Heard>,
    /// Who lives on.
    alive: BTreeSet<Who>,
}

impl Events {
    pub(super) fn new(terms: &Terms) -> Events {
        Events { log: Log::new(terms), heard: BTreeMap::new(), alive: BTreeSet::new() }
    }

    fn heard(&mut self, who: Who, generation: Generation) -> &mut Heard {
        self.heard.entry((who, generation)).or_default()
    }
}

impl Check for Events {
    fn see(&mut self, at: Moment, seen: &Seen) -> Result<(), Breach> {
        self.log.see(seen);
        match seen {
            Seen::Applied { who, frame } => {
                self.heard(*who, frame.generation()).played.insert(frame.tick());
            }
            Seen::Turn { who, turn } => self.heard(*who, turn.generation).dropped = turn.dropped_events,
            Seen::Stands { who, stand } if !stand.is_over => drop(self.alive.insert(*who)),
            Seen::Presented { who, generation, life, key, payload } => {
                let heard = self.heard(*who, *generation);
                let event = (*key, payload.clone());
                let holds = match life {
                    EventLife::Predicted => heard.open.insert(event),
                    EventLife::Canceled => heard.open.remove(&event),
                    EventLife::Confirmed => {
                        heard.open.remove(&event);
                        let is_other = heard.open.iter().any(|(open, _)| open == key);
                        heard.confirmed.push(event);
                        !is_other
                    }
                };
                if !holds {
                    return Err(breach(Rule::EventLife, at).by(who.actor).of(key.tick));
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn finish(&mut self, at: Moment) -> Result<(), Breach> {
        let Ok(folded) = self.log.fold() else { return Ok(()) };
        for ((who, generation), heard) in &self.heard {
            if !self.alive.contains(who) || !who.is_honest() {
                continue;
            }
            let Some(fold) = folded.get(generation) else { continue };
            let mut found = heard.confirmed.iter().peekable();
            let (mut missing, mut first_missing) = (0, None);
            for event in fold.events.iter().filter(|(key, _)| heard.played.contains(&key.tick)) {
                if found.next_if(|it| *it == event).is_none() {
                    missing += 1;
                    first_missing = first_missing.or(Some(event.0.tick));
                }
            }
            let wrong = |rule, tick| breach(rule, at).by(who.actor).of(tick);
            if let Some((key, _)) = found.next() {
                return Err(wrong(Rule::EventTwice, key.tick));
            }
            let is_last = !self.heard.keys().any(|(it, other)| it == who && other > generation);
            if is_last && missing != heard.dropped {
                let tick = first_missing.unwrap_or_default();
                return Err(wrong(Rule::EventLost, tick).numbers(missing, heard.dropped));
            }
        }
        Ok(())
    }
}
