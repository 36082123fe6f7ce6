//! `retick demo`: a whole match through a real room service on a bad network, and the proof that everyone saw the same one.

mod cast;
mod fast;
mod live;
mod plant;
mod report;

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use clap::Args;
use retick_authority::room::{DonationConfig, RoomConfig, SeatPolicy, StartPolicy};
use retick_core::client::ClientConfig;
use retick_core::identity::MatchDescriptor;
use retick_core::rng::SessionSeed;
use retick_core::runtime::{Capabilities, RuntimeFactory};
use retick_core::seat::SeatCount;
use retick_core::session::Recording;
use retick_core::tick::Tick;
use retick_core::wire::RoomRules;
use skirmish::Rules;

use self::cast::{Cast, Part};
use self::plant::Planted;
use self::report::Results;
use crate::failure::Failure;
use crate::observer::Observer;
use crate::recording::Records;
use crate::scripted::ScriptedPlayer;
use crate::{files, games};

/// Every how many confirmed ticks the demo compares checksums: once a second.
const CHECKSUM_CADENCE_TICKS: u32 = 60;
/// Ticks that the demo's room waits for an input.
const HARD_TOLERANCE_TICKS: u16 = 6;
/// How often each player's connection stalls, and for how long.
const STALL_MILLIS: u32 = 300;
const STALL_EVERY_MILLIS: u32 = 4_000;
/// The slowest and the fastest player's round trip.
const ROUND_TRIP_MILLIS: (u32, u32) = (40, 120);

/// Arguments of `retick demo`.
#[derive(Args)]
pub struct DemoArguments {
    /// How long to play
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(3..=3600))]
    seconds: u32,
    /// How many seats, four to eight: one is a bot's, one a latecomer's
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u8).range(4..=8))]
    seats: u8,
    /// Seed of the match, the inputs and the network; drawn anew if not given
    #[arg(long)]
    seed: Option<u64>,
    /// Where to write the replay
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Play the same machines in one process on a virtual clock: reproducible by seed, as fast as it goes
    #[arg(long)]
    fast: bool,
    /// Flip one bit of one player's state, and show how the room names it: tick, address, both values and the field. The game is
    /// played natively then. Ends with exit code 0 if it was named as it was planted, and with 1 if not
    #[arg(long, conflicts_with = "record")]
    plant_desync: bool,
}

/// What both ways of playing share.
struct Plan {
    factory: Arc<dyn RuntimeFactory>,
    planted: Option<Planted>,
    descriptor: MatchDescriptor,
    rules: RoomRules,
    client: ClientConfig,
    seed: u64,
    /// The last state that is compared: `S(ticks)`.
    ticks: Tick,
    cast: Cast,
    /// Where the first player records.
    records: Records,
}

impl Plan {
    fn new(arguments: &DemoArguments, seed: u64) -> Result<Plan, Failure> {
        let factory: Arc<dyn RuntimeFactory> = match arguments.plant_desync {
            false => games::skirmish()?,
            true => Arc::new(skirmish::native_factory().map_err(|error| Failure::Run(error.to_string()))?),
        };
        let config = Rules::default().to_config()?;
        let no_match = || Failure::Run(format!("there is no demo of {} seats", arguments.seats));
        let seats = SeatCount::new(arguments.seats).ok_or_else(no_match)?;
        let cast = Cast::new(seats).ok_or_else(no_match)?;
        let descriptor = MatchDescriptor::new(factory.manifest(), config, SessionSeed::from_u64(seed), seats);
        let rules =
            RoomRules { hard_tolerance_ticks: HARD_TOLERANCE_TICKS, checksum_cadence_ticks: CHECKSUM_CADENCE_TICKS };
        let requires = Capabilities { commands: true, projection: true };
        let client = ClientConfig { requires, recording: Recording::Frames, ..ClientConfig::default() };
        // A checksum is due after each tick that the cadence divides, so the last state compared is one tick on.
        let ticks = Tick::new(u64::from(arguments.seconds) * u64::from(descriptor.tick_rate().hz()) + 1);
        let planted = arguments.plant_desync.then(|| Planted::new(factory.clone(), cast.moving));
        let records = arguments.record.clone().map_or(Records::Match, Records::ToFile);
        Ok(Plan { factory, planted, descriptor, rules, client, seed, ticks, cast, records })
    }

    /// The round trip of one seat, in milliseconds: evenly spread from the fastest to the slowest.
    fn round_trip_millis(&self, seat: u8) -> u32 {
        let others = self.descriptor.seats().seats().skip(1).map(|_| 1).sum::<u32>();
        let (least, most) = ROUND_TRIP_MILLIS;
        least + (most - least) * u32::from(seat) / others.max(1)
    }

    /// A room that lets a bot play from tick 0 on, and latecomers in.
    fn room_config(&self) -> RoomConfig {
        let bots = [self.cast.bot].into_iter().collect();
        RoomConfig {
            rules: self.rules,
            // The latecomer's seat is free at tick 0.
            start: StartPolicy::Manual,
            seats: SeatPolicy { initial_bots: bots, ..SeatPolicy::default() },
            // However short the match: newcomers get a snapshot, and no history to play through.
            donation: DonationConfig { replay_millis: 0, ..DonationConfig::default() },
            ..RoomConfig::new(self.descriptor.clone())
        }
    }

    /// The game, as this part's machine has it.
    fn factory(&self, part: Part) -> Arc<dyn RuntimeFactory> {
        let planted = self.planted.as_ref().filter(|planted| planted.seat == part.seat);
        planted.map_or(&self.factory, |planted| &planted.twin).clone()
    }

    /// Who plays a part, and what is seen of it. The first seat's player records the match.
    fn player(&self, part: Part) -> (Arc<Mutex<Observer>>, ScriptedPlayer) {
        let manifest = self.factory.manifest();
        let records = if part.seat.number() == 0 { self.records.clone() } else { Records::Nothing };
        let observer = Arc::new(Mutex::new(Observer::new(manifest, self.ticks, records)));
        let player = ScriptedPlayer::new(observer.clone(), manifest.input_schema().clone(), self.seed);
        (observer, player)
    }
}

/// Runs `retick demo`.
pub fn run(arguments: &DemoArguments) -> Result<(), Failure> {
    let seed = games::seed_or_drawn(arguments.seed)?;
    let plan = Plan::new(arguments, seed)?;
    if let Some(path) = &arguments.record {
        files::reserve(path)?;
    }
    println!("{}", games::describe(plan.factory.as_ref()));
    println!(
        "{} seats, {} s at {}, seed {seed}, round trips {} to {} ms, stalls of {STALL_MILLIS} ms, one player cut off for {} ms",
        arguments.seats,
        arguments.seconds,
        plan.descriptor.tick_rate(),
        ROUND_TRIP_MILLIS.0,
        ROUND_TRIP_MILLIS.1,
        plan.cut_millis(),
    );
    let results: Results = if arguments.fast { fast::play(&plan)? } else { live::play(&plan)? };
    match &plan.planted {
        Some(planted) => planted.conclude(&results, plan.descriptor.tick_rate()),
        None => report::conclude(&plan, &results),
    }
}
