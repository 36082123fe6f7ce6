//! Rooms in a folder: they outlive their service, one service has them at a time, and what is damaged is set aside (A12).

use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::time::Duration;

use retick_authority::log::FrameLog;
use retick_authority::log::file::{Durability, Retention, StoredSnapshot};
use retick_authority::service::{
    LogSettings, LogStoreError, MAX_SYNC_MILLIS, RoomCode, RoomPhase, Service, ServiceConfig, ServiceError,
    Visibility as Shown, open_room_folder,
};
use retick_client::{CreateOptions, NetEnd, RoomLock, Visibility};
use retick_core::client::ClientEvent;
use retick_core::seat::Seat;
use retick_core::snapshot::Snapshot;
use retick_core::tick::Tick;
use retick_core::wire::Refusal;

use crate::game::{Scripted, assert_agreement, descriptor, factory, room_config};
use crate::lobby::{PUBLIC, code_of, lobby, refused};
use crate::raw::{Raw, RawEnd};
use crate::server::{Server, client_is, local_config, soon};

/// A folder of one test's own, removed with it.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("retick-kept-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        Folder(path)
    }

    fn config(&self, durability: Durability) -> ServiceConfig {
        let logs = Some(LogSettings { durability, max_ended_rooms: 2, ..LogSettings::new(&self.0) });
        ServiceConfig { logs, ..local_config() }
    }

    fn count(&self, folder: &str) -> usize {
        std::fs::read_dir(self.0.join(folder)).map_or(0, |entries| entries.count())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    soon(what, async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a12_a_match_goes_on_in_the_next_service() {
    for durability in [Durability::EveryFrame, Durability::Interval(Duration::from_millis(50)), Durability::None] {
        let (folder, game) = (Folder::new("goes-on"), factory::<60>(b"one"));
        let mut server = Server::start(folder.config(durability));
        let code = server.handle.create_room(room_config(&game, 2)).expect("a room");
        let ((one, sums_one), (two, sums_two)) = (Scripted::new(1), Scripted::new(2));
        let clients = [server.join(code, &game, one), server.join(code, &game, two)];
        for restart in 0..3u64 {
            let goal = clients.iter().map(|it| it.stats().confirmed).max().expect("two").saturating_add(60);
            for client in &clients {
                client_is("the match goes on", client, |stats| stats.confirmed >= goal).await;
            }
            let address = server.address;
            server.stop().await;
            assert_eq!(folder.count("rooms"), 1, "restart {restart}");
            server = Server::start(ServiceConfig { address, ..folder.config(durability) });
            assert_eq!(server.handle.room_codes(), [code]);
            let status = server.status(code);
            assert_eq!(status.borrow().phase, RoomPhase::Running);
        }
        let goal = clients.iter().map(|it| it.stats().confirmed).max().expect("two").saturating_add(60);
        for client in &clients {
            client_is("the match goes on", client, |stats| stats.confirmed >= goal).await;
            assert_eq!(client.stats().client.desyncs, 0);
        }
        for client in clients {
            client.leave().expect("it plays");
            let outcome = soon("an end", client.join()).await.expect("no panic");
            assert_eq!((outcome.end, outcome.lost_transports), (NetEnd::Left, 3));
        }
        assert_agreement(&[sums_one, sums_two], 8);
        // The room has ended, so it is not restored again.
        until("the room is put away", || folder.count("rooms") == 0 && folder.count("ended") == 1).await;
        server.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a12_a_damaged_room_is_set_aside_and_the_others_live() {
    let (folder, game) = (Folder::new("damaged"), factory::<60>(b"one"));
    let server = Server::start(folder.config(Durability::EveryFrame));
    let codes = [(); 3].map(|()| server.handle.create_room(room_config(&game, 1)).expect("a room"));
    let clients = codes.map(|code| server.join(code, &game, Scripted::new(0).0));
    for client in &clients {
        client_is("it plays", client, |stats| stats.confirmed >= Tick::new(30)).await;
    }
    clients.iter().for_each(|client| client.stop().expect("it plays"));
    server.stop().await;
    let log = |place: &str, index: usize| folder.0.join(place).join(codes[index].to_string()).join("00000001.log");
    flip(&log("rooms", 0), 200);
    let address = Server::start(folder.config(Durability::EveryFrame));
    let mut left = [codes[1], codes[2]];
    left.sort_unstable();
    assert_eq!(address.handle.room_codes(), left);
    assert!(log("damaged", 0).exists() && !log("rooms", 0).exists());
    // It is where nobody stumbles over it, as often as it takes.
    address.stop().await;
    let again = Server::start(folder.config(Durability::EveryFrame));
    assert_eq!((again.handle.room_codes().len(), folder.count("damaged")), (2, 1));
    again.stop().await;
    drop(clients);
}

fn flip(path: &Path, byte: usize) {
    let mut bytes = std::fs::read(path).expect("a log");
    bytes[byte] ^= 1;
    std::fs::write(path, bytes).expect("a log");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a12_one_service_has_the_folder_and_syncs_are_not_too_far_apart() {
    let folder = Folder::new("locked");
    let server = Server::start(folder.config(Durability::EveryFrame));
    let second = Service::bind(folder.config(Durability::EveryFrame)).map(|_| ());
    assert!(matches!(second, Err(ServiceError::Logs(LogStoreError::Locked { .. }))), "{second:?}");
    server.stop().await;
    for (millis, fits) in [(MAX_SYNC_MILLIS, true), (MAX_SYNC_MILLIS + 1, false)] {
        let bound = Service::bind(folder.config(Durability::Interval(Duration::from_millis(millis))));
        let refused = matches!(&bound, Err(ServiceError::Logs(LogStoreError::Interval { .. })));
        assert_eq!((bound.is_ok(), refused), (fits, !fits));
    }
    let nowhere = LogSettings::new(folder.0.join("no").join("such").join("parent"));
    let bound = Service::bind(ServiceConfig { logs: Some(nowhere), ..local_config() }).map(|_| ());
    assert!(matches!(bound, Err(ServiceError::Logs(LogStoreError::Directory { .. }))), "{bound:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a12_rooms_that_ended_are_kept_up_to_their_bound() {
    let (folder, game) = (Folder::new("ended"), factory::<60>(b"one"));
    let server = Server::start(folder.config(Durability::EveryFrame));
    let end = async |code| {
        server.handle.close_room(code).await.expect("it is there");
        until("it has ended", || server.handle.room_count() == 0).await;
    };
    for _ in 0..4 {
        let code = server.handle.create_room(room_config(&game, 1)).expect("a room");
        let client = server.join(code, &game, Scripted::new(0).0);
        client_is("it plays", &client, |stats| stats.confirmed >= Tick::new(1)).await;
        end(code).await;
    }
    assert_eq!((folder.count("rooms"), folder.count("ended")), (0, 2));
    // Rooms whose match never began take no place from those.
    let kept = || {
        let names = std::fs::read_dir(folder.0.join("ended")).expect("it is there");
        let mut names: Vec<_> = names.map(|entry| entry.expect("it is there").file_name()).collect();
        names.sort();
        names
    };
    let before = kept();
    for _ in 0..3 {
        end(server.handle.create_room(room_config(&game, 1)).expect("a room")).await;
    }
    assert_eq!((folder.count("rooms"), kept()), (0, before));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a12_a_restored_room_is_as_visible_as_it_was_and_its_creators_key_fits() {
    let (folder, game) = (Folder::new("lobby"), factory::<60>(b"one"));
    let server = Server::start(folder.config(Durability::Interval(Duration::from_millis(50))));
    let mut rooms = Vec::new();
    for options in [PUBLIC, CreateOptions::default(), PUBLIC] {
        rooms.push(lobby(&server).create(&descriptor(&game, 2), &options).await.expect("a room"));
    }
    let codes: Vec<_> = rooms.iter().map(|room| code_of(&room.info.code)).collect();
    for (room, visibility) in [(1, Visibility::Public), (2, Visibility::Private)] {
        let changed = lobby(&server).set_visibility(&rooms[room].info.code, &rooms[room].key, visibility).await;
        assert_eq!(changed.expect("its key").visibility, visibility);
    }
    // The owner's own room, whose change nobody waits for.
    let own = server.handle.create_room(room_config(&game, 2)).expect("a room");
    server.handle.set_room_visibility(own, Shown::Public).expect("it is there");
    server.stop().await;

    let server = Server::start(folder.config(Durability::EveryFrame));
    let shown = |server: &Server, code| server.handle.room_lobby(code).expect("it was restored").visibility;
    let all = [codes[0], codes[1], codes[2], own].map(|code| shown(&server, code));
    assert_eq!(all, [Shown::Public, Shown::Public, Shown::Private, Shown::Public]);
    for (room, other) in [(0, 1), (1, 2), (2, 0)] {
        let code = &rooms[room].info.code;
        let foreign = lobby(&server).set_lock(code, &rooms[other].key, RoomLock::Locked).await;
        assert_eq!(refused(foreign), (401, "room-key".to_owned()));
        let locked = lobby(&server).set_lock(code, &rooms[room].key, RoomLock::Locked).await.expect("its key");
        assert_eq!(locked.lock, RoomLock::Locked);
    }
    let (code, key) = (&rooms[0].info.code, &rooms[0].key);
    lobby(&server).set_visibility(code, key, Visibility::Private).await.expect("its key");
    server.stop().await;

    // What is changed after a restart is kept too, and so is the lock. Without a file that can be read the room lives on, private.
    let file = folder.0.join("rooms").join(codes[1].to_string()).join("lobby.json");
    std::fs::write(file, b"{}").expect("it is there");
    let server = Server::start(folder.config(Durability::EveryFrame));
    assert_eq!([codes[0], codes[1]].map(|code| shown(&server, code)), [Shown::Private; 2]);
    assert!(server.handle.room_lobby(codes[0]).expect("it is there").locked);
    let lost = lobby(&server).set_lock(&rooms[1].info.code, &rooms[1].key, RoomLock::Open).await;
    assert_eq!(refused(lost), (401, "room-key".to_owned()));
    assert_eq!(lobby(&server).set_lock(code, key, RoomLock::Open).await.expect("its key").lock, RoomLock::Open);
    server.stop().await;
}

/// A player that comes back in the moment of a stop comes back to the next service, too.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a12_a_stop_turns_nobody_away_whose_room_goes_on() {
    for keeps in [true, false] {
        let (folder, game) = (Folder::new("at-the-door"), factory::<60>(b"one"));
        let config = if keeps { folder.config(Durability::EveryFrame) } else { local_config() };
        let server = Server::start(config);
        let code = server.handle.create_room(room_config(&game, 2)).expect("a room");
        let waits = Raw::open(server.address, code).await;
        server.stop().await;
        let expected = if keeps { RawEnd::Dropped } else { RawEnd::Refused(Refusal::Closing) };
        assert_eq!(waits.end().await, expected, "rooms are kept: {keeps}");
    }
}

/// What a service leaves behind that was killed: its tasks end where they stand, and nothing is written any more.
fn kill(serving: tokio::runtime::Runtime, server: Server, folder: &Folder) -> impl Future<Output = ()> {
    serving.shutdown_background();
    // Its handle holds the folder, too.
    drop(server);
    let lock = OpenOptions::new().write(true).open(folder.0.join("lock")).expect("it is there");
    async move { until("nobody has the folder", || lock.try_lock().is_ok()).await }
}

/// The snapshot beside a room's log, and the number of the log's first record.
async fn stored(folder: &Folder, code: RoomCode) -> (StoredSnapshot, u64) {
    let (path, mut log) = (folder.0.join("rooms").join(code.to_string()), None);
    // A thread that was writing may not have ended yet.
    until("nobody has the log open", || {
        log = open_room_folder(&path).ok();
        log.is_some()
    })
    .await;
    let mut log = log.expect("it was opened");
    (log.snapshot().expect("whole").expect("it was kept"), log.first_sequence())
}

/// Nobody who has the state comes back, so that it can be the stored one alone.
#[test]
fn a7_a_latecomer_after_a_kill_is_built_from_the_stored_snapshot_and_plays_on() {
    let playing = tokio::runtime::Runtime::new().expect("threads");
    for retention in [Retention::SinceSnapshot, Retention::All] {
        let (folder, game) = (Folder::new("snapshot"), factory::<60>(b"one"));
        let mut config = folder.config(Durability::EveryFrame);
        config.logs = config.logs.map(|logs| LogSettings { retention, ..logs });
        let serving = tokio::runtime::Runtime::new().expect("threads");
        let server = serving.block_on(async { Server::start(config.clone()) });
        let mut room = room_config(&game, 3);
        room.seats.humans_claim_bots = true;
        room.seats.initial_bots = Seat::new(2).into_iter().collect();
        (room.donation.snapshot_interval_millis, room.donation.replay_millis) = (200, 300);
        let code = serving.block_on(async { server.handle.create_room(room) }).expect("a room");
        playing.block_on(async {
            let ((one, sums_one), (two, sums_two)) = (Scripted::new(0), Scripted::new(1));
            let clients = [server.join(code, &game, one), server.join(code, &game, two)];
            for client in &clients {
                client_is("it plays", client, |stats| stats.confirmed >= Tick::new(60)).await;
            }
            let kept = server.status(code);
            until("three snapshots are kept", || kept.borrow().stats.snapshots >= 3).await;
            let goal = clients[0].stats().confirmed.saturating_add(40);
            client_is("they play on", &clients[0], |stats| stats.confirmed >= goal).await;
            kill(serving, server, &folder).await;
            clients.iter().for_each(|client| client.stop().expect("it plays"));

            let (snapshot, first) = stored(&folder, code).await;
            assert!(snapshot.tick > Tick::new(20), "guard: {:?}", snapshot.tick);
            assert_eq!(first > 1, retention == Retention::SinceSnapshot, "the log begins with record {first}");
            let server = Server::start(config);
            assert_eq!(server.handle.room_codes(), [code]);
            let (player, late_sums) = Scripted::new(2);
            let mut late = server.join(code, &game, player);
            let hydrated = async {
                loop {
                    if let ClientEvent::Hydrated { tick, .. } = late.next_event().await.expect("it lives") {
                        return tick;
                    }
                }
            };
            assert_eq!(soon("it is built", hydrated).await, snapshot.tick);
            let goal = late.stats().confirmed.max(clients[0].stats().confirmed).saturating_add(90);
            client_is("it plays on", &late, |stats| stats.confirmed >= goal).await;
            assert_eq!(late.stats().client.desyncs, 0);
            // The stored state is the one that both players had, and where all three have been they say the same.
            let stored = Snapshot::from_bytes(&snapshot.bytes).expect("it was checked").checksum();
            for sums in [&sums_one, &sums_two] {
                assert_eq!(sums.lock().expect("not poisoned").get(&snapshot.tick), Some(&stored));
            }
            let reported = late_sums.lock().expect("not poisoned").keys().filter(|tick| **tick > snapshot.tick).count();
            assert!(reported > 0, "guard: it has reports of its own");
            assert_agreement(&[sums_one, sums_two, late_sums], 0);
            drop((clients, late));
            server.stop().await;
        });
    }
}
