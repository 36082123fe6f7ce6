//! Bullets: how they fly, bounce and hit.

use alloc::vec::Vec;
use core::mem;

use retick_core::seat::Seat;
use serde::{Deserialize, Serialize};

use crate::numbers::Vec2;
use crate::player::{PLAYER_RADIUS, Standing};
use crate::world::Skirmish;

/// Most bullets in the air; beyond, triggers do nothing.
pub const MAX_BULLETS: usize = 96;
/// Radius of a bullet, in units.
pub const BULLET_RADIUS: f32 = 0.15;
/// How often a bullet bounces; the next wall ends it.
pub const BOUNCES: u8 = 3;

/// Units per tick. Less than a player's diameter and than any block's side, so that nothing is skipped.
const BULLET_SPEED: f32 = 0.45;
const FLIGHT_TICKS: u16 = 180;
const DAMAGE: u8 = 20;

const _: () = assert!(BULLET_SPEED < 2.0 * PLAYER_RADIUS && MAX_BULLETS < 256);

/// A bullet in the air.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Bullet {
    /// Its number in the match, by which a renderer follows it.
    pub id: u32,
    /// Who fired it.
    pub owner: Seat,
    pub position: Vec2,
    /// Units per tick.
    pub velocity: Vec2,
    pub bounces_left: u8,
    pub ticks_left: u16,
}

impl Bullet {
    /// Before it bounced it can't hit whoever fired it: it starts inside that player.
    fn spares(&self, seat: Seat) -> bool {
        self.owner == seat && self.bounces_left == BOUNCES
    }
}

/// The bullets in the air, oldest first.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Bullets {
    flying: Vec<Bullet>,
    fired: u32,
}

impl Bullets {
    /// None, and none fired yet.
    pub fn new() -> Bullets {
        Bullets { flying: Vec::with_capacity(MAX_BULLETS), fired: 0 }
    }

    /// The bullets in the air, oldest first.
    pub fn flying(&self) -> &[Bullet] {
        &self.flying
    }

    /// Whether one more may be fired.
    pub fn has_room(&self) -> bool {
        self.flying.len() < MAX_BULLETS
    }

    /// Fires a bullet from a player's centre: that is never inside anything.
    pub fn fire(&mut self, owner: Seat, position: Vec2, aim: u16) {
        let velocity = Vec2::heading(aim) * BULLET_SPEED;
        let (bounces_left, ticks_left) = (BOUNCES, FLIGHT_TICKS);
        self.flying.push(Bullet { id: self.fired, owner, position, velocity, bounces_left, ticks_left });
        self.fired = self.fired.wrapping_add(1);
    }

    /// Takes the bullets of `seat` out of the air.
    pub fn remove_of(&mut self, seat: Seat) {
        self.flying.retain(|bullet| bullet.owner != seat);
    }

    /// Takes all bullets out of the air.
    pub fn clear(&mut self) {
        self.flying.clear();
    }
}

impl Skirmish {
    /// One tick of flight of every bullet, oldest first.
    pub(crate) fn fly_bullets(&mut self) {
        let mut flying = mem::take(&mut self.bullets.flying);
        flying.retain_mut(|bullet| self.flies_on(bullet));
        self.bullets.flying = flying;
    }

    /// One tick of flight; whether the bullet is still in the air after it.
    fn flies_on(&mut self, bullet: &mut Bullet) -> bool {
        bullet.ticks_left = bullet.ticks_left.saturating_sub(1);
        let flight = self.arena.fly(bullet.position, bullet.velocity, BULLET_RADIUS);
        if bullet.ticks_left == 0 || (flight.bounced && bullet.bounces_left == 0) {
            return false;
        }
        (bullet.position, bullet.velocity) = (flight.position, flight.velocity);
        bullet.bounces_left -= u8::from(flight.bounced);
        match self.target(bullet) {
            Some(seat) => {
                self.hit(seat, bullet.owner);
                false
            }
            None => true,
        }
    }

    /// The first living player, in the order of the seats, that the bullet touches.
    fn target(&self, bullet: &Bullet) -> Option<Seat> {
        const REACH: f32 = PLAYER_RADIUS + BULLET_RADIUS;
        let touched = self.seated().find(|(seat, player)| {
            player.standing == Standing::Alive
                && !bullet.spares(*seat)
                && (player.position - bullet.position).length_squared() <= REACH * REACH
        });
        touched.map(|(seat, _)| seat)
    }

    fn hit(&mut self, victim: Seat, owner: Seat) {
        let fell = self.players.get_mut(victim.index()).is_some_and(|player| player.hurt(DAMAGE));
        if let Some(shooter) = self.players.get_mut(owner.index()).filter(|_| fell) {
            let score = shooter.score;
            shooter.score = if owner == victim { score.saturating_sub(1) } else { score.saturating_add(1) };
        }
    }
}
