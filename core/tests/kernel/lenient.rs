//! K3, K4: a game's own codec may read more than it writes; hydration takes what it writes alone.

use retick_core::codec::canonical::{self, EncodeError, EncodeReason};
use retick_core::digest::Checksum;
use retick_core::runtime::{HydrateError, Keep, NativeFactory, Output, Runtime, RuntimeFactory, StateCodec};
use retick_core::tick::Tick;

use crate::counter::{Counter, descriptor, factory};

/// A sum that this codec reads and does not write.
const UNWRITABLE: i64 = 1313;
/// Where the sum and the rolls begin, behind the state's tick.
const SUM: usize = 8;
const ROLLS: usize = 16;

/// Reads any eighth byte of the sum as zero, and takes no notice of bytes behind the state.
enum Lenient {}

impl StateCodec<Counter> for Lenient {
    fn encode(state: &Counter, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        if state.sum == UNWRITABLE {
            return Err(EncodeError { path: "sum".into(), reason: EncodeReason::Custom("unlucky".into()) });
        }
        canonical::encode_into(state, out)
    }

    fn decode(bytes: &[u8]) -> Option<Counter> {
        let mut bytes = bytes.to_vec();
        *bytes.get_mut(7)? = 0;
        (0..=bytes.len()).rev().find_map(|end| canonical::decode(&bytes[..end]).ok())
    }
}

struct Subject {
    runtime: Box<dyn Runtime>,
    checksum: Checksum,
    state: Vec<u8>,
}

/// A runtime at `S(0)` that holds a checkpoint, and the canonical bytes of its state.
fn subject() -> Subject {
    let lenient = NativeFactory::<Counter, Lenient>::with_codec(|sources| {
        sources.module("counter.rs", include_bytes!("counter.rs"))
    });
    let lenient = lenient.unwrap();
    assert_eq!(lenient.manifest().identity(), factory().manifest().identity());
    let (mut runtime, mut output, mut state) = (lenient.create(&descriptor(2)).unwrap(), Output::default(), vec![]);
    runtime.keep(Keep::CHECKPOINT | Keep::CHECKSUM, &mut output).unwrap();
    let kept = output.kept[0].clone();
    runtime.export(kept.checkpoint.unwrap(), 0, usize::MAX, &mut state).unwrap();
    Subject { runtime, checksum: kept.checksum.unwrap(), state }
}

/// What hydration says of the state with this change; it takes nothing then, and every handle stays valid.
fn check(change: impl FnOnce(&mut Vec<u8>), expected: HydrateError) {
    let Subject { mut runtime, checksum, state } = subject();
    let (mut changed, mut output) = (state.clone(), Output::default());
    runtime.keep(Keep::CHECKPOINT, &mut output).unwrap();
    change(&mut changed);
    assert_eq!(runtime.hydrate(Tick::ZERO, &changed), Err(expected));
    runtime.keep(Keep::CHECKSUM, &mut output).unwrap();
    assert_eq!((runtime.tick(), output.kept[1].checksum), (Tick::ZERO, Some(checksum)));
    let mut exported = vec![];
    let held = output.kept[0].checkpoint.unwrap();
    runtime.export(held, 0, usize::MAX, &mut exported).unwrap();
    assert_eq!((exported, runtime.restore(held)), (state, Ok(())));
}

#[test]
fn k4_a_state_that_decodes_and_encodes_otherwise_is_refused_at_the_first_byte_that_differs() {
    let whole = subject().state.len();
    check(|state| state[SUM + 7] = 1, HydrateError::NotCanonical { offset: SUM as u64 + 7 });
    check(|state| state.push(0), HydrateError::NotCanonical { offset: whole as u64 });
    check(|state| state.extend_from_slice(&[9; 100]), HydrateError::NotCanonical { offset: whole as u64 });
}

#[test]
fn k4_a_state_that_decodes_and_does_not_encode_is_refused() {
    check(|state| state[SUM..ROLLS].copy_from_slice(&UNWRITABLE.to_le_bytes()), HydrateError::Malformed);
}

/// The guard: the same bytes unchanged, and changed to another state's, are taken.
#[test]
fn k4_a_state_as_the_codec_writes_it_is_taken() {
    let Subject { mut runtime, state, .. } = subject();
    assert_eq!(runtime.hydrate(Tick::ZERO, &state), Ok(()));
    let mut other = state;
    other[ROLLS] ^= 1;
    assert_eq!(runtime.hydrate(Tick::ZERO, &other), Ok(()));
}
