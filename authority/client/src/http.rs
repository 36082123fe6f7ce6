//! The service's HTTP side: creating a room, and asking about one (V1). One short connection for each request, without TLS.

use std::io;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::header::{CONTENT_TYPE, HOST};
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::TokioIo;
use retick_core::digest::{Digest, Identity};
use retick_core::identity::MatchDescriptor;
use retick_core::seat::SeatCount;
use retick_core::tick::{Tick, TickRate};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::code::RoomCode;

/// Most bytes of an answer.
pub const MAX_RESPONSE_BYTES: usize = 256 * 1024;
/// How long a request may take in all.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);

/// What a room is created with, beside the match. What is `None` is left to the service's defaults.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CreateOptions {
    /// Ticks that the room waits for an input before it substitutes (A1).
    pub hard_tolerance_ticks: Option<u16>,
    /// Every how many confirmed ticks a checksum is reported (A8).
    pub checksum_cadence_ticks: Option<u32>,
    /// How long a lost seat is kept, in milliseconds (A6).
    pub grace_millis: Option<u64>,
}

/// Where a room stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RoomPhase {
    /// Tick 0 has not begun.
    Waiting,
    /// It confirms ticks.
    Running,
    /// It is over.
    Closed,
}

/// What a joiner by code needs to know (V1): whether it has the right game, and whether there is a seat.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RoomInfo {
    /// The code, as the service writes it.
    pub code: RoomCode,
    /// The protocol that the room speaks.
    pub protocol: u16,
    /// The identity that every machine of the match must have.
    pub identity: Identity,
    /// Digest of the session config.
    pub config_digest: Digest,
    /// Digest of the match.
    pub descriptor_digest: Digest,
    /// How many seats the match has.
    pub seats: SeatCount,
    /// How many of them nobody holds.
    pub free_seats: usize,
    /// Ticks per second.
    pub tick_rate: TickRate,
    /// Where the room stands.
    pub phase: RoomPhase,
    /// The first tick that is not confirmed.
    pub frontier: Tick,
}

/// Why a request to the service failed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum HttpError {
    /// The network failed.
    #[error("the network failed: {0}")]
    Io(io::ErrorKind),
    /// It took too long.
    #[error("the service took too long to answer")]
    Timeout,
    /// The address is not `host:port`.
    #[error("the address is not host:port")]
    Address,
    /// The other side broke HTTP, or its answer is longer than [`MAX_RESPONSE_BYTES`].
    #[error("the other side does not speak HTTP as expected")]
    Protocol,
    /// The answer is not one of this service's.
    #[error("the answer is not one of this service's")]
    Malformed,
    /// The service refused, with a stable code and words for people.
    #[error("the service refused with status {status}, {code}: {message}")]
    Refused {
        /// The HTTP status.
        status: u16,
        /// The code to branch on.
        code: String,
        /// The explanation.
        message: String,
    },
}

impl From<io::Error> for HttpError {
    fn from(error: io::Error) -> HttpError {
        HttpError::Io(error.kind())
    }
}

impl From<hyper::Error> for HttpError {
    fn from(_: hyper::Error) -> HttpError {
        HttpError::Protocol
    }
}

/// Creates a room for a match with the service at `address`, given as `host:port`.
///
/// # Errors
/// [`HttpError`].
pub async fn create_room(
    address: &str,
    descriptor: &MatchDescriptor,
    options: &CreateOptions,
) -> Result<RoomCode, HttpError> {
    let hex: String = descriptor.to_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    let mut body = json!({ "descriptor": hex });
    let given = [
        ("hard_tolerance_ticks", options.hard_tolerance_ticks.map(u64::from)),
        ("checksum_cadence_ticks", options.checksum_cadence_ticks.map(u64::from)),
        ("grace_millis", options.grace_millis),
    ];
    for (name, value) in given {
        if let Some(value) = value {
            body[name] = value.into();
        }
    }
    let answer = request(address, Method::POST, "/rooms", body.to_string()).await?;
    text(&answer, "code")?.parse().map_err(|_| HttpError::Malformed)
}

/// Asks the service at `address`, given as `host:port`, about a room.
///
/// # Errors
/// [`HttpError`]; for an unknown room it is [`HttpError::Refused`] with status 404.
pub async fn room_info(address: &str, code: &RoomCode) -> Result<RoomInfo, HttpError> {
    let answer = request(address, Method::GET, &format!("/rooms/{code}"), String::new()).await?;
    parse_info(&answer).ok_or(HttpError::Malformed)
}

fn parse_info(answer: &Value) -> Option<RoomInfo> {
    let text = |name: &str| answer.get(name)?.as_str();
    let number = |name: &str| answer.get(name)?.as_u64();
    Some(RoomInfo {
        code: text("code")?.parse().ok()?,
        protocol: number("protocol")?.try_into().ok()?,
        identity: text("identity")?.parse().ok()?,
        config_digest: text("config_digest")?.parse().ok()?,
        descriptor_digest: text("descriptor_digest")?.parse().ok()?,
        seats: SeatCount::new(number("seats")?.try_into().ok()?)?,
        free_seats: number("free_seats")?.try_into().ok()?,
        tick_rate: TickRate::from_hz(number("tick_rate_hz")?.try_into().ok()?).ok()?,
        phase: match text("phase")? {
            "waiting" => RoomPhase::Waiting,
            "running" => RoomPhase::Running,
            "closed" => RoomPhase::Closed,
            _ => return None,
        },
        frontier: Tick::new(number("frontier")?),
    })
}

fn text<'a>(answer: &'a Value, name: &str) -> Result<&'a str, HttpError> {
    answer.get(name).and_then(Value::as_str).ok_or(HttpError::Malformed)
}

async fn request(address: &str, method: Method, path: &str, body: String) -> Result<Value, HttpError> {
    timeout(REQUEST_TIMEOUT, exchange(address, method, path, body)).await.map_err(|_| HttpError::Timeout)?
}

async fn exchange(address: &str, method: Method, path: &str, body: String) -> Result<Value, HttpError> {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header(HOST, address)
        .header(CONTENT_TYPE, "application/json")
        .body(Full::new(Bytes::from(body)))
        .map_err(|_| HttpError::Address)?;
    let stream = TcpStream::connect(address).await?;
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    let answer = async move {
        let response = sender.send_request(request).await?;
        let status = response.status();
        let body = Limited::new(response.into_body(), MAX_RESPONSE_BYTES).collect().await;
        Ok::<_, HttpError>((status, body.map_err(|_| HttpError::Protocol)?.to_bytes()))
    };
    // The connection has to be driven beside the request; it ends with the answer.
    tokio::pin!(answer);
    let (status, body) = tokio::select! {
        biased;
        answer = &mut answer => answer,
        _ = connection => answer.await,
    }?;
    read_answer(status, &body)
}

fn read_answer(status: StatusCode, body: &[u8]) -> Result<Value, HttpError> {
    let answer: Option<Value> = serde_json::from_slice(body).ok();
    if status.is_success() {
        return answer.ok_or(HttpError::Malformed);
    }
    let part = |name| answer.as_ref().and_then(|answer| answer.get(name)).and_then(Value::as_str);
    let code = part("code").unwrap_or("unknown").to_owned();
    Err(HttpError::Refused { status: status.as_u16(), code, message: part("message").unwrap_or_default().to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn v1_an_answer_is_read_with_its_code_whatever_it_is() {
        let refused = |status: u16, code: &str, message: &str| {
            Err(HttpError::Refused { status, code: code.to_owned(), message: message.to_owned() })
        };
        let read = |status, body: &str| read_answer(StatusCode::from_u16(status).expect("valid"), body.as_bytes());
        assert_eq!(read(200, r#"{"code":"AB"}"#), Ok(json!({"code": "AB"})));
        assert_eq!(read(200, "no json"), Err(HttpError::Malformed));
        assert_eq!(read(404, r#"{"code":"no-such-room","message":"m"}"#), refused(404, "no-such-room", "m"));
        assert_eq!(read(502, "<html>"), refused(502, "unknown", ""));
        assert_eq!(read(400, r#"{"code":7}"#), refused(400, "unknown", ""));
    }

    #[test]
    fn v1_an_info_is_taken_whole_or_not_at_all() {
        let digest = "ab".repeat(32);
        let whole = json!({
            "code": "K3XW-9FZM", "protocol": 1, "identity": digest, "config_digest": digest,
            "descriptor_digest": digest, "seats": 4, "free_seats": 1, "tick_rate_hz": 60, "phase": "running",
            "frontier": 90,
        });
        let info = parse_info(&whole).expect("whole");
        assert_eq!((info.free_seats, info.phase, info.frontier), (1, RoomPhase::Running, Tick::new(90)));
        let wrong = [("seats", json!(129)), ("tick_rate_hz", json!(61)), ("phase", json!("x")), ("code", json!("/"))];
        for (name, value) in wrong {
            let mut changed = whole.clone();
            changed[name] = value;
            assert_eq!(parse_info(&changed), None, "{name}");
        }
    }
}
