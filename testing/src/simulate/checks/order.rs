//! I1: everyone's confirmed ticks come one after another, and so do the log's.

use std::collections::BTreeMap;

use retick_authority::log::Record;
use retick_core::client::ClientEvent;
use retick_core::identity::MatchDescriptor;
use retick_core::seat::Generation;
use retick_core::tick::{Moment, Tick};

use super::super::trace::{Seen, Who};
use super::{Breach, Check, Rule, breach};

type Place = (Generation, Tick);

/// Where everyone's confirmed ticks have come to.
#[derive(Default)]
pub(super) struct Order {
    /// The next tick of each, once it has one.
    next: BTreeMap<Who, Place>,
    log: Place,
    /// Where the log's next frame stood behind each record.
    log_behind: BTreeMap<u64, Place>,
}

impl Check for Order {
    fn see(&mut self, at: Moment, seen: &Seen) -> Result<(), Breach> {
        match seen {
            Seen::Applied { who, frame } => self.applied(at, *who, (frame.generation(), frame.tick())),
            Seen::Told { who, event: ClientEvent::Hydrated { tick, .. } } => {
                // The generation is the one that it plays, or for a newcomer that of the next frame.
                let generation = self.next.get(who).map_or(self.log.0, |next| next.0);
                self.next.insert(*who, (generation, *tick));
                Ok(())
            }
            Seen::Told { who, event: ClientEvent::Reconfigured { generation } } => {
                self.next.insert(*who, (*generation, Tick::ZERO));
                Ok(())
            }
            Seen::Record { sequence, bytes } => self.recorded(at, *sequence, bytes),
            Seen::RoomUp { kept, .. } => {
                self.log_behind.split_off(&(kept + 1));
                self.log = self.log_behind.values().next_back().copied().unwrap_or_default();
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

impl Order {
    fn applied(&mut self, at: Moment, who: Who, found: Place) -> Result<(), Breach> {
        let expected = self.next.get(&who).copied().unwrap_or((found.0, Tick::ZERO));
        if expected != found {
            let wrong = breach(Rule::Order, at).by(who.actor).of(found.1);
            return Err(wrong.numbers(found.1.index(), expected.1.index()));
        }
        self.next.insert(who, (found.0, found.1.saturating_add(1)));
        Ok(())
    }

    fn recorded(&mut self, at: Moment, sequence: u64, bytes: &[u8]) -> Result<(), Breach> {
        match Record::decode(bytes) {
            Ok(Record::Frame { tick, .. }) => {
                if tick != self.log.1 {
                    let wrong = breach(Rule::FrameATick, at).of(tick);
                    return Err(wrong.numbers(tick.index(), self.log.1.index()));
                }
                self.log.1 = tick.saturating_add(1);
            }
            Ok(Record::Reconfigured { descriptor }) => {
                let generation = MatchDescriptor::from_bytes(descriptor).map(|it| it.generation());
                self.log = (generation.unwrap_or_default(), Tick::ZERO);
            }
            Ok(_) => {}
            Err(_) => return Err(breach(Rule::FrameATick, at).numbers(sequence, 0)),
        }
        self.log_behind.insert(sequence, self.log);
        Ok(())
    }
}
