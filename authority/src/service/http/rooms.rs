//! The lobby over HTTP: making, finding, listing and locking rooms (V1).

use axum::extract::{RawQuery, Request, State};
use axum::http::StatusCode;
use axum::{Extension, Json};
use retick_core::digest::{Digest, Identity};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::body::{self, ChangeRequest, CreateRequest, MatchRequest};
use super::error::ApiError;
use super::policies;
use super::{CodePath, SharedHub, authorise_creation, bearer, find, read_body, take_rate};
use crate::service::address::Peer;
use crate::service::code::RoomCode;
use crate::service::hub::{Hub, NewRoom, RoomEntry};
use crate::service::listing::{ReservationId, RoomKey, Visibility};
use crate::service::serving::Origin;
use crate::service::status::{RoomInfo, RoomPhase, RoomSettlement, RoomStatus};

/// Most rooms in one answer.
pub(super) const MAX_LISTED_ROOMS: usize = 100;
/// Rooms in one answer that asks for no number.
const DEFAULT_LISTED_ROOMS: usize = 50;

type Created = (StatusCode, Json<Value>);

/// `POST /rooms`.
pub(super) async fn create(
    State(hub): SharedHub,
    Extension(origin): Extension<Origin>,
    request: Request,
) -> Result<Created, ApiError> {
    let creator = authorise_creation(&hub, &origin, request.headers())?;
    let body = read_body(&hub, request).await?;
    let CreateRequest { config, visibility } = body::create(&body, hub.config.greeting_millis)?;
    let (code, key) = hub.create(NewRoom { config, log: None, visibility, creator })?;
    let entry = hub.find(code).ok_or(ApiError::NoSuchRoom)?;
    Ok((StatusCode::CREATED, Json(with_key(describe(&entry), &key))))
}

/// `GET /rooms/{code}`: also what a joiner by code plays, since it takes the room's config.
pub(super) async fn info(State(hub): SharedHub, code: CodePath) -> Result<Json<Value>, ApiError> {
    let entry = find(&hub, code)?;
    let mut answer = describe(&entry);
    answer["descriptor"] = hex(&entry.descriptor).into();
    Ok(Json(answer))
}

/// `GET /rooms/{code}/settlement`: how the match ended, as far as its players agree (A15).
pub(super) async fn settlement(State(hub): SharedHub, code: CodePath) -> Result<Json<Value>, ApiError> {
    let entry = find(&hub, code)?;
    let settlement = entry.status.borrow().settlement.clone();
    Ok(Json(match settlement {
        RoomSettlement::Open => json!({ "settlement": "open" }),
        RoomSettlement::Agreed { tick, result } => {
            json!({ "settlement": "agreed", "tick": tick.index(), "result": hex(&result) })
        }
        RoomSettlement::Disputed => json!({ "settlement": "disputed" }),
    }))
}

/// `PATCH /rooms/{code}`, by who has the room's key.
pub(super) async fn change(
    State(hub): SharedHub,
    Extension(origin): Extension<Origin>,
    code: CodePath,
    request: Request,
) -> Result<Json<Value>, ApiError> {
    let entry = find(&hub, code)?;
    let key: Option<RoomKey> = bearer(request.headers()).and_then(|text| text.parse().ok());
    if !key.is_some_and(|key| entry.listing.is_owned_by(&key)) {
        return Err(ApiError::RoomKey);
    }
    take_rate(&hub, Peer::limited(origin.address))?;
    let ChangeRequest { locked, visibility } = body::change(&read_body(&hub, request).await?)?;
    if let Some(locked) = locked {
        entry.set_locked(locked).await.map_err(|_| ApiError::NoSuchRoom)?;
    }
    if let Some(visibility) = visibility {
        // An answer says that it is written down, unless the disk refused.
        let _ = hub.set_visibility(&entry, visibility).await;
    }
    Ok(Json(describe(&entry)))
}

/// What a list asks for.
struct ListQuery {
    identity: Identity,
    config_digest: Option<Digest>,
    after: Option<RoomCode>,
    limit: usize,
}

impl ListQuery {
    /// Reads `name=value` pairs. All values are of letters, digits and hyphens, so nothing is escaped in them.
    fn parse(query: &str) -> Option<ListQuery> {
        let (mut identity, mut config_digest, mut after, mut limit) = (None, None, None, DEFAULT_LISTED_ROOMS);
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=')?;
            match name {
                "identity" => identity = Some(value.parse().ok()?),
                "config_digest" => config_digest = Some(value.parse().ok()?),
                "after" => after = Some(value.parse().ok()?),
                "limit" => limit = value.parse().ok().filter(|limit| (1..=MAX_LISTED_ROOMS).contains(limit))?,
                _ => return None,
            }
        }
        Some(ListQuery { identity: identity?, config_digest, after, limit })
    }

    fn lists(&self, entry: &RoomEntry) -> bool {
        entry.info.identity == self.identity
            && self.config_digest.is_none_or(|digest| entry.info.config_digest == digest)
            && entry.listing.visibility() == Visibility::Public
            && entry.status.borrow().phase != RoomPhase::Closed
    }
}

/// `GET /rooms?identity=…`: public rooms of one identity, page by page in the order of their codes.
pub(super) async fn list(
    State(hub): SharedHub,
    Extension(origin): Extension<Origin>,
    RawQuery(query): RawQuery,
) -> Result<Json<Value>, ApiError> {
    let query = ListQuery::parse(query.as_deref().unwrap_or_default()).ok_or(ApiError::Query)?;
    take_rate(&hub, Peer::limited(origin.address))?;
    let mut listed = hub.entries_after(query.after).into_iter().filter(|entry| query.lists(entry));
    let page: Vec<RoomEntry> = listed.by_ref().take(query.limit).collect();
    let next = listed.next().and(page.last()).map(|entry| entry.info.code.to_string());
    Ok(Json(json!({ "rooms": page.iter().map(describe).collect::<Vec<_>>(), "next": next })))
}

/// `POST /match`: a seat in a public room of this identity and config, kept for the caller for a short time.
pub(super) async fn quick_match(
    State(hub): SharedHub,
    Extension(origin): Extension<Origin>,
    request: Request,
) -> Result<Created, ApiError> {
    let creator = authorise_creation(&hub, &origin, request.headers())?;
    let body = read_body(&hub, request).await?;
    let MatchRequest { identity, config_digest, seats, create } = body::quick_match(&body, hub.config.greeting_millis)?;
    if hub.is_draining() {
        return Err(crate::service::error::CreateRoomError::Stopping.into());
    }
    let fits = |entry: &RoomEntry| {
        let RoomInfo { identity: theirs, config_digest: digest, seats: count, .. } = entry.info;
        theirs == identity && digest == config_digest && seats.is_none_or(|seats| seats == count)
    };
    let find = || {
        let (entry, reservation) = find_seat(&hub, fits)?;
        Some(Ok((StatusCode::OK, Json(with_reservation(describe(&entry), reservation)))))
    };
    let make = || {
        let config = create.ok_or(ApiError::NoMatch)?;
        let (code, key) = hub.create(NewRoom { config, log: None, visibility: Visibility::Public, creator })?;
        let entry = hub.find(code).ok_or(ApiError::NoSuchRoom)?;
        let reservation = reserve(&hub, &entry).ok_or(ApiError::NoSuchRoom)?;
        Ok((StatusCode::CREATED, Json(with_key(with_reservation(describe(&entry), reservation), &key))))
    };
    hub.matching.find_or_make(find, make)
}

/// A seat in the fullest room that has one, so that matches begin.
fn find_seat(hub: &Hub, fits: impl Fn(&RoomEntry) -> bool) -> Option<(RoomEntry, ReservationId)> {
    let now = Instant::now();
    let mut rooms: Vec<(usize, RoomEntry)> = hub
        .entries_after(None)
        .into_iter()
        .filter(|entry| fits(entry))
        .filter_map(|entry| {
            let joinable = entry.listing.visibility() == Visibility::Public && !entry.status.borrow().locked;
            let free = open_seats(&entry).saturating_sub(entry.listing.reserved(now));
            (joinable && free > 0).then_some((free, entry))
        })
        .collect();
    // Codes are random, and sorting is stable: among equals the same room fills up.
    rooms.sort_by_key(|(free, _)| *free);
    rooms.into_iter().find_map(|(_, entry)| reserve(hub, &entry).map(|reservation| (entry, reservation)))
}

fn reserve(hub: &Hub, entry: &RoomEntry) -> Option<ReservationId> {
    entry.listing.reserve(open_seats(entry), Instant::now(), hub.config.reservation())
}

/// Seats that a newcomer may take now.
fn open_seats(entry: &RoomEntry) -> usize {
    entry.status.borrow().open_seats
}

/// What a joiner needs to know before it opens a WebSocket.
fn describe(entry: &RoomEntry) -> Value {
    let RoomInfo { code, kind, protocol, identity, config_digest, descriptor_digest, seats, tick_rate, rules, .. } =
        entry.info;
    let status: &RoomStatus = &entry.status.borrow();
    let mut answer = json!({
        "code": code.to_string(),
        "kind": kind.name(),
        "protocol": protocol,
        "identity": identity.to_string(),
        "config_digest": config_digest.to_string(),
        "descriptor_digest": descriptor_digest.to_string(),
        "seats": seats.count(),
        "free_seats": status.open_seats,
        "tick_rate_hz": tick_rate.hz(),
        "hard_tolerance_ticks": rules.hard_tolerance_ticks,
        "checksum_cadence_ticks": rules.checksum_cadence_ticks,
        "phase": status.phase.name(),
        "frontier": status.frontier.index(),
        "visibility": entry.listing.visibility().name(),
        "locked": status.locked,
    });
    policies::describe(&mut answer, &entry.info.settings);
    answer
}

fn with_key(mut answer: Value, key: &RoomKey) -> Value {
    answer["room_key"] = key.to_string().into();
    answer
}

fn with_reservation(mut answer: Value, reservation: ReservationId) -> Value {
    answer["reservation"] = reservation.to_string().into();
    answer
}

fn hex(bytes: &[u8]) -> String {
    let digits = |byte: &u8| [byte >> 4, byte & 15].map(|digit| char::from_digit(u32::from(digit), 16).unwrap_or('0'));
    bytes.iter().flat_map(digits).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn v1_a_list_is_asked_for_by_identity_and_bounded() {
        let digest = "ab".repeat(32);
        let limit = |text: String| ListQuery::parse(&text).map(|query| query.limit);
        assert_eq!(limit(format!("identity={digest}")), Some(DEFAULT_LISTED_ROOMS));
        let all = format!("identity={digest}&config_digest={digest}&after=2Z2Z-2Z9A&limit={MAX_LISTED_ROOMS}");
        assert_eq!(limit(all), Some(MAX_LISTED_ROOMS));
        for wrong in
            ["limit=0", "limit=101", "limit=x", "after=", "identity=ab", "config_digest=ab", "other=1", "limit"]
        {
            assert_eq!(limit(format!("identity={digest}&{wrong}")), None, "{wrong}");
        }
        assert_eq!(limit("limit=5".to_owned()), None);
    }
}
