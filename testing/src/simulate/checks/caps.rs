//! I7 and I8: ends have a reason that there was, and nothing grows without end.

use std::collections::{BTreeMap, BTreeSet};

use retick_authority::log::MAX_RECORD_BYTES;
use retick_authority::room::{ConnectionId, MAX_UNPERSISTED_RECORDS, RoomEvent, SEGMENT_FRAMES, VacancyCause};
use retick_core::client::EndReason;
use retick_core::seat::Seat;
use retick_core::session::{DEFAULT_CHECKPOINT_WINDOW_TICKS, MAX_LOCAL_INPUTS_AHEAD, MAX_QUEUED_FRAMES};
use retick_core::tick::Moment;
use retick_core::wire::{CloseReason, MAX_ROOM_MESSAGE_BYTES, Refusal, RoomMessage};

use super::super::happening::Happening;
use super::super::schedule::{Permitted, Schedule, Waits};
use super::super::trace::{RoomSeen, Seen, TurnSeen, Who};
use super::{Breach, Check, Rule, Terms, breach};

/// Records that one call of the room may write beyond what the storage lags behind.
const RECORDS_OF_A_CALL: u64 = 512;

/// Below this cadence a client that catches up may report more states in a second than its budget has messages.
const MANY_REPORTS_CADENCE_TICKS: u32 = 4;

/// What may end anyone, and what everyone may hold.
pub(super) struct Caps {
    schedule: std::sync::Arc<Schedule>,
    runs: u32,
    leavers: BTreeSet<u32>,
    restarted: BTreeSet<u32>,
    opened: BTreeMap<ConnectionId, Who>,
    seats: BTreeMap<Who, Seat>,
    /// Whose seats were given up because they did not come back, or a bot was put there.
    dispossessed: BTreeSet<Who>,
    /// Whose links or process were in trouble.
    hindered: BTreeSet<u32>,
    room_was_frozen: bool,
    /// Whether the room was ever locked.
    locks: bool,
    healed: bool,
}

impl Caps {
    pub(super) fn new(terms: &Terms) -> Caps {
        Caps {
            schedule: terms.schedule.clone(),
            runs: 0,
            leavers: BTreeSet::new(),
            restarted: BTreeSet::new(),
            opened: BTreeMap::new(),
            seats: BTreeMap::new(),
            dispossessed: BTreeSet::new(),
            hindered: BTreeSet::new(),
            room_was_frozen: false,
            locks: false,
            healed: false,
        }
    }

    /// Whether this is an end that a room gives to an honest client.
    fn is_due(&self, who: Who, reason: &EndReason) -> bool {
        let was_vacated = || self.dispossessed.contains(&who);
        // Frames, or in a room that waits for nothing also claims, may be gone with the machine.
        let may_fork = self.runs > 0 && self.schedule.room.durability != Waits::EveryFrame;
        let may_forget = self.runs > 0 && self.schedule.room.durability == Waits::None;
        match reason {
            EndReason::Refused(refusal) => match refusal {
                Refusal::Full { .. } | Refusal::Observers | Refusal::Closing => true,
                Refusal::Locked => self.locks,
                Refusal::GraceOver => was_vacated() || may_forget,
                Refusal::HistoryForked { .. } => may_fork,
                // Whose seat somebody else holds by now has another claim's token, and so has a process before the last one.
                Refusal::Token => was_vacated() || may_forget || self.restarted.contains(&who.actor),
                Refusal::Protocol { .. } | Refusal::Identity { .. } | Refusal::Ticket | Refusal::Malformed => false,
            },
            EndReason::Closed(reason) => match reason {
                CloseReason::Left => self.leavers.contains(&who.actor),
                CloseReason::HistoryForked { .. } => may_fork,
                CloseReason::RoomEnded | CloseReason::NoHistory(_) => true,
                CloseReason::Superseded => self.restarted.contains(&who.actor),
                // Whoever can't read for as long as a transfer may stand still.
                CloseReason::SlowConsumer => self.hindered.contains(&who.actor) || self.room_was_frozen,
                // With a report for nearly every tick, one that catches up says more than the budget has room for.
                CloseReason::Budget => self.schedule.room.checksum_cadence_ticks < MANY_REPORTS_CADENCE_TICKS,
                CloseReason::Malformed => false,
            },
            // Whoever may swap the config may swap it for one that no game takes (A10).
            EndReason::Create(_) => self.schedule.has_liar() && self.schedule.room.reconfigure != Permitted::Nobody,
            // Another history of the same generation number, after a crash that took the one before.
            EndReason::MatchChanged { .. } => may_forget,
            _ => false,
        }
    }

    fn check_turn(&self, at: Moment, who: Who, turn: &TurnSeen) -> Result<(), Breach> {
        let Some(plan) = self.schedule.actors.iter().find(|plan| plan.number == who.actor) else { return Ok(()) };
        let window = u64::from(plan.window_ticks);
        let checkpoints = window + 1 + u64::from(DEFAULT_CHECKPOINT_WINDOW_TICKS);
        let unconfirmed = turn.next_input.map_or(0, |next| next.since(turn.confirmed));
        let caps = [
            (turn.kept_checkpoints, checkpoints),
            (turn.queued_frames, MAX_QUEUED_FRAMES as u64),
            (unconfirmed, MAX_LOCAL_INPUTS_AHEAD + 1),
        ];
        match caps.into_iter().find(|(found, cap)| found > cap) {
            Some((found, cap)) => Err(breach(Rule::Cap, at).by(who.actor).numbers(found, cap)),
            None => Ok(()),
        }
    }

    fn check_room(&self, at: Moment, room: &RoomSeen) -> Result<(), Breach> {
        let rate = self.schedule.game.rate();
        // A transfer that goes on holds the history from its snapshot on.
        let held = self.schedule.room.history_millis.saturating_add(self.schedule.room.transfer_timeout_millis);
        let history = room.frontier.since(room.history_start);
        let (most_history, most_records) = (
            rate.ticks_in_millis(held) + 2 * SEGMENT_FRAMES + u64::from(self.schedule.room.hard_tolerance_ticks),
            MAX_UNPERSISTED_RECORDS + RECORDS_OF_A_CALL,
        );
        if history > most_history {
            return Err(breach(Rule::Memory, at).numbers(history, most_history));
        }
        let waits = self.schedule.room.durability == Waits::EveryFrame;
        if waits && room.loose_records > most_records {
            return Err(breach(Rule::Memory, at).numbers(room.loose_records, most_records));
        }
        Ok(())
    }
}

impl Check for Caps {
    fn see(&mut self, at: Moment, seen: &Seen) -> Result<(), Breach> {
        match seen {
            Seen::RoomUp { run, .. } => self.runs = *run,
            Seen::Healed => self.healed = true,
            Seen::Happened(
                Happening::Cut { actor, .. }
                | Happening::Freeze { actor, .. }
                | Happening::Slow { actor, .. }
                | Happening::Lossy { actor, .. }
                | Happening::HalfOpen { actor, .. }
                | Happening::Supersede { actor, .. },
            ) => drop(self.hindered.insert(*actor)),
            Seen::Happened(Happening::RoomFreeze { .. } | Happening::RoomJump { .. }) => self.room_was_frozen = true,
            Seen::Happened(Happening::Leave { actor }) => drop(self.leavers.insert(*actor)),
            Seen::Happened(Happening::Restart { actor }) => drop(self.restarted.insert(*actor)),
            Seen::Happened(Happening::Lock { .. }) => self.locks = true,
            Seen::Began { who } if who.life > 0 => drop(self.restarted.insert(who.actor)),
            Seen::Opened { connection, who } => drop(self.opened.insert(*connection, *who)),
            Seen::Event(RoomEvent::SeatVacated { seat, cause }) => {
                if matches!(cause, VacancyCause::GraceOver | VacancyCause::BotSeated | VacancyCause::BotRemoved) {
                    let owners = self.seats.iter().filter(|(_, it)| *it == seat).map(|(who, _)| *who);
                    self.dispossessed.extend(owners);
                }
            }
            Seen::Sent { to, bytes } => {
                if bytes.len() > MAX_ROOM_MESSAGE_BYTES {
                    return Err(breach(Rule::Cap, at).numbers(bytes.len() as u64, MAX_ROOM_MESSAGE_BYTES as u64));
                }
                if let (Ok(RoomMessage::Welcome(welcome)), [connection]) = (RoomMessage::decode(bytes), &to[..]) {
                    let who = self.opened.get(connection);
                    if let (Some(claim), Some(who)) = (welcome.claim, who) {
                        self.seats.insert(*who, claim.seat);
                        self.dispossessed.remove(who);
                    }
                }
            }
            Seen::Record { bytes, .. } if bytes.len() > MAX_RECORD_BYTES => {
                return Err(breach(Rule::Memory, at).numbers(bytes.len() as u64, MAX_RECORD_BYTES as u64));
            }
            Seen::UnderWay { connection, bytes } => {
                let cap = self.schedule.outbound_cap_bytes(self.healed);
                if *bytes > cap {
                    let who = self.opened.get(connection).map_or(u32::MAX, |who| who.actor);
                    return Err(breach(Rule::Cap, at).by(who).numbers(*bytes, cap));
                }
            }
            Seen::Turn { who, turn } => self.check_turn(at, *who, turn)?,
            Seen::RoomTurn(room) => self.check_room(at, room)?,
            Seen::Ended { who, reason } if who.is_honest() && !self.is_due(*who, reason) => {
                let is_sent = matches!(
                    reason,
                    EndReason::Closed(CloseReason::Malformed | CloseReason::Budget)
                        | EndReason::Refused(Refusal::Malformed)
                );
                let rule = if is_sent { Rule::Malformed } else { Rule::End };
                return Err(breach(rule, at).by(who.actor));
            }
            _ => {}
        }
        Ok(())
    }
}
