//! The store and the page set, step by step.

use super::super::store::{MAX_PAGES, whole_pages};
use super::super::{PageError, PageSet, PageStore, SMALL_PAGE_BYTES, SlotId};

fn first_byte(store: &PageStore, slot: SlotId, page: u32) -> u8 {
    store.read(slot, page).expect("live")[0]
}

fn set(memory: &mut [u8], page: usize, value: u8) {
    memory[page * SMALL_PAGE_BYTES..][..SMALL_PAGE_BYTES].fill(value);
}

/// W6: pages are copied once each way, and a release moves them without a copy, whichever slot goes.
#[test]
fn w6_each_page_is_copied_once() {
    let mut memory = vec![0; 4 * SMALL_PAGE_BYTES];
    let mut store = PageStore::new(&memory).expect("whole pages");
    let a = store.save(&memory, &[]).expect("fits");
    set(&mut memory, 1, 10);
    let b = store.save(&memory, &[1, 1]).expect("fits");
    set(&mut memory, 1, 11);
    set(&mut memory, 2, 20);
    let c = store.save(&memory, &[2, 1]).expect("fits");
    assert_eq!(store.copied_pages(), 3);
    assert_eq!([a, b, c].map(|slot| first_byte(&store, slot, 1)), [0, 10, 11]);
    store.release(b).expect("live");
    assert_eq!([a, c].map(|slot| first_byte(&store, slot, 1)), [0, 11]);
    // The youngest's pages count as written since the one before.
    store.release(c).expect("live");
    set(&mut memory, 3, 30);
    let mut restored = vec![9];
    store.restore(a, &mut memory, &[3], &mut restored).expect("live");
    assert_eq!((restored, store.copied_pages()), (vec![9, 1, 2, 3], 6));
    assert!(memory.iter().all(|byte| *byte == 0));
    // Again: nothing differs any more.
    let mut restored = vec![];
    store.restore(a, &mut memory, &[], &mut restored).expect("live");
    assert!(restored.is_empty());
}

/// K4: a slot that is gone is an error and never another state, and an error changes nothing.
#[test]
fn k4_a_released_slot_is_an_error() {
    let mut memory = vec![0; 2 * SMALL_PAGE_BYTES];
    let mut store = PageStore::new(&memory).expect("whole pages");
    let [a, b, c] = [1, 2, 3].map(|value| {
        set(&mut memory, 0, value);
        store.save(&memory, &[0]).expect("fits")
    });
    store.release(a).expect("live");
    let mut restored = vec![];
    store.restore(b, &mut memory, &[], &mut restored).expect("live");
    let before = memory.clone();
    for gone in [a, c] {
        assert_eq!(store.release(gone), Err(PageError::Released));
        assert_eq!(store.read(gone, 0), Err(PageError::Released));
        assert_eq!(store.restore(gone, &mut memory, &[1], &mut restored), Err(PageError::Released));
    }
    let d = store.save(&memory, &[]).expect("fits");
    assert!(d != c && memory == before && restored == [0]);
    assert_eq!([b, d].map(|slot| first_byte(&store, slot, 0)), [2, 2]);
    store.rebase(&memory).expect("fits");
    assert_eq!([b, d].map(|slot| store.release(slot)), [Err(PageError::Released); 2]);
}

/// W7: one length for ever; everything else is refused before anything happens.
#[test]
fn w7_other_lengths_and_pages_are_refused() {
    let (bytes, expected) = (2 * SMALL_PAGE_BYTES, 2 * SMALL_PAGE_BYTES);
    let mut memory = vec![0; bytes];
    let mut store = PageStore::new(&memory).expect("whole pages");
    let slot = store.save(&memory, &[1]).expect("fits");
    for other in [0, bytes - 1, bytes + 1, bytes + SMALL_PAGE_BYTES] {
        let length = PageError::Length { bytes: other, expected };
        let (mut memory, mut restored) = (vec![1; other], vec![]);
        assert_eq!(store.save(&memory, &[]), Err(length));
        assert_eq!(store.restore(slot, &mut memory, &[], &mut restored), Err(length));
        assert_eq!(store.rebase(&memory), Err(length));
    }
    let page = PageError::Page { page: 2, pages: 2 };
    assert_eq!(store.save(&memory, &[1, 2]), Err(page));
    assert_eq!(store.restore(slot, &mut memory, &[1, 2], &mut vec![]), Err(page));
    assert_eq!(store.read(slot, 2), Err(page));
    assert_eq!((store.copied_pages(), store.pages(), store.bytes()), (1, 2, bytes));
    assert_eq!(whole_pages(4097), Err(PageError::Length { bytes: 4097, expected: 4096 }));
    let most = MAX_PAGES as usize * SMALL_PAGE_BYTES;
    assert_eq!(whole_pages(most), Ok(MAX_PAGES));
    let past = most + SMALL_PAGE_BYTES;
    assert_eq!(whole_pages(past), Err(PageError::Length { bytes: past, expected: most }));
}

/// A memory without a page is one too.
#[test]
fn w7_an_empty_memory_has_checkpoints() {
    let mut store = PageStore::new(&[]).expect("whole pages");
    let slot = store.save(&[], &[]).expect("fits");
    assert_eq!(store.restore(slot, &mut [], &[], &mut vec![]), Ok(()));
    assert_eq!(store.read(slot, 0), Err(PageError::Page { page: 0, pages: 0 }));
}

/// K3: rounds of play, each with a rollback, need no more buffers than the first ones did.
#[test]
fn k3_steady_play_allocates_no_page() {
    let mut memory = vec![0; 64 * SMALL_PAGE_BYTES];
    let mut store = PageStore::new(&memory).expect("whole pages");
    let (mut slots, mut restored) = (std::collections::VecDeque::new(), vec![]);
    let mut buffers = 0;
    for round in 0..64_u8 {
        for tick in 0..8_u8 {
            let dirty = [0, 1, 2, 3].map(|page| u32::from((round + tick + page * 16) % 64));
            dirty.iter().for_each(|page| set(&mut memory, *page as usize, round ^ tick));
            slots.push_back(store.save(&memory, &dirty).expect("fits"));
        }
        restored.clear();
        store.restore(slots[1], &mut memory, &[], &mut restored).expect("live");
        slots.truncate(2);
        slots.pop_front().map(|slot| store.release(slot)).expect("eight").expect("live");
        if round == 8 {
            buffers = store.buffers();
        }
    }
    assert_eq!(store.buffers(), buffers);
}

/// K3: what no slot reads any more is overwritten, not kept: saves that are released at once need one buffer for ever.
#[test]
fn k3_a_released_save_leaves_nothing_behind() {
    let mut memory = vec![0; SMALL_PAGE_BYTES];
    for oldest in [0, 1] {
        let mut store = PageStore::new(&memory).expect("whole pages");
        let kept: Vec<SlotId> = (0..oldest).map(|_| store.save(&memory, &[]).expect("fits")).collect();
        let mut buffers = vec![];
        for value in 1..=200 {
            set(&mut memory, 0, value);
            let slot = store.save(&memory, &[0]).expect("fits");
            store.release(slot).expect("live");
            buffers.push(store.buffers());
        }
        assert_eq!(buffers[0], buffers[199]);
        kept.iter().for_each(|slot| assert_eq!(first_byte(&store, *slot, 0), 0));
        set(&mut memory, 0, 0);
    }
}

/// K4: an old slot reads through what is left of a page's contents, whatever became of the buffers in between.
#[test]
fn k4_an_old_slot_reads_past_reused_buffers() {
    let mut memory = vec![0; 2 * SMALL_PAGE_BYTES];
    let mut store = PageStore::new(&memory).expect("whole pages");
    let [a, b, c] = [1, 2, 3].map(|value| {
        set(&mut memory, 0, value);
        store.save(&memory, &[0]).expect("fits")
    });
    store.release(b).expect("live");
    let [d, e] = [8, 9].map(|value| {
        set(&mut memory, 1, value);
        store.save(&memory, &[1]).expect("fits")
    });
    assert_eq!([a, c, d, e].map(|slot| first_byte(&store, slot, 0)), [1, 3, 3, 3]);
    assert_eq!([a, c, d, e].map(|slot| first_byte(&store, slot, 1)), [0, 0, 8, 9]);
}

/// A set keeps each page once, whatever is added how often, and starts again empty.
#[test]
fn w6_a_set_holds_each_page_once() {
    let mut pages = PageSet::new(130);
    [129, 0, 64, 0, 129, 63].into_iter().for_each(|page| pages.insert(page));
    assert_eq!(pages.as_slice(), [129, 0, 64, 63]);
    assert_eq!(pages.sorted(), [0, 63, 64, 129]);
    pages.clear();
    assert!(pages.as_slice().is_empty());
    pages.insert(7);
    pages.insert_all();
    assert!(pages.sorted().iter().copied().eq(0..130));
}

/// A page that the memory does not have is a bug that must not pass for a clean page.
#[test]
#[should_panic(expected = "page 130 of 130")]
fn w6_a_set_refuses_a_page_past_the_last() {
    PageSet::new(130).insert(130);
}
