//! Records a match: the confirmed timeline in, the bytes of a file out (R1, R4).

use alloc::vec::Vec;

use bincode::Encode;

use super::framing::{MAGIC, REPLAY_VERSION, Seal, kind};
use super::section::{
    ChecksumSection, End, EndSection, FramesSection, Header, IndexEntry, IndexSection, KeyFrameSection,
    MAX_FRAMES_PER_BLOCK, MAX_KEY_FRAMES,
};
use crate::codec::wire::List;
use crate::digest::{Checksum, Digest};
use crate::frame::{Frame, FrameChain, FrameRunWriter};
use crate::identity::{IdentityManifest, MatchDescriptor};
use crate::snapshot::{Origin, Snapshot};
use crate::tick::Tick;

/// A block of frames is closed once they have so many bytes, before its time.
const FRAMES_BYTES: usize = 1 << 20;

/// Ticks for which the chain's head is remembered: a checksum may come so many frames late, and still become a key frame.
const REMEMBERED_HEADS: u64 = 256;

/// How much a crash may cost, and how much a jump may.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RecorderOptions {
    /// After every how many ticks what was recorded comes out as a whole block; a crash loses less than that. At least 1, and at
    /// most [`MAX_FRAMES_PER_BLOCK`]; what is beyond is taken as the nearest of both.
    pub flush_interval_ticks: u32,
    /// Fewest ticks from one key frame to the next, and so about the most that a seek steps through (R3); 0 for none at all.
    pub key_frame_interval_ticks: u64,
}

/// Default of [`RecorderOptions::flush_interval_ticks`]: a second at 60 Hz.
pub const DEFAULT_FLUSH_INTERVAL_TICKS: u32 = 60;
/// Default of [`RecorderOptions::key_frame_interval_ticks`]: half a minute at 60 Hz.
pub const DEFAULT_KEY_FRAME_INTERVAL_TICKS: u64 = 1_800;

const _: () = assert!(DEFAULT_FLUSH_INTERVAL_TICKS <= MAX_FRAMES_PER_BLOCK);

impl Default for RecorderOptions {
    fn default() -> Self {
        RecorderOptions {
            flush_interval_ticks: DEFAULT_FLUSH_INTERVAL_TICKS,
            key_frame_interval_ticks: DEFAULT_KEY_FRAME_INTERVAL_TICKS,
        }
    }
}

/// Records one generation of a match. It writes nothing itself: [`Recorder::take_bytes`] gives what is to be appended to the file.
/// Machines that record the same match with the same options write the same bytes, but for key frames, which only a machine that
/// still has the state can add.
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
    /// Bytes of the file that were taken before.
    taken: u64,
    seal: Seal,
    descriptor: Digest,
    options: RecorderOptions,
    chain: FrameChain,
    next: Tick,
    pending: FrameRunWriter,
    pending_first: Tick,
    /// Checksums of states that pending frames lead to: they stand behind those frames.
    pending_checksums: Vec<ChecksumSection>,
    last: Option<Frame>,
    checksums: u64,
    index: Vec<IndexEntry>,
    wanted: Option<(Tick, Checksum, Digest)>,
    /// The chain's heads after the newest ticks, each at its tick's remainder.
    heads: Vec<Digest>,
    is_finished: bool,
}

impl Recorder {
    /// Begins a recording of the match that `descriptor` describes, with the default options.
    #[must_use]
    pub fn new(manifest: &IdentityManifest, descriptor: &MatchDescriptor) -> Recorder {
        Recorder::with_options(manifest, descriptor, RecorderOptions::default())
    }

    /// The same with other options.
    #[must_use]
    pub fn with_options(
        manifest: &IdentityManifest,
        descriptor: &MatchDescriptor,
        options: RecorderOptions,
    ) -> Recorder {
        let flush_interval_ticks = options.flush_interval_ticks.clamp(1, MAX_FRAMES_PER_BLOCK);
        let mut recorder = Recorder {
            out: Vec::new(),
            taken: 0,
            seal: Seal::new(),
            descriptor: descriptor.digest(),
            options: RecorderOptions { flush_interval_ticks, ..options },
            chain: FrameChain::new(descriptor),
            next: Tick::ZERO,
            pending: FrameRunWriter::default(),
            pending_first: Tick::ZERO,
            pending_checksums: Vec::new(),
            last: None,
            checksums: 0,
            index: Vec::new(),
            wanted: None,
            heads: Vec::new(),
            is_finished: false,
        };
        recorder.out.extend_from_slice(MAGIC);
        recorder.out.extend_from_slice(&REPLAY_VERSION.to_le_bytes());
        let (manifest, descriptor_bytes) = (manifest.to_bytes(), descriptor.to_bytes());
        recorder.push_block(kind::HEADER, &Header { manifest: &manifest, descriptor: &descriptor_bytes });
        recorder.seal.bind(descriptor.digest());
        recorder
    }

    /// Adds the next confirmed frame. Frames of other ticks than the next are passed over, and so is everything behind the end:
    /// what is recorded has no gap.
    pub fn push_frame(&mut self, frame: &Frame) {
        if frame.tick() != self.next || self.is_finished {
            return;
        }
        if self.pending.count() == 0 {
            self.pending_first = frame.tick();
        }
        let base = self.last.as_ref().filter(|_| self.pending.count() > 0);
        self.pending.push(frame, base);
        self.chain.extend(frame);
        self.next = self.next.saturating_add(1);
        self.remember_head();
        match &mut self.last {
            Some(last) => last.copy_from(frame),
            None => self.last = Some(frame.clone()),
        }
        let is_due = self.next.index().is_multiple_of(u64::from(self.options.flush_interval_ticks));
        if is_due || self.pending.body().len() >= FRAMES_BYTES {
            self.flush();
        }
    }

    /// Adds the checksum of the confirmed `S(tick)`, best in the order in which a session tells them. It comes out with the frames
    /// that lead there.
    pub fn push_checksum(&mut self, tick: Tick, checksum: Checksum) {
        if self.is_finished {
            return;
        }
        self.pending_checksums.push(ChecksumSection { tick, checksum });
        if let Some(chain_head) = self.head_at(tick).filter(|_| self.is_key_frame_due(tick)) {
            self.wanted = Some((tick, checksum, chain_head));
        }
    }

    fn remember_head(&mut self) {
        let (place, head) = (place_of_head(self.next), self.chain.head());
        match self.heads.get_mut(place) {
            Some(remembered) => *remembered = head,
            // The first tick has no place of its own before the ring is full.
            None => self.heads.resize(place + 1, head),
        }
    }

    /// The chain's head over the frames before `tick`, if it was not long ago.
    fn head_at(&self, tick: Tick) -> Option<Digest> {
        let is_remembered = tick > Tick::ZERO && tick <= self.next && self.next.since(tick) < REMEMBERED_HEADS;
        is_remembered.then(|| self.heads.get(place_of_head(tick)).copied())?
    }

    fn is_key_frame_due(&self, tick: Tick) -> bool {
        let last = self.index.last().map_or(Tick::ZERO, |entry| entry.tick);
        let interval = self.options.key_frame_interval_ticks;
        interval > 0 && tick.since(last) >= interval && self.index.len() < MAX_KEY_FRAMES
    }

    /// The confirmed state that is due as a key frame: of the newest checksum, once enough ticks have passed. Whoever can export
    /// it gives it to [`Recorder::push_key_frame`]; if nobody can, the next one is wanted.
    pub fn wanted_key_frame(&self) -> Option<Tick> {
        self.wanted.as_ref().map(|(tick, ..)| *tick)
    }

    /// Adds the key frame that is wanted, from its snapshot, and says whether it was taken. Any other snapshot is not: one of
    /// another tick, match or checksum, and one of a world that was promoted.
    pub fn push_key_frame(&mut self, snapshot: &Snapshot) -> bool {
        let wanted = self.wanted.filter(|(tick, checksum, _)| {
            (*tick, *checksum, self.descriptor) == (snapshot.tick(), snapshot.checksum(), snapshot.descriptor_digest())
        });
        let Some((tick, checksum, chain_head)) = wanted.filter(|_| snapshot.origin() == Origin::Match) else {
            return false;
        };
        self.wanted = None;
        self.flush();
        let (state_bytes, blocks) = snapshot.packed_state();
        self.index.push(IndexEntry { tick, offset: self.taken + self.out.len() as u64 });
        let section = KeyFrameSection { tick, checksum, chain_head, state_bytes, blocks: &blocks };
        self.push_block(kind::KEY_FRAME, &section);
        true
    }

    /// Lets everything so far come out in whole blocks, so that a crash from here on loses none of it.
    pub fn flush(&mut self) {
        if self.pending.count() > 0 {
            let run = core::mem::take(&mut self.pending);
            let section = FramesSection { first: self.pending_first, count: run.count(), body: run.body() };
            self.push_block(kind::FRAMES, &section);
            self.pending = run;
            self.pending.clear();
        }
        let mut checksums = core::mem::take(&mut self.pending_checksums);
        self.checksums += checksums.len() as u64;
        for section in checksums.drain(..) {
            self.push_block(kind::CHECKSUM, &section);
        }
        self.pending_checksums = checksums;
    }

    /// Ends the recording: the file says from here on that it is complete.
    pub fn finish(&mut self) {
        if self.begin_end() {
            self.end();
        }
    }

    /// Ends the recording with the authority's word for it (R1): that these are the frames of this match, and all of them.
    #[cfg(feature = "signing")]
    pub fn finish_signed(&mut self, key: &super::ReplaySigningKey) {
        if self.begin_end() {
            let claim = super::signature::Claim {
                descriptor: self.descriptor,
                ticks: self.next,
                chain_head: self.chain.head(),
            };
            self.push_block(kind::SIGNATURE, &key.sign(&claim).to_section());
            self.end();
        }
    }

    fn begin_end(&mut self) -> bool {
        if core::mem::replace(&mut self.is_finished, true) {
            return false;
        }
        self.wanted = None;
        self.flush();
        true
    }

    fn end(&mut self) {
        let index_offset = self.taken + self.out.len() as u64;
        let entries = List(core::mem::take(&mut self.index));
        let key_frames = entries.0.len() as u64;
        self.push_block(kind::INDEX, &IndexSection { entries });
        let (ticks, checksums, chain_head) = (self.next.index(), self.checksums, self.chain.head());
        let end = End { ticks, checksums, key_frames, index_offset, chain_head };
        self.push_block(kind::END, &EndSection::from(end));
    }

    /// What was recorded since the last call in whole blocks, to be appended to the file.
    #[must_use]
    pub fn take_bytes(&mut self) -> Vec<u8> {
        self.taken += self.out.len() as u64;
        core::mem::take(&mut self.out)
    }

    /// How many bytes [`Recorder::take_bytes`] would give.
    pub fn ready_bytes(&self) -> usize {
        self.out.len()
    }

    /// The tick of the frame that comes next: how many were recorded.
    pub fn ticks(&self) -> Tick {
        self.next
    }

    /// The head of the frame chain so far.
    pub fn chain_head(&self) -> Digest {
        self.chain.head()
    }

    fn push_block<T: Encode>(&mut self, kind: u8, payload: &T) {
        self.seal.push_block(&mut self.out, self.taken, kind, payload);
    }
}

fn place_of_head(tick: Tick) -> usize {
    usize::try_from(tick.index() % REMEMBERED_HEADS).unwrap_or(0)
}
