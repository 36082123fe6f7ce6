//! What matches met, counted: a fault that never occurs proves nothing.

use std::collections::BTreeMap;

use retick_authority::log::Record;
use retick_authority::room::{RoomEvent, VacancyCause};
use retick_core::client::{ClientEvent, ClientStatus, EndReason};
use retick_core::codec::wire::Cursor;
use retick_core::event::EventLife;
use retick_core::frame::Frame;
use retick_core::identity::MatchDescriptor;
use retick_core::seat::{Generation, SeatCount};
use retick_core::wire::{CloseReason, Refusal, RoomMessage};

use super::trace::{Seen, TurnSeen};

/// Totals by name. Those of two matches add up.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Coverage {
    counts: BTreeMap<&'static str, u64>,
    /// Seats of the match, by its first record.
    seats: Option<SeatCount>,
}

/// What must have been met in enough matches: every fault, and the effect that it is to guard against.
pub const PREMISES: [&str; 62] = [
    // Faults.
    "cuts",
    "half-open connections",
    "drops",
    "abandoned connections",
    "process restarts",
    "freezes",
    "slow readers",
    "slow readers let go",
    "lossy phases",
    "clock jumps",
    "leaves",
    "kills",
    "room freezes",
    "room clock jumps",
    "storage stalls",
    "messages lost or sent again",
    "messages that arrived twice",
    "messages that were overtaken",
    "forgeries",
    "mutating liars",
    "checksum liars",
    "spoiling donors",
    // What players do.
    "pause requests",
    "reconfigure requests",
    "bots seated",
    "bots removed",
    "locks",
    "command bursts",
    "ephemeral bursts",
    "results",
    // What follows.
    "rollbacks",
    "resimulated ticks",
    "blocked turns",
    "substituted inputs",
    "confirmed ticks",
    "runs restored",
    "runs that recovered",
    "ticks given back by clients",
    "histories forked",
    "seats claimed",
    "seats resumed",
    "seats disconnected",
    "seats left",
    "graces over",
    "drivers changed",
    "connections superseded",
    "snapshots kept",
    "snapshots hydrated from",
    "turns of catching up",
    "observers",
    "pauses",
    "reconfigurations",
    "desyncs announced",
    "commands ordered",
    "ephemerals passed on",
    "refused: full",
    "refused: token",
    "refused: locked",
    "closed: malformed",
    "presentation events predicted",
    "presentation events canceled",
    "presentation events confirmed",
];

impl Coverage {
    /// Counts something.
    pub(super) fn add(&mut self, name: &'static str, count: u64) {
        if count > 0 {
            *self.counts.entry(name).or_default() += count;
        }
    }

    /// Adds the totals of another match.
    pub fn merge(&mut self, other: &Coverage) {
        other.counts.iter().for_each(|(name, count)| self.add(name, *count));
    }

    /// How often it was met.
    pub fn count(&self, name: &str) -> u64 {
        self.counts.get(name).copied().unwrap_or(0)
    }

    /// All totals, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> {
        self.counts.iter().map(|(name, count)| (*name, *count))
    }

    /// What of [`PREMISES`] was never met.
    pub fn missing(&self) -> Vec<&'static str> {
        PREMISES.into_iter().filter(|name| self.count(name) == 0).collect()
    }

    pub(super) fn see(&mut self, seen: &Seen) {
        match seen {
            Seen::Happened(happening) => self.add(happening.name(), 1),
            Seen::RoomUp { run, .. } => self.add("runs restored", u64::from(*run > 0)),
            Seen::Event(event) => self.see_event(event),
            Seen::Record { bytes, .. } => self.see_record(bytes),
            Seen::Sent { to, bytes } => self.see_sent(to.len() as u64, bytes),
            Seen::Turn { turn, .. } => self.see_turn(turn),
            Seen::RolledBack { .. } => self.add("rollbacks", 1),
            Seen::Presented { life, .. } => self.add(
                match life {
                    EventLife::Predicted => "presentation events predicted",
                    EventLife::Canceled => "presentation events canceled",
                    EventLife::Confirmed => "presentation events confirmed",
                },
                1,
            ),
            Seen::Told { event: ClientEvent::Hydrated { .. }, .. } => self.add("snapshots hydrated from", 1),
            Seen::Ended { who, reason } => {
                let forked = matches!(
                    reason,
                    EndReason::Refused(Refusal::HistoryForked { .. })
                        | EndReason::Closed(CloseReason::HistoryForked { .. })
                );
                self.add("histories forked", u64::from(forked));
                self.add("honest ends", u64::from(who.is_honest()));
            }
            _ => {}
        }
    }

    fn see_event(&mut self, event: &RoomEvent) {
        match event {
            RoomEvent::SeatClaimed { .. } => self.add("seats claimed", 1),
            RoomEvent::SeatDisconnected { .. } => self.add("seats disconnected", 1),
            RoomEvent::SeatResumed { .. } => self.add("seats resumed", 1),
            RoomEvent::SeatChanged { .. } => self.add("drivers changed", 1),
            RoomEvent::SeatVacated { cause: VacancyCause::Left, .. } => self.add("seats left", 1),
            RoomEvent::SeatVacated { cause: VacancyCause::GraceOver, .. } => self.add("graces over", 1),
            RoomEvent::ObserverJoined { .. } => self.add("observers", 1),
            RoomEvent::Paused { .. } => self.add("pauses", 1),
            RoomEvent::Reconfigured { .. } => self.add("reconfigurations", 1),
            RoomEvent::Desync { .. } => self.add("desyncs announced", 1),
            RoomEvent::DesyncSearched { .. } => self.add("desyncs searched", 1),
            RoomEvent::Recovered { returned_ticks, .. } => {
                self.add("runs that recovered", 1);
                self.add("ticks given back by clients", *returned_ticks);
            }
            RoomEvent::SnapshotKept { verified, .. } => {
                self.add("snapshots kept", 1);
                self.add("snapshots verified", u64::from(*verified));
            }
            RoomEvent::Agreed { .. } => self.add("results agreed", 1),
            RoomEvent::Disputed => self.add("results disputed", 1),
            RoomEvent::Closed { .. } => self.add("rooms that ended early", 1),
            _ => {}
        }
    }

    fn see_record(&mut self, bytes: &[u8]) {
        match Record::decode(bytes) {
            Ok(Record::Created { descriptor, .. }) => {
                self.seats = MatchDescriptor::from_bytes(descriptor).ok().map(|descriptor| descriptor.seats());
            }
            Ok(Record::Frame { tick, frame: bytes, .. }) => {
                let (mut frame, seats) = (Frame::new(Generation::default(), tick), self.seats);
                self.add("confirmed ticks", 1);
                if seats.is_some_and(|seats| frame.decode_full(&mut Cursor::new(bytes), seats).is_ok()) {
                    self.add("substituted inputs", frame.substituted().len() as u64);
                    self.add("commands ordered", frame.commands().len() as u64);
                }
            }
            _ => {}
        }
    }

    fn see_sent(&mut self, receivers: u64, bytes: &[u8]) {
        match RoomMessage::decode(bytes) {
            Ok(RoomMessage::Ephemeral { .. }) => self.add("ephemerals passed on", receivers),
            Ok(RoomMessage::Refused(refusal)) => self.add(
                match refusal {
                    Refusal::Full { .. } => "refused: full",
                    Refusal::Token => "refused: token",
                    Refusal::Locked => "refused: locked",
                    Refusal::GraceOver => "refused: grace over",
                    Refusal::HistoryForked { .. } => "refused: forked",
                    Refusal::Observers => "refused: observers",
                    _ => "refused: otherwise",
                },
                1,
            ),
            Ok(RoomMessage::Closing(reason)) => self.add(
                match reason {
                    CloseReason::Malformed => "closed: malformed",
                    CloseReason::Budget => "closed: budget",
                    CloseReason::Superseded => "connections superseded",
                    CloseReason::NoHistory(_) => "closed: no history",
                    _ => "closed: otherwise",
                },
                receivers,
            ),
            _ => {}
        }
    }

    fn see_turn(&mut self, turn: &TurnSeen) {
        self.add("resimulated ticks", turn.resimulated);
        self.add("blocked turns", u64::from(turn.blocked));
        self.add("turns of catching up", u64::from(turn.status == ClientStatus::CatchingUp));
    }
}
