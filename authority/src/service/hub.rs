//! All rooms of a service, by code, and the signals that end them.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::runtime::Handle;
use tokio::sync::{Notify, broadcast, watch};
use tokio::task::JoinHandle;
use tokio::time::{Duration, Instant, sleep, timeout};
use tracing::{Instrument, info, info_span};

use super::address::{Counts, Peer, Rates};
use super::code::RoomCode;
use super::config::ServiceConfig;
use super::error::{CreateRoomError, UnknownRoom};
use super::handshakes::Handshakes;
use super::listing::{Listing, RoomKey, Visibility};
use super::log_store::{LogStore, RestoredRoom};
use super::log_writer::LogSource;
use super::mailbox::{Mail, MailSender, mailbox};
use super::matching::Matching;
use super::metrics::{Metrics, Traffic, UPKEEP};
use super::places::Places;
use super::room_log::RoomLog;
use super::room_task::{Channels, MAX_WAITING_ROOM_EVENTS, RoomTask, Surroundings};
use super::status::{RoomInfo, RoomPhase, RoomStatus};
use super::status_feed::StatusFeed;
use crate::room::{ConnectionId, Room, RoomConfig, RoomEvent, RoomSecret};

/// How long a change of a room's lock is waited for.
const LOCK_PATIENCE: Duration = Duration::from_secs(2);

/// The way to a room. Other kinds of rooms are reached by the same mail (V2).
#[derive(Clone, Debug)]
pub(super) struct RoomEntry {
    pub(super) info: RoomInfo,
    pub(super) mailbox: MailSender,
    pub(super) status: watch::Receiver<RoomStatus>,
    pub(super) events: broadcast::Sender<RoomEvent>,
    pub(super) listing: Arc<Listing>,
    pub(super) traffic: Arc<Traffic>,
    /// The encoded match, for who joins by code.
    pub(super) descriptor: Arc<[u8]>,
}

impl RoomEntry {
    /// Locks the room or opens it again, and waits until its status says so, unless somebody changes it back meanwhile.
    pub(super) async fn set_locked(&self, locked: bool) -> Result<(), UnknownRoom> {
        self.mailbox.send(Mail::SetLocked(locked)).await.map_err(|_| UnknownRoom)?;
        let mut status = self.status.clone();
        let settled = |status: &RoomStatus| status.locked == locked || status.phase == RoomPhase::Closed;
        let settled = timeout(LOCK_PATIENCE, status.wait_for(settled)).await;
        settled.map_or(Ok(()), |settled| settled.map(|_| ()).map_err(|_| UnknownRoom))
    }
}

/// A room to be made.
pub(super) struct NewRoom {
    pub(super) config: RoomConfig,
    /// Where its records go, if not where the service keeps its rooms.
    pub(super) log: Option<Box<dyn RoomLog>>,
    pub(super) visibility: Visibility,
    /// Whom it counts against, if anybody.
    pub(super) creator: Option<Peer>,
}

/// A room with everything around it, before it has its code.
struct Prepared {
    room: Room,
    channels: Channels,
    feed: StatusFeed,
    surroundings: Surroundings,
    mail_sender: MailSender,
    status: watch::Receiver<RoomStatus>,
}

impl Prepared {
    fn entry(&self, code: RoomCode) -> RoomEntry {
        RoomEntry {
            info: RoomInfo::new(code, self.room.descriptor(), self.room.settings()),
            mailbox: self.mail_sender.clone(),
            status: self.status.clone(),
            events: self.channels.events.clone(),
            listing: self.surroundings.listing.clone(),
            traffic: self.surroundings.traffic.clone(),
            descriptor: self.room.descriptor().to_bytes().into(),
        }
    }
}

/// What all tasks of a service share. The lock is held for a look-up, never across a wait.
#[derive(Debug)]
pub(super) struct Hub {
    pub(super) config: ServiceConfig,
    runtime: Handle,
    rooms: Mutex<BTreeMap<RoomCode, RoomEntry>>,
    /// How many rooms each address has made that still live.
    creators: Mutex<Counts>,
    /// Rooms, matches, lists and changes that are asked for over HTTP.
    pub(super) rates: Mutex<Rates>,
    pub(super) matching: Matching,
    pub(super) handshakes: Arc<Handshakes>,
    pub(super) places: Arc<Places>,
    pub(super) metrics: Arc<Metrics>,
    /// Where rooms are kept.
    logs: Option<LogStore>,
    next_connection: AtomicU64,
    /// When the rooms end, once a stop was asked for.
    drain: watch::Sender<Option<Instant>>,
    room_ended: Notify,
    /// Turns true once. Every task keeps a receiver, so the sender knows when the last one has ended.
    stop: watch::Sender<bool>,
}

impl Hub {
    pub(super) fn new(config: ServiceConfig, runtime: Handle, logs: Option<LogStore>) -> Hub {
        let (per_minute, per_peer) = (config.lobby_requests_per_minute, config.lobby_requests_per_minute_per_address);
        let metrics = Metrics::new();
        runtime.spawn(keep_up(Arc::downgrade(&metrics)));
        Hub {
            handshakes: Handshakes::new(config.max_handshakes, config.max_handshakes_per_address),
            places: Places::new(config.max_connections, config.max_connections_per_address),
            rates: Mutex::new(Rates::new(per_minute, per_peer, Instant::now())),
            config,
            runtime,
            rooms: Mutex::default(),
            creators: Mutex::default(),
            matching: Matching::default(),
            metrics,
            logs,
            next_connection: AtomicU64::new(0),
            drain: watch::Sender::new(None),
            room_ended: Notify::new(),
            stop: watch::Sender::new(false),
        }
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

    /// All rooms behind this code, in the order of their codes, for whoever looks at many.
    pub(super) fn entries_after(&self, code: Option<RoomCode>) -> Vec<RoomEntry> {
        use std::ops::Bound::{Excluded, Unbounded};
        let rooms = self.rooms();
        rooms.range((code.map_or(Unbounded, Excluded), Unbounded)).map(|(_, entry)| entry.clone()).collect()
    }

    pub(super) fn codes(&self) -> Vec<RoomCode> {
        self.rooms().keys().copied().collect()
    }

    pub(super) fn next_connection(&self) -> ConnectionId {
        ConnectionId(self.next_connection.fetch_add(1, Ordering::Relaxed))
    }

    /// Whether rooms are restored by the next service.
    pub(super) fn keeps_rooms(&self) -> bool {
        self.logs.is_some()
    }

    /// A task's hold on the service: it is waited for until it drops this.
    pub(super) fn hold(&self) -> watch::Receiver<bool> {
        self.stop.subscribe()
    }

    /// From now on nobody joins and no room is made; the rooms live until then.
    pub(super) fn drain(&self, deadline: Instant) {
        self.drain.send_replace(Some(deadline));
    }

    pub(super) fn is_draining(&self) -> bool {
        self.drain.borrow().is_some() || *self.stop.borrow()
    }

    /// Waits until no room is left.
    pub(super) async fn emptied(&self) {
        loop {
            let ended = self.room_ended.notified();
            tokio::pin!(ended);
            // Registered before the look, so that no end is missed.
            ended.as_mut().enable();
            if self.room_count() == 0 {
                return;
            }
            ended.await;
        }
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
    pub(super) fn create(self: &Arc<Hub>, new: NewRoom) -> Result<(RoomCode, RoomKey), CreateRoomError> {
        let stop = self.hold();
        if self.is_draining() {
            return Err(CreateRoomError::Stopping);
        }
        let NewRoom { mut config, log, visibility, creator } = new;
        let logs = self.logs.as_ref().filter(|_| log.is_none());
        config.durability = logs.map_or(config.durability, LogStore::room_durability);
        let room = Room::new(config, random_secret()?)?;
        let key = RoomKey::random().map_err(|_| CreateRoomError::NoRandomness)?;
        let tally = Tally::new(self, creator)?;
        let prepared = self.prepare(room, Listing::new(visibility, &key), stop);
        let code = self.enter(|code| prepared.entry(code))?;
        let listing = &prepared.surroundings.listing;
        if let Some(logs) = logs {
            listing.keep_in(logs.folder(code));
        }
        let log = log.map(LogSource::Open).or_else(|| Some(LogSource::Unopened(logs?.opener(code, listing.clone()))));
        self.metrics.rooms_created.increment(1);
        self.launch(prepared, code, log, tally);
        info!(%code, "a room was made");
        Ok((code, key))
    }

    /// Takes up every room that an earlier service kept, under the same code (A12).
    pub(super) fn restore_rooms(self: &Arc<Hub>) {
        let restored = self.logs.as_ref().map(|logs| logs.restore(self.config.max_rooms)).unwrap_or_default();
        for RestoredRoom { code, room, log, lobby } in restored {
            let Ok(key) = RoomKey::random() else { return };
            let Ok(tally) = Tally::new(self, None) else { return };
            let listing = lobby.map_or_else(|| Listing::new(Visibility::Private, &key), Listing::restored);
            self.logs.iter().for_each(|logs| listing.keep_in(logs.folder(code)));
            let prepared = self.prepare(room, listing, self.hold());
            self.rooms().insert(code, prepared.entry(code));
            self.launch(prepared, code, Some(log), tally);
        }
    }

    /// Shows a room to everyone, or only to who knows its code, and writes that down. The service does not end before it is.
    pub(super) fn set_visibility(&self, entry: &RoomEntry, visibility: Visibility) -> JoinHandle<()> {
        entry.listing.set_visibility(visibility);
        let (listing, hold) = (entry.listing.clone(), self.hold());
        self.runtime.spawn_blocking(move || {
            listing.write_down();
            drop(hold);
        })
    }

    fn prepare(&self, room: Room, listing: Arc<Listing>, stop: watch::Receiver<bool>) -> Prepared {
        let (feed, status) = StatusFeed::new(RoomStatus::new(&room));
        let (mail_sender, mailbox) = mailbox();
        let events = broadcast::Sender::new(MAX_WAITING_ROOM_EVENTS);
        let (drain, traffic) = (self.drain.subscribe(), Arc::new(Traffic::default()));
        let channels = Channels { mailbox, events, stop, drain };
        let surroundings = Surroundings { listing, metrics: self.metrics.clone(), traffic };
        Prepared { room, channels, feed, surroundings, mail_sender, status }
    }

    fn launch(self: &Arc<Hub>, prepared: Prepared, code: RoomCode, log: Option<LogSource>, tally: Tally) {
        let Prepared { room, channels, feed, surroundings, .. } = prepared;
        let membership = Membership { hub: self.clone(), code, _tally: tally };
        // Whoever makes a room may stand outside of every runtime, and the task has timers.
        let _context = self.runtime.enter();
        let task = RoomTask::new(room, log, channels, feed, surroundings, &self.config);
        let run = async move {
            task.run().await;
            drop(membership);
        };
        self.runtime.spawn(run.instrument(info_span!("room", %code)));
        if self.config.referee.is_some()
            && let Some(entry) = self.find(code)
        {
            let attend = super::referee::attend(self.clone(), entry);
            self.runtime.spawn(attend.instrument(info_span!("referee", %code)));
        }
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

    fn creators(&self) -> MutexGuard<'_, Counts> {
        // Single inserts and removals can't leave the counts half done.
        self.creators.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Folds samples for as long as the metrics live.
async fn keep_up(metrics: std::sync::Weak<Metrics>) {
    while let Some(metrics) = metrics.upgrade() {
        metrics.upkeep();
        drop(metrics);
        sleep(UPKEEP).await;
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
    _tally: Tally,
}

impl Drop for Membership {
    fn drop(&mut self) {
        self.hub.rooms().remove(&self.code);
        self.hub.room_ended.notify_waiters();
    }
}

/// A room's mark against who made it.
struct Tally {
    hub: Arc<Hub>,
    creator: Option<Peer>,
}

impl Tally {
    fn new(hub: &Arc<Hub>, creator: Option<Peer>) -> Result<Tally, CreateRoomError> {
        let limit = hub.config.max_rooms_per_address;
        if creator.is_some_and(|creator| !hub.creators().add(creator, limit)) {
            return Err(CreateRoomError::TooManyRoomsOfAddress { limit });
        }
        Ok(Tally { hub: hub.clone(), creator })
    }
}

impl Drop for Tally {
    fn drop(&mut self) {
        if let Some(creator) = self.creator {
            self.hub.creators().remove(creator);
        }
    }
}
