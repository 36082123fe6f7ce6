//! What a strict runtime knows without asking: the valid handles, the checksums behind them, and everything that went wrong.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use retick_core::digest::Checksum;
use retick_core::runtime::Checkpoint;
use retick_core::tick::Tick;

/// Which call of the runtime something happened in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Call {
    /// `advance`.
    Advance,
    /// `keep`.
    Keep,
    /// `restore`.
    Restore,
    /// `release`.
    Release,
    /// `export`.
    Export,
    /// `hydrate`.
    Hydrate,
}

/// One breach of the contract of [`Runtime`](retick_core::runtime::Runtime) (K2, K4, K5, K9, K10).
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Violation {
    /// The caller used a handle that was released (K4).
    StaleHandle {
        /// The call.
        call: Call,
        /// The tick of the state that the handle stood for.
        tick: Tick,
    },
    /// The caller's batch does not start at the current tick.
    BatchNotCurrent {
        /// First tick of the batch.
        first: Tick,
        /// The state's tick.
        current: Tick,
    },
    /// The runtime took a handle that was released.
    StaleHandleTaken {
        /// The call.
        call: Call,
        /// The tick of the state that the handle stood for.
        tick: Tick,
    },
    /// The runtime refused a handle that is valid.
    ValidHandleRefused {
        /// The call.
        call: Call,
        /// The tick of the state.
        tick: Tick,
    },
    /// The runtime took a batch that does not start at the current tick.
    WrongBatchTaken {
        /// First tick of the batch.
        first: Tick,
    },
    /// The runtime gave out a handle twice, or one of another tick.
    BadHandle {
        /// The tick of the state.
        tick: Tick,
    },
    /// After a call the runtime is at another tick than the call leads to.
    Tick {
        /// The call.
        call: Call,
        /// The tick that the call leads to.
        expected: Tick,
        /// The runtime's tick.
        found: Tick,
    },
    /// What was kept is not what was asked for, or not in the order of ticks.
    Kept {
        /// The call.
        call: Call,
        /// The first state of which something else was kept.
        tick: Tick,
    },
    /// A call that failed, or that only reads, changed the state or appended to its output.
    NotPure {
        /// The call.
        call: Call,
        /// The tick of the state.
        tick: Tick,
    },
    /// A projection changed the state that it shows (K9).
    ProjectionChangedState {
        /// The tick of the state.
        tick: Tick,
    },
    /// A restored state is not the one that was kept (K4).
    RestoredOtherState {
        /// The tick of the state.
        tick: Tick,
        /// The checksum when it was kept.
        expected: Checksum,
        /// The checksum after the restore.
        found: Checksum,
    },
    /// A batch emitted an event of a tick that it does not step, or not in the order of ticks (K10).
    Events {
        /// The first event's tick that has no place there.
        tick: Tick,
    },
    /// Exported or hydrated bytes do not have the state's checksum (K5).
    BytesOfOtherState {
        /// The call.
        call: Call,
        /// The tick of the state.
        tick: Tick,
    },
}

impl Violation {
    /// Whether the runtime's caller broke the contract, not the runtime itself.
    pub fn is_the_callers(&self) -> bool {
        matches!(self, Violation::StaleHandle { .. } | Violation::BatchNotCurrent { .. })
    }
}

/// What a strict runtime counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct StrictCounters {
    /// Batches that ran.
    pub batches: u64,
    /// Steps in them.
    pub steps: u64,
    /// Restores that succeeded.
    pub restores: u64,
    /// Explicit releases that succeeded.
    pub releases: u64,
    /// Hydrations that succeeded.
    pub hydrations: u64,
    /// Faults that the plan injected.
    pub injected_faults: u64,
    /// Checkpoints that are valid now.
    pub checkpoints_alive: usize,
    /// Most checkpoints that were valid at once.
    pub most_checkpoints_alive: usize,
}

#[derive(Debug, Default)]
struct Findings {
    counters: StrictCounters,
    violations: Vec<Violation>,
}

/// Looks into a strict runtime that was given away. Clones look into the same one.
#[derive(Clone, Debug, Default)]
pub struct StrictProbe {
    findings: Arc<Mutex<Findings>>,
}

impl StrictProbe {
    /// What was counted so far.
    pub fn counters(&self) -> StrictCounters {
        self.lock().counters
    }

    /// Every breach so far, in order.
    pub fn violations(&self) -> Vec<Violation> {
        self.lock().violations.clone()
    }

    /// Asserts that nobody broke the contract.
    ///
    /// # Panics
    /// When somebody did, naming each breach.
    pub fn assert_clean(&self) {
        let violations = self.violations();
        assert!(violations.is_empty(), "the contract of Runtime was broken: {violations:#?}");
    }

    pub(super) fn report(&self, violation: Violation) {
        self.lock().violations.push(violation);
    }

    pub(super) fn count(&self, count: impl FnOnce(&mut StrictCounters)) {
        count(&mut self.lock().counters);
    }

    fn lock(&self) -> MutexGuard<'_, Findings> {
        self.findings.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The handles that are valid, oldest first, with the checksum of the state behind each.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    valid: Vec<(Checkpoint, Checksum)>,
    /// The handles given out for each tick.
    issued: BTreeMap<Tick, Vec<Checkpoint>>,
}

/// For how many ticks the issued handles are remembered, to notice one that is given out twice.
const REMEMBERED_TICKS: usize = 4096;

impl Ledger {
    /// Notes a handle; false when it was given out before.
    pub(super) fn issue(&mut self, checkpoint: Checkpoint, checksum: Checksum) -> bool {
        if self.issued.len() > REMEMBERED_TICKS {
            self.issued.pop_first();
        }
        self.valid.push((checkpoint, checksum));
        let issued = self.issued.entry(checkpoint.tick()).or_default();
        let fresh = !issued.contains(&checkpoint);
        issued.push(checkpoint);
        fresh
    }

    pub(super) fn checksum(&self, checkpoint: Checkpoint) -> Option<Checksum> {
        self.valid.iter().find(|(valid, _)| *valid == checkpoint).map(|(_, checksum)| *checksum)
    }

    pub(super) fn release(&mut self, checkpoint: Checkpoint) {
        self.valid.retain(|(valid, _)| *valid != checkpoint);
    }

    /// Releases what is younger than `checkpoint`.
    pub(super) fn release_younger(&mut self, checkpoint: Checkpoint) {
        if let Some(position) = self.valid.iter().position(|(valid, _)| *valid == checkpoint) {
            self.valid.truncate(position + 1);
        }
    }

    pub(super) fn clear(&mut self) {
        self.valid.clear();
    }

    pub(super) fn len(&self) -> usize {
        self.valid.len()
    }
}
