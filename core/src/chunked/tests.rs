//! The array against a `Vec` as its model, what it shares, and what it keeps.

use alloc::format;
use alloc::string::ToString;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

use proptest::prelude::*;
use serde::{Deserialize, Serialize};

use super::tree::{Block, Body, FAN_OUT_BITS};
use super::*;
use crate::codec::canonical::{self, DecodeReason};
use crate::codec::text;

/// Four of these fill a chunk, so that small arrays make high trees.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
struct Wide {
    value: u32,
    #[serde(skip)]
    padding: [[u64; 15]; 8],
}

fn wide(value: u32) -> Wide {
    Wide { value, ..Wide::default() }
}

const WIDE_CHUNK: usize = 4;
const _: () = assert!(Block::<Wide>::CHUNK_LEN == WIDE_CHUNK);

fn numbers(count: u32) -> Chunked<Wide> {
    (0..count).map(wide).collect()
}

fn values(chunked: &Chunked<Wide>) -> Vec<u32> {
    chunked.iter().map(|wide| wide.value).collect()
}

#[test]
fn k3_a_chunk_has_a_power_of_two_of_elements_and_at_least_one() {
    assert_eq!(Block::<u8>::CHUNK_LEN, CHUNK_BYTES);
    assert_eq!(Block::<[u8; 3]>::CHUNK_LEN, CHUNK_BYTES / 4);
    assert_eq!(Block::<[u8; CHUNK_BYTES]>::CHUNK_LEN, 1);
    assert_eq!(Block::<[u8; CHUNK_BYTES + 1]>::CHUNK_LEN, 1);
    assert_eq!(Block::<()>::CHUNK_LEN, CHUNK_BYTES);
}

#[derive(Clone, Debug)]
enum Op {
    Set(usize, u32),
    Fill(usize, usize, u32),
    Push(u32),
    Pop,
    Truncate(usize),
    Resize(usize, u32),
    Extend(usize, u32),
    Clone(usize),
    CloneFrom(usize),
}

/// Beyond 1,024 elements a tree of wide ones has three levels of nodes.
const MOST: usize = 1_200;
const COPIES: usize = 4;

fn op() -> impl Strategy<Value = (usize, Op)> {
    let any_len = prop_oneof![0..MOST, Just(0), Just(WIDE_CHUNK), Just(64), Just(65), Just(1024), Just(1025)];
    let op = prop_oneof![
        4 => (0..MOST, any::<u32>()).prop_map(|(index, value)| Op::Set(index, value)),
        4 => (0..MOST, 0..40_usize, any::<u32>()).prop_map(|(start, count, value)| Op::Fill(start, count, value)),
        2 => any::<u32>().prop_map(Op::Push),
        2 => Just(Op::Pop),
        1 => any_len.clone().prop_map(Op::Truncate),
        1 => (any_len, any::<u32>()).prop_map(|(len, value)| Op::Resize(len, value)),
        1 => (0..90_usize, any::<u32>()).prop_map(|(count, value)| Op::Extend(count, value)),
        2 => (0..COPIES).prop_map(Op::Clone),
        4 => (0..COPIES).prop_map(Op::CloneFrom),
    ];
    (0..COPIES, op)
}

type Pair = (Chunked<Wide>, Vec<u32>);

fn apply(pairs: &mut [Pair], target: usize, op: &Op) {
    match *op {
        Op::Clone(source) => pairs[target] = pairs[source].clone(),
        Op::CloneFrom(source) => {
            let (chunked, model) = pairs[source].clone();
            pairs[target].0.clone_from(&chunked);
            pairs[target].1 = model;
        }
        _ => apply_to(&mut pairs[target], op),
    }
}

fn apply_to((chunked, model): &mut Pair, op: &Op) {
    match *op {
        Op::Set(index, value) => {
            assert_eq!(chunked.get(index).map(|wide| wide.value), model.get(index).copied());
            if let (Some(element), Some(expected)) = (chunked.get_mut(index), model.get_mut(index)) {
                (element.value, *expected) = (value, value);
            } else {
                assert!(index >= model.len() && chunked.get_mut(index).is_none());
            }
        }
        Op::Fill(start, count, value) => {
            let range = start.min(model.len())..(start + count).min(model.len());
            let mut next = range.start;
            chunked.for_each_chunk_mut(range.clone(), |start, part| {
                assert!(start == next && (1..=WIDE_CHUNK).contains(&part.len()));
                next += part.len();
                part.iter_mut().for_each(|wide| wide.value = value);
            });
            assert_eq!(next, range.end);
            model[range].fill(value);
        }
        Op::Push(value) => {
            chunked.push(wide(value));
            model.push(value);
        }
        Op::Pop => assert_eq!(chunked.pop().map(|wide| wide.value), model.pop()),
        Op::Truncate(len) => {
            chunked.truncate(len);
            model.truncate(len);
        }
        Op::Resize(len, value) => {
            chunked.resize(len, wide(value));
            model.resize(len, value);
        }
        Op::Extend(count, value) => {
            chunked.extend(core::iter::repeat_n(wide(value), count));
            model.extend(core::iter::repeat_n(value, count));
        }
        Op::Clone(_) | Op::CloneFrom(_) => {}
    }
}

/// Everything that can be read of it, and that the tree is as low as it can be.
fn check((chunked, model): &Pair) {
    assert_eq!((chunked.len(), chunked.is_empty()), (model.len(), model.is_empty()));
    assert_eq!(chunked.iter().len(), model.len());
    assert_eq!(&values(chunked), model);
    let mut walked = Vec::new();
    chunked.for_each_chunk(.., |start, part| {
        assert_eq!(start, walked.len());
        walked.extend(part.iter().map(|wide| wide.value));
    });
    assert_eq!(&walked, model);
    assert_eq!(canonical::encode(chunked).unwrap(), canonical::encode(model).unwrap());
    let least = (0..).find(|height| model.len().div_ceil(WIDE_CHUNK) <= 1 << (FAN_OUT_BITS * height));
    assert_eq!(Some(chunked.tree.height), least);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn k3_it_is_a_vec_whatever_is_done_to_it_and_its_clones(ops in prop::collection::vec(op(), 1..80)) {
        let mut pairs: Vec<Pair> = (0..COPIES).map(|_| Pair::default()).collect();
        for (target, op) in ops {
            apply(&mut pairs, target, &op);
            pairs.iter().for_each(check);
        }
        for (left, right) in pairs.iter().zip(&pairs[1..]) {
            prop_assert_eq!(left.0 == right.0, left.1 == right.1);
        }
    }
}

#[test]
fn k3_equality_and_debug_are_by_content() {
    let (left, mut right) = (numbers(70), numbers(70));
    assert_eq!(left, right);
    right[69].value = 0;
    assert_ne!(left, right);
    assert_ne!(numbers(69), numbers(70));
    let few: Chunked<u8> = [1, 2].into_iter().collect();
    assert_eq!(format!("{few:?}"), "[1, 2]");
    // Shared chunks are no proof of equality.
    let nan: Chunked<f32> = [f32::NAN].into_iter().collect();
    assert_ne!(nan, nan.clone());
}

#[test]
fn k13_bytes_and_text_are_those_of_a_vec() {
    let plain: Vec<u16> = (0..5_000).collect();
    let chunked: Chunked<u16> = plain.iter().copied().collect();
    let bytes = canonical::encode(&plain).unwrap();
    assert_eq!(canonical::encode(&chunked).unwrap(), bytes);
    assert_eq!(canonical::decode_canonical::<Chunked<u16>>(&bytes), Ok(chunked.clone()));
    let written = text::to_text(&plain).unwrap();
    assert_eq!(text::to_text(&chunked).unwrap(), written);
}

#[test]
fn k13_a_claimed_length_reserves_nothing_and_is_refused_where_the_bytes_end() {
    for claim in [2, u64::MAX] {
        let mut bytes = claim.to_le_bytes().to_vec();
        bytes.push(7);
        let error = canonical::decode::<Chunked<u8>>(&bytes).unwrap_err();
        assert_ne!(error.reason, DecodeReason::NotCanonical);
    }
}

fn panic_of(run: impl FnOnce()) -> std::string::String {
    let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).expect_err("it must panic");
    panic.downcast_ref::<std::string::String>().expect("a formatted message").to_string()
}

#[test]
fn k3_indexes_and_ranges_beyond_the_end_panic_and_visit_nothing() {
    let mut chunked = numbers(9);
    assert_eq!(chunked[8].value, 8);
    assert_eq!(panic_of(|| assert_eq!(numbers(9)[9].value, 9)), "index 9 is not within 0..9");
    assert_eq!(panic_of(|| chunked[9].value = 1), "index 9 is not within 0..9");
    chunked.for_each_chunk(9..9, |_, _| panic!("empty"));
    let refused = "the range 8..10 is not within 0..9";
    assert_eq!(panic_of(|| numbers(9).for_each_chunk(8..10, |_, _| panic!("visited"))), refused);
    assert_eq!(panic_of(|| chunked.for_each_chunk_mut(8..=9, |_, _| panic!("visited"))), refused);
    let (start, end) = (2, 1);
    assert_eq!(panic_of(|| chunked.for_each_chunk(start..end, |_, _| {})), "the range 2..1 is not within 0..9");
    let last = Bound::Included(usize::MAX);
    assert!(panic_of(|| chunked.for_each_chunk((Bound::Excluded(usize::MAX), last), |_, _| {})).contains("0..9"));
    assert_eq!(chunked, numbers(9));
}

/// The chunks of a tree, by address.
fn chunk_addresses(chunked: &Chunked<Wide>) -> Vec<*const Wide> {
    (0..chunked.tree.chunk_count()).map(|chunk| chunked.tree.chunk(chunk).as_ptr()).collect()
}

#[test]
fn k4_a_write_after_a_clone_copies_one_chunk() {
    let mut live = numbers(1_100);
    let checkpoint = live.clone();
    assert!(live.tree.shares_root(&checkpoint.tree));
    live[500].value = 0;
    let (after, before) = (chunk_addresses(&live), chunk_addresses(&checkpoint));
    let copied: Vec<usize> = (0..after.len()).filter(|chunk| after[*chunk] != before[*chunk]).collect();
    assert_eq!(copied, [500 / WIDE_CHUNK]);
    assert_eq!((values(&checkpoint), live[500].value), ((0..1_100).collect(), 0));
    // Until the next clone, the chunk is the writer's own.
    live[501].value = 0;
    assert_eq!(chunk_addresses(&live), after);
}

#[test]
fn k4_what_a_rollback_leaves_behind_is_written_again() {
    let mut live = numbers(4);
    let checkpoint = live.clone();
    live[0].value = 1;
    let future = live.tree.chunk(0).as_ptr();
    for _ in 0..20 {
        live.clone_from(&checkpoint);
        assert_eq!(live.retired.kept(0), 2, "the checkpoint's chunk, and that of the future that is undone");
        live[1].value = 2;
        assert_eq!((live.tree.chunk(0).as_ptr(), values(&live)), (future, vec![0, 2, 2, 3]));
    }
}

#[test]
fn k4_a_block_is_kept_once_however_often_it_is_replaced() {
    let mut live = numbers(4);
    let checkpoint = live.clone();
    let keep_of = |live: &Chunked<Wide>| live.retired.kept(0);
    for turn in 0..5 {
        live.clone_from(&checkpoint);
        live[0].value = turn;
    }
    // The checkpoint's own chunk, replaced five times. The other one is in use.
    assert_eq!(keep_of(&live), 1);
    assert_eq!(keep_of(&checkpoint), 0);
}

/// A writer that replaced its only chunk `replaced` times while checkpoints hold every version.
fn with_checkpoints(replaced: usize) -> (Chunked<Wide>, Vec<Chunked<Wide>>) {
    let mut live = numbers(1);
    let checkpoints = (0..replaced)
        .map(|_| {
            let checkpoint = live.clone();
            live[0].value += 1;
            checkpoint
        })
        .collect();
    (live, checkpoints)
}

#[test]
fn k4_replaced_chunks_are_kept_up_to_a_limit() {
    let limit = RETIRED_PER_BLOCK + RETIRED_BASE;
    // At the limit one more is kept for each that is given up.
    for replaced in [limit, limit + 1, 2 * limit] {
        let (live, checkpoints) = with_checkpoints(replaced);
        assert_eq!((live.retired.limit(0), live.retired.kept(0)), (limit, limit), "{replaced} replaced");
        for (checkpoint, expected) in checkpoints.iter().zip(0..) {
            assert_eq!(checkpoint[0].value, expected);
        }
        // What was given up can be kept by another writer, and so can all when this one ends.
        let given_up = checkpoints.iter().filter(|checkpoint| !is_retired(checkpoint)).count();
        assert!(given_up >= replaced - limit, "{given_up} of {replaced}");
        drop(live);
        assert!(!checkpoints.iter().any(is_retired));
    }
    let (live, checkpoints) = with_checkpoints(limit / 2);
    assert!((limit / 2..limit).contains(&live.retired.kept(0)) && checkpoints.iter().all(is_retired));
}

fn is_retired(chunked: &Chunked<Wide>) -> bool {
    let root = chunked.tree.root.as_ref().expect("it has elements");
    assert!(matches!(root.body, Body::Chunk(_)));
    root.is_retired.load(core::sync::atomic::Ordering::Relaxed)
}

#[test]
fn k4_dropping_checkpoints_frees_nothing_that_the_writer_replaced() {
    let (live, checkpoints) = with_checkpoints(10);
    let weak: Vec<_> = checkpoints.iter().flat_map(|checkpoint| &checkpoint.tree.root).map(Arc::as_ptr).collect();
    drop(checkpoints);
    assert_eq!((weak.len(), live.retired.kept(0)), (10, 10));
}

#[test]
fn k3_it_moves_between_threads() {
    fn is_send<T: Send>() {}
    is_send::<Chunked<Vec<u8>>>();
}
