//! `retick serve` is killed fifty times while four players play, and starts again: the match goes on (A12).

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use retick_authority::log::{FrameLog, MemoryLog};
use retick_authority::service::open_room_folder;
use retick_client::{CreateOptions, NetClient, NetConfig, NetEnd, Player, Reconnect, create_room};
use retick_core::client::ClientEvent;
use retick_core::digest::{Checksum, Digest};
use retick_core::frame::{Frame, FrameChain};
use retick_core::identity::MatchDescriptor;
use retick_core::runtime::RuntimeFactory;
use retick_core::seat::{Seat, SeatSet};
use retick_core::session::{Budget, Session, SessionEvent, SessionPolicy};
use retick_core::tick::Tick;
use retick_testing::fixtures::{tally_descriptor, tally_factory, zig_packed};
use tokio::time::sleep;

use crate::{retick, scratch, stdout};

const SEATS: u8 = 4;
const KILLS: u64 = 50;
/// How long any step of the test may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// The service in a process of its own.
struct Serving(Child);

impl Serving {
    /// Starts it, and gives the address on which it listens.
    fn start(listen: &str, folder: &Path, durability: &[&str]) -> (Serving, String) {
        let mut process = Command::new(env!("CARGO_BIN_EXE_retick"))
            .args(["serve", "--open", "--no-admin", "--log", "warn", "--listen", listen, "--log-dir"])
            .arg(folder)
            .args(durability)
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening on ").unwrap_or_else(|| panic!("{line:?}")).to_owned();
        (Serving(process), address)
    }

    /// No signal handler runs, no buffer is flushed.
    fn kill(mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What one player's machine went through.
#[derive(Default)]
struct Story {
    seats: Vec<(Seat, bool)>,
    checksums: BTreeMap<Tick, Checksum>,
}

struct Zigzag {
    seat: Seat,
    story: Arc<Mutex<Story>>,
}

impl Player for Zigzag {
    fn input(&mut self, tick: Tick) -> Vec<u8> {
        zig_packed(self.seat, tick)
    }

    fn event(&mut self, event: ClientEvent) -> Option<ClientEvent> {
        let mut story = self.story.lock().unwrap();
        match &event {
            ClientEvent::Joined { seat, resumed } => story.seats.push((*seat, *resumed)),
            ClientEvent::Session(SessionEvent::Checksum { tick, checksum }) => {
                story.checksums.insert(*tick, *checksum);
            }
            _ => {}
        }
        None
    }
}

async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < PATIENCE, "{what}");
        sleep(Duration::from_millis(5)).await;
    }
}

/// The room's frames, as its folder holds them.
fn logged_frames(folder: &Path) -> Vec<Frame> {
    let mut log = open_room_folder(folder).unwrap();
    let (mut copy, mut record) = (MemoryLog::new(), Vec::new());
    for sequence in 1..log.next_sequence() {
        assert!(log.read_into(sequence, &mut record).unwrap());
        copy.append(sequence, &record).unwrap();
    }
    let frames = copy.frames().unwrap().collect::<Result<Vec<_>, _>>();
    frames.unwrap()
}

/// The chain's heads and the reported checksums that the frames give, without any client.
fn fold(frames: &[Frame], descriptor: &MatchDescriptor) -> (Vec<Digest>, BTreeMap<Tick, Checksum>) {
    let runtime = tally_factory().create(descriptor).unwrap();
    let policy = SessionPolicy::default();
    let mut session = Session::new(runtime, descriptor, policy, SeatSet::EMPTY).unwrap();
    let (mut chain, mut checksums) = (FrameChain::new(descriptor), BTreeMap::new());
    let mut heads = vec![chain.head()];
    for frame in frames {
        chain.extend(frame);
        heads.push(chain.head());
        session.confirm(frame).unwrap();
        session.advance(Budget { confirmed_frames: usize::MAX, target: Tick::ZERO }).unwrap();
        while let Some(event) = session.poll_event() {
            if let SessionEvent::Checksum { tick, checksum } = event {
                checksums.insert(tick, checksum);
            }
        }
    }
    (heads, checksums)
}

async fn kill_fifty_times(name: &str, durability: &[&str]) {
    let folder = scratch(name);
    let _ = std::fs::remove_dir_all(&folder);
    let (mut serving, address) = Serving::start("127.0.0.1:0", &folder, durability);
    let descriptor = tally_descriptor(&tally_factory(), SEATS, 12);
    let code = create_room(&address, &descriptor, &CreateOptions::default()).await.unwrap();
    let reconnect = Reconnect { first_delay_millis: 20, max_delay_millis: 100, give_up_millis: 20_000 };
    let (mut clients, mut stories) = (Vec::new(), Vec::new());
    for seat in descriptor.seats().seats() {
        let story = Arc::new(Mutex::new(Story::default()));
        let config = NetConfig { reconnect, ..NetConfig::new(&address, code.clone()) };
        let player = Zigzag { seat, story: story.clone() };
        clients.push(NetClient::spawn(config, Box::new(tally_factory()), player));
        // Seats are taken in the order of arrival.
        until("a player joins", || !story.lock().unwrap().seats.is_empty()).await;
        stories.push(story);
    }
    for kill in 0..KILLS {
        let confirmed = |client: &NetClient| client.stats().confirmed;
        let goal = clients.iter().map(confirmed).max().unwrap().saturating_add(10);
        until("the match goes on", || clients.iter().all(|client| confirmed(client) >= goal)).await;
        sleep(Duration::from_millis(kill * 37 % 101)).await;
        serving.kill();
        assert!(stories.iter().all(|story| story.lock().unwrap().seats.len() as u64 == kill + 1), "kill {kill}");
        (serving, _) = Serving::start(&address, &folder, durability);
    }
    let last = clients.iter().map(|client| client.stats().confirmed).max().unwrap().saturating_add(130);
    until("the match goes on", || clients.iter().all(|client| client.stats().confirmed >= last)).await;
    clients.iter().for_each(|client| client.stop().unwrap());
    let mut outcomes = Vec::new();
    for client in clients {
        outcomes.push(client.join().await.unwrap());
    }
    serving.kill();

    let room: PathBuf = folder.join("rooms").join(code.to_string());
    let verified = retick(&["log", "verify", room.to_str().unwrap()]);
    assert!(verified.status.success() && stdout(&verified).contains("goes on at tick"), "{}", stdout(&verified));
    let frames = logged_frames(&room);
    let (heads, checksums) = fold(&frames, &descriptor);
    assert_eq!(frames.last().unwrap().fence(), u32::try_from(KILLS).unwrap());
    for ((outcome, story), seat) in outcomes.iter().zip(&stories).zip(descriptor.seats().seats()) {
        let story = story.lock().unwrap();
        assert_eq!((&outcome.end, outcome.client.seat()), (&NetEnd::Stopped, Some(seat)));
        assert!(outcome.lost_transports >= KILLS, "{}", outcome.lost_transports);
        assert!(story.seats.iter().zip(0..).all(|(joined, time)| *joined == (seat, time > 0)), "{:?}", story.seats);
        // The log may lack the newest frames of an interval, but no client has others.
        let received = outcome.client.session().unwrap().received();
        let is_durable = durability.contains(&"every-frame");
        assert!(!is_durable || heads.len() > usize::try_from(received.index()).unwrap(), "a released frame is lost");
        if let Some(head) = heads.get(usize::try_from(received.index()).unwrap()) {
            assert_eq!(outcome.client.chain_head().as_ref(), Some(head), "seat {seat:?}");
        }
        let common: Vec<_> = story.checksums.iter().filter(|(tick, _)| checksums.contains_key(tick)).collect();
        assert!(common.len() >= 5 && common.iter().all(|(tick, checksum)| checksums[tick] == **checksum));
        assert_eq!(outcome.client.stats().desyncs, 0);
    }
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a12_fifty_kills_of_the_service_lose_no_released_frame() {
    kill_fifty_times("kills-every-frame", &["--durability", "every-frame"]).await;
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a12_fifty_kills_of_a_service_that_syncs_at_intervals_lose_nothing_that_players_hold() {
    kill_fifty_times("kills-interval", &["--durability", "interval", "--sync-millis", "500"]).await;
}
