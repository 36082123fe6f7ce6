//! Who takes part in the demo, in which role, and when something happens to whom.

use std::collections::VecDeque;
use std::fmt;

use retick_core::seat::{Seat, SeatCount};
use retick_core::tick::Tick;

use super::Plan;

/// When somebody joins who was not there at tick 0, as a part of the match.
const JOIN_PERCENT: u64 = 25;
/// When a player is cut off, and for how long at most.
const CUT_PERCENT: u64 = 40;
const MAX_CUT_MILLIS: u64 = 2_000;
/// When the same player goes on at another device.
const MOVE_PERCENT: u64 = 75;

/// What somebody is there to show.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// Plays from tick 0 to the end.
    Steady,
    /// Is cut off and comes back; then its player goes on elsewhere, and its connection is superseded.
    FirstDevice,
    /// Where that player goes on, in the same seat.
    SecondDevice,
    /// Takes a free seat while the match runs.
    Latecomer,
}

impl Role {
    /// Whether it is there at tick 0.
    pub fn is_there_from_the_start(self) -> bool {
        matches!(self, Role::Steady | Role::FirstDevice)
    }

    /// Whether it is there at the end.
    pub fn stays(self) -> bool {
        self != Role::FirstDevice
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Role::Steady => "",
            Role::FirstDevice => "first device",
            Role::SecondDevice => "second device",
            Role::Latecomer => "late",
        })
    }
}

/// One client of the match.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Part {
    /// What it shows.
    pub role: Role,
    /// The seat that it gets.
    pub seat: Seat,
}

/// Something that happens during the match.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Act {
    /// When, on the room's clock.
    pub at: Tick,
    /// What.
    pub what: Happening,
}

/// What can happen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Happening {
    /// A client comes in.
    Enter(Part),
    /// The network of [`Role::FirstDevice`] is gone.
    Cut,
    /// It is back.
    Mend,
}

/// The seats with a role of their own: the last three. In all others somebody plays steadily.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cast {
    /// Whose player moves from one device to another.
    pub moving: Seat,
    /// Free until somebody comes late.
    pub late: Seat,
    /// A bot's.
    pub bot: Seat,
}

impl Cast {
    /// The roles of a match of so many seats; at least four, for somebody has to play steadily.
    pub fn new(seats: SeatCount) -> Option<Cast> {
        let mut last = seats.seats().rev();
        let (bot, late, moving) = (last.next()?, last.next()?, last.next()?);
        last.next().map(|_| Cast { moving, late, bot })
    }
}

impl Plan {
    /// The clients that are there from the start, in the order of their seats.
    pub fn first_parts(&self) -> Vec<Part> {
        let moving = self.cast.moving;
        let role = |seat| if seat == moving { Role::FirstDevice } else { Role::Steady };
        let seats = self.descriptor.seats().seats().take_while(|seat| *seat <= moving);
        seats.map(|seat| Part { role: role(seat), seat }).collect()
    }

    /// What happens, in order.
    pub fn acts(&self) -> VecDeque<Act> {
        let enter = |role, seat| Happening::Enter(Part { role, seat });
        let cut_ticks = self.descriptor.tick_rate().ticks_in_millis(self.cut_millis());
        let cut_at = self.at_percent(CUT_PERCENT);
        VecDeque::from([
            Act { at: self.at_percent(JOIN_PERCENT), what: enter(Role::Latecomer, self.cast.late) },
            Act { at: cut_at, what: Happening::Cut },
            Act { at: cut_at.saturating_add(cut_ticks), what: Happening::Mend },
            Act { at: self.at_percent(MOVE_PERCENT), what: enter(Role::SecondDevice, self.cast.moving) },
        ])
    }

    /// When a player is cut off, in milliseconds after the start.
    pub fn cut_at_millis(&self) -> u64 {
        self.match_millis() * CUT_PERCENT / 100
    }

    /// For how long it is cut off, in milliseconds. It is back well before its player goes on elsewhere.
    pub fn cut_millis(&self) -> u64 {
        MAX_CUT_MILLIS.min(self.match_millis() / 5)
    }

    fn match_millis(&self) -> u64 {
        self.ticks.index() * 1000 / u64::from(self.descriptor.tick_rate().hz())
    }

    fn at_percent(&self, percent: u64) -> Tick {
        Tick::new(self.ticks.index() * percent / 100)
    }
}
