//! What a room writes down: records with gapless sequence numbers, and where they are kept (A12).
//!
//! A room says *what* must be kept ([`Output::Persist`](crate::room::Output::Persist)); a [`FrameLog`] says where: [`MemoryLog`],
//! or files with the feature `files`. Nothing here knows of connections, clocks or transport.
//!
//! [`Room::restore`](crate::room::Room::restore) makes the same room of its log again. What a log may lack then is what its room did
//! not wait for ([`Durability`](crate::room::Durability)): with `EveryFrame` nothing that left the room, with `Interval` frames that
//! clients give back. A log holds its room's secret, so whoever reads it can take any seat.
//!
//! ```
//! use retick_authority::log::{FIRST_SEQUENCE, FrameLog, LogError, MemoryLog};
//!
//! let mut log = MemoryLog::new();
//! log.append(FIRST_SEQUENCE, b"what a room persists")?;
//! assert_eq!(log.next_sequence(), FIRST_SEQUENCE + 1);
//! // No record is left out, and none is written twice.
//! assert!(log.append(FIRST_SEQUENCE + 2, b"too early").is_err() && log.append(FIRST_SEQUENCE, b"again").is_err());
//!
//! let mut record = Vec::new();
//! assert!(log.read_into(FIRST_SEQUENCE, &mut record)? && record == b"what a room persists");
//! assert!(!log.read_into(FIRST_SEQUENCE + 1, &mut record)?);
//! # Ok::<(), LogError>(())
//! ```

#[cfg(feature = "files")]
pub mod file;
mod memory;
mod record;

pub use memory::{LogError, LogFrames, MemoryLog};
pub(crate) use record::MAX_FRAME_BYTES;
pub use record::{MAX_RECORD_BYTES, Record};

use alloc::vec::Vec;

/// Sequence number of a room's first record; each later one has the next number.
pub const FIRST_SEQUENCE: u64 = 1;

/// A place that keeps a room's records in order (A12).
pub trait FrameLog {
    /// What can go wrong in that place.
    type Error;

    /// Keeps `record`. When it returns, the record survives whatever this log promises to survive, and
    /// [`Room::handle_persisted`](crate::room::Room::handle_persisted) may be called with `sequence`.
    ///
    /// # Errors
    /// When the record is not the next one, or could not be kept.
    fn append(&mut self, sequence: u64, record: &[u8]) -> Result<(), Self::Error>;

    /// The sequence number of the first record that is still there: another than [`FIRST_SEQUENCE`] once the log has forgotten
    /// the ones before a [`Record::Summary`].
    fn first_sequence(&self) -> u64 {
        FIRST_SEQUENCE
    }

    /// The sequence number that the next record must have.
    fn next_sequence(&self) -> u64;

    /// Replaces `out` by the record of this number, and says whether there is one. One that was forgotten is not there.
    ///
    /// # Errors
    /// When the record could not be read.
    fn read_into(&mut self, sequence: u64, out: &mut Vec<u8>) -> Result<bool, Self::Error>;
}
