//! One player: how it moves, what time does to it, and what a hit does.

use retick_core::seat::{ControlEpoch, Seat};
use serde::{Deserialize, Serialize};

use crate::command::COLOURS;
use crate::input::SkirmishInput;
use crate::numbers::Vec2;

/// Radius of a player, in units.
pub const PLAYER_RADIUS: f32 = 0.5;
/// Health of a player that nothing has hit.
pub const FULL_HEALTH: u8 = 100;
/// Ticks between falling and coming back.
pub const RESPAWN_TICKS: u16 = 120;
/// Ticks for which a player that just came or came back can't be hurt.
pub const ARRIVAL_SHIELD_TICKS: u16 = 60;
/// Ticks for which an emote shows.
pub const EMOTE_TICKS: u16 = 120;

/// Units per tick.
const SPEED: f32 = 0.1;
const DASH_SPEED: f32 = 0.3;
const DASH_TICKS: u16 = 8;
const DASH_RECOVERY_TICKS: u16 = 90;
/// The part of the way to the wanted velocity that a tick goes.
const GRIP: f32 = 0.25;
/// Below this square a velocity is rest.
const REST_SQUARED: f32 = 1e-6;
const TRIGGER_TICKS: u16 = 15;
const RAPID_TRIGGER_TICKS: u16 = 6;

/// How a seat stands in the arena.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Standing {
    /// Not in the arena: nobody has the seat.
    Absent,
    /// Its player is disconnected: it stands there as a ghost, that nothing touches, until the player is back.
    Away,
    /// In the fight.
    Alive,
    /// Knocked out, and back after this many ticks.
    Down {
        /// Ticks until it comes back.
        ticks_left: u16,
    },
}

/// What runs down with time, in ticks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Timers {
    /// Until the next shot.
    pub trigger: u16,
    /// For which shots come faster.
    pub rapid_fire: u16,
    /// For which hits do nothing.
    pub shield: u16,
    /// For which the dash lasts.
    pub dash: u16,
    /// Until the next dash.
    pub dash_recovery: u16,
    /// For which the emote shows.
    pub emote: u16,
}

/// The player of one seat.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Player {
    /// The change of drivers since which this player is in the seat; another one starts anew.
    pub epoch: ControlEpoch,
    pub standing: Standing,
    pub position: Vec2,
    /// Units per tick.
    pub velocity: Vec2,
    /// Where it looks, in steps of a turn.
    pub aim: u16,
    pub health: u8,
    /// Knockouts in this round.
    pub score: u16,
    /// How often it fell in this match.
    pub falls: u16,
    pub rounds_won: u8,
    pub colour: u8,
    /// The last emote; it shows while its timer runs.
    pub emote: u8,
    pub timers: Timers,
}

impl Player {
    /// The player of a seat that nobody has taken yet.
    pub fn new(seat: Seat) -> Player {
        Player {
            epoch: ControlEpoch::default(),
            standing: Standing::Absent,
            position: Vec2::ZERO,
            velocity: Vec2::ZERO,
            aim: 0,
            health: 0,
            score: 0,
            falls: 0,
            rounds_won: 0,
            colour: seat.number() % COLOURS,
            emote: 0,
            timers: Timers::default(),
        }
    }

    /// Appears at `position` with full health.
    pub fn appear(&mut self, position: Vec2) {
        self.standing = Standing::Alive;
        (self.position, self.velocity) = (position, Vec2::ZERO);
        self.health = FULL_HEALTH;
        self.timers = Timers { shield: ARRIVAL_SHIELD_TICKS, emote: self.timers.emote, ..Timers::default() };
    }

    /// One tick of all timers.
    pub fn pass_time(&mut self) {
        let Timers { trigger, rapid_fire, shield, dash, dash_recovery, emote } = &mut self.timers;
        for timer in [trigger, rapid_fire, shield, dash, dash_recovery, emote] {
            *timer = timer.saturating_sub(1);
        }
    }

    /// Changes velocity and aim as the controls say; without controls it stands still.
    pub fn steer(&mut self, controls: Option<SkirmishInput>) {
        let Some(controls) = controls else {
            self.velocity = Vec2::ZERO;
            return;
        };
        self.aim = controls.aim;
        let direction = controls.direction();
        if controls.dash && self.timers.dash_recovery == 0 {
            (self.timers.dash, self.timers.dash_recovery) = (DASH_TICKS, DASH_RECOVERY_TICKS);
        }
        let speed = if self.timers.dash > 0 { DASH_SPEED } else { SPEED };
        self.velocity += (direction * speed - self.velocity) * GRIP;
        if self.velocity.length_squared() < REST_SQUARED {
            self.velocity = Vec2::ZERO;
        }
    }

    /// Whether a shot goes off now.
    pub fn pull_trigger(&mut self) -> bool {
        let ready = self.timers.trigger == 0;
        if ready {
            self.timers.trigger = if self.timers.rapid_fire > 0 { RAPID_TRIGGER_TICKS } else { TRIGGER_TICKS };
        }
        ready
    }

    /// Takes a hit; whether it fell.
    pub fn hurt(&mut self, damage: u8) -> bool {
        if self.standing != Standing::Alive || self.timers.shield > 0 {
            return false;
        }
        self.health = self.health.saturating_sub(damage);
        if self.health > 0 {
            return false;
        }
        self.standing = Standing::Down { ticks_left: RESPAWN_TICKS };
        self.falls = self.falls.saturating_add(1);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::STICK;

    fn player() -> Player {
        let mut player = Player::new(Seat::new(0).expect("a seat"));
        player.appear(Vec2::new(5.0, 5.0));
        player.timers.shield = 0;
        player
    }

    #[test]
    fn a_hit_reduces_health_and_the_last_one_fells() {
        let mut player = player();
        assert!(!player.hurt(60));
        assert_eq!(player.health, 40);
        assert!(player.hurt(60));
        assert_eq!((player.health, player.standing), (0, Standing::Down { ticks_left: RESPAWN_TICKS }));
        assert!(!player.hurt(60), "who is down can't fall again");
        assert_eq!(player.falls, 1);
    }

    #[test]
    fn a_shield_takes_hits_until_it_runs_out() {
        let mut player = player();
        player.timers.shield = 2;
        assert!(!player.hurt(FULL_HEALTH));
        player.pass_time();
        player.pass_time();
        assert_eq!(player.health, FULL_HEALTH);
        assert!(player.hurt(FULL_HEALTH));
    }

    #[test]
    fn it_comes_up_to_speed_and_a_dash_is_faster_and_recovers() {
        let mut player = player();
        let run = SkirmishInput { move_x: STICK, ..SkirmishInput::default() };
        (0..60).for_each(|_| player.steer(Some(run)));
        assert!((player.velocity.x - SPEED).abs() < 1e-4);
        player.steer(Some(SkirmishInput { dash: true, ..run }));
        assert!(player.velocity.x > SPEED * 1.2 && player.timers.dash_recovery == DASH_RECOVERY_TICKS);
        player.pass_time();
        player.steer(Some(SkirmishInput { dash: true, ..run }));
        assert_eq!(player.timers.dash_recovery, DASH_RECOVERY_TICKS - 1, "no second dash yet");
        player.steer(None);
        assert_eq!(player.velocity, Vec2::ZERO);
    }

    #[test]
    fn the_trigger_waits_and_rapid_fire_waits_less() {
        let mut player = player();
        let shots = |player: &mut Player| {
            let fired = (0..60).filter(|_| {
                player.pass_time();
                player.pull_trigger()
            });
            fired.count()
        };
        assert_eq!(shots(&mut player), 4);
        player.timers.rapid_fire = 1_000;
        player.timers.trigger = 0;
        assert_eq!(shots(&mut player), 10);
    }
}
