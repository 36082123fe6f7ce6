//! What a session is asked to do, and what it says of it: its policy, the budget of a turn, progress and events (S1).

use alloc::boxed::Box;

use super::{InputRetention, PresentationPolicy, RemotePrediction, Retention};
#[cfg(doc)]
use super::{MAX_WAITING_EVENTS, Session};
use crate::digest::Checksum;
use crate::frame::Frame;
use crate::runtime::{Capabilities, StepFault};
use crate::seat::Seat;
use crate::tick::Tick;

/// Default of [`SessionPolicy::prediction_window_ticks`] (S3).
pub const DEFAULT_PREDICTION_WINDOW_TICKS: u16 = 8;
/// Default of [`SessionPolicy::checkpoint_window_ticks`] (S1).
pub const DEFAULT_CHECKPOINT_WINDOW_TICKS: u32 = 256;
/// Default of [`SessionPolicy::checksum_cadence_ticks`] (A8).
pub const DEFAULT_CHECKSUM_CADENCE_TICKS: u32 = 120;
const _: () = assert!(DEFAULT_CHECKPOINT_WINDOW_TICKS > DEFAULT_CHECKSUM_CADENCE_TICKS, "the window holds a cadence");

/// What a session is to do (S1). The defaults are those of the spec.
///
/// The most that a session catches up in one call is no part of it: it may change from call to call, and stands in the
/// [`Budget`] of each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SessionPolicy {
    /// Most ticks ahead of the confirmed frontier that are predicted; 0 is lockstep (S3).
    pub prediction_window_ticks: u16,
    /// Most ticks behind the frontier for which a checkpoint is kept (S5).
    pub checkpoint_window_ticks: u32,
    /// Which of those are kept (S5).
    pub retention: Retention,
    /// Every how many confirmed ticks a checksum comes out; the room's when networked (A8).
    pub checksum_cadence_ticks: u32,
    /// How the inputs of other seats are guessed (S4).
    pub remote_prediction: RemotePrediction,
    /// What the game needs of its runtime, checked at construction.
    pub requires: Capabilities,
    /// Whether confirmed frames come out as events, for a recorder (R4).
    pub recording: Recording,
    /// Which confirmed frames the session keeps itself (S5).
    pub input_retention: InputRetention,
    /// What becomes of the game's presentation events (K10).
    pub presentation: PresentationPolicy,
}

impl Default for SessionPolicy {
    fn default() -> Self {
        SessionPolicy {
            prediction_window_ticks: DEFAULT_PREDICTION_WINDOW_TICKS,
            checkpoint_window_ticks: DEFAULT_CHECKPOINT_WINDOW_TICKS,
            retention: Retention::default(),
            checksum_cadence_ticks: DEFAULT_CHECKSUM_CADENCE_TICKS,
            remote_prediction: RemotePrediction::default(),
            requires: Capabilities::default(),
            recording: Recording::default(),
            input_retention: InputRetention::default(),
            presentation: PresentationPolicy::default(),
        }
    }
}

/// Whether a session hands out the frames that it applied.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Recording {
    /// It keeps their buffers for the next ones.
    #[default]
    Off,
    /// Each comes out once as [`SessionEvent::Confirmed`].
    Frames,
}

/// What happened on the confirmed timeline, and what it cost, in order.
#[must_use]
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SessionEvent {
    /// A frame was applied as confirmed; only with [`Recording::Frames`].
    Confirmed(Box<Frame>),
    /// The checksum of the confirmed `S(tick)`, once for each report tick (A8).
    Checksum {
        /// The state: `n` for `S(n)`.
        tick: Tick,
        /// Its checksum.
        checksum: Checksum,
    },
    /// A misprediction was corrected.
    RolledBack {
        /// The first wrong tick: `S(from)` was restored.
        from: Tick,
        /// The present that was resimulated to.
        to: Tick,
    },
}

/// What one [`Session::advance`] may do: the maximum catch-up per call (S1, N6). A call applies at most
/// [`Budget::confirmed_frames`] frames, and steps no further than a prediction window beyond them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Budget {
    /// Most queued frames to apply; the others stay queued.
    pub confirmed_frames: usize,
    /// Where the caller wants the present: steps are predicted until `S(target)`, as far as the window reaches.
    pub target: Tick,
}

/// What one [`Session::advance`] did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Progress {
    /// Frames applied as confirmed.
    pub confirmed_frames: usize,
    /// Steps run in all: confirmed, resimulated and newly predicted.
    pub steps: usize,
    /// Ticks resimulated because of a misprediction; 0 without a rollback.
    pub resimulated: u64,
    /// Newly predicted ticks.
    pub predicted: u64,
    /// What keeps the present short of the target.
    pub held: Option<Held>,
}

/// What keeps a session from predicting further. No input is lost by it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Held {
    /// The prediction window is full (S3).
    WindowFull,
    /// Frames wait, but so do [`MAX_WAITING_EVENTS`], which nobody has polled.
    EventsWaiting,
    /// A local seat has submitted no input for this tick.
    InputMissing {
        /// The seat.
        seat: Seat,
        /// The tick.
        tick: Tick,
    },
    /// The game faults in this tick as predicted; a confirmed frame may still avert it (W5).
    PredictedFault {
        /// The tick.
        tick: Tick,
        /// What happened.
        fault: StepFault,
    },
}
