//! K4: a large state in a chunked array is checkpointed and rolled back without allocations, long-lived checkpoints included.

use retick_core::chunked::{CheckpointClone, Chunked};
use retick_core::config::ConfigSchema;
use retick_core::runtime::{
    Capabilities, GameDescription, InitContext, NativeFactory, NoCommand, Simulation, StepContext,
};
use retick_core::seat::Seat;
use retick_core::tick::TickRate;
use serde::{Deserialize, Serialize};

use crate::{Byte, allocations, session};

/// Elements touched in a tick: a kilobyte of them.
const TOUCHED: usize = 128;

/// A field of `CELLS` elements of 8 bytes, and beside it a list that each tick makes anew and a buffer of changing length.
#[derive(CheckpointClone, Serialize, Deserialize)]
struct Field<const CELLS: usize> {
    cells: Chunked<u64>,
    listed: Chunked<[u64; 16]>,
    recent: Vec<u64>,
}

impl<const CELLS: usize> Simulation for Field<CELLS> {
    type Input = Byte;
    type Command = NoCommand;

    fn describe() -> GameDescription {
        GameDescription {
            tick_rate: TickRate::Hz60,
            state_schema: "field/v1",
            config_schema: ConfigSchema::empty(),
            seats: 2..=2,
            capabilities: Capabilities::default(),
        }
    }

    fn init(_: &InitContext<'_>) -> Result<Self, u32> {
        let mut cells = Chunked::new();
        cells.resize(CELLS, 1);
        Ok(Field { cells, listed: Chunked::new(), recent: Vec::new() })
    }

    fn step(&mut self, context: &StepContext<'_, Self>) {
        let [left, right] = [0, 1].map(|seat| context.input(Seat::new(seat).unwrap()).0.unsigned_abs());
        let tick = usize::try_from(context.tick().index()).unwrap();
        // Not a multiple of a chunk, so that runs cross from one to the next.
        let start = tick * (TOUCHED - 1) % (CELLS - TOUCHED);
        self.cells.for_each_chunk_mut(start..start + TOUCHED, |_, run| {
            run.iter_mut().for_each(|cell| *cell = cell.wrapping_mul(31).wrapping_add(left ^ right));
        });
        self.listed.clear();
        (0..100).for_each(|number| self.listed.push([number ^ right; 16]));
        self.recent.clear();
        self.recent.resize(tick % 50, left);
    }
}

/// A checksum in every tenth tick leaves 25 checkpoints that live for 256 ticks, in which others come and go.
fn check<const CELLS: usize>(warm_up: u64, counted: u64) {
    let sources: [&[u8]; 1] = [include_bytes!("chunked.rs")];
    let factory = NativeFactory::<Field<CELLS>>::new(|manifest| manifest.module("chunked.rs", sources[0])).unwrap();
    let mut session = session(&factory);
    let found = allocations(&mut session, warm_up, counted);
    assert!(session.kept_checkpoints() > 25, "guard: {} checkpoints", session.kept_checkpoints());
    assert_eq!(found.count_total, 0, "{found:?}");
}

#[test]
fn k4_i7_a_chunked_state_of_64_kib_allocates_nothing_per_tick() {
    check::<{ (64 << 10) / 8 }>(1_500, 1_000);
}

#[test]
fn k4_i7_a_chunked_state_of_1_mib_allocates_nothing_per_tick() {
    check::<{ (1 << 20) / 8 }>(2_200, 600);
}
