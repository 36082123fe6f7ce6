//! What a simulated match observed: plain data, which the checkers judge and which tests may doctor.

use retick_authority::room::{RoomEvent, RoomStats, SeatStats};
use retick_core::client::{ClientConfig, ClientEvent, ClientStats, ClientStatus, EndReason};
use retick_core::digest::{Checksum, Digest};
use retick_core::event::{EventKey, EventLife};
use retick_core::frame::Frame;
use retick_core::identity::MatchDescriptor;
use retick_core::runtime::Capabilities;
use retick_core::seat::Seat;
use retick_core::session::{DroppedEvents, Progress, Standing};
use retick_core::tick::{Moment, Tick};
use retick_core::wire::RoomRules;

use crate::net::LinkStats;
use crate::strict::{StrictCounters, Violation};

/// One turn of one client, as it was afterwards.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TurnSample {
    /// The authority tick that the clock had moved to.
    pub at: Tick,
    /// When it began.
    pub began: Moment,
    /// Where the client said that it stood.
    pub status: ClientStatus,
    /// The input delay in force.
    pub input_delay_ticks: u16,
    /// Whether the client said that its backlog can't shrink.
    pub backlog_is_stuck: bool,
    /// Ticks confirmed and applied.
    pub confirmed: Tick,
    /// Ticks whose frames were received.
    pub received: Tick,
    /// The present.
    pub head: Tick,
    /// The next tick to sample.
    pub next_input: Tick,
    /// Frames that waited before the turn.
    pub queued_frames: usize,
    /// Checkpoints kept.
    pub kept_checkpoints: usize,
    /// How the session stood to the room, which decides what it keeps.
    pub standing: Standing,
    /// What the turn did.
    pub progress: Progress,
}

/// A checksum report, as it left a client.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReportSent {
    /// The state: `n` for `S(n)`.
    pub tick: Tick,
    /// Its checksum.
    pub checksum: Checksum,
    /// Ticks that the client had confirmed and applied at that moment.
    pub confirmed: Tick,
}

/// A rollback, with where the session stood before it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RollbackSeen {
    /// The authority tick that the clock had moved to.
    pub at: Tick,
    /// The first wrong tick.
    pub from: Tick,
    /// The present before it.
    pub to: Tick,
    /// The present before the turn.
    pub head_before: Tick,
    /// The oldest checkpoint before the turn.
    pub oldest_checkpoint: Option<Tick>,
}

/// A presentation event that came out of a client.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EventSeen {
    /// The authority tick that the clock had moved to.
    pub at: Tick,
    /// Where the event stood.
    pub life: EventLife,
    /// Its identity.
    pub key: EventKey,
    /// Its bytes.
    pub payload: Vec<u8>,
}

/// Everything observed of one real client.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ClientRecord {
    /// Its seat.
    pub seat: Seat,
    /// What it was told to do.
    pub config: ClientConfig,
    /// Its turns since tick 0 began.
    pub turns: Vec<TurnSample>,
    /// Ticks whose input it sampled, in order.
    pub sampled: Vec<Tick>,
    /// The frames that it applied as confirmed, in order.
    pub frames: Vec<Frame>,
    /// The checksums of confirmed states that its session gave.
    pub checksums: Vec<(Tick, Checksum)>,
    /// The reports that it sent.
    pub reports: Vec<ReportSent>,
    /// Its rollbacks.
    pub rollbacks: Vec<RollbackSeen>,
    /// All other events, with the authority tick.
    pub events: Vec<(Tick, ClientEvent)>,
    /// Its presentation events, polled as soon as they were there.
    pub presented: Vec<EventSeen>,
    /// The presentation events that its session dropped.
    pub dropped_events: DroppedEvents,
    /// The last confirmed state at the end, with its checksum.
    pub last_state: Option<(Tick, Checksum)>,
    /// The projection of the present at the end.
    pub projection: Vec<u8>,
    /// The head of its frame chain.
    pub chain_head: Option<Digest>,
    /// Its own counts.
    pub stats: ClientStats,
    /// Why it was over, if it was.
    pub end: Option<EndReason>,
    /// What the link to the room did to inputs.
    pub up: LinkStats,
    /// What the link from the room did.
    pub down: LinkStats,
    /// Most bytes that were under way to it at once.
    pub most_bytes_under_way: usize,
    /// What its runtime counted, if it was a strict one.
    pub strict: Option<StrictCounters>,
    /// Every breach of the runtime's contract, if it was a strict one.
    pub violations: Vec<Violation>,
}

impl ClientRecord {
    /// The states of the snapshots from which its session was built, in order (A7).
    pub fn hydrations(&self) -> impl Iterator<Item = Tick> {
        self.events.iter().filter_map(|(_, event)| match event {
            ClientEvent::Hydrated { tick, .. } => Some(*tick),
            _ => None,
        })
    }
}

/// Everything observed of one raw seat.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RawRecord {
    /// Its seat.
    pub seat: Seat,
    /// The frames that it was sent, in order.
    pub frames: Vec<Frame>,
    /// Desyncs that it was told of: the state, and every seat's value.
    pub desyncs: Vec<(Tick, Vec<(Seat, Checksum)>)>,
    /// How often the room's bytes made no sense to it.
    pub malformed: u64,
}

/// Everything observed of a match. The seed reproduces all of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MatchReport {
    /// The seed of the network.
    pub seed: u64,
    /// What was played.
    pub descriptor: MatchDescriptor,
    /// The room's rules.
    pub rules: RoomRules,
    /// Abilities of the runtime.
    pub capabilities: Capabilities,
    /// Authority ticks that passed.
    pub authority_ticks: Tick,
    /// The authority's log.
    pub frames: Vec<Frame>,
    /// For each tick, the authority tick at which the room confirmed it.
    pub confirm_times: Vec<Tick>,
    /// The real clients, in the order of their seats.
    pub clients: Vec<ClientRecord>,
    /// The raw seats, in the order of their seats.
    pub raw_seats: Vec<RawRecord>,
    /// What the room counted.
    pub room: RoomStats,
    /// What the room counted about each seat.
    pub seat_stats: Vec<SeatStats>,
    /// Inputs, one for each tick in each message, that reached the room from each seat.
    pub delivered_inputs: Vec<u64>,
    /// What the room told its driver, with the authority tick; tick 0 for all before it.
    pub room_events: Vec<(Tick, RoomEvent)>,
    /// The head of the room's frame chain.
    pub chain_head: Digest,
}

impl MatchReport {
    /// The real client in this seat.
    pub fn client(&self, seat: u8) -> Option<&ClientRecord> {
        self.clients.iter().find(|client| client.seat.number() == seat)
    }

    /// The authority tick at which the room confirmed `tick`.
    pub fn confirmed_at(&self, tick: u64) -> Option<u64> {
        self.confirm_times.get(usize::try_from(tick).ok()?).map(|time| time.index())
    }

    /// The ticks in whose frames any seat is flagged as substituted.
    pub fn flagged_ticks(&self) -> Vec<u64> {
        let flagged = |frame: &&Frame| !frame.substituted().is_empty();
        self.frames.iter().filter(flagged).map(|frame| frame.tick().index()).collect()
    }

    /// Desync notices that the room gave out.
    pub fn desyncs(&self) -> u64 {
        self.room.desyncs
    }

    /// Rollbacks of all clients together.
    pub fn rollbacks(&self) -> u64 {
        self.clients.iter().map(|client| client.rollbacks.len() as u64).sum()
    }
}
