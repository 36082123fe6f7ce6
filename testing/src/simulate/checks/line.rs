//! I2 and A12: everyone has the same frame of a tick, what is released was written down before, and what was released is not lost
//! while anybody who has it comes back.

use std::collections::{BTreeMap, BTreeSet};

use retick_authority::log::Record;
use retick_authority::room::{ConnectionId, RoomEvent};
use retick_core::codec::wire::Cursor;
use retick_core::frame::Frame;
use retick_core::identity::MatchDescriptor;
use retick_core::seat::{Generation, SeatCount};
use retick_core::tick::{Moment, Tick};
use retick_core::wire::ClientMessage;

use super::super::schedule::Waits;
use super::super::trace::{Seen, Who};
use super::sent_frames::SentFrames;
use super::{Breach, Check, Rule, Terms, breach};

type Place = (Generation, Tick);

/// A frame in the log.
struct Logged {
    sequence: u64,
    bytes: Vec<u8>,
}

/// All frames, where they were seen.
pub(super) struct Line {
    durability: Waits,
    seats: SeatCount,
    sent: SentFrames,
    /// Every frame that was ever released, with the fence that tells histories apart.
    released: BTreeMap<(Place, u32), Vec<u8>>,
    log: BTreeMap<Place, Logged>,
    generation: Generation,
    /// The generation behind each record that began one.
    generations: BTreeMap<u64, Generation>,
    synced: u64,
    run: u32,
    opened: BTreeMap<ConnectionId, Who>,
    /// In a run that recovers: the first tick that an honest client has no proof of.
    offered: Option<Place>,
    /// What each life applied.
    applied: BTreeMap<Who, Vec<(Place, Vec<u8>)>>,
    /// Who lives on.
    alive: BTreeSet<Who>,
}

impl Line {
    pub(super) fn new(terms: &Terms) -> Line {
        let seats = terms.schedule.descriptor(terms.factory.as_ref()).seats();
        Line {
            durability: terms.schedule.room.durability,
            seats,
            sent: SentFrames::new(seats),
            released: BTreeMap::new(),
            log: BTreeMap::new(),
            generation: Generation::default(),
            generations: BTreeMap::new(),
            synced: 0,
            run: 0,
            opened: BTreeMap::new(),
            offered: None,
            applied: BTreeMap::new(),
            alive: BTreeSet::new(),
        }
    }

    fn recorded(&mut self, at: Moment, sequence: u64, bytes: &[u8]) -> Result<(), Breach> {
        match Record::decode(bytes) {
            Ok(Record::Frame { tick, frame, .. }) => {
                let mut decoded = Frame::new(self.generation, tick);
                let read = decoded.decode_full(&mut Cursor::new(frame), self.seats);
                if read.is_err() || (decoded.generation(), decoded.tick()) != (self.generation, tick) {
                    return Err(breach(Rule::Line, at).of(tick));
                }
                let place = (self.generation, tick);
                // A frame of another run than this is one that was released before.
                let before = self.released.get(&(place, decoded.fence()));
                if before.is_some_and(|before| before != frame) {
                    return Err(breach(Rule::Line, at).of(tick));
                }
                self.log.insert(place, Logged { sequence, bytes: frame.to_vec() });
            }
            Ok(Record::Reconfigured { descriptor }) => {
                let generation = MatchDescriptor::from_bytes(descriptor).map(|it| it.generation());
                self.generation = generation.unwrap_or_default();
                self.generations.insert(sequence, self.generation);
            }
            _ => {}
        }
        Ok(())
    }

    fn released(&mut self, at: Moment, to: &[ConnectionId], bytes: &[u8]) -> Result<(), Breach> {
        let Some(frames) = self.sent.read(to, bytes) else { return Err(breach(Rule::Line, at)) };
        for frame in frames {
            let (place, tick) = ((frame.generation(), frame.tick()), frame.tick());
            let mut encoded = Vec::new();
            frame.encode_full(&mut encoded);
            let logged = self.log.get(&place).filter(|logged| logged.bytes == encoded);
            let is_safe =
                logged.is_some_and(|logged| self.durability != Waits::EveryFrame || logged.sequence <= self.synced);
            if !is_safe {
                return Err(breach(Rule::Durability, at).of(tick));
            }
            let before = self.released.entry((place, frame.fence())).or_insert_with(|| encoded.clone());
            if *before != encoded {
                return Err(breach(Rule::Line, at).of(tick));
            }
        }
        Ok(())
    }

    fn applied(&mut self, at: Moment, who: Who, frame: &Frame) -> Result<(), Breach> {
        let place = (frame.generation(), frame.tick());
        let mut encoded = Vec::new();
        frame.encode_full(&mut encoded);
        if self.released.get(&(place, frame.fence())) != Some(&encoded) {
            return Err(breach(Rule::Line, at).by(who.actor).of(frame.tick()));
        }
        self.applied.entry(who).or_default().push((place, encoded));
        Ok(())
    }

    /// The machine is back with what was left of its log.
    fn restored(&mut self, at: Moment, run: u32, kept: u64) -> Result<(), Breach> {
        self.run = run;
        self.generations.split_off(&(kept + 1));
        self.generation = self.generations.values().next_back().copied().unwrap_or_default();
        self.log.retain(|_, logged| logged.sequence <= kept);
        self.offered = None;
        if self.durability == Waits::EveryFrame {
            let lost = self.released.keys().map(|(place, _)| *place).find(|place| !self.log.contains_key(place));
            let lost = lost.filter(|(generation, _)| *generation >= self.generation);
            if let Some((_, tick)) = lost {
                return Err(breach(Rule::Durability, at).of(tick));
            }
        }
        Ok(())
    }

    /// An honest client gives frames back. Of the first crash's there is one history alone.
    fn offered(&mut self, connection: ConnectionId, bytes: &[u8]) {
        let is_honest = self.opened.get(&connection).is_some_and(|who| who.is_honest());
        let Ok(ClientMessage::Tail(frames)) = ClientMessage::decode(bytes) else { return };
        if self.run == 1 && is_honest && frames.generation == self.generation {
            let next = (frames.generation, frames.first.saturating_add(u64::from(frames.count)));
            self.offered = self.offered.max(Some(next));
        }
    }
}

impl Check for Line {
    fn see(&mut self, at: Moment, seen: &Seen) -> Result<(), Breach> {
        match seen {
            Seen::Record { sequence, bytes } => self.recorded(at, *sequence, bytes)?,
            Seen::Synced { sequence } => self.synced = self.synced.max(*sequence),
            Seen::Sent { to, bytes } => self.released(at, to, bytes)?,
            Seen::Applied { who, frame } if who.is_honest() => self.applied(at, *who, frame)?,
            Seen::RoomUp { run, kept } if *run > 0 => self.restored(at, *run, *kept)?,
            Seen::Opened { connection, who } => drop(self.opened.insert(*connection, *who)),
            Seen::Handed { connection, bytes, read: true } => self.offered(*connection, bytes),
            Seen::Stands { who, stand } if !stand.is_over => drop(self.alive.insert(*who)),
            Seen::Event(RoomEvent::Recovered { frontier, .. }) => {
                let offered = self.offered.take().filter(|(generation, _)| *generation == self.generation);
                if let Some((_, next)) = offered.filter(|(_, next)| next > frontier) {
                    let lost = breach(Rule::Recovered, at).of(next);
                    return Err(lost.numbers(frontier.index(), next.index()));
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Whoever lives on has the history of the log.
    fn finish(&mut self, at: Moment) -> Result<(), Breach> {
        for (who, frames) in self.applied.iter().filter(|(who, _)| self.alive.contains(*who)) {
            for (place, bytes) in frames.iter().filter(|((generation, _), _)| *generation == self.generation) {
                if self.log.get(place).map(|logged| &logged.bytes) != Some(bytes) {
                    return Err(breach(Rule::Line, at).by(who.actor).of(place.1));
                }
            }
        }
        Ok(())
    }
}
