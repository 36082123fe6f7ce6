//! The lobby: finding, listing and locking rooms, and seats that are kept (V1).

use std::net::{IpAddr, Ipv4Addr};

use retick_authority::service::{CreateRoomError, Locked, RoomCode as Code, ServiceConfig, Visibility as Shown};
use retick_client::{
    CreateOptions, CreatedRoom, HttpError, ListRequest, Lobby, MatchWish, NetClient, NetConfig, NetEnd, QuickMatch,
    RoomCode, RoomKey, RoomLock, Visibility,
};
use retick_core::client::{ClientStatus, EndReason};
use retick_core::identity::MatchDescriptor;
use retick_core::wire::Refusal;

use crate::game::{Scripted, descriptor, factory};
use crate::raw::{Answer, Raw, RawEnd, exchange, open_pipe};
use crate::server::{Server, client_is, local_config, room_is, soon};

pub const PUBLIC: CreateOptions = CreateOptions {
    hard_tolerance_ticks: None,
    checksum_cadence_ticks: None,
    grace_millis: None,
    visibility: Some(Visibility::Public),
    seats: None,
    start: None,
    pause: None,
    reconfigure: None,
    max_observers: None,
};

pub fn code_of(code: &RoomCode) -> Code {
    code.as_str().parse().expect("a code is a code")
}

pub fn lobby(server: &Server) -> Lobby {
    Lobby::new(server.address.to_string())
}

pub fn refused(result: Result<impl std::fmt::Debug, HttpError>) -> (u16, String) {
    match result {
        Err(HttpError::Refused { status, code, .. }) => (status, code),
        other => panic!("{other:?}"),
    }
}

/// The end of a client that the room does not take.
pub async fn refusal_of(client: NetClient) -> Refusal {
    match soon("the client ends", client.join()).await.expect("no panic").end {
        NetEnd::Machine(EndReason::Refused(refusal)) => refusal,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn v1_who_joins_by_code_takes_the_rooms_match() {
    let (server, game) = (Server::start(local_config()), factory::<60>(b"one"));
    let made = descriptor(&game, 3);
    let CreatedRoom { info, .. } = lobby(&server).create(&made, &CreateOptions::default()).await.expect("a room");
    assert_eq!((info.visibility, info.lock, &info.descriptor), (Visibility::Private, RoomLock::Open, &None));
    let found = lobby(&server).room(&info.code).await.expect("it is there");
    assert_eq!(found.descriptor.as_ref(), Some(&made));
    assert_eq!((found.config_digest, found.descriptor_digest), (made.config().digest(), made.digest()));
    server.stop().await;
}

#[tokio::test]
async fn v1_lists_show_public_rooms_of_one_identity_page_by_page() {
    let (server, game, other) = (Server::start(local_config()), factory::<60>(b"one"), factory::<60>(b"other"));
    let lobby = lobby(&server);
    let create = async |descriptor: &MatchDescriptor, options: &CreateOptions| {
        lobby.create(descriptor, options).await.expect("a room").info.code
    };
    let mut public = Vec::new();
    for _ in 0..5 {
        public.push(create(&descriptor(&game, 2), &PUBLIC).await);
    }
    create(&descriptor(&game, 2), &CreateOptions::default()).await;
    create(&descriptor(&other, 2), &PUBLIC).await;
    public.sort_by(|a, b| a.as_str().cmp(b.as_str()));
    let identity = game.manifest().identity();
    let mut request = ListRequest { identity, config_digest: None, after: None, limit: Some(2) };
    let mut seen = Vec::new();
    loop {
        let page = lobby.list(&request).await.expect("a page");
        assert!((1..=2).contains(&page.rooms.len()));
        seen.extend(page.rooms.into_iter().map(|room| room.code));
        request.after = page.next;
        if request.after.is_none() {
            break;
        }
    }
    assert_eq!(seen, public);
    let mut all = ListRequest { after: None, limit: None, ..request };
    assert_eq!(lobby.list(&all).await.expect("a page").rooms.len(), 5);
    all.config_digest = Some(retick_core::digest::Digest::of(b"another config"));
    assert_eq!(lobby.list(&all).await.expect("a page").rooms, []);
    server.stop().await;
}

#[tokio::test]
async fn v1_the_rooms_key_locks_and_shows_it_and_nothing_else_does() {
    let (server, game) = (Server::start(local_config()), factory::<60>(b"one"));
    let lobby = lobby(&server);
    let create = async || lobby.create(&descriptor(&game, 2), &PUBLIC).await.expect("a room");
    let (room, other) = (create().await, create().await);
    let (code, key) = (&room.info.code, &room.key);
    let foreign = lobby.set_lock(code, &other.key, RoomLock::Locked).await;
    assert_eq!(refused(foreign), (401, "room-key".to_owned()));
    let guessed: RoomKey = "0".repeat(32).parse().expect("digits");
    assert_eq!(refused(lobby.set_lock(code, &guessed, RoomLock::Locked).await), (401, "room-key".to_owned()));

    let seated = server.join(code_of(code), &game, Scripted::new(0).0);
    let status = server.status(code_of(code));
    room_is("one is seated", &status, |status| status.free_seats() == 1).await;
    let info = lobby.set_lock(code, key, RoomLock::Locked).await.expect("it is the key");
    assert_eq!((info.lock, info.visibility), (RoomLock::Locked, Visibility::Public));
    assert_eq!(refusal_of(server.join(code_of(code), &game, Scripted::new(1).0)).await, Refusal::Locked);
    // Who holds a seat returns to it.
    client_is("it knows its seat", &seated, |stats| stats.status == ClientStatus::Waiting).await;
    seated.reconnect().expect("it plays");
    let mut stats = seated.watch();
    let back = stats.wait_for(|stats| stats.lost_transports == 1 && stats.link == retick_client::Link::Open);
    soon("it is back", back).await.expect("it plays on");
    room_is("it has its seat", &status, |status| status.connections == 1 && status.free_seats() == 1).await;

    let info = lobby.set_visibility(code, key, Visibility::Private).await.expect("it is the key");
    assert_eq!((info.lock, info.visibility), (RoomLock::Locked, Visibility::Private));
    lobby.set_lock(code, key, RoomLock::Open).await.expect("it is the key");
    let late = server.join(code_of(code), &game, Scripted::new(1).0);
    room_is("it is full", &status, |status| status.free_seats() == 0).await;
    // The owner of the service needs no key.
    server.handle.set_room_locked(code_of(code), Locked::Yes).await.expect("it exists");
    server.handle.set_room_visibility(code_of(code), Shown::Public).expect("it exists");
    let known = server.handle.room_lobby(code_of(code)).expect("it exists");
    assert_eq!((known.locked, known.visibility), (true, Shown::Public));
    drop((seated, late));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn v1_quick_matches_fill_rooms_and_send_no_two_to_one_seat() {
    let (server, game) = (Server::start(local_config()), factory::<60>(b"one"));
    let lobby = lobby(&server);
    let wish = descriptor(&game, 3);
    let find = MatchWish::Find { identity: wish.identity(), config_digest: wish.config().digest(), seats: None };
    assert_eq!(refused(lobby.quick_match(&find).await), (404, "no-match".to_owned()));
    // A private room is nobody's match.
    lobby.create(&wish, &CreateOptions::default()).await.expect("a room");
    // Twelve at one moment, and three seats a room: four rooms, and each seat once.
    let asking: Vec<_> = (0..12)
        .map(|_| {
            let (lobby, descriptor) = (lobby.clone(), wish.clone());
            tokio::spawn(async move {
                let wish = MatchWish::FindOrCreate { descriptor: &descriptor, options: CreateOptions::default() };
                lobby.quick_match(&wish).await.expect("a seat")
            })
        })
        .collect();
    let mut found: Vec<QuickMatch> = Vec::new();
    for asked in asking {
        found.push(asked.await.expect("no panic"));
    }
    found.sort_by(|a, b| a.info.code.as_str().cmp(b.info.code.as_str()));
    assert_eq!(found.iter().filter(|seat| seat.key.is_some()).count(), 4, "rooms that were made");
    assert_eq!(server.handle.room_count(), 5);
    for room in found.chunks(3) {
        assert!(room.iter().all(|seat| seat.info.code == room[0].info.code));
    }
    assert_eq!(refused(lobby.quick_match(&find).await), (404, "no-match".to_owned()));
    // All twelve get in with what they were given, and every match begins.
    let clients: Vec<NetClient> = found
        .into_iter()
        .zip(0..)
        .map(|(seat, script)| {
            let reservation = Some(seat.reservation);
            let config = NetConfig { reservation, ..NetConfig::new(server.address.to_string(), seat.info.code) };
            NetClient::spawn(config, Box::new(game.clone()), Scripted::new(script).0)
        })
        .collect();
    for client in &clients {
        client_is("its match runs", client, |stats| stats.confirmed.index() > 10).await;
    }
    drop(clients);
    server.stop().await;
}

#[tokio::test]
async fn v1_a_seat_is_kept_for_whom_it_was_found_and_not_longer() {
    let config = ServiceConfig { reservation_millis: 60_000, ..local_config() };
    let (server, game) = (Server::start(config), factory::<60>(b"one"));
    let (lobby, wish) = (lobby(&server), descriptor(&game, 1));
    let wish = MatchWish::FindOrCreate { descriptor: &wish, options: CreateOptions::default() };
    let seat = lobby.quick_match(&wish).await.expect("a seat");
    let code = code_of(&seat.info.code);
    let by_code = server.join(code, &game, Scripted::new(1).0);
    assert_eq!(refusal_of(by_code).await, Refusal::Full { seats: 1 });
    assert_eq!(server.handle.room_lobby(code).expect("it exists").reserved_seats, 1);
    let config = NetConfig { reservation: Some(seat.reservation), ..server.net_config(code) };
    let client = NetClient::spawn(config, Box::new(game.clone()), Scripted::new(0).0);
    room_is("it is seated", &server.status(code), |status| status.free_seats() == 0).await;
    let settled = async {
        while server.handle.room_lobby(code).expect("it exists").reserved_seats > 0 {
            tokio::task::yield_now().await;
        }
    };
    soon("the reservation is settled", settled).await;
    drop(client);
    server.stop().await;

    let config = ServiceConfig { reservation_millis: 0, ..local_config() };
    let server = Server::start(config);
    let lobby = self::lobby(&server);
    let seat = lobby.quick_match(&wish).await.expect("a seat");
    let client = server.join(code_of(&seat.info.code), &game, Scripted::new(0).0);
    let status = server.status(code_of(&seat.info.code));
    room_is("it is seated", &status, |status| status.free_seats() == 0).await;
    drop(client);
    server.stop().await;
}

/// One request of an address.
async fn of(server: &Server, peer: IpAddr, line: &str, body: &str) -> Answer {
    exchange(open_pipe(&server.handle, peer), line, "", body.as_bytes()).await
}

#[tokio::test(start_paused = true)]
async fn v1_an_address_makes_and_asks_for_so_much_and_not_more() {
    let config = ServiceConfig {
        max_rooms_per_address: 2,
        lobby_requests_per_minute_per_address: 4,
        lobby_requests_per_minute: 6,
        ..local_config()
    };
    let (server, game) = (Server::start(config), factory::<60>(b"one"));
    let hex: String = descriptor(&game, 2).to_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    let body = format!("{{\"descriptor\":\"{hex}\"}}");
    let peers: [IpAddr; 2] = [Ipv4Addr::new(192, 0, 2, 1).into(), Ipv4Addr::new(192, 0, 2, 2).into()];
    let create = async |peer| of(&server, peer, "POST /rooms", &body).await;
    let first = create(peers[0]).await;
    assert_eq!((first.status, create(peers[0]).await.status), (201, 201));
    let third = create(peers[0]).await;
    assert_eq!((third.status, third.code().as_str()), (429, "too-many-rooms-of-address"));
    // A room that is over counts no more.
    let code: Code = first.code().parse().expect("a code");
    server.handle.close_room(code).await.expect("it is open");
    let gone = async {
        while server.handle.room_info(code).is_some() {
            tokio::task::yield_now().await;
        }
    };
    soon("it is over", gone).await;
    let fourth = create(peers[0]).await;
    assert_eq!(fourth.status, 201);
    let first_room = (fourth.code(), fourth.json()["room_key"].as_str().expect("a key").to_owned());
    let fifth = create(peers[0]).await;
    assert_eq!((fifth.status, fifth.code().as_str()), (429, "too-many-requests"));
    assert_eq!(fifth.header("retry-after"), Some("60"));
    // Another address has its own, until all together have had theirs.
    let list = format!("GET /rooms?identity={}", game.manifest().identity());
    let statuses = [of(&server, peers[1], &list, "").await.status, of(&server, peers[1], &list, "").await.status];
    assert_eq!(statuses, [200, 200]);
    assert_eq!(of(&server, peers[1], &list, "").await.code(), "too-many-requests");
    tokio::time::advance(std::time::Duration::from_secs(15)).await;
    assert_eq!(of(&server, peers[1], &list, "").await.status, 200);
    // So has what a room's creator changes: each change may be written to the disk.
    let (room, key) = (first_room.0, format!("authorization: Bearer {}\r\n", first_room.1));
    let change = async || {
        let stream = open_pipe(&server.handle, peers[1]);
        exchange(stream, &format!("PATCH /rooms/{room}"), &key, b"{\"locked\":true}").await
    };
    assert_eq!(change().await.code(), "too-many-requests");
    tokio::time::advance(std::time::Duration::from_secs(60)).await;
    assert_eq!(change().await.status, 200);
    // The owner, in the process, is held to the number of rooms alone.
    for _ in 0..10 {
        let room = crate::game::room_config(&game, 2);
        assert_ne!(server.handle.create_room(room), Err(CreateRoomError::TooManyRoomsOfAddress { limit: 2 }));
    }
    server.stop().await;
}

#[tokio::test(start_paused = true)]
async fn v1_an_address_has_so_many_connections_and_not_more() {
    let config = ServiceConfig { max_connections_per_address: 2, ..local_config() };
    let (server, game) = (Server::start(config), factory::<60>(b"one"));
    let code = server.handle.create_room(crate::game::room_config(&game, 4)).expect("a room");
    let peers: [IpAddr; 2] = [Ipv4Addr::new(192, 0, 2, 1).into(), Ipv4Addr::new(192, 0, 2, 2).into()];
    let mut seated = Vec::new();
    for peer in [peers[0], peers[0], peers[1]] {
        let mut raw = Raw::pipe(&server.handle, peer, code, "").await.expect("a place");
        raw.join(game.manifest().identity()).await;
        assert_eq!(raw.welcomed().await, Ok(()));
        seated.push(raw);
    }
    assert!(Raw::pipe(&server.handle, peers[0], code, "").await.is_none());
    // What a reverse proxy on this machine hands on is not counted against it.
    let mut raw = Raw::pipe(&server.handle, Ipv4Addr::LOCALHOST.into(), code, "").await.expect("a place");
    raw.join(game.manifest().identity()).await;
    assert_eq!(raw.welcomed().await, Ok(()));
    let metrics = server.handle.metrics();
    assert!(metrics.contains("retick_connections_turned_away_total 1\n"), "{metrics}");
    drop(seated.remove(0));
    let place = async {
        loop {
            if let Some(raw) = Raw::pipe(&server.handle, peers[0], code, "").await {
                return raw;
            }
            tokio::task::yield_now().await;
        }
    };
    let mut raw = soon("a place is free again", place).await;
    raw.hello(game.manifest().identity()).await;
    assert_eq!(raw.welcomed().await, Err(RawEnd::Refused(Refusal::Full { seats: 4 })));
    server.stop().await;
}
