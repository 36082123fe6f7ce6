//! The folder in which a service keeps its rooms: one folder for each, by its code (A12).
//!
//! ```text
//! DIR/lock                one service at a time
//!     rooms/K3XW-9FZM/    a room's log and what the lobby knows of it, restored at the next start
//!     ended/…             the last rooms that ended
//!     damaged/…           what could not be restored, for somebody to look at
//! ```
//!
//! Logs hold the rooms' secrets: whoever reads them can take any seat. The folder is made for its owner alone.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use retick_core::digest::Digest;
use tracing::{error, info, warn};

use super::code::RoomCode;
use super::error::LogStoreError;
use super::listing::Listing;
use super::lobby_file::LobbyRecord;
use super::log_writer::{LogOpener, LogSource};
use super::room_log::{FolderLog, LogEnd, RoomLog};
use crate::log::FrameLog;
use crate::log::file::{Directory, Durability as FileDurability, FileLog, FileLogConfig, FileLogError, Retention};
use crate::room::{Durability, Output, RestoreError, Room};

/// Default of [`LogSettings::max_ended_rooms`].
pub const DEFAULT_MAX_ENDED_ROOMS: usize = 64;
/// Default time between two syncs, in milliseconds.
pub const DEFAULT_SYNC_MILLIS: u64 = 100;
/// Most milliseconds between two syncs: what clients keep must reach back so far at any tick rate.
pub const MAX_SYNC_MILLIS: u64 = 5_000;
/// Most folders that are looked at when rooms are restored.
const MAX_LISTED_FOLDERS: usize = 65_536;

const _: () = assert!(
    MAX_SYNC_MILLIS * 120 / 1000 + 120 < retick_core::wire::MAX_TAIL_TICKS as u64,
    "clients keep more than a room may lose"
);

/// Where and how a service keeps its rooms (A12).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LogSettings {
    /// The folder, which is made if its parent exists.
    pub directory: PathBuf,
    /// When records are forced to the disk.
    pub durability: FileDurability,
    /// What becomes of records that a stored snapshot makes unneeded.
    pub retention: Retention,
    /// How many rooms that ended are kept, the newest.
    pub max_ended_rooms: usize,
}

impl LogSettings {
    /// In this folder, with every frame on the disk before it leaves, and none kept that no restart needs.
    #[must_use]
    pub fn new(directory: impl Into<PathBuf>) -> LogSettings {
        let (durability, retention) = (FileDurability::default(), Retention::default());
        LogSettings { directory: directory.into(), durability, retention, max_ended_rooms: DEFAULT_MAX_ENDED_ROOMS }
    }

    /// What waits for the log in a room.
    fn room_durability(&self) -> Durability {
        match self.durability {
            FileDurability::EveryFrame => Durability::EveryFrame,
            FileDurability::Interval(_) => Durability::Interval,
            FileDurability::None => Durability::None,
        }
    }
}

/// A room that was found in the folder.
pub(super) struct RestoredRoom {
    pub(super) code: RoomCode,
    pub(super) room: Room,
    pub(super) log: LogSource,
    /// What the lobby knew of it, if that was kept.
    pub(super) lobby: Option<LobbyRecord>,
}

/// The folder, which no other service opens while this value lives.
#[derive(Debug)]
pub(super) struct LogStore {
    settings: LogSettings,
    _lock: File,
}

impl LogStore {
    pub(super) fn open(settings: LogSettings) -> Result<LogStore, LogStoreError> {
        let directory = &settings.directory;
        let refused = |error: io::Error| LogStoreError::Directory { directory: directory.clone(), error };
        if let FileDurability::Interval(interval) = settings.durability
            && interval > Duration::from_millis(MAX_SYNC_MILLIS)
        {
            return Err(LogStoreError::Interval { most_millis: MAX_SYNC_MILLIS });
        }
        make_private(directory).map_err(refused)?;
        for folder in ["rooms", "ended", "damaged"] {
            make_private(&directory.join(folder)).map_err(refused)?;
        }
        let lock = OpenOptions::new().write(true).create(true).truncate(false).open(directory.join("lock"));
        let lock = lock.map_err(refused)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(LogStoreError::Locked { directory: directory.clone() }),
            Err(TryLockError::Error(error)) => return Err(refused(error)),
        }
        Ok(LogStore { settings, _lock: lock })
    }

    /// What waits for the log in a room.
    pub(super) fn room_durability(&self) -> Durability {
        self.settings.room_durability()
    }

    /// The log of a new room, beside which the lobby's part is written down before any record.
    pub(super) fn opener(&self, code: RoomCode, listing: Arc<Listing>) -> LogOpener {
        let settings = self.settings.clone();
        Box::new(move || {
            let log = open_log(&settings, code)?;
            listing.write_down();
            Ok(Box::new(log) as Box<dyn RoomLog>)
        })
    }

    /// The folder of a room.
    pub(super) fn folder(&self, code: RoomCode) -> PathBuf {
        folder_of(&self.settings, code)
    }

    /// Every room in the folder, at most `limit`. What ended is put away, and what is damaged set aside.
    pub(super) fn restore(&self, limit: usize) -> Vec<RestoredRoom> {
        let mut restored = Vec::new();
        for code in self.codes() {
            if restored.len() >= limit {
                warn!(limit, "there are more rooms in the folder than there may be; the others stay there");
                break;
            }
            match self.restore_room(code) {
                Ok(Some(room)) => restored.push(room),
                Ok(None) => {}
                Err(failure) => self.set_aside(code, &failure),
            }
        }
        info!(rooms = restored.len(), "rooms were restored");
        restored
    }

    /// The rooms' codes, in order, so that every start finds the same ones.
    fn codes(&self) -> Vec<RoomCode> {
        let listed = fs::read_dir(self.settings.directory.join("rooms"));
        let listed = listed.inspect_err(|error| error!(%error, "the rooms' folder can't be listed"));
        let names = listed.into_iter().flatten().flatten().take(MAX_LISTED_FOLDERS).map(|entry| entry.file_name());
        let named = |name: &std::ffi::OsStr| {
            let code: RoomCode = name.to_str()?.parse().ok()?;
            (name.to_str() == Some(code.to_string().as_str())).then_some(code)
        };
        let mut codes: Vec<_> = names.filter_map(|name| named(&name)).collect();
        codes.sort_unstable();
        codes
    }

    fn restore_room(&self, code: RoomCode) -> Result<Option<RestoredRoom>, RestoreError<FileLogError>> {
        let mut log = open_log(&self.settings, code).map_err(RestoreError::Log)?;
        let cut_bytes = log.log.recovery().cut_bytes;
        let mut room = match Room::restore(&mut log.log, self.room_durability()) {
            Ok(room) => room,
            // A room that nobody was ever told of.
            Err(RestoreError::Empty | RestoreError::Ended { .. }) => {
                Box::new(log).end(LogEnd::RoomEnded);
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        // The fence is on the disk before anybody hears of this run, however little else is promised.
        while let Some(Output::Persist { sequence, record }) = room.poll_output() {
            log.log.append(sequence, record).map_err(RestoreError::Log)?;
        }
        let synced = log.log.sync().map_err(RestoreError::Log)?;
        room.handle_persisted(synced.unwrap_or_default());
        if room.is_closed() {
            Box::new(log).end(LogEnd::RoomEnded);
            return Ok(None);
        }
        restore_snapshot(code, &mut log.log, &mut room);
        info!(%code, frontier = %room.frontier(), fence = room.fence(), cut_bytes, "a room was restored");
        let lobby = self.restore_lobby(code);
        Ok(Some(RestoredRoom { code, room, log: LogSource::Open(Box::new(log)), lobby }))
    }

    /// What the lobby knew of a room. Without it the room is private, and nobody has its key.
    fn restore_lobby(&self, code: RoomCode) -> Option<LobbyRecord> {
        let loaded = LobbyRecord::load(&self.folder(code));
        loaded.inspect_err(|error| warn!(%code, %error, "the lobby's part of a room is not used")).ok().flatten()
    }

    /// Moves what can't be restored out of the way, whole.
    fn set_aside(&self, code: RoomCode, failure: &RestoreError<FileLogError>) {
        let from = folder_of(&self.settings, code);
        let to = free_name(&self.settings.directory.join("damaged"), &code.to_string());
        let moved = fs::rename(&from, &to);
        error!(%code, %failure, folder = %to.display(), set_aside = moved.is_ok(), "a room can't be restored");
    }
}

/// Opens the log in a room's folder, for whoever looks at rooms that no service has open: the folder is named by the room's code,
/// and by a number behind it where an earlier room had the same.
///
/// # Errors
/// [`LogStoreError::Name`] and [`LogStoreError::Log`].
pub fn open_room_folder(folder: &Path) -> Result<FileLog<Directory>, LogStoreError> {
    let name = folder.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let code = name.split('.').next().unwrap_or_default().parse();
    let code: RoomCode = code.map_err(|_| LogStoreError::Name { folder: folder.to_path_buf() })?;
    if !folder.is_dir() {
        let error = io::ErrorKind::NotFound.into();
        return Err(LogStoreError::Directory { directory: folder.to_path_buf(), error });
    }
    let config = FileLogConfig {
        durability: FileDurability::None,
        retention: Retention::All,
        ..FileLogConfig::new(room_digest(code))
    };
    Ok(FileLog::open(Directory::open(folder)?, config)?)
}

/// Gives the room the snapshot beside its log, if that is of the room's history. It does without one.
fn restore_snapshot(code: RoomCode, log: &mut FileLog<Directory>, room: &mut Room) {
    let stored = match log.snapshot() {
        Ok(Some(stored)) => stored,
        Ok(None) => return,
        Err(error) => return warn!(%code, %error, "a snapshot is not used"),
    };
    let is_own = stored.generation == room.descriptor().generation()
        && stored.tick <= room.frontier()
        && stored.fence == room.fence_before(stored.tick);
    if is_own && let Err(error) = room.restore_snapshot(stored.bytes) {
        warn!(%code, %error, "a snapshot is not used");
    }
}

fn folder_of(settings: &LogSettings, code: RoomCode) -> PathBuf {
    settings.directory.join("rooms").join(code.to_string())
}

/// The name under which a room's log is known to be its own.
fn room_digest(code: RoomCode) -> Digest {
    Digest::derived("retick 2026 room folder v1", &[code.to_string().as_bytes()])
}

fn open_log(settings: &LogSettings, code: RoomCode) -> Result<FolderLog, FileLogError> {
    let durability = match settings.durability {
        // Forced by batches, not by records.
        FileDurability::EveryFrame => FileDurability::None,
        other => other,
    };
    let (retention, room) = (settings.retention, room_digest(code));
    let config = FileLogConfig { durability, retention, ..FileLogConfig::new(room) };
    let folder = folder_of(settings, code);
    let log = FileLog::open(Directory::open(&folder)?, config)?;
    let (ended, most) = (settings.directory.join("ended"), settings.max_ended_rooms);
    let on_end = Box::new(move |end| {
        let done = match end {
            LogEnd::RoomEnded => put_away(&folder, &ended, most),
            LogEnd::NeverBegan => fs::remove_dir_all(&folder),
            LogEnd::Suspended => Ok(()),
        };
        if let Err(error) = done {
            warn!(folder = %folder.display(), %error, "the log of a room that ended stays where it is");
        }
    });
    Ok(FolderLog { log, durability: settings.durability, on_end })
}

/// Keeps a room's folder among the newest `most` of those that ended.
fn put_away(folder: &Path, ended: &Path, most: usize) -> io::Result<()> {
    if most == 0 {
        return fs::remove_dir_all(folder);
    }
    let name = folder.file_name().and_then(|name| name.to_str()).unwrap_or("room");
    fs::rename(folder, free_name(ended, name))?;
    let mut kept: Vec<(SystemTime, PathBuf)> = Vec::new();
    for entry in fs::read_dir(ended)?.take(MAX_LISTED_FOLDERS) {
        let entry = entry?;
        kept.push((entry.metadata()?.modified()?, entry.path()));
    }
    kept.sort_unstable();
    let surplus = kept.len().saturating_sub(most);
    kept.iter().take(surplus).try_for_each(|(_, oldest)| fs::remove_dir_all(oldest))
}

/// A name in `folder` that is not taken: this one, or with a number behind it.
fn free_name(folder: &Path, name: &str) -> PathBuf {
    let numbered = (1u32..).map(|number| folder.join(format!("{name}.{number}")));
    let mut names = std::iter::once(folder.join(name)).chain(numbered);
    names.find(|path| !path.exists()).unwrap_or_else(|| folder.join(name))
}

/// Makes a folder that its owner alone reads, unless it is there.
fn make_private(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    match builder.create(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        made => made,
    }
}
