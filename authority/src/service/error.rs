//! What can go wrong with a service, and with making a room in it.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use crate::log::file::FileLogError;
use crate::room::RoomConfigError;

/// A service that can't run, or did not stop as it should.
#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    /// It can't listen there.
    #[error("can't listen on {address}: {error}")]
    Bind {
        /// Where.
        address: SocketAddr,
        /// Why.
        error: io::Error,
    },
    /// It can't listen for its operators there.
    #[error("can't listen for operators on {address}: {error}")]
    BindAdmin {
        /// Where.
        address: SocketAddr,
        /// Why.
        error: io::Error,
    },
    /// Rooms can't be kept as it was said.
    #[error("{0}")]
    Logs(#[from] LogStoreError),
    /// There is no tokio runtime here.
    #[error("a service needs a tokio runtime with time and network")]
    NoRuntime,
    /// Tasks were left when the time for a stop was over. They end with the runtime.
    #[error("{tasks} tasks did not end in time")]
    StopTimeout {
        /// How many are left.
        tasks: usize,
    },
}

/// A folder in which rooms can't be kept, or a room that is not there (A12).
#[derive(Debug, thiserror::Error)]
pub enum LogStoreError {
    /// The system refuses it.
    #[error("rooms can't be kept in {}: {error}", directory.display())]
    Directory {
        /// The folder.
        directory: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// Another service has it.
    #[error("another service keeps its rooms in {}", directory.display())]
    Locked {
        /// The folder.
        directory: PathBuf,
    },
    /// What clients keep would not reach back so far.
    #[error("syncs at most {most_millis} ms apart")]
    Interval {
        /// Most milliseconds between two syncs.
        most_millis: u64,
    },
    /// The folder is not named by a room's code.
    #[error("{} is not named by a room's code", folder.display())]
    Name {
        /// The folder.
        folder: PathBuf,
    },
    /// The log in it can't be opened.
    #[error("{0}")]
    Log(#[from] FileLogError),
}

/// A room that was not made.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum CreateRoomError {
    /// Its config contradicts itself.
    #[error("{0}")]
    Config(#[from] RoomConfigError),
    /// The service has all the rooms that it may have.
    #[error("the service has {limit} rooms, and may have no more")]
    TooManyRooms {
        /// Most rooms at once.
        limit: usize,
    },
    /// One address has all the rooms that it may have.
    #[error("this address has {limit} rooms, and may have no more")]
    TooManyRoomsOfAddress {
        /// Most rooms of one address.
        limit: usize,
    },
    /// The service is stopping.
    #[error("the service is stopping")]
    Stopping,
    /// The operating system gave no randomness, so there is no secret.
    #[error("the operating system gave no randomness")]
    NoRandomness,
}

/// There is no such room, or not any more.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("there is no such room")]
pub struct UnknownRoom;
