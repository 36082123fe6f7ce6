//! What is seen of a match, one thing at a time: plain data, which the checks judge and which tests doctor.

use retick_authority::log::Record;
use retick_authority::room::{ConnectionId, RoomEvent};
use retick_core::client::{ClientEvent, ClientStatus, EndReason};
use retick_core::digest::{Checksum, Digest};
use retick_core::event::{EventKey, EventLife};
use retick_core::frame::Frame;
use retick_core::seat::Generation;
use retick_core::tick::{Moment, Tick};
use retick_core::wire::{ClientMessage, RoomMessage};

use super::happening::Happening;
use super::schedule::Role;

/// One life of one participant: a process that is started anew is another one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Who {
    /// [`ActorPlan::number`](super::ActorPlan::number).
    pub actor: u32,
    /// How often it was started before.
    pub life: u32,
    /// What it is.
    pub role: Role,
}

impl Who {
    /// Whether the invariants hold for it.
    pub fn is_honest(self) -> bool {
        self.role != Role::Liar
    }
}

/// What one turn of a client left behind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TurnSeen {
    /// Where it says that it stands.
    pub status: ClientStatus,
    /// The generation that it plays.
    pub generation: Generation,
    /// Ticks confirmed and applied.
    pub confirmed: Tick,
    /// Ticks whose frames were received.
    pub received: Tick,
    /// The present.
    pub head: Tick,
    /// Its next input, if it holds a seat.
    pub next_input: Option<Tick>,
    /// Frames that wait.
    pub queued_frames: u64,
    /// Checkpoints kept.
    pub kept_checkpoints: u64,
    /// Presentation events that the session says it dropped though they were confirmed.
    pub dropped_events: u64,
    /// Ticks resimulated in this turn.
    pub resimulated: u64,
    /// Whether the prediction window was full.
    pub blocked: bool,
}

/// What the room's machine shows after each call of the clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RoomSeen {
    /// The machine's own clock.
    pub clock: Moment,
    /// The tick that the match's clock has reached.
    pub clock_tick: Option<Tick>,
    /// The first tick that is not confirmed.
    pub frontier: Tick,
    /// The first tick of the history.
    pub history_start: Tick,
    /// The generation.
    pub generation: Generation,
    /// Whether the clock stands still.
    pub paused: bool,
    /// Whether a donation runs.
    pub donating: bool,
    /// Whether the room waits for what its log lacks.
    pub recovering: bool,
    /// Records that are not safe yet.
    pub loose_records: u64,
}

/// What a participant is at the end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StandSeen {
    /// Whether it has left, or never was let in, or is over.
    pub is_over: bool,
    /// Where it says that it stands.
    pub status: Option<ClientStatus>,
    /// Its generation.
    pub generation: Generation,
    /// Ticks whose frames it has.
    pub received: Tick,
    /// Ticks confirmed and applied.
    pub confirmed: Tick,
    /// The checksum of the state before the confirmed frontier.
    pub state: Option<Checksum>,
    /// How many ticks it may be behind for its links' sake.
    pub slack_ticks: u64,
}

/// One thing that was seen.
#[derive(Clone, PartialEq, Debug)]
#[expect(missing_docs, reason = "what a field is, its name and type say")]
pub enum Seen {
    /// A run of the room begins, with the log's records up to this one; `run` counts the runs before.
    RoomUp { run: u32, kept: u64 },
    /// The room's machine died.
    RoomDown,
    /// The room's match is over, and its process with it.
    RoomOver,
    /// The room was called with its clock.
    RoomTurn(RoomSeen),
    /// A connection was opened at the room.
    Opened { connection: ConnectionId, who: Who },
    /// The room was told that a connection is gone.
    Lost { connection: ConnectionId },
    /// A message was handed to the room, which looked at it if it still has the connection.
    Handed { connection: ConnectionId, bytes: Vec<u8>, read: bool },
    /// A message left the room.
    Sent { to: Vec<ConnectionId>, bytes: Vec<u8> },
    /// A record was written.
    Record { sequence: u64, bytes: Vec<u8> },
    /// The records up to this one are safe.
    Synced { sequence: u64 },
    /// The room told its driver.
    Event(RoomEvent),
    /// Bytes that wait on the way to one participant.
    UnderWay { connection: ConnectionId, bytes: u64 },
    /// A participant's process begins.
    Began { who: Who },
    /// It sampled an input.
    Sampled { who: Who, generation: Generation, tick: Tick, input: Vec<u8> },
    /// It took a turn.
    Turn { who: Who, turn: TurnSeen },
    /// It applied a confirmed frame.
    Applied { who: Who, frame: Box<Frame> },
    /// Its session gave the checksum of a confirmed state.
    Checksum { who: Who, generation: Generation, tick: Tick, checksum: Checksum },
    /// It reported one.
    Report { who: Who, generation: Generation, tick: Tick, checksum: Checksum, confirmed: Tick },
    /// It rolled back.
    RolledBack { who: Who, from: Tick, to: Tick, head_before: Tick, oldest: Option<Tick> },
    /// A presentation event came out.
    Presented { who: Who, generation: Generation, life: EventLife, key: EventKey, payload: Vec<u8> },
    /// It requested a command.
    Requested { who: Who, payload: Vec<u8> },
    /// It sent an ephemeral with this mark in it.
    Marked { who: Who, mark: Vec<u8> },
    /// It told its game something else.
    Told { who: Who, event: ClientEvent },
    /// It is over.
    Ended { who: Who, reason: EndReason },
    /// Something of the schedule happened.
    Happened(Happening),
    /// Everything is healthy from here on.
    Healed,
    /// How a participant stands at the end.
    Stands { who: Who, stand: StandSeen },
}

/// What was seen, on a line for people: messages and records as what they say.
pub fn describe(seen: &Seen) -> String {
    match seen {
        Seen::Sent { to, bytes } => match RoomMessage::decode(bytes) {
            Ok(message) => format!("Sent to {to:?}: {message:?}"),
            Err(error) => format!("Sent to {to:?}: {} bytes that are no message: {error}", bytes.len()),
        },
        Seen::Handed { connection, bytes, read } => match ClientMessage::decode(bytes) {
            Ok(message) => format!("Handed from {connection:?}, read: {read}: {message:?}"),
            Err(error) => format!("Handed from {connection:?}: {} bytes that are no message: {error}", bytes.len()),
        },
        Seen::Record { sequence, bytes } => match Record::decode(bytes) {
            Ok(Record::Frame { tick, .. }) => format!("Record {sequence}: the frame of tick {tick}"),
            Ok(record) => format!("Record {sequence}: {record:?}"),
            Err(error) => format!("Record {sequence}: {error}"),
        },
        other => format!("{other:?}"),
    }
}

/// The digest of everything seen so far.
#[derive(Clone, Debug)]
pub(super) struct TraceDigest {
    state: Digest,
    pending: Vec<u8>,
    frame: Vec<u8>,
}

/// Bytes that are gathered before they are digested.
const BLOCK_BYTES: usize = 64 << 10;

impl TraceDigest {
    pub(super) fn new() -> TraceDigest {
        TraceDigest { state: Digest::of(b""), pending: Vec::new(), frame: Vec::new() }
    }

    /// Takes one thing in. Messages, records and frames go in as their bytes, all else as it is written for people.
    pub(super) fn add(&mut self, at: Moment, seen: &Seen) {
        use std::io::Write as _;
        self.pending.extend_from_slice(&at.as_nanos().to_le_bytes());
        let out = &mut self.pending;
        // Writing into memory does not fail.
        let _ = match seen {
            Seen::Handed { connection, bytes, .. } => {
                out.write_all(&[&connection.0.to_le_bytes(), &bytes[..]].concat())
            }
            Seen::Sent { to, bytes } => {
                to.iter().for_each(|connection| out.extend_from_slice(&connection.0.to_le_bytes()));
                out.write_all(bytes)
            }
            Seen::Record { sequence, bytes } => out.write_all(&[&sequence.to_le_bytes(), &bytes[..]].concat()),
            Seen::Applied { who, frame } => {
                self.frame.clear();
                frame.encode_full(&mut self.frame);
                out.extend_from_slice(&who.actor.to_le_bytes());
                out.write_all(&self.frame)
            }
            Seen::Sampled { who, tick, input, .. } => {
                out.extend_from_slice(&who.actor.to_le_bytes());
                out.extend_from_slice(&tick.index().to_le_bytes());
                out.write_all(input)
            }
            Seen::Turn { who, turn } => {
                let TurnSeen { confirmed, received, head, queued_frames, kept_checkpoints, .. } = turn;
                let numbers = [confirmed.index(), received.index(), head.index(), *queued_frames, *kept_checkpoints];
                out.extend_from_slice(&who.actor.to_le_bytes());
                numbers.iter().for_each(|number| out.extend_from_slice(&number.to_le_bytes()));
                Ok(())
            }
            Seen::RoomTurn(room) => {
                let clock_tick = room.clock_tick.map_or(u64::MAX, Tick::index);
                let numbers = [room.clock.as_nanos(), clock_tick, room.frontier.index(), room.loose_records];
                numbers.iter().for_each(|number| out.extend_from_slice(&number.to_le_bytes()));
                Ok(())
            }
            Seen::UnderWay { bytes, .. } => out.write_all(&bytes.to_le_bytes()),
            other => write!(out, "{other:?}"),
        };
        if self.pending.len() >= BLOCK_BYTES {
            self.fold();
        }
    }

    fn fold(&mut self) {
        self.state = Digest::derived("retick simulated trace", &[self.state.as_bytes(), &self.pending]);
        self.pending.clear();
    }

    pub(super) fn finish(mut self) -> Digest {
        self.fold();
        self.state
    }
}
