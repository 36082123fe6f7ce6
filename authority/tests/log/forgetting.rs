//! A log forgets what a stored snapshot makes unneeded, whatever it is killed in, and nothing else (A7, A12).

use retick_authority::log::file::{
    Damage, Durability, FileLog, FileLogConfig, FileLogError, FileName, Retention, StorageOperation, StoredSnapshot,
};
use retick_authority::log::{FrameLog, LogError, MemoryLog, Record};
use retick_core::digest::Digest;
use retick_core::seat::Generation;
use retick_core::tick::Tick;

use crate::disk::{Dice, Disk, Tear, config};

fn summary(generation: u32, frontier: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    let (generation, frontier, head) = (Generation(generation), Tick::new(frontier), Digest::of(b"head"));
    Record::Summary { generation, frontier, head, room: b"the room" }.encode_into(&mut bytes);
    bytes
}

fn snapshot(generation: u32, tick: u64) -> StoredSnapshot {
    let (generation, tick) = (Generation(generation), Tick::new(tick));
    StoredSnapshot { generation, tick, fence: Some(3), bytes: vec![5; 200] }
}

fn append(log: &mut FileLog<Disk>, record: &[u8]) -> u64 {
    let sequence = log.next_sequence();
    log.append(sequence, record).unwrap();
    sequence
}

/// Records of no meaning, a summary, and so on: three of them, of the ticks 100, 200 and 300. Gives their numbers.
fn fill(log: &mut FileLog<Disk>) -> [u64; 3] {
    [100, 200, 300].map(|tick| {
        (0..12).for_each(|_| _ = append(log, &[9; 150]));
        append(log, &summary(0, tick))
    })
}

fn all(log: &mut FileLog<Disk>) -> Vec<(u64, Vec<u8>)> {
    let mut record = Vec::new();
    let sequences = 1..log.next_sequence() + 2;
    sequences
        .filter_map(|sequence| {
            let found = log.read_into(sequence, &mut record).unwrap();
            if found { Some((sequence, record.clone())) } else { None }
        })
        .collect()
}

#[test]
fn a12_a_log_begins_with_the_newest_summary_that_the_snapshot_does_not_come_before() {
    for (of_snapshot, begins_with) in
        [((0, 99), None), ((0, 100), Some(0)), ((0, 299), Some(1)), ((0, 300), Some(2)), ((1, 0), Some(2))]
    {
        for retention in [Retention::SinceSnapshot, Retention::All] {
            let disk = Disk::new();
            let config = FileLogConfig { retention, ..config() };
            let mut log = disk.log(config);
            let summaries = fill(&mut log);
            let last = append(&mut log, b"behind them");
            let before = all(&mut log);
            let stored = snapshot(of_snapshot.0, of_snapshot.1);
            log.keep_snapshot(&stored).unwrap();
            let begins_with = begins_with.filter(|_| retention == Retention::SinceSnapshot);
            let first = begins_with.map_or(1, |index: usize| summaries[index]);
            let kept: Vec<_> = before.into_iter().filter(|(sequence, _)| *sequence >= first).collect();
            // While it is open, after it was opened again, and with what is added then.
            assert_eq!((log.first_sequence(), all(&mut log)), (first, kept.clone()), "{of_snapshot:?}");
            assert_eq!(log.snapshot(), Ok(Some(stored.clone())));
            let mut log = disk.log(config);
            assert_eq!((log.first_sequence(), log.next_sequence(), all(&mut log)), (first, last + 1, kept));
            assert_eq!((log.recovery().records, log.recovery().cut_bytes), (last + 1 - first, 0));
            assert_eq!(log.snapshot(), Ok(Some(stored)));
            assert_eq!(append(&mut log, b"and on"), last + 1);
            let begins = |summary: &u64| disk.files().iter().any(|(name, _)| *name == FileName::Segment(*summary));
            let is_begun = summaries.iter().filter(|summary| **summary >= first).any(begins);
            assert_eq!(is_begun, retention == Retention::SinceSnapshot, "no segment is begun for nothing");
        }
    }
}

/// What a log in memory forgets, one in files does.
#[test]
fn a12_a_log_in_memory_forgets_alike() {
    let mut log = MemoryLog::new();
    for (sequence, record) in (1..).zip([&b"one"[..], b"two", &summary(0, 7), b"four", &summary(0, 9)]) {
        log.append(sequence, record).unwrap();
    }
    assert_eq!(log.forget_before(2), Err(LogError::NoStart { sequence: 2 }));
    assert_eq!(log.forget_before(6), Err(LogError::NoStart { sequence: 6 }));
    for first in [3, 3, 5] {
        log.forget_before(first).unwrap();
        assert_eq!((log.first_sequence(), log.next_sequence()), (first, 6));
        assert_eq!((log.record(first - 1), log.record(5)), (None, Some(&summary(0, 9)[..])));
        assert_eq!(log.records().next().map(|(sequence, _)| sequence), Some(first));
    }
    assert_eq!(log.forget_before(3), Err(LogError::NoStart { sequence: 3 }));
    let forgotten = LogError::Forgotten { generation: Generation(0), frontier: Tick::new(9) };
    assert_eq!(log.frames().map(|_| ()), Err(forgotten));
    log.append(6, b"six").unwrap();
    assert_eq!(log.record(6), Some(&b"six"[..]));
}

/// The machine is killed at every single byte and step of it, and of the next opening.
#[test]
fn a12_whatever_a_log_is_killed_in_while_it_forgets_it_holds_what_is_needed() {
    let none = FileLogConfig { durability: Durability::None, ..config() };
    let (mut forgot, mut whole, mut opened) = (0, 0, 0);
    for seed in 0..2000_u64 {
        let mut dice = Dice(seed ^ 0xf0);
        let tear = [Tear::Prefix, Tear::Zeros][dice.index(2)];
        let disk = Disk::new();
        let mut log = disk.log(none);
        let summaries = fill(&mut log);
        // The second time there is something to take the place of.
        let older = dice.coin();
        if older {
            log.keep_snapshot(&snapshot(0, 150)).unwrap();
        }
        append(&mut log, b"behind them");
        let (newer, before) = (snapshot(0, 250), all(&mut log));
        // Each step of it and each byte of the snapshot's; then whatever the seed says.
        disk.die_after(if seed < 400 { seed } else { dice.below(700) });
        let kept = log.keep_snapshot(&newer);
        drop(log);
        disk.crash(&mut dice, tear);
        // Opening removes what is left, and is killed too.
        disk.die_after(dice.below(12));
        opened += u64::from(FileLog::open(disk.clone(), none).is_ok());
        disk.crash(&mut dice, tear);
        let mut log = FileLog::open(disk.clone(), none).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        let (first, stored) = (log.first_sequence(), log.snapshot().unwrap());
        let records = all(&mut log);
        let expected: Vec<_> =
            before.iter().filter(|(sequence, _)| *sequence >= first).take(records.len()).cloned().collect();
        assert_eq!(records, expected, "seed {seed}");
        if kept.is_ok() {
            assert_eq!(
                (first, stored.as_ref(), records.len()),
                (summaries[1], Some(&newer), before.iter().filter(|(it, _)| *it >= first).count()),
                "seed {seed}"
            );
        }
        let firsts = [if older { summaries[0] } else { 1 }, summaries[1]];
        assert!(firsts.contains(&first), "seed {seed}: begins with {first}");
        let is_newer = stored == Some(newer.clone());
        assert!(is_newer || stored == older.then(|| snapshot(0, 150)), "seed {seed}: one of the two, or none");
        assert!(first != summaries[1] || is_newer, "seed {seed}: forgotten without its snapshot");
        // A snapshot is of records that are there.
        assert!(!is_newer || log.next_sequence() == before.last().unwrap().0 + 1, "seed {seed}");
        let leftover = disk.files().iter().any(|(name, _)| match *name {
            FileName::Segment(it) | FileName::Start(it) => it < first,
            FileName::Temporary(_) | FileName::TemporarySnapshot => true,
            FileName::Snapshot => false,
        });
        assert!(!leftover, "seed {seed}: {:?}", disk.files().iter().map(|(name, _)| *name).collect::<Vec<_>>());
        *(if first == summaries[1] { &mut forgot } else { &mut whole }) += 1;
    }
    assert!(forgot > 500 && whole > 500 && opened > 500, "{forgot} {whole} {opened}");
}

#[test]
fn a12_a_snapshot_that_can_not_be_stored_costs_the_log_nothing() {
    use StorageOperation::{Append, Create, Rename, SyncDirectory};
    for operation in [Create, Append, Rename, SyncDirectory] {
        let disk = Disk::new();
        let mut log = disk.log(config());
        fill(&mut log);
        log.keep_snapshot(&snapshot(0, 50)).unwrap();
        disk.refuse_next(operation);
        let failed = log.keep_snapshot(&snapshot(0, 250));
        assert!(matches!(failed, Err(FileLogError::Storage { operation: at, .. }) if at == operation), "{failed:?}");
        assert_eq!(log.first_sequence(), 1, "nothing is forgotten");
        append(&mut log, b"it goes on");
        let found = log.snapshot().unwrap();
        assert!(operation == SyncDirectory || found == Some(snapshot(0, 50)), "{operation:?}");
        log.keep_snapshot(&snapshot(0, 250)).unwrap();
        assert!(log.first_sequence() > 1);
    }
}

/// What was not forgotten on purpose is missed, and so is what the log needs to begin.
#[test]
fn a12_a_log_that_lost_its_first_records_is_damaged_unless_it_forgot_them() {
    let disk = Disk::new();
    let mut log = disk.log(config());
    let [_, second, _] = fill(&mut log);
    log.sync().unwrap();
    let whole = disk.files();
    let lost: Vec<_> = whole.iter().filter(|(name, _)| *name >= FileName::Segment(second)).cloned().collect();
    let open = |files: &[(FileName, Vec<u8>)]| FileLog::open(Disk::of(files), config()).map(|log| log.first_sequence());
    let gap = |segment, expected| Err(FileLogError::Damaged { segment, offset: 0, damage: Damage::Gap { expected } });
    assert_eq!(open(&lost), gap(second, 1));

    log.keep_snapshot(&snapshot(0, 250)).unwrap();
    let files = disk.files();
    assert_eq!(open(&files), Ok(second));
    let is_of = |file: &(FileName, Vec<u8>), name: FileName| file.0 == name;
    let without = |name: FileName| files.iter().filter(|file| !is_of(file, name)).cloned().collect::<Vec<_>>();
    assert_eq!(open(&without(FileName::Start(second))), gap(second, 1));
    let damaged = open(&without(FileName::Segment(second)));
    assert!(
        matches!(damaged, Err(FileLogError::Damaged { damage: Damage::Gap { expected }, .. }) if expected == second)
    );
    // Nor does it begin with nothing.
    let mut empty = files.clone();
    empty.retain(|(name, _)| *name <= FileName::Segment(second) || !matches!(name, FileName::Segment(_)));
    let place = empty.iter().position(|file| is_of(file, FileName::Segment(second))).unwrap();
    empty[place].1.truncate(88);
    assert_eq!(open(&empty), gap(second, second));
    // The recorded head is that of the segment, bit for bit.
    let start = files.iter().position(|file| is_of(file, FileName::Start(second))).unwrap();
    for bit in 0..files[start].1.len() * 8 {
        let mut changed = files.clone();
        changed[start].1[bit / 8] ^= 1 << (bit % 8);
        assert!(matches!(open(&changed), Err(FileLogError::Damaged { segment, offset: 0, .. }) if segment == second));
    }
}
