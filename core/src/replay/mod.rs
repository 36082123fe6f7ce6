//! Replays: the confirmed frames of a match with its identity and checksums, recorded and verified (R1, R2, R4).
//!
//! Only the confirmed timeline is recorded. A file is a header and a run of records, each closed by a check that covers
//! everything before it, so what a crash leaves behind is readable up to its last whole record.

mod format;
mod verify;

pub use format::{Recorder, Replay, ReplayEnd, ReplayError};
pub use verify::{ChecksumMismatch, Refused, Verdict, verify};
