//! T3: a proof that proved nothing says so, with an error of its own, and what was missing.

use std::sync::Arc;

use retick_core::config::ConfigSchema;
use retick_core::runtime::{
    Capabilities, GameDescription, InitContext, NativeFactory, NoCommand, RuntimeFactory, Simulation, StepContext,
};
use retick_core::seat::Seat;
use retick_core::tick::{Moment, Tick, TickRate};
use retick_testing::assert::{
    GameFault, Premise, check_convergence_of, check_late_join_hydration, check_presentation_parity,
    check_presentation_parity_of, check_replay_verifies, check_runner_lifecycle, check_runner_lifecycle_of,
    check_two_client_convergence,
};
use retick_testing::fixtures::{TallyInput, pack_tally, tally_descriptor, tally_factory, zig_packed};
use retick_testing::runner::HarnessSetup;
use retick_testing::sim::{ClientSetup, DEFAULT_LOBBY_TICKS, MatchSetup, Reporting};
use retick_testing::twins::{BySeat, duel_factory};
use serde::{Deserialize, Serialize};

const TICKS: u64 = 120;

fn seat(number: u8) -> Seat {
    Seat::new(number).expect("valid")
}

fn tally() -> Arc<dyn RuntimeFactory> {
    Arc::new(tally_factory())
}

fn missing<T: std::fmt::Debug>(proof: Result<T, GameFault>) -> Premise {
    match proof {
        Err(GameFault::PremiseNotMet(premise)) => premise,
        other => panic!("{other:?}"),
    }
}

fn player() -> ClientSetup {
    ClientSetup::new(zig_packed).latency_ticks(TickRate::Hz60, 3)
}

fn setup() -> MatchSetup {
    MatchSetup::new(tally()).hard_tolerance_ticks(30)
}

fn moment(tick: u64) -> Moment {
    TickRate::Hz60.moment_of(Tick::new(DEFAULT_LOBBY_TICKS + tick))
}

/// A sum that is never shown.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Unshown(i64);

impl Simulation for Unshown {
    type Input = TallyInput;
    type Command = NoCommand;

    fn describe() -> GameDescription {
        GameDescription {
            tick_rate: TickRate::Hz60,
            state_schema: "unshown/v1",
            config_schema: ConfigSchema::empty(),
            seats: 1..=4,
            capabilities: Capabilities::default(),
        }
    }

    fn init(_: &InitContext<'_>) -> Result<Self, u32> {
        Ok(Unshown(0))
    }

    fn step(&mut self, context: &StepContext<'_, Self>) {
        self.0 = context.inputs().fold(self.0, |sum, (_, input)| sum.wrapping_mul(31).wrapping_add(i64::from(input.0)));
    }
}

#[test]
fn t3_seats_must_be_there() {
    let (game, one) = ([tally(), tally()], tally_descriptor(&tally(), 1, 1));
    let seats = Premise::Seats { needed: 2, found: 1 };
    assert_eq!(missing(check_two_client_convergence(game.clone(), &one, &zig_packed, TICKS)), seats);
    assert_eq!(missing(check_replay_verifies(game.clone(), &one, &zig_packed, TICKS)), seats);
    assert_eq!(missing(check_presentation_parity(game, &one, &zig_packed, TICKS)), seats);
    assert_eq!(missing(check_runner_lifecycle(&tally(), &one, &zig_packed, TICKS)), seats);
}

#[test]
fn t3_a_room_begins_with_the_first_generation() {
    let later = tally_descriptor(&tally(), 2, 1);
    let later = later.reconfigured(later.config().clone()).expect("one more generation");
    let said = check_two_client_convergence([tally(), tally()], &later, &zig_packed, TICKS);
    assert_eq!(missing(said), Premise::Descriptor);
}

#[test]
fn t3_something_must_move_and_be_played() {
    let two = tally_descriptor(&tally(), 2, 1);
    let said = check_two_client_convergence([tally(), tally()], &two, &zig_packed, 0);
    assert_eq!(missing(said), Premise::Movement { ticks: 0 });
    assert_eq!(missing(check_replay_verifies([tally(), tally()], &two, &zig_packed, 0)), Premise::Work { ticks: 0 });
    // Nobody shoots.
    let duel: Arc<dyn RuntimeFactory> = Arc::new(duel_factory::<BySeat>());
    let two = tally_descriptor(&duel, 2, 1);
    let still = |_: Seat, _: Tick| vec![0];
    let said = check_two_client_convergence([duel.clone(), duel.clone()], &two, &still, TICKS);
    assert!(matches!(missing(said), Premise::Movement { .. }));
    let said = check_presentation_parity([duel.clone(), duel.clone()], &two, &still, TICKS);
    assert!(matches!(missing(said), Premise::Pictures { distinct: 1, .. }));
}

#[test]
fn t3_clients_must_roll_back() {
    // Whoever holds one input is guessed right in every tick but the first.
    let (two, held) = (tally_descriptor(&tally(), 2, 1), |_: Seat, _: Tick| pack_tally(4));
    let rollback = Premise::Rollback { seat: seat(0), ticks: TICKS };
    assert_eq!(missing(check_two_client_convergence([tally(), tally()], &two, &held, TICKS)), rollback);
    assert_eq!(missing(check_replay_verifies([tally(), tally()], &two, &held, TICKS)), rollback);
    let neutral = |_: Seat, _: Tick| pack_tally(0);
    let said = check_presentation_parity([tally(), tally()], &two, &neutral, TICKS);
    assert!(matches!(missing(said), Premise::Rollback { .. }));
}

#[test]
fn t3_the_match_must_get_to_its_end_and_a_joiner_must_come_in_time() {
    let setup = || setup().client(player()).client(player());
    let late = missing(check_late_join_hydration(setup(), player(), TICKS + 2_000, TICKS));
    assert!(matches!(late, Premise::Progress { wanted, .. } if wanted == Tick::new(TICKS)), "{late}");
    // It comes, and what is left is too short for an input of its own.
    let short = missing(check_late_join_hydration(setup(), player(), 555, 560));
    assert!(matches!(short, Premise::Presence { seat: joiner, inputs: 0, .. } if joiner == seat(2)), "{short}");
}

#[test]
fn t3_a_seat_must_be_in_the_match() {
    // Most of the time the second player's process stands still, though not so long that states are forgotten over it.
    let frozen = player().frozen(moment(20)..moment(240));
    let said = missing(check_convergence_of(setup().client(player()).client(frozen), 280));
    let Premise::Presence { seat: away, inputs, ticks } = said else { panic!("{said}") };
    assert_eq!((away, ticks), (seat(1), 280));
    assert!(2 * inputs <= ticks);
}

#[test]
fn t3_every_due_checksum_must_be_reported() {
    let silent = ClientSetup { reporting: Reporting::Withheld, ..player() };
    let said = missing(check_convergence_of(setup().checksum_cadence_ticks(1).client(player()).client(silent), TICKS));
    let Premise::Checksums { seat: who, found: 0, due } = said else { panic!("{said}") };
    assert!(who == seat(1) && due >= TICKS);
}

#[test]
fn t3_every_confirmed_state_must_be_readable() {
    // It keeps 64 states, and confirms a hundred in one turn.
    let mut forgetful = player().frozen(moment(60)..moment(160));
    forgetful.config.checkpoint_window_ticks = 64;
    let setup = setup().checksum_cadence_ticks(4).client(player()).client(forgetful);
    let said = missing(check_convergence_of(setup, 2 * TICKS));
    assert!(matches!(said, Premise::Readable { seat: who, .. } if who == seat(1)), "{said}");
}

#[test]
fn t3_a_game_must_be_shown() {
    let game: Arc<dyn RuntimeFactory> =
        Arc::new(NativeFactory::<Unshown>::new(|sources| sources.module("premises.rs", b"its source")).expect("valid"));
    let said =
        check_presentation_parity([game.clone(), game.clone()], &tally_descriptor(&game, 2, 1), &zig_packed, TICKS);
    assert_eq!(missing(said), Premise::Projection);
}

#[test]
fn t3_nobodys_input_may_be_missing_where_offline_play_has_all() {
    // The room waits for nobody, and the first inputs are under way when it confirms.
    let two = tally_descriptor(&tally(), 2, 1);
    let room = HarnessSetup { hard_tolerance_ticks: 0, latency_ticks: 4, ..HarnessSetup::new(tally(), 2, zig_packed) };
    let said = missing(check_presentation_parity_of(room, tally(), &two, TICKS));
    assert!(matches!(said, Premise::OwnInputs { tick: Tick::ZERO, .. }), "{said}");
}

#[test]
fn t3_what_is_under_way_must_arrive_in_the_next_match() {
    let two = tally_descriptor(&tally(), 2, 1);
    let near = HarnessSetup { latency_ticks: 0, ..HarnessSetup::new(tally(), 2, zig_packed) };
    assert_eq!(missing(check_runner_lifecycle_of(near, &two, TICKS)), Premise::LateMessages);
}
