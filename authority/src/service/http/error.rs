//! Why a request is refused: a status, a stable code to branch on, and words for people (V1).

use axum::Json;
use axum::http::StatusCode;
use axum::http::header::RETRY_AFTER;
use axum::response::{IntoResponse, Response};
use retick_core::identity::DescriptorError;
use serde_json::json;

use super::body::{MAX_CREATE_BODY_BYTES, MAX_GRACE_MILLIS};
use super::policies::MAX_OBSERVERS_ASKED;
use super::rooms::MAX_LISTED_ROOMS;
use crate::room::MAX_COUNTDOWN_MILLIS;
use crate::service::error::CreateRoomError;

/// Why a request is refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub(in crate::service) enum ApiError {
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
    #[error("the body is not the JSON that is expected here, at line {line}, column {column}")]
    Json { line: usize, column: usize },
    #[error(
        "the query is not as expected: an identity, and perhaps config_digest, after, and limit up to {MAX_LISTED_ROOMS}"
    )]
    Query,
    #[error("the descriptor is not in pairs of hexadecimal digits")]
    Hex,
    #[error("{0}")]
    Descriptor(DescriptorError),
    #[error("a grace of {millis} ms, where {MAX_GRACE_MILLIS} are allowed")]
    Grace { millis: u64 },
    #[error("a bot on seat {seat}, which the match does not have, or which stands there twice")]
    BotSeat { seat: u8 },
    #[error("bots on all seats, and nobody may claim one")]
    NoSeatForAnyone,
    #[error("a start with {seats} seats, which is none or more than the match has")]
    StartSeats { seats: u8 },
    #[error("a countdown of {millis} ms, where {MAX_COUNTDOWN_MILLIS} are allowed")]
    Countdown { millis: u32 },
    #[error("{observers} observers, where {MAX_OBSERVERS_ASKED} are allowed")]
    Observers { observers: u16 },
    #[error("the descriptor is of another identity, config or number of seats than is asked for")]
    OtherMatch,
    #[error("no room of this identity and config has a free seat, and no descriptor was given to make one")]
    NoMatch,
    #[error("creating rooms and matching players takes the token of the game's backend")]
    CreateToken,
    #[error("this takes the key that the room's creator was given")]
    RoomKey,
    #[error("pages of this origin are not served")]
    Origin,
    #[error("too many requests of this kind")]
    TooManyRequests,
    #[error("{0}")]
    Create(#[from] CreateRoomError),
}

impl ApiError {
    /// The status, and the stable code.
    pub(in crate::service) fn parts(&self) -> (StatusCode, &'static str) {
        match self {
            ApiError::NoSuchPath => (StatusCode::NOT_FOUND, "no-such-path"),
            ApiError::Method => (StatusCode::METHOD_NOT_ALLOWED, "method-not-allowed"),
            ApiError::NoSuchRoom => (StatusCode::NOT_FOUND, "no-such-room"),
            ApiError::NotWebSocket => (StatusCode::UPGRADE_REQUIRED, "not-a-websocket"),
            ApiError::BodyTooLong => (StatusCode::PAYLOAD_TOO_LARGE, "body-too-long"),
            ApiError::Body => (StatusCode::REQUEST_TIMEOUT, "body-incomplete"),
            ApiError::Json { .. } => (StatusCode::BAD_REQUEST, "malformed-json"),
            ApiError::Query => (StatusCode::BAD_REQUEST, "malformed-query"),
            ApiError::Hex => (StatusCode::BAD_REQUEST, "malformed-hex"),
            ApiError::Descriptor(_) => (StatusCode::BAD_REQUEST, "malformed-descriptor"),
            ApiError::Grace { .. } => (StatusCode::UNPROCESSABLE_ENTITY, "grace-too-long"),
            ApiError::BotSeat { .. } => (StatusCode::UNPROCESSABLE_ENTITY, "bot-seat"),
            ApiError::NoSeatForAnyone => (StatusCode::UNPROCESSABLE_ENTITY, "no-seat-for-anyone"),
            ApiError::StartSeats { .. } => (StatusCode::UNPROCESSABLE_ENTITY, "start-seats"),
            ApiError::Countdown { .. } => (StatusCode::UNPROCESSABLE_ENTITY, "countdown-too-long"),
            ApiError::Observers { .. } => (StatusCode::UNPROCESSABLE_ENTITY, "too-many-observers"),
            ApiError::OtherMatch => (StatusCode::UNPROCESSABLE_ENTITY, "other-match"),
            ApiError::NoMatch => (StatusCode::NOT_FOUND, "no-match"),
            ApiError::CreateToken => (StatusCode::UNAUTHORIZED, "create-token"),
            ApiError::RoomKey => (StatusCode::UNAUTHORIZED, "room-key"),
            ApiError::Origin => (StatusCode::FORBIDDEN, "origin"),
            ApiError::TooManyRequests => (StatusCode::TOO_MANY_REQUESTS, "too-many-requests"),
            ApiError::Create(error) => create_parts(error),
        }
    }
}

fn create_parts(error: &CreateRoomError) -> (StatusCode, &'static str) {
    match error {
        CreateRoomError::Config(_) => (StatusCode::UNPROCESSABLE_ENTITY, "room-refused"),
        CreateRoomError::TooManyRooms { .. } => (StatusCode::SERVICE_UNAVAILABLE, "too-many-rooms"),
        CreateRoomError::TooManyRoomsOfAddress { .. } => (StatusCode::TOO_MANY_REQUESTS, "too-many-rooms-of-address"),
        CreateRoomError::Stopping => (StatusCode::SERVICE_UNAVAILABLE, "stopping"),
        CreateRoomError::NoRandomness => (StatusCode::INTERNAL_SERVER_ERROR, "no-randomness"),
    }
}

/// The stable code of a refused request, for whoever counts them.
#[derive(Clone, Copy, Debug)]
pub(super) struct RefusalCode(pub(super) &'static str);

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let (status, code) = self.parts();
        let mut response = (status, Json(json!({ "code": code, "message": self.to_string() }))).into_response();
        response.extensions_mut().insert(RefusalCode(code));
        if self == ApiError::TooManyRequests {
            // A minute's allowance is never further away than a minute.
            response.headers_mut().insert(RETRY_AFTER, axum::http::HeaderValue::from_static("60"));
        }
        response
    }
}
