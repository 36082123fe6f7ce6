//! The bytes of a replay, version 2: magic, version, then records.
//!
//! A record is its kind (1 byte), its length (4 bytes, little-endian), its payload, and 8 bytes of a running BLAKE3 over
//! everything up to here. A frames record begins with a self-contained frame, so each record is readable by itself.

use alloc::vec::Vec;

use bincode::{BorrowDecode, Encode};

use crate::codec::wire::{self, WireError};
use crate::digest::{Checksum, Digest};
use crate::frame::{Frame, FrameChain, FrameError, FrameKey, FrameRunReader, FrameRunWriter};
use crate::identity::{DescriptorError, IdentityManifest, ManifestError, MatchDescriptor};
use crate::tick::Tick;

const MAGIC: &[u8; 8] = b"RTKREPLY";
/// The version that is written and read. Version 1 is refused; there is no migration.
pub(super) const VERSION: u16 = 2;
/// Most frames in one record; fewer when they are large. Nothing changed in most of them, and those take no bytes: a count is
/// bounded by this alone.
const FRAMES_PER_RECORD: u32 = 60;
/// A record is closed once its frames have so many bytes.
const RECORD_BYTES: usize = 1 << 20;
/// Most bytes of one record's payload.
const MAX_RECORD_BYTES: usize = 16 << 20;
/// Bytes before a record's payload, and behind it.
const HEAD_BYTES: usize = 5;
const CHECK_BYTES: usize = 8;

const KIND_HEADER: u8 = 0;
const KIND_FRAMES: u8 = 1;
const KIND_CHECKSUM: u8 = 2;
const KIND_END: u8 = 3;

#[derive(Encode, BorrowDecode)]
struct Header<'a> {
    manifest: &'a [u8],
    descriptor: &'a [u8],
}

#[derive(Encode, BorrowDecode)]
struct FramesRecord<'a> {
    first: Tick,
    count: u32,
    body: &'a [u8],
}

#[derive(Encode, BorrowDecode)]
struct ChecksumRecord {
    tick: Tick,
    checksum: Checksum,
}

#[derive(Encode, BorrowDecode)]
struct EndRecord {
    ticks: Tick,
    chain_head: Digest,
}

/// The running check over everything written so far.
#[derive(Clone, Debug)]
struct RunningCheck(blake3::Hasher);

impl RunningCheck {
    fn new() -> RunningCheck {
        RunningCheck(blake3::Hasher::new_derive_key("retick 2026 replay record v2"))
    }

    fn over(&mut self, bytes: &[u8]) -> [u8; CHECK_BYTES] {
        self.0.update(bytes);
        let digest = self.0.finalize();
        let mut check = [0; CHECK_BYTES];
        check.copy_from_slice(&digest.as_bytes()[..CHECK_BYTES]);
        check
    }
}

/// Records one generation of a match. It writes nothing itself: [`Recorder::take_bytes`] gives what is to be appended to the file.
///
/// ```
/// # use retick_core::{config::SessionConfig, identity::*, input::InputSchema, rng::SessionSeed, seat::*, tick::*};
/// # use retick_core::frame::{Frame, SeatFrame};
/// # use retick_core::replay::{Recorder, Replay, ReplayEnd};
/// # let schema = InputSchema::builder("input/v1").boolean("jump").build().unwrap();
/// # let manifest = IdentityManifest::builder("native", 1, TickRate::Hz60).input_schema(schema).build().unwrap();
/// # let seats = SeatCount::new(1).unwrap();
/// # let descriptor = MatchDescriptor::new(&manifest, SessionConfig::empty(), SessionSeed::from_u64(1), seats);
/// let mut recorder = Recorder::new(&manifest, &descriptor);
/// let mut frame = Frame::new(Generation(0), Tick::ZERO);
/// frame.push_seat(SeatFrame { input: Some(&[1]), ..SeatFrame::default() });
/// recorder.push_frame(&frame);
/// recorder.finish();
/// let replay = Replay::parse(&recorder.take_bytes()).unwrap();
/// assert_eq!((replay.frames().next(), replay.end()), (Some(frame), ReplayEnd::Complete));
/// ```
#[derive(Debug)]
pub struct Recorder {
    out: Vec<u8>,
    check: RunningCheck,
    chain: FrameChain,
    next: Tick,
    pending: FrameRunWriter,
    pending_first: Tick,
    last: Option<Frame>,
}

impl Recorder {
    /// Begins a recording of the match that `descriptor` describes.
    #[must_use]
    pub fn new(manifest: &IdentityManifest, descriptor: &MatchDescriptor) -> Recorder {
        let mut recorder = Recorder {
            out: Vec::new(),
            check: RunningCheck::new(),
            chain: FrameChain::new(descriptor),
            next: Tick::ZERO,
            pending: FrameRunWriter::default(),
            pending_first: Tick::ZERO,
            last: None,
        };
        recorder.out.extend_from_slice(MAGIC);
        recorder.out.extend_from_slice(&VERSION.to_le_bytes());
        let (manifest, descriptor) = (manifest.to_bytes(), descriptor.to_bytes());
        recorder.push_record(KIND_HEADER, &Header { manifest: &manifest, descriptor: &descriptor });
        recorder
    }

    /// Adds the next confirmed frame. Frames of other ticks than the next are passed over: what is recorded has no gap.
    pub fn push_frame(&mut self, frame: &Frame) {
        if frame.tick() != self.next {
            return;
        }
        if self.pending.count() == 0 {
            self.pending_first = frame.tick();
        }
        let base = self.last.as_ref().filter(|_| self.pending.count() > 0);
        self.pending.push(frame, base);
        self.chain.extend(frame);
        self.next = self.next.saturating_add(1);
        match &mut self.last {
            Some(last) => last.copy_from(frame),
            None => self.last = Some(frame.clone()),
        }
        if self.pending.count() >= FRAMES_PER_RECORD || self.pending.body().len() >= RECORD_BYTES {
            self.flush();
        }
    }

    /// Adds the checksum of the confirmed `S(tick)`.
    pub fn push_checksum(&mut self, tick: Tick, checksum: Checksum) {
        self.flush();
        self.push_record(KIND_CHECKSUM, &ChecksumRecord { tick, checksum });
    }

    /// Closes the record of the frames so far, so that a crash from here on loses none of them.
    pub fn flush(&mut self) {
        if self.pending.count() == 0 {
            return;
        }
        let run = core::mem::take(&mut self.pending);
        let record = FramesRecord { first: self.pending_first, count: run.count(), body: run.body() };
        self.push_record(KIND_FRAMES, &record);
        self.pending = run;
        self.pending.clear();
    }

    /// Ends the recording: the file says from here on that it is complete.
    pub fn finish(&mut self) {
        self.flush();
        self.push_record(KIND_END, &EndRecord { ticks: self.next, chain_head: self.chain.head() });
    }

    /// What was recorded since the last call, to be appended to the file.
    #[must_use]
    pub fn take_bytes(&mut self) -> Vec<u8> {
        core::mem::take(&mut self.out)
    }

    /// The head of the frame chain so far.
    pub fn chain_head(&self) -> Digest {
        self.chain.head()
    }

    fn push_record<T: Encode>(&mut self, kind: u8, payload: &T) {
        let start = self.out.len();
        self.out.extend_from_slice(&[kind, 0, 0, 0, 0]);
        wire::encode_into(payload, &mut self.out);
        let length = u32::try_from(self.out.len() - start - HEAD_BYTES).unwrap_or(u32::MAX);
        self.out[start + 1..start + HEAD_BYTES].copy_from_slice(&length.to_le_bytes());
        let check = self.check.over(&self.out[start..]);
        self.out.extend_from_slice(&check);
    }
}

/// How a file ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReplayEnd {
    /// With its end record.
    Complete,
    /// Before its end record: the recording, or the copying, was cut off.
    CutOff,
    /// With a record that is damaged, at this byte; nothing from there on was read.
    Damaged {
        /// Where the damaged record begins.
        offset: usize,
    },
}

impl core::fmt::Display for ReplayEnd {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            ReplayEnd::Complete => f.write_str("complete"),
            ReplayEnd::CutOff => f.write_str("cut off"),
            ReplayEnd::Damaged { offset } => write!(f, "damaged at byte {offset}"),
        }
    }
}

/// Why bytes are not a replay.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ReplayError {
    /// They do not begin like a replay.
    #[error("not a replay")]
    NotAReplay,
    /// Another version.
    #[error("replay version {found}, where {VERSION} is read")]
    Version {
        /// The version that the file states.
        found: u16,
    },
    /// The header is cut off or damaged.
    #[error("the header is cut off or damaged")]
    Header,
    /// The manifest in the header is malformed.
    #[error("the manifest: {0}")]
    Manifest(#[from] ManifestError),
    /// The descriptor in the header is malformed.
    #[error("the descriptor: {0}")]
    Descriptor(#[from] DescriptorError),
    /// The descriptor is of another identity than the manifest.
    #[error("the descriptor is not of the manifest's identity")]
    OtherIdentity,
}

/// A replay in memory, as far as its file is whole. Frames stay in the form in which they were recorded, so that a file takes no
/// more memory than its own size; [`Replay::frames`] decodes them one by one.
#[derive(Clone, Debug)]
pub struct Replay {
    manifest: IdentityManifest,
    descriptor: MatchDescriptor,
    runs: Vec<Run>,
    ticks: Tick,
    checksums: Vec<(Tick, Checksum)>,
    end: ReplayEnd,
    chain_head: Option<Digest>,
}

/// The frames of one record.
#[derive(Clone, Debug)]
struct Run {
    first: Tick,
    count: u32,
    body: Vec<u8>,
}

impl Replay {
    /// Reads a file. Whatever follows the last whole record is left out, and [`Replay::end`] says so.
    ///
    /// # Errors
    /// [`ReplayError`] when not even the header can be read.
    pub fn parse(bytes: &[u8]) -> Result<Replay, ReplayError> {
        let (mut replay, mut records) = Replay::open(bytes)?;
        replay.read(&mut records);
        Ok(replay)
    }

    /// Reads the header alone: enough to refuse a replay of another game before anything of it is decoded.
    pub(super) fn open(bytes: &[u8]) -> Result<(Replay, Records<'_>), ReplayError> {
        let body = bytes.strip_prefix(MAGIC).ok_or(ReplayError::NotAReplay)?;
        let (version, _) = body.split_first_chunk().ok_or(ReplayError::Header)?;
        let found = u16::from_le_bytes(*version);
        if found != VERSION {
            return Err(ReplayError::Version { found });
        }
        let mut records = Records { bytes, offset: MAGIC.len() + 2, check: RunningCheck::new() };
        let Some(Ok((KIND_HEADER, payload))) = records.next() else { return Err(ReplayError::Header) };
        let header: Header<'_> = wire::decode(payload, MAX_RECORD_BYTES).map_err(|_| ReplayError::Header)?;
        let manifest = IdentityManifest::from_bytes(header.manifest)?;
        let descriptor = MatchDescriptor::from_bytes(header.descriptor)?;
        if descriptor.identity() != manifest.identity() {
            return Err(ReplayError::OtherIdentity);
        }
        let (runs, checksums) = (Vec::new(), Vec::new());
        let (ticks, end, chain_head) = (Tick::ZERO, ReplayEnd::CutOff, None);
        Ok((Replay { manifest, descriptor, runs, ticks, checksums, end, chain_head }, records))
    }

    pub(super) fn read(&mut self, records: &mut Records<'_>) {
        loop {
            let offset = records.offset;
            self.end = match records.next() {
                None if self.chain_head.is_none() => ReplayEnd::CutOff,
                None if offset == records.bytes.len() => ReplayEnd::Complete,
                Some(Ok((kind, payload))) if self.chain_head.is_none() && self.take(kind, payload).is_ok() => continue,
                _ => ReplayEnd::Damaged { offset },
            };
            return;
        }
    }

    fn take(&mut self, kind: u8, payload: &[u8]) -> Result<(), FrameError> {
        match kind {
            KIND_FRAMES => self.take_frames(&wire::decode(payload, MAX_RECORD_BYTES)?),
            KIND_CHECKSUM => {
                let ChecksumRecord { tick, checksum } = wire::decode(payload, MAX_RECORD_BYTES)?;
                self.checksums.push((tick, checksum));
                Ok(())
            }
            KIND_END => {
                let EndRecord { ticks, chain_head } = wire::decode(payload, MAX_RECORD_BYTES)?;
                if ticks != self.ticks() {
                    return Err(FrameError::Limit);
                }
                self.chain_head = Some(chain_head);
                Ok(())
            }
            // A kind that this version does not know may change what the others mean.
            _ => Err(FrameError::Limit),
        }
    }

    /// Takes a run whose every frame decodes.
    fn take_frames(&mut self, record: &FramesRecord<'_>) -> Result<(), FrameError> {
        let end = record.first.checked_add(u64::from(record.count)).ok_or(FrameError::Limit)?;
        if record.first != self.ticks || record.count > FRAMES_PER_RECORD {
            return Err(FrameError::Limit);
        }
        let mut decoder = RunDecoder::new(&self.descriptor, record.first, record.count, record.body);
        while let Some(decoded) = decoder.next_frame() {
            decoded?;
        }
        decoder.run.finish()?;
        self.runs.push(Run { first: record.first, count: record.count, body: record.body.to_vec() });
        self.ticks = end;
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
            let mut decoder = RunDecoder::new(&self.descriptor, run.first, run.count, &run.body);
            // Every run decoded when it was taken.
            core::iter::from_fn(move || decoder.next_frame().and_then(|decoded| decoded.ok().cloned()))
        })
    }

    /// The recorded checksums, each of the state `S(tick)`.
    pub fn checksums(&self) -> &[(Tick, Checksum)] {
        &self.checksums
    }

    /// How the file ends.
    pub fn end(&self) -> ReplayEnd {
        self.end
    }

    /// The head of the frame chain as the end record states it.
    pub fn chain_head(&self) -> Option<Digest> {
        self.chain_head
    }
}

/// Decodes one run with two frames: the one before, and the next.
struct RunDecoder<'a> {
    run: FrameRunReader<'a>,
    key: FrameKey,
    left: u32,
    is_first: bool,
    frame: Frame,
    before: Frame,
}

impl<'a> RunDecoder<'a> {
    fn new(descriptor: &MatchDescriptor, first: Tick, count: u32, body: &'a [u8]) -> RunDecoder<'a> {
        let (generation, seats) = (descriptor.generation(), descriptor.seats());
        RunDecoder {
            run: FrameRunReader::new(body),
            key: FrameKey { generation, tick: first, seats },
            left: count,
            is_first: true,
            frame: Frame::new(generation, first),
            before: Frame::new(generation, first),
        }
    }

    fn next_frame(&mut self) -> Option<Result<&Frame, FrameError>> {
        self.left = self.left.checked_sub(1)?;
        core::mem::swap(&mut self.frame, &mut self.before);
        let base = (!self.is_first).then_some(&self.before);
        let decoded = self.run.read(&mut self.frame, base, self.key);
        self.is_first = false;
        self.key.tick = self.key.tick.saturating_add(1);
        Some(decoded.map(|()| &self.frame))
    }
}

/// The records of a file, from the header on.
pub(super) struct Records<'a> {
    bytes: &'a [u8],
    offset: usize,
    check: RunningCheck,
}

impl<'a> Iterator for Records<'a> {
    type Item = Result<(u8, &'a [u8]), WireError>;

    /// The next record; `None` where the file ends, with or without a part of another record.
    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.bytes.get(self.offset..)?;
        let ([kind, length @ ..], _) = rest.split_first_chunk::<HEAD_BYTES>()?;
        let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
        if length > MAX_RECORD_BYTES {
            return Some(Err(WireError::TooLong { actual: length, limit: MAX_RECORD_BYTES }));
        }
        let covered = rest.get(..HEAD_BYTES + length)?;
        let check = rest.get(HEAD_BYTES + length..HEAD_BYTES + length + CHECK_BYTES)?;
        if self.check.over(covered) != check {
            return Some(Err(WireError::Malformed));
        }
        self.offset += HEAD_BYTES + length + CHECK_BYTES;
        Some(Ok((*kind, &covered[HEAD_BYTES..])))
    }
}
