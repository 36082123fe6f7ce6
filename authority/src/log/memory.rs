//! A log in memory, for tests, for rooms that needn't survive, and as the model of every other log.

use alloc::vec::Vec;

use retick_core::codec::wire::{self, Cursor, WireError};
use retick_core::digest::Digest;
use retick_core::frame::{Frame, FrameChain, FrameError};
use retick_core::identity::{DescriptorError, MatchDescriptor};
use retick_core::seat::{Generation, SeatCount};
use retick_core::tick::Tick;

use super::{FIRST_SEQUENCE, FrameLog, MAX_RECORD_BYTES, Record};
use crate::room::RoomSummary;

/// Records that can't be kept, or are not what a room wrote.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum LogError {
    /// A record came out of order.
    #[error("record {found} where record {expected} comes next")]
    Sequence {
        /// The number that comes next.
        expected: u64,
        /// The number given.
        found: u64,
    },
    /// A record is malformed.
    #[error("record {sequence}: {error}")]
    Record {
        /// Its number.
        sequence: u64,
        /// What is wrong.
        error: WireError,
    },
    /// The first record does not describe the room.
    #[error("the log does not begin with the room's creation")]
    NotCreated,
    /// The frames before this tick were forgotten.
    #[error("the frames before tick {frontier} of generation {} were forgotten", generation.0)]
    Forgotten {
        /// The generation.
        generation: Generation,
        /// The first tick whose frame may be there.
        frontier: Tick,
    },
    /// A log can't begin with this record, or it has none of this number.
    #[error("the log can't begin with record {sequence}")]
    NoStart {
        /// Its number.
        sequence: u64,
    },
    /// The room's descriptor is malformed.
    #[error("{0}")]
    Descriptor(#[from] DescriptorError),
    /// A frame is malformed, or stands under another tick.
    #[error("the frame in record {sequence} is malformed")]
    Frame {
        /// The record's number.
        sequence: u64,
    },
    /// The frames do not give the chain's head that the room wrote down (A12).
    #[error("the frame chain breaks at tick {tick}: {expected} was written, the frames give {found}")]
    Chain {
        /// The tick.
        tick: Tick,
        /// The head in the record.
        expected: Digest,
        /// The head that the frames give.
        found: Digest,
    },
}

/// A [`FrameLog`] in memory (A12). It promises to survive nothing.
///
/// ```
/// use retick_authority::log::{FrameLog, LogError, MemoryLog};
///
/// let mut log = MemoryLog::new();
/// log.append(1, b"first")?;
/// assert_eq!(log.append(3, b"third"), Err(LogError::Sequence { expected: 2, found: 3 }));
/// assert_eq!((log.record(1), log.record(2)), (Some(&b"first"[..]), None));
/// # Ok::<(), LogError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct MemoryLog {
    bytes: Vec<u8>,
    /// Where each record ends.
    ends: Vec<usize>,
    /// How many records were forgotten.
    forgotten: u64,
}

impl MemoryLog {
    /// A log without records.
    #[must_use]
    pub fn new() -> MemoryLog {
        MemoryLog::default()
    }

    /// The record of this number.
    pub fn record(&self, sequence: u64) -> Option<&[u8]> {
        let position = usize::try_from(sequence.checked_sub(self.first_sequence())?).ok()?;
        let end = *self.ends.get(position)?;
        let start = if position == 0 { 0 } else { self.ends[position - 1] };
        Some(&self.bytes[start..end])
    }

    /// Every record with its number, in order.
    pub fn records(&self) -> impl Iterator<Item = (u64, &[u8])> {
        (self.first_sequence()..).map_while(|sequence| Some((sequence, self.record(sequence)?)))
    }

    /// Forgets every record before the [`Record::Summary`] of this number.
    ///
    /// # Errors
    /// [`LogError::NoStart`] when there is no summary of this number.
    pub fn forget_before(&mut self, sequence: u64) -> Result<(), LogError> {
        let is_start = self.record(sequence).is_some_and(Record::is_summary);
        let position = sequence.checked_sub(self.first_sequence()).and_then(|before| usize::try_from(before).ok());
        let position = position.filter(|_| is_start).ok_or(LogError::NoStart { sequence })?;
        let start = position.checked_sub(1).map_or(0, |last| self.ends[last]);
        self.bytes.drain(..start);
        self.ends.drain(..position);
        self.ends.iter_mut().for_each(|end| *end -= start);
        self.forgotten += position as u64;
        Ok(())
    }

    /// The confirmed frames of every generation in order, each checked against its frame chain.
    ///
    /// # Errors
    /// [`LogError::Forgotten`] when the log has forgotten the first of them, [`LogError::NotCreated`] and [`LogError::Descriptor`]
    /// when it does not begin with a room.
    pub fn frames(&self) -> Result<LogFrames<'_>, LogError> {
        match self.first()? {
            Record::Summary { generation, frontier, .. } => Err(LogError::Forgotten { generation, frontier }),
            _ => self.kept_frames(),
        }
    }

    /// Those of them that the log has not forgotten, checked from the chain's head on that its first record holds.
    ///
    /// # Errors
    /// [`LogError::NotCreated`], [`LogError::Record`] and [`LogError::Descriptor`] when the log does not begin with a room.
    pub fn kept_frames(&self) -> Result<LogFrames<'_>, LogError> {
        let sequence = self.first_sequence();
        let (descriptor, start) = match self.first()? {
            Record::Created { descriptor, .. } => (MatchDescriptor::from_bytes(descriptor)?, None),
            Record::Summary { frontier, head, room, .. } => {
                let summary: Result<RoomSummary<'_>, _> = wire::decode(room, MAX_RECORD_BYTES);
                let summary = summary.map_err(|error| LogError::Record { sequence, error })?;
                (MatchDescriptor::from_bytes(summary.descriptor())?, Some((frontier, head)))
            }
            _ => return Err(LogError::NotCreated),
        };
        let (seats, generation) = (descriptor.seats(), descriptor.generation());
        let (next, chain) = match start {
            None => (Tick::ZERO, FrameChain::new(&descriptor)),
            Some((frontier, head)) => (frontier, FrameChain::from_head(head)),
        };
        Ok(LogFrames { log: self, sequence, seats, generation, chain, next })
    }

    fn first(&self) -> Result<Record<'_>, LogError> {
        let first = self.record(self.first_sequence()).ok_or(LogError::NotCreated)?;
        Record::decode(first).map_err(|_| LogError::NotCreated)
    }
}

impl FrameLog for MemoryLog {
    type Error = LogError;

    fn append(&mut self, sequence: u64, record: &[u8]) -> Result<(), LogError> {
        let expected = self.next_sequence();
        if sequence != expected {
            return Err(LogError::Sequence { expected, found: sequence });
        }
        self.bytes.extend_from_slice(record);
        self.ends.push(self.bytes.len());
        Ok(())
    }

    fn first_sequence(&self) -> u64 {
        FIRST_SEQUENCE + self.forgotten
    }

    fn next_sequence(&self) -> u64 {
        self.first_sequence() + self.ends.len() as u64
    }

    fn read_into(&mut self, sequence: u64, out: &mut Vec<u8>) -> Result<bool, LogError> {
        out.clear();
        let record = self.record(sequence);
        out.extend_from_slice(record.unwrap_or_default());
        Ok(record.is_some())
    }
}

/// The confirmed frames of a log; made by [`MemoryLog::frames`]. After an error it gives nothing more.
#[derive(Clone, Debug)]
pub struct LogFrames<'a> {
    log: &'a MemoryLog,
    sequence: u64,
    seats: SeatCount,
    generation: Generation,
    chain: FrameChain,
    next: Tick,
}

impl LogFrames<'_> {
    fn read(&mut self, sequence: u64, record: &[u8]) -> Result<Option<Frame>, LogError> {
        let record = Record::decode(record).map_err(|error| LogError::Record { sequence, error })?;
        let (tick, bytes, head) = match record {
            Record::Frame { tick, frame, head } => (tick, frame, head),
            // Ticks and their chain begin anew (A10).
            Record::Reconfigured { descriptor } => {
                self.begin(&MatchDescriptor::from_bytes(descriptor)?);
                return Ok(None);
            }
            _ => return Ok(None),
        };
        let frame = self.decode(bytes).map_err(|_| LogError::Frame { sequence })?;
        if frame.tick() != tick || tick != self.next || frame.generation() != self.generation {
            return Err(LogError::Frame { sequence });
        }
        self.chain.extend(&frame);
        if self.chain.head() != head {
            return Err(LogError::Chain { tick, expected: head, found: self.chain.head() });
        }
        self.next = tick.saturating_add(1);
        Ok(Some(frame))
    }

    fn begin(&mut self, descriptor: &MatchDescriptor) {
        self.chain = FrameChain::new(descriptor);
        self.generation = descriptor.generation();
        self.seats = descriptor.seats();
        self.next = Tick::ZERO;
    }

    fn decode(&self, bytes: &[u8]) -> Result<Frame, FrameError> {
        let mut frame = Frame::new(Generation::default(), Tick::ZERO);
        let mut cursor = Cursor::new(bytes);
        frame.decode_full(&mut cursor, self.seats)?;
        cursor.finish()?;
        Ok(frame)
    }
}

impl Iterator for LogFrames<'_> {
    type Item = Result<Frame, LogError>;

    fn next(&mut self) -> Option<Self::Item> {
        while let Some(record) = self.log.record(self.sequence) {
            let sequence = self.sequence;
            self.sequence += 1;
            match self.read(sequence, record) {
                Ok(None) => {}
                Ok(Some(frame)) => return Some(Ok(frame)),
                Err(error) => {
                    self.sequence = u64::MAX;
                    return Some(Err(error));
                }
            }
        }
        None
    }
}
