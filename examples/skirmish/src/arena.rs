//! The arena: outer walls and blocks, and what they do to things that move. It never changes during a match.

use alloc::vec::Vec;
use core::num::NonZeroU32;

use retick_core::rng::RngStream;
use serde::{Deserialize, Serialize};

use crate::config::Rules;
use crate::numbers::{Vec2, bounded};

/// Side of a cell, in units.
pub const CELL: f32 = 8.0;
/// Distance between a block and the edges of its cell, at least: players always fit through.
const MARGIN: f32 = 2.0;
/// Blocks are laid out in quarters of a unit, so that mirroring one is exact.
const QUARTER: f32 = 0.25;
/// Sides of a block, in quarters.
const SIDES: core::ops::RangeInclusive<u32> = 6..=16;
/// Three of five cells have a block.
const BLOCK_CHANCE: (u32, NonZeroU32) = (3, NonZeroU32::MIN.saturating_add(4));
/// How far a spawn point or pickup at the outer wall stands away from it.
const WALL_DISTANCE: f32 = 1.25;

/// A solid rectangle.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Block {
    /// Its upper left corner.
    pub low: Vec2,
    /// Its lower right corner.
    pub high: Vec2,
}

impl Block {
    /// Whether a square of half side `radius` around `point` overlaps the block.
    fn overlaps(&self, point: Vec2, radius: f32) -> bool {
        point.x > self.low.x - radius
            && point.x < self.high.x + radius
            && point.y > self.low.y - radius
            && point.y < self.high.y + radius
    }

    fn nearest(&self, point: Vec2) -> Vec2 {
        Vec2::new(bounded(point.x, self.low.x, self.high.x), bounded(point.y, self.low.y, self.high.y))
    }
}

/// Where a bullet is after one tick of flight.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Flight {
    /// The new position.
    pub position: Vec2,
    /// The new velocity, in units per tick.
    pub velocity: Vec2,
    /// Whether it bounced off something.
    pub bounced: bool,
}

/// The outer walls and the blocks between them.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Arena {
    columns: u8,
    rows: u8,
    blocks: Vec<Block>,
}

impl Arena {
    /// An arena for these rules: point-symmetric, so that no side is better, and open at its centre.
    pub fn generate(rules: &Rules, rng: &mut RngStream) -> Arena {
        let mut arena = Arena { columns: rules.columns, rows: rules.rows, blocks: Vec::new() };
        let (columns, cells) = (u16::from(rules.columns), u16::from(rules.columns) * u16::from(rules.rows));
        for cell in 0..cells / 2 {
            if rng.chance(BLOCK_CHANCE.0, BLOCK_CHANCE.1) {
                let corner = Vec2::new(f32::from(cell % columns), f32::from(cell / columns)) * CELL;
                let block = block_in_cell(corner, rng);
                let mirrored = Block { low: arena.size() - block.high, high: arena.size() - block.low };
                arena.blocks.extend([block, mirrored]);
            }
        }
        arena
    }

    /// An arena of the default size with these blocks, for tests.
    #[cfg(test)]
    pub fn with_blocks(blocks: Vec<Block>) -> Arena {
        let Rules { columns, rows, .. } = Rules::default();
        Arena { columns, rows, blocks }
    }

    /// Cells from left to right and from top to bottom.
    pub fn cells(&self) -> (u8, u8) {
        (self.columns, self.rows)
    }

    /// The lower right corner, in units; the upper left one is the origin.
    pub fn size(&self) -> Vec2 {
        Vec2::new(f32::from(self.columns), f32::from(self.rows)) * CELL
    }

    /// The blocks.
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// How many free points there are.
    pub fn point_count(&self) -> NonZeroU32 {
        NonZeroU32::MIN.saturating_add((u32::from(self.columns) + 1) * (u32::from(self.rows) + 1) - 1)
    }

    /// A point that no block covers, where players and pickups appear: the corners of the cells, numbered in reading order.
    pub fn point(&self, index: u32) -> Vec2 {
        let across = u16::from(self.columns) + 1;
        let index = u16::try_from(index).unwrap_or(0);
        let corner = Vec2::new(f32::from(index % across), f32::from(index / across)) * CELL;
        self.within(corner, WALL_DISTANCE)
    }

    fn within(&self, point: Vec2, distance: f32) -> Vec2 {
        let size = self.size();
        Vec2::new(bounded(point.x, distance, size.x - distance), bounded(point.y, distance, size.y - distance))
    }

    /// The nearest place for a circle that touches neither a wall nor a block.
    #[must_use]
    pub fn push_out(&self, centre: Vec2, radius: f32) -> Vec2 {
        // Blocks are further from each other and from the walls than any circle is wide, so that one pass is enough.
        let inside = self.within(centre, radius);
        self.blocks.iter().fold(inside, |centre, block| push_out_of(block, centre, radius))
    }

    /// One tick of flight of a small square of half side `radius`, one axis after the other.
    pub fn fly(&self, from: Vec2, velocity: Vec2, radius: f32) -> Flight {
        let size = self.size();
        let across = self.blocks.iter().find(|block| block.overlaps(Vec2::new(from.x + velocity.x, from.y), radius));
        let across = across.map(|block| (block.low.x, block.high.x));
        let (x, speed_x, bounced_x) = fly_axis(from.x, velocity.x, radius, size.x, across);
        let down = self.blocks.iter().find(|block| block.overlaps(Vec2::new(x, from.y + velocity.y), radius));
        let down = down.map(|block| (block.low.y, block.high.y));
        let (y, speed_y, bounced_y) = fly_axis(from.y, velocity.y, radius, size.y, down);
        Flight { position: Vec2::new(x, y), velocity: Vec2::new(speed_x, speed_y), bounced: bounced_x || bounced_y }
    }
}

fn block_in_cell(corner: Vec2, rng: &mut RngStream) -> Block {
    let mut side = || {
        let side = rng.range(SIDES);
        (rng.range(0..=*SIDES.end() - side), side)
    };
    let ((left, width), (top, height)) = (side(), side());
    let low = corner + Vec2::new(MARGIN + quarters(left), MARGIN + quarters(top));
    Block { low, high: low + Vec2::new(quarters(width), quarters(height)) }
}

fn quarters(count: u32) -> f32 {
    f32::from(u16::try_from(count).unwrap_or(0)) * QUARTER
}

fn push_out_of(block: &Block, centre: Vec2, radius: f32) -> Vec2 {
    let nearest = block.nearest(centre);
    let offset = centre - nearest;
    let distance = offset.length();
    if distance >= radius {
        centre
    } else if distance > 0.0 {
        nearest + offset * (radius / distance)
    } else {
        push_out_of_inside(block, centre, radius)
    }
}

/// The centre itself is inside: it leaves through the nearest side.
fn push_out_of_inside(block: &Block, centre: Vec2, radius: f32) -> Vec2 {
    let exits = [
        (centre.x - block.low.x, Vec2::new(block.low.x - radius, centre.y)),
        (block.high.x - centre.x, Vec2::new(block.high.x + radius, centre.y)),
        (centre.y - block.low.y, Vec2::new(centre.x, block.low.y - radius)),
        (block.high.y - centre.y, Vec2::new(centre.x, block.high.y + radius)),
    ];
    exits.into_iter().reduce(|best, exit| if exit.0 < best.0 { exit } else { best }).map_or(centre, |(_, exit)| exit)
}

/// Position and speed along one axis after a tick, and whether a wall or the block between `block.0` and `block.1` turned it.
fn fly_axis(from: f32, speed: f32, radius: f32, size: f32, block: Option<(f32, f32)>) -> (f32, f32, bool) {
    let (low, high) = match block {
        Some((start, _)) if speed > 0.0 => (radius, start - radius),
        Some((_, end)) => (end + radius, size - radius),
        None => (radius, size - radius),
    };
    let reached = from + speed;
    let position = bounded(reached, low, high);
    if position == reached { (position, speed, false) } else { (position, -speed, true) }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use retick_core::rng::SessionSeed;

    use super::*;

    fn one_block() -> Arena {
        let block = Block { low: Vec2::new(10.0, 10.0), high: Vec2::new(14.0, 12.0) };
        Arena { columns: 4, rows: 3, blocks: vec![block] }
    }

    #[test]
    fn every_arena_is_symmetric_and_leaves_its_points_free() {
        for seed in 0..50 {
            let mut rng = RngStream::derive(&SessionSeed::from_u64(seed), "arena");
            let rules = Rules { columns: 7, rows: 5, ..Rules::default() };
            let arena = Arena::generate(&rules, &mut rng);
            let mirrored = |block: &Block| Block { low: arena.size() - block.high, high: arena.size() - block.low };
            assert!(arena.blocks().iter().all(|block| arena.blocks().contains(&mirrored(block))));
            for index in 0..arena.point_count().get() {
                let point = arena.point(index);
                assert_eq!(arena.push_out(point, 0.5), point, "seed {seed}, point {index}");
            }
        }
        assert_eq!(one_block().point_count().get(), 20);
    }

    #[test]
    fn a_circle_stays_out_of_walls_and_blocks() {
        let arena = one_block();
        assert_eq!(arena.push_out(Vec2::new(-3.0, 50.0), 0.5), Vec2::new(0.5, 23.5));
        assert_eq!(arena.push_out(Vec2::new(9.8, 11.0), 0.5), Vec2::new(9.5, 11.0));
        // From within it leaves through the nearest side.
        assert_eq!(arena.push_out(Vec2::new(13.75, 11.0), 0.5), Vec2::new(14.5, 11.0));
        // At a corner it is pushed along the diagonal.
        let corner = arena.push_out(Vec2::new(9.75, 9.75), 0.5);
        assert!(((corner - Vec2::new(10.0, 10.0)).length() - 0.5).abs() < 1e-6 && corner.x == corner.y);
    }

    #[test]
    fn a_bullet_bounces_off_walls_and_blocks() {
        let arena = one_block();
        let free = arena.fly(Vec2::new(4.0, 4.0), Vec2::new(0.25, 0.25), 0.125);
        assert_eq!(free, Flight { position: Vec2::new(4.25, 4.25), velocity: Vec2::new(0.25, 0.25), bounced: false });
        let wall = arena.fly(Vec2::new(0.25, 4.0), Vec2::new(-0.25, 0.25), 0.125);
        assert_eq!(wall, Flight { position: Vec2::new(0.125, 4.25), velocity: Vec2::new(0.25, 0.25), bounced: true });
        let block = arena.fly(Vec2::new(9.75, 11.0), Vec2::new(0.25, 0.0), 0.125);
        assert_eq!(block, Flight { position: Vec2::new(9.875, 11.0), velocity: Vec2::new(-0.25, 0.0), bounced: true });
        let below = arena.fly(Vec2::new(12.0, 12.25), Vec2::new(0.0, -0.25), 0.125);
        assert_eq!(below, Flight { position: Vec2::new(12.0, 12.125), velocity: Vec2::new(0.0, 0.25), bounced: true });
    }

    #[test]
    fn a_bullet_never_enters_a_block() {
        let arena = one_block();
        for aim in 0..256 {
            let (mut position, mut velocity) = (Vec2::new(12.0, 8.0), Vec2::heading(aim * 4) * 0.45);
            for _ in 0..1_000 {
                let flight = arena.fly(position, velocity, 0.15);
                (position, velocity) = (flight.position, flight.velocity);
                assert!(!arena.blocks[0].overlaps(position, 0.15), "aim {aim} at {position:?}");
            }
        }
    }
}
