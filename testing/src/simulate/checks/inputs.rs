//! A1 and N2: what stands in a frame as a seat's input is what that seat delivered for the tick, sampled once; and what was delivered
//! in time stands there.

use std::collections::{BTreeMap, BTreeSet};

use retick_authority::log::Record;
use retick_authority::room::{ConnectionId, RoomEvent};
use retick_core::codec::wire::Cursor;
use retick_core::frame::Frame;
use retick_core::identity::MatchDescriptor;
use retick_core::seat::{ControlEpoch, Generation, Presence, Seat, SeatCount};
use retick_core::tick::{Moment, Tick};
use retick_core::wire::{ClientMessage, RoomMessage};

use super::super::trace::{RoomSeen, Seen, Who};
use super::{Breach, Check, Rule, Terms, breach};

type Slot = (Generation, Seat, ControlEpoch, Tick);

/// What was delivered for one seat's tick, in this run of the room.
#[derive(Default)]
struct Delivered {
    values: BTreeSet<Vec<u8>>,
    /// Whether the first of them came when the seat took part, and near enough.
    counts: bool,
}

/// All inputs on their way from a player to a frame.
pub(super) struct Inputs {
    seats: SeatCount,
    look_ahead: u64,
    sampled: BTreeMap<(Who, Generation, Tick), Vec<u8>>,
    opened: BTreeMap<ConnectionId, Who>,
    claims: BTreeMap<ConnectionId, (Seat, ControlEpoch)>,
    delivered: BTreeMap<Slot, Delivered>,
    /// Seats that took part in the last frame, and since when.
    playing: BTreeMap<Seat, ControlEpoch>,
    generation: Generation,
    frontier: Tick,
    run: u32,
    /// Calls in a row at which everything for the frontier's tick was there, and the tick.
    ripe: (Tick, u32),
}

impl Inputs {
    pub(super) fn new(terms: &Terms) -> Inputs {
        let descriptor = terms.schedule.descriptor(terms.factory.as_ref());
        Inputs {
            seats: descriptor.seats(),
            look_ahead: terms.look_ahead_ticks(),
            sampled: BTreeMap::new(),
            opened: BTreeMap::new(),
            claims: BTreeMap::new(),
            delivered: BTreeMap::new(),
            playing: BTreeMap::new(),
            generation: Generation::default(),
            frontier: Tick::ZERO,
            run: 0,
            ripe: (Tick::ZERO, 0),
        }
    }

    fn handed(&mut self, connection: ConnectionId, bytes: &[u8]) {
        let Some((seat, _)) = self.claims.get(&connection).copied() else { return };
        let Ok(ClientMessage::Inputs(inputs)) = ClientMessage::decode(bytes) else { return };
        // A liar's input may be none of the game's, which the room refuses.
        let is_honest = self.opened.get(&connection).is_some_and(|who| who.is_honest());
        let plays = is_honest && self.playing.get(&seat) == Some(&inputs.epoch) && inputs.generation == self.generation;
        for (input, offset) in inputs.inputs.iter().zip(0..) {
            let tick = inputs.first.saturating_add(offset);
            let counts = plays && tick >= self.frontier && tick.since(self.frontier) <= self.look_ahead;
            let slot = (inputs.generation, seat, inputs.epoch, tick);
            let delivered = self.delivered.entry(slot).or_default();
            delivered.counts |= counts;
            delivered.values.insert(input.to_vec());
        }
    }

    fn recorded(&mut self, at: Moment, bytes: &[u8]) -> Result<(), Breach> {
        match Record::decode(bytes) {
            Ok(Record::Frame { tick, frame: bytes, .. }) => {
                let mut frame = Frame::new(self.generation, tick);
                if frame.decode_full(&mut Cursor::new(bytes), self.seats).is_ok() {
                    // One of an earlier run was judged there.
                    if frame.fence() == self.run {
                        self.judge(at, &frame)?;
                    }
                    self.frontier = tick.saturating_add(1);
                    self.playing.clear();
                    for (seat, view) in self.seats.seats().zip(frame.seats()) {
                        // One whose transport is lost is waited for like any other.
                        if matches!(view.presence, Presence::Human | Presence::Disconnected) {
                            self.playing.insert(seat, view.epoch);
                        }
                    }
                }
            }
            Ok(Record::Vacated { seat, .. } | Record::SeatChanged { seat, .. }) => {
                let of_seat = self.delivered.iter_mut().filter(|((_, it, ..), _)| *it == seat);
                of_seat.for_each(|(_, delivered)| delivered.counts = false);
                // Who takes part from the next tick on, its frame says.
                self.playing.clear();
            }
            Ok(Record::Reconfigured { descriptor }) => {
                self.generation = MatchDescriptor::from_bytes(descriptor).map(|it| it.generation()).unwrap_or_default();
                self.frontier = Tick::ZERO;
                self.playing.clear();
            }
            _ => {}
        }
        Ok(())
    }

    fn judge(&self, at: Moment, frame: &Frame) -> Result<(), Breach> {
        for (seat, view) in self.seats.seats().zip(frame.seats()).filter(|(_, view)| view.presence == Presence::Human) {
            let slot = (frame.generation(), seat, view.epoch, frame.tick());
            let delivered = self.delivered.get(&slot);
            let wrong = |rule| breach(rule, at).of(frame.tick()).numbers(u64::from(seat.number()), 0);
            match view.input {
                Some(input) if !view.substituted && delivered.is_some_and(|sent| sent.values.contains(input)) => {}
                Some(_) if !view.substituted => return Err(wrong(Rule::Input)),
                _ if delivered.is_some_and(|delivered| delivered.counts) => return Err(wrong(Rule::Substituted)),
                _ => {}
            }
        }
        Ok(())
    }

    /// A tick that the clock has reached, whose inputs are all there, is confirmed at the next call.
    fn called(&mut self, at: Moment, room: &RoomSeen) -> Result<(), Breach> {
        let is_reached = room.clock_tick.is_some_and(|clock| clock >= room.frontier) && !room.paused;
        let tick = self.frontier;
        let is_there = |(seat, epoch): (&Seat, &ControlEpoch)| {
            self.delivered.get(&(self.generation, *seat, *epoch, tick)).is_some_and(|it| it.counts)
        };
        let is_ripe = is_reached
            && room.loose_records < self.look_ahead / 2
            && tick == room.frontier
            && room.generation == self.generation
            && !self.playing.is_empty()
            && self.playing.iter().all(is_there);
        let calls = if is_ripe && self.ripe.0 == tick { self.ripe.1 + 1 } else { u32::from(is_ripe) };
        self.ripe = (tick, calls);
        if calls > 2 {
            return Err(breach(Rule::Unconfirmed, at).of(tick).numbers(u64::from(calls), 1));
        }
        Ok(())
    }
}

impl Check for Inputs {
    fn see(&mut self, at: Moment, seen: &Seen) -> Result<(), Breach> {
        match seen {
            Seen::Sampled { who, generation, tick, input } => {
                let before = self.sampled.insert((*who, *generation, *tick), input.clone());
                if before.is_some() && who.is_honest() {
                    return Err(breach(Rule::Resampled, at).by(who.actor).of(*tick));
                }
            }
            Seen::Opened { connection, who } => drop(self.opened.insert(*connection, *who)),
            Seen::Sent { to, bytes } => {
                if let (Ok(RoomMessage::Welcome(welcome)), [connection]) = (RoomMessage::decode(bytes), &to[..])
                    && let Some(claim) = welcome.claim
                {
                    self.claims.insert(*connection, (claim.seat, claim.epoch));
                }
            }
            Seen::Handed { connection, bytes, read: true } => self.handed(*connection, bytes),
            Seen::Record { bytes, .. } => self.recorded(at, bytes)?,
            Seen::RoomTurn(room) => self.called(at, room)?,
            Seen::RoomUp { run, .. } => {
                self.run = *run;
                // The next record of a frame says where the log stands.
                self.delivered.clear();
                self.playing.clear();
            }
            Seen::Event(RoomEvent::Recovered { .. }) => self.delivered.values_mut().for_each(|it| it.counts = false),
            _ => {}
        }
        Ok(())
    }
}
