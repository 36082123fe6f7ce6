//! What one connection may take from the others: nothing (A11).

use retick_authority::room::SeatState;
use retick_authority::service::{RoomPhase, ServiceConfig};
use retick_core::tick::Tick;
use retick_core::wire::{ClientMessage, CloseReason};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::game::{Scripted, factory, room_config};
use crate::raw::{Raw, RawEnd, request};
use crate::server::{Server, client_is, local_config, room_is, soon};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a11_a_slow_consumer_is_closed_and_the_other_plays_on() {
    let config = ServiceConfig {
        outbound_bytes: 8 * 1024,
        socket_send_buffer_bytes: 4 * 1024,
        linger_millis: 20_000,
        stop_millis: 25_000,
        ..local_config()
    };
    let (server, game) = (Server::start(config), factory::<60>(b"one"));
    let code = server.handle.create_room(room_config(&game, 2)).expect("a room");
    let status = server.status(code);
    let mut slow = Raw::open_narrow(server.address, code).await;
    slow.join(game.manifest().identity()).await;
    let healthy = server.join(code, &game, Scripted::new(0).0);
    client_is("the match runs", &healthy, |stats| stats.confirmed >= Tick::new(30)).await;
    // It asks and never reads the answers, within its budget.
    let mut ticker = tokio::time::interval(std::time::Duration::from_millis(5));
    let mut watched = status.clone();
    let flood = async {
        loop {
            ticker.tick().await;
            slow.send(&ClientMessage::Ping { sent_micros: u64::MAX, rollbacks: 0 }).await;
        }
    };
    let seen = async { watched.wait_for(|status| status.slow_consumers == 1).await.map(|_| ()) };
    tokio::select! {
        () = flood => {}
        seen = soon("it is found to be slow", seen) => seen.expect("the room lives"),
    }
    let before = healthy.stats().confirmed;
    client_is("the other plays on", &healthy, |stats| stats.confirmed >= before.saturating_add(60)).await;
    assert_eq!(healthy.stats().lost_transports, 0);
    let now = status.borrow().clone();
    assert_eq!((now.phase, now.connections, now.slow_consumers), (RoomPhase::Running, 1, 1));
    assert!(now.seats.contains(&SeatState::Disconnected), "{:?}", now.seats);
    // When it reads at last, the last word is why.
    assert_eq!(slow.end().await, RawEnd::Closing(CloseReason::SlowConsumer));
    drop(healthy);
    server.stop().await;
}

#[tokio::test]
async fn a11_a_flood_is_closed_for_its_budget() {
    let (server, game) = (Server::start(local_config()), factory::<60>(b"one"));
    let code = server.handle.create_room(room_config(&game, 2)).expect("a room");
    let mut raw = Raw::open(server.address, code).await;
    raw.join(game.manifest().identity()).await;
    for _ in 0..2_000 {
        let mut bytes = Vec::new();
        ClientMessage::Ping { sent_micros: 1, rollbacks: 0 }.encode_into(&mut bytes);
        let message = tokio_tungstenite::tungstenite::Message::Binary(bytes.into());
        if futures_util::SinkExt::send(&mut raw.0, message).await.is_err() {
            break;
        }
    }
    assert_eq!(raw.end().await, RawEnd::Closing(CloseReason::Budget));
    server.stop().await;
}

#[tokio::test]
async fn v1_half_open_connections_are_closed_at_the_deadline() {
    let (server, game) =
        (Server::start(ServiceConfig { greeting_millis: 150, ..local_config() }), factory::<60>(b"one"));
    let mut config = room_config(&game, 2);
    config.greeting_millis = 150;
    let code = server.handle.create_room(config).expect("a room");
    for opening in
        ["", "GET /health HTTP/1.1\r\nhost:", "POST /rooms HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\n{"]
    {
        let mut stream = TcpStream::connect(server.address).await.expect("it listens");
        stream.write_all(opening.as_bytes()).await.expect("the service reads");
        let mut answer = Vec::new();
        let _ = soon("it is closed", stream.read_to_end(&mut answer)).await;
    }
    let silent = Raw::open(server.address, code).await;
    // A refusal is final; whose network stalled may come again, and has its seat.
    assert_eq!(silent.end().await, RawEnd::Code(1008));
    room_is("nobody is left", &server.status(code), |status| status.connections == 0).await;
    server.stop().await;
}

#[tokio::test]
async fn v1_an_idle_socket_is_closed() {
    let (server, game) = (Server::start(ServiceConfig { idle_millis: 150, ..local_config() }), factory::<60>(b"one"));
    let code = server.handle.create_room(room_config(&game, 2)).expect("a room");
    let mut raw = Raw::open(server.address, code).await;
    raw.join(game.manifest().identity()).await;
    assert_eq!(raw.end().await, RawEnd::Code(1008));
    room_is("its grace runs", &server.status(code), |status| status.seats.contains(&SeatState::Disconnected)).await;
    server.stop().await;
}

#[tokio::test]
async fn v1_a_connection_beyond_the_limit_is_turned_away_and_one_that_ends_makes_place() {
    let (server, game) = (Server::start(ServiceConfig { max_connections: 1, ..local_config() }), factory::<60>(b"one"));
    let code = server.handle.create_room(room_config(&game, 2)).expect("a room");
    let mut raw = Raw::open(server.address, code).await;
    raw.join(game.manifest().identity()).await;
    room_is("it has its seat", &server.status(code), |status| status.free_seats() == 1).await;
    let (status, answer) = request(server.address, "GET", "/health", b"").await;
    assert_eq!((status, answer["code"].as_str()), (503, Some("too-many-connections")));
    drop(raw);
    room_is("its place is free", &server.status(code), |status| status.connections == 0).await;
    let place = async {
        while request(server.address, "GET", "/health", b"").await.0 != 200 {
            tokio::task::yield_now().await;
        }
    };
    soon("a connection is served", place).await;
    server.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a11_a_connection_sends_so_many_bytes_a_second_and_not_more() {
    let config = ServiceConfig { inbound_bytes_per_second: 10_000, ..local_config() };
    let (server, game) = (Server::start(config), factory::<60>(b"one"));
    let code = server.handle.create_room(room_config(&game, 2)).expect("a room");
    let mut raw = Raw::pipe(&server.handle, server.address.ip(), code, "").await.expect("a place");
    raw.hello(game.manifest().identity()).await;
    assert_eq!(raw.welcomed().await, Ok(()));
    // Within its budget, second after second; within its messages too.
    let ephemeral = ClientMessage::Ephemeral { payload: &[7; 990] };
    for _ in 0..3 {
        for _ in 0..9 {
            raw.send(&ephemeral).await;
        }
        tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    }
    assert_eq!(server.handle.room_status(code).expect("it lives").connections, 1);
    for _ in 0..12 {
        raw.send(&ephemeral).await;
    }
    assert_eq!(raw.end().await, RawEnd::Code(1008));
    let metrics = server.handle.metrics();
    assert!(metrics.contains("retick_over_budget_total 1\n"), "{metrics}");
    server.stop().await;
}

/// Pings cost a turn each, and keep a connection from being idle.
#[tokio::test]
async fn a11_a_flood_of_pings_is_closed_before_and_behind_the_greeting() {
    let (server, game) = (Server::start(local_config()), factory::<60>(b"one"));
    let code = server.handle.create_room(room_config(&game, 2)).expect("a room");
    for greets in [false, true] {
        let mut raw = Raw::open(server.address, code).await;
        if greets {
            raw.join(game.manifest().identity()).await;
        }
        for _ in 0..2_000 {
            let ping = tokio_tungstenite::tungstenite::Message::Ping(vec![7; 100].into());
            if futures_util::SinkExt::send(&mut raw.0, ping).await.is_err() {
                break;
            }
        }
        assert_eq!(raw.end().await, RawEnd::Code(1008), "greeted: {greets}");
    }
    assert!(server.handle.metrics().contains("retick_over_budget_total 2\n"));
    server.stop().await;
}
