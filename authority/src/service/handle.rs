//! What the owner of a service can do in the same process, without HTTP.

use std::net::IpAddr;
use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{broadcast, watch};
use tokio::time::Instant;

use super::code::RoomCode;
use super::error::{CreateRoomError, UnknownRoom};
use super::handshakes::Stage;
use super::hub::{Hub, NewRoom, RoomEntry};
use super::listing::Visibility;
use super::mailbox::Mail;
use super::places::Visitor;
use super::room_log::RoomLog;
use super::serving::serve_http;
use super::status::{RoomInfo, RoomStatus};
use crate::room::{RoomConfig, RoomEvent, RoomStats};

/// Whether a room is locked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Locked {
    /// Nobody joins.
    Yes,
    /// Whoever may, joins.
    No,
}

/// What the lobby knows about a room (V1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RoomLobby {
    /// Who finds it.
    pub visibility: Visibility,
    /// Whether its owner locked it.
    pub locked: bool,
    /// Seats that are kept for whom a quick match sent to it.
    pub reserved_seats: usize,
}

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
        self.create(config, None)
    }

    /// Makes a room whose records are kept in `log` (A12).
    ///
    /// # Errors
    /// [`CreateRoomError`]; there is no room then.
    pub fn create_room_with_log(&self, config: RoomConfig, log: Box<dyn RoomLog>) -> Result<RoomCode, CreateRoomError> {
        self.create(config, Some(log))
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

    /// Where a room stands, by its last published [`RoomStatus`]; `None` for an unknown one.
    pub fn room_status(&self, code: RoomCode) -> Option<RoomStatus> {
        self.hub.find(code).map(|entry| entry.status.borrow().clone())
    }

    /// What a room counted, by its last published [`RoomStatus`]; `None` for an unknown one.
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

    /// Lets nobody join a room any more, or lets them again. Who holds a seat returns to it all the same (V1).
    ///
    /// # Errors
    /// [`UnknownRoom`].
    pub async fn set_room_locked(&self, code: RoomCode, locked: Locked) -> Result<(), UnknownRoom> {
        let entry = self.hub.find(code).ok_or(UnknownRoom)?;
        entry.set_locked(locked == Locked::Yes).await.map(|_| ())
    }

    /// Shows a room to everyone, or only to who knows its code (V1). A room that is made here is private at first.
    ///
    /// # Errors
    /// [`UnknownRoom`].
    pub fn set_room_visibility(&self, code: RoomCode, visibility: Visibility) -> Result<(), UnknownRoom> {
        let entry = self.hub.find(code).ok_or(UnknownRoom)?;
        drop(self.hub.set_visibility(&entry, visibility));
        Ok(())
    }

    /// What the lobby knows about a room; `None` for an unknown one.
    pub fn room_lobby(&self, code: RoomCode) -> Option<RoomLobby> {
        let RoomEntry { listing, status, .. } = self.hub.find(code)?;
        let (visibility, locked) = (listing.visibility(), status.borrow().locked);
        Some(RoomLobby { visibility, locked, reserved_seats: listing.reserved(Instant::now()) })
    }

    /// How many connections are on their way in, in each stage, in the order of [`Stage::ALL`].
    pub fn handshakes(&self) -> [usize; Stage::ALL.len()] {
        self.hub.handshakes.counts()
    }

    /// Everything that was counted, as Prometheus reads it.
    pub fn metrics(&self) -> String {
        super::monitor::measure(&self.hub);
        self.hub.metrics.render()
    }

    /// Serves one connection that was not accepted by the service's own listener: of another listener, or a pipe within the
    /// process. Limits per address go by `peer`. Ready when its HTTP side is over; a WebSocket goes on in a task.
    pub async fn serve_stream<S>(&self, stream: S, peer: IpAddr)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        if let Some(visitor) = Visitor::enter(&self.hub, peer) {
            serve_http(stream, super::http::router(self.hub.clone()), visitor, self.hub.clone()).await;
        }
    }

    fn create(&self, config: RoomConfig, log: Option<Box<dyn RoomLog>>) -> Result<RoomCode, CreateRoomError> {
        let (visibility, creator) = (Visibility::default(), None);
        self.hub.create(NewRoom { config, log, visibility, creator }).map(|(code, _)| code)
    }

    async fn send(&self, code: RoomCode, mail: Mail) -> Result<(), UnknownRoom> {
        let RoomEntry { mailbox, .. } = self.hub.find(code).ok_or(UnknownRoom)?;
        mailbox.send(mail).await.map_err(|_| UnknownRoom)
    }
}
