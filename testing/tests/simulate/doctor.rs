//! Traces that hold, and ways to change one thing in them.

use std::sync::OnceLock;

use retick_authority::log::Record;
use retick_core::codec::wire::Cursor;
use retick_core::frame::{Frame, SeatFrame};
use retick_core::seat::{Generation, SeatCount};
use retick_core::tick::Moment;
use retick_core::wire::{ClientMessage, RoomMessage};
use retick_testing::simulate::{RoomSeen, Rule, Schedule, Seen, judge, run_recorded};

use crate::plain::plain;

pub type Trace = Vec<(Moment, Seen)>;

pub fn played() -> &'static (Schedule, Trace) {
    static PLAYED: OnceLock<(Schedule, Trace)> = OnceLock::new();
    PLAYED.get_or_init(|| record(plain()))
}

pub fn record(schedule: Schedule) -> (Schedule, Trace) {
    let outcome = run_recorded(&schedule);
    assert_eq!(outcome.breach.map(|breach| breach.to_string()), None, "guard: it holds as it is");
    (schedule, outcome.trace)
}

/// The rule that a doctored trace of the plain match breaks.
pub fn broken(doctor: impl FnOnce(&mut Trace)) -> Option<Rule> {
    let (schedule, trace) = played();
    let mut doctored = trace.clone();
    doctor(&mut doctored);
    assert_ne!(&doctored, trace, "guard: something was changed");
    judge(schedule, &doctored).map(|breach| breach.rule)
}

/// Where the `skipped`-th thing is that `is` says.
pub fn place(trace: &Trace, skipped: usize, is: impl Fn(&Seen) -> bool) -> usize {
    let mut places = trace.iter().enumerate().filter(|(_, (_, seen))| is(seen)).map(|(place, _)| place);
    places.nth(skipped).expect("the trace has it")
}

pub fn repeat(trace: &mut Trace, skipped: usize, is: impl Fn(&Seen) -> bool) {
    let place = place(trace, skipped, is);
    trace.insert(place, trace[place].clone());
}

pub fn is_sent(seen: &Seen, is: impl Fn(&RoomMessage<'_>) -> bool) -> bool {
    matches!(seen, Seen::Sent { bytes, .. } if RoomMessage::decode(bytes).is_ok_and(|message| is(&message)))
}

pub fn is_handed(seen: &Seen, is: impl Fn(&ClientMessage<'_>) -> bool) -> bool {
    matches!(seen, Seen::Handed { bytes, .. } if ClientMessage::decode(bytes).is_ok_and(|message| is(&message)))
}

pub fn is_frame_record(seen: &Seen) -> bool {
    matches!(seen, Seen::Record { bytes, .. } if Record::is_frame(bytes))
}

pub fn encoded(message: &RoomMessage<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    message.encode_into(&mut bytes);
    bytes
}

/// Changes the frame in a record.
pub fn with_frame(trace: &mut Trace, skipped: usize, change: impl FnOnce(&Frame) -> Frame) {
    let place = place(trace, skipped, is_frame_record);
    let Seen::Record { bytes, .. } = &mut trace[place].1 else { panic!("a record") };
    let Ok(Record::Frame { tick, frame, head }) = Record::decode(bytes) else { panic!("a frame's") };
    let mut before = Frame::new(Generation(0), tick);
    before.decode_full(&mut Cursor::new(frame), SeatCount::new(3).expect("valid")).expect("the room's own");
    let (mut encoded, mut record) = (Vec::new(), Vec::new());
    change(&before).encode_full(&mut encoded);
    Record::Frame { tick, frame: &encoded, head }.encode_into(&mut record);
    *bytes = record;
}

pub fn copy_of(frame: &Frame, change: impl Fn(SeatFrame<'_>) -> SeatFrame<'_>) -> Frame {
    let mut copy = Frame::new(frame.generation(), frame.tick());
    copy.set_fence(frame.fence());
    frame.seats().for_each(|seat| copy.push_seat(change(seat)));
    frame.commands().for_each(|(source, payload)| copy.push_command(source, payload));
    copy
}

/// Changes every call of the room's from a moment on.
pub fn from_call(trace: &mut Trace, millis: u64, mut change: impl FnMut(&mut RoomSeen)) {
    for (at, seen) in trace.iter_mut().filter(|(at, _)| *at >= Moment::from_millis(millis)) {
        let _ = at;
        if let Seen::RoomTurn(room) = seen {
            change(room);
        }
    }
}
