//! `GET /rooms/{code}/play`: where a WebSocket is opened (V1).

use axum::Extension;
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::{RawQuery, State};
use axum::response::Response;
use tracing::{Instrument, field, info_span};

use super::error::ApiError;
use super::{CodePath, SharedHub, find};
use crate::service::connection::{MAX_MESSAGE_BYTES, READ_BUFFER_BYTES, WRITE_BUFFER_BYTES, serve};
use crate::service::door::Visit;
use crate::service::handshakes::Stage;
use crate::service::listing::ReservationId;
use crate::service::serving::Origin;

pub(super) async fn play(
    State(hub): SharedHub,
    code: CodePath,
    RawQuery(query): RawQuery,
    Extension(origin): Extension<Origin>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, ApiError> {
    let room = find(&hub, code)?;
    let upgrade = upgrade.map_err(|_| ApiError::NotWebSocket)?;
    let (connection, hold) = (hub.next_connection(), hub.hold());
    let span = info_span!("connection", room = %room.info.code, connection = connection.0, seat = field::Empty);
    let reservation = query.as_deref().and_then(|query| query.strip_prefix("reservation="));
    let reservation = reservation.and_then(ReservationId::parse);
    let Origin { permit, address } = origin;
    let place = hub.handshakes.enter(Stage::Greeting, address);
    let upgrade = upgrade
        .read_buffer_size(READ_BUFFER_BYTES)
        .write_buffer_size(WRITE_BUFFER_BYTES)
        .max_message_size(MAX_MESSAGE_BYTES)
        .max_frame_size(MAX_MESSAGE_BYTES);
    Ok(upgrade.on_upgrade(move |socket| {
        let served = async move {
            let visit = Visit { hub: &hub, room: &room, address, reservation, place };
            serve(socket, connection, visit).await;
            drop((permit, hold));
        };
        served.instrument(span)
    }))
}
