//! A seat without a client: the test says which message arrives at which authority tick.

use retick_core::digest::{Checksum, Identity};
use retick_core::seat::{ControlEpoch, Generation, Seat, SeatCount};
use retick_core::tick::Tick;
use retick_core::wire::{
    Claim, ClientMessage, Entry, Hello, InputRun, Inputs, PROTOCOL_VERSION, ResumeToken, RoomMessage, Welcome,
};

use super::frames::FrameReader;
use super::observed::RawRecord;

/// One thing that a raw seat says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RawSend {
    /// Inputs for consecutive ticks, under the seat's current epoch.
    Inputs {
        /// Tick of the first.
        first: Tick,
        /// The inputs, packed.
        inputs: Vec<Vec<u8>>,
    },
    /// A checksum report of the seat's current generation.
    Report {
        /// The state.
        tick: Tick,
        /// Its checksum.
        checksum: Checksum,
    },
    /// An explicit leave.
    Leave,
    /// Any bytes at all.
    Bytes(Vec<u8>),
}

/// What a raw seat says and when it arrives. It greets the room and says that it is ready by itself.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RawSeat {
    pub(super) sends: Vec<(Tick, RawSend)>,
}

impl RawSeat {
    /// A seat that never says anything.
    #[must_use]
    pub fn silent() -> RawSeat {
        RawSeat::default()
    }

    /// Adds something that arrives at authority tick `at`, behind what is there for that tick.
    #[must_use]
    pub fn send(mut self, at: u64, send: RawSend) -> RawSeat {
        self.sends.push((Tick::new(at), send));
        self
    }

    /// Adds the packed input of `tick`, arriving at authority tick `at`.
    #[must_use]
    pub fn input(self, at: u64, tick: u64, packed: Vec<u8>) -> RawSeat {
        self.send(at, RawSend::Inputs { first: Tick::new(tick), inputs: vec![packed] })
    }
}

/// A raw seat in a match.
#[derive(Debug)]
pub(super) struct RawPlayer {
    script: RawSeat,
    identity: Identity,
    seats: SeatCount,
    claim: Option<RawClaim>,
    reader: FrameReader,
    desyncs: Vec<(Tick, Vec<(Seat, Checksum)>)>,
    malformed: u64,
}

#[derive(Clone, Copy, Debug)]
struct RawClaim {
    seat: Seat,
    epoch: ControlEpoch,
    token: ResumeToken,
}

impl RawPlayer {
    pub(super) fn new(script: RawSeat, identity: Identity, seats: SeatCount) -> RawPlayer {
        let (reader, desyncs) = (FrameReader::default(), Vec::new());
        RawPlayer { script, identity, seats, claim: None, reader, desyncs, malformed: 0 }
    }

    /// Takes what the script says, once.
    pub(super) fn take_script(&mut self) -> Vec<(Tick, RawSend)> {
        std::mem::take(&mut self.script.sends)
    }

    /// The greeting of a new connection.
    pub(super) fn hello(&self) -> Vec<u8> {
        let entry = match self.claim {
            None => Entry::Join { ticket: &[] },
            Some(RawClaim { seat, token, .. }) => {
                let last = self.reader.frames().last();
                let next = last.map_or(Tick::ZERO, |frame| frame.tick().saturating_add(1));
                let fence = last.map(|frame| frame.fence());
                Entry::Resume { seat, token, generation: Generation::default(), next, fence }
            }
        };
        encode(&ClientMessage::Hello(Hello { protocol: PROTOCOL_VERSION, identity: self.identity, entry }))
    }

    pub(super) fn encode(&self, send: &RawSend) -> Vec<u8> {
        let (generation, epoch) = (Generation::default(), self.claim.map(|claim| claim.epoch).unwrap_or_default());
        match send {
            RawSend::Inputs { first, inputs } => {
                let count = u32::try_from(inputs.len()).unwrap_or(u32::MAX);
                let flat = inputs.concat();
                let inputs = InputRun::new(count, &flat).unwrap_or_else(|| panic!("inputs of different lengths"));
                encode(&ClientMessage::Inputs(Inputs { generation, epoch, first: *first, inputs }))
            }
            RawSend::Report { tick, checksum } => {
                encode(&ClientMessage::Report { generation, tick: *tick, checksum: *checksum })
            }
            RawSend::Leave => encode(&ClientMessage::Leave),
            RawSend::Bytes(bytes) => bytes.clone(),
        }
    }

    /// Takes one message of the room's, and gives the answer if there is one.
    pub(super) fn receive(&mut self, bytes: &[u8]) -> Option<Vec<u8>> {
        match RoomMessage::decode(bytes) {
            Ok(RoomMessage::Welcome(Welcome { claim: Some(Claim { seat, epoch, token, .. }), .. })) => {
                self.claim = Some(RawClaim { seat, epoch, token });
                return Some(encode(&ClientMessage::Ready { generation: Generation::default() }));
            }
            Ok(RoomMessage::Frames(frames)) if self.reader.read(&frames, self.seats).is_ok() => {}
            Ok(RoomMessage::Desync { tick, values, .. }) => self.desyncs.push((tick, values.0)),
            Ok(RoomMessage::Frames(_)) | Err(_) => self.malformed += 1,
            Ok(_) => {}
        }
        None
    }

    pub(super) fn record(&self, seat: Seat) -> RawRecord {
        let (frames, desyncs) = (self.reader.frames().to_vec(), self.desyncs.clone());
        RawRecord { seat, frames, desyncs, malformed: self.malformed }
    }
}

fn encode(message: &ClientMessage<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    message.encode_into(&mut bytes);
    bytes
}
