//! Plain game loops: a [`Runner`] on the game's own thread, and one thread below it that moves its bytes (N7).
//!
//! No `async` in the game: [`BlockingRunner::update`] takes in what has come, plays a turn and hands on what is to be sent, without
//! waiting for anything. The thread opens the sockets, and new ones when one is lost; the runner is told.

mod link;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use retick_core::runner::{
    NetworkedOptions, OfflineOptions, Output, PreparationRequest, Runner, RunnerConfig, RunnerError, RunnerEvent,
    RunnerSnapshot, TransportEvent,
};
use retick_core::runtime::RuntimeFactory;
use retick_core::session::TickInputs;

use self::link::{Closing, Link, LinkEvent};
pub use self::link::{MAX_INBOUND_BYTES, MAX_OUTBOUND_MESSAGES};
use crate::code::RoomCode;
use crate::config::{DEFAULT_CONNECT_MILLIS, DEFAULT_SILENCE_MILLIS, NetConfig, Reconnect};

/// Most events that wait for [`BlockingRunner::next_event`]; further ones are dropped and counted, requests to prepare never.
pub const MAX_WAITING_LOOP_EVENTS: usize = 1024;

/// Most words of the network that one update takes in; the others wait for the next.
const MAX_WORDS_PER_UPDATE: usize = 4096;

/// What a [`BlockingRunner`] is made with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BlockingConfig {
    /// What the runner is to do.
    pub runner: RunnerConfig,
    /// How a lost transport is replaced.
    pub reconnect: Reconnect,
    /// How long one attempt to connect may take, in milliseconds.
    pub connect_millis: u64,
    /// After how many milliseconds without a byte a transport counts as lost.
    pub silence_millis: u64,
}

impl Default for BlockingConfig {
    fn default() -> BlockingConfig {
        BlockingConfig {
            runner: RunnerConfig::default(),
            reconnect: Reconnect::default(),
            connect_millis: DEFAULT_CONNECT_MILLIS,
            silence_millis: DEFAULT_SILENCE_MILLIS,
        }
    }
}

/// Something for the game's loop.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LoopEvent {
    /// The runner told it.
    Runner(RunnerEvent),
    /// A match is to be prepared; answer with [`Runner::complete_preparation`].
    Prepare(Box<PreparationRequest>),
}

/// A game's matches behind one plain loop. Dropping it ends its threads, and waits for them: for half a second at most, when the
/// other side takes no goodbye.
pub struct BlockingRunner {
    runner: Runner,
    config: BlockingConfig,
    link: Option<Link>,
    closing: Closing,
    events: VecDeque<LoopEvent>,
    dropped_events: u64,
}

impl BlockingRunner {
    /// A runner that waits for its first match. `factory` makes the runtimes of all of them.
    ///
    /// # Errors
    /// [`RunnerError::Config`].
    pub fn new(config: BlockingConfig, factory: Arc<dyn RuntimeFactory>) -> Result<BlockingRunner, RunnerError> {
        Ok(BlockingRunner {
            runner: Runner::new(config.runner, factory)?,
            config,
            link: None,
            closing: Closing::default(),
            events: VecDeque::new(),
            dropped_events: 0,
        })
    }

    /// Joins a room of the service at `address`, given as `host:port`, and ends whatever ran. Returns at once: how it goes shows in
    /// the snapshot.
    ///
    /// # Errors
    /// As [`BlockingRunner::connect_with`].
    pub fn connect(&mut self, address: impl Into<String>, code: RoomCode) -> Result<(), RunnerError> {
        let BlockingConfig { reconnect, connect_millis, silence_millis, .. } = self.config;
        let config = NetConfig { reconnect, connect_millis, silence_millis, ..NetConfig::new(address, code) };
        self.connect_with(config)
    }

    /// The same with a ticket, a reservation, TLS, or limits of its own. [`NetConfig::client`] is not read: the runner has its own.
    ///
    /// # Errors
    /// [`RunnerError::Disposed`]; [`RunnerError::Transport`] when this machine gives no thread, which leaves the runner failed.
    pub fn connect_with(&mut self, config: NetConfig) -> Result<(), RunnerError> {
        let (room_code, ticket) = (Some(config.code.to_string()), config.ticket.clone());
        let id = self.runner.start_networked(NetworkedOptions { room_code, ticket })?;
        // The old link is hung up first.
        self.pump();
        match Link::open(id, config) {
            Ok(link) => {
                self.link = Some(link);
                Ok(())
            }
            Err(error) => {
                let text = error.to_string();
                self.runner.handle_transport(id, TransportEvent::Error(&text));
                self.pump();
                Err(RunnerError::Transport(text.into_boxed_str()))
            }
        }
    }

    /// Starts a match at this machine, and ends whatever ran.
    ///
    /// # Errors
    /// As [`Runner::start_offline`].
    pub fn start_offline(&mut self, options: &OfflineOptions) -> Result<(), RunnerError> {
        let started = self.runner.start_offline(options);
        self.pump();
        started
    }

    /// One turn of the game's loop, so many milliseconds after the last: takes in what has come, plays, and hands on what is to be
    /// sent. Waits for nothing.
    ///
    /// # Errors
    /// As [`Runner::update`].
    pub fn update(&mut self, delta_millis: f64, inputs: &mut impl TickInputs) -> Result<(), RunnerError> {
        self.receive();
        let updated = self.runner.update(delta_millis, inputs);
        self.pump();
        updated
    }

    /// Waits until something has come of the network, or for so long: for loops that no display holds back.
    pub fn wait(&mut self, most: Duration) {
        match &mut self.link {
            Some(link) => link.wait(most),
            None => std::thread::park_timeout(most),
        }
    }

    /// Drops the transport and opens another, as after a change of networks. The seat is resumed (A6).
    pub fn reconnect(&mut self) {
        if let Some(link) = &mut self.link {
            link.give_up_connection();
        }
    }

    /// Leaves a room for good; the match stops when the room has answered.
    ///
    /// # Errors
    /// [`RunnerError::Disposed`].
    pub fn leave(&mut self) -> Result<(), RunnerError> {
        let left = self.runner.leave();
        self.pump();
        left
    }

    /// Ends whatever runs. A room keeps the seat for the length of its grace.
    ///
    /// # Errors
    /// [`RunnerError::Disposed`].
    pub fn stop(&mut self) -> Result<(), RunnerError> {
        let stopped = self.runner.stop();
        self.pump();
        stopped
    }

    /// The next thing that the loop is told.
    pub fn next_event(&mut self) -> Option<LoopEvent> {
        self.events.pop_front()
    }

    /// The runner at this moment, for a UI.
    pub fn snapshot(&self) -> RunnerSnapshot<'_> {
        self.runner.snapshot()
    }

    /// The runner, to read and to draw.
    pub fn runner(&self) -> &Runner {
        &self.runner
    }

    /// The runner, for inputs, commands, preparations and presentation events. What it has to say leaves with the next update.
    pub fn runner_mut(&mut self) -> &mut Runner {
        &mut self.runner
    }

    /// Events that nobody took in time.
    pub fn dropped_events(&self) -> u64 {
        self.dropped_events
    }

    fn receive(&mut self) {
        let Some(link) = &mut self.link else { return };
        let id = link.id();
        for _ in 0..MAX_WORDS_PER_UPDATE {
            let Some(event) = link.next_event() else { return };
            let told = match &event {
                LinkEvent::Connected { .. } => TransportEvent::Connected,
                LinkEvent::Message(bytes) => TransportEvent::Message(bytes),
                LinkEvent::Reconnecting => TransportEvent::Reconnecting,
                LinkEvent::Disconnected => TransportEvent::Disconnected,
                LinkEvent::Failed(text) => TransportEvent::Error(text),
            };
            self.runner.handle_transport(id, told);
            link.handled(&event);
        }
    }

    /// Does what the runner asks for.
    fn pump(&mut self) {
        while let Some(output) = self.runner.poll_output() {
            match output {
                Output::Transmit { link: to, bytes } => {
                    if let Some(link) = self.link.as_mut().filter(|link| link.id() == to) {
                        link.send(bytes);
                    }
                }
                Output::Hangup { link: ended } => {
                    if let Some(link) = self.link.take_if(|link| link.id() <= ended) {
                        self.closing.close(link);
                    }
                }
                Output::Prepare(request) => self.events.push_back(LoopEvent::Prepare(request)),
                Output::Event(event) => {
                    if self.events.len() < MAX_WAITING_LOOP_EVENTS {
                        self.events.push_back(LoopEvent::Runner(event));
                    } else {
                        self.dropped_events += 1;
                    }
                }
            }
        }
    }
}

impl Drop for BlockingRunner {
    fn drop(&mut self) {
        self.runner.dispose();
        self.pump();
    }
}
