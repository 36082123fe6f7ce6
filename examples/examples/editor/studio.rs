//! The room and the desks in one process, on a virtual clock: bytes take a while each way, and every run is the same.

use std::collections::VecDeque;
use std::sync::Arc;

use retick_authority::room::{ConnectionId, Output, ReconfigurePolicy, Room, RoomConfig, RoomSecret};
use retick_core::identity::MatchDescriptor;
use retick_core::runtime::RuntimeFactory;
use retick_core::seat::Generation;
use retick_core::tick::{Moment, Tick};

use super::Failure;
use super::desk::Desk;

/// Length of a turn: twice as many turns as ticks.
const TURN_NANOS: u64 = 25_000_000;
/// Most turns that a piece of work may take.
const PATIENCE_TURNS: u32 = 2_000;
/// One way from each desk to the room, in milliseconds.
const LATENCIES_MILLIS: [u64; 3] = [15, 60, 140];

/// Bytes on their way, with the moment at which they arrive.
type Wire = VecDeque<(Moment, Vec<u8>)>;

struct Line {
    connection: ConnectionId,
    latency_nanos: u64,
    to_room: Wire,
    from_room: Wire,
}

/// A room, three desks, and the lines between them.
pub struct Studio {
    pub room: Room,
    pub desks: Vec<Desk>,
    /// Connections that the room closed.
    pub closed: usize,
    lines: Vec<Line>,
    now: Moment,
}

impl Studio {
    /// Everyone knocks at the room's door.
    pub fn open(factory: &Arc<dyn RuntimeFactory>, descriptor: MatchDescriptor) -> Result<Studio, Failure> {
        // A real room draws its secret from the operating system.
        let config = RoomConfig { reconfigure: ReconfigurePolicy::Creator, ..RoomConfig::new(descriptor) };
        let mut room = Room::new(config, RoomSecret([7; 32]))?;
        let (now, mut desks, mut lines) = (Moment::ZERO, Vec::new(), Vec::new());
        for (millis, number) in LATENCIES_MILLIS.into_iter().zip(0..) {
            let (connection, latency_nanos) = (ConnectionId(number), millis * 1_000_000);
            room.handle_connected(connection, now);
            let mut desk = Desk::new(factory.clone(), number);
            desk.client.handle_connected(now);
            desks.push(desk);
            lines.push(Line { connection, latency_nanos, to_room: Wire::new(), from_room: Wire::new() });
        }
        Ok(Studio { room, desks, closed: 0, lines, now })
    }

    /// Works until every desk shows this state of this generation.
    pub fn work_until(
        &mut self,
        generation: Generation,
        state: Tick,
        mut hand: impl FnMut(&mut Desk),
    ) -> Result<(), Failure> {
        for _ in 0..PATIENCE_TURNS {
            if self.desks.iter().all(|desk| shown(desk) >= (generation, state)) {
                return Ok(());
            }
            self.turn(&mut hand)?;
        }
        Err(format!("not every desk shows S({state}) of generation {}", generation.0).into())
    }

    /// Deliver, confirm, take turns.
    pub fn turn(&mut self, hand: &mut impl FnMut(&mut Desk)) -> Result<(), Failure> {
        for line in &mut self.lines {
            while let Some(bytes) = arrived(&mut line.to_room, self.now) {
                self.room.handle_message(line.connection, &bytes, self.now);
            }
        }
        self.room.handle_timeout(self.now);
        self.send_what_the_room_says();
        for (desk, line) in self.desks.iter_mut().zip(&mut self.lines) {
            while let Some(bytes) = arrived(&mut line.from_room, self.now) {
                desk.client.handle_message(&bytes, self.now)?;
            }
            hand(desk);
            let due = self.now.plus_nanos(line.latency_nanos);
            desk.turn(self.now, |bytes| line.to_room.push_back((due, bytes.to_vec())))?;
            // Confirmed states alone: the present is never ahead of them.
            assert!(desk.client.session().is_none_or(|session| session.head() == session.confirmed()));
        }
        self.now = self.now.plus_nanos(TURN_NANOS);
        Ok(())
    }

    fn send_what_the_room_says(&mut self) {
        while let Some(output) = self.room.poll_output() {
            match output {
                Output::Transmit { to, bytes } => {
                    for line in self.lines.iter_mut().filter(|line| to.contains(&line.connection)) {
                        line.from_room.push_back((self.now.plus_nanos(line.latency_nanos), bytes.to_vec()));
                    }
                }
                Output::Close { .. } => self.closed += 1,
                Output::Persist { .. } | Output::Event(_) => {}
            }
        }
    }
}

/// The state that a desk shows, and its generation.
fn shown(desk: &Desk) -> (Generation, Tick) {
    let session = desk.client.session();
    session.map_or_else(Default::default, |session| (session.descriptor().generation(), session.confirmed()))
}

fn arrived(wire: &mut Wire, now: Moment) -> Option<Vec<u8>> {
    let due = wire.front().is_some_and(|(due, _)| *due <= now);
    if due { wire.pop_front().map(|(_, bytes)| bytes) } else { None }
}
