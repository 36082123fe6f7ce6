//! Tracking by the kernel: what it names, whom it refuses, and that it holds where the other trackers do. Where a machine has no
//! such tracker, a typed reason is all that is tested.

use std::io::{Read, Write};

use proptest::prelude::*;
use rustix::io::Errno;

use super::super::userfault::kernel::{Call, Mapping, RUNS, refusal};
use super::super::{DirtyMap, PageSet, PageStore, ProtectPages, SMALL_PAGE_BYTES, TrackFault, Tracker, Unavailable};
use super::rig::{Op, Rig, Wrong};
use super::scripts::{Forgetful, PAGES, ops};

/// Pages before the game's part, and behind it.
const BEFORE: usize = 2;
const BEHIND: usize = 1;

/// A memory of the system's own pages, none of them touched.
struct Game {
    // Goes before its memory does.
    tracker: ProtectPages,
    memory: Mapping,
    store: PageStore,
    dirty: PageSet,
}

impl Game {
    /// Nothing where the kernel does not track.
    fn new(pages: u32) -> Option<Game> {
        ProtectPages::probe().ok()?;
        let part = BEFORE * SMALL_PAGE_BYTES..(BEFORE + pages as usize) * SMALL_PAGE_BYTES;
        let mut memory = Mapping::new(part.end + BEHIND * SMALL_PAGE_BYTES).expect("a few pages");
        let store = PageStore::new(&vec![0; part.len()]).expect("whole pages");
        let tracker = ProtectPages::new(memory.bytes(), part).expect("the probe says so");
        Some(Game { tracker, memory, store, dirty: PageSet::new(pages) })
    }

    fn part(&mut self) -> &mut [u8] {
        let bytes = self.store.bytes();
        &mut self.memory.bytes()[BEFORE * SMALL_PAGE_BYTES..][..bytes]
    }

    /// Collects into an empty set.
    fn written(&mut self) -> &[u32] {
        self.dirty.clear();
        self.tracker.collect(self.memory.bytes(), &self.store, &mut self.dirty).expect("tracked");
        self.dirty.sorted()
    }
}

/// W6: the answer is a fact of the machine, and what it has to do with the tried memory is none of the reasons.
#[test]
fn w6_the_probe_answers_or_says_why_not() {
    let answer = ProtectPages::probe();
    assert_eq!(answer, ProtectPages::probe());
    match answer {
        Ok(()) | Err(Unavailable::NotThere | Unavailable::Refused | Unavailable::TooOld | Unavailable::PageTable) => {}
        Err(Unavailable::PageSize { bytes }) => assert_ne!(bytes, SMALL_PAGE_BYTES),
        Err(reason) => panic!("{reason}"),
    }
}

/// W6: every refusal has its reason, whichever call it came from.
#[test]
fn w6_a_refusal_has_a_typed_reason() {
    let busy = Unavailable::Register { code: Errno::BUSY.raw_os_error() };
    let exhausted = Unavailable::Exhausted { code: Errno::MFILE.raw_os_error() };
    let refusals = [
        (Call::Open, Errno::NOSYS, Unavailable::NotThere),
        (Call::Open, Errno::PERM, Unavailable::Refused),
        (Call::Open, Errno::INVAL, Unavailable::TooOld),
        (Call::Open, Errno::MFILE, exhausted),
        (Call::Features, Errno::INVAL, Unavailable::TooOld),
        (Call::Features, Errno::ACCESS, Unavailable::Refused),
        (Call::PageTable, Errno::NOENT, Unavailable::PageTable),
        (Call::PageTable, Errno::MFILE, exhausted),
        (Call::Register, Errno::BUSY, busy),
        (Call::Scan, Errno::NOTTY, Unavailable::TooOld),
        (Call::Scan, Errno::BUSY, busy),
    ];
    for (call, error, reason) in refusals {
        assert_eq!(refusal(call, error), reason, "{call:?} {error}");
    }
}

/// W6: whoever writes however, the pages are named, once, and no others; a page that is only read is none of them.
#[test]
fn w6_every_write_is_named_and_no_read() {
    const PAGES: u32 = 24;
    const PAGE: usize = SMALL_PAGE_BYTES;
    type Access = fn(&mut [u8]);
    let accesses: [(Access, &[u32]); 11] = [
        // None of these pages was ever touched: their first access is this read.
        (|part| assert!(part.iter().all(|byte| *byte == 0)), &[]),
        (|part| part[0] = 1, &[0]),
        (|part| part[PAGES as usize * PAGE - 1] = 1, &[PAGES - 1]),
        (|part| part[7 * PAGE..][..8].copy_from_slice(&[9; 8]), &[7]),
        (|part| part[8 * PAGE - 4..][..8].copy_from_slice(&[9; 8]), &[7, 8]),
        (|part| part[3 * PAGE + 5..6 * PAGE + 1].fill(3), &[3, 4, 5, 6]),
        (|part| part.copy_within(..2 * PAGE, 10 * PAGE), &[10, 11]),
        // What is there already is written all the same.
        (|part| part[0] = std::hint::black_box(1), &[0]),
        (|part| assert_eq!((part[0], part[5 * PAGE], part[7 * PAGE]), (1, 3, 9)), &[]),
        (read_from_a_pipe, &[13, 14]),
        (|part| part.fill(0), &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23]),
    ];
    let Some(mut game) = Game::new(PAGES) else { return };
    for (index, (access, expected)) in accesses.into_iter().enumerate() {
        access(game.part());
        assert_eq!(game.written(), expected, "{index}");
        assert_eq!(game.written(), &[][..], "{index}");
    }
    // The memory's other pages are not the game's.
    let bytes = game.memory.bytes();
    bytes[BEFORE * PAGE - 1] = 1;
    bytes[(BEFORE + PAGES as usize) * PAGE] = 1;
    assert_eq!(game.written(), &[][..]);
}

/// The system itself writes: it may not be stopped by the protection, nor go unseen.
fn read_from_a_pipe(part: &mut [u8]) {
    let (mut reader, mut writer) = std::io::pipe().expect("two descriptors");
    writer.write_all(&[5; 64]).expect("room");
    reader.read_exact(&mut part[14 * SMALL_PAGE_BYTES - 32..][..64]).expect("64 bytes");
}

/// W6: marks add up until the set is emptied; what is forgotten is not named, and is named when it is written again.
#[test]
fn w6_what_is_forgotten_is_not_named() {
    let Some(mut game) = Game::new(8) else { return };
    game.part()[0] = 1;
    assert_eq!(game.written(), [0]);
    game.part()[5 * SMALL_PAGE_BYTES] = 1;
    game.tracker.forget(game.memory.bytes()).expect("tracked");
    assert_eq!(game.written(), &[][..]);
    for page in [5, 2] {
        game.part()[page * SMALL_PAGE_BYTES] = 2;
        game.tracker.collect(game.memory.bytes(), &game.store, &mut game.dirty).expect("tracked");
    }
    assert_eq!(game.dirty.as_slice(), [5, 2]);
}

/// W6: more runs than one scan tells are told by several, at the limit and past it; none of it allocates.
#[test]
fn w6_more_runs_than_one_scan_tells() {
    let limit = u32::try_from(RUNS).expect("few");
    for runs in [1, limit - 1, limit, limit + 1, 2 * limit, 2 * limit + 1] {
        let Some(mut game) = Game::new(2 * runs) else { return };
        // The largest of these memories has parts for which there was no page table yet.
        assert!(game.part().iter().all(|byte| *byte == 0));
        assert_eq!(game.written(), &[][..]);
        for round in 0..2 {
            game.part().iter_mut().step_by(2 * SMALL_PAGE_BYTES).for_each(|byte| *byte += 1);
            let allocated = allocation_counter::measure(|| _ = game.written());
            assert_eq!(allocated.count_total, 0);
            assert!(game.dirty.sorted().iter().copied().eq((0..runs).map(|run| 2 * run)), "{runs} {round}");
        }
    }
}

/// W7: another memory than the tracked one is a typed error, and nothing counts as clean.
#[test]
fn w7_another_memory_is_a_fault() {
    let Some(mut game) = Game::new(2) else { return };
    let Some(mut other) = Game::new(2) else { return };
    let bytes = other.memory.bytes();
    let expected = bytes.len();
    for (memory, fault) in [(0..4096, TrackFault::Length { bytes: 4096, expected }), (0..expected, TrackFault::Moved)] {
        game.dirty.clear();
        let memory = &mut bytes[memory];
        assert_eq!(game.tracker.collect(memory, &game.store, &mut game.dirty), Err(fault));
        assert_eq!(game.dirty.sorted(), [0, 1]);
        assert_eq!(game.tracker.forget(memory), Err(fault));
    }
    // Its own is tracked as ever.
    game.part()[0] = 1;
    assert_eq!((game.written(), other.written()), (&[0][..], &[][..]));
}

/// W7: a memory that was unmapped is not unprotected by its place: what lies there now is no one's, and a fault.
#[test]
fn w7_a_memory_may_go_before_its_tracker() {
    let Some(Game { mut tracker, mut memory, store, mut dirty }) = Game::new(2) else { return };
    let bytes = memory.bytes().len();
    drop(memory);
    // Mostly at the same place.
    let mut memory = Mapping::new(bytes).expect("as before");
    let collected = tracker.collect(memory.bytes(), &store, &mut dirty);
    assert!(matches!(collected, Err(TrackFault::Kernel { .. } | TrackFault::Moved)), "{collected:?}");
    assert_eq!(dirty.sorted(), [0, 1]);
    let part = BEFORE * SMALL_PAGE_BYTES..(BEFORE + 2) * SMALL_PAGE_BYTES;
    let mut younger = ProtectPages::new(memory.bytes(), part.clone()).expect("nobody has it");
    drop(tracker);
    memory.bytes()[part.start] = 1;
    dirty.clear();
    assert_eq!((younger.collect(memory.bytes(), &store, &mut dirty), dirty.sorted()), (Ok(()), &[0][..]));
}

/// W6: one tracker for one memory; once it is dropped, the next may have it.
#[test]
fn w6_a_memory_has_one_tracker() {
    let Some(mut game) = Game::new(2) else { return };
    let part = BEFORE * SMALL_PAGE_BYTES..(BEFORE + 1) * SMALL_PAGE_BYTES;
    let second = ProtectPages::new(game.memory.bytes(), part.clone()).map(drop);
    assert!(matches!(second, Err(Unavailable::Register { .. })), "{second:?}");
    let Game { tracker, mut memory, .. } = game;
    drop(tracker);
    memory.bytes().fill(1);
    assert_eq!(ProtectPages::new(memory.bytes(), part).map(drop), Ok(()));
}

/// W7: what is not made of whole pages is refused, whatever the kernel can do.
#[test]
fn w7_odd_parts_are_refused() {
    if rustix::param::page_size() != SMALL_PAGE_BYTES {
        return;
    }
    let mut memory = Mapping::new(2 * SMALL_PAGE_BYTES).expect("two pages");
    let memory = memory.bytes();
    for (start, end) in [(0, 0), (4096, 4096), (4096, 0), (1, 4096), (0, 4095), (0, 4097), (4096, 8193), (8192, 12_288)]
    {
        let refused = ProtectPages::new(memory, start..end).map(drop);
        assert_eq!(refused, Err(Unavailable::Part { start, end, bytes: 8192 }));
    }
    assert_eq!(ProtectPages::new(&mut memory[1..], 0..4096).map(drop), Err(Unavailable::Unaligned));
}

fn protected(pages: u32) -> Rig<ProtectPages> {
    Rig::made_for(pages, |memory, part| ProtectPages::new(memory, part).expect("the probe says so"))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    /// W6: whole copies and the kernel agree, and it names exactly what the dirty map names after every operation.
    #[test]
    fn w6_the_kernel_sees_what_the_map_sees(pages in 0..PAGES.len(), ops in ops()) {
        if ProtectPages::probe().is_err() {
            return Ok(());
        }
        let pages = PAGES[pages];
        let (mut protected, mut marked) = (protected(pages), Rig::new(pages, DirtyMap::new(pages)));
        for op in &ops {
            prop_assert_eq!((protected.play(op), marked.play(op)), (Ok(()), Ok(())));
            prop_assert!(protected.game() == marked.game());
            prop_assert_eq!(protected.dirty.sorted(), marked.dirty.sorted());
        }
        prop_assert_eq!(protected.check(), Ok(()));
    }
}

/// T4: a rollback over pages that were saved, released and written since is exact, and one lost page is seen.
#[test]
fn t4_a_rollback_is_exact_and_a_lost_page_is_caught() {
    if ProtectPages::probe().is_err() {
        return;
    }
    let write = |page, bytes| Op::Write { page, offset: 7, bytes, value: 99 };
    let saved = [Op::Save, write(0, 1), write(2, 8192), Op::Save, write(4, 1), Op::Save, Op::Release(1)];
    let rolled_back = [write(1, 1), write(4, 1), Op::Restore(0), write(3, 1), Op::Save, write(4, 1), Op::Restore(0)];
    let script: Vec<Op> = saved.into_iter().chain(rolled_back).collect();
    let mut exact = protected(5);
    assert_eq!(script.iter().try_for_each(|op| exact.play(op)).and_then(|()| exact.check()), Ok(()));
    let mut lossy = Rig::made_for(5, |memory, part| Forgetful(ProtectPages::new(memory, part).expect("as above")));
    let lost = script.iter().try_for_each(|op| lossy.play(op));
    assert_eq!(lost, Err(Wrong::Read { slot: 1, page: 4 }));
}
