//! What the owner of a service can do in the same process, without HTTP.

use std::sync::Arc;

use tokio::sync::{broadcast, watch};

use super::code::RoomCode;
use super::error::{CreateRoomError, UnknownRoom};
use super::hub::{Hub, RoomEntry};
use super::room_task::{Mail, RoomLog};
use super::status::{RoomInfo, RoomStatus};
use crate::room::{RoomConfig, RoomEvent, RoomStats};

/// The owner's way to a running service. Cheap to clone; usable from any task or thread.
#[derive(Clone, Debug)]
pub struct ServiceHandle {
    hub: Arc<Hub>,
}

impl ServiceHandle {
    pub(super) fn new(hub: Arc<Hub>) -> ServiceHandle {
        ServiceHandle { hub }
    }

    /// Makes a room, with whatever its config says.
    ///
    /// # Errors
    /// [`CreateRoomError`]; there is no room then.
    pub fn create_room(&self, config: RoomConfig) -> Result<RoomCode, CreateRoomError> {
        self.hub.create(config, None)
    }

    /// Makes a room whose records are kept in `log` (A12).
    ///
    /// # Errors
    /// [`CreateRoomError`]; there is no room then.
    pub fn create_room_with_log(&self, config: RoomConfig, log: RoomLog) -> Result<RoomCode, CreateRoomError> {
        self.hub.create(config, Some(log))
    }

    /// How many rooms there are.
    pub fn room_count(&self) -> usize {
        self.hub.room_count()
    }

    /// The codes of all rooms, sorted.
    pub fn room_codes(&self) -> Vec<RoomCode> {
        self.hub.codes()
    }

    /// What is fixed about a room; `None` for an unknown one.
    pub fn room_info(&self, code: RoomCode) -> Option<RoomInfo> {
        self.hub.find(code).map(|entry| entry.info)
    }

    /// Where a room stood at the end of its last turn; `None` for an unknown one.
    pub fn room_status(&self, code: RoomCode) -> Option<RoomStatus> {
        self.hub.find(code).map(|entry| entry.status.borrow().clone())
    }

    /// What a room counted, as of the end of its last turn; `None` for an unknown one.
    pub fn room_stats(&self, code: RoomCode) -> Option<RoomStats> {
        self.hub.find(code).map(|entry| entry.status.borrow().stats)
    }

    /// Follows a room's status. The receiver outlives the room and keeps its last status; `None` for an unknown one.
    pub fn watch_room(&self, code: RoomCode) -> Option<watch::Receiver<RoomStatus>> {
        self.hub.find(code).map(|entry| entry.status)
    }

    /// Follows a room's events from now on, each at most
    /// [`MAX_WAITING_ROOM_EVENTS`](super::MAX_WAITING_ROOM_EVENTS) behind; `None` for an unknown one.
    pub fn room_events(&self, code: RoomCode) -> Option<broadcast::Receiver<RoomEvent>> {
        self.hub.find(code).map(|entry| entry.events.subscribe())
    }

    /// Starts the match of a room of [`StartPolicy::Manual`](crate::room::StartPolicy::Manual). A room that can't be started
    /// stays as it is; a started one says so by [`RoomEvent::Started`].
    ///
    /// # Errors
    /// [`UnknownRoom`].
    pub async fn start_room(&self, code: RoomCode) -> Result<(), UnknownRoom> {
        self.send(code, Mail::Start).await
    }

    /// Ends a room: everyone is told, and it is removed.
    ///
    /// # Errors
    /// [`UnknownRoom`].
    pub async fn close_room(&self, code: RoomCode) -> Result<(), UnknownRoom> {
        self.send(code, Mail::Close).await
    }

    async fn send(&self, code: RoomCode, mail: Mail) -> Result<(), UnknownRoom> {
        let RoomEntry { mailbox, .. } = self.hub.find(code).ok_or(UnknownRoom)?;
        mailbox.send(mail).await.map_err(|_| UnknownRoom)
    }
}
