//! Naming a desync (A8): the first state that differs, where in it, what stands on both sides, and which field that is.

use std::sync::Arc;

use retick_authority::room::RoomEvent;
use retick_core::client::{ClientEvent, DesyncFinding, DesyncPlace};
use retick_core::fields::{FieldNames, SerdeFields, Symbols};
use retick_core::identity::MatchDescriptor;
use retick_core::runtime::RuntimeFactory;
use retick_core::tick::Tick;
use retick_core::wire::{PlaceTick, Witness};
use retick_testing::fixtures::{Tally, bulky_factory, tally_factory, zig, zig_packed};
use retick_testing::sim::{ClientRecord, ClientSetup, MatchSetup, RawSeat, RawSend, Reporting, SimulatedMatch};
use retick_testing::twins::{Plant, PlantedFactory, Reach};
use retick_wasm::{Limits, WasmFactory};

use crate::support::{RATE, client, seat, tally_match};

/// The bit flips in this state of seat 2's machine.
const FLIPPED: u64 = 130;
/// The first report behind it.
const REPORT: u64 = 181;
/// Long enough for the room to ask all that it asks: a second and a half behind the report.
const TICKS: u64 = REPORT + 90;

fn honest() -> ClientSetup {
    client(zig).latency_ticks(RATE, 3)
}

fn setup() -> MatchSetup {
    tally_match().hard_tolerance_ticks(20).checksum_cadence_ticks(60).last_tick(TICKS + 60)
}

fn play(setup: MatchSetup) -> SimulatedMatch {
    let mut sim = setup.build();
    sim.run_until_confirmed(TICKS);
    sim.run_ticks(10);
    sim
}

/// TALLY with the lowest bit of this field flipped.
fn planted(field: &'static str, reach: Reach) -> Arc<PlantedFactory> {
    let place = move |state: &[u8]| {
        let names = SerdeFields::<Tally>::new();
        (0..state.len() as u64).find(|at| names.name(state, *at).as_deref() == Some(field))
    };
    let plant = Plant { tick: Tick::new(FLIPPED), place: Arc::new(place), mask: 1, reach };
    Arc::new(PlantedFactory::new(Arc::new(tally_factory()), plant))
}

fn findings(client: &ClientRecord) -> Vec<DesyncFinding> {
    let finding = |(_, event): &(Tick, ClientEvent)| match event {
        ClientEvent::Found(finding) => Some(finding.clone()),
        _ => None,
    };
    client.events.iter().filter_map(finding).collect()
}

/// The one finding, which everyone was told and the room keeps.
fn the_finding(sim: &mut SimulatedMatch) -> DesyncFinding {
    let report = sim.report();
    let found = sim.room().desync_finding().expect("it was looked into").clone();
    for client in &report.clients {
        assert_eq!(findings(client), std::slice::from_ref(&found), "seat {}", client.seat);
        assert_eq!(client.end, None, "nobody is closed for it");
    }
    assert_eq!((report.room.searched_desyncs, report.room.stray_answers), (1, 0));
    let searched = |(_, event): &&(Tick, RoomEvent)| matches!(event, RoomEvent::DesyncSearched { .. });
    assert_eq!(report.room_events.iter().filter(searched).count(), 1);
    found
}

fn sides(found: &DesyncFinding) -> (Tick, (Witness, Witness)) {
    (found.report, found.witnesses)
}

const ZERO_AND_TWO: fn() -> (Tick, (Witness, Witness)) =
    || (Tick::new(REPORT), (Witness::Seat(seat(0)), Witness::Seat(seat(2))));

#[test]
fn a8_a_flipped_bit_is_named_by_tick_address_values_and_field() {
    for field in ["sum[2]", "sub[0]", "mix", "frame"] {
        let mut sim =
            play(setup().client(honest()).client(honest()).client(honest().factory(planted(field, Reach::Every))));
        let found = the_finding(&mut sim);
        assert_eq!(sides(&found), ZERO_AND_TWO());
        let DesyncPlace { tick, address, ours, theirs } = found.place.clone().expect("a place");
        assert_eq!(tick, PlaceTick::First(Tick::new(FLIPPED)), "{field}");
        assert_eq!((ours.len(), theirs.len(), ours[0] ^ theirs[0]), (1, 1, 1), "{field}: {found}");
        assert!(found.contradicted.is_empty() && found.silent.is_empty(), "{found}");
        let (examined, state) = sim.client(0).expect("a client").examined_state().expect("it was asked");
        assert_eq!(examined, Tick::new(FLIPPED));
        assert_eq!(SerdeFields::<Tally>::new().name(state, address).as_deref(), Some(field));
    }
}

#[test]
fn a8_a_fault_that_happened_once_is_named_at_the_report_with_whose_it_was() {
    let twin = planted("sum[2]", Reach::First);
    let mut sim = play(setup().client(honest()).client(honest()).client(honest().factory(twin)));
    let found = the_finding(&mut sim);
    assert_eq!(sides(&found), ZERO_AND_TWO());
    let place = found.place.expect("a place");
    // The sum has gone on from there.
    let apart = place.ours[0].abs_diff(place.theirs[0]);
    assert_eq!((place.tick, apart), (PlaceTick::Reported(Tick::new(REPORT)), 1));
    assert_eq!((found.contradicted, found.silent), (vec![seat(2)], vec![]));
}

#[test]
fn a8_a_forged_report_shows_no_difference_and_whose_it_is() {
    let mut forger = honest();
    forger.reporting = Reporting::Forged(Tick::new(REPORT));
    let mut sim = play(setup().client(honest()).client(honest()).client(forger));
    let found = the_finding(&mut sim);
    assert_eq!(sides(&found), ZERO_AND_TWO());
    assert_eq!((found.place, found.contradicted, found.silent), (None, vec![seat(2)], vec![]));
    assert_eq!(sim.report().desyncs(), 1, "and only that report was wrong");
}

#[test]
fn a8_whoever_does_not_answer_is_named_as_silent_and_left_in_peace() {
    let last = TICKS + 250;
    let inputs = |at: u64| zig_packed(seat(2), Tick::new(at));
    let raw = (0..last).fold(RawSeat::silent(), |raw, at| raw.input(at, at, inputs(at)));
    let lie = RawSend::Report { tick: Tick::new(REPORT), checksum: retick_core::digest::Checksum::of(b"a lie") };
    let mut sim = setup().last_tick(last).client(honest()).client(honest()).raw(raw.send(REPORT + 10, lie)).build();
    sim.run_until_confirmed(last - 40);
    let found = the_finding(&mut sim);
    assert_eq!(sides(&found), ZERO_AND_TWO());
    assert_eq!((found.place, found.contradicted, found.silent), (None, vec![], vec![Witness::Seat(seat(2))]));
}

#[test]
fn a8_in_a_large_state_the_page_is_found_by_the_tree() {
    const LOAD: usize = 300_000;
    const ADDRESS: u64 = 200_001;
    let factory = || Arc::new(bulky_factory::<LOAD>());
    let plant = Plant { tick: Tick::new(FLIPPED), place: Arc::new(|_| Some(ADDRESS)), mask: 0x80, reach: Reach::Every };
    let twin = Arc::new(PlantedFactory::new(factory(), plant));
    let setup = MatchSetup::new(factory()).hard_tolerance_ticks(20).checksum_cadence_ticks(60).last_tick(TICKS + 60);
    let mut sim = play(setup.client(honest()).client(honest().factory(twin)));
    let found = the_finding(&mut sim);
    let place = found.place.expect("a place");
    assert_eq!((place.tick, place.address), (PlaceTick::First(Tick::new(FLIPPED)), ADDRESS));
    assert_eq!((place.ours.len(), place.theirs.len(), place.ours[0] ^ place.theirs[0]), (1, 1, 0x80));
}

#[test]
fn a8_in_a_module_the_address_is_that_of_its_memory_and_symbols_name_it() {
    const ADDRESS: u64 = 0x9_0123;
    let factory: Arc<dyn RuntimeFactory> =
        Arc::new(WasmFactory::load(skirmish::MODULE, Limits::default()).expect("the committed module"));
    let plant = Plant { tick: Tick::new(FLIPPED), place: Arc::new(|_| Some(ADDRESS)), mask: 4, reach: Reach::Every };
    let twin = Arc::new(PlantedFactory::new(factory.clone(), plant));
    let config = skirmish::Rules::default().to_config().expect("valid");
    let schema = factory.manifest().input_schema().clone();
    let script = move |seat, tick| schema.pack(&skirmish::scripted_input(seat, tick, 1)).expect("in range");
    let player = ClientSetup::new(script).latency_ticks(RATE, 2);
    let seed = retick_core::rng::SessionSeed::from_u64(1);
    let setup = MatchSetup::new(factory.clone()).game(config.clone(), seed).checksum_cadence_ticks(60);
    let setup = setup.hard_tolerance_ticks(20).last_tick(TICKS + 60);
    let mut sim = play(setup.client(player.clone()).client(player.factory(twin)));
    let found = the_finding(&mut sim);
    let place = found.place.expect("a place");
    assert_eq!((place.tick, place.address), (PlaceTick::First(Tick::new(FLIPPED)), ADDRESS));
    let symbols: Symbols = "0x90100 16*8 heap.pool".parse().expect("a list");
    assert_eq!(symbols.name(&[], place.address).as_deref(), Some("heap.pool[2]+3"));
    let seats = sim.room().descriptor().seats();
    let descriptor = MatchDescriptor::new(factory.manifest(), config, seed, seats);
    let whole = factory.create(&descriptor).expect("a runtime");
    assert_eq!(whole.tick(), Tick::ZERO, "guard: the module is the one that was played");
}

#[test]
fn a8_a_pair_that_stays_apart_is_asked_once_and_again_after_it_has_agreed() {
    let mut forger = honest();
    forger.reporting = Reporting::ForgedFrom(Tick::new(61));
    let mut sim = setup().last_tick(1_500).client(honest()).client(forger).build();
    sim.run_until_confirmed(1_400);
    let report = sim.report();
    assert!(report.desyncs() > 20, "guard: every report from then on differs: {}", report.desyncs());
    assert_eq!(report.room.searched_desyncs, 1);
    assert!(report.clients.iter().all(|client| client.end.is_none()));
}
