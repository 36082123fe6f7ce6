//! Games as modules: what the rewrite costs a step, what saving, restoring and hashing cost, and a whole rollback beside GGRS.
//!
//! `cargo bench -p retick-benches --bench wasm`, or with `-- --quick` to see that everything runs and agrees.

use std::env;
use std::error::Error;
use std::io::{self, Write};

use retick_benches::game::Inputs;
use retick_benches::machine;
use retick_benches::peer::{GGRS_VERSION, Ggrs};
use retick_benches::report::{Table, ratio, results_file, rewrite_section, size, time};
use retick_benches::rollback::{Checksums, Rollback, Setup};
use retick_benches::rounds::{Contender, Plan, take_turns};
use retick_benches::saves::{CADENCE_TICKS, Costs, Played, TOUCHING, measure, straight};
use retick_benches::steps::{Player, Script};
use retick_benches::touch::{Extent, SMALL_PAGE_BYTES, Touch, touch_match};
use retick_core::config::SessionConfig;
use retick_core::identity::MatchDescriptor;
use retick_core::input::GameInput;
use retick_core::rng::SessionSeed;
use retick_core::runtime::RuntimeFactory;
use retick_core::seat::SeatCount;
use retick_kernels::{FLOATS, STORES, native_floats, native_stores};
use retick_wasm::{Limits, Tracking, WasmFactory, normalise, normalise_for};
use skirmish::{Rules, SkirmishInput};

/// Most of a plain module's step that the rewritten one of a game may take.
const STEP_TARGET: f64 = 1.3;
/// Sizes of memory.
const MEMORIES: [u32; 4] = [64 << 10, 1 << 20, 16 << 20, 64 << 20];
/// Pages that a tick touches.
const TOUCHED: [u32; 3] = [1, 16, 256];
/// The extent that the targets are about.
const TARGETED: Extent = Extent { bytes: 16 << 20, touched: 16 };
/// Most nanoseconds of saving it.
const SAVE_TARGET: f64 = 15e3;
/// Most of a tick that its checksums may take, at one every [`CADENCE_TICKS`] ticks.
const CHECKSUM_TARGET: f64 = 0.02;
/// Nanoseconds of a tick at 60 Hz.
const TICK: f64 = 1e9 / 60.0;
/// Ticks of a whole rollback, and most of GGRS's time that it may take.
const DEPTH: u16 = 8;
const ROLLBACK_TARGET: f64 = 1.0 / 500.0;
/// Ticks that both play before anything is timed, so that every timed one rolls back.
const WARM_TICKS: u32 = 32;

/// Ways of tracking, with their names.
const TRACKINGS: [(Tracking, &str); 4] = [
    (Tracking::DirtyMap, "dirty map"),
    (Tracking::ProtectPages, "protected pages"),
    (Tracking::ComparePages, "compared pages"),
    (Tracking::CopyAll, "copied whole"),
];

fn main() -> Result<(), Box<dyn Error>> {
    let quick = env::args().any(|argument| argument == "--quick" || argument == "--test");
    let plan = if quick { Plan::QUICK } else { Plan::FULL };
    let mut targets = Table::new(&["", "measured", "target", ""]);
    let steps = steps(plan, &mut targets)?;
    let rollbacks = rollbacks(plan, &mut targets);
    let saves = saves(plan, if quick { &MEMORIES[..2] } else { &MEMORIES }, &mut targets);
    let text = format!(
        "{}, GGRS {GGRS_VERSION}. Medians of {} blocks or calls in turns, with \
         quartiles where they are given.\n\n{targets}\n{steps}\n{rollbacks}\n{saves}",
        machine::describe(),
        plan.rounds,
    );
    writeln!(io::stdout().lock(), "{text}")?;
    if quick { Ok(()) } else { rewrite_section(&results_file(), "wasm", &text) }
}

fn verdict(measured: f64, target: f64) -> String {
    if measured <= target { "met" } else { "missed" }.to_owned()
}

/// Steps of three games, natively and as modules.
fn steps(plan: Plan, targets: &mut Table) -> Result<Table, Box<dyn Error>> {
    let mut table = Table::new(&[
        "one step",
        "rewritten ÷ plain",
        "without marks ÷ plain",
        "plain ÷ native",
        "native",
        "plain module",
        "rewritten, without marks",
        "rewritten",
    ]);
    let rules = Rules { score_limit: 50, rounds: 9, ..Rules::default() }.to_config()?;
    let (arena, floats, stores) = (skirmish::native_factory()?, native_floats()?, native_stores()?);
    for seats in [2, 8] {
        let script = Script::new(seats, rules.clone(), |seat, tick| skirmish::scripted_input(seat, tick, 3));
        let name = format!("skirmish, {seats} seats");
        let rewritten = step(plan, &name, &script, &arena, skirmish::MODULE, &mut table)?;
        let what = format!("{name}: rewritten step ÷ plain one");
        targets.push([what, format!("{rewritten:.2}"), format!("{STEP_TARGET:.2}"), verdict(rewritten, STEP_TARGET)]);
    }
    let script = Script::new(3, SessionConfig::empty(), |seat, tick| retick_kernels::scripted_input(seat, tick, 3));
    step(plan, "floats", &script, &floats, FLOATS, &mut table)?;
    step(plan, "stores", &script, &stores, STORES, &mut table)?;
    Ok(table)
}

/// One game's row, and the time of the rewritten module over that of the plain one.
fn step(
    plan: Plan,
    name: &str,
    script: &Script,
    factory: &dyn RuntimeFactory,
    module: &[u8],
    table: &mut Table,
) -> Result<f64, Box<dyn Error>> {
    let limits = Limits::default();
    let (marked, unmarked) = (normalise(module, &limits)?, normalise_for(module, &limits, Tracking::CopyAll)?);
    let modules = [module, unmarked.bytes(), marked.bytes()].map(|module| Player::module(script, module));
    let [mut plain, mut unmarked, mut marked] = modules;
    let mut players = [&mut Player::native(script, factory), &mut plain, &mut unmarked, &mut marked];
    let mut blocks = players.each_mut().map(|player| move |ticks: u32| (0..ticks).for_each(|_| player.turn()));
    let timings = take_turns(plan, &mut blocks.each_mut().map(|block| block as Contender<'_>));
    let shown = players.map(Player::shown);
    assert!(shown.iter().all(|other| *other == shown[0] && !other.1.is_empty()), "{name}: all played the same match");
    let [native, plain, unmarked, marked] = [0, 1, 2, 3].map(|index: usize| timings[index].median);
    let ratios = [marked / plain, unmarked / plain, plain / native].map(|ratio| format!("{ratio:.2}"));
    let row = [name.to_owned()].into_iter().chain(ratios);
    table.push(row.chain([native, plain, unmarked, marked].map(time)));
    Ok(marked / plain)
}

/// A tick with a whole rollback, beside GGRS with a cloned state.
fn rollbacks(plan: Plan, targets: &mut Table) -> Table {
    let title = "a tick with a rollback of 8, 16 MiB, 16 pages touched in a tick";
    let mut table = Table::new(&[title, "÷ GGRS", "GGRS", "Retick, module"]);
    let mut ggrs = Ggrs::new(2, DEPTH, Touch::new(TARGETED));
    let mut factories = factories(|tracking| TARGETED.factory(tracking));
    factories.insert(0, (TARGETED.factory(Tracking::Automatic), "by itself"));
    let setup = Setup { depth: DEPTH, inputs: Inputs::Moving, checksums: Checksums::Never };
    let session = |factory: &WasmFactory| {
        let descriptor = touch_match(factory);
        Rollback::new(factory.create(&descriptor).expect("the factory's own match"), &descriptor, setup)
    };
    let mut sessions: Vec<Rollback> = factories.iter().map(|(factory, _)| session(factory)).collect();
    let timings = {
        let mut peer = |ticks: u32| (0..ticks).for_each(|_| ggrs.turn());
        let blocks = sessions.iter_mut().map(|retick| move |ticks: u32| (0..ticks).for_each(|_| retick.turn()));
        let mut blocks: Vec<_> = blocks.collect();
        let mut contenders: Vec<Contender<'_>> = vec![&mut peer];
        contenders.extend(blocks.iter_mut().map(|block| block as Contender<'_>));
        contenders.iter_mut().for_each(|contender| contender(WARM_TICKS));
        take_turns(plan, &mut contenders)
    };
    let (runtime, checksum) = straight(&factories[0].0, ggrs.played());
    assert!(runtime.memory()[SMALL_PAGE_BYTES as usize..] == *ggrs.state().shared(), "GGRS came to the same state");
    for (session, (_, name)) in sessions.iter_mut().zip(&factories) {
        assert_eq!((session.played(), session.settle()), (ggrs.played(), checksum), "{name}: the same state");
    }
    let peer = timings[0].median;
    for ((_, name), timing) in factories.iter().zip(&timings[1..]) {
        table.push([(*name).to_owned(), ratio(timing.median, peer), time(peer), time(timing.median)]);
    }
    let ours = timings[1].median;
    let what = "a whole rollback of 8 ticks, 16 MiB, 16 pages a tick ÷ GGRS".to_owned();
    targets.push([what, ratio(ours, peer), ratio(ROLLBACK_TARGET, 1.0), verdict(ours / peer, ROLLBACK_TARGET)]);
    table
}

/// What every part costs, by size and touched pages, with each way of tracking.
fn saves(plan: Plan, memories: &[u32], targets: &mut Table) -> Table {
    let mut table = Table::new(&[
        "memory, pages touched, tracking",
        "save ÷ copying",
        "checksum ÷ copying",
        "step",
        "save",
        "restore",
        "checksum",
        "one every 60 ticks, a tick",
    ]);
    let extents = memories.iter().flat_map(|bytes| TOUCHED.map(|touched| Extent { bytes: *bytes, touched }));
    let mut extents: Vec<Extent> = extents.filter(|extent| extent.touched <= extent.pages()).collect();
    if !extents.contains(&TARGETED) {
        extents.push(TARGETED);
    }
    for extent in extents {
        let factories = factories(|tracking| extent.factory(tracking));
        let name = format!("{}, {}", size(extent.bytes), extent.touched);
        if let Some(costs) = rows(plan, &name, TOUCHING, factories, &mut table)
            && extent == TARGETED
        {
            let save = costs.save;
            let found = format!("{} ({} to {})", time(save.median), time(save.low), time(save.high));
            targets.push([format!("{name}: save"), found, time(SAVE_TARGET), verdict(save.median, SAVE_TARGET)]);
            judge_checksums(&name, &costs, targets);
        }
    }
    let load = |tracking| WasmFactory::load_tracking(skirmish::MODULE, Limits::default(), tracking);
    let factories = factories(|tracking| load(tracking).expect("an admissible module"));
    let name = "skirmish, 16 MiB, 8 seats";
    if let Some(costs) = rows(plan, name, ARENA, factories, &mut table) {
        judge_checksums(name, &costs, targets);
    }
    table
}

/// A factory for each way of tracking that this machine has, with the way's name.
fn factories(load: impl Fn(Tracking) -> WasmFactory) -> Vec<(WasmFactory, &'static str)> {
    let loaded = TRACKINGS.map(|(tracking, name)| (load(tracking), name, tracking));
    let is_there = |(factory, _, tracking): &(WasmFactory, &str, Tracking)| factory.tracking() == *tracking;
    loaded.into_iter().filter(is_there).map(|(factory, name, _)| (factory, name)).collect()
}

/// A match of skirmish with eight seats.
const ARENA: Played<'static> = Played {
    descriptor: &|factory| {
        let rules = Rules { score_limit: 50, rounds: 9, ..Rules::default() }.to_config().expect("rules in range");
        let (seed, seats) = (SessionSeed::from_u64(3), SeatCount::new(8).expect("eight seats"));
        MatchDescriptor::new(factory.manifest(), rules, seed, seats)
    },
    input: &|seat, tick| {
        let input = skirmish::scripted_input(seat, tick, 3);
        SkirmishInput::schema().pack(&input).expect("in range")
    },
};

/// The rows of one game, and what the dirty map costs there.
fn rows(
    plan: Plan,
    name: &str,
    played: Played<'_>,
    factories: Vec<(WasmFactory, &str)>,
    table: &mut Table,
) -> Option<Costs> {
    let (factories, trackings): (Vec<_>, Vec<_>) = factories.into_iter().unzip();
    let costs = measure(plan, played, &factories);
    let copied = costs.last()?.save.median;
    let named = trackings.iter().zip(&costs);
    named.for_each(|(tracking, costs)| table.push(cells(format!("{name}, {tracking}"), costs, copied)));
    factories.iter().zip(costs).find(|(factory, _)| factory.tracking() == Tracking::DirtyMap).map(|(_, costs)| costs)
}

fn cells(name: String, costs: &Costs, copied: f64) -> [String; 8] {
    let Costs { step, save, restore, checksum, rare_checksum, .. } = costs;
    [
        name,
        ratio(save.median, copied),
        ratio(checksum.median, copied),
        time(step.median),
        time(save.median),
        time(restore.median),
        time(checksum.median),
        rare_checksum.map_or_else(|| "-".to_owned(), |rare| time(rare.median)),
    ]
}

fn judge_checksums(name: &str, costs: &Costs, targets: &mut Table) {
    let rare = costs.rare_checksum.expect("the dirty map costs what was written").median;
    for (part, share) in [("a tick's 16.7 ms", rare / TICK), ("a tick's step and save", rare / costs.tick.median)] {
        let what = format!("{name}: a checksum every {CADENCE_TICKS} ticks ÷ {part}");
        let percent = |share: f64| format!("{:.2} %", share * 100.0);
        targets.push([what, percent(share), percent(CHECKSUM_TARGET), verdict(share, CHECKSUM_TARGET)]);
    }
}
