//! Tickets at the door, and the token of the backend that makes rooms (V1).

use std::time::{SystemTime, UNIX_EPOCH};

use retick_authority::service::{Admission, CreateToken, Creation, RoomCode, ServiceConfig, TicketKeys};
use retick_client::{CreateOptions, HttpError, Link, Lobby, MatchWish, NetClient, NetConfig, NetEnd};
use retick_core::client::{ClientStatus, EndReason};
use retick_core::ticket::{Access, Ticket, TicketSigningKey};
use retick_core::wire::{MAX_TICKET_BYTES, Refusal};

use crate::game::{Scripted, descriptor, factory, room_config};
use crate::server::{Server, client_is, local_config, room_is, soon};

const TOKEN: &str = "the backend's own token";

fn key(secret: u8) -> TicketSigningKey {
    TicketSigningKey::from_secret_bytes(&[secret; 32])
}

fn ticketed() -> ServiceConfig {
    let keys = TicketKeys::new(&[key(1).public_key(), key(2).public_key()]).expect("two keys");
    let creation = Creation::Token(CreateToken::new(TOKEN).expect("long enough"));
    ServiceConfig { admission: Admission::Tickets(keys), creation, ..local_config() }
}

/// A ticket for the room; a negative time is in the past.
#[expect(clippy::disallowed_methods, reason = "a ticket expires by the wall clock")]
fn ticket(signer: u8, room: &str, seconds: i64, access: Access) -> Vec<u8> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs();
    let ticket = Ticket::new("ada", room, now.saturating_add_signed(seconds), access).expect("short");
    key(signer).sign(&ticket).to_bytes()
}

fn join(server: &Server, code: RoomCode, ticket: Vec<u8>) -> NetClient {
    let config = NetConfig { ticket, ..server.net_config(code) };
    NetClient::spawn(config, Box::new(factory::<60>(b"one")), Scripted::new(0).0)
}

#[tokio::test]
async fn v1_a_ticket_is_the_way_in_and_a_seat_is_resumed_without_one() {
    let (server, game) = (Server::start(ticketed()), factory::<60>(b"one"));
    let code = server.handle.create_room(room_config(&game, 2)).expect("a room");
    let (own, other) = (code.to_string(), "ZZZZ-ZZZZ");
    let refused = [
        ("none", Vec::new()),
        ("no ticket", vec![7; 100]),
        ("the longest", vec![7; MAX_TICKET_BYTES]),
        ("expired", ticket(1, &own, -1, Access::Play)),
        ("another room's", ticket(1, other, 600, Access::Play)),
        ("a stranger's", ticket(3, &own, 600, Access::Play)),
        ("to watch", ticket(1, &own, 600, Access::Watch)),
    ];
    for (what, ticket) in refused {
        let end = soon("the client ends", join(&server, code, ticket).join()).await.expect("no panic").end;
        assert_eq!(end, NetEnd::Machine(EndReason::Refused(Refusal::Ticket)), "{what}");
    }
    let status = server.status(code);
    assert_eq!((status.borrow().stats.messages, status.borrow().free_seats()), (0, 2), "the room saw none of them");
    assert!(server.handle.metrics().contains("retick_refusals_total{code=\"ticket\"} 7\n"));
    let client = join(&server, code, ticket(2, &own, 600, Access::Play));
    room_is("it is seated", &status, |status| status.free_seats() == 1).await;
    client_is("it knows its seat", &client, |stats| stats.status == ClientStatus::Waiting).await;
    client.reconnect().expect("it plays");
    let mut stats = client.watch();
    let back = stats.wait_for(|stats| stats.lost_transports == 1 && stats.link == Link::Open);
    soon("it is back", back).await.expect("it plays on");
    room_is("it has its seat", &status, |status| status.connections == 1 && status.free_seats() == 1).await;
    drop(client);
    server.stop().await;
}

#[tokio::test]
async fn v1_rooms_are_made_with_the_backends_token() {
    let (server, game) = (Server::start(ticketed()), factory::<60>(b"one"));
    let (descriptor, options) = (descriptor(&game, 2), CreateOptions::default());
    let wish = MatchWish::FindOrCreate { descriptor: &descriptor, options };
    let address = server.address.to_string();
    let refused = |error: HttpError| match error {
        HttpError::Refused { status, code, .. } => (status, code),
        other => panic!("{other:?}"),
    };
    for lobby in [Lobby::new(&address), Lobby::new(&address).with_create_token("the backend's own tokem")] {
        let create = lobby.create(&descriptor, &options).await.expect_err("no token");
        let find = lobby.quick_match(&wish).await.expect_err("no token");
        for error in [create, find] {
            assert_eq!(refused(error), (401, "create-token".to_owned()));
        }
    }
    assert_eq!(server.handle.room_count(), 0);
    let backend = Lobby::new(&address).with_create_token(TOKEN);
    backend.create(&descriptor, &options).await.expect("the token");
    backend.quick_match(&wish).await.expect("the token");
    server.stop().await;

    // Tickets without a token: rooms are made in the process alone.
    let server = Server::start(ServiceConfig { creation: Creation::AsAdmission, ..ticketed() });
    let create = Lobby::new(server.address.to_string()).create(&descriptor, &options).await;
    assert_eq!(refused(create.expect_err("nobody may")), (401, "create-token".to_owned()));
    server.stop().await;
}
