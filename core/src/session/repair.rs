//! Putting a session right that has come to another state than the match (A13).

use alloc::vec::Vec;

use super::prediction;
use super::timeline::Timeline;
use super::{Projections, Session, SessionFault, start_keep};
use crate::frame::Frame;
use crate::runtime::{HydrateError, StepBatch};
use crate::snapshot::{Origin, Snapshot, SnapshotError, SnapshotFrameError};
use crate::tick::Tick;

impl Session {
    /// Replaces the state by a snapshot's of a tick that is confirmed here already, and queues the frames since, which the session had
    /// applied before: the next turns play them again, and then what was predicted. What the local seats have submitted stays, so
    /// that no input is sampled twice, and nothing that was told of the frames before is told again.
    ///
    /// `frames` are the confirmed frames from the snapshot's tick on, up to the frontier; everything is checked before anything
    /// changes (S8).
    ///
    /// # Errors
    /// [`SnapshotError`]; the session is as before then.
    pub fn repair(&mut self, snapshot: &Snapshot, frames: Vec<Frame>) -> Result<(), SnapshotError> {
        let (tick, frontier) = (snapshot.tick(), self.confirmed());
        self.check_frames(tick, frontier, &frames)?;
        let state = snapshot.verify(&self.descriptor)?;
        if snapshot.origin() == Origin::Promotion && self.origin != Origin::Promotion {
            return Err(SnapshotError::Promoted);
        }
        let mut steps = StepBatch::default();
        prediction::push_last_inputs(&mut steps, snapshot.last_inputs(), self.descriptor.seats(), &self.schema)?;
        self.runtime.hydrate(tick, &state).map_err(|error: HydrateError| SnapshotError::State(error))?;
        self.output.clear();
        let kept = self.runtime.keep(start_keep(self.runtime.capabilities()), &mut self.output);
        self.timeline = Timeline::new(tick, steps);
        self.timeline.record_kept(&self.output.kept);
        self.timeline.keep_last_inputs();
        self.told = self.told.max(frontier);
        // What it said of the wrong states is no part of the match.
        self.input_log.forget_checksums_behind(tick);
        self.queued_bytes += frames.iter().map(Frame::weight).sum::<usize>();
        for frame in frames.into_iter().rev() {
            self.queue.push_front(frame);
        }
        self.fault = kept.err().map(SessionFault::Capture);
        self.report_fault = None;
        self.held_fault = None;
        self.projections = Projections::default();
        self.presentation.hydrated(tick);
        self.take_projections();
        Ok(())
    }

    fn check_frames(&self, tick: Tick, frontier: Tick, frames: &[Frame]) -> Result<(), SnapshotError> {
        let seats = self.descriptor.seats().count();
        let fits = |(frame, at): (&Frame, u64)| {
            frame.tick() == tick.saturating_add(at)
                && frame.generation() == self.descriptor.generation()
                && frame.seat_count() == seats
        };
        let complete = tick <= frontier && frames.len() as u64 == frontier.since(tick);
        if complete && frames.iter().zip(0..).all(fits) {
            return Ok(());
        }
        let error = SnapshotFrameError::NotNext { found: frames.first().map_or(frontier, Frame::tick) };
        Err(SnapshotError::Frame { tick, error })
    }
}
