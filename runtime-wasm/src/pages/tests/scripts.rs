//! Random scripts: every tracker against whole copies, and each against each.

use proptest::prelude::*;

use super::super::{ComparePages, CopyAll, DirtyMap, PageSet, PageStore, TrackFault, Tracker};
use super::rig::{BASE, Op, Rig, Wrong};

/// Whole numbers of WebAssembly's pages, and others.
pub const PAGES: [u32; 7] = [1, 2, 3, 5, 16, 17, 32];

pub fn ops() -> impl Strategy<Value = Vec<Op>> {
    // Few values, so that pages also come back to what they were; stores at the ends of pages, so that some straddle two.
    let offset = prop_oneof![Just(0), 4088_u32..4096, 0_u32..4096];
    let bytes = prop_oneof![1_u32..=8, 1_u32..12_288];
    let write = (0_u32..32, offset, bytes, 0_u8..4);
    let op = prop_oneof![
        8 => write.prop_map(|(page, offset, bytes, value)| Op::Write { page, offset, bytes, value }),
        2 => Just(Op::Collect),
        6 => Just(Op::Save),
        2 => any::<usize>().prop_map(Op::Restore),
        3 => any::<usize>().prop_map(Op::Release),
        1 => Just(Op::Restore(usize::MAX)),
        1 => prop_oneof![9 => Just(Op::Collect), 1 => Just(Op::Rebase)],
    ];
    proptest::collection::vec(op, 1..80)
}

fn play<T: Tracker>(pages: u32, tracker: T, ops: &[Op]) -> Result<(), Wrong> {
    let mut rig = Rig::new(pages, tracker);
    ops.iter().try_for_each(|op| rig.play(op))?;
    rig.check()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    /// W6: every slot reads and restores exactly, whatever is released when; a save copies each written page once, a restore
    /// each page that was written since the slot, and a release none.
    #[test]
    fn w6_slots_are_whole_copies_under_every_tracker(pages in 0..PAGES.len(), ops in ops()) {
        let pages = PAGES[pages];
        prop_assert_eq!(play(pages, CopyAll, &ops), Ok(()));
        prop_assert_eq!(play(pages, ComparePages::new(BASE), &ops), Ok(()));
        prop_assert_eq!(play(pages, DirtyMap::new(pages), &ops), Ok(()));
    }

    /// W6: no tracker misses what another sees: comparing names what differs, the map all that was written, copying all.
    #[test]
    fn w6_trackers_agree(pages in 0..PAGES.len(), ops in ops()) {
        let pages = PAGES[pages];
        let mut all = Rig::new(pages, CopyAll);
        let mut compared = Rig::new(pages, ComparePages::new(BASE));
        let mut marked = Rig::new(pages, DirtyMap::new(pages));
        for op in &ops {
            prop_assert_eq!((all.play(op), compared.play(op), marked.play(op)), (Ok(()), Ok(()), Ok(())));
            prop_assert!(all.game() == compared.game() && compared.game() == marked.game());
            if matches!(op, Op::Collect) {
                let (different, written) = (compared.dirty.sorted().to_vec(), marked.dirty.sorted().to_vec());
                let last = compared.store().last().zip(compared.game().as_chunks().0);
                let differs: Vec<u32> = (0..).zip(last).filter(|(_, (a, b))| a != b).map(|(page, _)| page).collect();
                prop_assert!(differs.iter().all(|page| different.contains(page)));
                prop_assert!(different.iter().all(|page| written.contains(page)), "{:?} {:?}", different, written);
                prop_assert!(all.dirty.sorted().iter().copied().eq(0..pages));
            }
        }
    }
}

/// A tracker that loses the highest page of what it finds.
pub struct Forgetful<T>(pub T);

impl<T: Tracker> Tracker for Forgetful<T> {
    fn collect(&mut self, memory: &mut [u8], store: &PageStore, dirty: &mut PageSet) -> Result<(), TrackFault> {
        let mut found = PageSet::new(store.pages());
        self.0.collect(memory, store, &mut found)?;
        let found = found.sorted();
        found[..found.len().saturating_sub(1)].iter().for_each(|page| dirty.insert(*page));
        Ok(())
    }

    fn forget(&mut self, memory: &mut [u8]) -> Result<(), TrackFault> {
        self.0.forget(memory)
    }
}

/// T4: the rig sees a page that a tracker misses, in a slot that is read and in a memory that is restored.
#[test]
fn t4_a_missed_page_is_caught() {
    let write = |page| Op::Write { page, offset: 7, bytes: 1, value: 99 };
    let saved = [Op::Save, write(2), write(4), Op::Save, Op::Release(0)];
    let restored = [Op::Save, write(2), write(4), Op::Restore(0)];
    for (ops, wrong) in [(&saved[..], Wrong::Read { slot: 0, page: 4 }), (&restored[..], Wrong::Restored { slot: 0 })] {
        assert_eq!(play(5, DirtyMap::new(5), ops), Ok(()));
        assert_eq!(play(5, ComparePages::new(BASE), ops), Ok(()));
        assert_eq!(play(5, Forgetful(DirtyMap::new(5)), ops), Err(wrong));
    }
    assert_eq!(play(5, Forgetful(ComparePages::new(BASE)), &restored), Err(Wrong::Restored { slot: 0 }));
    assert_eq!(play(5, Forgetful(CopyAll), &restored), Err(Wrong::Restored { slot: 0 }));
}
