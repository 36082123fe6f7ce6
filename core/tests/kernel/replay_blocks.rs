//! The blocks of a replay, taken apart and put together again by what the format's document says alone: for whoever forges one.

#![allow(dead_code, reason = "not every test that takes files apart asks for all of it")]

use std::iter;

use retick_core::digest::Digest;
use retick_core::identity::MatchDescriptor;

/// Bytes of the magic and the version, of a block's kind and length, and of its check.
pub const START_BYTES: usize = 10;
const HEAD_BYTES: usize = 5;
const CHECK_BYTES: usize = 8;
pub const KIND_HEADER: u8 = 0;
pub const KIND_FRAMES: u8 = 1;
pub const KIND_CHECKSUM: u8 = 2;
pub const KIND_KEY_FRAME: u8 = 3;
pub const KIND_INDEX: u8 = 4;
pub const KIND_END: u8 = 5;

/// The blocks of a file, each its kind and its payload.
pub fn blocks(file: &[u8]) -> Vec<(u8, Vec<u8>)> {
    let mut rest = &file[START_BYTES..];
    let next = || {
        let length = usize::try_from(u32::from_le_bytes(*rest.get(1..)?.first_chunk()?)).ok()?;
        let block = (rest[0], rest[HEAD_BYTES..HEAD_BYTES + length].to_vec());
        rest = &rest[HEAD_BYTES + length + CHECK_BYTES..];
        Some(block)
    };
    iter::from_fn(next).collect()
}

/// A file of these blocks, each with the check that is right for it where it stands.
pub fn sealed(start: &[u8], descriptor: &MatchDescriptor, blocks: &[(u8, Vec<u8>)]) -> Vec<u8> {
    let mut file = start.to_vec();
    for (kind, payload) in blocks {
        let from = file.len();
        file.push(*kind);
        file.extend_from_slice(&u32::try_from(payload.len()).expect("short").to_le_bytes());
        file.extend_from_slice(payload);
        let of = if from == START_BYTES { [0; 32] } else { *descriptor.digest().as_bytes() };
        let check = Digest::derived("retick 2026 replay block v3", &[&of, &(from as u64).to_le_bytes(), &file[from..]]);
        file.extend_from_slice(&check.as_bytes()[..CHECK_BYTES]);
    }
    file
}

/// The payload of an end: ticks, checksums, key frames, where the index stands, and the chain's head.
pub fn end(counts: [u64; 3], index_offset: u64, chain_head: Digest) -> Vec<u8> {
    let numbers = counts.into_iter().chain([index_offset]).flat_map(u64::to_le_bytes);
    numbers.chain(*chain_head.as_bytes()).collect()
}

/// Where each block begins.
pub fn offsets(file: &[u8]) -> Vec<(u8, usize)> {
    let mut at = START_BYTES;
    let place = |(kind, payload): (u8, Vec<u8>)| {
        let offset = at;
        at += HEAD_BYTES + payload.len() + CHECK_BYTES;
        (kind, offset)
    };
    blocks(file).into_iter().map(place).collect()
}
