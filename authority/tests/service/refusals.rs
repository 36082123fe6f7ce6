//! Clients that don't belong, or don't speak as they should.

use futures_util::SinkExt;
use retick_client::{ConnectError, NetClient, NetEnd};
use retick_core::client::EndReason;
use retick_core::wire::{
    ClientMessage, CloseReason, Entry, Hello, MAX_CLIENT_MESSAGE_BYTES, PROTOCOL_VERSION, Refusal,
};
use tokio_tungstenite::tungstenite::Message;

use crate::game::{Scripted, factory, room_config};
use crate::raw::{Raw, RawEnd, request};
use crate::server::{Server, local_config, room_is, soon};

#[tokio::test]
async fn k11_another_identity_is_refused_with_both_values() {
    let (server, game, other) = (Server::start(local_config()), factory::<60>(b"one"), factory::<60>(b"other"));
    let code = server.handle.create_room(room_config(&game, 2)).expect("a room");
    let client = server.join(code, &other, Scripted::new(0).0);
    let outcome = soon("the client ends", client.join()).await.expect("no panic");
    let (room, client) = (game.manifest().identity(), other.manifest().identity());
    assert_eq!(outcome.end, NetEnd::Machine(EndReason::Refused(Refusal::Identity { room, client })));
    assert_eq!(server.handle.room_status(code).expect("it lives").free_seats(), 2);
    server.stop().await;
}

#[tokio::test]
async fn v1_another_protocol_is_refused_with_both_versions() {
    let (server, game) = (Server::start(local_config()), factory::<60>(b"one"));
    let code = server.handle.create_room(room_config(&game, 2)).expect("a room");
    let mut raw = Raw::open(server.address, code).await;
    let (identity, entry) = (game.manifest().identity(), Entry::Join { ticket: b"" });
    raw.send(&ClientMessage::Hello(Hello { protocol: 9, identity, entry })).await;
    let refusal = Refusal::Protocol { room: PROTOCOL_VERSION, client: 9 };
    assert_eq!(raw.end().await, RawEnd::Refused(refusal));
    server.stop().await;
}

#[tokio::test]
async fn a5_a_full_room_refuses_and_its_players_stay() {
    let (server, game) = (Server::start(local_config()), factory::<60>(b"one"));
    let code = server.handle.create_room(room_config(&game, 1)).expect("a room");
    let player = server.join(code, &game, Scripted::new(0).0);
    room_is("the seat is taken", &server.status(code), |status| status.free_seats() == 0).await;
    let late = soon("the client ends", server.join(code, &game, Scripted::new(1).0).join()).await.expect("no panic");
    assert_eq!(late.end, NetEnd::Machine(EndReason::Refused(Refusal::Full { seats: 1 })));
    assert_eq!(server.handle.room_status(code).expect("it lives").connections, 1);
    drop(player);
    server.stop().await;
}

#[tokio::test]
async fn v1_an_unknown_room_is_final() {
    let (server, game) = (Server::start(local_config()), factory::<60>(b"one"));
    let code = "ZZZZ-ZZZZ".parse().expect("a code");
    let client: NetClient = server.join(code, &game, Scripted::new(0).0);
    let outcome = soon("the client ends", client.join()).await.expect("no panic");
    assert_eq!(outcome.end, NetEnd::Unreachable { attempts: 1, last: ConnectError::NoSuchRoom });
    server.stop().await;
}

#[tokio::test]
async fn k13_bytes_that_are_no_message_touch_their_sender_alone() {
    let (server, game) = (Server::start(local_config()), factory::<60>(b"one"));
    let (code, identity) =
        (server.handle.create_room(room_config(&game, 2)).expect("a room"), game.manifest().identity());
    let status = server.status(code);

    let mut raw = Raw::open(server.address, code).await;
    raw.0.send(Message::Binary(vec![0xff; 40].into())).await.expect("the service reads");
    assert_eq!(raw.end().await, RawEnd::Refused(Refusal::Malformed));

    let mut raw = Raw::open(server.address, code).await;
    raw.hello(identity).await;
    raw.0.send(Message::Binary(vec![0xff; 40].into())).await.expect("the service reads");
    assert_eq!(raw.end().await, RawEnd::Closing(CloseReason::Malformed));

    // Text, and what is too long, the room never sees.
    let mut raw = Raw::open(server.address, code).await;
    raw.0.send(Message::text("hello")).await.expect("the service reads");
    assert_eq!(raw.end().await, RawEnd::Code(1003));

    let mut raw = Raw::open(server.address, code).await;
    let long = vec![0; MAX_CLIENT_MESSAGE_BYTES + 1];
    // It may be closed before all of it is written.
    let _ = raw.0.send(Message::Binary(long.into())).await;
    let end = raw.end().await;
    assert!(matches!(end, RawEnd::Code(1008) | RawEnd::Dropped), "{end:?}");

    room_is("all are gone", &status, |status| status.connections == 0).await;
    let stats = status.borrow().stats;
    assert_eq!((stats.messages, stats.malformed_messages, stats.refused_connections), (3, 1, 1));
    assert_eq!(request(server.address, "GET", "/health", b"").await.0, 200);
    server.stop().await;
}
