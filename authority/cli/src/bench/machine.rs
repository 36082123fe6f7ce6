//! The room machine alone: rooms with a client in every seat, without a network, on one core.

use std::time::{Duration, Instant};

use clap::Args;
use retick_core::seat::SeatCount;
use retick_testing::load::{InputChange, LOAD_INPUT_BYTES, LOAD_TICK_RATE, LoadSetup, Persistence, RoomLoad, Volume};

use crate::failure::Failure;

/// Most ticks that are played before any is timed: a room has its buffers by then, and the processor its speed.
const WARM_TICKS: u64 = 120;
/// Most rooms, and ticks of them, where it need only be seen that they run.
const QUICK: (u32, u64) = (16, 120);

/// What the machine part of `retick bench rooms` takes.
#[derive(Args)]
pub(super) struct MachineArguments {
    /// How many rooms
    #[arg(long, default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    rooms: u32,
    /// How many seats each has, all taken
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u8).range(1..=128))]
    seats: u8,
    /// How many ticks to time
    #[arg(long, default_value_t = 600, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    ticks: u64,
    /// Inputs change once in so many ticks
    #[arg(long, value_name = "TICKS", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    change_every: u64,
    /// Rooms wait for their records, which are kept so many ticks after they were made; 0 keeps them at once
    #[arg(long, value_name = "TICKS")]
    persist_after: Option<u16>,
}

/// Times the rooms; a few of them where it need only be seen that they run.
pub(super) fn run(arguments: &MachineArguments, quick: bool) -> Result<(), Failure> {
    let most = if quick { QUICK } else { (u32::MAX, u64::MAX) };
    let (rooms, ticks) = (arguments.rooms.min(most.0), arguments.ticks.min(most.1));
    let seats = SeatCount::new(arguments.seats)
        .ok_or_else(|| Failure::Run(format!("a match can't have {} seats", arguments.seats)))?;
    let setup = LoadSetup {
        rooms: usize::try_from(rooms).unwrap_or(usize::MAX),
        seats,
        inputs: match arguments.change_every {
            1 => InputChange::EveryTick,
            ticks => InputChange::Every { ticks },
        },
        persistence: match arguments.persist_after {
            None => Persistence::NotAwaited,
            Some(0) => Persistence::AtOnce,
            Some(ticks) => Persistence::AfterTicks(ticks),
        },
    };
    let hz = LOAD_TICK_RATE.hz();
    println!("{} rooms × {seats} seats, {hz} Hz, inputs of {LOAD_INPUT_BYTES} bytes, one core", rooms);
    let mut load = RoomLoad::new(setup).map_err(|error| Failure::Run(error.to_string()))?;
    (0..WARM_TICKS.min(ticks)).for_each(|_| load.turn());
    let before = load.traffic();
    let started = Instant::now();
    (0..ticks).for_each(|_| load.turn());
    let took = started.elapsed();
    // A room that left its work out would be a fast one.
    load.check().map_err(|fault| Failure::CheckFailed(fault.to_string()))?;
    let now = load.traffic();

    report_time(took, now.room_ticks - before.room_ticks);
    let seat_ticks = now.seat_ticks(seats) - before.seat_ticks(seats);
    report_volume("up", "a seat", [before.up, now.up], seat_ticks);
    report_volume("down", "a seat", [before.down, now.down], seat_ticks);
    report_volume("log", "a room", [before.records, now.records], now.room_ticks - before.room_ticks);
    Ok(())
}

fn report_time(took: Duration, room_ticks: u64) {
    let nanos = took.as_secs_f64() * 1e9 / room_ticks as f64;
    println!("{room_ticks} ticks confirmed in {took:.2?}: {:.0} a second, {nanos:.0} ns each", 1e9 / nanos);
    println!("rooms in real time on one core: {:.0}", 1e9 / nanos / f64::from(LOAD_TICK_RATE.hz()));
}

/// What went through in `count` ticks of whom it is about.
fn report_volume(name: &str, of: &str, [before, now]: [Volume; 2], count: u64) {
    let a_tick = (now.bytes - before.bytes) as f64 / count as f64;
    println!("{name}: {a_tick:.1} bytes a tick of {of}, {:.0} a second", a_tick * f64::from(LOAD_TICK_RATE.hz()));
}
