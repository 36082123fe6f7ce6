//! Pickups: where and when they appear, and what they do. Their random stream is drawn from only when one appears, so that
//! nothing else in the game shifts it.

use alloc::vec::Vec;
use core::mem;

use retick_core::rng::RngStream;
use serde::{Deserialize, Serialize};

use crate::arena::Arena;
use crate::numbers::Vec2;
use crate::player::{FULL_HEALTH, PLAYER_RADIUS, Player, Standing};
use crate::world::Skirmish;

/// Most pickups on the floor.
pub const MAX_PICKUPS: usize = 4;

const PICKUP_RADIUS: f32 = 0.5;
/// Ticks after which a pickup that nobody took disappears.
const LYING_TICKS: u16 = 900;
/// Ticks between two pickups.
const PAUSE_TICKS: core::ops::RangeInclusive<u32> = 150..=420;
const HEALING: u8 = 50;
const RAPID_FIRE_TICKS: u16 = 360;
const SHIELD_TICKS: u16 = 240;

/// What a pickup does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum PickupKind {
    /// Heals by half.
    Health,
    /// Shots come faster for a while.
    RapidFire,
    /// Hits do nothing for a while.
    Shield,
}

impl PickupKind {
    /// Every kind.
    pub(crate) const ALL: [PickupKind; 3] = [PickupKind::Health, PickupKind::RapidFire, PickupKind::Shield];

    /// Position in [`PickupKind::ALL`].
    pub(crate) const fn index(self) -> u8 {
        match self {
            PickupKind::Health => 0,
            PickupKind::RapidFire => 1,
            PickupKind::Shield => 2,
        }
    }

    fn apply(self, player: &mut Player) {
        let timers = &mut player.timers;
        match self {
            PickupKind::Health => player.health = player.health.saturating_add(HEALING).min(FULL_HEALTH),
            PickupKind::RapidFire => timers.rapid_fire = RAPID_FIRE_TICKS,
            PickupKind::Shield => timers.shield = timers.shield.max(SHIELD_TICKS),
        }
    }
}

/// A pickup on the floor.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Pickup {
    pub kind: PickupKind,
    pub position: Vec2,
    pub ticks_left: u16,
}

/// The pickups on the floor, oldest first, and when the next one appears.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Pickups {
    lying: Vec<Pickup>,
    next_in_ticks: u16,
    rng: RngStream,
}

impl Pickups {
    /// None yet.
    pub fn new(mut rng: RngStream) -> Pickups {
        let next_in_ticks = pause(&mut rng);
        Pickups { lying: Vec::with_capacity(MAX_PICKUPS), next_in_ticks, rng }
    }

    /// The pickups on the floor, oldest first.
    pub fn lying(&self) -> &[Pickup] {
        &self.lying
    }

    /// Takes all pickups off the floor.
    pub fn clear(&mut self) {
        self.lying.clear();
    }

    fn pass_time(&mut self, arena: &Arena) {
        self.lying.retain_mut(|pickup| {
            pickup.ticks_left = pickup.ticks_left.saturating_sub(1);
            pickup.ticks_left > 0
        });
        self.next_in_ticks = self.next_in_ticks.saturating_sub(1);
        if self.next_in_ticks == 0 {
            self.appear(arena);
        }
    }

    fn appear(&mut self, arena: &Arena) {
        let kind = *self.rng.pick(&PickupKind::ALL).unwrap_or(&PickupKind::Health);
        let position = arena.point(self.rng.below(arena.point_count()));
        self.next_in_ticks = pause(&mut self.rng);
        let taken = self.lying.iter().any(|pickup| pickup.position == position);
        if !taken && self.lying.len() < MAX_PICKUPS {
            self.lying.push(Pickup { kind, position, ticks_left: LYING_TICKS });
        }
    }
}

fn pause(rng: &mut RngStream) -> u16 {
    u16::try_from(rng.range(PAUSE_TICKS)).unwrap_or(u16::MAX)
}

impl Skirmish {
    /// Lets pickups appear, disappear and be taken: by the first living player, in the order of the seats, that touches one.
    pub(crate) fn tend_pickups(&mut self) {
        if !self.rules.pickups {
            return;
        }
        self.pickups.pass_time(&self.arena);
        let mut lying = mem::take(&mut self.pickups.lying);
        lying.retain(|pickup| match self.players.iter_mut().find(|player| touches(player, pickup)) {
            Some(player) => {
                pickup.kind.apply(player);
                false
            }
            None => true,
        });
        self.pickups.lying = lying;
    }

    /// Lays a pickup on the floor, for tests.
    #[cfg(test)]
    pub(crate) fn lay(&mut self, kind: PickupKind, position: Vec2) {
        self.pickups.lying.push(Pickup { kind, position, ticks_left: LYING_TICKS });
    }
}

fn touches(player: &Player, pickup: &Pickup) -> bool {
    const REACH: f32 = PLAYER_RADIUS + PICKUP_RADIUS;
    player.standing == Standing::Alive && (player.position - pickup.position).length_squared() <= REACH * REACH
}
