//! T5: an honest game passes with its figures, and each code is caused by one planted fault, which causes no other.

mod modules;
mod twins;

use retick_core::input::InputSchema;
use retick_core::runtime::{RuntimeFactory, StepFault};
use retick_core::seat::SeatCount;
use retick_core::tick::Tick;
use retick_wasm::{Limits, LoadError};

use super::*;
use crate::fixtures::tally_factory;
use crate::strict::{FaultPlan, StrictFactory};
use crate::twins::{
    FirstExecution, LogicalForm, Narrow, SharedCell, SkippedField, StaticCounter, noisy_factory, padded_factory,
    twin_factory,
};
use modules::Module;
use twins::{Deaf, Sin, deaf_factory, twin};

/// A step of the tests' clock between two looks at it.
const LOOK_NANOS: u64 = 1_000;

fn options() -> Options {
    Options { ticks: 120, seats: Some(vec![2]), ..Options::default() }
}

fn clock() -> impl FnMut() -> u64 {
    let mut nanos = 0;
    move || {
        nanos += LOOK_NANOS;
        nanos
    }
}

fn of_module(module: &Module, options: &Options) -> Certificate {
    certify(&module.bytes(), options, &mut clock())
}

fn of_game(factory: &dyn RuntimeFactory, options: &Options) -> Certificate {
    certify_game(&Candidate::native(factory, 1..=8), options, &mut clock())
}

/// Checks that this code was found, and no other.
fn check(certificate: &Certificate, code: FindingCode, text: &str) {
    assert_eq!((certificate.codes(), code.as_str()), (vec![text], text), "{:?}", certificate.findings);
    assert!(!certificate.passed());
}

#[test]
fn t5_every_code_has_the_text_that_it_always_had() {
    let texts: Vec<&str> = FindingCode::ALL.iter().map(|code| code.as_str()).collect();
    let of = |hundred: u32, count: u32| (1..=count).map(move |number| format!("RTK-M{}", hundred * 100 + number));
    let leading = (1..=5).map(|number| format!("RTK-M00{number}"));
    let expected: Vec<String> = leading.chain(of(1, 13)).chain(of(2, 8)).chain(of(3, 1)).collect();
    assert_eq!(texts, expected);
    let page = include_str!("../../../docs/module-certification.md");
    let code = include_str!("../certify.rs");
    for text in texts {
        let row = |line: &str| line.trim_start_matches("//! ").starts_with(&format!("| `{text}` | "));
        let rows = |text: &str| text.lines().filter(|line| row(line)).map(str::to_owned).collect::<Vec<_>>();
        let (documented, beside) = (rows(page), rows(code));
        assert_eq!((documented.len(), beside.len()), (1, 1), "{text} has one row in each table");
        assert!(documented[0].starts_with(beside[0].trim_start_matches("//! ").trim_end_matches(" |")), "{text}");
    }
}

#[test]
fn t5_an_honest_module_passes_with_its_figures() {
    let certificate = of_module(&Module::honest(), &Options { seats: None, seeds: vec![1, 2], ..options() });
    assert_eq!(certificate.findings, []);
    assert!(certificate.passed() && certificate.identity.is_some());
    let trials = [(1, 1), (1, 2), (2, 1), (2, 2)].map(|(seats, seed)| Trial { seats, seed });
    assert_eq!(certificate.trials, trials);
    let figures = certificate.figures;
    // Two checks of 121 states, 120 rollbacks for each depth, hydrations at 0, 40, 80 and 120, in four matches.
    assert_eq!((figures.states_compared, figures.rollbacks, figures.hydrations), (4 * 242, 4 * 240, 4 * 4));
    assert!(figures.mispredicted_ticks > 0 && figures.resimulated_ticks > figures.rollbacks);
    assert_eq!(figures.replayed_ticks, 4 * 120);
    let value = |worst: Option<Worst>| worst.expect("measured").value;
    // The step's own page, and that of the host's block.
    assert_eq!((value(figures.written_pages), value(figures.memory_pages)), (2, 1));
    assert_eq!((value(figures.projection_bytes), value(figures.events)), (8, 1));
    assert!(value(figures.gas) > 0 && figures.state_bytes > 1 << 16);
    let (median_nanos, tail_nanos, longest_nanos) = (LOOK_NANOS, LOOK_NANOS, LOOK_NANOS);
    let times = StepTimes { steps: 480, median_nanos, percentile: 99, tail_nanos, longest_nanos };
    assert_eq!(figures.step, Some(times));
}

#[test]
fn t5_a_certificate_repeats_by_its_seed() {
    let module = Module::honest();
    let again = [7, 7].map(|seed| of_module(&module, &Options { seeds: vec![seed], ..options() }));
    assert_eq!(again[0], again[1]);
    assert!(again[0].passed());
}

#[test]
fn t5_made_up_inputs_are_the_schemas_and_follow_from_the_seed() {
    let schema = InputSchema::builder("all/v1").integer("steer", -3..=3).boolean("fire").choice("weapon", 5);
    let schema = schema.flags("buttons", 64).axis("aim", -2..=0, 1).build().expect("valid");
    let drawn = |seed| {
        let (schema, script) = (schema.clone(), made_up_inputs(schema.clone(), seed));
        let seats = SeatCount::new(3).expect("three seats").seats();
        let inputs = seats.flat_map(move |seat| (0..400).map(move |tick| (seat, Tick::new(tick))));
        let inputs: Vec<Vec<u8>> = inputs.map(|(seat, tick)| script(seat, tick)).collect();
        assert!(inputs.iter().all(|input| schema.validate(input) == Ok(())));
        inputs
    };
    let inputs = drawn(7);
    assert!(inputs == drawn(7) && inputs != drawn(8), "the seed decides all");
    // The first byte has all of the steering, the button, and the first bits of the weapon.
    let least_and_greatest = [0, 6].map(|raw| inputs.iter().any(|input| input[0] & 7 == raw));
    assert_eq!(least_and_greatest, [true, true]);
    assert!(inputs[..400] != inputs[400..800], "each seat has its own");
}

#[test]
fn t5_m0_what_can_not_be_played_is_named() {
    let garbage = certify(b"no module", &options(), &mut clock());
    check(&garbage, FindingCode::Refused, "RTK-M001");
    assert!(garbage.identity.is_none() && garbage.trials.is_empty());
    let narrow = Options { limits: Limits { memory_pages: 0, ..Limits::default() }, ..options() };
    let found = of_module(&Module::honest(), &narrow).findings;
    assert_eq!(found, [Finding::Refused(LoadError::BadLimits { name: "memory-pages", value: 0 })]);

    let refusing = Module { init: "(i32.const 5)", ..Module::honest() };
    check(&of_module(&refusing, &options()), FindingCode::MatchRefused, "RTK-M002");
    for seats in [0, 3, 129] {
        let certificate = of_module(&Module::honest(), &Options { seats: Some(vec![seats]), ..options() });
        check(&certificate, FindingCode::MatchRefused, "RTK-M002");
    }

    let mute = Module { fields: 0, ..Module::honest() };
    check(&of_module(&mute, &options()), FindingCode::NoInput, "RTK-M003");
    let hidden = Module { claims_projection: false, ..Module::honest() };
    check(&of_module(&hidden, &options()), FindingCode::UnclaimedProjection, "RTK-M004");

    let tally = tally_factory();
    for nothing in [Options { seats: Some(vec![]), ..options() }, Options { seeds: vec![], ..options() }] {
        check(&of_game(&tally, &nothing), FindingCode::NothingTried, "RTK-M005");
    }
    for nothing in [Options { depths: vec![0], ..options() }, Options { depths: vec![], ..options() }] {
        check(&of_game(&tally, &nothing), FindingCode::NothingTried, "RTK-M005");
    }
    // The inputs before the first tick are the first ones, so that nothing was mispredicted.
    check(&of_game(&tally, &Options { ticks: 1, ..options() }), FindingCode::NothingTried, "RTK-M005");
}

#[test]
fn t5_m1_each_fault_of_a_game_has_its_code_alone() {
    let end = r#"(if (i64.gt_u (i64.load (i32.const 0)) (i64.const 50)) (then
        (call $log (i32.const 512) (i32.const 7)) unreachable))"#;
    let dying = Module { end, ..Module::honest() };
    let certificate = of_module(&dying, &options());
    check(&certificate, FindingCode::StepFaults, "RTK-M101");
    assert!(certificate.findings[0].to_string().contains("at tick 50: the game aborted"), "{:?}", certificate.findings);
    assert_eq!(certificate.log, ["goodbye"]);
    // Only a malformed input is neutral: a fault of the rough match alone.
    let end = r#"(if (i32.eqz (i32.load16_u (i32.add (local.get $block) (i32.load offset=16 (local.get $block))))) (then
        (call $log (i32.const 513) (i32.const 6)) unreachable))"#;
    let certificate = of_module(&Module { end, ..Module::honest() }, &options());
    check(&certificate, FindingCode::StepFaults, "RTK-M101");
    assert_eq!(certificate.log, ["oodbye"]);
    let thirsty = Options { limits: Limits { gas_per_tick: 10, ..Limits::default() }, ..options() };
    check(&of_module(&Module::honest(), &thirsty), FindingCode::StepFaults, "RTK-M101");

    for (found, code, text) in [
        (of_game(&twin(Sin::Still), &options()), FindingCode::Unmoved, "RTK-M102"),
        (of_game(&tally_factory(), &Options { ticks: 0, ..options() }), FindingCode::Unmoved, "RTK-M102"),
        (of_game(&twin_factory::<StaticCounter>(), &options()), FindingCode::NotDeterministic, "RTK-M103"),
        (of_game(&padded_factory::<Narrow, LogicalForm>(), &options()), FindingCode::RestoresOther, "RTK-M104"),
        (of_game(&twin_factory::<SharedCell>(), &options()), FindingCode::NotRollbackSafe, "RTK-M105"),
        (of_game(&deaf_factory::<Deaf>(), &options()), FindingCode::NotHydrated, "RTK-M106"),
        (of_game(&twin_factory::<SkippedField>(), &options()), FindingCode::NotHydrationSafe, "RTK-M107"),
        (of_game(&noisy_factory::<FirstExecution>(), &options()), FindingCode::EventsDiffer, "RTK-M108"),
        (of_game(&twin(Sin::CountsSubstitutes), &options()), FindingCode::ReplayDiffers, "RTK-M109"),
        (of_game(&twin(Sin::WritesWhenProjecting), &options()), FindingCode::ProjectionWrites, "RTK-M110"),
        (of_game(&twin(Sin::ProjectsACount), &options()), FindingCode::ProjectionDiffers, "RTK-M111"),
        (of_game(&twin(Sin::Shouts), &options()), FindingCode::EventsDropped, "RTK-M113"),
    ] {
        check(&found, code, text);
    }
    let blind = Module { project: "unreachable", ..Module::honest() };
    check(&of_module(&blind, &options()), FindingCode::ProjectionFaults, "RTK-M112");
    // The clean twin of them all.
    assert_eq!(of_game(&twin(Sin::None), &options()).findings, []);
}

#[test]
fn t5_m2_a_figure_at_its_budget_passes_and_one_past_it_does_not() {
    let loose = of_module(&Module::honest(), &options()).figures;
    let value = |worst: Option<Worst>| worst.expect("measured").value;
    let (gas, pages) = (value(loose.gas), value(loose.written_pages));
    type Set = fn(&mut Budgets, u64);
    let cases: [(Set, u64, FindingCode, &str); 7] = [
        (|budgets, most| budgets.median_step_micros = Some(most), 1, FindingCode::MedianStep, "RTK-M201"),
        (|budgets, most| budgets.tail_step_micros = Some(most), 1, FindingCode::TailStep, "RTK-M202"),
        (|budgets, most| budgets.gas_per_step = Some(most), gas, FindingCode::Gas, "RTK-M203"),
        (|budgets, most| budgets.pages_per_step = Some(most), pages, FindingCode::WrittenPages, "RTK-M204"),
        (|budgets, most| budgets.memory_pages = Some(most), 1, FindingCode::MemoryPages, "RTK-M205"),
        (|budgets, most| budgets.projection_bytes = Some(most), 8, FindingCode::ProjectionBytes, "RTK-M206"),
        (|budgets, most| budgets.events_per_tick = Some(most), 1, FindingCode::Events, "RTK-M207"),
    ];
    let mut exact = Budgets::default();
    for (set, figure, code, text) in cases {
        set(&mut exact, figure);
        let mut short = Budgets::default();
        set(&mut short, figure - 1);
        let certificate = of_module(&Module::honest(), &Options { budgets: short, ..options() });
        check(&certificate, code, text);
        let Finding::OverBudget { figure: found, budget, .. } = &certificate.findings[0] else { panic!("{text}") };
        assert!(
            found > budget && certificate.findings[0].to_string().contains(&format!("of which {budget} are allowed"))
        );
    }
    assert_eq!(of_module(&Module::honest(), &Options { budgets: exact, ..options() }).findings, []);
    for unmeasured in [
        Budgets { gas_per_step: Some(1 << 40), ..Budgets::default() },
        Budgets { pages_per_step: Some(1 << 40), ..Budgets::default() },
        Budgets { memory_pages: Some(1 << 40), ..Budgets::default() },
    ] {
        let certificate = of_game(&tally_factory(), &Options { budgets: unmeasured, ..options() });
        check(&certificate, FindingCode::NotMeasured, "RTK-M208");
    }
}

#[test]
fn t5_m3_what_this_machine_does_is_not_the_games_fault() {
    let broken = StrictFactory::new(std::sync::Arc::new(tally_factory()));
    let broken = broken.with_fault(FaultPlan::always(Tick::new(9), StepFault::Host));
    check(&of_game(&broken, &options()), FindingCode::MachineFailed, "RTK-M301");
}

#[test]
fn t5_a_percentile_is_the_smallest_time_that_so_many_do_not_exceed() {
    let times = |nanos: &[u64], percentile| StepTimes::of(&mut nanos.to_vec(), percentile);
    assert_eq!(times(&[], 99), None);
    let hundred: Vec<u64> = (1..=100).rev().collect();
    let found = times(&hundred, 99).expect("some");
    assert_eq!((found.median_nanos, found.tail_nanos, found.longest_nanos), (50, 99, 100));
    let one = times(&[7], 1).expect("some");
    assert_eq!((one.median_nanos, one.tail_nanos, one.longest_nanos), (7, 7, 7));
    let three = times(&[30, 10, 20], 67).expect("some");
    assert_eq!((three.median_nanos, three.tail_nanos), (20, 30));
}

#[test]
fn t5_the_rough_match_has_every_presence_substitutes_and_malformed_inputs() {
    let found = twins::observed(|factory| of_game(factory, &options()));
    for what in ["human", "bot", "empty", "disconnected", "substituted", "malformed"] {
        assert!(found.contains(&what), "{what} is not in {found:?}");
    }
}
