//! `retick play`: one player of skirmish in a process of its own, in a room that `retick serve` keeps.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use clap::Args;
use indicatif::ProgressBar;
use retick_authority::service::{DEFAULT_ADDRESS, shutdown_signal};
use retick_client::{CreateOptions, Link, NetClient, NetConfig, NetEnd, Outcome, RoomCode, SeatPolicy, create_room};
use retick_core::client::{ClientConfig, ClientStats};
use retick_core::identity::MatchDescriptor;
use retick_core::rng::SessionSeed;
use retick_core::runtime::{Capabilities, RuntimeFactory};
use retick_core::seat::SeatCount;
use retick_core::session::Recording;
use retick_core::tick::Tick;
use retick_wasm::WasmFactory;
use skirmish::Rules;

use crate::failure::Failure;
use crate::live_line::{style, tell};
use crate::observer::{Observer, Seen};
use crate::recording::Records;
use crate::scripted::{ScriptedPlayer, lock};
use crate::{files, games};

/// Every how many confirmed ticks the players of a created room compare checksums: once a second, so that the last state of every
/// match is compared.
const CHECKSUM_CADENCE_TICKS: u32 = 60;

/// Arguments of `retick play`.
#[derive(Args)]
pub struct PlayArguments {
    /// The code of the room to join
    #[arg(value_name = "CODE", required_unless_present = "create", conflicts_with = "create")]
    code: Option<RoomCode>,
    /// Create a room and print its code, instead of joining one
    #[arg(long)]
    create: bool,
    /// How many seats the created room has, two to eight
    #[arg(long, default_value_t = 2, conflicts_with = "code", value_parser = clap::value_parser!(u8).range(2..=8))]
    seats: u8,
    /// How many of the created room's seats bots play from the start: the last ones, and people may take them
    #[arg(long, default_value_t = 0, conflicts_with = "code")]
    bots: u8,
    /// Where the service is, as HOST:PORT
    #[arg(long, default_value_t = DEFAULT_ADDRESS.to_string())]
    address: String,
    /// Let a script play. Nothing else can yet: a terminal does not tell when a key is let go
    #[arg(long)]
    bot: bool,
    /// Up to which second of the match to play
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=3600))]
    seconds: u32,
    /// Seed of this player's script, and of the match if it creates one; drawn anew if not given
    #[arg(long)]
    seed: Option<u64>,
    /// Where to write the replay, as it is played; beside it stands what the match cost this player
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
}

/// Runs `retick play`.
pub fn run(arguments: &PlayArguments) -> Result<(), Failure> {
    if !arguments.bot {
        return Err(Failure::Run("a terminal is no controller: say --bot, and a script plays".into()));
    }
    let seed = games::seed_or_drawn(arguments.seed)?;
    if let Some(path) = &arguments.record {
        files::reserve(path)?;
    }
    let factory = games::skirmish()?;
    println!("{}", games::describe(factory.as_ref()));
    let observer = Arc::new(Mutex::new(observer(arguments, &factory)));
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::Run(format!("no runtime: {error}")))?;
    let outcome = runtime.block_on(play(arguments, seed, &factory, &observer))?;
    conclude(&outcome, &mut lock(&observer))
}

fn observer(arguments: &PlayArguments, factory: &WasmFactory) -> Observer {
    let manifest = factory.manifest();
    // A checksum is due after each tick that the cadence divides, so the last state is one tick on.
    let ticks = u64::from(arguments.seconds) * u64::from(manifest.tick_rate().hz()) + 1;
    let records = arguments.record.clone().map_or(Records::Nothing, Records::ToFile);
    Observer::new(manifest, Tick::new(ticks), records)
}

/// Plays until the time is up, the match is over, or a signal came.
async fn play(
    arguments: &PlayArguments,
    seed: u64,
    factory: &Arc<WasmFactory>,
    observer: &Arc<Mutex<Observer>>,
) -> Result<Outcome, Failure> {
    let code = match &arguments.code {
        Some(code) => code.clone(),
        None => create(arguments, seed, factory).await?,
    };
    println!("room {code} of {}", arguments.address);
    let requires = Capabilities { commands: true, projection: true };
    let client = ClientConfig { requires, recording: Recording::Frames, ..ClientConfig::default() };
    let config = NetConfig { client, ..NetConfig::new(arguments.address.as_str(), code) };
    let schema = factory.manifest().input_schema().clone();
    let player = ScriptedPlayer::new(observer.clone(), schema, seed);
    let client = NetClient::spawn(config, Box::new(factory.clone()), player);
    tokio::select! {
        () = follow(&client, observer) => {}
        () = shutdown_signal() => {}
    }
    // A client that is over already has its reason in its outcome.
    let _ = client.leave();
    client.join().await.map_err(|error| Failure::Run(error.to_string()))
}

async fn create(arguments: &PlayArguments, seed: u64, factory: &WasmFactory) -> Result<RoomCode, Failure> {
    let seats = SeatCount::new(arguments.seats).ok_or_else(|| Failure::Run("no such number of seats".into()))?;
    let config = Rules::default().to_config()?;
    let descriptor = MatchDescriptor::new(factory.manifest(), config, SessionSeed::from_u64(seed), seats);
    if arguments.bots >= arguments.seats {
        return Err(Failure::Run(format!("--bots {} leaves no seat for this player", arguments.bots)));
    }
    let initial_bots = seats.seats().rev().take(usize::from(arguments.bots)).collect();
    let options = CreateOptions {
        checksum_cadence_ticks: Some(CHECKSUM_CADENCE_TICKS),
        seats: Some(SeatPolicy { humans_claim_bots: true, initial_bots, ..SeatPolicy::default() }),
        ..CreateOptions::default()
    };
    let created = create_room(&arguments.address, &descriptor, &options).await;
    created.map_err(|error| Failure::Run(format!("creating the room: {error}")))
}

/// Shows the match until its last tick is confirmed, or the client is over.
async fn follow(client: &NetClient, observer: &Mutex<Observer>) {
    let line = ProgressBar::new_spinner();
    line.set_style(style("{spinner} {msg}"));
    let mut stats = client.watch();
    while !lock(observer).is_done() && stats.changed().await.is_ok() {
        let now = *stats.borrow_and_update();
        line.set_message(tell(&now));
        if now.link == Link::Closed {
            break;
        }
    }
    line.finish();
}

/// Says what was played, and whether that is what was asked for.
fn conclude(outcome: &Outcome, observer: &mut Observer) -> Result<(), Failure> {
    print_summary(&observer.seen, &outcome.client.stats());
    observer.finish_recording()?;
    if observer.seen.desyncs > 0 {
        return Err(Failure::CheckFailed(format!("the room announced {} desyncs", observer.seen.desyncs)));
    }
    match &outcome.end {
        NetEnd::Left | NetEnd::Stopped => Ok(()),
        // What was asked for was played, however the connection ended after it.
        _ if observer.is_done() => Ok(()),
        end => Err(Failure::Run(format!("the match ended early: {end}"))),
    }
}

fn print_summary(seen: &Seen, stats: &ClientStats) {
    let Some(seat) = seen.seat else { return println!("no seat") };
    let substitutions: Vec<_> = seen.substitutions.iter().map(u64::to_string).collect();
    println!(
        "\nseat {seat} of {}, {} ticks confirmed, {} commands",
        substitutions.len(),
        seen.confirmed,
        seen.commands
    );
    println!("substituted inputs by seat: {}", substitutions.join(" "));
    println!("{} rollbacks, {} reconnects", seen.rollback_depths.len(), seen.reconnects);
    println!("{} bytes sent, {} received", stats.sent_bytes, stats.received_bytes);
    if let Some((tick, checksum)) = seen.checksums.last() {
        println!("{} checksums, the last is S({tick}) {checksum}", seen.checksums.len());
    }
    match &seen.chain_head {
        Some(head) if seen.first == Tick::ZERO => println!("chain head {head}"),
        // The chain begins with tick 0.
        _ => println!("joined at S({})", seen.first),
    }
}
