//! The state of a match, and the order in which a tick happens. What each part of it does stands in its own file.

use alloc::vec::Vec;

use retick_core::rng::RngStream;
use retick_core::runtime::{Capabilities, GameDescription, InitContext, Simulation, StepContext};
use retick_core::seat::{Presence, Seat};
use retick_core::tick::TickRate;
use serde::{Deserialize, Serialize};

use crate::arena::Arena;
use crate::bot;
use crate::command::Command;
use crate::config::Rules;
use crate::input::SkirmishInput;
use crate::numbers::Vec2;
use crate::pickups::Pickups;
use crate::player::{PLAYER_RADIUS, Player, Standing};
use crate::projectiles::Bullets;
use crate::projection;
use crate::rounds::Progress;

/// Code with which init refuses a config of another schema; the kernel's own check comes first.
const REFUSED_CONFIG: u32 = 1;

/// The whole state of a match. Everything that a later tick depends on is in here; lists keep their order.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Skirmish {
    pub(crate) rules: Rules,
    pub(crate) arena: Arena,
    /// One for each seat, in order.
    pub(crate) players: Vec<Player>,
    pub(crate) bullets: Bullets,
    pub(crate) pickups: Pickups,
    /// Where players appear.
    pub(crate) spawns: RngStream,
    pub(crate) progress: Progress,
}

impl Simulation for Skirmish {
    type Input = SkirmishInput;
    type Command = Command;

    fn describe() -> GameDescription {
        GameDescription {
            tick_rate: TickRate::Hz60,
            state_schema: "skirmish/state/v1",
            config_schema: Rules::schema(),
            seats: 2..=8,
            capabilities: Capabilities { commands: true, projection: true },
        }
    }

    fn init(context: &InitContext<'_>) -> Result<Self, u32> {
        let rules = Rules::from_values(context.config).ok_or(REFUSED_CONFIG)?;
        Ok(Skirmish {
            rules,
            arena: Arena::generate(&rules, &mut context.rng("arena")),
            players: context.seats.seats().map(Player::new).collect(),
            bullets: Bullets::new(),
            pickups: Pickups::new(context.rng("pickups")),
            spawns: context.rng("spawns"),
            progress: Progress::default(),
        })
    }

    fn step(&mut self, context: &StepContext<'_, Self>) {
        self.admit(context);
        self.obey(context.commands());
        self.players.iter_mut().for_each(Player::pass_time);
        if self.is_playing() {
            self.act(context);
            self.separate();
            self.fly_bullets();
            self.tend_pickups();
            self.revive();
            self.finish_round();
        }
    }

    fn project(&self, out: &mut Vec<u8>) {
        projection::encode(self, out);
    }

    fn decode_command(payload: &[u8]) -> Option<Command> {
        Command::decode(payload)
    }
}

impl Skirmish {
    /// The players with their seats, in order.
    pub(crate) fn seated(&self) -> impl Iterator<Item = (Seat, &Player)> {
        (0..).map_while(Seat::new).zip(&self.players)
    }

    /// Every living player moves, aims and shoots, in the order of the seats.
    fn act(&mut self, context: &StepContext<'_, Self>) {
        for seat in context.seats() {
            let controls = self.controls(context, seat);
            let Some(player) = self.players.get_mut(seat.index()) else { continue };
            if player.standing != Standing::Alive {
                continue;
            }
            player.steer(controls);
            player.position = self.arena.push_out(player.position + player.velocity, PLAYER_RADIUS);
            if controls.is_some_and(|controls| controls.fire) && self.bullets.has_room() && player.pull_trigger() {
                self.bullets.fire(seat, player.position, player.aim);
            }
        }
    }

    /// What drives `seat` in this tick; nothing does when nobody is there or the input came too late.
    fn controls(&self, context: &StepContext<'_, Self>, seat: Seat) -> Option<SkirmishInput> {
        match context.presence(seat) {
            _ if context.substituted(seat) => None,
            Presence::Human => Some(context.input(seat)),
            Presence::Bot => bot::play(self, seat, context.tick()),
            Presence::Empty | Presence::Disconnected => None,
        }
    }

    /// Living players don't overlap: each of two gives way by half, then walls and blocks have the last word.
    fn separate(&mut self) {
        for first in 0..self.players.len() {
            for second in first + 1..self.players.len() {
                let (earlier, later) = self.players.split_at_mut(second);
                give_way(&mut earlier[first], &mut later[0]);
            }
        }
        for player in self.players.iter_mut().filter(|player| player.standing == Standing::Alive) {
            player.position = self.arena.push_out(player.position, PLAYER_RADIUS);
        }
    }
}

fn give_way(one: &mut Player, other: &mut Player) {
    if (one.standing, other.standing) != (Standing::Alive, Standing::Alive) {
        return;
    }
    let offset = other.position - one.position;
    let distance = offset.length();
    let overlap = 2.0 * PLAYER_RADIUS - distance;
    if overlap <= 0.0 {
        return;
    }
    let direction = if distance > 0.0 { offset * (1.0 / distance) } else { Vec2::new(1.0, 0.0) };
    one.position = one.position - direction * (overlap / 2.0);
    other.position += direction * (overlap / 2.0);
}
