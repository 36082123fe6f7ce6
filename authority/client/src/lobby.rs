//! The lobby of a service: making, finding and locking rooms (V1). One short connection for each request.

use hyper::Method;
use retick_core::digest::{Digest, Identity};
use retick_core::identity::MatchDescriptor;
use retick_core::seat::SeatCount;
use serde_json::{Value, json};

use crate::code::RoomCode;
use crate::http::{Ask, HttpError};
use crate::policies::{Permission, SeatPolicy, StartPolicy};
use crate::room::{RoomInfo, RoomLock, RoomSettlement, Visibility, parse_info, parse_settlement};
use crate::secret::{Reservation, RoomKey};
use crate::tls::TlsClient;

/// What a room is created with, beside the match. What is `None` is left to the service's defaults.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CreateOptions {
    /// Ticks that the room waits for an input before it substitutes (A1).
    pub hard_tolerance_ticks: Option<u16>,
    /// Every how many confirmed ticks a checksum is reported (A8).
    pub checksum_cadence_ticks: Option<u32>,
    /// How long a lost seat is kept, in milliseconds (A6).
    pub grace_millis: Option<u64>,
    /// Who finds the room. A quick match makes public ones, whatever stands here.
    pub visibility: Option<Visibility>,
    /// How seats change hands (A5).
    pub seats: Option<SeatPolicy>,
    /// When tick 0 begins (A15).
    pub start: Option<StartPolicy>,
    /// Who may stop the clock (A15).
    pub pause: Option<Permission>,
    /// Who may swap the session config (A10).
    pub reconfigure: Option<Permission>,
    /// Most connections that watch without a seat (A14), at most 256.
    pub max_observers: Option<u16>,
}

/// A room that was made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CreatedRoom {
    /// What the service says of it.
    pub info: RoomInfo,
    /// What locks it. Shown this once.
    pub key: RoomKey,
}

/// What a quick match looks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MatchWish<'a> {
    /// A room of this identity and config, and of so many seats if that is said.
    Find {
        /// The identity that the caller has loaded.
        identity: Identity,
        /// Digest of the session config that it wants.
        config_digest: Digest,
        /// How many seats the match is to have.
        seats: Option<SeatCount>,
    },
    /// The same, or else a new room of this match.
    FindOrCreate {
        /// The match.
        descriptor: &'a MatchDescriptor,
        /// What the room is created with, if it is.
        options: CreateOptions,
    },
}

/// A seat that a quick match found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct QuickMatch {
    /// The room.
    pub info: RoomInfo,
    /// The seat that is kept there, for [`NetConfig::reservation`](crate::NetConfig::reservation). Without it the room looks full, since
    /// its free seats are kept for those whom a quick match sent.
    pub reservation: Reservation,
    /// What locks the room, if it was made for this caller.
    pub key: Option<RoomKey>,
}

/// Which rooms to list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ListRequest {
    /// The identity that the caller has loaded.
    pub identity: Identity,
    /// Only rooms of this config.
    pub config_digest: Option<Digest>,
    /// Only rooms behind this code: the `next` of the page before.
    pub after: Option<RoomCode>,
    /// Most rooms of the page, at most 100; `None` leaves it to the service.
    pub limit: Option<u8>,
}

/// One page of public rooms, in the order of their codes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RoomPage {
    /// The rooms.
    pub rooms: Vec<RoomInfo>,
    /// Where the next page begins, if there is one.
    pub next: Option<RoomCode>,
}

/// The lobby of the service at one address.
#[derive(Clone, Debug)]
pub struct Lobby {
    address: String,
    tls: Option<TlsClient>,
    create_token: Option<String>,
}

impl Lobby {
    /// The lobby of the service at `address`, given as `host:port`.
    #[must_use]
    pub fn new(address: impl Into<String>) -> Lobby {
        Lobby { address: address.into(), tls: None, create_token: None }
    }

    /// Speaks TLS.
    #[must_use]
    pub fn with_tls(self, tls: TlsClient) -> Lobby {
        Lobby { tls: Some(tls), ..self }
    }

    /// Makes rooms and matches players with the token of the game's backend.
    #[must_use]
    pub fn with_create_token(self, token: impl Into<String>) -> Lobby {
        Lobby { create_token: Some(token.into()), ..self }
    }

    /// Makes a room for a match.
    ///
    /// # Errors
    /// [`HttpError`].
    pub async fn create(
        &self,
        descriptor: &MatchDescriptor,
        options: &CreateOptions,
    ) -> Result<CreatedRoom, HttpError> {
        let mut body = body_of(descriptor, options);
        if let Some(visibility) = options.visibility {
            body["visibility"] = visibility.name().into();
        }
        let token = self.create_token.as_deref();
        let answer = self.ask(Method::POST, "/rooms".to_owned(), token, body.to_string()).await?;
        let key = key_of(&answer).ok_or(HttpError::Malformed)?;
        Ok(CreatedRoom { info: info_of(&answer)?, key })
    }

    /// Asks about a room by its code. The answer holds the match, whose config a joiner takes.
    ///
    /// # Errors
    /// [`HttpError`]; for an unknown room it is [`HttpError::Refused`] with status 404.
    pub async fn room(&self, code: &RoomCode) -> Result<RoomInfo, HttpError> {
        info_of(&self.ask(Method::GET, format!("/rooms/{code}"), None, String::new()).await?)
    }

    /// Asks how a room's match ended, as far as its players agree (A15).
    ///
    /// # Errors
    /// [`HttpError`]; for an unknown room it is [`HttpError::Refused`] with status 404.
    pub async fn settlement(&self, code: &RoomCode) -> Result<RoomSettlement, HttpError> {
        let answer = self.ask(Method::GET, format!("/rooms/{code}/settlement"), None, String::new()).await?;
        parse_settlement(&answer).ok_or(HttpError::Malformed)
    }

    /// Lists public rooms.
    ///
    /// # Errors
    /// [`HttpError`].
    pub async fn list(&self, request: &ListRequest) -> Result<RoomPage, HttpError> {
        let ListRequest { identity, config_digest, after, limit } = request;
        let mut path = format!("/rooms?identity={identity}");
        let parts = [
            config_digest.map(|digest| format!("&config_digest={digest}")),
            after.as_ref().map(|code| format!("&after={code}")),
            limit.map(|limit| format!("&limit={limit}")),
        ];
        parts.into_iter().flatten().for_each(|part| path.push_str(&part));
        let answer = self.ask(Method::GET, path, None, String::new()).await?;
        let rooms = answer.get("rooms").and_then(Value::as_array).ok_or(HttpError::Malformed)?;
        let next = match answer.get("next") {
            None | Some(Value::Null) => None,
            Some(code) => Some(code.as_str().and_then(|code| code.parse().ok()).ok_or(HttpError::Malformed)?),
        };
        Ok(RoomPage { rooms: rooms.iter().map(info_of).collect::<Result<_, _>>()?, next })
    }

    /// Finds a free seat in a public room, or makes one, and keeps it for a short time.
    ///
    /// # Errors
    /// [`HttpError`]; without a room and without a descriptor to make one, [`HttpError::Refused`] with the code `no-match`.
    pub async fn quick_match(&self, wish: &MatchWish<'_>) -> Result<QuickMatch, HttpError> {
        let body = match wish {
            MatchWish::FindOrCreate { descriptor, options } => body_of(descriptor, options),
            MatchWish::Find { identity, config_digest, seats } => {
                let mut body = json!({ "identity": identity.to_string(), "config_digest": config_digest.to_string() });
                if let Some(seats) = seats {
                    body["seats"] = seats.count().into();
                }
                body
            }
        };
        let token = self.create_token.as_deref();
        let answer = self.ask(Method::POST, "/match".to_owned(), token, body.to_string()).await?;
        let reservation = text(&answer, "reservation").and_then(|text| text.parse().ok());
        let reservation = reservation.ok_or(HttpError::Malformed)?;
        Ok(QuickMatch { info: info_of(&answer)?, reservation, key: key_of(&answer) })
    }

    /// Lets nobody join any more, or lets them again. Whoever made the room has no seat by that: join before you lock.
    ///
    /// # Errors
    /// [`HttpError`]; with another room's key, [`HttpError::Refused`] with the code `room-key`.
    pub async fn set_lock(&self, code: &RoomCode, key: &RoomKey, lock: RoomLock) -> Result<RoomInfo, HttpError> {
        self.change(code, key, json!({ "locked": lock == RoomLock::Locked })).await
    }

    /// Shows a room to everyone, or only to who knows its code.
    ///
    /// # Errors
    /// As [`Lobby::set_lock`].
    pub async fn set_visibility(
        &self,
        code: &RoomCode,
        key: &RoomKey,
        visibility: Visibility,
    ) -> Result<RoomInfo, HttpError> {
        self.change(code, key, json!({ "visibility": visibility.name() })).await
    }

    async fn change(&self, code: &RoomCode, key: &RoomKey, body: Value) -> Result<RoomInfo, HttpError> {
        let path = format!("/rooms/{code}");
        info_of(&self.ask(Method::PATCH, path, Some(key.as_str()), body.to_string()).await?)
    }

    async fn ask(&self, method: Method, path: String, bearer: Option<&str>, body: String) -> Result<Value, HttpError> {
        Ask { address: &self.address, tls: self.tls.as_ref(), method, path, bearer, body }.answer().await
    }
}

/// Creates a room for a match with the service at `address`, given as `host:port`. [`Lobby::create`] does it over TLS too, and
/// gives the room's key.
///
/// # Errors
/// [`HttpError`].
pub async fn create_room(
    address: &str,
    descriptor: &MatchDescriptor,
    options: &CreateOptions,
) -> Result<RoomCode, HttpError> {
    Ok(Lobby::new(address).create(descriptor, options).await?.info.code)
}

/// Asks the service at `address`, given as `host:port`, about a room, as [`Lobby::room`] does.
///
/// # Errors
/// [`HttpError`]; for an unknown room it is [`HttpError::Refused`] with status 404.
pub async fn room_info(address: &str, code: &RoomCode) -> Result<RoomInfo, HttpError> {
    Lobby::new(address).room(code).await
}

fn body_of(descriptor: &MatchDescriptor, options: &CreateOptions) -> Value {
    let hex: String = descriptor.to_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    let mut body = json!({ "descriptor": hex });
    let given: [(&str, Option<Value>); 8] = [
        ("hard_tolerance_ticks", options.hard_tolerance_ticks.map(Value::from)),
        ("checksum_cadence_ticks", options.checksum_cadence_ticks.map(Value::from)),
        ("grace_millis", options.grace_millis.map(Value::from)),
        ("seat_policy", options.seats.map(SeatPolicy::to_json)),
        ("start", options.start.map(StartPolicy::to_json)),
        ("pause", options.pause.map(|who| who.name().into())),
        ("reconfigure", options.reconfigure.map(|who| who.name().into())),
        ("max_observers", options.max_observers.map(Value::from)),
    ];
    for (name, value) in given {
        if let Some(value) = value {
            body[name] = value;
        }
    }
    body
}

fn info_of(answer: &Value) -> Result<RoomInfo, HttpError> {
    parse_info(answer).ok_or(HttpError::Malformed)
}

fn key_of(answer: &Value) -> Option<RoomKey> {
    text(answer, "room_key")?.parse().ok()
}

fn text<'a>(answer: &'a Value, name: &str) -> Option<&'a str> {
    answer.get(name).and_then(Value::as_str)
}
