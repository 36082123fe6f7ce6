//! The monitor: one page that shows what the service's rooms do, and the numbers behind it (V1).

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::header::{CONTENT_SECURITY_POLICY, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS};
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::{Html, IntoResponse, Response};
use serde_json::{Value, json};

use super::handshakes::Stage;
use super::hub::{Hub, RoomEntry};
use super::metrics::{SEAT_STATES, seat_state_name};
use super::status::RoomStatus;

/// The page, whole: it loads nothing but the numbers.
const PAGE: &str = include_str!("monitor.html");
/// What stands for the nonce in the page.
const NONCE: &str = "{{nonce}}";
/// Most rooms that the monitor shows.
pub(super) const MAX_SHOWN_ROOMS: usize = 200;

/// `GET /monitor`.
pub(super) async fn page() -> Response {
    let mut bytes = [0; 16];
    if getrandom::fill(&mut bytes).is_err() {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    }
    let nonce = u128::from_ne_bytes(bytes);
    let policy = format!(
        "default-src 'none'; script-src 'nonce-{nonce:032x}'; style-src 'nonce-{nonce:032x}'; connect-src 'self'; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    );
    let Ok(policy) = HeaderValue::try_from(policy) else { return StatusCode::INTERNAL_SERVER_ERROR.into_response() };
    let headers: [(HeaderName, HeaderValue); 3] = [
        (CONTENT_SECURITY_POLICY, policy),
        (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        (REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    ];
    (headers, Html(PAGE.replace(NONCE, &format!("{nonce:032x}")))).into_response()
}

/// `GET /monitor/state`.
pub(super) async fn state(State(hub): State<Arc<Hub>>) -> Json<Value> {
    let rooms = hub.entries_after(None);
    let handshakes = hub.handshakes.counts();
    let stages: serde_json::Map<String, Value> =
        Stage::ALL.iter().zip(handshakes).map(|(stage, count)| (stage.name().to_owned(), count.into())).collect();
    Json(json!({
        "draining": hub.is_draining(),
        "connections": hub.places.taken(),
        "handshakes": stages,
        "room_count": rooms.len(),
        "rooms": rooms.iter().take(MAX_SHOWN_ROOMS).map(describe).collect::<Vec<_>>(),
    }))
}

fn describe(entry: &RoomEntry) -> Value {
    let status: &RoomStatus = &entry.status.borrow();
    let (received, sent) = entry.traffic.totals();
    let seats: Vec<Value> = status
        .seats
        .iter()
        .zip(&status.seat_stats)
        .map(|(state, stats)| {
            json!({
                "state": seat_state_name(*state),
                "substituted": stats.substituted_inputs,
                "late": stats.counters.late_inputs,
                "rollbacks": stats.reported_rollbacks,
            })
        })
        .collect();
    json!({
        "code": entry.info.code.to_string(),
        "phase": status.phase.name(),
        "visibility": entry.listing.visibility().name(),
        "locked": status.locked,
        "tick_rate_hz": entry.info.tick_rate.hz(),
        "frontier": status.frontier.index(),
        "lag_micros": status.lag_micros,
        "connections": status.connections,
        "slow_consumers": status.slow_consumers,
        "desyncs": status.stats.desyncs,
        "substituted": status.stats.seats.substituted_inputs,
        "late": status.stats.seats.counters.late_inputs,
        "rollbacks": status.stats.seats.reported_rollbacks,
        "bytes_received": received,
        "bytes_sent": sent,
        "seats": seats,
    })
}

/// Reads what is measured when somebody asks, and not whenever it changes.
pub(super) fn measure(hub: &Hub) {
    let rooms = hub.entries_after(None);
    let mut seats = [0_u32; SEAT_STATES.len()];
    for entry in &rooms {
        for state in &entry.status.borrow().seats {
            let known = SEAT_STATES.iter().position(|(known, _)| known == state);
            if let Some(index) = known {
                seats[index] += 1;
            }
        }
    }
    hub.metrics.rooms.set(gauge(rooms.len()));
    hub.metrics.connections.set(gauge(hub.places.taken()));
    hub.metrics.handshakes.iter().zip(hub.handshakes.counts()).for_each(|(metric, count)| metric.set(gauge(count)));
    hub.metrics.seats.iter().zip(seats).for_each(|(metric, count)| metric.set(f64::from(count)));
}

/// A number of things that are here, all of them far below what a gauge holds exactly.
fn gauge(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn v1_the_page_is_whole_in_itself_and_writes_no_markup() {
        assert_eq!(PAGE.matches(NONCE).count(), 2, "one script and one style");
        for word in ["http:", "https:", "src=", "href=", "@import", "url(", "import ", " onload", " onclick", "style="]
        {
            assert!(!PAGE.contains(word), "{word} would load or run something");
        }
        for word in ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "Function("] {
            assert!(!PAGE.contains(word), "{word} would make text into markup");
        }
    }
}
