//! L02: connections that say nothing or say it slowly, and many that join at one moment.
//!
//! All of it runs over pipes and on a paused clock, so that half a minute of silence takes none, and a seed repeats what it did.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::StreamExt;
use retick_authority::room::{RoomConfig, SeatState, StartPolicy};
use retick_authority::service::{
    Admission, CreateToken, Creation, JoinCheck, JoinOutcome, JoinRequest, RoomCode, RoomStatus, ServiceConfig,
    ServiceHandle, Stage,
};
use retick_core::digest::Identity;
use retick_core::wire::{ClientMessage, Refusal};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::time::{Instant, interval, sleep, sleep_until, timeout};

use crate::game::{factory, room_config};
use crate::raw::{Raw, RawEnd, exchange, open_pipe};
use crate::server::{Server, local_config, soon};

/// The hand-shake's deadline that the case names.
const DEADLINE: Duration = Duration::from_secs(5);
const SEATS: u8 = 4;
const TOKEN: &str = "the backend's own token";

/// A check that takes as many milliseconds as the ticket says, and never ends for one of other bytes.
struct Slow;

impl JoinCheck for Slow {
    fn check(&self, request: JoinRequest) -> JoinOutcome {
        let millis = <[u8; 8]>::try_from(request.ticket.as_slice()).map(u64::from_le_bytes);
        Box::pin(async move {
            match millis {
                Ok(millis) => sleep(Duration::from_millis(millis)).await,
                Err(_) => std::future::pending().await,
            }
            Ok(None)
        })
    }
}

fn slow_config() -> ServiceConfig {
    let creation = Creation::Token(CreateToken::new(TOKEN).expect("long enough"));
    ServiceConfig { admission: Admission::Checked(Arc::new(Slow)), creation, ..local_config() }
}

fn after(millis: u64) -> [u8; 8] {
    millis.to_le_bytes()
}

/// A room that does not start by itself.
fn waiting_room() -> RoomConfig {
    let mut config = room_config(&factory::<60>(b"one"), SEATS);
    config.start = StartPolicy::Manual;
    config.seats.recycle_vacated = true;
    config
}

fn identity() -> Identity {
    factory::<60>(b"one").manifest().identity()
}

fn address(number: usize) -> IpAddr {
    let number = u32::try_from(number).expect("few");
    Ipv4Addr::from(u32::from(Ipv4Addr::new(198, 18, 0, 0)) + number).into()
}

fn occupied(status: &RoomStatus) -> usize {
    status.seats.iter().filter(|seat| !matches!(seat, SeatState::Free | SeatState::Vacated)).count()
}

/// Somebody who is seated, and reads and pings until the connection is over.
async fn seat(handle: &ServiceHandle, number: usize, code: RoomCode, millis: u64) -> Result<Raw<DuplexStream>, RawEnd> {
    let mut raw = Raw::pipe(handle, address(number), code, "").await.ok_or(RawEnd::Dropped)?;
    raw.hello_with(identity(), &after(millis)).await;
    raw.welcomed().await?;
    raw.send(&ClientMessage::Ready { generation: retick_core::seat::Generation(0) }).await;
    Ok(raw)
}

fn keep_alive(mut raw: Raw<DuplexStream>) -> tokio::task::JoinHandle<()> {
    tokio::spawn(async move {
        let mut pings = interval(Duration::from_secs(1));
        loop {
            tokio::select! {
                message = raw.0.next() => if !matches!(message, Some(Ok(_))) { return },
                _ = pings.tick() => raw.send(&ClientMessage::Ping { sent_micros: 0, rollbacks: 0 }).await,
            }
        }
    })
}

/// How an attacker behaves.
#[derive(Clone, Copy)]
enum Silence {
    /// Nothing at all, or a WebSocket and no greeting.
    Nothing,
    /// A byte every ten seconds.
    Slow,
    /// A whole greeting, whose check never ends.
    NeverChecked,
}

/// What the attackers saw.
#[derive(Default)]
struct Seen {
    closed: AtomicUsize,
    longest_millis: AtomicU64,
}

/// Opens a connection, sits there until it is closed, and does it again.
async fn attack(silence: Silence, number: usize, handle: ServiceHandle, code: RoomCode, seen: Arc<Seen>) {
    let peer = address(1_000 + number);
    loop {
        let opened = Instant::now();
        match silence {
            Silence::Nothing if number.is_multiple_of(2) => {
                let _ = open_pipe(&handle, peer).read_to_end(&mut Vec::new()).await;
            }
            Silence::Nothing => {
                let Some(raw) = Raw::pipe(&handle, peer, code, "").await else { continue };
                assert_eq!(raw.end().await, RawEnd::Code(1008));
            }
            Silence::Slow => {
                let (mut from, mut to) = tokio::io::split(open_pipe(&handle, peer));
                let drip = async {
                    for byte in b"GET /health HTTP/1.1\r\n".iter().cycle() {
                        let _ = to.write_all(&[*byte]).await;
                        sleep(Duration::from_secs(10)).await;
                    }
                };
                let mut answer = Vec::new();
                tokio::select! {
                    _ = from.read_to_end(&mut answer) => {}
                    () = drip => {}
                }
            }
            Silence::NeverChecked => {
                let Some(mut raw) = Raw::pipe(&handle, peer, code, "").await else { continue };
                raw.hello_with(identity(), b"never").await;
                assert_eq!(raw.end().await, RawEnd::Refused(Refusal::Ticket));
            }
        }
        seen.closed.fetch_add(1, Ordering::Relaxed);
        let millis = u64::try_from(opened.elapsed().as_millis()).expect("short");
        seen.longest_millis.fetch_max(millis, Ordering::Relaxed);
    }
}

#[tokio::test(start_paused = true)]
async fn l02_a_silent_connections_keep_nobody_out_and_disturb_no_match() {
    let server = Server::start(slow_config());
    let handle = &server.handle;
    let code = handle.create_room(waiting_room()).expect("a room");
    let running = handle.create_room(waiting_room()).expect("a room");
    let mut players = Vec::new();
    for (room, number) in [(code, 0), (code, 1), (running, 2), (running, 3)] {
        players.push(keep_alive(seat(handle, number, room, 0).await.expect("a free seat")));
    }
    handle.start_room(running).await.expect("it is there");
    let frontier = || handle.room_status(running).expect("it runs").frontier.index();
    while frontier() == 0 {
        sleep(Duration::from_millis(1)).await;
    }

    let (began, seen) = (Instant::now(), Arc::new(Seen::default()));
    let attackers: Vec<_> = (0..500)
        .map(|number| {
            let silence = [Silence::Nothing, Silence::Slow, Silence::NeverChecked][number % 3];
            tokio::spawn(attack(silence, number, handle.clone(), code, seen.clone()))
        })
        .collect();
    let (mut honest, mut before) = (0, frontier());
    for second in 1..=35 {
        sleep_until(began + Duration::from_secs(second)).await;
        let half_open: usize = handle.handshakes().iter().sum();
        assert!(half_open > 300, "{half_open} at second {second}: the attack goes on");
        if [5, 30].contains(&second) {
            let joined = timeout(Duration::from_secs(1), seat(handle, 10 + honest, code, 20)).await;
            players.push(keep_alive(joined.expect("within a second").expect("a seat is free")));
            honest += 1;
        }
        let status = handle.room_status(code).expect("it waits");
        let held = 2 + honest;
        assert_eq!((occupied(&status), status.connections), (held, held), "at second {second}");
        let now = frontier();
        let ticks = now - before;
        // An honest join may take a part of its second, or of the next one.
        assert!((45..=75).contains(&ticks), "{ticks} ticks in second {second}");
        before = now;
    }
    let (elapsed, ticks) = (began.elapsed().as_secs_f64(), frontier());
    let missing = elapsed * 60.0 - ticks as f64;
    assert!((-2.0..=8.0).contains(&missing), "{ticks} ticks in {elapsed} s");
    assert!(seen.closed.load(Ordering::Relaxed) >= 3 * 500);
    let longest = seen.longest_millis.load(Ordering::Relaxed);
    assert!(longest <= u64::try_from(DEADLINE.as_millis()).expect("short") + 100, "one stayed for {longest} ms");

    assert!(!attackers.iter().any(tokio::task::JoinHandle::is_finished), "an attacker saw what it should not");
    attackers.iter().for_each(tokio::task::JoinHandle::abort);
    players.iter().for_each(tokio::task::JoinHandle::abort);
    nothing_is_left(handle, code).await;
    server.stop().await;
}

/// No hand-shake, reservation or connection; whoever held a seat is in its grace.
async fn nothing_is_left(handle: &ServiceHandle, code: RoomCode) {
    let quiet = async {
        loop {
            let status = handle.room_status(code);
            let connections = status.map_or(0, |status| status.connections);
            let reserved = handle.room_lobby(code).map_or(0, |lobby| lobby.reserved_seats);
            if (handle.handshakes(), connections, reserved) == ([0; Stage::ALL.len()], 0, 0) {
                return;
            }
            sleep(Duration::from_millis(10)).await;
        }
    };
    soon("nothing is left", quiet).await;
}

/// A generator that repeats what it gave by its seed.
struct Seeded(u64);

impl Seeded {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

/// One of the twenty who join in one tick.
#[derive(Clone, Copy, Debug)]
struct Joiner {
    millis: u64,
    /// When it drops, during its check.
    drops: Option<u64>,
}

/// How a joiner fared, and when.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fate {
    Seated,
    Full,
    Dropped,
}

async fn try_to_join(joiner: Joiner, number: usize, handle: ServiceHandle, code: RoomCode) -> (Fate, Instant) {
    let joined = seat(&handle, 20 + number, code, joiner.millis);
    let joined = match joiner.drops {
        None => joined.await,
        Some(millis) => match timeout(Duration::from_millis(millis), joined).await {
            Err(_) => return (Fate::Dropped, Instant::now()),
            Ok(joined) => joined,
        },
    };
    let decided = Instant::now();
    match joined {
        Ok(raw) => {
            keep_alive(raw);
            (Fate::Seated, decided)
        }
        Err(end) => {
            assert_eq!(end, RawEnd::Refused(Refusal::Full { seats: SEATS }), "{joiner:?}");
            // Nobody is refused while a seat is free.
            assert_eq!(handle.room_status(code).expect("it lives").open_seats, 0);
            (Fate::Full, decided)
        }
    }
}

/// Lets all of them join at this moment, and says how each fared.
async fn all_try(joiners: &[Joiner], handle: &ServiceHandle, code: RoomCode) -> Vec<(Fate, Instant)> {
    let racing: Vec<_> = joiners
        .iter()
        .zip(0..)
        .map(|(joiner, number)| tokio::spawn(try_to_join(*joiner, number, handle.clone(), code)))
        .collect();
    let mut fates = Vec::new();
    for racer in racing {
        fates.push(soon("a joiner is decided", racer).await.expect("no panic"));
    }
    fates
}

/// Plays one seed, and says how many survivors were in flight for the last seat.
async fn race(seed: u64) -> usize {
    let server = Server::start(slow_config());
    let (handle, mut random) = (server.handle.clone(), Seeded(seed));
    let code = handle.create_room(waiting_room()).expect("a room");
    let mut leaver = seat(&handle, 0, code, 0).await.expect("a free seat");
    keep_alive(seat(&handle, 1, code, 0).await.expect("a free seat"));
    let most = Arc::new(Mutex::new(0));
    let (mut watched, seen) = (server.status(code), most.clone());
    let watching = tokio::spawn(async move {
        while watched.changed().await.is_ok() {
            let now = occupied(&watched.borrow_and_update());
            let mut most = seen.lock().expect("not poisoned");
            *most = now.max(*most);
        }
    });
    let joiners: Vec<Joiner> = (0..20)
        .map(|number| {
            let millis = 1 + random.below(500);
            let drops = (number % 3 == 0).then(|| random.below(millis));
            Joiner { millis, drops }
        })
        .collect();
    let fates = all_try(&joiners, &handle, code).await;
    let count = |fate| fates.iter().filter(|(found, _)| *found == fate).count();
    let survivors = joiners.iter().filter(|joiner| joiner.drops.is_none()).count();
    assert_eq!((count(Fate::Seated), count(Fate::Full)), (2, survivors - 2), "seed {seed}: {joiners:?}");
    assert_eq!(count(Fate::Dropped), 20 - survivors);
    assert_eq!(occupied(&handle.room_status(code).expect("it lives")), 4);
    // (c) One leaves, and five try again.
    leaver.send(&ClientMessage::Leave).await;
    let left = |status: &RoomStatus| status.open_seats == 1;
    soon("the seat is open", server.status(code).wait_for(left)).await.expect("it lives");
    let again: Vec<Joiner> = (0..5).map(|_| Joiner { millis: 1 + random.below(500), drops: None }).collect();
    let second = all_try(&again, &handle, code).await;
    assert_eq!(second.iter().filter(|(fate, _)| *fate == Fate::Seated).count(), 1, "seed {seed}: {again:?}");
    assert_eq!(occupied(&handle.room_status(code).expect("it lives")), 4);
    assert_eq!(*most.lock().expect("not poisoned"), 4, "seed {seed}");
    watching.abort();
    // The guard: who was still being checked when one seat was left.
    let mut times: Vec<Instant> = fates.iter().filter(|(fate, _)| *fate == Fate::Seated).map(|(_, at)| *at).collect();
    times.sort();
    let in_flight = fates.iter().filter(|(fate, at)| *fate != Fate::Dropped && *at > times[0]).count();
    handle.close_room(code).await.expect("it is open");
    nothing_is_left(&handle, code).await;
    server.stop().await;
    in_flight
}

#[tokio::test(start_paused = true)]
async fn l02_b_c_a_race_for_the_last_seats_fills_them_and_no_more() {
    let mut contested = 0;
    for seed in 1..=50 {
        contested += usize::from(race(seed).await >= 2);
    }
    assert!(contested >= 40, "in {contested} of 50 seeds two were in flight for the last seat");
}

#[tokio::test(start_paused = true)]
async fn l02_a_reserved_seat_outlasts_its_time_while_its_owner_is_checked() {
    let server = Server::start(ServiceConfig { reservation_millis: 100, ..slow_config() });
    let handle = &server.handle;
    let code = handle.create_room(waiting_room()).expect("a room");
    handle.set_room_visibility(code, retick_authority::service::Visibility::Public).expect("it is there");
    for number in 0..3 {
        keep_alive(seat(handle, number, code, 0).await.expect("a free seat"));
    }
    // A quick match of the game's backend finds the last seat.
    let reservation = reserve(handle, code).await;
    let (owner, asked) = (handle.clone(), Instant::now());
    let owner = tokio::spawn(async move {
        let query = format!("?reservation={reservation}");
        let mut raw = Raw::pipe(&owner, address(10), code, &query).await.expect("it is there");
        raw.hello_with(identity(), &after(400)).await;
        raw.welcomed().await.map(|()| raw)
    });
    // Long after the reservation's own time, and long before the check is over.
    sleep_until(asked + Duration::from_millis(300)).await;
    assert_eq!(handle.room_lobby(code).expect("it lives").reserved_seats, 1);
    let other = seat(handle, 11, code, 0).await.map(|_| ());
    assert_eq!(other, Err(RawEnd::Refused(Refusal::Full { seats: SEATS })));
    let owner = owner.await.expect("no panic").expect("the seat was kept");
    assert!(asked.elapsed() >= Duration::from_millis(400));
    drop(owner);
    handle.close_room(code).await.expect("it is open");
    nothing_is_left(handle, code).await;
    server.stop().await;
}

/// A seat in this room, which must be the one that a quick match finds.
async fn reserve(handle: &ServiceHandle, code: RoomCode) -> String {
    let info = handle.room_info(code).expect("it lives");
    let body = format!("{{\"identity\":\"{}\",\"config_digest\":\"{}\"}}", info.identity, info.config_digest);
    let headers = format!("authorization: Bearer {TOKEN}\r\n");
    let answer = exchange(open_pipe(handle, address(9)), "POST /match", &headers, body.as_bytes()).await;
    assert_eq!((answer.status, answer.code()), (200, code.to_string()));
    answer.json()["reservation"].as_str().expect("a reservation").to_owned()
}

#[tokio::test(start_paused = true)]
async fn l02_a_flood_of_one_address_displaces_itself_and_not_who_was_there() {
    let (max_handshakes, max_handshakes_per_address, max_connections_per_address) = (40, 8, 1_000);
    let config =
        ServiceConfig { max_handshakes, max_handshakes_per_address, max_connections_per_address, ..slow_config() };
    let server = Server::start(config);
    let handle = &server.handle;
    let code = handle.create_room(waiting_room()).expect("a room");
    // Honest, and slow to speak.
    let mut early = Raw::pipe(handle, address(1), code, "").await.expect("a place");
    let mut flood = Vec::new();
    for _ in 0..200 {
        flood.push(Raw::pipe(handle, address(2), code, "").await.expect("a place"));
    }
    assert_eq!(handle.handshakes()[1], 1 + 8);
    // Loopback is no address of its own, but the oldest of the most still gives way.
    for _ in 0..200 {
        flood.push(Raw::pipe(handle, Ipv4Addr::LOCALHOST.into(), code, "").await.expect("a place"));
    }
    assert_eq!(handle.handshakes()[1], 40);
    early.hello_with(identity(), &after(0)).await;
    assert_eq!(early.welcomed().await, Ok(()));
    assert!(handle.metrics().contains("retick_handshakes_evicted_total 361\n"), "{}", handle.metrics());
    assert_eq!(flood.remove(0).end().await, RawEnd::Code(1013));
    server.stop().await;
}
