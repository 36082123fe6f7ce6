//! What a game decides about its rooms (A5, A10, A14, A15): asked for when one is made, and said of each.

use retick_core::seat::{Seat, SeatSet};
use serde_json::{Value, json};

/// How seats change hands (A5). The default is fixed seats: nobody takes over from anybody, and no bot plays.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SeatPolicy {
    /// Whether a seat that was given up can be claimed again, by somebody else.
    pub recycle_vacated: bool,
    /// Whether people can claim seats that bots play.
    pub humans_claim_bots: bool,
    /// Who plays when somebody leaves, or does not come back.
    pub on_leave: OnLeave,
    /// The seats that bots play from tick 0 on.
    pub initial_bots: SeatSet,
}

/// Who plays a seat that its player has left (A5).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum OnLeave {
    /// Nobody.
    #[default]
    Empty,
    /// A bot.
    Bot,
}

/// When tick 0 begins (A15).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum StartPolicy {
    /// Once no seat is free, and everyone who holds one is ready and wants it.
    WhenFull,
    /// When so many have been ready and wanting for so long.
    Minimum {
        /// How many seats, at least 1.
        seats: u8,
        /// For how long, in milliseconds, at most ten minutes.
        countdown_millis: u32,
    },
    /// When the creator says so.
    Creator,
    /// When the owner of the service says so. No room is made like this over HTTP.
    Manual,
}

/// Who may do something in a room (A10, A15).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Permission {
    /// No player.
    Nobody,
    /// The creator: whoever holds the oldest claim.
    Creator,
    /// Everyone who holds a seat.
    Anyone,
}

/// What a room was made with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RoomPolicies {
    /// How seats change hands.
    pub seats: SeatPolicy,
    /// When tick 0 begins.
    pub start: StartPolicy,
    /// Who may stop the clock.
    pub pause: Permission,
    /// Who may swap the session config.
    pub reconfigure: Permission,
    /// Most connections that watch without a seat.
    pub max_observers: u16,
    /// How long a seat whose transport was lost is kept for its owner, in milliseconds.
    pub grace_millis: u64,
}

impl SeatPolicy {
    pub(crate) fn to_json(self) -> Value {
        let SeatPolicy { recycle_vacated, humans_claim_bots, on_leave, initial_bots } = self;
        let bots: Vec<u8> = initial_bots.iter().map(Seat::number).collect();
        let on_leave = match on_leave {
            OnLeave::Empty => "empty",
            OnLeave::Bot => "bot",
        };
        json!({
            "recycle_vacated": recycle_vacated, "humans_claim_bots": humans_claim_bots,
            "on_leave": on_leave, "initial_bots": bots,
        })
    }

    fn parse(value: &Value) -> Option<SeatPolicy> {
        let flag = |name: &str| value.get(name)?.as_bool();
        let number = |seat: &Value| Seat::new(seat.as_u64()?.try_into().ok()?);
        Some(SeatPolicy {
            recycle_vacated: flag("recycle_vacated")?,
            humans_claim_bots: flag("humans_claim_bots")?,
            on_leave: match value.get("on_leave")?.as_str()? {
                "empty" => OnLeave::Empty,
                "bot" => OnLeave::Bot,
                _ => return None,
            },
            initial_bots: value.get("initial_bots")?.as_array()?.iter().map(number).collect::<Option<SeatSet>>()?,
        })
    }
}

impl StartPolicy {
    pub(crate) fn to_json(self) -> Value {
        match self {
            StartPolicy::WhenFull => "when-full".into(),
            StartPolicy::Minimum { seats, countdown_millis } => {
                json!({ "minimum": { "seats": seats, "countdown_millis": countdown_millis } })
            }
            StartPolicy::Creator => "creator".into(),
            StartPolicy::Manual => "manual".into(),
        }
    }

    fn parse(value: &Value) -> Option<StartPolicy> {
        let Some(minimum) = value.get("minimum") else {
            let named = [StartPolicy::WhenFull, StartPolicy::Creator, StartPolicy::Manual];
            return named.into_iter().find(|policy| policy.to_json() == *value);
        };
        let number = |name: &str| minimum.get(name)?.as_u64();
        let (seats, countdown_millis) = (number("seats")?, number("countdown_millis")?);
        Some(StartPolicy::Minimum {
            seats: seats.try_into().ok()?,
            countdown_millis: countdown_millis.try_into().ok()?,
        })
    }
}

impl Permission {
    const ALL: [Permission; 3] = [Permission::Nobody, Permission::Creator, Permission::Anyone];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Permission::Nobody => "nobody",
            Permission::Creator => "creator",
            Permission::Anyone => "anyone",
        }
    }

    fn parse(value: &Value) -> Option<Permission> {
        let name = value.as_str()?;
        Permission::ALL.into_iter().find(|permission| permission.name() == name)
    }
}

impl RoomPolicies {
    /// The policies in what the service says of a room, whole or not at all.
    pub(crate) fn parse(answer: &Value) -> Option<RoomPolicies> {
        Some(RoomPolicies {
            seats: SeatPolicy::parse(answer.get("seat_policy")?)?,
            start: StartPolicy::parse(answer.get("start")?)?,
            pause: Permission::parse(answer.get("pause")?)?,
            reconfigure: Permission::parse(answer.get("reconfigure")?)?,
            max_observers: answer.get("max_observers")?.as_u64()?.try_into().ok()?,
            grace_millis: answer.get("grace_millis")?.as_u64()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn v1_policies_are_read_as_they_are_written() {
        let initial_bots = [0, 7, 127].into_iter().filter_map(Seat::new).collect();
        for (on_leave, flag) in [(OnLeave::Empty, false), (OnLeave::Bot, true)] {
            let policy = SeatPolicy { recycle_vacated: flag, humans_claim_bots: !flag, on_leave, initial_bots };
            assert_eq!(SeatPolicy::parse(&policy.to_json()), Some(policy));
        }
        let minimum = StartPolicy::Minimum { seats: 3, countdown_millis: 600_000 };
        for policy in [StartPolicy::WhenFull, minimum, StartPolicy::Creator, StartPolicy::Manual] {
            assert_eq!(StartPolicy::parse(&policy.to_json()), Some(policy));
        }
        for permission in Permission::ALL {
            assert_eq!(Permission::parse(&permission.name().into()), Some(permission));
        }
        for wrong in [json!({}), json!({ "minimum": { "seats": 256, "countdown_millis": 0 } }), json!("x"), json!(1)] {
            assert_eq!((StartPolicy::parse(&wrong), Permission::parse(&wrong)), (None, None), "{wrong}");
            assert_eq!(SeatPolicy::parse(&wrong), None, "{wrong}");
        }
    }
}
