//! The framing of a replay: magic, version, and blocks, each of which is checked by itself (R1).
//!
//! A block is its kind (1 byte), the length of its payload (4 bytes, little-endian), the payload, and 8 bytes of a BLAKE3 over
//! the match, the block's place in the file and everything of it that stands before. So a block that was moved, or comes out of
//! the recording of another match, is as damaged as one with a changed byte, and any one of them can be read alone.

use alloc::vec::Vec;

use bincode::Encode;

use crate::codec::wire;
use crate::digest::{Context, DIGEST_BYTES, Digest};

pub(super) const MAGIC: &[u8; 8] = b"RTKREPLY";
/// The version of the format that is written and read (R1). Others are refused; there is no migration.
pub const REPLAY_VERSION: u16 = 3;
/// Bytes of magic and version.
pub(super) const START_BYTES: usize = MAGIC.len() + size_of::<u16>();
/// Most bytes of one block's payload.
pub(super) const MAX_BLOCK_BYTES: usize = 16 << 20;
/// Bytes before a block's payload, and behind it.
pub(super) const HEAD_BYTES: usize = 5;
pub(super) const CHECK_BYTES: usize = 8;

const CONTEXT: &str = "retick 2026 replay block v3";

/// What the kinds of blocks mean. A reader that does not know a kind below [`FIRST_OPTIONAL`] refuses the file; others it skips.
pub(super) mod kind {
    pub const HEADER: u8 = 0;
    pub const FRAMES: u8 = 1;
    pub const CHECKSUM: u8 = 2;
    pub const KEY_FRAME: u8 = 3;
    pub const INDEX: u8 = 4;
    pub const END: u8 = 5;
    /// The last kind that has a meaning and must be understood.
    pub const LAST_REQUIRED: u8 = END;
    pub const FIRST_OPTIONAL: u8 = 0x80;
    #[cfg(feature = "signing")]
    pub const SIGNATURE: u8 = 0x80;
}

/// What every block's check covers beside the block.
#[derive(Clone, Debug)]
pub(super) struct Seal {
    context: Context,
    descriptor: [u8; DIGEST_BYTES],
}

impl Seal {
    /// The seal of the header, which is what says of which match everything is.
    pub(super) fn new() -> Seal {
        Seal { context: Context::new(CONTEXT), descriptor: [0; DIGEST_BYTES] }
    }

    /// From here on, blocks are of the match with this descriptor.
    pub(super) fn bind(&mut self, descriptor: Digest) {
        self.descriptor = *descriptor.as_bytes();
    }

    fn check(&self, offset: u64, covered: &[u8]) -> [u8; CHECK_BYTES] {
        let digest = self.context.digest(&[&self.descriptor, &offset.to_le_bytes(), covered]);
        let mut check = [0; CHECK_BYTES];
        check.copy_from_slice(&digest.as_bytes()[..CHECK_BYTES]);
        check
    }

    /// Appends a block to `out`, whose first byte stands at `base` in the file.
    pub(super) fn push_block<T: Encode>(&self, out: &mut Vec<u8>, base: u64, kind: u8, payload: &T) {
        let start = out.len();
        out.extend_from_slice(&[kind, 0, 0, 0, 0]);
        wire::encode_into(payload, out);
        let length = u32::try_from(out.len() - start - HEAD_BYTES).unwrap_or(u32::MAX);
        out[start + 1..start + HEAD_BYTES].copy_from_slice(&length.to_le_bytes());
        let check = self.check(base + start as u64, &out[start..]);
        out.extend_from_slice(&check);
    }
}

/// One whole block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block<'a> {
    pub(super) kind: u8,
    /// Where it begins.
    pub(super) offset: u64,
    pub(super) payload: &'a [u8],
}

/// What stands where the next block should.
pub(super) enum Next<'a> {
    Block(Block<'a>),
    /// Nothing: the file ends here.
    Nothing,
    /// A part of a block.
    Part,
    /// Something that is no block of this file.
    Damage,
}

/// The blocks of a file.
pub(super) struct Blocks<'a> {
    bytes: &'a [u8],
    offset: usize,
    seal: Seal,
}

impl<'a> Blocks<'a> {
    /// From behind the version on.
    pub(super) fn new(bytes: &'a [u8]) -> Blocks<'a> {
        Blocks { bytes, offset: START_BYTES, seal: Seal::new() }
    }

    pub(super) fn bind(&mut self, descriptor: Digest) {
        self.seal.bind(descriptor);
    }

    /// Where the next block begins.
    pub(super) fn offset(&self) -> usize {
        self.offset
    }

    pub(super) fn next(&mut self) -> Next<'a> {
        let rest = self.bytes.get(self.offset..).unwrap_or_default();
        if rest.is_empty() {
            return Next::Nothing;
        }
        let Some(([kind, length @ ..], _)) = rest.split_first_chunk::<HEAD_BYTES>() else { return Next::Part };
        let length = usize::try_from(u32::from_le_bytes(*length)).unwrap_or(usize::MAX);
        if length > MAX_BLOCK_BYTES {
            return Next::Damage;
        }
        let (covered, check) = (rest.get(..HEAD_BYTES + length), rest.get(HEAD_BYTES + length..));
        let check = check.and_then(|check| check.first_chunk::<CHECK_BYTES>());
        let (Some(covered), Some(check)) = (covered, check) else { return Next::Part };
        let offset = self.offset as u64;
        if self.seal.check(offset, covered) != *check {
            return Next::Damage;
        }
        self.offset += covered.len() + CHECK_BYTES;
        Next::Block(Block { kind: *kind, offset, payload: &covered[HEAD_BYTES..] })
    }
}
