//! The HTTP side: its routes, and its refusals (V1).

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::rejection::{BytesRejection, PathRejection};
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::{DefaultBodyLimit, FromRequest, Path, Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Extension, Json, Router};
use retick_core::identity::DescriptorError;
use retick_core::wire::PROTOCOL_VERSION;
use serde_json::{Value, json};
use tokio::time::timeout;
use tracing::{Instrument, info_span};

use super::connection::{MAX_MESSAGE_BYTES, READ_BUFFER_BYTES, WRITE_BUFFER_BYTES, serve};
use super::create::{self, MAX_CREATE_BODY_BYTES, MAX_GRACE_MILLIS};
use super::error::CreateRoomError;
use super::hub::{Hub, RoomEntry};
use super::listener::Permit;
use super::status::{RoomInfo, RoomStatus};

/// Why a request is refused: a status, a stable code to branch on, and words for people.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub(super) enum ApiError {
    #[error("no such path")]
    NoSuchPath,
    #[error("the path takes other methods")]
    Method,
    #[error("there is no such room")]
    NoSuchRoom,
    #[error("this is where a WebSocket is opened")]
    NotWebSocket,
    #[error("a body has at most {MAX_CREATE_BODY_BYTES} bytes")]
    BodyTooLong,
    #[error("the body did not arrive")]
    Body,
    #[error("the body is not the JSON of a room, at line {line}, column {column}")]
    Json { line: usize, column: usize },
    #[error("the descriptor is not in pairs of hexadecimal digits")]
    Hex,
    #[error("{0}")]
    Descriptor(DescriptorError),
    #[error("a grace of {millis} ms, where {MAX_GRACE_MILLIS} are allowed")]
    Grace { millis: u64 },
    #[error("{0}")]
    Create(#[from] CreateRoomError),
}

impl ApiError {
    /// The status, and the stable code.
    pub(super) fn parts(&self) -> (StatusCode, &'static str) {
        match self {
            ApiError::NoSuchPath => (StatusCode::NOT_FOUND, "no-such-path"),
            ApiError::Method => (StatusCode::METHOD_NOT_ALLOWED, "method-not-allowed"),
            ApiError::NoSuchRoom => (StatusCode::NOT_FOUND, "no-such-room"),
            ApiError::NotWebSocket => (StatusCode::UPGRADE_REQUIRED, "not-a-websocket"),
            ApiError::BodyTooLong => (StatusCode::PAYLOAD_TOO_LARGE, "body-too-long"),
            ApiError::Body => (StatusCode::REQUEST_TIMEOUT, "body-incomplete"),
            ApiError::Json { .. } => (StatusCode::BAD_REQUEST, "malformed-json"),
            ApiError::Hex => (StatusCode::BAD_REQUEST, "malformed-hex"),
            ApiError::Descriptor(_) => (StatusCode::BAD_REQUEST, "malformed-descriptor"),
            ApiError::Grace { .. } => (StatusCode::UNPROCESSABLE_ENTITY, "grace-too-long"),
            ApiError::Create(CreateRoomError::Config(_)) => (StatusCode::UNPROCESSABLE_ENTITY, "room-refused"),
            ApiError::Create(CreateRoomError::TooManyRooms { .. }) => {
                (StatusCode::SERVICE_UNAVAILABLE, "too-many-rooms")
            }
            ApiError::Create(CreateRoomError::Stopping) => (StatusCode::SERVICE_UNAVAILABLE, "stopping"),
            ApiError::Create(CreateRoomError::NoRandomness) => (StatusCode::INTERNAL_SERVER_ERROR, "no-randomness"),
        }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let (status, code) = self.parts();
        (status, Json(json!({ "code": code, "message": self.to_string() }))).into_response()
    }
}

type SharedHub = State<Arc<Hub>>;
/// The code in a path; what is not even text is no room's.
type CodePath = Result<Path<String>, PathRejection>;

/// All routes. Each connection adds its permit as an extension.
pub(super) fn router(hub: Arc<Hub>) -> Router {
    Router::new()
        .route("/health", get(health))
        .route("/rooms", post(create_room))
        .route("/rooms/{code}", get(room_info))
        .route("/rooms/{code}/play", get(play))
        .fallback(async || ApiError::NoSuchPath)
        .method_not_allowed_fallback(async || ApiError::Method)
        .layer(DefaultBodyLimit::max(MAX_CREATE_BODY_BYTES))
        .with_state(hub)
}

async fn health(State(hub): SharedHub) -> Json<Value> {
    Json(json!({ "status": "ok", "protocol": PROTOCOL_VERSION, "rooms": hub.room_count() }))
}

async fn create_room(State(hub): SharedHub, request: Request) -> Result<(StatusCode, Json<Value>), ApiError> {
    let body = timeout(hub.config.greeting(), Bytes::from_request(request, &()));
    let body = body.await.map_err(|_| ApiError::Body)?.map_err(|rejection: BytesRejection| {
        if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE { ApiError::BodyTooLong } else { ApiError::Body }
    })?;
    let code = hub.create(create::parse(&body, hub.config.greeting_millis)?, None)?;
    let entry = hub.find(code).ok_or(ApiError::NoSuchRoom)?;
    Ok((StatusCode::CREATED, Json(describe(&entry))))
}

async fn room_info(State(hub): SharedHub, code: CodePath) -> Result<Json<Value>, ApiError> {
    Ok(Json(describe(&find(&hub, code)?)))
}

async fn play(
    State(hub): SharedHub,
    code: CodePath,
    Extension(permit): Extension<Permit>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, ApiError> {
    let entry = find(&hub, code)?;
    let upgrade = upgrade.map_err(|_| ApiError::NotWebSocket)?;
    let (connection, limits, hold) = (hub.next_connection(), hub.config, hub.hold());
    let span = info_span!("connection", room = %entry.info.code, connection = connection.0);
    let upgrade = upgrade
        .read_buffer_size(READ_BUFFER_BYTES)
        .write_buffer_size(WRITE_BUFFER_BYTES)
        .max_message_size(MAX_MESSAGE_BYTES)
        .max_frame_size(MAX_MESSAGE_BYTES);
    Ok(upgrade.on_upgrade(move |socket| {
        let served = async move {
            serve(socket, entry.mailbox, connection, limits).await;
            drop((permit, hold));
        };
        served.instrument(span)
    }))
}

fn find(hub: &Hub, code: CodePath) -> Result<RoomEntry, ApiError> {
    let code = code.ok().and_then(|Path(code)| code.parse().ok());
    code.and_then(|code| hub.find(code)).ok_or(ApiError::NoSuchRoom)
}

/// What a joiner needs to know before it opens a WebSocket.
fn describe(entry: &RoomEntry) -> Value {
    let RoomInfo { code, kind, protocol, identity, config_digest, descriptor_digest, seats, tick_rate, rules } =
        entry.info;
    let status: &RoomStatus = &entry.status.borrow();
    json!({
        "code": code.to_string(),
        "kind": kind.name(),
        "protocol": protocol,
        "identity": identity.to_string(),
        "config_digest": config_digest.to_string(),
        "descriptor_digest": descriptor_digest.to_string(),
        "seats": seats.count(),
        "free_seats": status.free_seats(),
        "tick_rate_hz": tick_rate.hz(),
        "hard_tolerance_ticks": rules.hard_tolerance_ticks,
        "checksum_cadence_ticks": rules.checksum_cadence_ticks,
        "phase": status.phase.name(),
        "frontier": status.frontier.index(),
    })
}
