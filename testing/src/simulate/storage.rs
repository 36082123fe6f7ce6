//! The room's disk: it keeps what was synced, and of the rest as much as a crash leaves.

use retick_authority::log::{FIRST_SEQUENCE, FrameLog, MemoryLog};

/// A log whose end a crash takes away.
#[derive(Debug, Default)]
pub(super) struct Storage {
    log: MemoryLog,
    synced: u64,
}

impl Storage {
    /// Takes a record. What came in is not safe before it is synced.
    pub(super) fn append(&mut self, sequence: u64, record: &[u8]) {
        let kept = self.log.append(sequence, record);
        assert_eq!(kept, Ok(()), "the room numbers its records without a gap");
    }

    /// The last record that is there.
    pub(super) fn last(&self) -> u64 {
        self.log.next_sequence() - 1
    }

    /// The last record that a crash does not take.
    pub(super) fn synced(&self) -> u64 {
        self.synced
    }

    /// Everything up to this record is safe.
    pub(super) fn sync(&mut self, sequence: u64) {
        self.synced = self.synced.max(sequence.min(self.last()));
    }

    /// The machine dies: of what was not synced the first `percent` are left. Gives the last record that is there now.
    pub(super) fn crash(&mut self, percent: u8) -> u64 {
        let loose = self.last() - self.synced;
        let kept = self.synced + loose * u64::from(percent.min(100)) / 100;
        let mut left = MemoryLog::new();
        for sequence in FIRST_SEQUENCE..=kept {
            let record = self.log.record(sequence).unwrap_or_default();
            assert_eq!(left.append(sequence, record), Ok(()), "a prefix has no gap");
        }
        self.log = left;
        self.synced = kept;
        kept
    }

    pub(super) fn log_mut(&mut self) -> &mut MemoryLog {
        &mut self.log
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t2_a_crash_takes_what_was_not_synced_and_nothing_else() {
        for (percent, left) in [(0, 3), (50, 5), (100, 8)] {
            let mut storage = Storage::default();
            (FIRST_SEQUENCE..FIRST_SEQUENCE + 8).for_each(|sequence| storage.append(sequence, &sequence.to_le_bytes()));
            storage.sync(FIRST_SEQUENCE + 2);
            assert_eq!((storage.crash(percent), storage.synced()), (left, left), "{percent} %");
            assert_eq!(storage.log.record(left), Some(&left.to_le_bytes()[..]));
            assert_eq!(storage.log.record(left + 1), None);
        }
    }
}
