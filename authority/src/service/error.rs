//! What can go wrong with a service, and with making a room in it.

use std::io;
use std::net::SocketAddr;

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
