//! A participant: a real client, its process with its clock, its script, and what can be seen of it from outside.

use std::collections::VecDeque;
use std::sync::Arc;

use retick_authority::room::ConnectionId;
use retick_core::client::{
    Client, ClientConfig, ClientEvent, ClientRole, DelayBudget, InputDelay, Output, PredictionMode, Transport,
};
use retick_core::event::PresentationEvent;
use retick_core::runtime::RuntimeFactory;
use retick_core::seat::Generation;
use retick_core::session::{Recording, RemotePrediction, Retention, Session, SessionEvent};
use retick_core::tick::{Moment, Tick};
use retick_core::wire::{ClientMessage, PlayerId};

use super::clock::LocalClock;
use super::game::mix;
use super::liar::Malice;
use super::pipe::Trouble;
use super::schedule::{ActorPlan, Role, Schedule};
use super::trace::{Seen, StandSeen, TurnSeen, Who};
use super::world::Due;

/// A participant.
pub(super) struct Actor {
    pub(super) plan: ActorPlan,
    factory: Arc<dyn RuntimeFactory>,
    /// There is none before it comes.
    pub(super) client: Option<Client>,
    pub(super) life: u32,
    pub(super) connection: Option<ConnectionId>,
    clock: LocalClock,
    pub(super) frozen_until: Moment,
    /// What arrived while it stood still, in order.
    pub(super) inbox: VecDeque<Due>,
    pub(super) trouble: Trouble,
    pub(super) has_left: bool,
    pub(super) end_is_seen: bool,
    pub(super) malice: Malice,
    /// Commands and ephemerals so far.
    marks: u64,
    head_before: Tick,
    oldest_before: Option<Tick>,
    /// The generation of what its session says, as of its last event.
    generation: Option<Generation>,
}

impl Actor {
    pub(super) fn new(plan: ActorPlan, seed: u64, factory: Arc<dyn RuntimeFactory>) -> Actor {
        let malice = Malice::new(seed, plan.number);
        Actor {
            plan,
            factory,
            client: None,
            life: 0,
            connection: None,
            clock: LocalClock::default(),
            frozen_until: Moment::ZERO,
            inbox: VecDeque::new(),
            trouble: Trouble::default(),
            has_left: false,
            end_is_seen: false,
            malice,
            marks: 0,
            head_before: Tick::ZERO,
            oldest_before: None,
            generation: None,
        }
    }

    pub(super) fn who(&self) -> Who {
        Who { actor: self.plan.number, life: self.life, role: self.plan.role }
    }

    /// Who it is to the game's backend.
    pub(super) fn player_id(&self) -> PlayerId {
        let mut bytes = [0; 32];
        for (chunk, number) in bytes.chunks_exact_mut(8).zip(1..) {
            chunk.copy_from_slice(&mix(0x1D00 + u64::from(self.plan.number) * 16 + number).to_le_bytes());
        }
        PlayerId(bytes)
    }

    /// Begins a process, which knows nothing of the one before.
    pub(super) fn begin(&mut self, now: Moment) {
        self.life += u32::from(self.client.is_some());
        self.client = Some(Client::new(client_config(&self.plan), Box::new(self.factory.clone())));
        // Every process has its own idea of when time began.
        let drift = self.plan.clock_ppm;
        self.clock = LocalClock::new(Moment::ZERO, drift);
        self.clock.jump(mix(u64::from(self.plan.number) + u64::from(self.life) * 977) % 100_000);
        let _ = now;
        (self.end_is_seen, self.connection, self.generation) = (false, None, None);
    }

    pub(super) fn jump(&mut self, millis: u64) {
        self.clock.jump(millis);
    }

    pub(super) fn is_live(&self) -> bool {
        self.client.as_ref().is_some_and(|client| client.end().is_none()) && !self.has_left
    }

    pub(super) fn connected(&mut self, connection: ConnectionId, now: Moment) {
        let own = self.clock.read(now);
        self.connection = Some(connection);
        self.client.iter_mut().for_each(|client| client.handle_connected(own));
    }

    pub(super) fn disconnected(&mut self, now: Moment) {
        let own = self.clock.read(now);
        self.connection = None;
        self.client.iter_mut().for_each(|client| client.handle_disconnected(own));
    }

    pub(super) fn receive(&mut self, bytes: &[u8], now: Moment) {
        let own = self.clock.read(now);
        self.note_session();
        if let Some(client) = &mut self.client {
            // A client that is over says so by its event.
            let _ = client.handle_message(bytes, own);
        }
    }

    /// Where its session stands, before it may roll back.
    fn note_session(&mut self) {
        let session = self.client.as_ref().and_then(Client::session);
        self.head_before = session.map_or(Tick::ZERO, Session::head);
        self.oldest_before = session.and_then(Session::oldest_checkpoint);
    }

    /// One turn. What the client says of it comes out by [`Actor::drain`].
    pub(super) fn turn(&mut self, now: Moment, schedule: &Schedule, see: &mut dyn FnMut(Seen)) {
        let (who, own) = (self.who(), self.clock.read(now));
        let Actor { client: Some(client), plan, .. } = self else { return };
        client.handle_turn(own);
        while let Some(tick) = client.wanted_input() {
            let Some(generation) = generation(client) else { break };
            let input = schedule.game.input(schedule.seed, plan, tick, client.manifest().input_schema());
            let submitted = client.submit_input(&input);
            assert_eq!(submitted, Ok(tick), "the client took another input than it wanted");
            see(Seen::Sampled { who, generation, tick, input });
        }
        self.note_session();
        let Actor { client: Some(client), .. } = self else { return };
        let blocked_before = client.stats().blocked_turns;
        let Ok(progress) = client.step() else { return };
        let Some(session) = client.session() else { return };
        let dropped = session.dropped_events();
        see(Seen::Turn {
            who,
            turn: TurnSeen {
                status: client.status(),
                generation: session.descriptor().generation(),
                confirmed: session.confirmed(),
                received: session.received(),
                head: session.head(),
                next_input: client.seat().map(|seat| session.next_input(seat)),
                queued_frames: session.queued_frames() as u64,
                kept_checkpoints: session.kept_checkpoints() as u64,
                dropped_events: dropped.catch_up + dropped.confirmed,
                resimulated: progress.resimulated,
                blocked: client.stats().blocked_turns > blocked_before,
            },
        });
    }

    /// Drains the client: what it sends comes back, all else is seen.
    pub(super) fn drain(&mut self, see: &mut dyn FnMut(Seen)) -> Vec<Vec<u8>> {
        let who = self.who();
        let (head_before, oldest) = (self.head_before, self.oldest_before);
        let Some(client) = &mut self.client else { return Vec::new() };
        let mut sent = Vec::new();
        loop {
            let confirmed = client.session().map_or(Tick::ZERO, Session::confirmed);
            // What a session said before it was replaced comes out before that is told.
            self.generation = self.generation.or(generation(client));
            let generation = self.generation.unwrap_or_default();
            match client.poll_output() {
                None => break,
                Some(Output::Transmit(bytes)) => {
                    if let Ok(ClientMessage::Report { generation, tick, checksum }) = ClientMessage::decode(bytes) {
                        see(Seen::Report { who, generation, tick, checksum, confirmed });
                    }
                    sent.push(bytes.to_vec());
                }
                Some(Output::Event(ClientEvent::Session(event))) => see(match event {
                    SessionEvent::Confirmed(frame) => Seen::Applied { who, frame },
                    SessionEvent::Checksum { tick, checksum } => Seen::Checksum { who, generation, tick, checksum },
                    SessionEvent::RolledBack { from, to } => Seen::RolledBack { who, from, to, head_before, oldest },
                }),
                Some(Output::Event(ClientEvent::Ended(reason))) => see(Seen::Ended { who, reason }),
                Some(Output::Event(event)) => {
                    if let ClientEvent::Reconfigured { generation } = event {
                        self.generation = Some(generation);
                    }
                    see(Seen::Told { who, event });
                }
            }
        }
        let generation = generation(client).unwrap_or_default();
        while let Some(PresentationEvent { life, key, payload }) = client.poll_presentation_event() {
            see(Seen::Presented { who, generation, life, key, payload: payload.to_vec() });
        }
        if self.plan.role == Role::Liar { self.malice.spoil(sent) } else { sent }
    }

    /// A payload that no other message has anywhere.
    pub(super) fn next_mark(&mut self) -> Vec<u8> {
        self.marks += 1;
        let number = u64::from(self.plan.number) << 40 | u64::from(self.life) << 32 | self.marks;
        [mix(number).to_le_bytes(), mix(!number).to_le_bytes()].concat()
    }

    pub(super) fn stand(&mut self, schedule: &Schedule) -> StandSeen {
        let links = self.plan.up.latency_micros + self.plan.down.latency_micros;
        let rate = schedule.game.rate();
        let turn = 1_000 / u64::from(self.plan.turns_per_second.max(1)) + 1;
        let slack_ticks = rate.ticks_in_millis(links / 1_000 + 2 * turn) + 3;
        let is_over = !self.is_live();
        let mut stand = StandSeen {
            is_over,
            status: self.client.as_ref().map(Client::status),
            generation: Generation::default(),
            received: Tick::ZERO,
            confirmed: Tick::ZERO,
            state: None,
            slack_ticks,
        };
        let Some(session) = self.client.as_mut().and_then(Client::session_mut) else { return stand };
        (stand.generation, stand.received) = (session.descriptor().generation(), session.received());
        stand.confirmed = session.confirmed();
        stand.state = session.export_snapshot(session.confirmed()).ok().map(|snapshot| snapshot.checksum());
        stand
    }
}

fn generation(client: &Client) -> Option<Generation> {
    client.descriptor().map(|descriptor| descriptor.generation())
}

fn client_config(plan: &ActorPlan) -> ClientConfig {
    let (min_ticks, max_ticks) = plan.delay_ticks;
    ClientConfig {
        role: if plan.role == Role::Observer { ClientRole::Observer } else { ClientRole::Player },
        prediction_window_ticks: plan.window_ticks,
        retention: if plan.keeps_all { Retention::Window } else { Retention::Required },
        remote_prediction: match plan.guesses_neutral {
            true => RemotePrediction::Neutral,
            false => RemotePrediction::RepeatLast,
        },
        mode: if plan.predicts { PredictionMode::Always } else { PredictionMode::ConfirmedOnly },
        input_delay: if min_ticks == max_ticks {
            InputDelay::Fixed(min_ticks)
        } else {
            InputDelay::Auto { min_ticks, max_ticks, budget: DelayBudget::default() }
        },
        max_steps_per_turn: plan.steps_per_turn,
        max_confirmed_frames_per_turn: (plan.frames_per_turn > 0).then_some(plan.frames_per_turn),
        transport: if plan.datagrams { Transport::Lossy } else { Transport::Reliable },
        recording: Recording::Frames,
        ..ClientConfig::default()
    }
}
