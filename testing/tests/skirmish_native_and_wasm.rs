//! Skirmish as native code and as the committed module: two identities with two layouts, and one game. What they agree on, bit
//! for bit, is the projection (K9), after each tick of matches in which everything comes up that a frame can say.

use retick_core::frame::CommandSource;
use retick_core::identity::MatchDescriptor;
use retick_core::rng::SessionSeed;
use retick_core::runtime::{Checkpoint, Keep, Output, Runtime, RuntimeFactory, SeatStep, StepBatch};
use retick_core::seat::{ControlEpoch, Presence, Seat, SeatCount};
use retick_core::tick::Tick;
use retick_wasm::{Limits, WasmFactory};
use skirmish::{Command, Rules, Scene, native_factory, scripted_input};

const TICKS: u64 = 2_000;
/// Ticks of one rollback.
const WINDOW: u64 = 8;

/// One match: its rules, seats and seed, and the seed of its scripts.
#[derive(Clone, Copy)]
struct Match {
    rules: Rules,
    seats: u8,
    seed: u64,
}

impl Match {
    fn runtime(self, factory: &dyn RuntimeFactory) -> Box<dyn Runtime> {
        let config = self.rules.to_config().expect("rules in range");
        let seats = SeatCount::new(self.seats).expect("two to eight seats");
        let descriptor = MatchDescriptor::new(factory.manifest(), config, SessionSeed::from_u64(self.seed), seats);
        factory.create(&descriptor).expect("a match of this game")
    }

    /// Appends one tick of the script: humans and bots, seats that come and go, substitutes and commands.
    fn push(self, batch: &mut StepBatch, runtime: &dyn Runtime, tick: Tick, script: u64) {
        batch.push_step(Keep::PROJECTION);
        for number in 0..self.seats {
            let seat = Seat::new(number).expect("a seat");
            let input = scripted_input(seat, tick, script);
            let input = &runtime.manifest().input_schema().pack(&input).expect("in range");
            let (presence, epoch) = driver(number, tick.index());
            let substituted = presence == Presence::Human && (tick.index() + u64::from(number)) % 97 < 4;
            batch.push_seat(SeatStep { input, substituted, malformed: false, presence, epoch });
        }
        if tick.index().is_multiple_of(50) {
            let index = u8::try_from(tick.index() / 50 % 8).expect("below eight");
            batch.push_command(CommandSource::Game(Seat::new(0).expect("a seat")), &Command::Emote(index).encode());
            batch.push_command(CommandSource::Game(Seat::new(1).expect("a seat")), &Command::Colour(index).encode());
            batch.push_command(CommandSource::Authority, b"not a command");
        }
    }

    /// Steps `ticks` ticks in one batch.
    fn advance(self, runtime: &mut dyn Runtime, ticks: u64, script: u64, output: &mut Output) {
        let mut batch = StepBatch::default();
        let first = runtime.tick();
        batch.reset(first);
        (0..ticks).for_each(|ahead| self.push(&mut batch, runtime, first.saturating_add(ahead), script));
        runtime.advance(&batch, output).expect("the next ticks");
    }

    /// The confirmed script, straight on.
    fn straight(self, factory: &dyn RuntimeFactory) -> Output {
        let (mut runtime, mut output) = (self.runtime(factory), Output::default());
        (0..TICKS).for_each(|_| self.advance(&mut *runtime, 1, self.seed, &mut output));
        output
    }

    /// The confirmed script, each window of it after a misprediction: played with other inputs, taken back, played again.
    fn rolling_back(self, factory: &dyn RuntimeFactory) -> Output {
        let (mut runtime, mut output) = (self.runtime(factory), Output::default());
        for _ in 0..TICKS / WINDOW {
            let checkpoint = checkpoint_of(&mut *runtime);
            self.advance(&mut *runtime, WINDOW, self.seed + 1, &mut Output::default());
            runtime.restore(checkpoint).expect("the youngest checkpoint");
            self.advance(&mut *runtime, WINDOW, self.seed, &mut output);
            runtime.release(checkpoint).expect("still there");
        }
        output
    }

    /// The confirmed script, the second half on a newcomer that hydrates the state of the first.
    fn handed_over(self, factory: &dyn RuntimeFactory) -> Output {
        let (mut donor, mut newcomer, mut output) = (self.runtime(factory), self.runtime(factory), Output::default());
        (0..TICKS / 2).for_each(|_| self.advance(&mut *donor, 1, self.seed, &mut output));
        let (checkpoint, mut state) = (checkpoint_of(&mut *donor), Vec::new());
        donor.export(checkpoint, 0, usize::MAX, &mut state).expect("a checkpoint");
        newcomer.hydrate(donor.tick(), &state).expect("a canonical state");
        (0..TICKS / 2).for_each(|_| self.advance(&mut *newcomer, 1, self.seed, &mut output));
        output
    }
}

/// Who drives a seat: the first two stay, the others come and go, some as bots.
fn driver(number: u8, tick: u64) -> (Presence, ControlEpoch) {
    let phase = tick / 300;
    let presence = match (number, phase % 4) {
        (0 | 1, _) => Presence::Human,
        (2, 1) | (3, 2) => Presence::Disconnected,
        (4, 2) | (5, 0) => Presence::Empty,
        (6.., _) => Presence::Bot,
        _ => Presence::Human,
    };
    let epochs = if number == 4 { phase } else { 0 };
    (presence, ControlEpoch(u32::try_from(epochs).expect("few phases")))
}

fn checkpoint_of(runtime: &mut dyn Runtime) -> Checkpoint {
    let mut output = Output::default();
    runtime.keep(Keep::CHECKPOINT, &mut output).expect("a state");
    output.kept[0].checkpoint.expect("asked for")
}

/// Names the first tick at which two runs differ.
fn assert_equal(what: &str, native: &Output, wasm: &Output) {
    assert_eq!(native.kept.len() as u64, TICKS);
    assert_eq!(wasm.kept.len() as u64, TICKS);
    for (one, other) in native.kept.iter().zip(&wasm.kept) {
        let (shown, other_shown) = (native.projection(one), wasm.projection(other));
        if shown != other_shown {
            let [scene, other_scene] = [shown, other_shown].map(|bytes| bytes.map(Scene::decode));
            panic!("{what}: S({}) differs:\n{scene:#?}\n{other_scene:#?}", one.tick);
        }
    }
    assert_eq!(native.malformed_commands, wasm.malformed_commands, "{what}");
}

/// The match was one: players fell, bullets flew, pickups lay there, and all of it moved.
fn assert_premise(output: &Output) {
    let scenes =
        output.kept.iter().map(|kept| Scene::decode(output.projection(kept).expect("asked for")).expect("a scene"));
    let scenes: Vec<Scene> = scenes.collect();
    let falls: u16 = scenes.last().expect("many").players.iter().map(|player| player.falls).sum();
    assert!(falls > 0, "nobody fell");
    assert!(scenes.iter().any(|scene| scene.bullets.len() > 5) && scenes.iter().any(|scene| !scene.pickups.is_empty()));
    let moved = scenes.windows(2).filter(|pair| pair[0].players != pair[1].players).count() as u64;
    assert!(moved > TICKS * 9 / 10, "{moved} ticks moved something");
    assert_eq!(output.malformed_commands, TICKS.div_ceil(50));
}

#[test]
fn k9_native_and_wasm_show_the_same_at_each_tick() {
    let native = native_factory().expect("a valid manifest");
    let wasm = WasmFactory::load(skirmish::MODULE, Limits::default()).expect("an admissible module");
    let rules = Rules { score_limit: 50, ..Rules::default() };
    let crowd = Match { rules, seats: 8, seed: 11 };
    let few =
        Match { rules: Rules { columns: 4, rows: 3, score_limit: 2, rounds: 9, pickups: true }, seats: 3, seed: 12 };
    let expected = crowd.straight(&native);
    assert_premise(&expected);
    assert_equal("straight", &expected, &crowd.straight(&wasm));
    assert_equal("rolling back", &expected, &crowd.rolling_back(&wasm));
    assert_equal("handed over", &expected, &crowd.handed_over(&wasm));
    assert_equal("native, rolling back", &expected, &crowd.rolling_back(&native));
    assert_equal("few", &few.straight(&native), &few.rolling_back(&wasm));
}
