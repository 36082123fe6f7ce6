//! A room with a client in every seat, on a virtual clock, without latency.

use retick_authority::room::{ConnectionId, Room, RoomConfig, RoomSecret};
use retick_core::runtime::RuntimeFactory;
use retick_core::seat::{ControlEpoch, Generation, SeatCount};
use retick_core::tick::{Moment, Tick, TickRate};
use retick_core::wire::{ClientMessage, Entry, Hello, InputRun, Inputs, PROTOCOL_VERSION};

use crate::counters::{counters_factory, counters_match};
use crate::game;

/// The room, and what its clients send.
pub struct MatchRoom {
    room: Room,
    seats: u8,
    played: u64,
    message: Vec<u8>,
}

impl MatchRoom {
    /// A room whose seats are all taken, before tick 0.
    ///
    /// # Panics
    /// For no seats, and for more than a match can have.
    #[must_use]
    pub fn new(seats: u8) -> MatchRoom {
        let factory = counters_factory().expect("a valid manifest");
        let descriptor = counters_match(&factory, SeatCount::new(seats).expect("a seat count"));
        let room = Room::new(RoomConfig::new(descriptor), RoomSecret([1; 32])).expect("the default config");
        let mut this = MatchRoom { room, seats, played: 0, message: Vec::new() };
        let identity = factory.manifest().identity();
        for client in (0..seats).map(connection) {
            let hello = Hello { protocol: PROTOCOL_VERSION, identity, entry: Entry::Join { ticket: b"" } };
            this.room.handle_connected(client, Moment::ZERO);
            this.send(client, &ClientMessage::Hello(hello), Moment::ZERO);
            this.send(client, &ClientMessage::Ready { generation: Generation(0) }, Moment::ZERO);
        }
        this
    }

    /// One tick: everyone's input arrives, the tick is confirmed, and the messages go out.
    ///
    /// # Panics
    /// When the tick was not confirmed.
    pub fn turn(&mut self) {
        let (tick, now) = (Tick::new(self.played), TickRate::Hz60.moment_of(Tick::new(self.played)));
        for seat in 0..self.seats {
            let packed = [game::Inputs::Moving.of(usize::from(seat), self.played)];
            let inputs = InputRun::new(1, &packed).expect("one input");
            let (generation, epoch) = (Generation(0), ControlEpoch(1));
            let inputs = Inputs { generation, epoch, first: tick, inputs };
            self.send(connection(seat), &ClientMessage::Inputs(inputs), now);
        }
        self.room.handle_timeout(now);
        while self.room.poll_output().is_some() {}
        self.played += 1;
        assert_eq!(self.room.frontier().index(), self.played, "every tick is confirmed at once");
    }

    /// The ticks played.
    #[must_use]
    pub fn played(&self) -> u64 {
        self.played
    }

    fn send(&mut self, client: ConnectionId, message: &ClientMessage<'_>, now: Moment) {
        self.message.clear();
        message.encode_into(&mut self.message);
        self.room.handle_message(client, &self.message, now);
    }
}

fn connection(seat: u8) -> ConnectionId {
    ConnectionId(u64::from(seat))
}
