//! What a malicious participant does: it forges, repeats and damages messages, and lies about checksums and snapshots.

use std::num::NonZeroU32;

use retick_core::digest::{Checksum, Digest, Identity};
use retick_core::rng::{RngStream, SessionSeed};
use retick_core::seat::{ControlEpoch, Generation, Seat};
use retick_core::tick::Tick;
use retick_core::wire::{
    Answer, ClientMessage, Entry, Frames, Hello, InputRun, Inputs, InquiryId, NoSnapshot, PROTOCOL_VERSION, ReleaseTag,
    ResumeToken, SnapshotHeader, TransferId,
};

/// Messages of its own that it keeps to send again.
const KEPT_MESSAGES: usize = 64;
const TEN_THOUSAND: NonZeroU32 = NonZeroU32::new(10_000).expect("not zero");

/// What a liar is up to. An honest participant never asks it.
pub(super) struct Malice {
    rng: RngStream,
    /// How often it damages or repeats a message, in ten thousand.
    pub(super) chance: u32,
    pub(super) lies: bool,
    pub(super) spoils: bool,
    kept: Vec<Vec<u8>>,
}

impl Malice {
    pub(super) fn new(seed: u64, number: u32) -> Malice {
        let rng = RngStream::derive(&SessionSeed::from_u64(seed), &format!("malice {number}"));
        Malice { rng, chance: 0, lies: false, spoils: false, kept: Vec::new() }
    }

    /// It behaves from now on.
    pub(super) fn repent(&mut self) {
        (self.chance, self.lies, self.spoils) = (0, false, false);
    }

    /// What becomes of what its client sends.
    pub(super) fn spoil(&mut self, sent: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
        let mut spoiled = Vec::new();
        for bytes in sent {
            let mut bytes = self.lie(bytes);
            self.keep(&bytes);
            if self.rng.chance(self.chance, TEN_THOUSAND) {
                match self.rng.range(0..=3_u32) {
                    0 => spoiled.extend(self.repeat()),
                    1 => self.damage(&mut bytes),
                    2 => bytes.truncate(self.index(bytes.len())),
                    // Not sent at all.
                    _ => continue,
                }
            }
            spoiled.push(bytes);
        }
        spoiled
    }

    fn index(&mut self, length: usize) -> usize {
        let most = u32::try_from(length.saturating_sub(1)).unwrap_or(0);
        self.rng.range(0..=most) as usize
    }

    fn keep(&mut self, bytes: &[u8]) {
        if self.kept.len() < KEPT_MESSAGES {
            self.kept.push(bytes.to_vec());
        } else {
            let place = self.index(KEPT_MESSAGES);
            self.kept[place] = bytes.to_vec();
        }
    }

    fn repeat(&mut self) -> Option<Vec<u8>> {
        let place = self.index(self.kept.len());
        self.kept.get(place).cloned()
    }

    fn damage(&mut self, bytes: &mut [u8]) {
        let place = self.index(bytes.len());
        let bit = self.rng.range(0..=7_u32);
        bytes.iter_mut().skip(place).take(1).for_each(|byte| *byte ^= 1 << bit);
    }

    fn lie(&mut self, bytes: Vec<u8>) -> Vec<u8> {
        match ClientMessage::decode(&bytes) {
            Ok(ClientMessage::Report { generation, tick, checksum }) if self.lies => {
                let mut lie = *checksum.as_bytes();
                lie[0] ^= 1;
                encode(&ClientMessage::Report { generation, tick, checksum: Checksum::from_bytes(lie) })
            }
            Ok(ClientMessage::SnapshotChunk { transfer, index, bytes }) if self.spoils => {
                let mut bytes = bytes.to_vec();
                self.damage(&mut bytes);
                encode(&ClientMessage::SnapshotChunk { transfer, index, bytes: &bytes })
            }
            _ => bytes,
        }
    }

    /// A message that no honest client would send here.
    pub(super) fn forge(&mut self) -> Vec<u8> {
        let generation = Generation(self.rng.range(0..=2));
        let tick = Tick::new(u64::from(self.rng.range(0..=2_000_u32)));
        let number = self.rng.next_u64();
        let (transfer, index) = (TransferId(number % 8), self.rng.range(0..=3_u32));
        let junk = number.to_le_bytes().repeat(self.rng.range(1..=64_u32) as usize);
        let digest = Digest::of(&junk);
        let checksum = Checksum::of(&junk);
        let inputs = InputRun::new(2, &junk[..8]).unwrap_or_else(|| panic!("two inputs of four bytes"));
        match self.rng.range(0..=18_u32) {
            0 => junk,
            1 => {
                let epoch = ControlEpoch(self.rng.range(0..=6));
                encode(&ClientMessage::Inputs(Inputs { generation, epoch, first: tick, inputs }))
            }
            2 => encode(&ClientMessage::Report { generation, tick, checksum }),
            3 => encode(&ClientMessage::Command { generation, sequence: index, payload: &junk }),
            4 => encode(&ClientMessage::Ready { generation }),
            5 => {
                let byte_count = 1 + index * 1_000;
                let header = SnapshotHeader { transfer, generation, tick, checksum, byte_count, digest };
                encode(&ClientMessage::SnapshotOffer(header))
            }
            6 => encode(&ClientMessage::SnapshotChunk { transfer, index, bytes: &junk }),
            7 => encode(&ClientMessage::SnapshotProgress { transfer, next: index }),
            8 => encode(&ClientMessage::SnapshotFailed { transfer }),
            9 => encode(&ClientMessage::SnapshotRefused { transfer, cause: NoSnapshot::TooLarge }),
            10 => {
                let tag = ReleaseTag(number.to_le_bytes());
                let frames = Frames { generation, first: tick, count: 1 + index, complete: true, tag, body: &junk };
                encode(&ClientMessage::Tail(frames))
            }
            11 => encode(&ClientMessage::Pause { generation, paused: number.is_multiple_of(2) }),
            12 => encode(&ClientMessage::Reconfigure { generation, config: &junk }),
            13 => encode(&ClientMessage::Result { generation, tick, result: &junk[..8] }),
            14 => encode(&ClientMessage::Vote { ready: number.is_multiple_of(2) }),
            15 => encode(&ClientMessage::Ping { sent_micros: number, rollbacks: u32::MAX }),
            16 => {
                let answer = Answer::Bytes { total: number % 10_000, bytes: &junk[..8] };
                encode(&ClientMessage::Answer { inquiry: InquiryId(number % 8), answer })
            }
            17 => encode(&ClientMessage::Answer { inquiry: InquiryId(number % 8), answer: Answer::Unknown }),
            _ => self.repeat().unwrap_or(junk),
        }
    }

    /// A greeting that claims somebody else's seat.
    pub(super) fn forged_hello(&mut self, identity: Identity, seats: u8) -> Vec<u8> {
        let mut token = [0; 32];
        token.chunks_exact_mut(8).for_each(|chunk| chunk.copy_from_slice(&self.rng.next_u64().to_le_bytes()));
        let seat = Seat::new(self.rng.range(0..=u32::from(seats.saturating_sub(1))).try_into().unwrap_or(0));
        let seat = seat.unwrap_or_else(|| panic!("a seat below {seats}"));
        let (generation, next) = (Generation::default(), Tick::new(u64::from(self.rng.range(0..=900_u32))));
        let entry = Entry::Resume { seat, token: ResumeToken(token), generation, next, fence: Some(0) };
        encode(&ClientMessage::Hello(Hello { protocol: PROTOCOL_VERSION, identity, entry }))
    }
}

fn encode(message: &ClientMessage<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    message.encode_into(&mut bytes);
    bytes
}
