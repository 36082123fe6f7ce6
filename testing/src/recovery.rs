//! How a client comes back after a long stall (N6): counted in frames and turns on the virtual clock, for tests and tables.
//!
//! ```
//! use retick_testing::recovery::{Stall, WINDOW_TICKS, recover};
//!
//! let recovery = recover(Stall::Frozen, Some(8));
//! // Eight confirmed frames, one rollback, two predictions.
//! assert!(recovery.worst_turn_frames <= 8 + u64::from(WINDOW_TICKS) + 2);
//! assert!(recovery.turns > 30);
//! ```

use std::sync::Arc;

use retick_core::client::{ClientConfig, ClientStatus, MOBILE_CHECKSUM_CADENCE_TICKS};
use retick_core::digest::Checksum;
use retick_core::frame::Frame;
use retick_core::tick::{Tick, TickRate};

use crate::fixtures::{tally_factory_at, zig_packed};
use crate::sim::{ClientRecord, ClientSetup, DEFAULT_LOBBY_TICKS, MatchSetup, TurnSample};

/// How long the stall is.
pub const STALL_TICKS: u64 = 300;
/// When it begins.
pub const STALL_AT: u64 = 300;
/// Ticks that the stalled client may predict, and so roll back in one turn.
pub const WINDOW_TICKS: u16 = 8;
/// Ticks that it may newly predict in one turn.
pub const STEPS_PER_TURN: u16 = 2;

const RATE: TickRate = TickRate::Hz30;
const LATENCY_TICKS: u64 = 2;
const LAST_TICK: u64 = STALL_AT + STALL_TICKS + 300;
/// The seat of the client that stalls.
const STALLED: usize = 3;

/// What stalls.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stall {
    /// The client's process: every message arrives late, in one burst.
    Frozen,
    /// Its transport: the room sends the missed history on reconnect.
    Dropped,
}

/// How a client came back.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Recovery {
    /// Frames that it stepped until it was live again: confirmed, resimulated and predicted.
    pub frames: u64,
    /// Turns that it took until then.
    pub turns: u64,
    /// Frames of the turn that stepped most of them.
    pub worst_turn_frames: u64,
    /// Most confirmed frames that one turn applied.
    pub most_confirmed_frames: usize,
    /// Most frames that waited.
    pub most_queued_frames: usize,
    /// Most checkpoints that were kept while it came back.
    pub most_checkpoints: usize,
    /// The authority's frames of the whole match.
    pub match_frames: Vec<Frame>,
    /// The checksums that the client confirmed.
    pub checksums: Vec<(Tick, Checksum)>,
}

/// Four clients of TALLY at 30 Hz, two ticks from the room, of which one stalls for 300 ticks and takes a turn a tick with this
/// budget of confirmed frames, otherwise with the settings of [`ClientConfig::mobile`].
///
/// # Panics
/// When an invariant of the match breaks, or the client does not come back.
pub fn recover(stall: Stall, budget: Option<u32>) -> Recovery {
    let moment = |tick: u64| RATE.moment_of(Tick::new(DEFAULT_LOBBY_TICKS + tick));
    let (begin, end) = (STALL_AT, STALL_AT + STALL_TICKS);
    let player = || ClientSetup::new(zig_packed).latency_ticks(RATE, LATENCY_TICKS);
    let mut stalled = player();
    stalled.config = ClientConfig {
        max_confirmed_frames_per_turn: budget,
        prediction_window_ticks: WINDOW_TICKS,
        max_steps_per_turn: STEPS_PER_TURN,
        ..ClientConfig::mobile()
    };
    let setup = MatchSetup::new(Arc::new(tally_factory_at::<30>())).last_tick(LAST_TICK);
    let setup = setup.checksum_cadence_ticks(MOBILE_CHECKSUM_CADENCE_TICKS);
    let setup = (0..STALLED).fold(setup, |setup, _| setup.client(player()));
    let setup = match stall {
        Stall::Frozen => setup.client(stalled.frozen(moment(begin)..moment(end))),
        Stall::Dropped => setup.client(stalled).disconnect(begin, STALLED).reconnect(end, STALLED),
    };
    let mut sim = setup.build();
    sim.run_until_confirmed(LAST_TICK);
    let report = sim.finish();
    let client = &report.clients[STALLED];
    let turns = turns_to_recover(client, end);
    Recovery {
        frames: turns.iter().map(|turn| turn.progress.steps as u64).sum(),
        turns: turns.len() as u64,
        worst_turn_frames: turns.iter().map(|turn| turn.progress.steps as u64).max().unwrap_or(0),
        most_confirmed_frames: turns.iter().map(|turn| turn.progress.confirmed_frames).max().unwrap_or(0),
        most_queued_frames: turns.iter().map(|turn| turn.queued_frames).max().unwrap_or(0),
        most_checkpoints: turns.iter().map(|turn| turn.kept_checkpoints).max().unwrap_or(0),
        match_frames: report.frames.clone(),
        checksums: client.checksums.clone(),
    }
}

/// The turns from the first one that got something new until the client was live, and stayed so.
fn turns_to_recover(client: &ClientRecord, stall_end: u64) -> &[TurnSample] {
    let after = client.turns.partition_point(|turn| turn.at.index() < stall_end);
    let turns = &client.turns[after..];
    let first = turns.iter().position(|turn| turn.received.index() > STALL_AT + 60);
    let turns = &turns[first.unwrap_or_else(|| panic!("no frame arrived after the stall"))..];
    let live = turns.iter().position(|turn| turn.status == ClientStatus::Live);
    &turns[..=live.unwrap_or_else(|| panic!("the client never came back"))]
}
