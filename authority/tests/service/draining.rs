//! The end with notice: nobody new comes in, everyone is told, and whoever plays goes on until it is time (V1).

use std::time::Duration;

use retick_authority::service::{CreateRoomError, RoomPhase, ServiceConfig};
use retick_client::{Link, NetEnd};
use retick_core::client::EndReason;
use retick_core::wire::{CloseReason, Refusal, RoomMessage};
use tokio::time::Instant;

use crate::game::{Scripted, factory, room_config};
use crate::raw::{Raw, RawEnd, request};
use crate::server::{Server, client_is, local_config, room_is, soon};

fn notice(message: &RoomMessage<'_>) -> Option<u32> {
    match message {
        RoomMessage::Draining { millis } => Some(*millis),
        _ => None,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn v1_a_drain_lets_nobody_in_tells_everyone_and_ends_with_the_last_room() {
    let config = ServiceConfig { drain_millis: 600_000, ..local_config() };
    let (mut server, game) = (Server::start(config), factory::<60>(b"one"));
    let code = server.handle.create_room(room_config(&game, 2)).expect("a room");
    let clients = [0, 1].map(|script| server.join(code, &game, Scripted::new(script).0));
    client_is("the match runs", &clients[0], |stats| stats.confirmed.index() >= 30).await;
    let waiting = server.handle.create_room(room_config(&game, 2)).expect("a room");
    let mut seated = Raw::open(server.address, waiting).await;
    seated.join(game.manifest().identity()).await;
    assert_eq!(seated.welcomed().await, Ok(()));

    server.drain();
    let millis = seated.until(notice).await;
    assert!((590_000..=600_000).contains(&millis), "{millis}");
    let (status, answer) = request(server.address, "GET", "/health", b"").await;
    assert_eq!((status, answer["status"].as_str()), (200, Some("draining")));
    assert_eq!(server.handle.create_room(room_config(&game, 2)), Err(CreateRoomError::Stopping));
    let mut late = Raw::open(server.address, waiting).await;
    late.hello(game.manifest().identity()).await;
    assert_eq!(late.welcomed().await, Err(RawEnd::Refused(Refusal::Closing)));
    // The match goes on, and who lost the connection returns to its seat.
    clients[1].reconnect().expect("it plays");
    let mut stats = clients[1].watch();
    let back = stats.wait_for(|stats| stats.lost_transports == 1 && stats.link == Link::Open);
    soon("it is back", back).await.expect("it plays on");
    let before = clients[0].stats().confirmed;
    client_is("the match goes on", &clients[0], |stats| stats.confirmed >= before.saturating_add(60)).await;

    // With the last room it ends, long before its time.
    for room in [code, waiting] {
        server.handle.close_room(room).await.expect("it is open");
    }
    server.ended().await;
    for client in clients {
        let end = soon("the client ends", client.join()).await.expect("no panic").end;
        assert_eq!(end, NetEnd::Machine(EndReason::Closed(CloseReason::RoomEnded)));
    }
    assert_eq!(seated.end().await, RawEnd::Closing(CloseReason::RoomEnded));
}

#[tokio::test]
async fn v1_a_drain_ends_the_rooms_when_it_is_time_and_a_stop_at_once() {
    let game = factory::<60>(b"one");
    for (drain_millis, stopped) in [(300, false), (600_000, true)] {
        let mut server = Server::start(ServiceConfig { drain_millis, ..local_config() });
        let code = server.handle.create_room(room_config(&game, 2)).expect("a room");
        let mut seated = Raw::open(server.address, code).await;
        seated.join(game.manifest().identity()).await;
        assert_eq!(seated.welcomed().await, Ok(()));
        let (status, began) = (server.status(code), Instant::now());
        server.drain();
        seated.until(notice).await;
        room_is("it lives on", &status, |status| status.phase == RoomPhase::Waiting).await;
        if stopped {
            server.stop().await
        } else {
            server.ended().await
        }
        assert_eq!(seated.end().await, RawEnd::Closing(CloseReason::RoomEnded));
        assert!(stopped || began.elapsed() >= Duration::from_millis(300));
        assert_eq!(status.borrow().phase, RoomPhase::Closed);
    }
}
