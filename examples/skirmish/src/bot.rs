//! Inputs that no human gives: a script for demos and tests, and what the game itself plays for bot seats.

use retick_core::seat::Seat;
use retick_core::tick::Tick;

use crate::input::{STICK, SkirmishInput};
use crate::numbers::AIM_STEPS;
use crate::player::Standing;
use crate::world::Skirmish;

/// Ticks of a stretch in which a script does one thing; each seat's begin at other ticks.
const STRETCH_TICKS: u64 = 24;
/// The square of the distance within which a bot shoots, in units.
const SIGHT_SQUARED: f32 = 16.0 * 16.0;

/// What a scripted player gives at `tick`: it holds directions and changes them, sweeps its aim, fires in bursts and dashes
/// now and then, like a human. A pure function, so that every run and every machine has the same.
#[must_use]
pub fn scripted_input(seat: Seat, tick: Tick, seed: u64) -> SkirmishInput {
    let seat_number = u64::from(seat.number());
    let time = tick.index().wrapping_add(seat_number * 7);
    let (stretch, place) = (time / STRETCH_TICKS, time % STRETCH_TICKS);
    let stretch_seed = |stretch: u64| mixed(seed ^ mixed(seat_number << 32 ^ stretch));
    let random = stretch_seed(stretch);
    // Some stretches change direction on the way.
    let turn = 6 + random % 30;
    let (move_x, move_y) = stick(if place < turn { random >> 8 } else { random >> 16 });
    SkirmishInput {
        move_x,
        move_y,
        aim: sweep(random >> 24, stretch_seed(stretch.wrapping_add(1)) >> 24, place),
        fire: random >> 40 & 3 != 0 && place >= (random >> 42 & 7),
        dash: random >> 48 & 7 == 0 && place == (random >> 52 & 15),
    }
}

/// One of eight directions, half or full, or rest.
fn stick(random: u64) -> (i8, i8) {
    let level = if random >> 4 & 3 == 0 { STICK / 2 } else { STICK };
    let axis = |value: u64| match value % 3 {
        0 => -level,
        1 => 0,
        _ => level,
    };
    (axis(random & 3), axis(random >> 2 & 3))
}

/// The aim `place` ticks into a stretch: from one end to the other, the shorter way round.
fn sweep(from: u64, to: u64, place: u64) -> u16 {
    let turn = u64::from(AIM_STEPS);
    let (from, to) = (from % turn, to % turn);
    let forward = (to + turn - from) % turn;
    let aim = if forward <= turn / 2 {
        from + forward * place / STRETCH_TICKS
    } else {
        from + turn - (turn - forward) * place / STRETCH_TICKS
    };
    u16::try_from(aim % turn).unwrap_or(0)
}

/// The finaliser of SplitMix64: every bit of the result depends on every bit of `value`.
fn mixed(value: u64) -> u64 {
    let value = value.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let value = (value ^ value >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let value = (value ^ value >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    value ^ value >> 31
}

/// What the game plays for a bot: it wanders like a script, and shoots at the nearest player it can see.
pub(crate) fn play(world: &Skirmish, seat: Seat, tick: Tick) -> Option<SkirmishInput> {
    let bot = world.players.get(seat.index())?;
    let others = world.seated().filter(|(other, player)| *other != seat && player.standing == Standing::Alive);
    let offsets = others.map(|(_, player)| player.position - bot.position);
    let nearest =
        offsets.reduce(|best, offset| if offset.length_squared() < best.length_squared() { offset } else { best });
    let wandering = SkirmishInput { fire: false, ..scripted_input(seat, tick, 0) };
    match nearest {
        Some(offset) if offset.length_squared() < SIGHT_SQUARED => {
            Some(SkirmishInput { aim: offset.aim(), fire: true, ..wandering })
        }
        _ => Some(wandering),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use retick_core::input::GameInput;

    use super::*;

    fn script(seat: u8, seed: u64) -> impl Iterator<Item = SkirmishInput> {
        (0..3_600).map(move |tick| scripted_input(Seat::new(seat).expect("a seat"), Tick::new(tick), seed))
    }

    #[test]
    fn a_script_is_valid_and_varied() {
        let schema = SkirmishInput::schema();
        for seat in 0..8 {
            let inputs: std::vec::Vec<_> = script(seat, 7).collect();
            assert!(inputs.iter().all(|input| schema.pack(input).is_ok()));
            let directions: BTreeSet<_> = inputs.iter().map(|input| (input.move_x, input.move_y)).collect();
            assert!(directions.len() >= 9, "{directions:?}");
            let firing = inputs.iter().filter(|input| input.fire).count();
            assert!((900..3_000).contains(&firing), "{firing} of 3,600 ticks");
            assert!(inputs.iter().any(|input| input.dash));
            let held =
                inputs.windows(2).filter(|pair| (pair[0].move_x, pair[0].move_y) == (pair[1].move_x, pair[1].move_y));
            assert!(held.count() > 3_000, "directions are held");
            let jump = |pair: &[SkirmishInput]| {
                let distance = pair[0].aim.abs_diff(pair[1].aim);
                distance.min(AIM_STEPS - distance)
            };
            assert!(inputs.windows(2).all(|pair| jump(pair) <= 24), "the aim sweeps");
        }
    }

    #[test]
    fn seats_and_seeds_differ() {
        assert!(script(0, 7).ne(script(1, 7)));
        assert!(script(0, 7).ne(script(0, 8)));
        assert!(script(3, 9).eq(script(3, 9)));
    }
}
