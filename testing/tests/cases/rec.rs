//! REC, the recording of the replays' cases: two seats, TALLY, `zig`, 600 ticks, cadence 120, recorded from a real session; and a
//! game whose steps are counted.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use retick_core::config::SessionConfig;
use retick_core::digest::{Checksum, Digest};
use retick_core::frame::{Frame, SeatFrame};
use retick_core::identity::{IdentityManifest, MatchDescriptor};
use retick_core::replay::{Recorder, RecorderOptions};
use retick_core::rng::SessionSeed;
use retick_core::runtime::{
    AdvanceError, Capabilities, Checkpoint, CheckpointError, CreateError, HydrateError, Keep, Output, Runtime,
    RuntimeFactory, StepBatch,
};
use retick_core::seat::{ControlEpoch, Generation, Presence, Seat, SeatCount, SeatSet};
use retick_core::session::{Budget, Recording, Session, SessionEvent, SessionPolicy};
use retick_core::tick::Tick;
use retick_testing::fixtures::{TallyView, pack_tally, tally_descriptor, tally_factory};

use crate::support::zig_of;

pub const TICKS: u64 = 600;
pub const CADENCE: u32 = 120;
pub const FLUSH: u32 = 60;
/// What the cases give for S(600).
pub const FINAL_SUM: [i64; 2] = [-2, 5];
pub const FINAL_MIX: u32 = 0x8336_4AF0;

/// The frame of a tick in which both seats play `input`.
pub fn frame(tick: u64, input: impl Fn(u8, u64) -> i32) -> Frame {
    let mut frame = Frame::new(Generation(0), Tick::new(tick));
    for seat in 0..2 {
        let packed = pack_tally(input(seat, tick));
        let (presence, epoch) = (Presence::Human, ControlEpoch(1));
        frame.push_seat(SeatFrame { input: Some(&packed), substituted: false, presence, epoch });
    }
    frame
}

/// Options with key frames at every second report tick.
pub fn options() -> RecorderOptions {
    RecorderOptions { flush_interval_ticks: FLUSH, key_frame_interval_ticks: u64::from(CADENCE) * 2 }
}

/// A session of this match that hands out its frames.
pub fn session(factory: &dyn RuntimeFactory, descriptor: &MatchDescriptor) -> Session {
    let policy =
        SessionPolicy { recording: Recording::Frames, checksum_cadence_ticks: CADENCE, ..SessionPolicy::default() };
    let runtime = factory.create(descriptor).expect("a match of TALLY");
    Session::new(runtime, descriptor, policy, SeatSet::EMPTY).expect("a valid policy")
}

/// Plays the next tick of a session.
pub fn play(session: &mut Session, frame: &Frame) {
    session.confirm(frame).expect("the next tick");
    session.advance(Budget { confirmed_frames: 1, target: Tick::ZERO }).expect("TALLY does not fault");
}

/// A recording of what a session of `factory`'s game plays, and the checksums of its report ticks.
pub fn record(
    factory: &dyn RuntimeFactory,
    descriptor: &MatchDescriptor,
    options: RecorderOptions,
    input: impl Fn(u8, u64) -> i32,
) -> (Vec<u8>, Vec<(Tick, Checksum)>) {
    let mut session = session(factory, descriptor);
    let mut recorder = Recorder::with_options(factory.manifest(), descriptor, options);
    let mut checksums = vec![];
    for tick in 0..TICKS {
        play(&mut session, &frame(tick, &input));
        while let Some(event) = session.poll_event() {
            match event {
                SessionEvent::Confirmed(frame) => recorder.push_frame(&frame),
                SessionEvent::Checksum { tick, checksum } => {
                    recorder.push_checksum(tick, checksum);
                    checksums.push((tick, checksum));
                }
                SessionEvent::RolledBack { .. } => panic!("nothing is predicted"),
            }
        }
        if let Some(wanted) = recorder.wanted_key_frame() {
            let snapshot = session.export_snapshot(wanted).expect("the last confirmed state");
            assert!(recorder.push_key_frame(&snapshot));
        }
    }
    recorder.finish();
    (recorder.take_bytes(), checksums)
}

/// The recording of these frames with checksums of somebody's choice.
pub fn record_with(
    manifest: &IdentityManifest,
    descriptor: &MatchDescriptor,
    checksums: &[(Tick, Checksum)],
    input: impl Fn(u8, u64) -> i32,
) -> Vec<u8> {
    let mut recorder = Recorder::with_options(manifest, descriptor, options());
    let mut checksums = checksums.iter().peekable();
    for tick in 0..TICKS {
        recorder.push_frame(&frame(tick, &input));
        while let Some((state, checksum)) = checksums.next_if(|(state, _)| state.index() == tick + 1) {
            recorder.push_checksum(*state, *checksum);
        }
    }
    recorder.finish();
    recorder.take_bytes()
}

/// REC of the plain TALLY.
pub fn rec() -> Vec<u8> {
    let factory = tally_factory();
    record(&factory, &tally_descriptor(&factory, 2, 1), options(), zig_of).0
}

/// What TALLY shows.
pub fn shown(projection: &[u8]) -> TallyView {
    TallyView::read(projection).expect("TALLY projects")
}

/// TALLY under a manifest and a config of a case's choice, with every step counted.
pub struct Counted {
    manifest: IdentityManifest,
    inner: Arc<dyn RuntimeFactory>,
    pub steps: Arc<AtomicU64>,
}

impl Counted {
    pub fn new(manifest: IdentityManifest) -> Counted {
        Counted { manifest, inner: Arc::new(tally_factory()), steps: Arc::default() }
    }

    pub fn steps(&self) -> u64 {
        self.steps.load(Ordering::Relaxed)
    }

    /// A match of two seats.
    pub fn descriptor(&self, config: &[u8]) -> MatchDescriptor {
        let (config, seats) = (SessionConfig::from_bytes(config), SeatCount::new(2));
        let seed = SessionSeed::from_u64(1);
        MatchDescriptor::new(&self.manifest, config.expect("short"), seed, seats.expect("two"))
    }
}

impl RuntimeFactory for Counted {
    fn manifest(&self) -> &IdentityManifest {
        &self.manifest
    }

    fn create(&self, descriptor: &MatchDescriptor) -> Result<Box<dyn Runtime>, CreateError> {
        let inner = self.inner.create(&tally_descriptor(self.inner.as_ref(), 2, 1))?;
        let (manifest, steps, descriptor) = (self.manifest.clone(), self.steps.clone(), descriptor.digest());
        Ok(Box::new(CountedRuntime { manifest, descriptor, inner, steps }))
    }
}

struct CountedRuntime {
    manifest: IdentityManifest,
    descriptor: Digest,
    inner: Box<dyn Runtime>,
    steps: Arc<AtomicU64>,
}

impl Runtime for CountedRuntime {
    fn manifest(&self) -> &IdentityManifest {
        &self.manifest
    }

    fn descriptor_digest(&self) -> Digest {
        self.descriptor
    }

    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    fn tick(&self) -> Tick {
        self.inner.tick()
    }

    fn advance(&mut self, batch: &StepBatch, output: &mut Output) -> Result<(), AdvanceError> {
        self.steps.fetch_add(batch.len() as u64, Ordering::Relaxed);
        self.inner.advance(batch, output)
    }

    fn keep(&mut self, keep: Keep, output: &mut Output) -> Result<(), AdvanceError> {
        self.inner.keep(keep, output)
    }

    fn restore(&mut self, checkpoint: Checkpoint) -> Result<(), CheckpointError> {
        self.inner.restore(checkpoint)
    }

    fn release(&mut self, checkpoint: Checkpoint) -> Result<(), CheckpointError> {
        self.inner.release(checkpoint)
    }

    fn export(
        &mut self,
        checkpoint: Checkpoint,
        offset: u64,
        max_bytes: usize,
        out: &mut Vec<u8>,
    ) -> Result<u64, CheckpointError> {
        self.inner.export(checkpoint, offset, max_bytes, out)
    }

    fn hydrate(&mut self, tick: Tick, canonical_state: &[u8]) -> Result<(), HydrateError> {
        self.inner.hydrate(tick, canonical_state)
    }
}

/// `zig` with another input of one seat in one tick.
pub fn zig_but(seat: Seat, tick: u64, by: i32) -> impl Fn(u8, u64) -> i32 {
    move |of, at| zig_of(of, at) + if (of, at) == (seat.number(), tick) { by } else { 0 }
}
