//! One game's steps, played natively and by its module in several forms. All of them get the same inputs by the same way: a batch is
//! built, a module gets it as a block, and nothing is kept.

use retick_core::config::SessionConfig;
use retick_core::identity::MatchDescriptor;
use retick_core::input::GameInput;
use retick_core::rng::SessionSeed;
use retick_core::runtime::abi::{InitBlock, encode_init, encode_step};
use retick_core::runtime::{Keep, Output, Runtime, RuntimeFactory, SeatStep, StepBatch};
use retick_core::seat::{ControlEpoch, Presence, Seat, SeatCount};
use retick_core::tick::{Tick, TickRate};

use crate::direct::{Direct, OptLevel};

/// Ticks after which a match begins anew, so that it is never over.
const MATCH_TICKS: u64 = 4096;

/// What all forms of one game play.
#[derive(Debug)]
pub struct Script {
    seats: SeatCount,
    seed: SessionSeed,
    config: SessionConfig,
    /// Packed, one seat after the other, for each tick of a match.
    inputs: Vec<Vec<u8>>,
}

impl Script {
    /// A match of so many seats, whose inputs `input` makes up.
    ///
    /// # Panics
    /// For a number of seats that can't be, and for an input out of its range.
    #[must_use]
    pub fn new<I: GameInput>(seats: u8, config: SessionConfig, input: impl Fn(Seat, Tick) -> I) -> Script {
        let (seats, schema) = (SeatCount::new(seats).expect("a seat count"), I::schema());
        let ticks = (0..MATCH_TICKS).map(Tick::new);
        let packed = |tick| seats.seats().map(move |seat| (seat, tick));
        let inputs = ticks.flat_map(packed).map(|(seat, tick)| schema.pack(&input(seat, tick)).expect("in range"));
        Script { seats, seed: SessionSeed::from_u64(5), config, inputs: inputs.collect() }
    }

    fn init_block(&self) -> Vec<u8> {
        let mut block = Vec::new();
        let (seats, tick_rate, config) = (self.seats, TickRate::Hz60, self.config.bytes());
        encode_init(&InitBlock { seats, tick_rate, seed: *self.seed.as_bytes(), config }, &mut block);
        block
    }

    /// Makes `batch` the step of one tick.
    fn fill(&self, tick: u64, batch: &mut StepBatch) {
        batch.reset(Tick::new(tick));
        batch.push_step(Keep::NOTHING);
        let first = usize::try_from(tick).unwrap_or(usize::MAX) * self.seats.count();
        for input in &self.inputs[first..first + self.seats.count()] {
            let (presence, epoch) = (Presence::Human, ControlEpoch(1));
            batch.push_seat(SeatStep { input, substituted: false, malformed: false, presence, epoch });
        }
    }
}

/// One form of a game, playing a script.
pub struct Player<'a> {
    script: &'a Script,
    form: Form<'a>,
    batch: StepBatch,
    tick: u64,
}

enum Form<'a> {
    Native { factory: &'a dyn RuntimeFactory, runtime: Box<dyn Runtime>, output: Output },
    Module { direct: Box<Direct>, init: Vec<u8>, block: Vec<u8> },
}

impl<'a> Player<'a> {
    /// Native code.
    ///
    /// # Panics
    /// When the script is not one of this game.
    #[must_use]
    pub fn native(script: &'a Script, factory: &'a dyn RuntimeFactory) -> Player<'a> {
        let form = Form::Native { factory, runtime: native(script, factory), output: Output::default() };
        Player { script, form, batch: StepBatch::default(), tick: 0 }
    }

    /// A module, as it was compiled or as it was rewritten.
    ///
    /// # Panics
    /// When the script is not one of this game.
    #[must_use]
    pub fn module(script: &'a Script, module: &[u8]) -> Player<'a> {
        let (mut direct, init) = (Box::new(Direct::new(module, OptLevel::Speed)), script.init_block());
        direct.init(&init);
        Player { script, form: Form::Module { direct, init, block: Vec::new() }, batch: StepBatch::default(), tick: 0 }
    }

    /// One step.
    ///
    /// # Panics
    /// When the game faults.
    pub fn turn(&mut self) {
        if self.tick == MATCH_TICKS {
            self.begin_anew();
        }
        self.script.fill(self.tick, &mut self.batch);
        self.tick += 1;
        match &mut self.form {
            Form::Native { runtime, output, .. } => {
                output.clear();
                runtime.advance(&self.batch, output).expect("the next tick");
            }
            Form::Module { direct, block, .. } => {
                block.clear();
                self.batch.steps().for_each(|view| encode_step(view, block));
                direct.step(block);
            }
        }
    }

    fn begin_anew(&mut self) {
        self.tick = 0;
        match &mut self.form {
            Form::Native { factory, runtime, .. } => *runtime = native(self.script, *factory),
            Form::Module { direct, init, .. } => direct.init(init),
        }
    }

    /// The ticks of this match that were played, and what the game shows of its state.
    ///
    /// # Panics
    /// When the game faults.
    pub fn shown(&mut self) -> (u64, Vec<u8>) {
        let shown = match &mut self.form {
            Form::Native { runtime, output, .. } => {
                output.clear();
                runtime.keep(Keep::PROJECTION, output).expect("a state");
                output.projection(&output.kept[0]).unwrap_or_default().to_vec()
            }
            Form::Module { direct, .. } => direct.project().to_vec(),
        };
        (self.tick, shown)
    }
}

fn native(script: &Script, factory: &dyn RuntimeFactory) -> Box<dyn Runtime> {
    let descriptor = MatchDescriptor::new(factory.manifest(), script.config.clone(), script.seed, script.seats);
    factory.create(&descriptor).expect("a match of this game")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A match that is over costs nothing, and would measure nothing.
    #[test]
    fn skirmish_is_played_to_the_last_tick_of_a_match() {
        let rules = skirmish::Rules { score_limit: 50, rounds: 9, ..skirmish::Rules::default() };
        let config = rules.to_config().expect("rules in range");
        let script = Script::new(8, config, |seat, tick| skirmish::scripted_input(seat, tick, 3));
        let factory = skirmish::native_factory().expect("a valid manifest");
        let mut player = Player::native(&script, &factory);
        (0..MATCH_TICKS).for_each(|_| player.turn());
        let (tick, shown) = player.shown();
        let scene = skirmish::Scene::decode(&shown).expect("a scene");
        assert!(tick == MATCH_TICKS && !matches!(scene.phase, skirmish::Phase::Over { .. }), "{:?}", scene.phase);
        let falls: u16 = scene.players.iter().map(|player| player.falls).sum();
        assert!(falls > 20, "{falls} fell");
        player.turn();
        assert_eq!(player.shown().0, 1, "then a match begins anew");
    }
}
