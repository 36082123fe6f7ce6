//! A9: a command in a frame was requested by the seat under which it stands, and is ordered once.

use std::collections::{BTreeMap, BTreeSet};

use retick_authority::log::Record;
use retick_authority::room::ConnectionId;
use retick_core::codec::wire::Cursor;
use retick_core::frame::{CommandSource, Frame};
use retick_core::identity::MatchDescriptor;
use retick_core::seat::{Generation, Seat, SeatCount};
use retick_core::tick::{Moment, Tick};
use retick_core::wire::{ClientMessage, RoomMessage};

use super::super::trace::Seen;
use super::{Breach, Check, Rule, breach};

/// All commands on their way from a player to a frame.
#[derive(Default)]
pub(super) struct Commands {
    seats: Option<SeatCount>,
    claims: BTreeMap<ConnectionId, Seat>,
    /// What a seat's connections brought to the room.
    requested: BTreeSet<(Seat, Vec<u8>)>,
    /// What came on connections whose greeting still waits for a record, as only a liar sends it.
    ungreeted: BTreeSet<Vec<u8>>,
    /// Payloads that honest participants requested: each is its own.
    honest: BTreeSet<Vec<u8>>,
    ordered: BTreeMap<Vec<u8>, (u64, Generation, Tick)>,
    generation: Generation,
}

impl Commands {
    fn recorded(&mut self, at: Moment, sequence: u64, bytes: &[u8]) -> Result<(), Breach> {
        match Record::decode(bytes) {
            Ok(Record::Created { descriptor, .. } | Record::Reconfigured { descriptor }) => {
                if let Ok(descriptor) = MatchDescriptor::from_bytes(descriptor) {
                    self.generation = descriptor.generation();
                    self.seats = Some(descriptor.seats());
                }
                Ok(())
            }
            Ok(Record::Frame { tick, frame, .. }) => self.ordered(at, sequence, tick, frame),
            _ => Ok(()),
        }
    }

    fn ordered(&mut self, at: Moment, sequence: u64, tick: Tick, bytes: &[u8]) -> Result<(), Breach> {
        let mut frame = Frame::new(self.generation, tick);
        let Some(seats) = self.seats else { return Ok(()) };
        if frame.decode_full(&mut Cursor::new(bytes), seats).is_err() {
            return Ok(());
        }
        for (source, payload) in frame.commands() {
            let CommandSource::Game(seat) = source else { return Err(breach(Rule::Command, at).of(tick)) };
            let is_requested = self.requested.contains(&(seat, payload.to_vec())) || self.ungreeted.contains(payload);
            if !is_requested {
                return Err(breach(Rule::Command, at).of(tick).numbers(u64::from(seat.number()), 0));
            }
            let place = (sequence, self.generation, tick);
            let before = self.ordered.insert(payload.to_vec(), place);
            if before.is_some() && self.honest.contains(payload) {
                return Err(breach(Rule::CommandTwice, at).of(tick));
            }
        }
        Ok(())
    }
}

impl Check for Commands {
    fn see(&mut self, at: Moment, seen: &Seen) -> Result<(), Breach> {
        match seen {
            Seen::Requested { who, payload } if who.is_honest() => drop(self.honest.insert(payload.clone())),
            Seen::Sent { to, bytes } => {
                if let (Ok(RoomMessage::Welcome(welcome)), [connection]) = (RoomMessage::decode(bytes), &to[..])
                    && let Some(claim) = welcome.claim
                {
                    self.claims.insert(*connection, claim.seat);
                }
            }
            Seen::Handed { connection, bytes, .. } => {
                if let Ok(ClientMessage::Command { payload, .. }) = ClientMessage::decode(bytes) {
                    match self.claims.get(connection) {
                        Some(seat) => drop(self.requested.insert((*seat, payload.to_vec()))),
                        None => drop(self.ungreeted.insert(payload.to_vec())),
                    }
                }
            }
            Seen::Record { sequence, bytes } => self.recorded(at, *sequence, bytes)?,
            Seen::RoomUp { kept, .. } => self.ordered.retain(|_, (sequence, ..)| *sequence <= *kept),
            _ => {}
        }
        Ok(())
    }
}
