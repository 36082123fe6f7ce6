//! A7: a client that gives snapshots, and one that is built from one; a room is played by hand.

use std::iter;

use retick_core::client::{
    Client, ClientConfig, ClientEvent, ClientStatus, DONATION_WINDOW_CHUNKS, EndReason, HydrationError,
    MAX_QUEUED_DONATIONS, Output,
};
use retick_core::config::SessionConfig;
use retick_core::digest::{Checksum, Digest};
use retick_core::frame::FrameRunWriter;
use retick_core::identity::MatchDescriptor;
use retick_core::rng::SessionSeed;
use retick_core::runtime::{GameDescription, InitContext, NativeFactory, RuntimeFactory, Simulation, StepContext};
use retick_core::seat::{ControlEpoch, Generation, Seat, SeatSet};
use retick_core::session::{Budget, Session, SessionPolicy, Standing};
use retick_core::snapshot::{Snapshot, SnapshotError};
use retick_core::tick::{Moment, Tick};
use retick_core::wire::{
    ChunkError, Claim, ClaimId, ClientMessage, Frames, History, NoSnapshot, ReleaseTag, ResumeToken, RoomClock,
    RoomMessage, RoomRules, SNAPSHOT_CHUNK_BYTES, SnapshotHeader, TransferId, Welcome,
};
use serde::{Deserialize, Serialize};

use crate::counter::{Add, Counter, descriptor, factory, frame, seats};

const GENERATION: Generation = Generation(0);
const RULES: RoomRules = RoomRules { hard_tolerance_ticks: 6, checksum_cadence_ticks: 1 };

struct Peer(Client);

impl Peer {
    /// Greeted in a match that runs.
    fn greeted(history: History, frontier: u64) -> Peer {
        let mut client = Client::new(ClientConfig::default(), Box::new(factory()));
        client.handle_connected(Moment::ZERO);
        let mut peer = Peer(client);
        peer.welcome(history, frontier);
        peer.outputs();
        peer
    }

    fn welcome(&mut self, history: History, frontier: u64) {
        self.welcome_to(&descriptor(2), history, frontier);
    }

    fn welcome_to(&mut self, descriptor: &MatchDescriptor, history: History, frontier: u64) {
        let (seat, id, token) = (Seat::new(0).unwrap(), ClaimId(1), ResumeToken([7; 32]));
        let claim = Some(Claim { seat, id, epoch: ControlEpoch(1), token });
        let (descriptor, frontier) = (&descriptor.to_bytes()[..], Tick::new(frontier));
        self.hear(&RoomMessage::Welcome(Welcome { claim, descriptor, rules: RULES, frontier, history })).unwrap();
        self.hear(&RoomMessage::Started { generation: GENERATION, clock: RoomClock::default() }).unwrap();
    }

    fn hear(&mut self, message: &RoomMessage<'_>) -> Result<(), EndReason> {
        let mut bytes = vec![];
        message.encode_into(&mut bytes);
        self.0.handle_message(&bytes, Moment::ZERO)
    }

    fn frames(&mut self, first: u64, count: u32) -> Result<(), EndReason> {
        let (mut run, mut last) = (FrameRunWriter::default(), None);
        for tick in first..first + u64::from(count) {
            let frame = frame(tick);
            run.push(&frame, last.as_ref());
            last = Some(frame);
        }
        let (generation, first, tag) = (GENERATION, Tick::new(first), ReleaseTag::default());
        self.hear(&RoomMessage::Frames(Frames { generation, first, count, complete: true, tag, body: run.body() }))
    }

    fn turn(&mut self) {
        self.0.handle_turn(Moment::ZERO);
        self.0.step().unwrap();
    }

    fn want(&mut self, transfer: u64, tick: u64) {
        let (transfer, generation, tick) = (TransferId(transfer), GENERATION, Tick::new(tick));
        self.hear(&RoomMessage::SnapshotWanted { transfer, generation, tick }).unwrap();
    }

    /// What it said about snapshots and readiness, and what it told the game about them.
    fn outputs(&mut self) -> (Vec<Said>, Vec<ClientEvent>) {
        let (mut said, mut events) = (vec![], vec![]);
        while let Some(output) = self.0.poll_output() {
            match output {
                Output::Transmit(bytes) => said.extend(Said::of(&ClientMessage::decode(bytes).unwrap())),
                Output::Event(event) => events.push(event),
            }
        }
        let about = |event: &ClientEvent| {
            use ClientEvent::{Hydrated, Hydrating, HydrationFailed, NoSnapshot};
            matches!(event, Hydrating { .. } | Hydrated { .. } | HydrationFailed { .. } | NoSnapshot { .. })
        };
        events.retain(about);
        (said, events)
    }

    fn confirmed(&self) -> u64 {
        self.0.session().unwrap().confirmed().index()
    }

    fn announce(&mut self, header: SnapshotHeader) -> Result<(), EndReason> {
        self.hear(&RoomMessage::Snapshot { header, verified: true })
    }

    fn chunk(&mut self, transfer: u64, bytes: &[u8]) -> Result<(), EndReason> {
        self.hear(&RoomMessage::SnapshotChunk { transfer: TransferId(transfer), index: 0, bytes })
    }
}

#[derive(Clone, PartialEq, Debug)]
enum Said {
    Ready,
    Offer(SnapshotHeader),
    Chunk { transfer: u64, index: u32, bytes: Vec<u8> },
    Refused { transfer: u64, cause: NoSnapshot },
    Progress { transfer: u64, next: u32 },
    Failed { transfer: u64 },
}

impl Said {
    fn of(message: &ClientMessage<'_>) -> Option<Said> {
        Some(match *message {
            ClientMessage::Ready { .. } => Said::Ready,
            ClientMessage::SnapshotOffer(header) => Said::Offer(header),
            ClientMessage::SnapshotChunk { transfer, index, bytes } => {
                Said::Chunk { transfer: transfer.0, index, bytes: bytes.to_vec() }
            }
            ClientMessage::SnapshotRefused { transfer, cause } => Said::Refused { transfer: transfer.0, cause },
            ClientMessage::SnapshotProgress { transfer, next } => Said::Progress { transfer: transfer.0, next },
            ClientMessage::SnapshotFailed { transfer } => Said::Failed { transfer: transfer.0 },
            _ => return None,
        })
    }
}

/// A snapshot of `S(tick)` of this match, and what a room would announce of it.
fn donated(descriptor: &MatchDescriptor, transfer: u64, tick: u64) -> (SnapshotHeader, Vec<u8>) {
    let runtime = factory().create(descriptor).unwrap();
    let mut session = Session::new(runtime, descriptor, SessionPolicy::default(), SeatSet::EMPTY).unwrap();
    (0..tick).for_each(|tick| session.confirm(&frame(tick)).unwrap());
    session.advance(Budget { confirmed_frames: usize::MAX, target: Tick::ZERO }).unwrap();
    let snapshot = session.export_snapshot(Tick::new(tick)).unwrap().without_frames();
    let bytes = snapshot.to_bytes();
    (announced(transfer, snapshot.tick(), snapshot.checksum(), &bytes), bytes)
}

fn announced(transfer: u64, tick: Tick, checksum: Checksum, bytes: &[u8]) -> SnapshotHeader {
    let (transfer, generation, digest) = (TransferId(transfer), GENERATION, Digest::of(bytes));
    SnapshotHeader { transfer, generation, tick, checksum, byte_count: u32::try_from(bytes.len()).unwrap(), digest }
}

#[test]
fn a7_a_client_gives_the_state_that_it_reported() {
    let mut donor = Peer::greeted(History::Frames { next: Tick::ZERO }, 0);
    donor.frames(0, 9).unwrap();
    donor.turn();
    donor.outputs();
    donor.want(3, 5);
    assert_eq!(donor.outputs().0, [], "it is made in a turn");
    donor.turn();
    let (header, bytes) = donated(&descriptor(2), 3, 5);
    assert_eq!(donor.outputs().0, [Said::Offer(header), Said::Chunk { transfer: 3, index: 0, bytes }]);
    donor.turn();
    assert_eq!(donor.outputs().0, [], "each chunk is sent once");
    // The next one waits until the room has this one.
    donor.want(4, 6);
    donor.turn();
    assert_eq!(donor.outputs().0, []);
    donor.hear(&RoomMessage::SnapshotProgress { transfer: TransferId(3), next: 1 }).unwrap();
    donor.turn();
    assert_eq!(donor.outputs().0[0], Said::Offer(donated(&descriptor(2), 4, 6).0));
}

/// A game whose state takes several chunks, and does not compress.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Bulk {
    words: Vec<u64>,
}

impl Simulation for Bulk {
    type Input = Add;
    type Command = u8;

    fn describe() -> GameDescription {
        GameDescription { state_schema: "bulk/v1", ..Counter::describe() }
    }

    fn init(_: &InitContext<'_>) -> Result<Self, u32> {
        let next = |word: &u64| Some(word.rotate_left(23).wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0x1234_5678_9ABC_DEF1);
        let first = u64::MAX / 3;
        Ok(Bulk { words: iter::successors(Some(first), next).take(5 * SNAPSHOT_CHUNK_BYTES / 8).collect() })
    }

    fn step(&mut self, _: &StepContext<'_, Self>) {
        self.words[0] += 1;
    }

    fn project(&self, _: &mut Vec<u8>) {}

    fn decode_command(payload: &[u8]) -> Option<u8> {
        payload.first().copied()
    }
}

/// Its own input stands behind what a donor sends: a turn sends one chunk, however often it steps, and the window bounds the rest.
#[test]
fn a7_a_donor_sends_a_chunk_a_turn_and_has_no_more_under_way_than_its_window() {
    let bulk = NativeFactory::<Bulk>::new(|manifest| manifest.module("donation.rs", b"bulk")).unwrap();
    let descriptor = MatchDescriptor::new(bulk.manifest(), SessionConfig::empty(), SessionSeed::from_u64(9), seats(2));
    let mut client = Client::new(ClientConfig::default(), Box::new(bulk));
    client.handle_connected(Moment::ZERO);
    let mut donor = Peer(client);
    donor.welcome_to(&descriptor, History::Frames { next: Tick::ZERO }, 0);
    donor.frames(0, 3).unwrap();
    donor.turn();
    donor.outputs();
    donor.want(1, 2);
    let mut sent = |acknowledged: u32| {
        let progress = RoomMessage::SnapshotProgress { transfer: TransferId(1), next: acknowledged };
        donor.hear(&progress).unwrap();
        donor.turn();
        donor.0.step().unwrap();
        let index = |said: Said| if let Said::Chunk { index, .. } = said { Some(index) } else { None };
        donor.outputs().0.into_iter().filter_map(index).collect::<Vec<_>>()
    };
    assert_eq!(DONATION_WINDOW_CHUNKS, 2);
    let turns: Vec<_> = [0, 0, 0, 0, 1, 1, 3, 3, 3].map(&mut sent).into();
    let expected: [&[u32]; 9] = [&[0], &[1], &[], &[], &[2], &[], &[3], &[4], &[]];
    assert_eq!(turns, expected);
}

#[test]
fn a7_a_donor_refuses_what_it_has_not_and_what_is_too_much_and_stops_when_told() {
    let mut donor = Peer::greeted(History::Frames { next: Tick::ZERO }, 0);
    donor.frames(0, 9).unwrap();
    donor.turn();
    donor.outputs();
    let refused = |transfer, cause| Said::Refused { transfer, cause };
    donor.want(1, 99);
    donor.turn();
    assert_eq!(donor.outputs().0, [refused(1, NoSnapshot::NoState)]);
    (2..=2 + MAX_QUEUED_DONATIONS as u64).for_each(|transfer| donor.want(transfer, 5));
    let beyond = 2 + MAX_QUEUED_DONATIONS as u64;
    assert_eq!(donor.outputs().0, [refused(beyond, NoSnapshot::NoDonor)]);
    for transfer in 2..beyond {
        donor.hear(&RoomMessage::SnapshotCanceled { transfer: TransferId(transfer) }).unwrap();
    }
    donor.turn();
    assert_eq!(donor.outputs().0, []);
    // What was under way ends with the transport.
    donor.want(9, 5);
    donor.0.handle_disconnected(Moment::ZERO);
    donor.0.handle_connected(Moment::ZERO);
    donor.welcome(History::Frames { next: Tick::new(9) }, 9);
    donor.turn();
    assert_eq!(donor.outputs().0, [Said::Ready]);
}

#[test]
fn a7_a_newcomer_is_built_from_a_snapshot_and_ready_once_it_has_caught_up() {
    let mut joiner = Peer::greeted(History::Snapshot, 8);
    joiner.turn();
    assert_eq!((joiner.0.wanted_input(), joiner.0.status()), (None, ClientStatus::CatchingUp));
    assert_eq!(joiner.0.session().map(Session::standing), Some(Standing::AwaitingHydration));
    joiner.hear(&RoomMessage::NoSnapshot { cause: NoSnapshot::NoDonor }).unwrap();
    assert_eq!(joiner.outputs().1, [ClientEvent::NoSnapshot { cause: NoSnapshot::NoDonor }]);
    let (header, bytes) = donated(&descriptor(2), 6, 5);
    joiner.announce(header).unwrap();
    assert_eq!(joiner.outputs().0, [Said::Progress { transfer: 6, next: 0 }]);
    joiner.chunk(6, &bytes).unwrap();
    let (said, events) = joiner.outputs();
    assert_eq!(said, [Said::Progress { transfer: 6, next: 1 }]);
    let total_bytes = header.byte_count;
    let hydrated = ClientEvent::Hydrated { tick: Tick::new(5), verified: true };
    assert_eq!(events, [ClientEvent::Hydrating { received_bytes: total_bytes, total_bytes }, hydrated]);
    assert_eq!((joiner.confirmed(), joiner.0.chain_head()), (5, None));
    joiner.frames(5, 2).unwrap();
    joiner.turn();
    assert_eq!((joiner.confirmed(), joiner.outputs().0), (7, vec![]), "one tick is missing");
    joiner.frames(7, 1).unwrap();
    joiner.turn();
    assert_eq!(joiner.outputs().0, [Said::Ready]);
    let expected = donated(&descriptor(2), 0, 8).0.checksum;
    assert_eq!(joiner.0.session_mut().unwrap().checksum_at(Tick::new(8)), Ok(expected));
}

/// The fault that this pins: what was sampled and not confirmed was dropped with the session's state, and sampled again.
#[test]
fn n2_a_tick_that_was_sampled_is_not_sampled_again_behind_a_snapshot() {
    let mut peer = Peer::greeted(History::Frames { next: Tick::ZERO }, 0);
    peer.frames(0, 8).unwrap();
    peer.turn();
    let (seat, sampled) = (Seat::new(0).unwrap(), Tick::new(8));
    let own = peer.0.manifest().input_schema().neutral().to_vec();
    assert_eq!(peer.0.submit_input(&own), Ok(sampled));
    // The transport is lost, and there is too much to catch up with for frames.
    peer.0.handle_disconnected(Moment::ZERO);
    peer.0.handle_connected(Moment::ZERO);
    peer.welcome(History::Snapshot, 20);
    let (header, bytes) = donated(&descriptor(2), 1, 8);
    peer.announce(header).unwrap();
    peer.chunk(1, &bytes).unwrap();
    let (_, events) = peer.outputs();
    let hydrated = |event: &ClientEvent| matches!(event, ClientEvent::Hydrated { tick, .. } if *tick == sampled);
    assert!(events.iter().any(hydrated), "guard: {events:?}");
    let session = peer.0.session().unwrap();
    assert_eq!((session.next_input(seat), session.local_input(seat, sampled)), (Tick::new(9), Some(&own[..])));
}

#[test]
fn s8_a_snapshot_that_is_wrong_is_refused_before_the_session_is_touched() {
    let (header, bytes) = donated(&descriptor(2), 1, 5);
    let mut damaged = bytes.clone();
    damaged[40] ^= 1;
    let lie = Checksum::of(b"another state");
    let other = {
        let (config, seed) = (SessionConfig::empty(), SessionSeed::from_u64(10));
        MatchDescriptor::new(factory().manifest(), config, seed, seats(2))
    };
    let (of_other, other_bytes) = donated(&other, 1, 5);
    let check = |header: SnapshotHeader, bytes: &[u8], expected: fn(&HydrationError) -> bool| {
        let mut joiner = Peer::greeted(History::Snapshot, 8);
        joiner.announce(header).unwrap();
        joiner.chunk(1, bytes).unwrap();
        let (said, events) = joiner.outputs();
        assert_eq!(said.last(), Some(&Said::Failed { transfer: 1 }));
        let failed = |event: &ClientEvent| matches!(event, ClientEvent::HydrationFailed { error } if expected(error));
        assert!(events.iter().any(failed), "{events:?}");
        joiner.turn();
        assert_eq!((joiner.confirmed(), joiner.0.wanted_input()), (0, None), "it goes on waiting");
        // And takes the next one.
        let (good, bytes) = donated(&descriptor(2), 2, 6);
        joiner.announce(good).unwrap();
        joiner.chunk(2, &bytes).unwrap();
        assert_eq!(joiner.confirmed(), 6);
    };
    check(header, &damaged, |error| *error == HydrationError::Chunk(ChunkError::Digest));
    let sealed = announced(1, header.tick, header.checksum, &damaged);
    check(sealed, &damaged, |error| matches!(error, HydrationError::Snapshot(SnapshotError::Damaged { .. })));
    let lying = announced(1, header.tick, lie, &bytes);
    check(lying, &bytes, |error| matches!(error, HydrationError::Snapshot(SnapshotError::Checksum { .. })));
    let moved = announced(1, Tick::new(4), header.checksum, &bytes);
    check(moved, &bytes, |error| matches!(error, HydrationError::Other { .. }));
    check(of_other, &other_bytes, |error| matches!(error, HydrationError::Snapshot(SnapshotError::OtherMatch { .. })));
}

#[test]
fn a7_frames_end_the_wait_where_there_is_no_snapshot_and_a_state_of_the_past_is_refused() {
    let mut joiner = Peer::greeted(History::Snapshot, 3);
    joiner.frames(0, 3).unwrap();
    joiner.turn();
    assert_eq!((joiner.confirmed(), joiner.outputs().0), (3, vec![Said::Ready]));
    let (header, _) = donated(&descriptor(2), 1, 2);
    assert_eq!(joiner.announce(header), Err(EndReason::Protocol));
    // A chunk of nothing is nobody's.
    let mut other = Peer::greeted(History::Snapshot, 3);
    assert_eq!(other.chunk(1, b"left over"), Ok(()));
    let (header, bytes) = donated(&descriptor(2), 1, 2);
    other.announce(header).unwrap();
    assert_eq!(other.chunk(1, &bytes[1..]), Err(EndReason::Protocol));
    assert!(Snapshot::from_bytes(&bytes).is_ok(), "guard");
}
