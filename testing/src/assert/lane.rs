//! One instance that is stepped by a script, with what the checks need of its states.

use retick_core::digest::Checksum;
use retick_core::frame::Frame;
use retick_core::identity::MatchDescriptor;
use retick_core::runtime::{
    AdvanceError, Checkpoint, CheckpointError, Keep, Output, Runtime, RuntimeFactory, SeatStep, StepBatch,
};
use retick_core::seat::{ControlEpoch, Presence, Seat, SeatCount};
use retick_core::tick::{Moment, Tick};

use super::names::Located;
use super::{Emitted, GameFault, Premise};
use crate::environment::{self, Machine};

/// A match of a game, and who gives its inputs. Each instance is played on a machine of its own.
#[derive(Clone, Copy)]
pub(super) struct Game<'a> {
    pub(super) factory: &'a dyn RuntimeFactory,
    pub(super) descriptor: &'a MatchDescriptor,
    pub(super) script: &'a dyn Fn(Seat, Tick) -> Vec<u8>,
}

/// A runtime that plays a game.
pub(super) struct Lane<'a> {
    pub(super) runtime: Box<dyn Runtime>,
    game: Game<'a>,
    machine: Machine,
    batch: StepBatch,
    pub(super) output: Output,
}

impl<'a> Lane<'a> {
    pub(super) fn new(game: Game<'a>, machine: Machine) -> Result<Lane<'a>, GameFault> {
        environment::enter(machine.at(Moment::ZERO));
        let runtime = game.factory.create(game.descriptor)?;
        Ok(Lane { runtime, game, machine, batch: StepBatch::default(), output: Output::default() })
    }

    fn seats(&self) -> SeatCount {
        self.game.descriptor.seats()
    }

    /// Plays up to `S(end)` in one batch as the script says, and keeps the same of every state.
    pub(super) fn play(&mut self, end: Tick, keep: Keep) -> Result<(), AdvanceError> {
        self.play_as(end, keep, |tick| tick)
    }

    /// Plays up to `S(end)`, each tick with the inputs that the script has for another one.
    pub(super) fn play_as(
        &mut self,
        end: Tick,
        keep: Keep,
        scripted: impl Fn(Tick) -> Tick,
    ) -> Result<(), AdvanceError> {
        let mut tick = self.runtime.tick();
        environment::enter(self.machine.at(self.game.descriptor.tick_rate().moment_of(tick)));
        self.batch.reset(tick);
        while tick < end {
            self.batch.push_step(keep);
            for seat in self.seats().seats() {
                let input = (self.game.script)(seat, scripted(tick));
                let (presence, epoch) = (Presence::Human, ControlEpoch(1));
                let (substituted, malformed) = (false, false);
                self.batch.push_seat(SeatStep { input: &input, substituted, malformed, presence, epoch });
            }
            tick = tick.saturating_add(1);
        }
        self.output.clear();
        self.runtime.advance(&self.batch, &mut self.output)
    }

    /// Plays these frames, which an authority confirmed, in one batch, and keeps the same of every state.
    pub(super) fn fold(&mut self, frames: &[Frame], keep: Keep) -> Result<(), AdvanceError> {
        let tick = self.runtime.tick();
        environment::enter(self.machine.at(self.game.descriptor.tick_rate().moment_of(tick)));
        self.batch.reset(tick);
        frames.iter().for_each(|frame| self.batch.push_frame(frame, self.game.factory.manifest().input_schema(), keep));
        self.output.clear();
        self.runtime.advance(&self.batch, &mut self.output)
    }

    /// What the batch that was played last emitted.
    pub(super) fn emitted(&self) -> Vec<Emitted> {
        self.output.events.iter().map(|event| Emitted { key: event.key, payload: event.payload.to_vec() }).collect()
    }

    /// The checksum of the current state.
    pub(super) fn checksum(&mut self) -> Result<Option<Checksum>, AdvanceError> {
        self.output.clear();
        self.runtime.keep(Keep::CHECKSUM, &mut self.output)?;
        Ok(self.output.kept.first().and_then(|kept| kept.checksum))
    }

    /// The canonical bytes of the current state.
    pub(super) fn bytes(&mut self) -> Result<Vec<u8>, GameFault> {
        self.output.clear();
        self.runtime.keep(Keep::CHECKPOINT, &mut self.output)?;
        let Some(checkpoint) = self.output.kept.first().and_then(|kept| kept.checkpoint) else {
            return Err(CheckpointError::Host { tick: self.runtime.tick() }.into());
        };
        let bytes = self.bytes_of(checkpoint)?;
        self.runtime.release(checkpoint)?;
        Ok(bytes)
    }

    /// The canonical bytes of a kept state.
    pub(super) fn bytes_of(&mut self, checkpoint: Checkpoint) -> Result<Vec<u8>, GameFault> {
        let mut bytes = Vec::new();
        loop {
            let total = self.runtime.export(checkpoint, bytes.len() as u64, usize::MAX, &mut bytes)?;
            if bytes.len() as u64 >= total {
                return Ok(bytes);
            }
        }
    }

    /// The first byte in which the current states of two lanes differ.
    pub(super) fn difference(&mut self, other: &mut Lane<'_>) -> Result<Located, GameFault> {
        Ok(Located::between(&self.bytes()?, &other.bytes()?))
    }
}

/// The first tick from `first` on of which two runs emitted other events.
pub(super) fn check_emitted(first: Tick, one: &[Emitted], other: &[Emitted]) -> Result<(), GameFault> {
    let from_first = |event: &&Emitted| event.key.tick >= first;
    let (mut one, mut other) = (one.iter().filter(from_first), other.iter().filter(from_first));
    loop {
        match (one.next(), other.next()) {
            (None, None) => return Ok(()),
            (first, second) if first == second => {}
            (first, second) => {
                let tick = first.into_iter().chain(second).map(|event| event.key.tick).min().unwrap_or_default();
                let at = |event: Option<&Emitted>| event.filter(|event| event.key.tick == tick).cloned();
                return Err(GameFault::EventsDiffer { tick, first: at(first), second: at(second) });
            }
        }
    }
}

/// Checks that more moved between `S(0)` and the last state than the tick that every state holds.
pub(super) fn check_moved(start: &[u8], end: &[u8], ticks: u64) -> Result<(), GameFault> {
    let differing = start.iter().zip(end).filter(|(start, end)| start != end).count();
    let of_the_tick = ticks.to_le_bytes().iter().filter(|byte| **byte != 0).count();
    if start.len() == end.len() && differing <= of_the_tick { Err(Premise::Movement { ticks }.into()) } else { Ok(()) }
}
