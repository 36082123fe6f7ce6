//! The HTTP side: its routes, and what is the same for all of them (V1).

mod body;
mod error;
mod play;
mod policies;
mod rooms;

pub use body::MAX_CREATE_BODY_BYTES;

use std::sync::{Arc, PoisonError};

use axum::body::Bytes;
use axum::extract::rejection::{BytesRejection, PathRejection};
use axum::extract::{DefaultBodyLimit, FromRequest, Path, Request, State};
use axum::http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN, AUTHORIZATION,
    CACHE_CONTROL, ORIGIN, VARY,
};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use retick_core::wire::PROTOCOL_VERSION;
use serde_json::{Value, json};
use tokio::time::{Instant, timeout};

use self::error::{ApiError, RefusalCode};
use super::address::Peer;
use super::admission::Creation;
use super::hub::{Hub, RoomEntry};
use super::serving::Origin;

type SharedHub = State<Arc<Hub>>;
/// The code in a path; what is not even text is no room's.
type CodePath = Result<Path<String>, PathRejection>;

/// All routes. Each connection adds what is known of it as an extension.
pub(super) fn router(hub: Arc<Hub>) -> Router {
    Router::new()
        .route("/health", get(health))
        .route("/match", post(rooms::quick_match))
        .route("/rooms", get(rooms::list).post(rooms::create))
        .route("/rooms/{code}", get(rooms::info).patch(rooms::change))
        .route("/rooms/{code}/play", get(play::play))
        .route("/rooms/{code}/settlement", get(rooms::settlement))
        .fallback(async || ApiError::NoSuchPath)
        .method_not_allowed_fallback(async || ApiError::Method)
        .layer(DefaultBodyLimit::max(MAX_CREATE_BODY_BYTES))
        .layer(from_fn_with_state(hub.clone(), guard))
        .with_state(hub)
}

/// Checks where a page came from before anything else, answers browsers that ask first, and counts refusals.
async fn guard(State(hub): SharedHub, request: Request, next: Next) -> Response {
    let origin = request.headers().get(ORIGIN).cloned();
    let mut response = if !hub.config.origins.allows(origin.as_ref()) {
        ApiError::Origin.into_response()
    } else if origin.is_some() && request.method() == Method::OPTIONS {
        StatusCode::NO_CONTENT.into_response()
    } else {
        next.run(request).await
    };
    if let Some(RefusalCode(code)) = response.extensions().get() {
        hub.metrics.refused(code);
    }
    let headers = response.headers_mut();
    // Codes, keys and reservations are for whom they were made.
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if let Some(origin) = origin.filter(|origin| hub.config.origins.allows(Some(origin))) {
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        headers.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, POST, PATCH"));
        headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static("authorization, content-type"));
        headers.insert(VARY, HeaderValue::from_static("origin"));
    }
    response
}

async fn health(State(hub): SharedHub) -> Json<Value> {
    let status = if hub.is_draining() { "draining" } else { "ok" };
    Json(json!({ "status": status, "protocol": PROTOCOL_VERSION, "rooms": hub.room_count() }))
}

/// A request's body, within its time and its length.
async fn read_body(hub: &Hub, request: Request) -> Result<Bytes, ApiError> {
    let body = timeout(hub.config.greeting(), Bytes::from_request(request, &()));
    body.await.map_err(|_| ApiError::Body)?.map_err(|rejection: BytesRejection| {
        if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE { ApiError::BodyTooLong } else { ApiError::Body }
    })
}

fn find(hub: &Hub, code: CodePath) -> Result<RoomEntry, ApiError> {
    let code = code.ok().and_then(|Path(code)| code.parse().ok());
    code.and_then(|code| hub.find(code)).ok_or(ApiError::NoSuchRoom)
}

/// What stands behind `Bearer` in the request's authorisation.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    headers.get(AUTHORIZATION)?.to_str().ok()?.strip_prefix("Bearer ")
}

/// Whether a request may make rooms and match players; gives the address that it counts against.
fn authorise_creation(hub: &Hub, origin: &Origin, headers: &HeaderMap) -> Result<Option<Peer>, ApiError> {
    match hub.config.creation {
        Creation::Token(token) if bearer(headers).is_some_and(|text| token.matches(text)) => return Ok(None),
        Creation::AsAdmission if hub.config.admission.is_open() => {}
        Creation::Token(_) | Creation::AsAdmission => return Err(ApiError::CreateToken),
    }
    let peer = Peer::limited(origin.address);
    take_rate(hub, peer)?;
    Ok(peer)
}

fn take_rate(hub: &Hub, peer: Option<Peer>) -> Result<(), ApiError> {
    // A rate is taken whole or not at all.
    let mut rates = hub.rates.lock().unwrap_or_else(PoisonError::into_inner);
    if rates.take(peer, Instant::now()) { Ok(()) } else { Err(ApiError::TooManyRequests) }
}
