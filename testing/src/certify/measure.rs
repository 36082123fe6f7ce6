//! One rough match, twice: once by the meters, recorded and replayed, and once by the clock.

use std::collections::VecDeque;

use retick_core::digest::Checksum;
use retick_core::frame::Frame;
use retick_core::identity::MatchDescriptor;
use retick_core::replay::{Recorder, verify};
use retick_core::runtime::{Checkpoint, CheckpointError, Keep, Output, StepBatch};
use retick_core::seat::{Generation, Seat};
use retick_core::tick::Tick;

use super::budgets::raise;
use super::rough::Rough;
use super::subject::{Candidate, Subject};
use super::{Figures, Finding, Place, Trial};
use crate::assert::GameFault;
use crate::environment::{self, MACHINES, Machine};

/// Checkpoints that a session of the default prediction window holds while its steps are timed.
const HELD_CHECKPOINTS: usize = 8;

/// What one match had.
pub(super) struct Measured {
    pub figures: Figures,
    pub findings: Vec<Finding>,
}

/// One match to play.
#[derive(Clone, Copy)]
pub(super) struct Match<'a> {
    pub candidate: &'a Candidate<'a>,
    pub trial: Trial,
    pub descriptor: &'a MatchDescriptor,
    pub script: &'a dyn Fn(Seat, Tick) -> Vec<u8>,
    pub ticks: u64,
}

impl Match<'_> {
    /// Plays it by the meters, projects each state, records all, and verifies the recording in an instance that is tracked in
    /// another way.
    pub fn meter(&self) -> Result<Measured, GameFault> {
        self.enter(MACHINES[0]);
        let manifest = self.candidate.manifest();
        let mut metered = Metered {
            trial: self.trial,
            projects: manifest.capabilities().projection,
            subject: self.candidate.metered(self.descriptor)?,
            output: Output::default(),
            recorder: Recorder::new(manifest, self.descriptor),
            measured: Measured { figures: Figures::default(), findings: Vec::new() },
        };
        let (mut frame, mut batch) = (Frame::new(Generation(0), Tick::ZERO), StepBatch::default());
        let mut held = metered.keep()?;
        for tick in (0..self.ticks).map(Tick::new) {
            self.rough().fill(tick, &mut frame);
            metered.recorder.push_frame(&frame);
            batch.reset(tick);
            batch.push_frame(&frame, manifest.input_schema(), Keep::NOTHING);
            held = metered.step(&batch, held)?;
        }
        metered.end(held)?;
        let Metered { mut recorder, mut measured, .. } = metered;
        recorder.finish();
        self.enter(MACHINES[1]);
        let verdict = verify(&recorder.take_bytes(), self.candidate.factories()[0]);
        match Finding::of_verdict(self.trial, &verdict) {
            Some(finding) => measured.findings.push(finding),
            None => measured.figures.replayed_ticks = self.ticks,
        }
        Ok(measured)
    }

    /// Plays it by the clock, as a session does: each step keeps a checkpoint, and the oldest is released.
    pub fn time(&self, clock: &mut dyn FnMut() -> u64, nanos: &mut Vec<u64>) -> Result<(), GameFault> {
        let mut runtime = self.candidate.factories()[0].create(self.descriptor)?;
        let (mut frame, mut batch) = (Frame::new(Generation(0), Tick::ZERO), StepBatch::default());
        let (mut output, mut held) = (Output::default(), VecDeque::new());
        for tick in (0..self.ticks).map(Tick::new) {
            self.rough().fill(tick, &mut frame);
            batch.reset(tick);
            batch.push_frame(&frame, self.candidate.manifest().input_schema(), Keep::CHECKPOINT);
            output.clear();
            let started = clock();
            runtime.advance(&batch, &mut output)?;
            held.extend(output.kept.iter().filter_map(|kept| kept.checkpoint));
            if held.len() > HELD_CHECKPOINTS
                && let Some(oldest) = held.pop_front()
            {
                runtime.release(oldest)?;
            }
            nanos.push(clock().saturating_sub(started));
        }
        Ok(())
    }

    /// What the game logged before it faulted, in a match of even inputs or in the rough one; nothing where neither faults.
    pub fn log_of_fault(&self) -> Vec<String> {
        let rough = self.rough();
        let even = self.log_of(|tick, frame| rough.fill_evenly(tick, frame));
        even.or_else(|| self.log_of(|tick, frame| rough.fill(tick, frame))).unwrap_or_default()
    }

    fn log_of(&self, fill: impl Fn(Tick, &mut Frame)) -> Option<Vec<String>> {
        let mut runtime = self.candidate.factories()[0].create(self.descriptor).ok()?;
        let (mut frame, mut batch) = (Frame::new(Generation(0), Tick::ZERO), StepBatch::default());
        let mut output = Output::default();
        for tick in (0..self.ticks).map(Tick::new) {
            fill(tick, &mut frame);
            batch.reset(tick);
            batch.push_frame(&frame, self.candidate.manifest().input_schema(), Keep::NOTHING);
            output.clear();
            if runtime.advance(&batch, &mut output).is_err() {
                return Some(runtime.last_log());
            }
        }
        None
    }

    fn rough(&self) -> Rough<'_> {
        let manifest = self.candidate.manifest();
        Rough {
            script: self.script,
            seats: self.descriptor.seats(),
            seed: self.trial.seed,
            packed_bytes: manifest.input_schema().packed_bytes(),
            commands: manifest.capabilities().commands,
        }
    }

    fn enter(&self, machine: Machine) {
        environment::enter(machine.at(self.descriptor.tick_rate().moment_of(Tick::ZERO)));
    }
}

/// A match that is played by the meters.
struct Metered {
    trial: Trial,
    projects: bool,
    subject: Subject,
    output: Output,
    recorder: Recorder,
    measured: Measured,
}

impl Metered {
    /// Steps once from the state of `held`, which is released then.
    fn step(&mut self, batch: &StepBatch, held: Checkpoint) -> Result<Checkpoint, GameFault> {
        let place = Place { trial: self.trial, tick: batch.first() };
        self.output.clear();
        self.subject.runtime().advance(batch, &mut self.output)?;
        self.count_events(place);
        if let Some(meters) = self.subject.meters() {
            let figures = &mut self.measured.figures;
            raise(&mut figures.gas, meters.gas, place);
            raise(&mut figures.written_pages, meters.pages, place);
            raise(&mut figures.memory_pages, meters.memory_pages, place);
        }
        let next = self.keep()?;
        self.subject.runtime().release(held)?;
        if self.projects {
            self.project(place, next)?;
        }
        Ok(next)
    }

    fn count_events(&mut self, place: Place) {
        let (kept, dropped) = (self.output.events.len() as u64, self.output.events.dropped());
        raise(&mut self.measured.figures.events, kept + dropped, place);
        if dropped > 0 {
            let Place { trial, tick } = place;
            self.find(Finding::EventsDropped { trial, tick, dropped, kept });
        }
    }

    /// Keeps the current state, and records its checksum.
    fn keep(&mut self) -> Result<Checkpoint, GameFault> {
        let tick = self.subject.runtime().tick();
        self.output.clear();
        self.subject.runtime().keep(Keep::CHECKPOINT | Keep::CHECKSUM, &mut self.output)?;
        let kept = self.output.kept.pop();
        let kept = kept.and_then(|kept| Some((kept.checkpoint?, kept.checksum?)));
        let (checkpoint, checksum) = kept.ok_or(CheckpointError::Host { tick })?;
        self.recorder.push_checksum(tick, checksum);
        Ok(checkpoint)
    }

    /// Projects the current state, which `held` holds, twice, and looks at it before and after.
    fn project(&mut self, place: Place, held: Checkpoint) -> Result<(), GameFault> {
        let (trial, tick) = (self.trial, self.subject.runtime().tick());
        let before = self.checksum()?;
        let first = self.projection()?;
        let second = self.projection()?;
        if self.checksum()? != before {
            self.find(Finding::ProjectionWrites { trial, tick });
            // What follows is about the steps again.
            self.subject.runtime().restore(held)?;
        }
        match (first, second) {
            (Some(first), Some(second)) => {
                raise(&mut self.measured.figures.projection_bytes, first.len() as u64, place);
                if first != second {
                    self.find(Finding::ProjectionDiffers { trial, tick });
                }
            }
            _ => self.find(Finding::ProjectionFaults { trial, tick }),
        }
        Ok(())
    }

    /// `None` when it faulted.
    fn projection(&mut self) -> Result<Option<Vec<u8>>, GameFault> {
        self.output.clear();
        self.subject.runtime().keep(Keep::PROJECTION, &mut self.output)?;
        let kept = self.output.kept.first();
        Ok(kept.and_then(|kept| self.output.projection(kept)).map(<[u8]>::to_vec))
    }

    fn checksum(&mut self) -> Result<Option<Checksum>, GameFault> {
        self.output.clear();
        self.subject.runtime().keep(Keep::CHECKSUM, &mut self.output)?;
        Ok(self.output.kept.first().and_then(|kept| kept.checksum))
    }

    /// A match has the first finding of each kind alone.
    fn find(&mut self, finding: Finding) {
        if !self.measured.findings.iter().any(|other| other.code() == finding.code()) {
            self.measured.findings.push(finding);
        }
    }

    fn end(&mut self, held: Checkpoint) -> Result<(), GameFault> {
        let mut nothing = Vec::new();
        self.measured.figures.state_bytes = self.subject.runtime().export(held, 0, 0, &mut nothing)?;
        Ok(())
    }
}
