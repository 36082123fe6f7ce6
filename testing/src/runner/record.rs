//! What was seen of a runner.

use retick_core::event::{EventKey, EventLife};
use retick_core::runner::{Lifecycle, PreparationRequest, RunnerEvent, Status};
use retick_core::seat::Seat;
use retick_core::session::TickInputs;
use retick_core::tick::Tick;

use super::{RunnerHarness, Script, Shown};
use crate::assert::Emitted;

/// What a runner told since the record was cleared.
#[derive(Default)]
pub(super) struct Record {
    pub(super) statuses: Vec<Status>,
    pub(super) lifecycles: Vec<Lifecycle>,
    pub(super) events: Vec<RunnerEvent>,
    pub(super) requests: Vec<PreparationRequest>,
    pub(super) presented: Vec<(EventLife, EventKey)>,
    pub(super) heard: Vec<Emitted>,
    pub(super) shown: Vec<Shown>,
    pub(super) sampled: Vec<(Seat, Tick)>,
    pub(super) pictures: Vec<Picture>,
}

/// Where the picture stood after an update.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Picture {
    /// The present.
    pub tick: Tick,
    /// How far it was on its way there.
    pub alpha: f64,
}

/// Asks the script, and writes down what was asked.
pub(super) struct Scripted<'a> {
    pub(super) script: &'a Script,
    pub(super) sampled: &'a mut Vec<(Seat, Tick)>,
}

impl TickInputs for Scripted<'_> {
    fn bot(&mut self, seat: Seat, tick: Tick, packed: &mut Vec<u8>) {
        self.local(seat, tick, packed);
    }

    fn local(&mut self, seat: Seat, tick: Tick, packed: &mut Vec<u8>) {
        self.sampled.push((seat, tick));
        *packed = (self.script)(seat, tick);
    }
}

impl RunnerHarness {
    /// The changes of what is to be shown.
    pub fn statuses(&self, player: usize) -> &[Status] {
        &self.record(player).statuses
    }

    /// The changes of what the runner does.
    pub fn lifecycles(&self, player: usize) -> &[Lifecycle] {
        &self.record(player).lifecycles
    }

    /// Everything else that a runner told.
    pub fn events(&self, player: usize) -> &[RunnerEvent] {
        &self.record(player).events
    }

    /// What a runner asked to prepare.
    pub fn requests(&self, player: usize) -> &[PreparationRequest] {
        &self.record(player).requests
    }

    /// The presentation events that came out, in order.
    pub fn presented(&self, player: usize) -> &[(EventLife, EventKey)] {
        &self.record(player).presented
    }

    /// The confirmed presentation events with their payloads, in order.
    pub fn heard(&self, player: usize) -> &[Emitted] {
        &self.record(player).heard
    }

    /// The ticks that were sampled, in order.
    pub fn sampled(&self, player: usize) -> &[(Seat, Tick)] {
        &self.record(player).sampled
    }

    /// Where the picture stood after each update that had one.
    pub fn pictures(&self, player: usize) -> &[Picture] {
        &self.record(player).pictures
    }
}
