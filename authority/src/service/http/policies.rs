//! What a game decides about its rooms (A5, A10, A14, A15), in JSON: read from requests, and written into answers.

use retick_core::seat::{Seat, SeatCount, SeatSet};
use serde::Deserialize;
use serde_json::{Value, json};

use super::error::ApiError;
use crate::room::{
    MAX_COUNTDOWN_MILLIS, OnLeave, PausePolicy, ReconfigurePolicy, RoomConfig, RoomSettings, SeatPolicy, StartPolicy,
};

/// Most observers that a room can be made with over HTTP.
pub(in crate::service) const MAX_OBSERVERS_ASKED: u16 = 256;

/// What is asked for; what is missing stays as it is.
#[derive(Default)]
pub(super) struct Policies {
    pub(super) seats: Option<SeatsBody>,
    pub(super) start: Option<StartBody>,
    pub(super) pause: Option<WhoBody>,
    pub(super) reconfigure: Option<WhoBody>,
    pub(super) max_observers: Option<u16>,
}

/// A [`SeatPolicy`].
#[derive(Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct SeatsBody {
    recycle_vacated: bool,
    humans_claim_bots: bool,
    on_leave: OnLeaveBody,
    initial_bots: Vec<u8>,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum OnLeaveBody {
    #[default]
    Empty,
    Bot,
}

/// A [`StartPolicy`]. One of `Manual` is for who embeds the service: nothing starts it over HTTP.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) enum StartBody {
    WhenFull,
    Minimum { seats: u8, countdown_millis: u32 },
    Creator,
}

/// Who may do something.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum WhoBody {
    Nobody,
    Creator,
    Anyone,
}

impl Policies {
    /// Changes `config` to what is asked for.
    pub(super) fn apply(self, config: &mut RoomConfig) -> Result<(), ApiError> {
        let Policies { seats, start, pause, reconfigure, max_observers } = self;
        let count = config.descriptor.seats();
        if let Some(seats) = seats {
            config.seats = seats.policy(count)?;
        }
        if let Some(start) = start {
            config.start = start.policy(count)?;
        }
        config.pause = pause.map_or(config.pause, WhoBody::may_pause);
        config.reconfigure = reconfigure.map_or(config.reconfigure, WhoBody::may_reconfigure);
        config.max_observers = max_observers.unwrap_or(config.max_observers);
        if config.max_observers > MAX_OBSERVERS_ASKED {
            return Err(ApiError::Observers { observers: config.max_observers });
        }
        Ok(())
    }
}

impl SeatsBody {
    fn policy(self, count: SeatCount) -> Result<SeatPolicy, ApiError> {
        let SeatsBody { recycle_vacated, humans_claim_bots, on_leave, initial_bots } = self;
        let mut bots = SeatSet::EMPTY;
        for number in initial_bots {
            let refused = ApiError::BotSeat { seat: number };
            let seat = Seat::new(number).filter(|seat| count.contains(*seat) && !bots.contains(*seat));
            bots.insert(seat.ok_or(refused)?);
        }
        if bots.len() == count.count() && !humans_claim_bots {
            return Err(ApiError::NoSeatForAnyone);
        }
        let on_leave = match on_leave {
            OnLeaveBody::Empty => OnLeave::Empty,
            OnLeaveBody::Bot => OnLeave::Bot,
        };
        Ok(SeatPolicy { recycle_vacated, humans_claim_bots, on_leave, initial_bots: bots })
    }
}

impl StartBody {
    fn policy(self, count: SeatCount) -> Result<StartPolicy, ApiError> {
        match self {
            StartBody::WhenFull => Ok(StartPolicy::WhenFull),
            StartBody::Creator => Ok(StartPolicy::Creator),
            StartBody::Minimum { seats, .. } if !(1..=count.count()).contains(&usize::from(seats)) => {
                Err(ApiError::StartSeats { seats })
            }
            StartBody::Minimum { countdown_millis, .. } if countdown_millis > MAX_COUNTDOWN_MILLIS => {
                Err(ApiError::Countdown { millis: countdown_millis })
            }
            StartBody::Minimum { seats, countdown_millis } => Ok(StartPolicy::Minimum { seats, countdown_millis }),
        }
    }
}

impl WhoBody {
    fn may_pause(self) -> PausePolicy {
        match self {
            WhoBody::Nobody => PausePolicy::Nobody,
            WhoBody::Creator => PausePolicy::Creator,
            WhoBody::Anyone => PausePolicy::Anyone,
        }
    }

    fn may_reconfigure(self) -> ReconfigurePolicy {
        match self {
            WhoBody::Nobody => ReconfigurePolicy::Nobody,
            WhoBody::Creator => ReconfigurePolicy::Creator,
            WhoBody::Anyone => ReconfigurePolicy::Anyone,
        }
    }
}

/// Adds a room's policies to what is said of it, in the form in which they are asked for.
pub(super) fn describe(answer: &mut Value, settings: &RoomSettings) {
    let RoomSettings { seats, start, pause, reconfigure, max_observers, grace_millis, .. } = settings;
    answer["seat_policy"] = json!({
        "recycle_vacated": seats.recycle_vacated,
        "humans_claim_bots": seats.humans_claim_bots,
        "on_leave": match seats.on_leave {
            OnLeave::Empty => "empty",
            OnLeave::Bot => "bot",
        },
        "initial_bots": seats.initial_bots.iter().map(Seat::number).collect::<Vec<_>>(),
    });
    answer["start"] = match start {
        StartPolicy::WhenFull => "when-full".into(),
        StartPolicy::Minimum { seats, countdown_millis } => {
            json!({ "minimum": { "seats": seats, "countdown_millis": countdown_millis } })
        }
        StartPolicy::Creator => "creator".into(),
        StartPolicy::Manual => "manual".into(),
    };
    answer["pause"] = match pause {
        PausePolicy::Nobody => "nobody",
        PausePolicy::Creator => "creator",
        PausePolicy::Anyone => "anyone",
    }
    .into();
    answer["reconfigure"] = match reconfigure {
        ReconfigurePolicy::Nobody => "nobody",
        ReconfigurePolicy::Creator => "creator",
        ReconfigurePolicy::Anyone => "anyone",
    }
    .into();
    answer["max_observers"] = (*max_observers).into();
    answer["grace_millis"] = (*grace_millis).into();
}
