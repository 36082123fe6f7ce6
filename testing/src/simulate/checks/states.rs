//! I3: every confirmed state that anyone named is the fold of the log, as far as its history is the log's.

use std::collections::BTreeMap;

use retick_core::digest::Checksum;
use retick_core::frame::Frame;
use retick_core::seat::Generation;
use retick_core::tick::{Moment, Tick};

use super::super::trace::{Seen, StandSeen, Who};
use super::fold::{Folded, Log};
use super::{Breach, Check, Rule, Terms, breach};

type Place = (Generation, Tick);

/// What one life said of its states, and from what.
#[derive(Default)]
struct Said {
    checksums: Vec<(Place, Checksum)>,
    frames: BTreeMap<Place, Frame>,
}

/// All states that were named.
pub(super) struct States {
    log: Log,
    cadence: u64,
    said: BTreeMap<Who, Said>,
    stands: Vec<(Who, StandSeen)>,
}

impl States {
    pub(super) fn new(terms: &Terms) -> States {
        let cadence = u64::from(terms.schedule.room.checksum_cadence_ticks);
        States { log: Log::new(terms), cadence, said: BTreeMap::new(), stands: Vec::new() }
    }

    fn judge(&self, at: Moment, who: Who, said: &Said, folded: &BTreeMap<Generation, Folded>) -> Result<(), Breach> {
        let forks_at = |generation: Generation| {
            let fold = folded.get(&generation);
            let is_other = |((_, tick), frame): &(&Place, &Frame)| {
                fold.and_then(|fold| at_tick(&fold.frames, *tick)) != Some(*frame)
            };
            said.frames
                .range((generation, Tick::ZERO)..=(generation, Tick::MAX))
                .find(is_other)
                .map(|((_, tick), _)| *tick)
        };
        let generations: std::collections::BTreeSet<_> = said.checksums.iter().map(|((it, _), _)| *it).collect();
        for generation in generations {
            let (fold, fork) = (folded.get(&generation), forks_at(generation));
            let mine = said.checksums.iter().filter(|((it, _), _)| *it == generation);
            for ((_, tick), found) in mine.filter(|((_, tick), _)| fork.is_none_or(|fork| *tick <= fork)) {
                let expected = fold.and_then(|fold| at_tick(&fold.states, *tick));
                if expected.is_some_and(|expected| expected != found) {
                    return Err(breach(Rule::State, at).by(who.actor).of(*tick));
                }
            }
        }
        Ok(())
    }

    /// Each state of the cadence that was reached by a frame has one checksum, and no other has one.
    fn count(&self, at: Moment, who: Who, said: &Said) -> Result<(), Breach> {
        let mut due: Vec<Place> = Vec::new();
        for (generation, tick) in said.frames.keys().filter(|(_, tick)| tick.index().is_multiple_of(self.cadence)) {
            due.push((*generation, tick.saturating_add(1)));
        }
        let given: Vec<Place> = said.checksums.iter().map(|(place, _)| *place).collect();
        let mut sorted = given.clone();
        sorted.sort_unstable();
        sorted.dedup();
        if sorted != due || sorted.len() != given.len() {
            let wrong = breach(Rule::Checksums, at).by(who.actor);
            return Err(wrong.numbers(given.len() as u64, due.len() as u64));
        }
        Ok(())
    }
}

impl Check for States {
    fn see(&mut self, at: Moment, seen: &Seen) -> Result<(), Breach> {
        let _ = at;
        self.log.see(seen);
        match seen {
            Seen::Checksum { who, generation, tick, checksum } if who.is_honest() => {
                self.said.entry(*who).or_default().checksums.push(((*generation, *tick), *checksum));
            }
            Seen::Applied { who, frame } if who.is_honest() => {
                let place = (frame.generation(), frame.tick());
                self.said.entry(*who).or_default().frames.insert(place, (**frame).clone());
            }
            Seen::Stands { who, stand } if who.is_honest() && !stand.is_over => self.stands.push((*who, *stand)),
            _ => {}
        }
        Ok(())
    }

    fn finish(&mut self, at: Moment) -> Result<(), Breach> {
        let folded = self.log.fold().map_err(|tick| breach(Rule::Fold, at).of(tick))?;
        for (who, said) in &self.said {
            self.judge(at, *who, said, &folded)?;
            self.count(at, *who, said)?;
        }
        // The last confirmed state of everyone who lives on.
        for (who, stand) in &self.stands {
            let fold = folded.get(&stand.generation).and_then(|fold| at_tick(&fold.states, stand.confirmed));
            if let (Some(expected), Some(found)) = (fold, &stand.state)
                && expected != found
            {
                return Err(breach(Rule::State, at).by(who.actor).of(stand.confirmed));
            }
        }
        Ok(())
    }
}

fn at_tick<T>(list: &[T], tick: Tick) -> Option<&T> {
    list.get(usize::try_from(tick.index()).ok()?)
}
