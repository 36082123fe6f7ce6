//! What bounds snapshots and the history that they replace (A7). All times are the room's clock's, the same at every tick rate.

use bincode::{BorrowDecode, Encode};
use retick_core::snapshot::MAX_SNAPSHOT_BYTES;
use retick_core::tick::TickRate;

/// Default of [`DonationConfig::max_snapshot_bytes`]: 4 MiB (A7).
pub const DEFAULT_MAX_SNAPSHOT_BYTES: u32 = 4 << 20;
/// Default of [`DonationConfig::transfer_timeout_millis`] (A7).
pub const DEFAULT_TRANSFER_TIMEOUT_MILLIS: u64 = 10_000;
/// Default of [`DonationConfig::snapshot_interval_millis`]. Two donors may fail, and there is still a snapshot every minute (A7).
pub const DEFAULT_SNAPSHOT_INTERVAL_MILLIS: u64 = 40_000;
/// Default of [`DonationConfig::replay_millis`].
pub const DEFAULT_REPLAY_MILLIS: u64 = 10_000;
/// Default of [`DonationConfig::history_millis`].
pub const DEFAULT_HISTORY_MILLIS: u64 = 120_000;
/// Default of [`DonationConfig::hydration_millis`].
pub const DEFAULT_HYDRATION_MILLIS: u64 = 60_000;
/// Default of [`DonationConfig::max_history_bytes`].
pub const DEFAULT_MAX_HISTORY_BYTES: u64 = 64 << 20;

const _: () = assert!(DEFAULT_MAX_SNAPSHOT_BYTES as usize <= MAX_SNAPSHOT_BYTES);

const _: () = assert!(
    DEFAULT_SNAPSHOT_INTERVAL_MILLIS + 2 * DEFAULT_TRANSFER_TIMEOUT_MILLIS <= 60_000,
    "a snapshot at least every 60 s (A7)"
);
const _: () = assert!(DEFAULT_HISTORY_MILLIS > 60_000, "the history reaches back to the snapshot of a minute ago");

/// How a room takes snapshots from its clients, and how long it keeps history without one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, BorrowDecode)]
pub struct DonationConfig {
    /// Most bytes of an encoded snapshot. More than [`MAX_SNAPSHOT_BYTES`] are never taken.
    pub max_snapshot_bytes: u32,
    /// How long a donor or a receiver may make no progress, in milliseconds.
    pub transfer_timeout_millis: u64,
    /// How long after a snapshot was complete the next one is asked for, in milliseconds.
    pub snapshot_interval_millis: u64,
    /// A newcomer that misses at most this much of the match gets frames alone, in milliseconds.
    pub replay_millis: u64,
    /// Most history that is kept while no snapshot can be had, in milliseconds.
    pub history_millis: u64,
    /// Most bytes of frames that are kept.
    pub max_history_bytes: u64,
    /// How long a newcomer waits when there is no snapshot for it, in milliseconds.
    pub hydration_millis: u64,
}

impl Default for DonationConfig {
    fn default() -> Self {
        DonationConfig {
            max_snapshot_bytes: DEFAULT_MAX_SNAPSHOT_BYTES,
            transfer_timeout_millis: DEFAULT_TRANSFER_TIMEOUT_MILLIS,
            snapshot_interval_millis: DEFAULT_SNAPSHOT_INTERVAL_MILLIS,
            replay_millis: DEFAULT_REPLAY_MILLIS,
            history_millis: DEFAULT_HISTORY_MILLIS,
            max_history_bytes: DEFAULT_MAX_HISTORY_BYTES,
            hydration_millis: DEFAULT_HYDRATION_MILLIS,
        }
    }
}

impl DonationConfig {
    /// Ticks that a newcomer may miss and still get frames alone.
    pub(super) fn replay_ticks(&self, rate: TickRate) -> u64 {
        rate.ticks_in_millis(self.replay_millis)
    }

    /// Most ticks of history.
    pub(super) fn history_ticks(&self, rate: TickRate) -> u64 {
        rate.ticks_in_millis(self.history_millis)
    }
}
