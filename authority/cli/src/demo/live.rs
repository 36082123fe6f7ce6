//! The demo in real time: a service on a loopback port, and a client behind a bad network for each seat.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar};
use retick_authority::service::{Service, ServiceConfig};
use retick_client::{CreateOptions, Link, NetClient, NetConfig, NetEnd, RoomCode, create_room};
use retick_core::runtime::RuntimeFactory;
use retick_core::tick::Tick;

use super::report::{Results, SeatResult};
use super::{CUT_MILLIS, Plan, STALL_EVERY_MILLIS, STALL_MILLIS};
use crate::failure::Failure;
use crate::live_line::{style, tell};
use crate::observer::{Observer, Records};
use crate::proxy::{Proxy, ProxyPlan, Stall};
use crate::scripted::{ScriptedPlayer, lock};

/// How often the display is refreshed.
const REFRESH: Duration = Duration::from_millis(100);
/// How much longer than the match itself the demo may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// Plays the match and gives what was seen of it.
pub fn play(plan: &Plan) -> Result<Results, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    runtime.map_err(|error| Failure::Run(format!("no runtime: {error}")))?.block_on(play_all(plan))
}

async fn play_all(plan: &Plan) -> Result<Results, Failure> {
    let config = ServiceConfig { address: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), ..ServiceConfig::default() };
    let service = Service::bind(config).map_err(|error| Failure::Run(format!("the service: {error}")))?;
    let address = service.local_address();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let serving = tokio::spawn(service.run_until(async move {
        // The sender going away is a reason to stop as well.
        let _ = stopped.await;
    }));
    let played = play_match(plan, address).await;
    let _ = stop.send(());
    let served = serving.await.map_err(|_| Failure::Run("the service panicked".into()))?;
    served.map_err(|error| Failure::Run(format!("the service: {error}")))?;
    played
}

async fn play_match(plan: &Plan, address: SocketAddr) -> Result<Results, Failure> {
    let code = create(plan, address).await?;
    println!("serving room {code} on {address}\n");
    let mut players = Vec::new();
    for seat in plan.descriptor.seats().seats() {
        players.push(LiveSeat::start(plan, address, code.clone(), seat.number()).await?);
        // Seats are given out in the order of greetings, and the table is in the order of seats.
        players.last().map(LiveSeat::seated).ok_or_else(|| Failure::Run("no player".into()))?.await?;
    }
    watch(plan, &players).await?;
    let mut results = Results { seats: Vec::new(), replay: Vec::new() };
    for player in players {
        player.finish(&mut results).await?;
    }
    Ok(results)
}

async fn create(plan: &Plan, address: SocketAddr) -> Result<RoomCode, Failure> {
    let options = CreateOptions {
        hard_tolerance_ticks: Some(plan.rules.hard_tolerance_ticks),
        checksum_cadence_ticks: Some(plan.rules.checksum_cadence_ticks),
        ..CreateOptions::default()
    };
    let created = create_room(&address.to_string(), &plan.descriptor, &options).await;
    created.map_err(|error| Failure::Run(format!("creating the room: {error}")))
}

/// One player: its client, the bad network before it, and what is seen of it.
struct LiveSeat {
    client: NetClient,
    observer: Arc<Mutex<Observer>>,
    proxy: Proxy,
}

impl LiveSeat {
    async fn start(plan: &Plan, address: SocketAddr, code: RoomCode, number: u8) -> Result<LiveSeat, Failure> {
        let is_last = usize::from(number) + 1 == plan.descriptor.seats().count();
        let round_trip = plan.round_trip_millis(number);
        let proxy_plan = ProxyPlan {
            seed: plan.seed.wrapping_add(u64::from(number)),
            round_trip_millis: (round_trip, round_trip),
            jitter_millis: round_trip / 8,
            stall: Some(Stall { millis: STALL_MILLIS, every_millis: STALL_EVERY_MILLIS }),
            cuts: if is_last { vec![(plan.cut_at_millis(), CUT_MILLIS)] } else { vec![] },
        };
        let proxy = Proxy::start(address, proxy_plan).await;
        let proxy = proxy.map_err(|error| Failure::Run(format!("the network of player {number}: {error}")))?;
        let records = if number == 0 { Records::Match } else { Records::Nothing };
        let manifest = plan.factory.manifest();
        let observer = Arc::new(Mutex::new(Observer::new(manifest, plan.ticks, records)));
        let player = ScriptedPlayer::new(observer.clone(), manifest.input_schema().clone(), plan.seed);
        let config = NetConfig { client: plan.client, ..NetConfig::new(proxy.address().to_string(), code) };
        let client = NetClient::spawn(config, Box::new(plan.factory.clone()), player);
        Ok(LiveSeat { client, observer, proxy })
    }

    /// Waits until the room has given the seat.
    async fn seated(&self) -> Result<(), Failure> {
        let mut stats = self.client.watch();
        while lock(&self.observer).seen.seat.is_none() {
            stats.changed().await.map_err(|_| Failure::Run("a player ended before the match began".into()))?;
        }
        Ok(())
    }

    async fn finish(self, results: &mut Results) -> Result<(), Failure> {
        // A client that is over already has its reason in its outcome.
        let _ = self.client.stop();
        let outcome = self.client.join().await.map_err(|error| Failure::Run(error.to_string()))?;
        if outcome.end != NetEnd::Stopped {
            return Err(Failure::Run(format!("a player ended early: {}", outcome.end)));
        }
        let cut_off = self.proxy.counts().cut_connections;
        let stats = outcome.client.stats();
        let mut observer = lock(&self.observer);
        if let Some(replay) = observer.finish_recording() {
            results.replay = replay;
        }
        let (sent_bytes, received_bytes) = (stats.sent_bytes, stats.received_bytes);
        results.seats.push(SeatResult { seen: observer.seen.clone(), sent_bytes, received_bytes, cut_off });
        Ok(())
    }
}

/// Shows the match until everyone has confirmed every tick that is compared.
async fn watch(plan: &Plan, players: &[LiveSeat]) -> Result<(), Failure> {
    let display = Display::new(plan, players.len());
    let seconds = plan.ticks.index() / u64::from(plan.descriptor.tick_rate().hz());
    let deadline = tokio::time::Instant::now() + Duration::from_secs(seconds) + PATIENCE;
    let mut refresh = tokio::time::interval(REFRESH);
    loop {
        refresh.tick().await;
        display.show(players);
        if players.iter().all(|player| lock(&player.observer).is_done()) {
            display.finish();
            return Ok(());
        }
        if players.iter().any(|player| player.client.stats().link == Link::Closed) {
            display.finish();
            return Ok(());
        }
        if tokio::time::Instant::now() > deadline {
            display.finish();
            return Err(Failure::Run("the match did not come to its end in time".into()));
        }
    }
}

/// A bar for the match and a line for each seat.
struct Display {
    bar: ProgressBar,
    lines: Vec<ProgressBar>,
}

impl Display {
    fn new(plan: &Plan, seats: usize) -> Display {
        let all = MultiProgress::new();
        let bar = all.add(ProgressBar::new(plan.ticks.index()));
        bar.set_style(style("{bar:40} tick {pos} of {len}  {elapsed}"));
        let line = |_| {
            let line = all.add(ProgressBar::no_length());
            line.set_style(style("{msg}"));
            line
        };
        let lines = (0..seats).map(line).collect();
        Display { bar, lines }
    }

    fn show(&self, players: &[LiveSeat]) {
        let least = players.iter().map(|player| lock(&player.observer).seen.confirmed).min().unwrap_or(Tick::ZERO);
        self.bar.set_position(least.index());
        for ((player, line), seat) in players.iter().zip(&self.lines).zip(0..) {
            line.set_message(format!("seat {seat}  {}", tell(&player.client.stats())));
        }
    }

    fn finish(&self) {
        self.bar.finish();
        self.lines.iter().for_each(ProgressBar::finish);
        // What was drawn last stays above what is printed next.
        if !self.bar.is_hidden() {
            eprintln!();
        }
    }
}
