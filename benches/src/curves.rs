//! What a tick costs as seats, state, rollback depth and match length grow.

use retick_core::chunked::Chunked;
use retick_core::digest::Checksum;

use crate::bulk::{Bulk, MAX_STATE_BYTES, MIN_STATE_BYTES};
use crate::counters::Counters;
use crate::game::{DISTANCE, Inputs};
use crate::match_room::MatchRoom;
use crate::peer::Ggrs;
use crate::plot::Curve;
use crate::report::size;
use crate::rollback::{Checksums, Rollback, Setup};
use crate::rounds::{Plan, Timing, take_turns};

/// Seats of a match; the last is the most that a match can have.
const SEATS: [u8; 8] = [1, 2, 4, 8, 16, 32, 64, 128];
/// Ticks resimulated in every tick.
const DEPTHS: [u16; 8] = [0, 1, 2, 4, 8, 16, 32, 64];
/// Match lengths, in ticks; a million is four and a half hours at 60 Hz.
const LENGTHS: [u64; 4] = [1_000, 10_000, 100_000, 1_000_000];
/// Ticks that are timed together after each length.
const BLOCK_TICKS: u32 = 64;

fn setup(depth: u16, checksums: Checksums) -> Setup {
    Setup { depth, inputs: Inputs::Moving, checksums }
}

fn times(turn: &mut dyn FnMut(), count: u32) {
    (0..count).for_each(|_| turn());
}

/// Cost against seats, a state of 16 bytes.
#[must_use]
pub fn seats(plan: Plan) -> Curve {
    let measure = |seats: u8| {
        let mut retick = Rollback::counters(seats, setup(DISTANCE, Checksums::Default));
        let mut ggrs = Ggrs::new(seats, DISTANCE, Counters::default());
        let mut room = MatchRoom::new(seats);
        take_turns(
            plan,
            &mut [
                &mut |ticks| times(&mut || retick.turn(), ticks),
                &mut |ticks| times(&mut || ggrs.turn(), ticks),
                &mut |ticks| times(&mut || room.turn(), ticks),
            ],
        )
    };
    let rows = SEATS.map(measure);
    Curve {
        title: "One tick with a rollback of 7, by seats (state of 16 bytes)",
        name: "seats",
        axis: "seats",
        steps: SEATS.map(|seats| seats.to_string()).to_vec(),
        series: series(["Retick, session", "GGRS, session", "Retick, room (a tick of the authority)"], &rows),
    }
}

/// Cost against the size of the state.
#[must_use]
pub fn state(plan: Plan, most: u32) -> Curve {
    let sizes: Vec<u32> = std::iter::successors(Some(MIN_STATE_BYTES), |bytes| Some(bytes * 4))
        .take_while(|bytes| *bytes <= most.min(MAX_STATE_BYTES))
        .collect();
    let measure = |bytes: &u32| {
        let mut plain = Rollback::bulk::<Vec<u8>>(*bytes, setup(DISTANCE, Checksums::Never));
        let mut chunked = Rollback::bulk::<Chunked<u8>>(*bytes, setup(DISTANCE, Checksums::Never));
        let mut ggrs = Ggrs::new(2, DISTANCE, Bulk::<Vec<u8>>::new(*bytes));
        let mut summed = Rollback::bulk::<Vec<u8>>(*bytes, setup(DISTANCE, Checksums::Never));
        let zero = Checksum::from_bytes([0; 32]);
        take_turns(
            plan,
            &mut [
                &mut |ticks| times(&mut || plain.turn(), ticks),
                &mut |ticks| times(&mut || chunked.turn(), ticks),
                &mut |ticks| times(&mut || ggrs.turn(), ticks),
                &mut |ticks| times(&mut || assert_ne!(summed.head_checksum(), zero), ticks),
            ],
        )
    };
    let rows: Vec<_> = sizes.iter().map(measure).collect();
    Curve {
        title: "One tick with a rollback of 7, by size of the state (1 KiB of it touched)",
        name: "state",
        axis: "state",
        steps: sizes.into_iter().map(size).collect(),
        series: series(
            [
                "Retick, plain state",
                "Retick, Chunked state",
                "GGRS, plain state",
                "one checksum (every 120 ticks by default)",
            ],
            &rows,
        ),
    }
}

/// Cost against the depth of the rollback.
#[must_use]
pub fn depth(plan: Plan) -> Curve {
    let measure = |depth: u16| {
        let mut retick = Rollback::counters(2, setup(depth, Checksums::Default));
        let mut ggrs = Ggrs::new(2, depth, Counters::default());
        take_turns(
            plan,
            &mut [&mut |ticks| times(&mut || retick.turn(), ticks), &mut |ticks| times(&mut || ggrs.turn(), ticks)],
        )
    };
    let rows = DEPTHS.map(measure);
    let mut series = series(["Retick", "GGRS"], &rows);
    // At distance 0 GGRS saves nothing at all, so there is nothing to stand beside.
    series[1].1[0] = None;
    Curve {
        title: "One tick by depth of its rollback (2 seats, state of 16 bytes)",
        name: "depth",
        axis: "ticks resimulated (0: lockstep)",
        steps: DEPTHS.map(|depth| depth.to_string()).to_vec(),
        series,
    }
}

/// Cost after so many ticks of one match, which must not grow.
#[must_use]
pub fn length(most: u64) -> Curve {
    let lengths: Vec<u64> = LENGTHS.into_iter().filter(|length| *length <= most).collect();
    let mut retick = Rollback::counters(2, setup(DISTANCE, Checksums::Default));
    let mut ggrs = Ggrs::new(2, DISTANCE, Counters::default());
    let mut room = MatchRoom::new(2);
    let plan = Plan { rounds: 21, max_ticks: BLOCK_TICKS, ..Plan::FULL };
    let measure = |length: &u64| {
        while retick.played() < *length {
            retick.turn();
        }
        while ggrs.played() < *length {
            ggrs.turn();
        }
        while room.played() < *length {
            room.turn();
        }
        take_turns(
            plan,
            &mut [
                &mut |ticks| times(&mut || retick.turn(), ticks),
                &mut |ticks| times(&mut || ggrs.turn(), ticks),
                &mut |ticks| times(&mut || room.turn(), ticks),
            ],
        )
    };
    let rows: Vec<_> = lengths.iter().map(measure).collect();
    Curve {
        title: "One tick after so many ticks of a match (2 seats, rollback of 7)",
        name: "length",
        axis: "ticks played",
        steps: lengths.iter().map(u64::to_string).collect(),
        series: series(["Retick, session", "GGRS, session", "Retick, room"], &rows),
    }
}

/// One series for each contender, from one row of timings for each step.
fn series<const N: usize>(names: [&'static str; N], rows: &[Vec<Timing>]) -> Vec<(&'static str, Vec<Option<f64>>)> {
    let times = |index: usize| rows.iter().map(|row| row.get(index).map(|timing| timing.median)).collect();
    names.into_iter().enumerate().map(|(index, name)| (name, times(index))).collect()
}
