//! Messages, frames and records: whatever is taken is written as the same bytes.

use retick_authority::log::Record;
use retick_core::codec::wire::Cursor;
use retick_core::frame::{Frame, FrameKey, FrameRunReader, FrameRunWriter};
use retick_core::seat::{Generation, SeatCount};
use retick_core::tick::Tick;
use retick_core::wire::{ClientMessage, Frames, RoomMessage};

use super::room::captured;
use super::{Seed, Verdict};

/// Seats of the matches that runs of frames are read for, and most of those that a frame alone is.
const SEATS: u8 = 3;
const MOST_SEATS: u8 = 4;

pub(super) fn check(input: &[u8]) -> Verdict {
    let Some((kind, bytes)) = input.split_first() else { return Verdict::Refused };
    match kind % 4 {
        0 => client(bytes),
        1 => room(bytes),
        2 => record(bytes),
        _ => full_frame(bytes),
    }
}

fn client(bytes: &[u8]) -> Verdict {
    let message = ClientMessage::decode(bytes);
    if let Ok(message) = &message {
        assert_written(bytes, |out| message.encode_into(out));
        if let ClientMessage::Tail(frames) = message {
            run(frames);
        }
    }
    Verdict::of(&message)
}

fn room(bytes: &[u8]) -> Verdict {
    let message = RoomMessage::decode(bytes);
    if let Ok(message) = &message {
        assert_written(bytes, |out| message.encode_into(out));
        if let RoomMessage::Frames(frames) = message {
            run(frames);
        }
    }
    Verdict::of(&message)
}

fn record(bytes: &[u8]) -> Verdict {
    let record = Record::decode(bytes);
    if let Ok(record) = &record {
        assert_written(bytes, |out| record.encode_into(out));
        assert_eq!(Record::is_frame(bytes), matches!(record, Record::Frame { .. }));
        assert_eq!(Record::is_summary(bytes), matches!(record, Record::Summary { .. }));
    }
    Verdict::of(&record)
}

/// A frame does not say how many seats it is for, so it is read for each number of them.
fn full_frame(bytes: &[u8]) -> Verdict {
    let mut verdict = Verdict::Refused;
    for seats in (1..=MOST_SEATS).filter_map(SeatCount::new) {
        let (mut frame, mut cursor) = (Frame::new(Generation(0), Tick::ZERO), Cursor::new(bytes));
        if frame.decode_full(&mut cursor, seats).is_ok() {
            let rest = cursor.rest().len();
            assert_written(&bytes[..bytes.len() - rest], |out| frame.encode_full(out));
            assert_eq!(frame.seat_count(), seats.count());
            verdict = Verdict::Taken;
        }
    }
    verdict
}

/// A run of frames that is read to its end is written as the same bytes.
fn run(frames: &Frames<'_>) {
    let Some(seats) = SeatCount::new(SEATS) else { return };
    let empty = || Frame::new(frames.generation, Tick::ZERO);
    let (mut reader, mut writer) = (FrameRunReader::new(frames.body), FrameRunWriter::default());
    let (mut frame, mut before) = (empty(), empty());
    for offset in 0..frames.count {
        let tick = frames.first.saturating_add(u64::from(offset));
        let key = FrameKey { generation: frames.generation, tick, seats };
        let base = (offset > 0).then_some(&before);
        if reader.read(&mut frame, base, key).is_err() {
            return;
        }
        assert_eq!((frame.tick(), frame.generation()), (tick, frames.generation));
        writer.push(&frame, base);
        std::mem::swap(&mut frame, &mut before);
    }
    if reader.finish().is_ok() {
        assert!(writer.body().len() <= frames.body.len(), "no other form is shorter than the one that is written");
    }
}

fn assert_written(bytes: &[u8], write: impl FnOnce(&mut Vec<u8>)) {
    let mut written = Vec::with_capacity(bytes.len());
    write(&mut written);
    assert_eq!(written, bytes, "what was decoded encodes to the same bytes");
}

/// One message and one record of each kind, as a room and its players said and wrote them.
pub(super) fn seeds() -> Vec<Seed> {
    captured()
}
