//! Replays: the confirmed frames of a match with its identity and checksums, recorded, verified and watched (R1–R4).
//!
//! Only the confirmed timeline is recorded. A file is a header and a run of blocks, each closed by a check, so what a crash leaves
//! behind is readable up to its last whole block. [`Recorder`] writes, [`verify`] and [`Verifier`] re-simulate and compare,
//! [`ReplayPlayer`] goes to any state of it (R3), [`difference`] says where two of them part. `docs/replay-format.md` has every
//! byte.
//!
//! The game here is that of the [crate's page](crate).
//!
//! ```
//! # mod race {
//! #     include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/race.rs"));
//! # }
//! use race::{descriptor, factory, frame};
//! use retick_core::replay::{Recorder, Replay, Verdict, verify};
//! use retick_core::runtime::RuntimeFactory;
//! use retick_core::seat::SeatSet;
//! use retick_core::session::{Budget, Recording, Session, SessionEvent, SessionPolicy};
//! use retick_core::tick::Tick;
//!
//! let policy = SessionPolicy { recording: Recording::Frames, checksum_cadence_ticks: 2, ..SessionPolicy::default() };
//! let mut session = Session::new(factory().create(&descriptor())?, &descriptor(), policy, SeatSet::EMPTY)?;
//! let mut recorder = Recorder::new(factory().manifest(), &descriptor());
//! for tick in 0..5 {
//!     session.confirm(&frame(tick, [10, 20]))?;
//! }
//! session.advance(Budget { confirmed_frames: usize::MAX, target: Tick::ZERO })?;
//! while let Some(event) = session.poll_event() {
//!     match event {
//!         SessionEvent::Confirmed(frame) => recorder.push_frame(&frame),
//!         SessionEvent::Checksum { tick, checksum } => recorder.push_checksum(tick, checksum),
//!         SessionEvent::RolledBack { .. } => {}
//!     }
//! }
//! recorder.finish();
//! let file = recorder.take_bytes();
//!
//! assert_eq!(Replay::parse(&file)?.ticks(), Tick::new(5));
//! assert!(matches!(verify(&file, &factory()), Verdict::Verified { checksums: 3, .. }));
//! // A file that lost its end is still worth what it holds.
//! assert!(matches!(verify(&file[..file.len() - 1], &factory()), Verdict::Incomplete { .. }));
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```

mod diff;
mod error;
mod expected;
mod file;
mod framing;
mod player;
mod recorder;
mod refused;
mod run;
mod section;
#[cfg(feature = "signing")]
mod signature;
mod stepper;
mod verify;

pub use diff::{Difference, MatchPart, difference};
pub use error::{BrokenChain, ReplayEnd, ReplayError};
pub use expected::Expected;
pub use file::Replay;
pub use framing::REPLAY_VERSION;
pub use player::{ReplayPlayer, SeekError};
pub use recorder::{DEFAULT_FLUSH_INTERVAL_TICKS, DEFAULT_KEY_FRAME_INTERVAL_TICKS, Recorder, RecorderOptions};
pub use refused::{IdentityMismatch, Refused};
pub use section::MAX_FRAMES_PER_BLOCK;
#[cfg(feature = "signing")]
pub use signature::{ReplayPublicKey, ReplaySigningKey};
pub use verify::{ChecksumMismatch, Verdict, Verifier, verify, verify_expecting};
