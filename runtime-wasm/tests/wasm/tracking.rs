//! W6: whichever way written pages are found, checkpoints, checksums and faults are the same.

use blake3::Hasher;
use proptest::prelude::*;
use retick_core::digest::Checksum;
use retick_core::runtime::{Checkpoint, Keep, Runtime, StepFault};
use retick_core::tree::first_difference;
use retick_wasm::{Limits, Tracking, WasmFactory};

use crate::support::{Match, module};

const TRACKINGS: [Tracking; 4] =
    [Tracking::CopyAll, Tracking::ComparePages, Tracking::DirtyMap, Tracking::ProtectPages];
/// Stores, fills, copies and grows where its input says, and misbehaves for some.
const SCATTER: &str = include_str!("../wat/scatter.wat");

/// A memory of four pages, of which the game begins with three.
fn limits() -> Limits {
    Limits { memory_pages: 4, ..Limits::default() }
}

fn matches() -> Vec<Match> {
    let load = |tracking| {
        let factory = WasmFactory::load_tracking(&module(SCATTER), limits(), tracking).expect("loads");
        // Where the kernel can't protect pages, it is the map again.
        assert!(factory.tracking() == tracking || tracking == Tracking::ProtectPages);
        Match::of(&factory)
    };
    TRACKINGS.map(load).into()
}

#[derive(Clone, Debug)]
enum Op {
    Steps(Vec<u32>),
    Checkpoint,
    Restore(usize),
    Release(usize),
    Project,
    Hydrate(usize),
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    // The kinds of the game, and its faults; places near the ends of pages and of the memory.
    let place = prop_oneof![0..0x4000_u32, 0xFF0..0x1010_u32, 0x1_FFF0..0x2_0000_u32];
    let input = (0..10_u32, place).prop_map(|(kind, place)| (kind << 24) | place);
    let op = prop_oneof![
        6 => proptest::collection::vec(input, 1..4).prop_map(Op::Steps),
        4 => Just(Op::Checkpoint),
        3 => any::<usize>().prop_map(Op::Restore),
        2 => any::<usize>().prop_map(Op::Release),
        2 => Just(Op::Project),
        1 => any::<usize>().prop_map(Op::Hydrate),
    ];
    proptest::collection::vec(op, 1..40)
}

/// Plays one operation, and gives whatever can be seen of it.
fn play(game: &mut Match, held: &mut Vec<Checkpoint>, op: &Op) -> Vec<String> {
    let mut seen = vec![];
    match op {
        Op::Steps(inputs) => {
            game.output.clear();
            let ran = game.run(inputs, Keep::CHECKSUM | Keep::CHECKPOINT);
            seen.push(format!("{ran:?} {:?}", game.runtime.gas_used()));
            for kept in &game.output.kept {
                seen.push(format!("{:?}", kept.checksum));
                held.extend(kept.checkpoint);
            }
        }
        Op::Checkpoint => held.push(game.checkpoint()),
        Op::Restore(index) if !held.is_empty() => {
            held.truncate(index % held.len() + 1);
            seen.push(format!("{:?}", game.runtime.restore(held[held.len() - 1])));
        }
        Op::Release(index) if !held.is_empty() => {
            let released = held.remove(index % held.len());
            seen.push(format!("{:?}", game.runtime.release(released)));
        }
        Op::Project => seen.push(format!("{:?}", game.projection())),
        Op::Hydrate(index) if !held.is_empty() => {
            let checkpoint = held[index % held.len()];
            let bytes = game.export(checkpoint);
            seen.push(format!("{:?}", game.runtime.hydrate(checkpoint.tick(), &bytes)));
            held.clear();
        }
        Op::Restore(_) | Op::Release(_) | Op::Hydrate(_) => {}
    }
    seen.push(format!("{:?} {:?}", game.runtime.tick(), game.checksum()));
    seen
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 120, failure_persistence: None, ..ProptestConfig::default() })]

    /// W6, K5: every tracking shows the same at every operation, and the checksum is the plain hash of the exported bytes.
    #[test]
    fn w6_no_tracking_shows(ops in ops()) {
        let mut games: Vec<(Match, Vec<Checkpoint>)> = matches().into_iter().map(|game| (game, vec![])).collect();
        for op in &ops {
            let seen: Vec<Vec<String>> = games.iter_mut().map(|(game, held)| play(game, held, op)).collect();
            prop_assert!(seen.iter().all(|other| *other == seen[0]), "{op:?}: {seen:?}");
            let (game, _) = &mut games[0];
            let mut hasher = Hasher::new();
            hasher.update(game.runtime.memory()).update(&game.runtime.trailer());
            prop_assert_eq!(game.checksum(), Checksum::from_bytes(*hasher.finalize().as_bytes()));
        }
        let states: Vec<Vec<u8>> = games.iter_mut().map(|(game, held)| {
            let checkpoint = held.first().copied().unwrap_or_else(|| game.checkpoint());
            game.export(checkpoint)
        }).collect();
        prop_assert!(states.iter().all(|state| *state == states[0]));
    }
}

/// W3, W6: a store beside the memory, where in another layout a map might be, is the same fault under every tracking, and nothing
/// of the step stays.
#[test]
fn w3_a_store_beside_the_memory_faults_under_every_tracking() {
    let mut checksums = matches().into_iter().map(|mut game| {
        game.step(3);
        let before = game.checksum();
        assert_eq!([8 << 24, 9 << 24].map(|input| game.fault(input)), [StepFault::OutOfBounds; 2]);
        assert_eq!(game.checksum(), before);
        before
    });
    let first = checksums.next().expect("there is a tracking");
    assert!(checksums.all(|other| other == first));
}

/// T3: two states find their first differing page by the values of their trees, which cost what was touched.
#[test]
fn t3_two_states_find_where_they_differ() {
    for mut game in matches() {
        let mut other = Match::of(&WasmFactory::load(&module(SCATTER), limits()).expect("loads"));
        game.step(5);
        other.step(5);
        assert_eq!(game.checksum(), other.checksum());
        other.step(0x1_2345);
        game.step(0x1_2346);
        let pages = game.runtime.open_tree().pages();
        let (ours, theirs) = (game.runtime.open_tree(), other.runtime.open_tree());
        assert_eq!(
            first_difference(pages, |at| ours.value(at), |at| theirs.value(at)),
            Some(8),
            "the block that the host passed"
        );
    }
}

/// K5, W6: a page that is written back to what was saved last is another one than the last checksum saw.
#[test]
fn k5_what_a_step_writes_back_is_hashed_again() {
    let text = "(module (memory (export \"memory\") 4)\n;; interface
        (func (export \"retick_step\") (param i32 i32) (result i32)
            (i32.store (i32.const 200000) (call $input (local.get 0))) (i32.const 0)))";
    for tracking in TRACKINGS {
        let factory = WasmFactory::load_tracking(&module(text), Limits::default(), tracking).expect("loads");
        let mut game = Match::of(&factory);
        game.run(&[5, 0], Keep::CHECKSUM).expect("two steps without a checkpoint between them");
        let mut hasher = Hasher::new();
        hasher.update(game.runtime.memory()).update(&game.runtime.trailer());
        let expected = Some(Checksum::from_bytes(*hasher.finalize().as_bytes()));
        assert_eq!(game.output.kept[1].checksum, expected, "{tracking:?}");
    }
}

/// W6: a checkpoint costs the pages that were touched since the last one.
#[test]
fn w6_only_touched_pages_are_counted() {
    let mut game = Match::new(SCATTER);
    game.checkpoint();
    assert_eq!(game.runtime.written_pages(), 0);
    game.step(0x1_2345);
    // The word itself, and the host's block.
    assert_eq!(game.runtime.written_pages(), 2);
    game.checkpoint();
    assert_eq!(game.runtime.written_pages(), 0);
}
