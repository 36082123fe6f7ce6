//! What is not as it was written is named, and never passed over.

use std::slice;

use retick_authority::log::FrameLog;
use retick_authority::log::file::{Damage, FileLog, FileLogConfig, FileLogError, FileName};
use retick_core::digest::Digest;

use crate::disk::{Dice, Disk, ROOM, config};

type Files = Vec<(FileName, Vec<u8>)>;

/// Bytes before each record and before all of them, as the format says.
const FRAME_BYTES: usize = 48;
const HEADER_BYTES: usize = 88;

/// Three segments, and the records in them.
fn written(room: Digest, seed: u64) -> (Files, Vec<Vec<u8>>) {
    let (disk, mut dice) = (Disk::new(), Dice(seed));
    let mut log = disk.log(FileLogConfig { room, ..config() });
    let mut records = Vec::new();
    while disk.files().len() < 4 {
        records.push(dice.bytes(200));
        log.append(records.len() as u64, &records[records.len() - 1]).unwrap();
    }
    for _ in 0..3 {
        records.push(dice.bytes(200));
        log.append(records.len() as u64, &records[records.len() - 1]).unwrap();
    }
    (disk.files(), records)
}

fn open(files: &[(FileName, Vec<u8>)]) -> Result<FileLog<Disk>, FileLogError> {
    FileLog::open(Disk::of(files), config())
}

fn damage(files: &[(FileName, Vec<u8>)]) -> (u64, u64, Damage) {
    match open(files) {
        Err(FileLogError::Damaged { segment, offset, damage }) => (segment, offset, damage),
        other => panic!("{other:?}", other = other.map(|log| log.recovery())),
    }
}

fn first(files: &[(FileName, Vec<u8>)], position: usize) -> u64 {
    match files[position].0 {
        FileName::Segment(first) => first,
        other => panic!("{other:?} is no segment"),
    }
}

/// Fault caught: a flipped bit of a length made the rest of the log look like one unfinished record, and all of it was cut.
#[test]
fn a12_every_flipped_bit_is_found() {
    let (files, records) = written(ROOM, 1);
    let last_start = files[3].1.len() - FRAME_BYTES - records[records.len() - 1].len();
    let (mut damaged, mut damaged_last, mut cut) = (0, 0, 0);
    for file in 0..files.len() {
        for bit in 0..files[file].1.len() * 8 {
            let mut changed = files.clone();
            changed[file].1[bit / 8] ^= 1 << (bit % 8);
            match open(&changed) {
                Err(FileLogError::Damaged { segment, offset, .. }) => {
                    assert_eq!(segment, first(&files, file));
                    assert!(usize::try_from(offset).unwrap() <= bit / 8, "byte {} is found behind it", bit / 8);
                    damaged += 1;
                    // A last record that claims to be shorter is none that was not finished.
                    damaged_last += usize::from(file == 3 && bit / 8 >= last_start);
                    assert!(file < 3 || bit / 8 < last_start + 4, "bit {bit} of the last record");
                }
                Err(other) => panic!("{other}"),
                // The last record alone can't be told from one that was not finished. Its loss is said.
                Ok(log) => {
                    assert!(file == 3 && bit / 8 >= last_start, "bit {bit} of segment {file}");
                    let recovery = log.recovery();
                    assert_eq!(recovery.records, records.len() as u64 - 1);
                    assert_eq!(recovery.cut_bytes, (files[3].1.len() - last_start) as u64);
                    cut += 1;
                }
            }
        }
    }
    let bits = files.iter().map(|(_, bytes)| bytes.len() * 8).sum::<usize>();
    assert_eq!((damaged + cut, cut + damaged_last), (bits, (files[3].1.len() - last_start) * 8));
}

#[test]
fn a12_stretches_of_rubbish_and_zeros_before_the_last_record_are_found() {
    let (files, records) = written(ROOM, 2);
    let mut dice = Dice(2);
    for _ in 0..3000 {
        let file = dice.index(files.len());
        let mut end = files[file].1.len();
        if file == 3 {
            end -= FRAME_BYTES + records[records.len() - 1].len();
        }
        let mut changed = files.clone();
        let start = dice.index(end);
        let stretch = start..start + 1 + dice.index((end - start).min(512));
        if dice.coin() {
            changed[file].1[stretch].fill(0);
        } else {
            changed[file].1[stretch].fill_with(|| u8::try_from(dice.below(256)).unwrap());
        }
        if changed != files {
            assert_eq!(damage(&changed).0, first(&files, file));
        }
    }
}

#[test]
fn a12_files_cut_anywhere_give_an_error_or_a_shorter_log_that_says_so() {
    let (files, records) = written(ROOM, 3);
    for file in 0..files.len() {
        for length in 0..files[file].1.len() {
            let mut changed = files.clone();
            changed[file].1.truncate(length);
            if file < 3 {
                let (segment, _, _) = damage(&changed[..]);
                // A segment that ends between two records is found by the next one.
                assert!(segment == first(&files, file) || segment == first(&files, file + 1));
                continue;
            }
            let log = open(&changed).unwrap();
            let kept = log.recovery().records;
            assert!(kept >= first(&files, 3) - 1 && kept < records.len() as u64);
            let left = segment_bytes(&records, first(&files, 3), kept);
            // A segment that was not even begun is removed.
            let left = if length < HEADER_BYTES { 0 } else { left };
            assert_eq!(log.recovery().cut_bytes, (length - left) as u64, "{length} bytes");
        }
    }
}

/// Bytes of the last segment when it holds records up to `last`.
fn segment_bytes(records: &[Vec<u8>], first: u64, last: u64) -> usize {
    let inside = &records[usize::try_from(first - 1).unwrap()..usize::try_from(last).unwrap()];
    HEADER_BYTES + inside.iter().map(|record| FRAME_BYTES + record.len()).sum::<usize>()
}

#[test]
fn a12_what_differs_is_named() {
    let (files, _) = written(ROOM, 4);
    let flipped = |file: usize, byte: usize| {
        let mut changed = files.clone();
        changed[file].1[byte] ^= 1;
        damage(&changed)
    };
    let [one, two] = [first(&files, 0), first(&files, 1)];
    assert_eq!(one, 1);
    assert_eq!(flipped(1, 0), (two, 0, Damage::Magic));
    assert_eq!(flipped(1, 8), (two, 0, Damage::Version { found: 0 }));
    assert!(matches!(flipped(1, 12), (_, 0, Damage::Crc { .. })));
    assert!(matches!(flipped(0, HEADER_BYTES + 20), (1, 88, Damage::Crc { .. })));
    assert!(matches!(flipped(0, HEADER_BYTES + 3), (1, 88, Damage::Length { .. })));

    let mut missing = files.clone();
    missing.remove(1);
    assert_eq!(damage(&missing), (first(&files, 2), 0, Damage::Gap { expected: two }));
    assert_eq!(damage(&files[1..]), (two, 0, Damage::Gap { expected: 1 }));
    let mut renamed = files.clone();
    renamed[0].1 = files[1].1.clone();
    assert_eq!(damage(&renamed), (1, 0, Damage::FirstSequence { found: two }));

    let other = Digest::of(b"another room");
    let theirs = written(other, 4).0;
    assert_eq!(damage(&theirs), (1, 0, Damage::Room { found: other }));
}

/// Records of another log of the same room, whole and with sound checksums.
#[test]
fn a12_a_record_of_another_log_or_order_breaks_the_chain() {
    let write = |records: &[&[u8]]| {
        let disk = Disk::new();
        let mut log = disk.log(config());
        (1..).zip(records).for_each(|(sequence, record)| log.append(sequence, record).unwrap());
        disk.files()
    };
    let (mine, theirs) = (write(&[b"aaaa", b"bbbb", b"cccc"]), write(&[b"xxxx", b"bbbb", b"cccc"]));
    let record = |position: usize| HEADER_BYTES + position * 52..HEADER_BYTES + (position + 1) * 52;
    let spliced = |from: &Files, source: usize, target: usize| {
        let mut changed = mine.clone();
        changed[0].1[record(target)].copy_from_slice(&from[0].1[record(source)]);
        damage(&changed)
    };
    assert!(matches!(spliced(&theirs, 1, 1), (1, 140, Damage::Chain { .. })));
    // At the end too: its checksum is sound, so it was finished.
    assert!(matches!(spliced(&theirs, 2, 2), (1, 192, Damage::Chain { .. })));
    assert_eq!(spliced(&mine, 0, 1), (1, 140, Damage::Sequence { expected: 2, found: 1 }));

    // A whole segment of another log of the room.
    let mut files = write(&[&[1; 900], b"rest"]);
    files[1] = write(&[&[2; 900], b"rest"]).remove(1);
    assert!(matches!(damage(&files), (2, 0, Damage::Chain { .. })));
}

/// A client's bytes are in records. Ones that look like a record of the log do not turn an unfinished write into damage.
#[test]
fn a12_a_record_inside_a_record_that_was_not_finished_is_cut_with_it() {
    let disk = Disk::new();
    let mut log = disk.log(config());
    (1..=4).for_each(|sequence| log.append(sequence, b"forged").unwrap());
    let forged = disk.files()[0].1[HEADER_BYTES..].to_vec();

    let disk = Disk::new();
    let mut log = disk.log(config());
    log.append(1, b"first").unwrap();
    log.append(2, &forged).unwrap();
    let (name, bytes) = disk.files().remove(0);
    for missing in 1..FRAME_BYTES + forged.len() {
        let torn = (name, bytes[..bytes.len() - missing].to_vec());
        assert_eq!(open(slice::from_ref(&torn)).unwrap().recovery().records, 1, "{missing} bytes are missing");
    }
}

#[test]
fn a12_damage_changes_no_file() {
    let (mut files, _) = written(ROOM, 6);
    files[1].1[200] ^= 4;
    let tail = files[3].1.len() - 3;
    files[3].1.truncate(tail);
    files.push((FileName::Temporary(99), b"left over".to_vec()));
    let disk = Disk::of(&files);
    assert!(FileLog::open(disk.clone(), config()).is_err());
    files.sort();
    assert_eq!(disk.files(), files);
}

#[test]
fn a12_a_record_that_is_damaged_while_the_log_is_open_is_not_given_out() {
    let (files, _) = written(ROOM, 7);
    let (disk, mut out) = (Disk::of(&files), Vec::new());
    let mut log = disk.log(config());
    disk.flip(files[0].0, HEADER_BYTES + 30);
    let read = log.read_into(1, &mut out);
    assert!(
        matches!(read, Err(FileLogError::Damaged { segment: 1, offset: 88, damage: Damage::Crc { .. } })),
        "{read:?}"
    );
    assert!(out.is_empty() && log.read_into(first(&files, 1), &mut out).unwrap());
}
