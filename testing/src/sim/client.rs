//! A real client in a simulated match: its turns, its script, and everything that can be seen of it from outside.

use std::num::NonZeroU32;
use std::ops::Range;
use std::sync::Arc;

use retick_core::client::{Client, ClientConfig, ClientEvent, Output};
use retick_core::digest::Checksum;
use retick_core::event::PresentationEvent;
use retick_core::frame::Frame;
use retick_core::runtime::RuntimeFactory;
use retick_core::seat::Seat;
use retick_core::session::{Recording, Session, SessionEvent};
use retick_core::tick::{Moment, Tick};
use retick_core::wire::{ClientMessage, RoomMessage};

use super::observed::{ClientRecord, EventSeen, ReportSent, RollbackSeen, TurnSample};
use super::own_clock::OwnClock;
use super::setup::{ClientSetup, ClockNews, Render, Reporting, Script};
use crate::environment::{self, Machine};
use crate::net::LinkStats;
use crate::strict::StrictFactory;

/// A client, its script, and its record.
pub(super) struct ClientPlayer {
    pub(super) client: Client,
    script: Script,
    strict: Option<StrictFactory>,
    machine: Machine,
    clock: OwnClock,
    clock_news: ClockNews,
    asleep: Vec<Range<Moment>>,
    step_nanos: u64,
    /// Until when the last turn takes.
    busy_until: Moment,
    turns_per_second: Option<NonZeroU32>,
    /// Turns at its own rate so far.
    turns_taken: u64,
    render: Option<Render>,
    reporting: Reporting,
    record: ClientRecord,
    before: BeforeTurn,
}

/// Where a session stood before the turn whose events are polled next.
#[derive(Clone, Copy, Debug, Default)]
struct BeforeTurn {
    head: Tick,
    oldest_checkpoint: Option<Tick>,
}

impl ClientPlayer {
    pub(super) fn new(
        setup: &ClientSetup,
        match_factory: &Arc<dyn RuntimeFactory>,
        strict: bool,
        seat: Seat,
    ) -> ClientPlayer {
        let config = ClientConfig { recording: Recording::Frames, ..setup.config };
        let factory = setup.factory.as_ref().unwrap_or(match_factory).clone();
        let strict = strict.then(|| StrictFactory::new(factory.clone()));
        let boxed: Box<dyn RuntimeFactory> = match &strict {
            Some(strict) => Box::new(strict.clone()),
            None => Box::new(factory),
        };
        let (record, before) = (empty_record(seat, config), BeforeTurn::default());
        ClientPlayer {
            client: Client::new(config, boxed),
            script: setup.script.clone(),
            strict,
            machine: setup.machine.unwrap_or(Machine::numbered(seat.number())),
            clock: setup.clock,
            clock_news: setup.clock_news,
            asleep: setup.asleep.clone(),
            step_nanos: setup.step_nanos,
            busy_until: Moment::ZERO,
            turns_per_second: setup.turns_per_second,
            turns_taken: 0,
            render: setup.render.clone(),
            reporting: setup.reporting,
            record,
            before,
        }
    }

    /// The frames that it has applied so far.
    pub(super) fn frames(&self) -> &[Frame] {
        &self.record.frames
    }

    /// From now on this client runs.
    fn enter(&self, now: Moment) {
        environment::enter(self.machine.at(now));
    }

    pub(super) fn connected(&mut self, now: Moment) {
        self.client.handle_connected(self.clock.read(now));
    }

    pub(super) fn disconnected(&mut self, now: Moment) {
        self.client.handle_disconnected(self.clock.read(now));
    }

    pub(super) fn receive(&mut self, bytes: &[u8], now: Moment) {
        self.enter(now);
        let silenced = self.without_clock(bytes);
        // A client that is over says so by its event, which the record keeps.
        let _ = self.client.handle_message(silenced.as_deref().unwrap_or(bytes), self.clock.read(now));
    }

    /// The same answer to a ping without the clock, where the client is not to hear of it.
    fn without_clock(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        match RoomMessage::decode(bytes) {
            Ok(RoomMessage::Pong { sent_micros, counters, .. }) if self.clock_news == ClockNews::Withheld => {
                let mut silenced = Vec::new();
                RoomMessage::Pong { sent_micros, clock: None, counters }.encode_into(&mut silenced);
                Some(silenced)
            }
            _ => None,
        }
    }

    /// The moment of its next turn, when one is due up to `now`.
    pub(super) fn next_turn(&mut self, now: Moment, last: Option<Moment>) -> Option<Moment> {
        let Some(rate) = self.turns_per_second else {
            return (last.is_none() && self.is_free(now)).then_some(now);
        };
        loop {
            let own = Moment::from_nanos(self.turns_taken * 1_000_000_000 / u64::from(rate.get()));
            let due = self.clock.moment_of(own);
            if due > now {
                return None;
            }
            self.turns_taken += 1;
            if self.is_free(due) {
                return Some(due);
            }
        }
    }

    /// Whether it is awake and done with its last turn.
    fn is_free(&self, now: Moment) -> bool {
        now >= self.busy_until && !self.asleep.iter().any(|asleep| asleep.contains(&now))
    }

    /// One turn at `now`, when the clock has moved to authority tick `at`. Before tick 0 nothing is recorded of it.
    pub(super) fn turn(&mut self, now: Moment, at: Option<Tick>, last_tick: Option<Tick>) {
        self.enter(now);
        self.play_turn(now, at, last_tick);
        if let Some(render) = &self.render {
            render(&self.client);
        }
    }

    fn play_turn(&mut self, now: Moment, at: Option<Tick>, last_tick: Option<Tick>) {
        self.client.handle_turn(self.clock.read(now));
        self.submit_inputs(last_tick);
        let session = self.client.session();
        let queued_frames = session.map_or(0, Session::queued_frames);
        self.before = session.map_or(BeforeTurn::default(), |session| BeforeTurn {
            head: session.head(),
            oldest_checkpoint: session.oldest_checkpoint(),
        });
        let Ok(progress) = self.client.step() else { return };
        self.busy_until = now.plus_nanos(self.step_nanos.saturating_mul(progress.steps as u64));
        let (Some(session), Some(at)) = (self.client.session(), at) else { return };
        let (status, stats) = (self.client.status(), self.client.stats());
        self.record.turns.push(TurnSample {
            at,
            began: now,
            status,
            input_delay_ticks: stats.input_delay_ticks,
            backlog_is_stuck: stats.backlog_is_stuck,
            confirmed: session.confirmed(),
            received: session.received(),
            head: session.head(),
            next_input: session.next_input(self.record.seat),
            queued_frames,
            kept_checkpoints: session.kept_checkpoints(),
            standing: session.standing(),
            progress,
        });
    }

    fn submit_inputs(&mut self, last_tick: Option<Tick>) {
        while let Some(tick) = self.client.wanted_input() {
            if last_tick.is_some_and(|last| tick >= last) {
                return;
            }
            let packed = (self.script)(self.record.seat, tick);
            let submitted = self.client.submit_input(&packed);
            assert_eq!(submitted, Ok(tick), "seat {}: the script's input was not taken", self.record.seat);
            self.record.sampled.push(tick);
        }
    }

    /// Drains the client: messages go to `transmit`, everything else into the record.
    pub(super) fn drain(&mut self, at: Tick, mut transmit: impl FnMut(&[u8])) {
        loop {
            let confirmed = self.client.session().map_or(Tick::ZERO, Session::confirmed);
            match self.client.poll_output() {
                None => break,
                Some(Output::Transmit(bytes)) => {
                    let Ok(ClientMessage::Report { generation, tick, checksum }) = ClientMessage::decode(bytes) else {
                        transmit(bytes);
                        continue;
                    };
                    let forges = match self.reporting {
                        Reporting::Withheld => continue,
                        Reporting::Sent => false,
                        Reporting::Forged(forged) => tick == forged,
                        Reporting::ForgedFrom(first) => tick >= first,
                    };
                    let checksum = if forges { Checksum::of(b"forged") } else { checksum };
                    self.record.reports.push(ReportSent { tick, checksum, confirmed });
                    let mut report = Vec::new();
                    ClientMessage::Report { generation, tick, checksum }.encode_into(&mut report);
                    transmit(&report);
                }
                Some(Output::Event(event)) => self.note(at, event),
            }
        }
        while let Some(PresentationEvent { life, key, payload }) = self.client.poll_presentation_event() {
            self.record.presented.push(EventSeen { at, life, key, payload: payload.to_vec() });
        }
    }

    fn note(&mut self, at: Tick, event: ClientEvent) {
        match event {
            ClientEvent::Session(SessionEvent::Confirmed(frame)) => self.record.frames.push(*frame),
            ClientEvent::Session(SessionEvent::Checksum { tick, checksum }) => {
                self.record.checksums.push((tick, checksum));
            }
            ClientEvent::Session(SessionEvent::RolledBack { from, to }) => {
                let BeforeTurn { head: head_before, oldest_checkpoint } = self.before;
                self.record.rollbacks.push(RollbackSeen { at, from, to, head_before, oldest_checkpoint });
            }
            other => self.record.events.push((at, other)),
        }
    }

    /// The record as of now, with what only the driver knows.
    pub(super) fn record(&mut self, up: LinkStats, down: LinkStats, most_bytes_under_way: usize) -> ClientRecord {
        let probe = self.strict.as_ref().and_then(|strict| strict.probes().first().cloned());
        let last_state = self.client.session_mut().and_then(|session| {
            let snapshot = session.export_snapshot(session.confirmed()).ok()?;
            Some((snapshot.tick(), snapshot.checksum()))
        });
        ClientRecord {
            last_state,
            projection: self.client.session().map(|session| session.projections().0.to_vec()).unwrap_or_default(),
            dropped_events: self.client.session().map(Session::dropped_events).unwrap_or_default(),
            chain_head: self.client.chain_head(),
            stats: self.client.stats(),
            end: self.client.end().cloned(),
            up,
            down,
            most_bytes_under_way,
            strict: probe.as_ref().map(|probe| probe.counters()),
            violations: probe.map(|probe| probe.violations()).unwrap_or_default(),
            ..self.record.clone()
        }
    }
}

fn empty_record(seat: Seat, config: ClientConfig) -> ClientRecord {
    ClientRecord {
        seat,
        config,
        turns: Vec::new(),
        sampled: Vec::new(),
        frames: Vec::new(),
        checksums: Vec::new(),
        reports: Vec::new(),
        rollbacks: Vec::new(),
        events: Vec::new(),
        presented: Vec::new(),
        dropped_events: Default::default(),
        last_state: None,
        projection: Vec::new(),
        chain_head: None,
        stats: Default::default(),
        end: None,
        up: LinkStats::default(),
        down: LinkStats::default(),
        most_bytes_under_way: 0,
        strict: None,
        violations: Vec::new(),
    }
}
