//! Keeps a room's records off the room's hot path: while one batch is written and forced to the disk, the next one gathers (A12).
//!
//! A slow disk makes batches longer and never the room's turns. What waits for a record waits for its batch, and a room whose records
//! pile up confirms no further tick ([`MAX_UNPERSISTED_RECORDS`](crate::room::MAX_UNPERSISTED_RECORDS)).

use retick_core::tick::Moment;
use tokio::task::{JoinHandle, spawn_blocking};

use super::room_log::{LogEnd, RoomLog, RoomLogError, Urgency};
use crate::log::Record;
use crate::log::file::StoredSnapshot;

/// Opens a log, in a thread that may block.
pub(super) type LogOpener = Box<dyn FnOnce() -> Result<Box<dyn RoomLog>, RoomLogError> + Send>;

/// A log, or how it comes about.
pub(super) enum LogSource {
    Open(Box<dyn RoomLog>),
    Unopened(LogOpener),
}

impl LogSource {
    fn open(self) -> Result<Box<dyn RoomLog>, RoomLogError> {
        match self {
            LogSource::Open(log) => Ok(log),
            LogSource::Unopened(open) => open(),
        }
    }
}

/// Records that are written together, in buffers that are kept.
#[derive(Default)]
struct Batch {
    bytes: Vec<u8>,
    /// Each record's number and where it ends.
    records: Vec<(u64, usize)>,
    urgency: Urgency,
    snapshot: Option<StoredSnapshot>,
}

impl Batch {
    fn clear(&mut self) {
        self.bytes.clear();
        self.records.clear();
        self.urgency = Urgency::Frames;
        self.snapshot = None;
    }

    fn write(&self, log: &mut dyn RoomLog, now: Moment) -> Result<Option<u64>, RoomLogError> {
        let mut start = 0;
        for (sequence, end) in &self.records {
            log.append(*sequence, &self.bytes[start..*end])?;
            start = *end;
        }
        let kept = log.settle(self.urgency, now)?;
        self.snapshot.iter().for_each(|snapshot| log.keep_snapshot(snapshot));
        Ok(kept)
    }
}

/// What a thread gives back.
struct Written {
    log: Box<dyn RoomLog>,
    batch: Batch,
    kept: Option<u64>,
}

enum State {
    Idle(LogSource),
    Writing(JoinHandle<Result<Written, RoomLogError>>),
    Failed,
}

/// A room's way to its log.
pub(super) struct LogWriter {
    state: State,
    waiting: Batch,
    spare: Batch,
    due: Option<Moment>,
    outlives_service: bool,
}

impl LogWriter {
    pub(super) fn new(source: LogSource) -> LogWriter {
        let outlives_service = match &source {
            LogSource::Open(log) => log.outlives_service(),
            LogSource::Unopened(_) => true,
        };
        let batch = Batch::default;
        LogWriter { state: State::Idle(source), waiting: batch(), spare: batch(), due: None, outlives_service }
    }

    /// Whether the room can be restored, so that it need not end with its service.
    pub(super) fn outlives_service(&self) -> bool {
        self.outlives_service && !matches!(self.state, State::Failed)
    }

    /// Takes a record in; it is written with the next batch. Nothing is kept behind a gap: after a failure nothing is taken any more.
    pub(super) fn push(&mut self, sequence: u64, record: &[u8]) {
        if matches!(self.state, State::Failed) {
            return;
        }
        self.waiting.bytes.extend_from_slice(record);
        self.waiting.records.push((sequence, self.waiting.bytes.len()));
        if !Record::is_frame(record) {
            self.waiting.urgency = self.waiting.urgency.max(Urgency::Seats);
        }
    }

    /// Takes in the room's newest snapshot, which is kept behind the records before it.
    pub(super) fn keep_snapshot(&mut self, snapshot: StoredSnapshot) {
        self.waiting.snapshot = Some(snapshot);
    }

    /// Forces everything to the disk with the next batch.
    pub(super) fn hurry(&mut self) {
        self.waiting.urgency = Urgency::End;
    }

    /// Begins to write what waits, unless a batch is being written.
    pub(super) fn write(&mut self, now: Moment) {
        let is_due = self.due.is_some_and(|due| due <= now);
        let Batch { records, urgency, snapshot, .. } = &self.waiting;
        let has_work = is_due || !records.is_empty() || *urgency == Urgency::End || snapshot.is_some();
        match std::mem::replace(&mut self.state, State::Failed) {
            State::Idle(source) if has_work => {
                let batch = std::mem::replace(&mut self.waiting, std::mem::take(&mut self.spare));
                self.state = State::Writing(spawn_blocking(move || {
                    let mut log = source.open()?;
                    let kept = batch.write(&mut *log, now)?;
                    Ok(Written { log, batch, kept })
                }));
            }
            other => self.state = other,
        }
    }

    /// Whether a batch is being written.
    pub(super) fn is_writing(&self) -> bool {
        matches!(self.state, State::Writing(_))
    }

    /// When there is something to do without a further record.
    pub(super) fn due(&self) -> Option<Moment> {
        self.due.filter(|_| matches!(self.state, State::Idle(_)))
    }

    /// Ready when a batch was written, with the last record that is kept by now; never without one. May be dropped and called again.
    pub(super) async fn written(&mut self) -> Result<Option<u64>, RoomLogError> {
        let State::Writing(thread) = &mut self.state else { return std::future::pending().await };
        let written = thread.await.map_err(|_| RoomLogError::Lost).flatten();
        self.state = State::Failed;
        let Written { log, mut batch, kept } = written?;
        self.due = log.next_settle();
        batch.clear();
        self.spare = batch;
        self.state = State::Idle(LogSource::Open(log));
        Ok(kept)
    }

    /// Closes the log.
    pub(super) async fn end(self, end: LogEnd) {
        if let State::Idle(LogSource::Open(log)) = self.state {
            // A thread that is lost leaves the folder as it is.
            let _ = spawn_blocking(move || log.end(end)).await;
        }
    }
}
