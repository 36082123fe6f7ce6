//! A replay in memory, as far as its file is whole (R1).

use alloc::vec::Vec;

use super::error::{BrokenChain, ReplayEnd, ReplayError};
use super::framing::{Blocks, MAGIC, Next, REPLAY_VERSION, kind};
use super::run::Run;
use super::section::{
    ChecksumSection, End, EndSection, FramesSection, Header, IndexEntry, IndexSection, KeyFrameSection,
    MAX_FRAMES_PER_BLOCK, MAX_KEY_FRAMES, decode,
};
use crate::codec::wire::WireError;
use crate::digest::{Checksum, Digest};
use crate::frame::{Frame, FrameChain, FrameError};
use crate::identity::{IdentityManifest, MatchDescriptor};
use crate::tick::Tick;

/// A replay in memory, as far as its file is whole. Frames and states stay in the form in which they were recorded, so that a
/// file takes no more memory than a small multiple of its own size; [`Replay::frames`] decodes them one by one.
#[derive(Clone, Debug)]
pub struct Replay {
    manifest: IdentityManifest,
    descriptor: MatchDescriptor,
    runs: Vec<Run>,
    ticks: Tick,
    checksums: Vec<(Tick, Checksum)>,
    key_frames: Vec<KeyFrame>,
    end: ReplayEnd,
    chain_head: Option<Digest>,
    skipped_sections: u64,
    #[cfg(feature = "signing")]
    signature: Option<super::signature::ReplaySignature>,
}

/// A key frame, its state still packed.
#[derive(Clone, Debug)]
struct KeyFrame {
    entry: IndexEntry,
    checksum: Checksum,
    chain_head: Digest,
    payload: Vec<u8>,
}

/// What was read of a file that is not at its end.
#[derive(Default)]
struct Reading {
    index: Option<(u64, IndexSection)>,
    end: Option<End>,
}

/// Why reading stops at a block.
enum Stop {
    Damaged,
    Unknown(u8),
}

impl From<FrameError> for Stop {
    fn from(_: FrameError) -> Stop {
        Stop::Damaged
    }
}

impl From<WireError> for Stop {
    fn from(_: WireError) -> Stop {
        Stop::Damaged
    }
}

impl Replay {
    /// Reads a file. Whatever follows the last whole block is left out, and [`Replay::end`] says so.
    ///
    /// # Errors
    /// [`ReplayError`] when the header can't be read, or a section must be understood that is not.
    pub fn parse(bytes: &[u8]) -> Result<Replay, ReplayError> {
        let (mut replay, mut blocks) = Replay::open(bytes)?;
        replay.read(&mut blocks)?;
        Ok(replay)
    }

    /// Reads the header alone: enough to refuse a replay of another game before anything of it is decoded.
    pub(super) fn open(bytes: &[u8]) -> Result<(Replay, Blocks<'_>), ReplayError> {
        let body = bytes.strip_prefix(MAGIC).ok_or(ReplayError::NotAReplay)?;
        let (version, _) = body.split_first_chunk().ok_or(ReplayError::Header)?;
        let found = u16::from_le_bytes(*version);
        if found != REPLAY_VERSION {
            return Err(ReplayError::Version { found });
        }
        let mut blocks = Blocks::new(bytes);
        let Next::Block(first) = blocks.next() else { return Err(ReplayError::Header) };
        if first.kind != kind::HEADER {
            return Err(ReplayError::Header);
        }
        let header: Header<'_> = decode(first.payload).map_err(|_| ReplayError::Header)?;
        let manifest = IdentityManifest::from_bytes(header.manifest)?;
        let descriptor = MatchDescriptor::from_bytes(header.descriptor)?;
        if descriptor.identity() != manifest.identity() {
            return Err(ReplayError::OtherIdentity);
        }
        blocks.bind(descriptor.digest());
        let replay = Replay {
            manifest,
            descriptor,
            runs: Vec::new(),
            ticks: Tick::ZERO,
            checksums: Vec::new(),
            key_frames: Vec::new(),
            end: ReplayEnd::CutOff,
            chain_head: None,
            skipped_sections: 0,
            #[cfg(feature = "signing")]
            signature: None,
        };
        Ok((replay, blocks))
    }

    /// Reads everything behind the header.
    pub(super) fn read(&mut self, blocks: &mut Blocks<'_>) -> Result<(), ReplayError> {
        let mut reading = Reading::default();
        loop {
            let offset = blocks.offset();
            self.end = match (blocks.next(), reading.end) {
                (Next::Nothing, Some(_)) => ReplayEnd::Complete,
                (Next::Nothing | Next::Part, None) => ReplayEnd::CutOff,
                (Next::Block(block), None) => match self.take(block.kind, block.offset, block.payload, &mut reading) {
                    Ok(()) => continue,
                    Err(Stop::Unknown(kind)) => return Err(ReplayError::Section { kind }),
                    Err(Stop::Damaged) => ReplayEnd::Damaged { offset },
                },
                (Next::Damage, _) | (_, Some(_)) => ReplayEnd::Damaged { offset },
            };
            break;
        }
        self.chain_head = reading.end.map(|end| end.chain_head);
        Ok(())
    }

    fn take(&mut self, kind: u8, offset: u64, payload: &[u8], reading: &mut Reading) -> Result<(), Stop> {
        match kind {
            kind::FRAMES if reading.index.is_none() => self.take_frames(&decode(payload)?),
            kind::CHECKSUM if reading.index.is_none() => {
                let ChecksumSection { tick, checksum } = decode(payload)?;
                self.checksums.push((tick, checksum));
                Ok(())
            }
            kind::KEY_FRAME if reading.index.is_none() => self.take_key_frame(offset, payload),
            kind::INDEX if reading.index.is_none() => {
                let index: IndexSection = decode(payload)?;
                reading.index = Some((offset, index));
                Ok(())
            }
            kind::END => self.take_end(decode::<EndSection>(payload)?.into(), reading),
            kind::HEADER..=kind::LAST_REQUIRED => Err(Stop::Damaged),
            #[cfg(feature = "signing")]
            kind::SIGNATURE if self.signature.is_none() => {
                self.signature = Some(super::signature::ReplaySignature::from_section(decode(payload)?));
                Ok(())
            }
            kind::FIRST_OPTIONAL.. => {
                self.skipped_sections += 1;
                Ok(())
            }
            unknown => Err(Stop::Unknown(unknown)),
        }
    }

    /// Takes a run whose every frame decodes.
    fn take_frames(&mut self, section: &FramesSection<'_>) -> Result<(), Stop> {
        let end = section.first.checked_add(u64::from(section.count)).ok_or(Stop::Damaged)?;
        if section.first != self.ticks || section.count > MAX_FRAMES_PER_BLOCK || section.count == 0 {
            return Err(Stop::Damaged);
        }
        self.runs.push(Run::decoded(section, &self.descriptor)?);
        self.ticks = end;
        Ok(())
    }

    fn take_key_frame(&mut self, offset: u64, payload: &[u8]) -> Result<(), Stop> {
        let section: KeyFrameSection<'_> = decode(payload)?;
        let last = self.key_frames.last().map(|key_frame| key_frame.entry.tick);
        if last.is_some_and(|last| section.tick <= last)
            || section.tick > self.ticks
            || self.key_frames.len() == MAX_KEY_FRAMES
        {
            return Err(Stop::Damaged);
        }
        let entry = IndexEntry { tick: section.tick, offset };
        let (checksum, chain_head) = (section.checksum, section.chain_head);
        self.key_frames.push(KeyFrame { entry, checksum, chain_head, payload: payload.to_vec() });
        Ok(())
    }

    /// Takes the end, if everything that it counts was there.
    fn take_end(&mut self, end: End, reading: &mut Reading) -> Result<(), Stop> {
        let (at, index) = reading.index.as_ref().ok_or(Stop::Damaged)?;
        let counted = (end.ticks, end.checksums, end.key_frames, end.index_offset);
        let found = (self.ticks.index(), self.checksums.len() as u64, self.key_frames.len() as u64, *at);
        let listed = index.entries.iter().eq(self.key_frames.iter().map(|key_frame| &key_frame.entry));
        if counted != found || !listed {
            return Err(Stop::Damaged);
        }
        reading.end = Some(end);
        Ok(())
    }

    /// How many ticks it has.
    pub fn ticks(&self) -> Tick {
        self.ticks
    }

    /// What the match was made of.
    pub fn manifest(&self) -> &IdentityManifest {
        &self.manifest
    }

    /// The match.
    pub fn descriptor(&self) -> &MatchDescriptor {
        &self.descriptor
    }

    /// The confirmed frames, from tick 0 on, decoded one by one.
    pub fn frames(&self) -> impl Iterator<Item = Frame> + '_ {
        self.runs.iter().flat_map(|run| {
            let mut decoder = run.decoder(&self.descriptor);
            // Every run decoded when it was taken.
            core::iter::from_fn(move || decoder.next_frame().and_then(|decoded| decoded.ok().cloned()))
        })
    }

    /// Hands over the frames of the ticks from `from` on, before `to`, in buffers that are used again.
    pub fn each_frame(&self, from: Tick, to: Tick, mut take: impl FnMut(&Frame)) {
        let Ok(()) = self.try_each_frame(from, to, |frame| {
            take(frame);
            Ok::<(), core::convert::Infallible>(())
        });
    }

    /// The same, until `take` has enough.
    pub(super) fn try_each_frame<E>(
        &self,
        from: Tick,
        to: Tick,
        mut take: impl FnMut(&Frame) -> Result<(), E>,
    ) -> Result<(), E> {
        let first = self.runs.partition_point(|run| run.end() <= from);
        for run in self.runs.iter().skip(first).take_while(|run| run.first < to) {
            let mut decoder = run.decoder(&self.descriptor);
            // Every run decoded when it was taken.
            while let Some(Ok(frame)) = decoder.next_frame() {
                if frame.tick() >= to {
                    return Ok(());
                }
                if frame.tick() >= from {
                    take(frame)?;
                }
            }
        }
        Ok(())
    }

    /// The recorded checksums, each of the state `S(tick)`.
    pub fn checksums(&self) -> &[(Tick, Checksum)] {
        &self.checksums
    }

    /// The states that stand in the file as key frames (R3).
    pub fn key_frames(&self) -> impl ExactSizeIterator<Item = Tick> + '_ {
        self.key_frames.iter().map(|key_frame| key_frame.entry.tick)
    }

    /// How many sections were passed over: of kinds that nobody has to understand, and this reader does not.
    pub fn skipped_sections(&self) -> u64 {
        self.skipped_sections
    }

    /// How the file ends.
    pub fn end(&self) -> ReplayEnd {
        self.end
    }

    /// The head of the frame chain as the file's end states it.
    pub fn chain_head(&self) -> Option<Digest> {
        self.chain_head
    }

    /// Holds the frames against the heads of their chain that stand in the file, at each key frame and at its end (A12, R1).
    ///
    /// # Errors
    /// [`BrokenChain`] at the first that differs.
    pub fn check_chain(&self) -> Result<(), BrokenChain> {
        let at_end = self.chain_head.map(|head| (self.ticks, head));
        let at_key_frames = self.key_frames.iter().map(|key_frame| (key_frame.entry.tick, key_frame.chain_head));
        let (mut chain, mut from) = (FrameChain::new(&self.descriptor), Tick::ZERO);
        for (tick, expected) in at_key_frames.chain(at_end) {
            self.each_frame(from, tick, |frame| chain.extend(frame));
            from = tick;
            let found = chain.head();
            if found != expected {
                return Err(BrokenChain { tick, expected, found });
            }
        }
        Ok(())
    }

    /// The newest key frame of a state up to `S(tick)`: the state's tick, and its number.
    pub(super) fn key_frame_before(&self, tick: Tick) -> Option<(Tick, usize)> {
        let after = self.key_frames.partition_point(|key_frame| key_frame.entry.tick <= tick);
        let number = after.checked_sub(1)?;
        Some((self.key_frames.get(number)?.entry.tick, number))
    }

    /// What each key frame says the checksum of its state is.
    pub(super) fn key_frame_checksums(&self) -> impl Iterator<Item = (Tick, Checksum)> + '_ {
        self.key_frames.iter().map(|key_frame| (key_frame.entry.tick, key_frame.checksum))
    }

    /// The canonical bytes of a key frame's state, if they have the checksum that it states.
    pub(super) fn key_frame_state(&self, number: usize) -> Option<Vec<u8>> {
        decode::<KeyFrameSection<'_>>(&self.key_frames.get(number)?.payload).ok()?.state()
    }

    /// The key that claims to have signed it; nothing here has proved it, but
    /// [`Expected::signer`](super::Expected::signer) does.
    #[cfg(feature = "signing")]
    pub fn claimed_signer(&self) -> Option<super::ReplayPublicKey> {
        self.signature.as_ref()?.claimed_key().ok()
    }

    #[cfg(feature = "signing")]
    pub(super) fn signature(&self) -> Option<&super::signature::ReplaySignature> {
        self.signature.as_ref()
    }
}
