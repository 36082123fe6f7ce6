//! What an operator reads of desyncs (A8, A13): which reports differ, where the states do, and who is wrong.

use tracing::{info, warn};

use crate::room::{Room, RoomEvent};

/// Logs an event, if it is about a desync.
pub(super) fn note(room: &Room, event: &RoomEvent) {
    match event {
        RoomEvent::Desync { tick } => warn!(%tick, "reports of one state differ"),
        RoomEvent::DesyncSearched { tick, .. } => {
            if let Some(finding) = room.desync_finding() {
                warn!(%tick, "{finding}");
            }
        }
        RoomEvent::SeatWrong { seat, tick } => warn!(%seat, %tick, "the referee contradicts a seat"),
        RoomEvent::SeatRepaired { seat, tick } => info!(%seat, %tick, "a seat goes on from the referee's state"),
        _ => {}
    }
}
