//! What comes out of a client: messages for the room, and what happened for the game.

use alloc::vec::Vec;

use super::{HydrationError, MatchResult};
use crate::digest::{Checksum, Digest, Identity};
use crate::frame::FrameError;
use crate::identity::DescriptorError;
use crate::runtime::CreateError;
use crate::seat::{Generation, Seat};
use crate::session::{ConfirmError, SessionError, SessionEvent, SessionFault};
use crate::tick::Tick;
use crate::wire::{CloseReason, Finding, MessageError, NoSnapshot, PlaceTick, Refusal, SeatView, Witness};

/// What comes out of a client.
#[must_use]
#[derive(Debug)]
pub enum Output<'a> {
    /// Send these bytes as one message.
    Transmit(&'a [u8]),
    /// Tell the game.
    Event(ClientEvent),
}

/// What happened, for the game.
#[must_use]
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ClientEvent {
    /// The room gave it a seat, and the match is the one that it has loaded.
    Joined {
        /// The seat.
        seat: Seat,
        /// Whether it held the seat before.
        resumed: bool,
    },
    /// The room lets it watch, and the match is the one that it has loaded (A14).
    Watching {
        /// Whether it watched before.
        resumed: bool,
    },
    /// Tick 0 of the generation has begun.
    Started,
    /// Who is there has changed, or whether the room is locked (A15).
    Roster {
        /// Whether only who has a seat gets in.
        locked: bool,
        /// Every seat, in order.
        seats: Vec<SeatView>,
    },
    /// The match's clock stands still (A15).
    Paused {
        /// The first tick that is not confirmed before it goes on.
        tick: Tick,
    },
    /// The match's clock goes on (A15).
    Unpaused,
    /// The room has another session config, and the match starts over at tick 0 (A10).
    Reconfigured {
        /// The generation that is played now.
        generation: Generation,
    },
    /// The match has a result (A15).
    Settled(MatchResult),
    /// Something on the confirmed timeline.
    Session(SessionEvent),
    /// Machines disagree about a state (A8).
    Desync {
        /// The state: `n` for `S(n)`.
        tick: Tick,
        /// Every seat's report.
        values: Vec<(Seat, Checksum)>,
    },
    /// The room asked both sides of a desync, and this came of it (A8).
    Found(DesyncFinding),
    /// The room's referee has said which checksum of a state is right, and who reported another one (A13).
    Verdict {
        /// The state: `n` for `S(n)`.
        tick: Tick,
        /// The right checksum.
        checksum: Checksum,
        /// Who is wrong.
        wrong: Vec<Seat>,
    },
    /// This client had come to another state than the match, and goes on from the referee's (A13).
    Repaired {
        /// The state that was replaced: `n` for `S(n)`.
        tick: Tick,
    },
    /// Another seat's ephemeral (A9).
    Ephemeral {
        /// Whose.
        seat: Seat,
        /// Its bytes.
        payload: Vec<u8>,
    },
    /// A part of the snapshot arrived from which the session is going to be built (A7).
    Hydrating {
        /// Bytes that are there.
        received_bytes: u32,
        /// Bytes of the encoded snapshot.
        total_bytes: u32,
    },
    /// The session was built from a snapshot, and goes on from there (A7).
    Hydrated {
        /// The state: `n` for `S(n)`.
        tick: Tick,
        /// Whether the room knew of a report of this state by another seat than the donor's.
        verified: bool,
    },
    /// A snapshot was not taken; the session is as before, and the room sends another one, or gives up.
    HydrationFailed {
        /// Why.
        error: HydrationError,
    },
    /// The room has no snapshot just now. It goes on looking for one, sends frames instead, or gives up.
    NoSnapshot {
        /// Why.
        cause: NoSnapshot,
    },
    /// The service is about to stop (V1). The match goes on until the room says that it ended.
    Draining {
        /// How long the room still lives, in milliseconds.
        millis: u32,
    },
    /// It is over; close the transport.
    Ended(EndReason),
}

/// What came of asking both sides of a desync: [`Finding`], with bytes of its own.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DesyncFinding {
    /// The state whose reports differ: `n` for `S(n)`.
    pub report: Tick,
    /// Who was asked.
    pub witnesses: (Witness, Witness),
    /// Where their states differ, if that was found.
    pub place: Option<DesyncPlace>,
    /// Seats that come to another state than they reported when they play the same frames again.
    pub contradicted: Vec<Seat>,
    /// Who did not answer in time.
    pub silent: Vec<Witness>,
}

/// The first bytes that differ: [`Place`](crate::wire::Place), with bytes of its own.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DesyncPlace {
    /// In which state.
    pub tick: PlaceTick,
    /// Where in the state's canonical bytes.
    pub address: u64,
    /// The bytes of the first witness.
    pub ours: Vec<u8>,
    /// The bytes of the other one.
    pub theirs: Vec<u8>,
}

impl DesyncFinding {
    /// A finding that outlives its message.
    pub fn of(finding: &Finding<'_>) -> DesyncFinding {
        let place = finding.place.map(|place| DesyncPlace {
            tick: place.tick,
            address: place.address,
            ours: place.ours.to_vec(),
            theirs: place.theirs.to_vec(),
        });
        let (contradicted, silent) = (finding.contradicted.0.clone(), finding.silent.0.clone());
        DesyncFinding { report: finding.report, witnesses: finding.witnesses, place, contradicted, silent }
    }
}

impl core::fmt::Display for DesyncFinding {
    /// What was found, on one line: `reports of S(181) differ: seat 0 and seat 2 first differ in S(130) at 0x18..0x1a: 0a 00 / 0b 00`.
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let (one, other) = self.witnesses;
        write!(f, "reports of S({}) differ: {one} and {other} ", self.report)?;
        match &self.place {
            Some(place) => {
                let first = match place.tick {
                    PlaceTick::First(tick) => write!(f, "first differ in S({tick})"),
                    PlaceTick::Reported(tick) => write!(f, "differ in S({tick})"),
                };
                first?;
                let bytes = place.ours.len().max(place.theirs.len()) as u64;
                write!(f, " at {:#x}..{:#x}:", place.address, place.address.saturating_add(bytes))?;
                place.ours.iter().try_for_each(|byte| write!(f, " {byte:02x}"))?;
                f.write_str(" /")?;
                place.theirs.iter().try_for_each(|byte| write!(f, " {byte:02x}"))?;
            }
            None => f.write_str("show no difference in their states")?,
        }
        self.contradicted
            .iter()
            .try_for_each(|seat| write!(f, "; seat {seat} does not come to what it reported again"))?;
        self.silent.iter().try_for_each(|witness| write!(f, "; {witness} did not answer"))
    }
}

/// Why a client is over. Only [`EndReason::Closed`] with [`CloseReason::Left`] was asked for.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum EndReason {
    /// The room refused it.
    #[error("the room refused: {0}")]
    Refused(Refusal),
    /// The room ended the connection.
    #[error("the room closed the connection: {0}")]
    Closed(CloseReason),
    /// The room's match is not the loaded game's.
    #[error("the room plays identity {room}, but {loaded} is loaded")]
    Identity {
        /// The room's identity.
        room: Identity,
        /// The loaded game's.
        loaded: Identity,
    },
    /// The room's descriptor is malformed.
    #[error("the room's descriptor: {0}")]
    Descriptor(DescriptorError),
    /// The descriptor changed, and not into a later generation of the same game.
    #[error("the match changed from {before} to {after}")]
    MatchChanged {
        /// Digest of the descriptor before.
        before: Digest,
        /// Digest of the descriptor now.
        after: Digest,
    },
    /// There is no runtime for the room's match.
    #[error("{0}")]
    Create(CreateError),
    /// There is no session for the room's match.
    #[error("{0}")]
    Session(SessionError),
    /// The window of checkpoints can't hold one checksum cadence and the slowest round trip, so this client could never donate a
    /// state that it reported (A7).
    #[error("a checkpoint window of {window_ticks} ticks, where cadence and slowest round trip take {needed_ticks}")]
    CheckpointWindow {
        /// Ticks that the window holds.
        window_ticks: u32,
        /// Ticks that it must hold.
        needed_ticks: u64,
    },
    /// The session faulted.
    #[error("{0}")]
    Fault(SessionFault),
    /// More came than is held while the game prepares the match: [`MAX_HELD_MESSAGES`](super::MAX_HELD_MESSAGES), or
    /// [`MAX_HELD_BYTES`](super::MAX_HELD_BYTES).
    #[error("the preparation took too long: more came than is held")]
    PreparationOverflow,
    /// The room sent bytes that are no message.
    #[error("the room sent a malformed message: {0}")]
    Message(MessageError),
    /// The room sent frames that do not decode.
    #[error("the room sent a malformed frame: {0}")]
    Frame(FrameError),
    /// The room sent a frame that does not follow on the last one.
    #[error("the room sent a frame out of order: {0}")]
    Order(ConfirmError),
    /// The room sent a message that has no place here.
    #[error("the room broke the protocol")]
    Protocol,
}
