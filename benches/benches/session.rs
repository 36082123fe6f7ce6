//! What `compare` measures, as criterion groups: with criterion's statistics, and for a profiler.

use std::time::Duration;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use retick_benches::bulk::Bulk;
use retick_benches::counters::Counters;
use retick_benches::game::{DISTANCE, Inputs};
use retick_benches::peer::Ggrs;
use retick_benches::report::size;
use retick_benches::rollback::{Checksums, Rollback, Setup};
use retick_core::chunked::Chunked;

fn setup(checksums: Checksums) -> Setup {
    Setup { depth: DISTANCE, inputs: Inputs::Moving, checksums }
}

/// What a session costs around a game that costs nothing.
fn session(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("session at distance 7, 16-byte state");
    for seats in [2u8, 8] {
        let mut retick = Rollback::counters(seats, setup(Checksums::Default));
        group.bench_function(BenchmarkId::new("retick", seats), |bencher| bencher.iter(|| retick.turn()));
        let mut ggrs = Ggrs::new(seats, DISTANCE, Counters::default());
        group.bench_function(BenchmarkId::new("ggrs", seats), |bencher| bencher.iter(|| ggrs.turn()));
    }
    group.finish();
}

/// What checkpoints cost when a tick touches 1 KiB of the state.
fn state(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("state at distance 7, 2 seats");
    group.sample_size(10).warm_up_time(Duration::from_secs(1)).measurement_time(Duration::from_secs(2));
    for bytes in [64 << 10, 1 << 20, 16 << 20] {
        let mut retick = Rollback::bulk::<Vec<u8>>(bytes, setup(Checksums::Never));
        group.bench_function(BenchmarkId::new("retick, plain", size(bytes)), |bencher| bencher.iter(|| retick.turn()));
        let mut retick = Rollback::bulk::<Chunked<u8>>(bytes, setup(Checksums::Never));
        group
            .bench_function(BenchmarkId::new("retick, chunked", size(bytes)), |bencher| bencher.iter(|| retick.turn()));
        let mut ggrs = Ggrs::new(2, DISTANCE, Bulk::<Vec<u8>>::new(bytes));
        group.bench_function(BenchmarkId::new("ggrs", size(bytes)), |bencher| bencher.iter(|| ggrs.turn()));
    }
    group.finish();
}

criterion_group!(benches, session, state);
criterion_main!(benches);
