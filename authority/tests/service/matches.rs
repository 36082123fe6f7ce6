//! Whole matches.

use std::sync::{Arc, Mutex};

use retick_authority::log::{FrameLog, LogError, MemoryLog};
use retick_authority::room::{Durability, RoomEvent};
use retick_authority::service::RoomPhase;
use retick_client::{CreateOptions, NetEnd, RoomPhase as SeenPhase, create_room, room_info};
use retick_core::client::EndReason;
use retick_core::tick::Tick;
use retick_core::wire::CloseReason;

use crate::game::{self, CADENCE_TICKS, Scripted, assert_agreement, factory, room_config};
use crate::server::{Server, client_is, local_config, room_is, soon};

/// V1, N1, A8: everyone who plays over sockets ends with the states of everyone else.
async fn check_match<const HZ: u32>(seats: u8, ticks: u64) {
    let (server, game) = (Server::start(local_config()), factory::<HZ>(b"one"));
    let code = server.handle.create_room(room_config(&game, seats)).expect("a room");
    let status = server.status(code);
    let (clients, checksums): (Vec<_>, Vec<_>) = (0..seats)
        .map(|seat| {
            let (player, checksums) = Scripted::new(seat.into());
            (server.join(code, &game, player), checksums)
        })
        .unzip();
    for client in &clients {
        client_is("the match is played", client, |stats| stats.confirmed >= Tick::new(ticks)).await;
    }
    server.handle.close_room(code).await.expect("it is open");
    for client in clients {
        let outcome = soon("the client ends", client.join()).await.expect("no panic");
        assert_eq!(outcome.end, NetEnd::Machine(EndReason::Closed(CloseReason::RoomEnded)));
        assert_eq!((outcome.client.stats().desyncs, outcome.lost_transports), (0, 0));
    }
    let common = usize::try_from(ticks / u64::from(CADENCE_TICKS)).expect("small");
    assert_agreement(&checksums, common);
    room_is("the room is over", &status, |status| status.phase == RoomPhase::Closed).await;
    let stats = status.borrow().stats;
    assert_eq!((stats.desyncs, stats.malformed_messages, stats.over_budget_connections), (0, 0, 0));
    assert!(status.borrow().frontier >= Tick::new(ticks));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn v1_two_seats_agree_at_60_hz() {
    check_match::<60>(2, 300).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn v1_four_seats_agree_at_120_hz() {
    check_match::<120>(4, 360).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn v1_a_room_made_over_http_is_described_joined_and_deserted() {
    let (server, game) = (Server::start(local_config()), factory::<60>(b"one"));
    let (address, descriptor) = (server.address.to_string(), game::descriptor(&game, 2));
    let options = CreateOptions { checksum_cadence_ticks: Some(CADENCE_TICKS), ..CreateOptions::default() };
    let code = create_room(&address, &descriptor, &options).await.expect("a room");
    let info = room_info(&address, &code).await.expect("it exists");
    assert_eq!(info.code, code);
    assert_eq!((info.identity, info.descriptor_digest), (descriptor.identity(), descriptor.digest()));
    assert_eq!((info.seats, info.free_seats, info.phase), (descriptor.seats(), 2, SeenPhase::Waiting));

    let code = code.as_str().to_lowercase().parse().expect("read in any case");
    let (clients, checksums): (Vec<_>, Vec<_>) = (0..2)
        .map(|seat| {
            let (player, checksums) = Scripted::new(seat);
            (server.join(code, &game, player), checksums)
        })
        .unzip();
    for client in &clients {
        client_is("the match is played", client, |stats| stats.confirmed >= Tick::new(60)).await;
    }
    let status = server.status(code);
    // Counts are told now and then.
    room_is("the room says so", &status, |status| status.frontier >= Tick::new(60)).await;
    let info = room_info(&address, &code.to_string().parse().expect("a code")).await.expect("it exists");
    assert_eq!((info.free_seats, info.phase), (0, SeenPhase::Running));
    assert!(info.frontier >= Tick::new(60));
    for client in clients {
        client.leave().expect("it plays");
        assert_eq!(soon("the client ends", client.join()).await.expect("no panic").end, NetEnd::Left);
    }
    assert_agreement(&checksums, 3);
    room_is("nobody is left", &status, |status| status.phase == RoomPhase::Closed).await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a6_a_dropped_socket_is_replaced_and_the_seat_resumed() {
    let (server, game) = (Server::start(local_config()), factory::<60>(b"one"));
    let code = server.handle.create_room(room_config(&game, 2)).expect("a room");
    let mut events = server.handle.room_events(code).expect("it exists");
    let ((one, one_sums), (other, other_sums)) = (Scripted::new(0), Scripted::new(1));
    let (one, other) = (server.join(code, &game, one), server.join(code, &game, other));
    client_is("the match runs", &one, |stats| stats.confirmed >= Tick::new(60)).await;
    for lost in 1..=3 {
        one.reconnect().expect("it plays");
        client_is("it is back", &one, |stats| stats.lost_transports == lost).await;
        let before = one.stats().confirmed;
        let later = before.saturating_add(45);
        client_is("it plays on", &one, |stats| stats.confirmed >= later).await;
    }
    client_is("the other plays on", &other, |stats| stats.confirmed >= Tick::new(180)).await;
    one.leave().expect("it plays");
    other.leave().expect("it plays");
    let (one, other) = (soon("an end", one.join()).await, soon("an end", other.join()).await);
    let (one, other) = (one.expect("no panic"), other.expect("no panic"));
    assert_eq!((one.end, one.lost_transports, one.client.stats().desyncs), (NetEnd::Left, 3, 0));
    assert_eq!((other.end, other.lost_transports), (NetEnd::Left, 0));
    assert_agreement(&[one_sums, other_sums], 8);
    let mut seen = Vec::new();
    while let Ok(event) = soon("the room's events end", events.recv()).await {
        seen.push(event);
    }
    let count = |wanted: fn(&RoomEvent) -> bool| seen.iter().filter(|event| wanted(event)).count();
    assert_eq!(count(|event| matches!(event, RoomEvent::SeatClaimed { .. })), 2);
    assert_eq!(count(|event| matches!(event, RoomEvent::SeatResumed { .. })), 3);
    assert_eq!(count(|event| matches!(event, RoomEvent::Closed { .. })), 1);
    server.stop().await;
}

/// A log that its owner can read afterwards.
#[derive(Clone, Default)]
struct SharedLog(Arc<Mutex<MemoryLog>>);

impl SharedLog {
    /// How many frames there are, each checked.
    fn whole_frames(&self) -> u64 {
        let log = self.0.lock().expect("not poisoned");
        let mut frames = log.frames().expect("a room's log");
        (0..).take_while(|_| frames.next().is_some_and(|frame| frame.is_ok())).count() as u64
    }
}

impl FrameLog for SharedLog {
    type Error = LogError;

    fn append(&mut self, sequence: u64, record: &[u8]) -> Result<(), LogError> {
        self.0.lock().expect("not poisoned").append(sequence, record)
    }

    fn next_sequence(&self) -> u64 {
        self.0.lock().expect("not poisoned").next_sequence()
    }

    fn read_into(&mut self, sequence: u64, out: &mut Vec<u8>) -> Result<bool, LogError> {
        self.0.lock().expect("not poisoned").read_into(sequence, out)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a12_a_durable_match_is_in_its_log_whole() {
    let (server, game, log) = (Server::start(local_config()), factory::<60>(b"one"), SharedLog::default());
    let mut config = room_config(&game, 1);
    config.durability = Durability::EveryFrame;
    let code = server.handle.create_room_with_log(config, Box::new(log.clone())).expect("a room");
    let status = server.status(code);
    let client = server.join(code, &game, Scripted::new(0).0);
    client_is("the match is played", &client, |stats| stats.confirmed >= Tick::new(90)).await;
    server.handle.close_room(code).await.expect("it is open");
    room_is("the room is over", &status, |status| status.phase == RoomPhase::Closed).await;
    assert_eq!(Tick::new(log.whole_frames()), status.borrow().frontier);
    drop(client);
    server.stop().await;
}
