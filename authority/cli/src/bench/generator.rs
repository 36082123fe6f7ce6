//! The clients of a load trial: one thread with every seat's socket, in a process of its own, so that a server's core is the
//! server's alone. It sends an input a tick for each seat, and counts what comes back and when.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{BufRead, stdin};
use std::time::{Duration, Instant};

use mio::{Events, Interest, Poll, Token};
use retick_core::seat::{ControlEpoch, Generation};
use retick_core::tick::Tick;
use retick_core::wire::{ClientMessage, Entry, Hello, InputRun, Inputs, PROTOCOL_VERSION, RoomMessage};
use retick_testing::load::{InputChange, LOAD_TICK_RATE, load_descriptor, load_input};

use super::gaps::Gaps;
use super::socket::{Kind, Socket};
use super::trial::{Opening, Outcome, Usage, say, seats};
use super::{ClientsArguments, Contender};
use crate::failure::Failure;

/// Length of a tick, in nanoseconds.
const TICK_NANOS: u64 = 1_000_000_000 / LOAD_TICK_RATE.hz() as u64;
/// How long before a tick of the room's clock its inputs are sent, as paced clients do.
const LEAD_NANOS: u64 = 4_000_000;
/// Most rooms whose inputs are sent before sockets are read again.
const SENDS_A_TURN: usize = 8;
/// Most sockets that are read before inputs are sent again.
const READS_A_TURN: usize = 64;
/// The loop waits in the system when nothing is due for longer than this, in nanoseconds, and for so long.
const PAUSE_NANOS: u64 = 2_000_000;
const PAUSE: Duration = Duration::from_millis(1);
/// How long all rooms may take to begin.
const BEGIN: Duration = Duration::from_secs(20);

/// Codes of Colyseus's protocol: who joined, and bytes for a room, of the type that the relaying rooms listen to.
const COLYSEUS_JOIN: u8 = 10;
const COLYSEUS_BYTES: [u8; 2] = [17, 1];

struct Client {
    socket: Socket,
    room: usize,
    /// When the last frame came, in nanoseconds.
    last: Option<u64>,
    ticks: u64,
}

struct Clients {
    contender: Contender,
    clients: Vec<Client>,
    /// The next tick of each room whose ticks have begun.
    next_ticks: Vec<Option<u64>>,
    /// When which room's next inputs are due.
    due: BinaryHeap<Reverse<(u64, usize)>>,
    origin: Instant,
    gaps: Gaps,
    lateness: Gaps,
    message: Vec<u8>,
}

/// Plays every seat of the server that the first line of the standard input tells of.
pub(super) fn run(arguments: &ClientsArguments) -> Result<(), Failure> {
    let failed = |error: std::io::Error| Failure::Run(format!("the clients: {error}"));
    let mut line = String::new();
    stdin().lock().read_line(&mut line).map_err(failed)?;
    let opening = Opening::from_json(&line).ok_or_else(|| Failure::Run(format!("no opening: {line}")))?;
    let mut poll = Poll::new().map_err(failed)?;
    let mut clients = Clients::connect(arguments.contender, &opening, &poll).map_err(failed)?;
    say("ready")?;
    let outcome = clients.play(&mut poll, arguments).map_err(failed)?;
    say(&outcome.to_json())
}

impl Clients {
    fn connect(contender: Contender, opening: &Opening, poll: &Poll) -> std::io::Result<Clients> {
        let rooms = opening.paths.len() / seats().count();
        let mut all = Clients {
            contender,
            clients: Vec::new(),
            next_ticks: vec![None; rooms],
            due: BinaryHeap::new(),
            origin: Instant::now(),
            gaps: Gaps::default(),
            lateness: Gaps::default(),
            message: Vec::new(),
        };
        for (path, number) in opening.paths.iter().zip(0..) {
            let mut socket = Socket::open(opening.address, path)?;
            poll.registry().register(&mut socket.stream, Token(number), Interest::READABLE)?;
            if contender == Contender::Retick {
                greet(&mut socket)?;
            }
            all.clients.push(Client { socket, room: number / seats().count(), last: None, ticks: 0 });
        }
        if contender != Contender::Retick {
            // Nobody else says when a room's ticks are.
            let begin = all.nanos() + PAUSE_NANOS;
            (0..rooms).for_each(|room| all.begin(room, begin + TICK_NANOS * room as u64 / rooms as u64));
        }
        Ok(all)
    }

    fn nanos(&self) -> u64 {
        u64::try_from(self.origin.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// Tick 0 of a room is at `at`; its inputs are sent at once.
    fn begin(&mut self, room: usize, at: u64) {
        if self.next_ticks[room].is_none() {
            self.next_ticks[room] = Some(0);
            self.due.push(Reverse((at, room)));
        }
    }

    fn play(&mut self, poll: &mut Poll, arguments: &ClientsArguments) -> std::io::Result<Outcome> {
        let mut events = Events::with_capacity(READS_A_TURN);
        let give_up = Instant::now() + BEGIN;
        while self.due.len() < self.next_ticks.len() {
            self.turn(poll, &mut events)?;
            if Instant::now() > give_up {
                return Err(std::io::Error::other("not every room has begun"));
            }
        }
        let begin = Instant::now() + Duration::from_millis(arguments.warm_millis);
        while Instant::now() < begin {
            self.turn(poll, &mut events)?;
        }
        (self.gaps, self.lateness) = (Gaps::default(), Gaps::default());
        self.clients.iter_mut().for_each(|client| client.ticks = 0);
        let (server, own) = (Usage::of(arguments.server)?, Usage::of(std::process::id())?);
        let (begin, length) = (Instant::now(), Duration::from_secs(arguments.seconds));
        while begin.elapsed() < length {
            self.turn(poll, &mut events)?;
        }
        let seconds = begin.elapsed().as_secs_f64();
        let rates = self.clients.iter().map(|client| client.ticks as f64 / seconds);
        Ok(Outcome {
            rate_mean: rates.clone().sum::<f64>() / self.clients.len() as f64,
            rate_least: rates.fold(f64::INFINITY, f64::min),
            gap_p50_millis: self.gaps.per_mille(500),
            gap_p99_millis: self.gaps.per_mille(990),
            gap_longest_millis: self.gaps.longest(),
            late_p99_millis: self.lateness.per_mille(990),
            server: Usage::of(arguments.server)?.since(&server, seconds),
            clients: Usage::of(std::process::id())?.since(&own, seconds),
        })
    }

    /// Sends what is due, and reads what has come.
    fn turn(&mut self, poll: &mut Poll, events: &mut Events) -> std::io::Result<()> {
        for _ in 0..SENDS_A_TURN {
            let now = self.nanos();
            match self.due.peek() {
                Some(Reverse((due, _))) if *due <= now => {}
                _ => break,
            }
            let Some(Reverse((due, room))) = self.due.pop() else { break };
            self.lateness.add(now - due);
            self.send_inputs(room)?;
            // The first tick's boundary is the beginning; the others' inputs are sent before theirs.
            let lead =
                if self.next_ticks[room] == Some(1) && self.contender == Contender::Retick { LEAD_NANOS } else { 0 };
            self.due.push(Reverse((due + TICK_NANOS - lead, room)));
        }
        let next = self.due.peek().map_or(u64::MAX, |Reverse((due, _))| *due);
        let is_idle = next > self.nanos().saturating_add(PAUSE_NANOS);
        poll.poll(events, Some(if is_idle { PAUSE } else { Duration::ZERO }))?;
        let mut buffer = [0; 16 * 1024];
        for event in &*events {
            self.receive(event.token().0, &mut buffer)?;
        }
        Ok(())
    }

    fn send_inputs(&mut self, room: usize) -> std::io::Result<()> {
        let Some(tick) = self.next_ticks[room] else { return Ok(()) };
        let first = room * seats().count();
        for (client, seat) in self.clients[first..first + seats().count()].iter_mut().zip(0..) {
            self.message.clear();
            if matches!(self.contender, Contender::Colyseus | Contender::ColyseusTuned) {
                self.message.extend_from_slice(&COLYSEUS_BYTES);
            }
            let packed = load_input(seat, Tick::new(tick), InputChange::EveryTick);
            let inputs = InputRun::new(1, &packed).ok_or(std::io::ErrorKind::InvalidInput)?;
            let (generation, epoch) = (Generation(0), ControlEpoch(1));
            let inputs = Inputs { generation, epoch, first: Tick::new(tick), inputs };
            ClientMessage::Inputs(inputs).encode_into(&mut self.message);
            client.socket.send(Kind::Binary, &self.message)?;
        }
        self.next_ticks[room] = Some(tick + 1);
        Ok(())
    }

    fn receive(&mut self, number: usize, buffer: &mut [u8]) -> std::io::Result<()> {
        let at = self.nanos();
        let contender = self.contender;
        let (mut ticks, mut began, mut joined, mut pinged, mut closed) = (0, false, false, false, false);
        let client = &mut self.clients[number];
        client.socket.receive(buffer, |kind, message| match kind {
            Kind::Binary => match contender {
                Contender::Retick => match RoomMessage::decode(message) {
                    Ok(RoomMessage::Frames(frames)) => ticks += u64::from(frames.count),
                    Ok(RoomMessage::Started { .. }) => began = true,
                    Ok(RoomMessage::Refused(_) | RoomMessage::Closing(_)) | Err(_) => closed = true,
                    Ok(_) => {}
                },
                Contender::Relay => ticks += 1,
                Contender::Colyseus | Contender::ColyseusTuned => {
                    ticks += u64::from(message.starts_with(&COLYSEUS_BYTES));
                    joined |= message.first() == Some(&COLYSEUS_JOIN);
                }
            },
            Kind::Ping => pinged = true,
            Kind::Pong => {}
            Kind::Close => closed = true,
        })?;
        if closed {
            return Err(std::io::Error::other("a connection was closed, or told what no client understands"));
        }
        if joined {
            client.socket.send(Kind::Binary, &[COLYSEUS_JOIN])?;
        }
        if pinged {
            client.socket.send(Kind::Pong, &[])?;
        }
        if ticks > 0 {
            client.ticks += ticks;
            if let Some(last) = client.last.replace(at) {
                self.gaps.add(at - last);
            }
        }
        let room = client.room;
        if began {
            self.begin(room, at);
        }
        Ok(())
    }
}

/// Claims a seat, and is ready for it.
fn greet(socket: &mut Socket) -> std::io::Result<()> {
    let (identity, entry) = (load_descriptor(seats()).identity(), Entry::Join { ticket: b"" });
    let hello = ClientMessage::Hello(Hello { protocol: PROTOCOL_VERSION, identity, entry });
    for message in [hello, ClientMessage::Ready { generation: Generation(0) }] {
        let mut bytes = Vec::new();
        message.encode_into(&mut bytes);
        socket.send(Kind::Binary, &bytes)?;
    }
    Ok(())
}
