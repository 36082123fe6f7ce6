//! Hot calls, each made a few times under Callgrind, so that a change of a few instructions is seen. `instructions` starts it.
#![expect(missing_docs, reason = "the macros make modules without documentation")]

use std::hint::black_box;

use gungraun::prelude::*;
use retick_benches::bulk::{Bulk, Store};
use retick_benches::game::{DISTANCE, Game, Inputs};
use retick_benches::match_room::MatchRoom;
use retick_benches::rollback::{Checksums, Rollback, Setup};
use retick_core::chunked::Chunked;
use retick_core::digest::Checksum;
use retick_core::frame::{Frame, FrameRunWriter, SeatFrame};
use retick_core::input::{GameInput, InputSchema, Packer, Unpacker};
use retick_core::seat::{Generation, Presence};
use retick_core::tick::Tick;
use retick_core::wire::{Frames, ReleaseTag, RoomMessage};

/// Ticks before what is counted: buffers have their sizes, and no checksum is due in the counted ones.
const WARM_TICKS: u64 = 200;
/// How often a call is made.
const TIMES: u8 = 16;
/// Bytes of the states that are saved and summed.
const STATE_BYTES: u32 = 64 << 10;
/// The C library copies memory by what the processor can do; this makes it copy the same way on all of them.
const PLAIN_PROCESSOR: &str = "glibc.cpu.hwcaps=-AVX512F,-AVX512VL,-AVX2,-AVX,-ERMS,-FSRM,-SSSE3";

fn session(seats: u8, inputs: Inputs) -> Rollback {
    let mut session = Rollback::counters(seats, Setup { depth: DISTANCE, inputs, checksums: Checksums::Default });
    (0..WARM_TICKS).for_each(|_| session.turn());
    session
}

#[library_benchmark]
#[bench::seats_2(session(2, Inputs::Moving))]
#[bench::seats_8(session(8, Inputs::Moving))]
fn turn_with_rollback(mut session: Rollback) -> Rollback {
    (0..TIMES).for_each(|_| session.turn());
    black_box(session)
}

#[library_benchmark]
#[bench::seats_2(session(2, Inputs::Held))]
#[bench::seats_8(session(8, Inputs::Held))]
fn turn_guessed_right(mut session: Rollback) -> Rollback {
    (0..TIMES).for_each(|_| session.turn());
    black_box(session)
}

#[library_benchmark]
#[bench::seats_2(session(2, Inputs::Moving))]
fn submit(mut session: Rollback) -> Rollback {
    session.submit();
    black_box(session)
}

#[library_benchmark]
#[bench::seats_2(session(2, Inputs::Moving))]
#[bench::seats_8(session(8, Inputs::Moving))]
fn confirm(mut session: Rollback) -> Rollback {
    session.confirm();
    black_box(session)
}

fn room(seats: u8) -> MatchRoom {
    let mut room = MatchRoom::new(seats);
    (0..WARM_TICKS).for_each(|_| room.turn());
    room
}

#[library_benchmark]
#[bench::seats_2(room(2))]
#[bench::seats_8(room(8))]
fn room_tick(mut room: MatchRoom) -> MatchRoom {
    (0..TIMES).for_each(|_| room.turn());
    black_box(room)
}

/// The body of a message with one frame of eight seats.
fn frame_body() -> Vec<u8> {
    let mut frame = Frame::new(Generation(0), Tick::new(1000));
    for seat in 0..8 {
        let (packed, presence) = ([Inputs::Moving.of(seat, 1000)], Presence::Human);
        frame.push_seat(SeatFrame { input: Some(&packed), presence, ..SeatFrame::default() });
    }
    let mut run = FrameRunWriter::default();
    run.push(&frame, None);
    run.body().to_vec()
}

fn frames(body: &[u8]) -> RoomMessage<'_> {
    let (generation, first, tag) = (Generation(0), Tick::new(1000), ReleaseTag::default());
    RoomMessage::Frames(Frames { generation, first, count: 1, complete: true, tag, body })
}

fn frame_message() -> Vec<u8> {
    let mut message = Vec::new();
    frames(&frame_body()).encode_into(&mut message);
    message
}

#[library_benchmark]
#[bench::seats_8((frame_body(), Vec::with_capacity(256)))]
fn wire_encode((body, mut message): (Vec<u8>, Vec<u8>)) -> (Vec<u8>, Vec<u8>) {
    for _ in 0..TIMES {
        message.clear();
        black_box(frames(black_box(&body))).encode_into(&mut message);
    }
    black_box((body, message))
}

#[library_benchmark]
#[bench::seats_8(frame_message())]
fn wire_decode(message: Vec<u8>) -> Vec<u8> {
    for _ in 0..TIMES {
        let decoded = RoomMessage::decode(black_box(&message));
        assert!(black_box(decoded).is_ok());
    }
    message
}

/// An input as games have them: two axes and some buttons.
#[derive(Clone)]
struct Pad([i64; 2], u64);

impl GameInput for Pad {
    fn schema() -> InputSchema {
        let builder = InputSchema::builder("pad/v1").integer("x", -100..=100).integer("y", -100..=100);
        builder.flags("buttons", 8).build().expect("three fields")
    }

    fn pack(&self, packer: &mut Packer<'_>) {
        self.0.iter().for_each(|axis| packer.integer(*axis));
        packer.flags(self.1);
    }

    fn unpack(unpacker: &mut Unpacker<'_>) -> Self {
        Pad([unpacker.integer(), unpacker.integer()], unpacker.flags())
    }
}

fn pad() -> (InputSchema, Vec<u8>) {
    let schema = Pad::schema();
    let packed = schema.pack(&Pad([42, -77], 0b1010_0101)).expect("in range");
    (schema, packed)
}

#[library_benchmark]
#[bench::pad(pad())]
fn schema_validate((schema, packed): (InputSchema, Vec<u8>)) -> (InputSchema, Vec<u8>) {
    for _ in 0..TIMES {
        assert!(schema.validate(black_box(&packed)).is_ok());
    }
    (schema, packed)
}

#[library_benchmark]
#[bench::pad(pad())]
fn schema_unpack((schema, packed): (InputSchema, Vec<u8>)) -> (InputSchema, Vec<u8>) {
    for _ in 0..TIMES {
        black_box(schema.unpack_validated::<Pad>(black_box(&packed)));
    }
    (schema, packed)
}

#[library_benchmark]
#[bench::kib_64(vec![7; STATE_BYTES as usize])]
fn checksum(bytes: Vec<u8>) -> Vec<u8> {
    black_box(Checksum::of(black_box(&bytes)));
    bytes
}

/// A state, and a checkpoint of it from one tick ago.
fn saved<B: Store>() -> (Bulk<B>, Bulk<B>) {
    let mut state = Bulk::new(STATE_BYTES);
    let checkpoint = state.clone();
    touch(&mut state);
    (state, checkpoint)
}

fn touch<B: Store>(state: &mut Bulk<B>) {
    state.play([1, 2].into_iter());
}

fn save<B: Store>((state, mut checkpoint): (Bulk<B>, Bulk<B>)) -> (Bulk<B>, Bulk<B>) {
    checkpoint.clone_from(black_box(&state));
    black_box((state, checkpoint))
}

/// Touches a piece that the state still shares with its checkpoint.
fn touch_saved<B: Store>((mut state, checkpoint): (Bulk<B>, Bulk<B>)) -> (Bulk<B>, Bulk<B>) {
    touch(&mut state);
    black_box((state, checkpoint))
}

fn restore<B: Store>((mut state, checkpoint): (Bulk<B>, Bulk<B>)) -> (Bulk<B>, Bulk<B>) {
    state.clone_from(black_box(&checkpoint));
    black_box((state, checkpoint))
}

type Plain = (Bulk<Vec<u8>>, Bulk<Vec<u8>>);
type Shared = (Bulk<Chunked<u8>>, Bulk<Chunked<u8>>);

#[library_benchmark]
#[bench::kib_64(saved())]
fn plain_save(pair: Plain) -> Plain {
    save(pair)
}

#[library_benchmark]
#[bench::kib_64(saved())]
fn plain_touch(pair: Plain) -> Plain {
    touch_saved(pair)
}

#[library_benchmark]
#[bench::kib_64(saved())]
fn plain_restore(pair: Plain) -> Plain {
    restore(pair)
}

#[library_benchmark]
#[bench::kib_64(saved())]
fn chunked_save(pair: Shared) -> Shared {
    save(pair)
}

#[library_benchmark]
#[bench::kib_64(saved())]
fn chunked_touch(pair: Shared) -> Shared {
    touch_saved(pair)
}

#[library_benchmark]
#[bench::kib_64(saved())]
fn chunked_restore(pair: Shared) -> Shared {
    restore(pair)
}

library_benchmark_group!(
    name = session_group,
    benchmarks = [turn_with_rollback, turn_guessed_right, submit, confirm, room_tick]
);
library_benchmark_group!(
    name = codec_group,
    benchmarks = [wire_encode, wire_decode, schema_validate, schema_unpack, checksum]
);
library_benchmark_group!(
    name = state_group,
    benchmarks = [plain_save, plain_touch, plain_restore, chunked_save, chunked_touch, chunked_restore]
);
main!(
    config = LibraryBenchmarkConfig::default().env("GLIBC_TUNABLES", PLAIN_PROCESSOR);
    library_benchmark_groups = session_group, codec_group, state_group
);
