//! The projection: what a renderer gets of a state, as bytes (K9). [`Scene`](crate::Scene) decodes it.
//!
//! Little-endian throughout. A *place* is two `u16`: x and y in 64ths of a unit. A *seat* is one byte: 0 for nobody, otherwise
//! one more than the seat's number.
//!
//! | part | bytes | |
//! |---|---|---|
//! | head | 1 | [`PROJECTION_VERSION`] |
//! | | 2 | cells of the arena: columns, rows; a cell is 8 units wide |
//! | | 1 | phase: 0 playing, 1 intermission, 2 over |
//! | | 1 | seat that won the round or the match |
//! | | 2 | ticks left of the intermission, otherwise 0 |
//! | | 1 | round, from 1 |
//! | blocks | 1 | how many |
//! | | 8 each | place of the upper left corner, place of the lower right one |
//! | players | 1 | how many: one a seat |
//! | | 18 each | see below |
//! | bullets | 1 | how many |
//! | | 9 each | `u32` number in the match, seat of the owner, place |
//! | pickups | 1 | how many |
//! | | 5 each | kind (0 health, 1 rapid fire, 2 shield), place |
//!
//! A player: standing (0 absent, 1 away, 2 alive, 3 down), effects (bit 0 shield, bit 1 rapid fire, bit 2 dash), colour, emote
//! (0 for none, otherwise one more than its index), health, rounds won, then six `u16`: ticks until it comes back, x, y, aim in
//! 1024ths of a turn, score, falls.

use alloc::vec::Vec;

use retick_core::seat::Seat;

use crate::numbers::{Vec2, count, to_fixed};
use crate::player::{Player, Standing};
use crate::rounds::Phase;
use crate::world::Skirmish;

/// Version of the format: the first byte.
pub const PROJECTION_VERSION: u8 = 1;

/// Bit of a player's effects: hits do nothing.
pub const EFFECT_SHIELD: u8 = 1;
/// Bit of a player's effects: shots come faster.
pub const EFFECT_RAPID_FIRE: u8 = 2;
/// Bit of a player's effects: it dashes.
pub const EFFECT_DASH: u8 = 4;

/// Appends the projection of `world` to `out`.
pub fn encode(world: &Skirmish, out: &mut Vec<u8>) {
    put_head(world, out);
    out.push(count(world.arena.blocks().len()));
    for block in world.arena.blocks() {
        put_place(block.low, out);
        put_place(block.high, out);
    }
    out.push(count(world.players.len()));
    world.players.iter().for_each(|player| put_player(player, out));
    out.push(count(world.bullets.flying().len()));
    for bullet in world.bullets.flying() {
        out.extend_from_slice(&bullet.id.to_le_bytes());
        out.push(seat_byte(Some(bullet.owner)));
        put_place(bullet.position, out);
    }
    out.push(count(world.pickups.lying().len()));
    for pickup in world.pickups.lying() {
        out.push(pickup.kind.index());
        put_place(pickup.position, out);
    }
}

fn put_head(world: &Skirmish, out: &mut Vec<u8>) {
    let (columns, rows) = world.arena.cells();
    let (phase, winner, ticks_left) = match world.progress.phase {
        Phase::Playing => (0, None, 0),
        Phase::Intermission { winner, ticks_left } => (1, Some(winner), ticks_left),
        Phase::Over { winner } => (2, winner, 0),
    };
    out.extend_from_slice(&[PROJECTION_VERSION, columns, rows, phase, seat_byte(winner)]);
    out.extend_from_slice(&ticks_left.to_le_bytes());
    out.push(world.progress.round);
}

fn put_player(player: &Player, out: &mut Vec<u8>) {
    let (standing, back_in) = match player.standing {
        Standing::Absent => (0, 0),
        Standing::Away => (1, 0),
        Standing::Alive => (2, 0),
        Standing::Down { ticks_left } => (3, ticks_left),
    };
    let timers = &player.timers;
    let effect = |ticks: u16, bit: u8| if ticks > 0 { bit } else { 0 };
    let effects = effect(timers.shield, EFFECT_SHIELD)
        | effect(timers.rapid_fire, EFFECT_RAPID_FIRE)
        | effect(timers.dash, EFFECT_DASH);
    let emote = if timers.emote > 0 { player.emote.saturating_add(1) } else { 0 };
    out.extend_from_slice(&[standing, effects, player.colour, emote, player.health, player.rounds_won]);
    let (x, y) = (to_fixed(player.position.x), to_fixed(player.position.y));
    let words = [back_in, x, y, player.aim, player.score, player.falls];
    words.iter().for_each(|word| out.extend_from_slice(&word.to_le_bytes()));
}

fn put_place(place: Vec2, out: &mut Vec<u8>) {
    out.extend_from_slice(&to_fixed(place.x).to_le_bytes());
    out.extend_from_slice(&to_fixed(place.y).to_le_bytes());
}

fn seat_byte(seat: Option<Seat>) -> u8 {
    seat.map_or(0, |seat| seat.number() + 1)
}
