//! What a game decides about its rooms, over HTTP and through real sockets (A5, A7, A10, A14, A15, V1).

use retick_authority::room::{self, SeatState};
use retick_authority::service::{Locked, RoomPhase, RoomSettlement as Settled};
use retick_client::{
    CreateOptions, Lobby, MatchWish, NetClient, NetConfig, OnLeave, Permission, RoomPolicies, RoomSettlement,
    SeatPolicy, StartPolicy,
};
use retick_core::client::{ClientEvent, ClientRole};
use retick_core::seat::{Generation, Seat, SeatSet};
use retick_core::tick::Tick;
use retick_core::wire::{ClientMessage, Refusal, RoomMessage};
use tokio::time::Instant;

use crate::game::{Scripted, assert_agreement, descriptor, factory, room_config};
use crate::lobby::{code_of, lobby, refusal_of, refused};
use crate::raw::{Raw, request};
use crate::server::{Server, client_is, local_config, room_is, soon};

const GENERATION: Generation = Generation(0);

fn seats(numbers: &[u8]) -> SeatSet {
    numbers.iter().map(|number| Seat::new(*number).expect("a seat")).collect()
}

fn with_bots(numbers: &[u8]) -> SeatPolicy {
    SeatPolicy { initial_bots: seats(numbers), ..SeatPolicy::default() }
}

/// A game's own answer to everything.
fn unusual() -> CreateOptions {
    let initial_bots = seats(&[1, 3]);
    CreateOptions {
        grace_millis: Some(7_000),
        seats: Some(SeatPolicy {
            recycle_vacated: true,
            humans_claim_bots: true,
            on_leave: OnLeave::Bot,
            initial_bots,
        }),
        start: Some(StartPolicy::Minimum { seats: 2, countdown_millis: 9_000 }),
        pause: Some(Permission::Creator),
        reconfigure: Some(Permission::Anyone),
        max_observers: Some(3),
        ..CreateOptions::default()
    }
}

#[tokio::test]
async fn v1_a_room_is_made_with_what_its_game_decides_and_says_so() {
    let (server, game) = (Server::start(local_config()), factory::<60>(b"one"));
    let (lobby, made) = (lobby(&server), descriptor(&game, 4));
    let options = unusual();
    let expected = RoomPolicies {
        seats: options.seats.expect("said"),
        start: options.start.expect("said"),
        pause: Permission::Creator,
        reconfigure: Permission::Anyone,
        max_observers: 3,
        grace_millis: 7_000,
    };
    let created = lobby.create(&made, &options).await.expect("a room").info;
    let wish = MatchWish::FindOrCreate { descriptor: &made, options };
    let matched = lobby.quick_match(&wish).await.expect("a room").info;
    for info in [created, matched] {
        assert_eq!(info.policies, expected);
        assert_eq!(lobby.room(&info.code).await.expect("it is there").policies, expected);
        // That is what the room has, and not only what it says.
        let settings = server.handle.room_info(code_of(&info.code)).expect("it is there").settings;
        assert_eq!(settings.start, room::StartPolicy::Minimum { seats: 2, countdown_millis: 9_000 });
        assert_eq!((settings.pause, settings.max_observers), (room::PausePolicy::Creator, 3));
        assert_eq!(settings.reconfigure, room::ReconfigurePolicy::Anyone);
        let (recycle_vacated, humans_claim_bots, on_leave) = (true, true, room::OnLeave::Bot);
        let initial_bots = seats(&[1, 3]);
        let policy = room::SeatPolicy { recycle_vacated, humans_claim_bots, on_leave, initial_bots };
        assert_eq!(settings.seats, policy);
    }
    let usual = lobby.create(&made, &CreateOptions::default()).await.expect("a room").info.policies;
    assert_eq!((usual.seats, usual.start), (SeatPolicy::default(), StartPolicy::WhenFull));
    assert_eq!((usual.pause, usual.reconfigure, usual.max_observers), (Permission::Nobody, Permission::Nobody, 16));
    server.stop().await;
}

#[tokio::test]
async fn v1_policies_that_can_not_be_are_refused_with_a_code() {
    let (server, game) = (Server::start(local_config()), factory::<60>(b"one"));
    let hex: String = descriptor(&game, 2).to_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    let malformed = (400, "malformed-json");
    let cases = [
        (r#""seat_policy":{"initial_bots":[2]}"#, (422, "bot-seat")),
        (r#""seat_policy":{"initial_bots":[0,0]}"#, (422, "bot-seat")),
        (r#""seat_policy":{"initial_bots":[255]}"#, (422, "bot-seat")),
        (r#""seat_policy":{"initial_bots":[256]}"#, malformed),
        (r#""seat_policy":{"initial_bots":[1,0]}"#, (422, "no-seat-for-anyone")),
        (r#""seat_policy":{"on_leave":"x"}"#, malformed),
        (r#""seat_policy":{"recycle":true}"#, malformed),
        (r#""start":{"minimum":{"seats":0,"countdown_millis":1}}"#, (422, "start-seats")),
        (r#""start":{"minimum":{"seats":3,"countdown_millis":1}}"#, (422, "start-seats")),
        (r#""start":{"minimum":{"seats":1,"countdown_millis":600001}}"#, (422, "countdown-too-long")),
        (r#""start":{"minimum":{"seats":1}}"#, malformed),
        (r#""start":{"minimum":{"seats":1,"countdown_millis":1,"x":1}}"#, malformed),
        // Nothing would ever start it.
        (r#""start":"manual""#, malformed),
        (r#""pause":"everybody""#, malformed),
        (r#""reconfigure":true"#, malformed),
        (r#""max_observers":257"#, (422, "too-many-observers")),
        (r#""max_observers":65536"#, malformed),
    ];
    for path in ["/rooms", "/match"] {
        for (policies, (status, code)) in cases {
            let body = format!("{{\"descriptor\":\"{hex}\",{policies}}}");
            let (found, answer) = request(server.address, "POST", path, body.as_bytes()).await;
            assert_eq!((found, answer["code"].as_str()), (status, Some(code)), "{path} {policies}");
        }
    }
    assert_eq!(server.handle.room_count(), 0);
    let all_bots = r#""seat_policy":{"initial_bots":[1,0],"humans_claim_bots":true},"max_observers":256"#;
    let body = format!("{{\"descriptor\":\"{hex}\",{all_bots}}}");
    assert_eq!(request(server.address, "POST", "/rooms", body.as_bytes()).await.0, 201);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a5_a_bot_plays_from_the_start_and_gives_its_seat_only_where_people_may_take_it() {
    let (server, game) = (Server::start(local_config()), factory::<60>(b"one"));
    let lobby = lobby(&server);
    for humans_claim_bots in [true, false] {
        let policy = SeatPolicy { humans_claim_bots, ..with_bots(&[1]) };
        let options = CreateOptions { seats: Some(policy), ..CreateOptions::default() };
        let made = lobby.create(&descriptor(&game, 2), &options).await.expect("a room");
        let code = code_of(&made.info.code);
        let status = server.status(code);
        let ((one, one_sums), (late, late_sums)) = (Scripted::new(0), Scripted::new(1));
        let one = server.join(code, &game, one);
        client_is("it plays with a bot", &one, |stats| stats.confirmed >= Tick::new(30)).await;
        assert_eq!(status.borrow().seats, [SeatState::Playing, SeatState::Bot]);
        let late = server.join(code, &game, late);
        if humans_claim_bots {
            room_is("it has the bot's seat", &status, |status| status.seats[1] == SeatState::Playing).await;
            let goal = one.stats().confirmed.saturating_add(240);
            for client in [&one, &late] {
                client_is("they play on", client, |stats| stats.confirmed >= goal).await;
            }
            assert_agreement(&[one_sums, late_sums], 2);
            drop(late);
        } else {
            assert_eq!(refusal_of(late).await, Refusal::Full { seats: 2 });
            assert_eq!(status.borrow().seats, [SeatState::Playing, SeatState::Bot]);
        }
        drop(one);
    }
    server.stop().await;
}

/// Two who are seated in a new room, the creator first.
async fn two(server: &Server, lobby: &Lobby, options: CreateOptions) -> (retick_client::RoomCode, [Raw; 2]) {
    let game = factory::<60>(b"one");
    let code = lobby.create(&descriptor(&game, 2), &options).await.expect("a room").info.code;
    let mut raws = Vec::new();
    for _ in 0..2 {
        let mut raw = Raw::open(server.address, code_of(&code)).await;
        raw.join(game.manifest().identity()).await;
        assert_eq!(raw.welcomed().await, Ok(()));
        raws.push(raw);
    }
    (code, raws.try_into().unwrap_or_else(|_| panic!("two")))
}

#[tokio::test]
async fn a15_the_creator_starts_and_pauses_and_nobody_else_does() {
    let server = Server::start(local_config());
    let options = CreateOptions {
        start: Some(StartPolicy::Creator),
        pause: Some(Permission::Creator),
        ..CreateOptions::default()
    };
    let (code, [mut creator, mut other]) = two(&server, &lobby(&server), options).await;
    let status = server.status(code_of(&code));
    let [pause, go_on] = [true, false].map(|paused| ClientMessage::Pause { generation: GENERATION, paused });
    room_is("both are ready", &status, |status| status.seats == [SeatState::Playing; 2]).await;
    other.send(&ClientMessage::Start).await;
    room_is("it is refused", &status, |status| status.stats.refused_requests == 1).await;
    assert_eq!(status.borrow().phase, RoomPhase::Waiting);
    creator.send(&ClientMessage::Start).await;
    room_is("the match runs", &status, |status| status.frontier > Tick::new(10)).await;
    other.send(&pause).await;
    room_is("it is refused", &status, |status| status.stats.refused_requests == 2).await;
    creator.send(&pause).await;
    // The first that it hears of a pause is the creator's, which comes after its own was refused.
    let (mut pauses, mut stood_at) = (0, Tick::ZERO);
    other
        .until(|message| {
            if let RoomMessage::Paused { tick, .. } = message {
                (pauses, stood_at) = (pauses + 1, *tick);
            }
            (pauses == 1).then_some(())
        })
        .await;
    other.send(&go_on).await;
    room_is("it is refused", &status, |status| status.stats.refused_requests == 3).await;
    assert!(status.borrow().frontier <= stood_at);
    creator.send(&go_on).await;
    let resumed = other.until(|message| match message {
        RoomMessage::Paused { .. } => Some(false),
        RoomMessage::Resumed { .. } => Some(true),
        _ => None,
    });
    assert!(resumed.await, "there was one pause");
    room_is("it goes on", &status, |status| status.frontier > stood_at.saturating_add(10)).await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a14_who_only_watches_sees_the_match_and_there_are_so_many_and_not_more() {
    let (server, game) = (Server::start(local_config()), factory::<60>(b"one"));
    let options = CreateOptions { seats: Some(with_bots(&[1])), max_observers: Some(1), ..CreateOptions::default() };
    let made = lobby(&server).create(&descriptor(&game, 2), &options).await.expect("a room");
    let code = code_of(&made.info.code);
    let (player, watcher) = (Scripted::new(0), Scripted::new(1));
    let played = server.join(code, &game, player.0);
    client_is("it plays", &played, |stats| stats.confirmed >= Tick::new(30)).await;
    let watch = |script| {
        let mut config: NetConfig = server.net_config(code);
        config.client.role = ClientRole::Observer;
        NetClient::spawn(config, Box::new(game.clone()), script)
    };
    let watching = watch(watcher.0);
    let goal = played.stats().confirmed.saturating_add(120);
    client_is("it watches", &watching, |stats| stats.confirmed >= goal).await;
    assert_eq!(refusal_of(watch(Scripted::new(2).0)).await, Refusal::Observers);
    let seats = server.status(code).borrow().seats.clone();
    assert_eq!(seats, [SeatState::Playing, SeatState::Bot]);
    drop((played, watching));
    server.stop().await;
}

#[tokio::test]
async fn a15_how_a_match_ended_is_asked_for_over_http() {
    let server = Server::start(local_config());
    let lobby = lobby(&server);
    let tick = Tick::ZERO;
    for (results, expected) in [
        ([b"won\xff"; 2], RoomSettlement::Agreed { tick, result: b"won\xff".to_vec() }),
        ([b"won\xff", b"lost"], RoomSettlement::Disputed),
    ] {
        let (code, mut players) = two(&server, &lobby, CreateOptions::default()).await;
        let status = server.status(code_of(&code));
        room_is("it runs", &status, |status| status.frontier > Tick::new(5)).await;
        let message = |seat: usize| ClientMessage::Result { generation: GENERATION, tick, result: results[seat] };
        players[0].send(&message(0)).await;
        // One word alone settles nothing.
        let before = status.borrow().frontier;
        room_is("it runs on", &status, |status| status.frontier > before.saturating_add(5)).await;
        assert_eq!(lobby.settlement(&code).await, Ok(RoomSettlement::Open));
        players[1].send(&message(1)).await;
        room_is("it is settled", &status, |status| status.settlement != Settled::Open).await;
        assert_eq!(lobby.settlement(&code).await, Ok(expected));
    }
    let unknown = "AAAA-AAAA".parse().expect("a code");
    assert_eq!(refused(lobby.settlement(&unknown).await), (404, "no-such-room".to_owned()));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a7_a_latecomer_is_built_from_a_snapshot_and_plays_what_the_others_play() {
    let (server, game) = (Server::start(local_config()), factory::<60>(b"one"));
    let mut config = room_config(&game, 3);
    config.seats.humans_claim_bots = true;
    config.seats.initial_bots = seats(&[2]);
    // Half a second at most is replayed; the match is six times as long.
    config.donation.replay_millis = 500;
    let code = server.handle.create_room(config).expect("a room");
    let (mut players, mut sums): (Vec<_>, Vec<_>) = (0..2).map(Scripted::new).unzip();
    let clients: Vec<NetClient> = players.drain(..).map(|player| server.join(code, &game, player)).collect();
    for client in &clients {
        client_is("it plays", client, |stats| stats.confirmed >= Tick::new(180)).await;
    }
    let (player, late_sums) = Scripted::new(2);
    let mut late = server.join(code, &game, player);
    let hydrated = soon("it is built", async {
        loop {
            if let ClientEvent::Hydrated { tick, .. } = late.next_event().await.expect("it lives") {
                return tick;
            }
        }
    });
    let hydrated = hydrated.await;
    let status = server.status(code);
    room_is("it has its seat", &status, |status| status.seats == [SeatState::Playing; 3]).await;
    let goal = late.stats().confirmed.saturating_add(150);
    for client in clients.iter().chain([&late]) {
        client_is("all play on", client, |stats| stats.confirmed >= goal).await;
        assert_eq!(client.stats().client.desyncs, 0);
    }
    let first = late_sums.lock().expect("not poisoned").keys().next().copied().expect("it has states");
    assert!(Tick::ZERO < hydrated && hydrated <= first, "S({hydrated}), and the first state is S({first})");
    sums.push(late_sums);
    assert_agreement(&sums, 5);
    drop((clients, late));
    server.stop().await;
}

#[tokio::test(start_paused = true)]
async fn v1_who_waits_in_a_lobby_sees_its_lock_at_once() {
    let (server, game) = (Server::start(local_config()), factory::<60>(b"one"));
    let code = server.handle.create_room(room_config(&game, 2)).expect("a room");
    let peer = std::net::Ipv4Addr::LOCALHOST.into();
    let mut raw = Raw::pipe(&server.handle, peer, code, "").await.expect("a place");
    raw.join(game.manifest().identity()).await;
    assert_eq!(raw.welcomed().await, Ok(()));
    room_is("it waits", &server.status(code), |status| status.seats[0] == SeatState::Playing).await;
    for (lock, expected) in [(Locked::Yes, true), (Locked::No, false)] {
        // The clock stands while anybody has something to do: an idle room that was not woken would let it move on.
        let began = Instant::now();
        server.handle.set_room_locked(code, lock).await.expect("it is there");
        let shown = |message: &RoomMessage<'_>| match message {
            RoomMessage::Roster { locked, .. } => (*locked == expected).then_some(()),
            _ => None,
        };
        raw.until(shown).await;
        assert!(began.elapsed().as_millis() <= 1, "after {:?}", began.elapsed());
    }
    server.stop().await;
}
