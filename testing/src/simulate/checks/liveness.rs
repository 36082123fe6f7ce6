//! Once all is healthy, everyone who did not leave is live, has what the room has confirmed, and the room confirms at its rate.

use std::collections::BTreeMap;

use retick_core::client::ClientStatus;
use retick_core::tick::{Moment, Tick};
use retick_core::wire::RoomMessage;

use super::super::schedule::Schedule;
use super::super::trace::{RoomSeen, Seen, StandSeen, Who};
use super::{Breach, Check, Rule, Terms, breach};

/// Over how long the rate is measured, in milliseconds.
const MEASURED_MILLIS: u64 = 2_000;
/// How long before the end nothing that was pending at heal may still be, in milliseconds.
const LONGEST_DONATION_MILLIS: u64 = 3_000;

/// How long before the end everyone was live at least once, in milliseconds.
const MOST_UNSETTLED_MILLIS: u64 = 500;

/// How the match ends.
pub(super) struct Liveness {
    schedule: std::sync::Arc<Schedule>,
    healed: bool,
    restored: bool,
    is_over: bool,
    /// The first call in the measured time, and the last one.
    measured: Option<(Moment, RoomSeen)>,
    last: Option<RoomSeen>,
    donating_since: Option<Moment>,
    stands: BTreeMap<Who, StandSeen>,
    /// When each was live last, or waited for the match to begin.
    settled: BTreeMap<Who, (Moment, ClientStatus)>,
}

impl Liveness {
    pub(super) fn new(terms: &Terms) -> Liveness {
        Liveness {
            schedule: terms.schedule.clone(),
            healed: false,
            restored: false,
            is_over: false,
            measured: None,
            last: None,
            donating_since: None,
            stands: BTreeMap::new(),
            settled: BTreeMap::new(),
        }
    }

    fn check_rate(&self, at: Moment, last: &RoomSeen) -> Result<(), Breach> {
        let Some((from, first)) = &self.measured else { return Ok(()) };
        let rate = self.schedule.game.rate();
        let passed = rate.ticks_in_millis(at.nanos_since(*from) / 1_000_000);
        let tolerance = u64::from(self.schedule.room.hard_tolerance_ticks);
        let confirmed = last.frontier.since(first.frontier);
        let is_steady = first.generation == last.generation && first.clock_tick.is_some() && last.clock_tick.is_some();
        if is_steady && confirmed + tolerance + 3 < passed {
            return Err(breach(Rule::Rate, at).of(last.frontier).numbers(confirmed, passed));
        }
        Ok(())
    }
}

impl Check for Liveness {
    fn see(&mut self, at: Moment, seen: &Seen) -> Result<(), Breach> {
        match seen {
            Seen::Healed => self.healed = true,
            Seen::RoomUp { run, .. } => self.restored |= *run > 0,
            Seen::RoomOver => self.is_over = true,
            Seen::RoomTurn(room) => {
                let measured_from = Moment::from_millis(self.schedule.end_millis().saturating_sub(MEASURED_MILLIS));
                if at >= measured_from && self.measured.is_none() {
                    self.measured = Some((at, *room));
                }
                self.donating_since = if room.donating { self.donating_since.or(Some(at)) } else { None };
                self.last = Some(*room);
            }
            Seen::Turn { who, turn } if matches!(turn.status, ClientStatus::Live | ClientStatus::Waiting) => {
                self.settled.insert(*who, (at, turn.status));
            }
            Seen::Stands { who, stand } if who.is_honest() => drop(self.stands.insert(*who, *stand)),
            Seen::Sent { bytes, .. } if !self.schedule.has_liar() => {
                if matches!(RoomMessage::decode(bytes), Ok(RoomMessage::Desync { .. })) {
                    return Err(breach(Rule::FalseDesync, at));
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn finish(&mut self, at: Moment) -> Result<(), Breach> {
        let (Some(last), false, true) = (self.last, self.is_over, self.healed) else { return Ok(()) };
        for (who, stand) in self.stands.iter().filter(|(_, stand)| !stand.is_over) {
            let expected = if last.clock_tick.is_some() { ClientStatus::Live } else { ClientStatus::Waiting };
            if last.clock_tick.is_none() && self.restored {
                // The beginning of the match was lost with the machine, and nobody may be there to begin it again.
                continue;
            }
            // Jitter may make it look behind for a moment.
            let settled = self.settled.get(who).filter(|(_, status)| *status == expected).map(|(settled, _)| *settled);
            let unsettled_millis = at.nanos_since(settled.unwrap_or_default()) / 1_000_000;
            if unsettled_millis > MOST_UNSETTLED_MILLIS {
                let wrong = breach(Rule::NotLive, at).by(who.actor).of(stand.received);
                return Err(wrong.numbers(unsettled_millis, MOST_UNSETTLED_MILLIS));
            }
            // What the room waited for somebody comes all at once.
            let slack = stand.slack_ticks + u64::from(self.schedule.room.hard_tolerance_ticks);
            let received = stand.received;
            let is_behind = last.frontier.since(received) > slack || received.since(stand.confirmed) > slack;
            if (stand.generation != last.generation && last.frontier > Tick::new(slack)) || is_behind {
                let wrong = breach(Rule::NotConverged, at).by(who.actor).of(received);
                return Err(wrong.numbers(stand.confirmed.index(), last.frontier.index()));
            }
        }
        self.check_rate(at, &last)?;
        let pending = self.donating_since.map_or(0, |since| at.nanos_since(since) / 1_000_000);
        if pending > LONGEST_DONATION_MILLIS {
            return Err(breach(Rule::Pending, at).numbers(pending, LONGEST_DONATION_MILLIS));
        }
        Ok(())
    }
}
