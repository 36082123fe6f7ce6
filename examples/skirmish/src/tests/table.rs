//! A match on the table: drives the rules directly, so that tests can arrange the state.

use std::vec;
use std::vec::Vec;

use retick_core::frame::CommandSource;
use retick_core::input::{GameInput, InputSchema};
use retick_core::rng::SessionSeed;
use retick_core::runtime::{InitContext, Keep, SeatStep, Simulation, StepBatch, StepContext};
use retick_core::seat::{ControlEpoch, Presence, Seat, SeatCount};
use retick_core::tick::{Tick, TickRate};

use crate::arena::Arena;
use crate::command::Command;
use crate::config::Rules;
use crate::input::SkirmishInput;
use crate::numbers::Vec2;
use crate::player::{Player, Standing};
use crate::projection;
use crate::scene::Scene;
use crate::world::Skirmish;

/// What drives one seat from now on.
#[derive(Clone, Copy, Default)]
pub struct Driver {
    pub input: SkirmishInput,
    pub presence: Presence,
    pub substituted: bool,
    pub epoch: u32,
}

pub struct Table {
    pub world: Skirmish,
    pub drivers: Vec<Driver>,
    pub commands: Vec<(CommandSource, Command)>,
    pub tick: u64,
    schema: InputSchema,
    batch: StepBatch,
}

impl Table {
    /// A match of humans, as it begins.
    pub fn new(seats: u8, rules: Rules, seed: u64) -> Table {
        let count = SeatCount::new(seats).expect("valid");
        let config = rules.to_config().expect("in range");
        let config = &Rules::schema().decode(config.bytes()).expect("canonical");
        let (tick_rate, seed) = (TickRate::Hz60, &SessionSeed::from_u64(seed));
        let world = Skirmish::init(&InitContext { seats: count, tick_rate, config, seed }).expect("valid");
        let driver = Driver { presence: Presence::Human, ..Driver::default() };
        let (schema, batch) = (SkirmishInput::schema(), StepBatch::default());
        Table { world, drivers: vec![driver; count.count()], commands: vec![], tick: 0, schema, batch }
    }

    /// Two players in an arena without blocks and pickups, one tick old, standing 4 units apart at the centre, shields down.
    pub fn duel() -> Table {
        let mut table = Table::new(2, Rules { pickups: false, ..Rules::default() }, 1);
        table.world.arena = Arena::with_blocks(vec![]);
        table.run(1);
        for (player, x) in table.world.players.iter_mut().zip([22.0, 26.0]) {
            player.position = Vec2::new(x, 16.0);
            player.timers.shield = 0;
        }
        table
    }

    pub fn run(&mut self, ticks: u64) {
        (0..ticks).for_each(|_| self.step());
    }

    /// Runs until `done`, at most `most` ticks; how many it took.
    pub fn run_until(&mut self, most: u64, done: impl Fn(&Skirmish) -> bool) -> u64 {
        for ticks in 0..most {
            if done(&self.world) {
                return ticks;
            }
            self.step();
        }
        panic!("it did not happen in {most} ticks");
    }

    fn step(&mut self) {
        self.batch.reset(Tick::new(self.tick));
        self.batch.push_step(Keep::NOTHING);
        for driver in &self.drivers {
            let input = &self.schema.pack(&driver.input).expect("in range");
            let Driver { presence, substituted, epoch, .. } = *driver;
            let epoch = ControlEpoch(epoch);
            self.batch.push_seat(SeatStep { input, substituted, malformed: false, presence, epoch });
        }
        let view = self.batch.step(0).expect("one step");
        self.world.step(&StepContext::new(view, &self.schema, &self.commands, TickRate::Hz60));
        self.commands.clear();
        self.tick += 1;
    }

    pub fn player(&mut self, seat: usize) -> &mut Player {
        &mut self.world.players[seat]
    }

    pub fn standing(&self, seat: usize) -> Standing {
        self.world.players[seat].standing
    }

    pub fn scene(&self) -> Scene {
        let mut bytes = vec![];
        projection::encode(&self.world, &mut bytes);
        Scene::decode(&bytes).expect("what the game projects")
    }
}

pub fn seat(number: u8) -> Seat {
    Seat::new(number).expect("a seat")
}
