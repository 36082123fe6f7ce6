//! The bytes of a segment: a header, then records, each behind a frame of its own. Integers are little-endian.
//!
//! ```text
//! segment  magic 8 | version 4 | room 32 | first sequence 8 | hash before it 32 | CRC32C of all that 4
//! record   length 4 | CRC32C of the rest 4 | sequence 8 | hash 32 | the record
//! start    the header of the segment with which the log begins
//! ```
//!
//! A record's hash covers the hash before it, its number and its bytes, so that a record of another log, or one that stands in
//! another place, is not the one that follows.

use crc::{CRC_32_ISCSI, Crc, Table};
use retick_core::digest::{DIGEST_BYTES, Digest};

use super::error::Damage;
use crate::log::{FIRST_SEQUENCE, MAX_RECORD_BYTES};

/// Bytes of a segment's header.
pub(super) const HEADER_BYTES: usize = 88;
/// Bytes before each record.
pub(super) const FRAME_BYTES: usize = 48;

const MAGIC: [u8; 8] = *b"RETICKLG";
const VERSION: u32 = 1;
const VERSION_AT: usize = 8;
const ROOM_AT: usize = 12;
const FIRST_AT: usize = 44;
const HASH_AT: usize = 52;
const HEADER_CRC_AT: usize = 84;

const CRC_AT: usize = 4;
const SEQUENCE_AT: usize = 8;
const RECORD_HASH_AT: usize = 16;

const START_CONTEXT: &str = "retick 2026 room log start v1";
const RECORD_CONTEXT: &str = "retick 2026 room log record v1";

const _: () = assert!(HEADER_CRC_AT + 4 == HEADER_BYTES && HASH_AT + DIGEST_BYTES == HEADER_CRC_AT);
const _: () = assert!(RECORD_HASH_AT + DIGEST_BYTES == FRAME_BYTES);
const _: () = assert!(MAX_RECORD_BYTES <= u32::MAX as usize, "a length is four bytes");

/// CRC32C. Sixteen tables, so that scanning a log at its opening is not held up by it.
static CASTAGNOLI: Crc<u32, Table<16>> = Crc::<u32, Table<16>>::new(&CRC_32_ISCSI);

/// Where a log ends: the number of the record that comes next, and the hash that it builds on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Link {
    pub(super) sequence: u64,
    pub(super) hash: Digest,
}

impl Link {
    /// The start of a room's log.
    pub(super) fn start(room: Digest) -> Link {
        Link { sequence: FIRST_SEQUENCE, hash: Digest::derived(START_CONTEXT, &[room.as_bytes()]) }
    }

    /// What follows `record`, when that is the next one.
    pub(super) fn after(self, record: &[u8]) -> Link {
        let mut hasher = self.hasher();
        hasher.update(record);
        Link { sequence: self.sequence + 1, hash: Digest::from_bytes(*hasher.finalize().as_bytes()) }
    }

    /// The hasher that gives the next record's hash once its bytes were added.
    pub(super) fn hasher(self) -> blake3::Hasher {
        let mut hasher = blake3::Hasher::new_derive_key(RECORD_CONTEXT);
        hasher.update(self.hash.as_bytes());
        hasher.update(&self.sequence.to_le_bytes());
        hasher
    }
}

/// The header of the segment that begins at `link`.
pub(super) fn header(room: Digest, link: Link) -> [u8; HEADER_BYTES] {
    let mut bytes = [0; HEADER_BYTES];
    bytes[..VERSION_AT].copy_from_slice(&MAGIC);
    bytes[VERSION_AT..ROOM_AT].copy_from_slice(&VERSION.to_le_bytes());
    bytes[ROOM_AT..FIRST_AT].copy_from_slice(room.as_bytes());
    bytes[FIRST_AT..HASH_AT].copy_from_slice(&link.sequence.to_le_bytes());
    bytes[HASH_AT..HEADER_CRC_AT].copy_from_slice(link.hash.as_bytes());
    let crc = CASTAGNOLI.checksum(&bytes[..HEADER_CRC_AT]);
    bytes[HEADER_CRC_AT..].copy_from_slice(&crc.to_le_bytes());
    bytes
}

/// Says in what `bytes` differ from the header of the segment that begins at `link`.
pub(super) fn check_header(bytes: &[u8], room: Digest, link: Link) -> Result<(), Damage> {
    let found = read_header(bytes, room, link.sequence)?;
    if found == link { Ok(()) } else { Err(Damage::Chain { expected: link.hash, found: found.hash }) }
}

/// Where the segment begins of which `bytes` are the header, when `first` is its first record's number.
pub(super) fn read_header(bytes: &[u8], room: Digest, first: u64) -> Result<Link, Damage> {
    let Some(bytes) = bytes.first_chunk::<HEADER_BYTES>() else {
        return Err(Damage::Short { missing: (HEADER_BYTES - bytes.len()) as u64 });
    };
    if bytes[..VERSION_AT] != MAGIC {
        return Err(Damage::Magic);
    }
    let version = u32_at(bytes, VERSION_AT);
    if version != VERSION {
        return Err(Damage::Version { found: version });
    }
    let (expected, found) = (u32_at(bytes, HEADER_CRC_AT), CASTAGNOLI.checksum(&bytes[..HEADER_CRC_AT]));
    if expected != found {
        return Err(Damage::Crc { expected, found });
    }
    if digest_at(bytes, ROOM_AT) != room {
        return Err(Damage::Room { found: digest_at(bytes, ROOM_AT) });
    }
    if u64_at(bytes, FIRST_AT) != first {
        return Err(Damage::FirstSequence { found: u64_at(bytes, FIRST_AT) });
    }
    Ok(Link { sequence: first, hash: digest_at(bytes, HASH_AT) })
}

/// Whether `bytes` are what is left of that header when the machine stopped while it was written: a part, then zeros.
pub(super) fn is_torn_header(bytes: &[u8], room: Digest, link: Link) -> bool {
    let whole = header(room, link);
    let written = bytes.iter().zip(&whole).take_while(|(found, expected)| found == expected).count();
    bytes.len() <= HEADER_BYTES && bytes != whole && bytes[written..].iter().all(|byte| *byte == 0)
}

/// Replaces `out` by `record` behind its frame, and gives what follows it.
pub(super) fn encode(link: Link, record: &[u8], out: &mut Vec<u8>) -> Link {
    let next = link.after(record);
    let length = u32::try_from(record.len()).expect("a record has at most MAX_RECORD_BYTES");
    out.clear();
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(&link.sequence.to_le_bytes());
    out.extend_from_slice(next.hash.as_bytes());
    out.extend_from_slice(record);
    let crc = crc_of(out);
    out[CRC_AT..SEQUENCE_AT].copy_from_slice(&crc.to_le_bytes());
    next
}

/// What stands before a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct FrameHeader {
    /// Bytes of the record.
    pub(super) length: u32,
    crc: u32,
    pub(super) sequence: u64,
    pub(super) hash: Digest,
}

impl FrameHeader {
    /// The header that `bytes` begin with, if they are long enough for one.
    pub(super) fn parse(bytes: &[u8]) -> Option<FrameHeader> {
        let bytes = bytes.first_chunk::<FRAME_BYTES>()?;
        Some(FrameHeader {
            length: u32_at(bytes, 0),
            crc: u32_at(bytes, CRC_AT),
            sequence: u64_at(bytes, SEQUENCE_AT),
            hash: digest_at(bytes, RECORD_HASH_AT),
        })
    }

    /// Bytes of the record with its frame, or what is wrong with its length.
    pub(super) fn bytes(self) -> Result<usize, Damage> {
        match usize::try_from(self.length) {
            Ok(length) if length <= MAX_RECORD_BYTES => Ok(FRAME_BYTES + length),
            _ => Err(Damage::Length { found: self.length }),
        }
    }

    /// The header, if it is that of the record with this number.
    pub(super) fn expect_sequence(self, expected: u64) -> Result<FrameHeader, Damage> {
        if self.sequence == expected { Ok(self) } else { Err(Damage::Sequence { expected, found: self.sequence }) }
    }

    /// Checks the bytes of the record with its frame.
    pub(super) fn check_crc(self, frame: &[u8]) -> Result<(), Damage> {
        let found = crc_of(frame);
        if found == self.crc { Ok(()) } else { Err(Damage::Crc { expected: self.crc, found }) }
    }
}

fn crc_of(frame: &[u8]) -> u32 {
    let mut digest = CASTAGNOLI.digest();
    digest.update(&frame[..CRC_AT]);
    digest.update(&frame[SEQUENCE_AT..]);
    digest.finalize()
}

fn array_at<const N: usize, const M: usize>(bytes: &[u8; N], at: usize) -> [u8; M] {
    *bytes[at..].first_chunk().expect("the offsets above lie within the header")
}

fn u32_at<const N: usize>(bytes: &[u8; N], at: usize) -> u32 {
    u32::from_le_bytes(array_at(bytes, at))
}

fn u64_at<const N: usize>(bytes: &[u8; N], at: usize) -> u64 {
    u64::from_le_bytes(array_at(bytes, at))
}

fn digest_at<const N: usize>(bytes: &[u8; N], at: usize) -> Digest {
    Digest::from_bytes(array_at(bytes, at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a12_the_checksum_is_the_crc32c_of_everybody_else() {
        // The check value of CRC-32/ISCSI, and a vector of RFC 3720.
        assert_eq!(CASTAGNOLI.checksum(b"123456789"), 0xe306_9283);
        assert_eq!(CASTAGNOLI.checksum(&[0; 32]), 0x8a91_36aa);
    }

    #[test]
    fn a12_a_part_of_a_header_is_told_from_a_changed_one() {
        let room = Digest::of(b"room");
        let whole = header(room, Link::start(room));
        for kept in 0..HEADER_BYTES {
            assert!(is_torn_header(&whole[..kept], room, Link::start(room)), "{kept} bytes");
            let mut zeros = [0; HEADER_BYTES];
            zeros[..kept].copy_from_slice(&whole[..kept]);
            assert!(is_torn_header(&zeros, room, Link::start(room)), "{kept} bytes, then zeros");
        }
        assert!(!is_torn_header(&whole, room, Link::start(room)));
        let mut changed = whole;
        changed[20] ^= 1;
        assert!(!is_torn_header(&changed, room, Link::start(room)));
        let mut longer = vec![0; HEADER_BYTES + 1];
        longer[..8].copy_from_slice(&MAGIC);
        assert!(!is_torn_header(&longer, room, Link::start(room)));
    }
}
