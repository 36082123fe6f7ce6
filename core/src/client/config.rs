//! What a client is to do: modes, transport, input delay, budgets of a turn, and presets.

use super::Preparation;
use crate::runtime::Capabilities;
use crate::session::{InputRetention, PresentationPolicy, Recording, RemotePrediction, Retention, SessionPolicy};

/// Default of [`ClientConfig::max_steps_per_turn`] (N4).
pub const DEFAULT_MAX_STEPS_PER_TURN: u16 = 4;
/// Default of [`DelayBudget::max_rollbacks_per_second`].
pub const DEFAULT_MAX_ROLLBACKS_PER_SECOND: u16 = 6;
/// Default of [`DelayBudget::max_rollback_ticks`].
pub const DEFAULT_MAX_ROLLBACK_TICKS: u16 = 4;
/// The checksum cadence, in ticks, that a room of [`ClientConfig::mobile`] clients is given: the smaller checkpoint window
/// then still holds a cadence and a second of round trip.
pub const MOBILE_CHECKSUM_CADENCE_TICKS: u32 = 60;

/// Whether the client predicts (N5).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum PredictionMode {
    /// It shows a predicted present and rolls back.
    #[default]
    Always,
    /// It shows confirmed states alone; input still flows.
    ConfirmedOnly,
}

/// What the transport below loses (N2).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Transport {
    /// Nothing while it lives, and it keeps the order: each input is sent once.
    #[default]
    Reliable,
    /// Messages to the room may be lost or reordered: each message repeats unconfirmed inputs, as many as fit a datagram.
    Lossy,
}

/// Ticks between the present and the newest sampled input (N3). The room's limit, which stands in the descriptor, bounds it.
///
/// A delay makes the present lag and never an input late: inputs go out as the pace wants them. So each tick of delay is a tick
/// less to predict, and a change of it repeats or skips no tick's input.
#[doc(alias = "frame delay")]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InputDelay {
    /// Always so many ticks.
    Fixed(u16),
    /// As few ticks as keep to a budget, judged once a second.
    Auto {
        /// Least ticks.
        min_ticks: u16,
        /// Most ticks.
        max_ticks: u16,
        /// What is tolerated before the delay grows.
        budget: DelayBudget,
    },
}

impl Default for InputDelay {
    fn default() -> Self {
        InputDelay::Fixed(0)
    }
}

/// What a player is to see of mispredictions and of its own substitutions (N3).
///
/// Mispredictions are too many when there are more in a second than the budget says *and* they are deeper, on the mean: shallow
/// ones are not seen, and rare ones are forgiven. The delay then grows to what the measured round trip and jitter call for, or
/// by one tick where it is there already. Every own substitution beyond the budget sends the inputs, and only them, a tick earlier.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DelayBudget {
    /// Most rollbacks in a second.
    pub max_rollbacks_per_second: u16,
    /// The mean depth of rollbacks, in ticks, that is not seen.
    pub max_rollback_ticks: u16,
    /// Most own ticks in a second that the room had to substitute.
    pub max_substitutions_per_second: u16,
}

impl Default for DelayBudget {
    fn default() -> Self {
        DelayBudget {
            max_rollbacks_per_second: DEFAULT_MAX_ROLLBACKS_PER_SECOND,
            max_rollback_ticks: DEFAULT_MAX_ROLLBACK_TICKS,
            max_substitutions_per_second: 0,
        }
    }
}

/// What a client is to the match.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ClientRole {
    /// It holds a seat.
    #[default]
    Player,
    /// It watches: holds no seat, sends no input, shows confirmed states alone, and reports nothing (A14).
    Observer,
    /// The room's own referee (A13): watches like an observer, and reports checksums, donates snapshots and says how the match ended.
    /// Only a room that runs it lets it speak; in any other it is an observer.
    Referee,
}

/// What a client is to do. The defaults are those of the spec.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ClientConfig {
    /// Whether it plays or watches.
    pub role: ClientRole,
    /// Most ticks that are predicted ahead of the confirmed frontier (S3).
    pub prediction_window_ticks: u16,
    /// Most ticks for which a checkpoint is kept (S1).
    pub checkpoint_window_ticks: u32,
    /// Which of those are kept (S5).
    pub retention: Retention,
    /// How the inputs of other seats are guessed (S4).
    pub remote_prediction: RemotePrediction,
    /// Whether it predicts at all (N5).
    pub mode: PredictionMode,
    /// Ticks between sampling an input and the tick that it is for (N3).
    pub input_delay: InputDelay,
    /// Most newly predicted ticks in one turn (N4).
    pub max_steps_per_turn: u16,
    /// Most confirmed frames applied in one turn; `None` for no bound (N6). With a bound, it times the turns in a second must be
    /// larger than the tick rate, or a backlog never shrinks: [`ClientStats::backlog_is_stuck`](super::ClientStats) tells.
    pub max_confirmed_frames_per_turn: Option<u32>,
    /// What the transport loses.
    pub transport: Transport,
    /// What the game needs of its runtime.
    pub requires: Capabilities,
    /// Whether confirmed frames come out as events, for a recorder.
    pub recording: Recording,
    /// Which confirmed frames the session keeps itself (S5).
    pub input_retention: InputRetention,
    /// What becomes of the game's presentation events (K10).
    pub presentation: PresentationPolicy,
    /// Whether the game prepares a match before its session is built (N7).
    pub preparation: Preparation,
}

impl Default for ClientConfig {
    fn default() -> Self {
        let SessionPolicy {
            prediction_window_ticks,
            checkpoint_window_ticks,
            retention,
            remote_prediction,
            requires,
            recording,
            input_retention,
            presentation,
            ..
        } = SessionPolicy::default();
        ClientConfig {
            role: ClientRole::default(),
            prediction_window_ticks,
            checkpoint_window_ticks,
            retention,
            remote_prediction,
            mode: PredictionMode::default(),
            input_delay: InputDelay::default(),
            max_steps_per_turn: DEFAULT_MAX_STEPS_PER_TURN,
            max_confirmed_frames_per_turn: None,
            transport: Transport::default(),
            requires,
            recording,
            input_retention,
            presentation,
            preparation: Preparation::default(),
        }
    }
}

impl ClientConfig {
    /// For a game with large states on a phone: half the checkpoints, frames kept for as long as those, and turns of at most eight
    /// confirmed frames, one rollback and two predictions. The room must be given [`MOBILE_CHECKSUM_CADENCE_TICKS`], or as small a
    /// cadence: with the default one the client refuses it, for the checkpoints don't hold a cadence and a round trip. No replay
    /// can be exported of it.
    #[must_use]
    pub fn mobile() -> ClientConfig {
        ClientConfig {
            prediction_window_ticks: 8,
            checkpoint_window_ticks: 128,
            input_delay: InputDelay::Auto { min_ticks: 1, max_ticks: 3, budget: DelayBudget::default() },
            max_steps_per_turn: 2,
            max_confirmed_frames_per_turn: Some(8),
            input_retention: InputRetention::Last(128),
            ..ClientConfig::default()
        }
    }
}
