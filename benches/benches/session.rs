//! What a session costs around a game that costs nothing: every tick rolls back seven ticks and resimulates them.
//!
//! Beside it, in the same run, GGRS's `SyncTestSession` does the same with the same game and inputs.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use ggrs::{Config, GgrsRequest, PredictRepeatLast, SessionBuilder, SyncTestSession};
use retick_benches::{ByteInput, Counters, counters_factory, counters_match};
use retick_core::frame::{Frame, SeatFrame};
use retick_core::runtime::RuntimeFactory;
use retick_core::seat::{Generation, Presence, Seat, SeatCount};
use retick_core::session::{Budget, Session, SessionPolicy};
use retick_core::tick::Tick;

/// Ticks resimulated in every tick.
const DISTANCE: usize = 7;

fn input(seat: usize, tick: u64) -> u8 {
    (tick * 7 + seat as u64 * 3).to_le_bytes()[0]
}

struct Retick {
    session: Session,
    frame: Frame,
    seats: SeatCount,
}

impl Retick {
    fn new(seats: SeatCount) -> Retick {
        let factory = counters_factory().expect("a valid manifest");
        let descriptor = counters_match(&factory, seats);
        let runtime = factory.create(&descriptor).expect("the factory's own match");
        let local = seats.seats().take(1).collect();
        let session = Session::new(runtime, &descriptor, SessionPolicy::default(), local).expect("a valid policy");
        Retick { session, frame: Frame::new(Generation(0), Tick::ZERO), seats }
    }

    /// One tick: predict it, and learn what was played seven ticks ago, which was guessed wrongly.
    fn turn(&mut self) {
        let head = self.session.head();
        let local = Seat::new(0).expect("below the limit");
        self.session.submit(local, head, &[input(0, head.index())]).expect("the next tick");
        if let Some(late) = head.index().checked_sub(DISTANCE as u64) {
            self.frame.reset(Generation(0), Tick::new(late));
            for seat in self.seats.seats() {
                let packed = [input(seat.index(), late)];
                let presence = Presence::Human;
                self.frame.push_seat(SeatFrame { input: Some(&packed), presence, ..SeatFrame::default() });
            }
            self.session.confirm(&self.frame).expect("the next frame");
        }
        let budget = Budget { confirmed_frames: usize::MAX, target: head.saturating_add(1) };
        black_box(self.session.advance(budget).expect("the game never faults"));
        while self.session.poll_event().is_some() {}
    }
}

struct Peer;

impl Config for Peer {
    type Input = ByteInput;
    type InputPredictor = PredictRepeatLast;
    type State = Counters;
    type Address = u8;
}

struct Ggrs {
    session: SyncTestSession<Peer>,
    state: Counters,
    tick: u64,
}

impl Ggrs {
    fn new(seats: usize) -> Ggrs {
        let builder = SessionBuilder::<Peer>::new().with_num_players(seats).expect("a player count");
        let session = builder.with_check_distance(DISTANCE).start_synctest_session().expect("a valid session");
        Ggrs { session, state: Counters::default(), tick: 0 }
    }

    fn turn(&mut self) {
        for seat in 0..self.session.num_players() {
            self.session.add_local_input(seat, ByteInput(input(seat, self.tick))).expect("a local player");
        }
        for request in self.session.advance_frame().expect("no mismatch") {
            match request {
                GgrsRequest::SaveGameState { cell, frame } => cell.save(frame, Some(self.state), None),
                GgrsRequest::LoadGameState { cell, .. } => self.state = cell.load().expect("a saved state"),
                GgrsRequest::AdvanceFrame { inputs } => self.state.step(inputs.iter().map(|(input, _)| input.0)),
            }
        }
        self.tick += 1;
        black_box(self.state);
    }
}

fn session(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("session at distance 7, 16-byte state");
    for count in [2u8, 8] {
        let seats = SeatCount::new(count).expect("a seat count");
        let mut retick = Retick::new(seats);
        group.bench_function(BenchmarkId::new("retick", count), |bencher| bencher.iter(|| retick.turn()));
        let mut ggrs = Ggrs::new(usize::from(count));
        group.bench_function(BenchmarkId::new("ggrs", count), |bencher| bencher.iter(|| ggrs.turn()));
    }
    group.finish();
}

criterion_group!(benches, session);
criterion_main!(benches);
