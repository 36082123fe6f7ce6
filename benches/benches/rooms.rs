//! Load: what a tick of a room costs one core, how many rooms that carries, what a seat's frames take on the wire, and what a
//! room keeps in memory. The room machine alone: no sockets and no tasks.
//!
//! `cargo bench -p retick-benches --bench rooms`, or with `-- --quick` to see that everything runs.

use std::env;
use std::error::Error;
use std::io::{self, Write};

use allocation_counter::measure;
use retick_authority::room::{DEFAULT_CHECKSUM_CADENCE_TICKS, MAX_REPORT_TICKS};
use retick_benches::machine;
use retick_benches::report::{Table, results_file, rewrite_section, time};
use retick_benches::rounds::{Contender, Plan, Timing, take_turns};
use retick_core::seat::SeatCount;
use retick_testing::load::{InputChange, LOAD_TICK_RATE, LoadSetup, Persistence, RoomLoad, Volume};

/// Rooms that one core is to carry in real time.
const ROOMS_TARGET: f64 = 4_000.0;
/// Most payload bytes that a seat is to get in a second while inputs change rarely.
const BYTES_TARGET: f64 = 1_000.0;
/// Seats of every room.
const SEATS: u8 = 4;
/// Rooms of the comparisons: enough that they take the caches from each other.
const ROOMS: usize = 256;
/// Ticks before anything is timed or counted.
const WARM_TICKS: u32 = 300;
/// Ticks before bytes are counted: from then on a tick's number takes three bytes on the wire, for almost ten hours.
const WIRE_WARM_TICKS: u32 = 1 << 14;
/// Ticks whose bytes are counted: two cadences of reports.
const COUNTED_TICKS: u32 = 240;
/// Ticks after which every buffer of a room has its size, those for the reports of as many states as are kept too. As many
/// again are counted: the history, which is all that grows, doubles each of its two buffers at most once in them.
const SETTLED_TICKS: u32 = 8_000;
const HISTORY_BUFFERS: u64 = 2;
/// Ticks of a minute.
const MINUTE_TICKS: u32 = 3_600;
/// Inputs that change rarely: twice a second.
const HELD: InputChange = InputChange::Every { ticks: 30 };
/// Ticks until records that are kept late are kept: as long as a write to a disk may take.
const LATE_TICKS: u16 = 3;

const _: () = assert!(SETTLED_TICKS as usize > MAX_REPORT_TICKS * DEFAULT_CHECKSUM_CADENCE_TICKS as usize);

/// What is timed: a name, how many rooms, and what they are given.
const CASES: [(&str, usize, InputChange, Persistence); 5] = [
    ("4,000 rooms, inputs change in every tick", 4_000, InputChange::EveryTick, Persistence::NotAwaited),
    ("256 rooms, inputs change in every tick", ROOMS, InputChange::EveryTick, Persistence::NotAwaited),
    ("256 rooms, the same, records kept at once", ROOMS, InputChange::EveryTick, Persistence::AtOnce),
    (
        "256 rooms, the same, records kept 3 ticks later",
        ROOMS,
        InputChange::EveryTick,
        Persistence::AfterTicks(LATE_TICKS),
    ),
    ("256 rooms, inputs change twice a second", ROOMS, HELD, Persistence::NotAwaited),
];

fn main() -> Result<(), Box<dyn Error>> {
    let quick = env::args().any(|argument| argument == "--quick" || argument == "--test");
    let plan = if quick { Plan::QUICK } else { Plan::FULL };
    let most_rooms = if quick { 2 } else { usize::MAX };
    let mut targets = Table::new(&["", "measured", "target", ""]);
    let (ticks, carried) = ticks(plan, most_rooms)?;
    let met = |is_met| if is_met { "met" } else { "missed" }.to_owned();
    targets.push([
        format!("rooms of {SEATS} seats in real time on one core"),
        format!("{carried:.0}"),
        format!("{ROOMS_TARGET:.0}"),
        met(carried >= ROOMS_TARGET),
    ]);
    let (wire, held) = wire()?;
    targets.push([
        "payload down to a seat, inputs change twice a second".to_owned(),
        format!("{held:.0} B/s"),
        format!("{BYTES_TARGET:.0} B/s"),
        met(held <= BYTES_TARGET),
    ]);
    let memory = memory(ROOMS.min(most_rooms))?;
    let text = format!(
        "{}. Medians of {} blocks in turns, with their quartiles; within a block \
         all rooms play a tick before any plays the next.\n\n{targets}\n{ticks}\n{wire}\n{memory}",
        machine::describe(),
        plan.rounds,
    );
    writeln!(io::stdout().lock(), "{text}")?;
    if quick { Ok(()) } else { rewrite_section(&results_file(), "rooms", &text) }
}

fn load(rooms: usize, inputs: InputChange, persistence: Persistence) -> Result<RoomLoad, Box<dyn Error>> {
    let mut load = RoomLoad::new(LoadSetup { rooms, seats: seats(), inputs, persistence })?;
    (0..WARM_TICKS).for_each(|_| load.turn());
    Ok(load)
}

fn seats() -> SeatCount {
    SeatCount::new(SEATS).expect("a seat count")
}

/// What a tick of one room takes, and how many rooms a core carries by the first case.
fn ticks(plan: Plan, most_rooms: usize) -> Result<(Table, f64), Box<dyn Error>> {
    let mut loads = Vec::new();
    for (_, rooms, inputs, persistence) in CASES {
        loads.push(load(rooms.min(most_rooms), inputs, persistence)?);
    }
    let mut blocks: Vec<_> =
        loads.iter_mut().map(|load| move |ticks: u32| (0..ticks).for_each(|_| load.turn())).collect();
    let mut contenders: Vec<_> = blocks.iter_mut().map(|block| block as Contender<'_>).collect();
    let timings = take_turns(plan, &mut contenders);
    let mut table = Table::new(&["one tick of one room", "takes", "ticks a second", "rooms a core"]);
    let a_second = |nanos: f64| (1e9 / nanos, 1e9 / nanos / f64::from(LOAD_TICK_RATE.hz()));
    let mut carried = Vec::new();
    for ((name, rooms, ..), Timing { median, low, high }) in CASES.iter().zip(timings) {
        let [median, low, high] = [median, low, high].map(|nanos| nanos / (*rooms).min(most_rooms) as f64);
        let (ticks, rooms) = a_second(median);
        let takes = format!("{} ({} to {})", time(median), time(low), time(high));
        table.push([(*name).to_owned(), takes, format!("{ticks:.0}"), format!("{rooms:.0}")]);
        carried.push(rooms);
    }
    for load in &loads {
        load.check()?;
    }
    Ok((table, carried[0]))
}

/// What travels for a seat, and the bytes a second down to one whose inputs change rarely.
fn wire() -> Result<(Table, f64), Box<dyn Error>> {
    let mut table = Table::new(&[
        "payload of a seat",
        "up, a tick",
        "up, a second",
        "down, a tick",
        "down, a second",
        "log, a tick",
    ]);
    let mut held = 0.0;
    for (name, inputs) in
        [("inputs change in every tick", InputChange::EveryTick), ("inputs change twice a second", HELD)]
    {
        let mut load = load(1, inputs, Persistence::NotAwaited)?;
        (0..WIRE_WARM_TICKS).for_each(|_| load.turn());
        let before = load.traffic();
        (0..COUNTED_TICKS).for_each(|_| load.turn());
        load.check()?;
        let now = load.traffic();
        let ticks = f64::from(COUNTED_TICKS);
        let bytes = |now: Volume, before: Volume| (now.bytes - before.bytes) as f64 / ticks;
        let a_seat = |now, before| bytes(now, before) / f64::from(SEATS);
        let (up, down) = (a_seat(now.up, before.up), a_seat(now.down, before.down));
        let second = |bytes: f64| bytes * f64::from(LOAD_TICK_RATE.hz());
        held = second(down);
        let cells = [up, second(up), down, second(down), bytes(now.records, before.records)];
        table.push([name.to_owned()].into_iter().chain(cells.map(|bytes| format!("{bytes:.1} B"))));
    }
    Ok((table, held))
}

/// What a running room allocates, and what it keeps.
fn memory(rooms: usize) -> Result<Table, Box<dyn Error>> {
    let mut table = Table::new(&["memory of a room", ""]);
    let allocations = allocations()?;
    table.push([format!("allocations in {SETTLED_TICKS} ticks, none but the history's"), allocations.to_string()]);
    let mut load = None;
    let setup = LoadSetup { rooms, seats: seats(), ..LoadSetup::default() };
    let made = measure(|| load = Some(RoomLoad::new(setup)));
    let mut load = load.ok_or("the rooms were made")??;
    let played = measure(|| (0..MINUTE_TICKS).for_each(|_| load.turn()));
    load.check()?;
    let each = |bytes: i64| format!("{:.1} KiB", bytes as f64 / rooms as f64 / 1024.0);
    table.push(["before tick 0".to_owned(), each(made.bytes_current)]);
    table.push(["after a minute".to_owned(), each(made.bytes_current + played.bytes_current)]);
    Ok(table)
}

/// Allocations of a room whose buffers all have their size.
fn allocations() -> Result<u64, Box<dyn Error>> {
    let mut load = RoomLoad::new(LoadSetup { seats: seats(), ..LoadSetup::default() })?;
    (0..SETTLED_TICKS).for_each(|_| load.turn());
    let counted = measure(|| (0..SETTLED_TICKS).for_each(|_| load.turn()));
    load.check()?;
    assert!(counted.count_total <= HISTORY_BUFFERS, "only the history grows: {} allocations", counted.count_total);
    Ok(counted.count_total)
}
