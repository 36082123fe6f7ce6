//! One player, wherever it sits: its client, what it plays, and what it saw of the match.

use std::sync::Arc;

use retick_core::client::{Client, ClientConfig, ClientEvent, EndReason, Output};
use retick_core::digest::{Checksum, Digest};
use retick_core::frame::FrameChain;
use retick_core::input::InputSchema;
use retick_core::runtime::RuntimeFactory;
use retick_core::seat::Seat;
use retick_core::session::{Recording, SessionEvent};
use retick_core::tick::{Moment, Tick};

use super::tug::Grip;

/// How many ticks are compared.
pub const MATCH_TICKS: u64 = 180;

/// A client and its player.
pub struct Pilot {
    pub client: Client,
    schema: InputSchema,
    rhythm: u64,
    chain: Option<FrameChain>,
    checksums: Vec<(Tick, Checksum)>,
    confirmed_ticks: u64,
}

/// What was seen of the first [`MATCH_TICKS`].
pub struct Seen {
    pub seat: Seat,
    pub chain_head: Digest,
    pub checksums: Vec<(Tick, Checksum)>,
    pub confirmed_ticks: u64,
    pub rollbacks: u64,
}

impl Pilot {
    /// A player who pulls in a rhythm of its own.
    pub fn new(factory: Arc<dyn RuntimeFactory>, rhythm: u64) -> Pilot {
        let schema = factory.manifest().input_schema().clone();
        let config = ClientConfig { recording: Recording::Frames, ..ClientConfig::default() };
        let client = Client::new(config, Box::new(factory));
        Pilot { client, schema, rhythm, chain: None, checksums: Vec::new(), confirmed_ticks: 0 }
    }

    /// One turn of the client's, in the order of its contract. What it says goes to `send`.
    pub fn turn(&mut self, now: Moment, mut send: impl FnMut(&[u8])) -> Option<EndReason> {
        self.client.handle_turn(now);
        while let Some(tick) = self.client.wanted_input() {
            let strength = if tick.index() / 20 % self.rhythm == 0 { 10 } else { 2 };
            let packed = self.schema.pack(&Grip { strength }).expect("in range");
            if self.client.submit_input(&packed).is_err() {
                break;
            }
        }
        // A client that is over still has something to tell.
        let _ = self.client.step();
        if self.chain.is_none() {
            self.chain = self.client.descriptor().map(FrameChain::new);
        }
        let mut events = Vec::new();
        while let Some(output) = self.client.poll_output() {
            match output {
                Output::Transmit(bytes) => send(bytes),
                Output::Event(ClientEvent::Session(event)) => events.push(event),
                Output::Event(_) => {}
            }
        }
        events.iter().for_each(|event| self.see(event));
        self.client.end().cloned()
    }

    /// Follows the confirmed timeline, as far as it is compared.
    fn see(&mut self, event: &SessionEvent) {
        let last = Tick::new(MATCH_TICKS);
        match (event, &mut self.chain) {
            (SessionEvent::Confirmed(frame), Some(chain)) if frame.tick() < last => {
                chain.extend(frame);
                self.confirmed_ticks += 1;
            }
            (SessionEvent::Checksum { tick, checksum }, _) if *tick <= last => self.checksums.push((*tick, *checksum)),
            _ => {}
        }
    }

    /// Whether it has confirmed what is compared.
    pub fn is_done(&self) -> bool {
        self.confirmed_ticks >= MATCH_TICKS
    }

    /// What it saw.
    pub fn seen(self) -> Option<Seen> {
        Some(Seen {
            seat: self.client.seat()?,
            chain_head: self.chain?.head(),
            checksums: self.checksums,
            confirmed_ticks: self.confirmed_ticks,
            rollbacks: self.client.stats().rollbacks,
        })
    }
}
