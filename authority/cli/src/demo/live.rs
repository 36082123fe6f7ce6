//! The demo in real time: a service on a loopback port, and a client behind a bad network for each player.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar};
use retick_authority::service::{Admission, Service, ServiceConfig, ServiceHandle, TicketKeys};
use retick_client::{Link, NetClient, NetConfig, NetEnd, Reconnect, RoomCode};
use retick_core::tick::Tick;
use retick_core::ticket::{Access, Ticket, TicketSigningKey};

use super::cast::{Act, Happening, Part, Role};
use super::report::{Carried, Results};
use super::{Plan, STALL_EVERY_MILLIS, STALL_MILLIS};
use crate::failure::Failure;
use crate::live_line::{style, tell};
use crate::observer::Observer;
use crate::proxy::{Proxy, ProxyPlan, Stall};
use crate::scripted::lock;

/// How often the display is refreshed, and what is due looked for.
const REFRESH: Duration = Duration::from_millis(100);
/// How much longer than the match itself the demo may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// The longest pause between two attempts to come back, in milliseconds.
const MAX_RECONNECT_DELAY_MILLIS: u64 = 400;

/// Plays the match and gives what was seen of it.
pub fn play(plan: &Plan) -> Result<Results, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    runtime.map_err(|error| Failure::Run(format!("no runtime: {error}")))?.block_on(play_all(plan))
}

async fn play_all(plan: &Plan) -> Result<Results, Failure> {
    let backend = Backend::new()?;
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let config = ServiceConfig { address, admission: backend.admission()?, ..ServiceConfig::default() };
    let service = Service::bind(config).map_err(|error| Failure::Run(format!("the service: {error}")))?;
    let (address, handle) = (service.local_address(), service.handle());
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let serving = tokio::spawn(service.run_until(async move {
        // The sender going away is a reason to stop as well.
        let _ = stopped.await;
    }));
    let played = play_match(plan, &backend, address, &handle).await;
    let _ = stop.send(());
    let served = serving.await.map_err(|_| Failure::Run("the service panicked".into()))?;
    served.map_err(|error| Failure::Run(format!("the service: {error}")))?;
    played
}

async fn play_match(
    plan: &Plan,
    backend: &Backend,
    address: SocketAddr,
    handle: &ServiceHandle,
) -> Result<Results, Failure> {
    let room = handle.create_room(plan.room_config());
    let room = room.map_err(|error| Failure::Run(format!("creating the room: {error}")))?;
    let code: RoomCode = room.to_string().parse().map_err(|_| Failure::Run(format!("{room} is no code")))?;
    println!("serving room {code} on {address}\n");
    let mut stage = Stage { plan, backend, address, code, people: Vec::new() };
    for part in plan.first_parts() {
        // Seats are given out in the order of greetings.
        stage.enter(part).await?.is_in().await?;
    }
    handle.start_room(room).await.map_err(|error| Failure::Run(format!("starting the room: {error}")))?;
    stage.watch().await?;
    let mut results = Results::default();
    for person in stage.people {
        person.finish(&mut results).await?;
    }
    Ok(results)
}

/// The game's own backend, which knows the players: by its tickets the room knows that two devices are one player's.
struct Backend(TicketSigningKey);

impl Backend {
    fn new() -> Result<Backend, Failure> {
        let mut secret = [0; 32];
        getrandom::fill(&mut secret).map_err(|error| Failure::Run(format!("no key: {error}")))?;
        Ok(Backend(TicketSigningKey::from_secret_bytes(&secret)))
    }

    fn admission(&self) -> Result<Admission, Failure> {
        let keys = TicketKeys::new(&[self.0.public_key()]);
        Ok(Admission::Tickets(keys.ok_or_else(|| Failure::Run("no keys".into()))?))
    }

    /// A ticket for whoever plays this part. The service and its key end with the demo, so that it need not expire.
    fn ticket(&self, part: Part, code: &RoomCode) -> Result<Vec<u8>, Failure> {
        let player = format!("player {}", part.seat);
        let ticket = Ticket::new(&player, code.as_str(), u64::MAX, Access::Play);
        let ticket = ticket.map_err(|error| Failure::Run(format!("the ticket of {player}: {error}")))?;
        Ok(self.0.sign(&ticket).to_bytes())
    }
}

/// Everyone who plays, and where.
struct Stage<'a> {
    plan: &'a Plan,
    backend: &'a Backend,
    address: SocketAddr,
    code: RoomCode,
    people: Vec<Person>,
}

impl Stage<'_> {
    async fn enter(&mut self, part: Part) -> Result<&Person, Failure> {
        let ticket = self.backend.ticket(part, &self.code)?;
        self.people.push(Person::start(self.plan, self.address, self.code.clone(), part, ticket).await?);
        self.people.last().ok_or_else(|| Failure::Run("nobody plays".into()))
    }

    /// Lets happen what is due, and shows the match, until everyone who stays has confirmed every tick that is compared.
    async fn watch(&mut self) -> Result<(), Failure> {
        let plan = self.plan;
        let display = Display::new(plan);
        let seconds = plan.ticks.index() / u64::from(plan.descriptor.tick_rate().hz());
        let deadline = tokio::time::Instant::now() + Duration::from_secs(seconds) + PATIENCE;
        let (mut refresh, mut acts) = (tokio::time::interval(REFRESH), plan.acts());
        loop {
            refresh.tick().await;
            while let Some(act) = acts.pop_front_if(|act| self.is_due(act)) {
                // What the network does, the proxy does by itself.
                if let Happening::Enter(part) = act.what {
                    self.enter(part).await?;
                }
            }
            display.show(&self.people);
            let found = plan.planted.is_some() && self.people.iter().any(Person::has_found);
            if found
                || self.people.iter().any(Person::ended_early)
                || acts.is_empty() && self.people.iter().all(Person::is_done)
            {
                display.finish();
                return Ok(());
            }
            if tokio::time::Instant::now() > deadline {
                display.finish();
                return Err(Failure::Run("the match did not come to its end in time".into()));
            }
        }
    }

    fn is_due(&self, act: &Act) -> bool {
        let confirmed = self.people.first().map_or(Tick::ZERO, |person| lock(&person.observer).seen.confirmed);
        let moves = matches!(act.what, Happening::Enter(Part { role: Role::SecondDevice, .. }));
        // Nobody moves before the connection that is superseded is back.
        let is_back = |person: &Person| person.part.role != Role::FirstDevice || person.has_resumed();
        act.at <= confirmed && (!moves || self.people.iter().all(is_back))
    }
}

/// One player: its client, the bad network before it, and what is seen of it.
struct Person {
    part: Part,
    client: NetClient,
    observer: Arc<Mutex<Observer>>,
    proxy: Proxy,
}

impl Person {
    async fn start(
        plan: &Plan,
        address: SocketAddr,
        code: RoomCode,
        part: Part,
        ticket: Vec<u8>,
    ) -> Result<Person, Failure> {
        let proxy = Proxy::start(address, proxy_plan(plan, part)).await;
        let proxy = proxy.map_err(|error| Failure::Run(format!("the network of seat {}: {error}", part.seat)))?;
        let (observer, player) = plan.player(part);
        let reconnect = Reconnect { max_delay_millis: MAX_RECONNECT_DELAY_MILLIS, ..Reconnect::default() };
        let config = NetConfig::new(proxy.address().to_string(), code);
        let config = NetConfig { client: plan.client, ticket, reconnect, ..config };
        let client = NetClient::spawn(config, Box::new(plan.factory(part)), player);
        Ok(Person { part, client, observer, proxy })
    }

    /// Waits until the room has given the seat, and has answered something that was sent after that.
    async fn is_in(&self) -> Result<(), Failure> {
        let mut stats = self.client.watch();
        while lock(&self.observer).seen.seat.is_none() || stats.borrow().client.round_trip_micros.is_none() {
            stats.changed().await.map_err(|_| Failure::Run("a player ended before the match began".into()))?;
        }
        Ok(())
    }

    fn has_resumed(&self) -> bool {
        lock(&self.observer).seen.reconnects > 0
    }

    fn has_found(&self) -> bool {
        lock(&self.observer).seen.finding.is_some()
    }

    fn is_over(&self) -> bool {
        self.client.stats().link == Link::Closed
    }

    fn ended_early(&self) -> bool {
        self.part.role.stays() && self.is_over()
    }

    fn is_done(&self) -> bool {
        if self.part.role.stays() { lock(&self.observer).is_done() } else { self.is_over() }
    }

    async fn finish(self, results: &mut Results) -> Result<(), Failure> {
        // A client that is over already has its reason in its outcome.
        let _ = self.client.stop();
        let outcome = self.client.join().await.map_err(|error| Failure::Run(error.to_string()))?;
        let end = match outcome.end {
            NetEnd::Stopped => None,
            NetEnd::Machine(reason) => Some(reason),
            end => return Err(Failure::Run(format!("a player ended early: {end}"))),
        };
        let (stats, cut_off) = (outcome.client.stats(), self.proxy.counts().cut_connections);
        let (sent_bytes, received_bytes) = (stats.sent_bytes, stats.received_bytes);
        let examined = outcome.client.examined_state().map(|(tick, state)| (tick, state.to_vec()));
        let carried = Carried { part: self.part, sent_bytes, received_bytes, cut_off, end, examined };
        results.add(&mut lock(&self.observer), carried)
    }
}

fn proxy_plan(plan: &Plan, part: Part) -> ProxyPlan {
    let number = part.seat.number();
    let round_trip = plan.round_trip_millis(number);
    let is_cut_off = part.role == Role::FirstDevice;
    ProxyPlan {
        seed: plan.seed.wrapping_add(u64::from(number)),
        round_trip_millis: (round_trip, round_trip),
        jitter_millis: round_trip / 8,
        stall: Some(Stall { millis: STALL_MILLIS, every_millis: STALL_EVERY_MILLIS }),
        cuts: if is_cut_off { vec![(plan.cut_at_millis(), plan.cut_millis())] } else { vec![] },
    }
}

/// A bar for the match and a line for each seat.
struct Display {
    bar: ProgressBar,
    lines: Vec<ProgressBar>,
}

impl Display {
    fn new(plan: &Plan) -> Display {
        let all = MultiProgress::new();
        let bar = all.add(ProgressBar::new(plan.ticks.index()));
        bar.set_style(style("{bar:40} tick {pos} of {len}  {elapsed}"));
        // A line for every client that will ever be there.
        let clients = plan.first_parts().len() + plan.acts().len();
        let line = |_| {
            let line = all.add(ProgressBar::no_length());
            line.set_style(style("{msg}"));
            line
        };
        let lines = (0..clients).map(line).collect();
        Display { bar, lines }
    }

    fn show(&self, people: &[Person]) {
        let confirmed = |person: &Person| lock(&person.observer).seen.confirmed;
        let present = people.iter().filter(|person| !person.is_over());
        self.bar.set_position(present.map(confirmed).min().unwrap_or(Tick::ZERO).index());
        for (person, line) in people.iter().zip(&self.lines) {
            let Part { seat, role } = person.part;
            line.set_message(format!("seat {seat} {role:<13}  {}", tell(&person.client.stats())));
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
