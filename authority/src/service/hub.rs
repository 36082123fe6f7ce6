//! All rooms of a service, by code, and the signal that ends them.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::runtime::Handle;
use tokio::sync::{broadcast, mpsc, watch};
use tracing::{Instrument, info, info_span};

use super::code::RoomCode;
use super::config::ServiceConfig;
use super::error::CreateRoomError;
use super::room_task::{Channels, MAX_WAITING_MAIL, MAX_WAITING_ROOM_EVENTS, Mail, RoomLog, RoomTask};
use super::status::{RoomInfo, RoomStatus};
use crate::room::{ConnectionId, Room, RoomConfig, RoomEvent, RoomSecret};

/// The way to a room. Other kinds of rooms are reached by the same mail (V2).
#[derive(Clone, Debug)]
pub(super) struct RoomEntry {
    pub(super) info: RoomInfo,
    pub(super) mailbox: mpsc::Sender<Mail>,
    pub(super) status: watch::Receiver<RoomStatus>,
    pub(super) events: broadcast::Sender<RoomEvent>,
}

/// What all tasks of a service share. The lock is held for a look-up, never across a wait.
#[derive(Debug)]
pub(super) struct Hub {
    pub(super) config: ServiceConfig,
    runtime: Handle,
    rooms: Mutex<BTreeMap<RoomCode, RoomEntry>>,
    next_connection: AtomicU64,
    /// Turns true once. Every task keeps a receiver, so the sender knows when the last one has ended.
    stop: watch::Sender<bool>,
}

impl Hub {
    pub(super) fn new(config: ServiceConfig, runtime: Handle) -> Hub {
        let rooms = Mutex::default();
        Hub { config, runtime, rooms, next_connection: AtomicU64::new(0), stop: watch::Sender::new(false) }
    }

    fn rooms(&self) -> MutexGuard<'_, BTreeMap<RoomCode, RoomEntry>> {
        // Single inserts and removals can't leave the map half done.
        self.rooms.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn find(&self, code: RoomCode) -> Option<RoomEntry> {
        self.rooms().get(&code).cloned()
    }

    pub(super) fn room_count(&self) -> usize {
        self.rooms().len()
    }

    pub(super) fn codes(&self) -> Vec<RoomCode> {
        self.rooms().keys().copied().collect()
    }

    pub(super) fn next_connection(&self) -> ConnectionId {
        ConnectionId(self.next_connection.fetch_add(1, Ordering::Relaxed))
    }

    /// A task's hold on the service: it is waited for until it drops this.
    pub(super) fn hold(&self) -> watch::Receiver<bool> {
        self.stop.subscribe()
    }

    /// Tells every task to end.
    pub(super) fn stop(&self) {
        self.stop.send_replace(true);
    }

    /// Waits until no task is left.
    pub(super) async fn ended(&self) {
        self.stop.closed().await;
    }

    pub(super) fn task_count(&self) -> usize {
        self.stop.receiver_count()
    }

    /// Makes a room and starts its task.
    pub(super) fn create(
        self: &Arc<Hub>,
        config: RoomConfig,
        log: Option<RoomLog>,
    ) -> Result<RoomCode, CreateRoomError> {
        let stop = self.hold();
        if *stop.borrow() {
            return Err(CreateRoomError::Stopping);
        }
        let room = Room::new(config, random_secret()?)?;
        let (status_sender, status) = watch::channel(RoomStatus::new(&room));
        let (mail_sender, mailbox) = mpsc::channel(MAX_WAITING_MAIL);
        let events = broadcast::Sender::new(MAX_WAITING_ROOM_EVENTS);
        let channels = Channels { mailbox, status: status_sender, events: events.clone(), stop };
        let info = |code| RoomInfo::new(code, room.descriptor(), room.rules());
        let code = self.enter(|code| RoomEntry { info: info(code), mailbox: mail_sender, status, events })?;
        let membership = Membership { hub: self.clone(), code };
        let task = RoomTask::new(room, log, channels, &self.config);
        let span = info_span!("room", %code);
        span.in_scope(|| info!("a room was made"));
        let run = async move {
            task.run().await;
            drop(membership);
        };
        self.runtime.spawn(run.instrument(span));
        Ok(code)
    }

    /// Finds a free code for an entry.
    fn enter(&self, entry: impl FnOnce(RoomCode) -> RoomEntry) -> Result<RoomCode, CreateRoomError> {
        let mut rooms = self.rooms();
        let limit = self.config.max_rooms;
        if rooms.len() >= limit {
            return Err(CreateRoomError::TooManyRooms { limit });
        }
        // Far fewer codes are taken than free, so this ends at once.
        loop {
            let code = RoomCode::random().map_err(|_| CreateRoomError::NoRandomness)?;
            if let Entry::Vacant(place) = rooms.entry(code) {
                place.insert(entry(code));
                return Ok(code);
            }
        }
    }
}

/// Ready once the service stops, or is gone.
pub(super) async fn stopped(hold: &mut watch::Receiver<bool>) {
    let _ = hold.wait_for(|stopped| *stopped).await;
}

fn random_secret() -> Result<RoomSecret, CreateRoomError> {
    let mut secret = [0; 32];
    getrandom::fill(&mut secret).map_err(|_| CreateRoomError::NoRandomness)?;
    Ok(RoomSecret(secret))
}

/// A room's place among the others, given up when its task ends, however it ends.
struct Membership {
    hub: Arc<Hub>,
    code: RoomCode,
}

impl Drop for Membership {
    fn drop(&mut self) {
        self.hub.rooms().remove(&self.code);
    }
}
