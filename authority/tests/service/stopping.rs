//! How things end: the service, and rooms that nobody uses.

use std::time::Duration;

use retick_authority::room::{RoomEvent, StartPolicy};
use retick_authority::service::{CreateRoomError, RoomPhase, ServiceConfig, UnknownRoom};
use retick_client::NetEnd;
use retick_core::client::EndReason;
use retick_core::tick::Tick;
use retick_core::wire::{ClientMessage, CloseReason};

use crate::game::{Scripted, assert_agreement, factory, room_config};
use crate::raw::Raw;
use crate::server::{Server, client_is, local_config, room_is, soon};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn v1_a_stop_tells_everyone_and_leaves_no_task() {
    let (server, game) = (Server::start(local_config()), factory::<60>(b"one"));
    let code = server.handle.create_room(room_config(&game, 2)).expect("a room");
    let waiting_code = server.handle.create_room(room_config(&game, 2)).expect("a room");
    let mut waiting = Raw::open(server.address, waiting_code).await;
    waiting.join(game.manifest().identity()).await;
    room_is("it waits", &server.status(waiting_code), |status| status.free_seats() == 1).await;
    let ((one, one_sums), (other, other_sums)) = (Scripted::new(0), Scripted::new(1));
    let clients = [server.join(code, &game, one), server.join(code, &game, other)];
    for client in &clients {
        client_is("the match runs", client, |stats| stats.confirmed >= Tick::new(60)).await;
    }
    let handle = server.handle.clone();
    let waiting = tokio::spawn(waiting.end());
    // Includes that every task has ended.
    server.stop().await;
    for client in clients {
        let end = soon("the client ends", client.join()).await.expect("no panic").end;
        assert_eq!(end, NetEnd::Machine(EndReason::Closed(CloseReason::RoomEnded)));
    }
    assert_eq!(waiting.await.expect("no panic"), crate::raw::RawEnd::Closing(CloseReason::RoomEnded));
    assert_agreement(&[one_sums, other_sums], 3);
    assert_eq!(handle.room_count(), 0);
    assert_eq!(handle.create_room(room_config(&game, 2)), Err(CreateRoomError::Stopping));
    assert_eq!(handle.close_room(code).await, Err(UnknownRoom));
}

#[tokio::test]
async fn v1_a_room_that_nobody_joins_is_removed() {
    let (server, game) =
        (Server::start(ServiceConfig { unused_room_millis: 100, ..local_config() }), factory::<60>(b"one"));
    let status = server.status(server.handle.create_room(room_config(&game, 2)).expect("a room"));
    room_is("it is over", &status, |status| status.phase == RoomPhase::Closed).await;
    let removed = async {
        while server.handle.room_count() > 0 {
            tokio::task::yield_now().await;
        }
    };
    soon("it is removed", removed).await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a15_the_owner_starts_a_room_that_is_not_full() {
    let (server, game) = (Server::start(local_config()), factory::<60>(b"one"));
    let mut config = room_config(&game, 4);
    config.start = StartPolicy::Manual;
    let code = server.handle.create_room(config).expect("a room");
    let mut events = server.handle.room_events(code).expect("it exists");
    let client = server.join(code, &game, Scripted::new(0).0);
    let ready = async { while !matches!(events.recv().await, Ok(RoomEvent::SeatReady { .. })) {} };
    soon("the player is ready", ready).await;
    server.handle.start_room(code).await.expect("it exists");
    client_is("the match runs", &client, |stats| stats.confirmed >= Tick::new(30)).await;
    client.stop().expect("it plays");
    assert_eq!(soon("the client ends", client.join()).await.expect("no panic").end, NetEnd::Stopped);
    server.stop().await;
}

/// Otherwise every lobby that was left would stay for as long as the service, and count against whoever made it.
#[tokio::test(start_paused = true)]
async fn v1_a_room_that_everyone_left_before_it_began_is_removed() {
    let config = ServiceConfig { unused_room_millis: 10_000, idle_millis: 3_600_000, ..local_config() };
    let (server, game) = (Server::start(config), factory::<60>(b"one"));
    for leaves in [true, false] {
        let code = server.handle.create_room(room_config(&game, 2)).expect("a room");
        let status = server.status(code);
        let mut raw = Raw::pipe(&server.handle, server.address.ip(), code, "").await.expect("a place");
        raw.join(game.manifest().identity()).await;
        assert_eq!(raw.welcomed().await, Ok(()));
        // Whoever waits for others is not hurried.
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert_eq!(status.borrow().phase, RoomPhase::Waiting);
        if leaves {
            raw.send(&ClientMessage::Leave).await;
        }
        drop(raw);
        let over = tokio::time::timeout(Duration::from_secs(60), async {
            let mut status = status.clone();
            let _ = status.wait_for(|status| status.phase == RoomPhase::Closed).await;
        });
        assert!(over.await.is_ok(), "it stays for ever; its last player left: {leaves}");
    }
    server.stop().await;
}

#[tokio::test]
async fn v1_a_room_is_made_from_any_thread() {
    let (server, game) = (Server::start(local_config()), factory::<60>(b"one"));
    let (handle, config) = (server.handle.clone(), room_config(&game, 2));
    let made = std::thread::spawn(move || handle.create_room(config)).join();
    assert!(made.expect("no panic").is_ok());
    server.stop().await;
}
