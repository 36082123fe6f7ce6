//! A machine that dies at any byte loses nothing that was reported as synced.

use std::time::Duration;

use retick_authority::log::FrameLog;
use retick_authority::log::file::{Durability, FileLog, FileLogConfig, FileName, SegmentSize};
use retick_core::tick::Moment;

use crate::disk::{Dice, Disk, Tear, config};

const KILLS: u64 = 1000;
/// A new log begins after this many, so that logs stay short enough to be read after each.
const KILLS_PER_LOG: u64 = 40;

/// What happened in all kills of one run, so that a run in which nothing happened is seen.
#[derive(Default, Debug)]
struct Seen {
    cut: u64,
    removed: u64,
    lost: u64,
    segments: usize,
    died_while_opening: u64,
}

/// Everything that was appended to a log, and what was promised of it.
#[derive(Default)]
struct Written {
    records: Vec<Vec<u8>>,
    synced: usize,
    /// The kill that comes next.
    seed: u64,
}

impl Written {
    /// Appends and syncs until the machine dies.
    fn run(&mut self, log: &mut FileLog<Disk>, dice: &mut Dice) {
        let mut now = Moment::ZERO;
        loop {
            let record = dice.bytes(300);
            self.records.push(record);
            let sequence = log.next_sequence();
            assert_eq!(sequence, self.records.len() as u64, "seed {}: the log continues without a gap", self.seed);
            let appended = log.append(sequence, &self.records[self.records.len() - 1]);
            now = now.plus_nanos(dice.below(20_000_000));
            let done = appended.and_then(|()| log.sync_due(now)).and_then(|synced| match dice.below(40) {
                0 => log.sync(),
                _ => Ok(synced),
            });
            self.synced = log.synced_sequence().map_or(0, |last| usize::try_from(last).unwrap());
            if done.is_err() {
                return;
            }
        }
    }

    /// Checks what a log holds after a crash, and forgets what was lost and not promised.
    fn check(&mut self, log: &mut FileLog<Disk>, seen: &mut Seen) {
        let kept = usize::try_from(log.next_sequence() - 1).unwrap();
        assert!(
            (self.synced..=self.records.len()).contains(&kept),
            "seed {}: {kept} of {} records",
            self.seed,
            self.synced
        );
        seen.lost += (self.records.len() - kept) as u64;
        self.records.truncate(kept);
        assert_eq!((log.recovery().records, log.synced_sequence().unwrap_or(0)), (kept as u64, kept as u64));
        let mut found = Vec::new();
        for (sequence, record) in (1..).zip(&self.records) {
            assert!(log.read_into(sequence, &mut found).unwrap());
            assert_eq!(&found, record, "seed {}: record {sequence}", self.seed);
        }
        seen.cut += u64::from(log.recovery().cut_bytes > 0);
        seen.removed += log.recovery().removed_files as u64;
    }
}

fn kill(durability: Durability, tears: &[Tear]) -> Seen {
    let config = FileLogConfig { durability, segment_size: SegmentSize::new(4096).unwrap(), ..config() };
    let mut seen = Seen::default();
    let (mut disk, mut written) = (Disk::new(), Written::default());
    for seed in 0..KILLS {
        if seed % KILLS_PER_LOG == 0 {
            (disk, written) = (Disk::new(), Written::default());
        }
        let mut dice = Dice(seed);
        let tear = tears[dice.index(tears.len())];
        written.seed = seed;
        // Opening is killed too.
        let longest_life = if dice.coin() { 25 } else { 8000 };
        disk.die_after(dice.below(longest_life));
        match FileLog::open(disk.clone(), config) {
            Ok(mut log) => {
                written.check(&mut log, &mut seen);
                written.run(&mut log, &mut dice);
            }
            Err(_) => seen.died_while_opening += 1,
        }
        disk.crash(&mut dice, tear);
        let mut log = FileLog::open(disk.clone(), config).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        written.check(&mut log, &mut seen);
        let is_segment = |file: &(FileName, Vec<u8>)| matches!(file.0, FileName::Segment(_));
        seen.segments = seen.segments.max(disk.files().iter().filter(|file| is_segment(file)).count());
        assert!(disk.files().iter().all(is_segment), "nothing is left over");
    }
    assert!(seen.segments > 20 && seen.died_while_opening > 30 && seen.cut > 100 && seen.removed > 10, "{seen:?}");
    seen
}

#[test]
fn a12_a_thousand_kills_lose_no_record_of_a_log_that_syncs_each() {
    let seen = kill(Durability::EveryFrame, &[Tear::Prefix, Tear::Zeros, Tear::Hole]);
    // At most the one record whose append did not return, at each kill.
    assert!(seen.lost <= KILLS, "{seen:?}");
}

#[test]
fn a12_a_thousand_kills_lose_no_synced_record_of_a_log_that_syncs_at_intervals() {
    let seen = kill(Durability::Interval(Duration::from_millis(20)), &[Tear::Prefix, Tear::Zeros]);
    assert!(seen.lost > 100, "{seen:?}");
}

#[test]
fn a12_a_thousand_kills_lose_no_synced_record_of_a_log_that_syncs_when_told() {
    let seen = kill(Durability::None, &[Tear::Prefix, Tear::Zeros]);
    assert!(seen.lost > 100, "{seen:?}");
}
