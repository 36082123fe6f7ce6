//! Each checker passes an honest match, and bites when what was observed is doctored.

use std::sync::Arc;

use retick_core::client::EndReason;
use retick_core::digest::Digest;
use retick_core::event::EventLife;
use retick_core::frame::{Frame, SeatFrame};
use retick_core::seat::{ControlEpoch, Generation, Presence};
use retick_core::session::Standing;

use super::*;
use crate::fixtures::{BEEPING_INPUT, beeper_factory, pack_tally, tally_factory, zig_packed};
use crate::sim::{ClientSetup, EventSeen, MatchSetup, RawSeat};

/// A short match of two clients and a raw seat, with everything that the checkers look at in it.
fn honest() -> MatchReport {
    let factory = Arc::new(tally_factory());
    let rate = factory.manifest().tick_rate();
    let client = || ClientSetup::new(zig_packed).latency_ticks(rate, 2);
    let raw = (0..40).fold(RawSeat::silent(), |raw, tick| raw.input(tick, tick, zig_packed(seat(2), Tick::new(tick))));
    let setup = MatchSetup::new(factory).client(client()).client(client()).raw(raw).strict();
    let mut sim = setup.hard_tolerance_ticks(30).checksum_cadence_ticks(10).last_tick(40).build();
    sim.run_until_confirmed(40);
    let report = sim.finish();
    assert!(report.clients.iter().all(|client| client.frames.len() == 40 && client.reports.len() == 4));
    assert!(report.clients.iter().all(|client| !client.rollbacks.is_empty()));
    report
}

fn seat(number: u8) -> Seat {
    Seat::new(number).expect("valid")
}

/// The first breach of an honest match after `doctor` worked on it.
fn doctored(doctor: impl FnOnce(&mut MatchReport)) -> Breach {
    let mut report = honest();
    doctor(&mut report);
    check_all(&report, &tally_factory()).into_iter().next().expect("the doctored match is caught")
}

fn other_frame(tick: u64) -> Frame {
    let mut frame = Frame::new(Generation(0), Tick::new(tick));
    let (input, presence) = (Some(&[9, 0, 0, 128][..]), Presence::Human);
    for _ in 0..3 {
        frame.push_seat(SeatFrame { input, substituted: false, presence, epoch: ControlEpoch(1) });
    }
    frame
}

#[test]
fn i1_bites_on_a_gap_a_repeat_and_a_swap() {
    let breach =
        |expected, found| Breach::Order { seat: seat(1), expected: Tick::new(expected), found: Tick::new(found) };
    assert_eq!(doctored(|report| drop(report.clients[1].frames.remove(7))), breach(7, 8));
    let repeat = |report: &mut MatchReport| report.clients[1].frames.insert(7, report.frames[6].clone());
    assert_eq!(doctored(repeat), breach(7, 6));
    assert_eq!(doctored(|report| report.clients[1].frames.swap(7, 8)), breach(7, 8));
    assert!(matches!(doctored(|report| drop(report.raw_seats[0].frames.remove(0))), Breach::Order { .. }));
}

#[test]
fn i2_bites_on_another_frame_and_another_chain() {
    let (at, tick) = (seat(0), Tick::new(9));
    let breach = doctored(|report| report.clients[0].frames[9] = other_frame(9));
    assert_eq!(breach, Breach::Frame { seat: at, tick });
    let breach = doctored(|report| report.raw_seats[0].frames[9] = other_frame(9));
    assert_eq!(breach, Breach::Frame { seat: seat(2), tick });
    let breach = doctored(|report| report.clients[0].chain_head = Some(Digest::of(b"")));
    assert_eq!(breach, Breach::Chain { seat: at });
    // A client that has frames which the authority does not know.
    let breach = doctored(|report| drop(report.frames.pop()));
    assert_eq!(breach, Breach::Frame { seat: at, tick: Tick::new(39) });
}

#[test]
fn i3_bites_on_the_first_and_the_last_state_and_on_a_missing_checksum() {
    let false_sum = Checksum::of(b"another state");
    let breach = doctored(|report| report.clients[0].checksums[0].1 = false_sum);
    assert!(matches!(breach, Breach::State { tick, found, .. } if tick == Tick::new(1) && found == false_sum));
    let breach = doctored(|report| report.clients[1].last_state = Some((Tick::new(40), false_sum)));
    assert!(matches!(breach, Breach::State { tick, found, .. } if tick == Tick::new(40) && found == false_sum));
    let (at, tick) = (seat(0), Tick::new(11));
    assert_eq!(doctored(|report| report.clients[0].checksums.truncate(1)), Breach::Checksums { seat: at, tick });
    let twice = |report: &mut MatchReport| {
        let given = report.clients[0].checksums[1];
        report.clients[0].checksums.insert(1, given);
    };
    assert_eq!(doctored(twice), Breach::Checksums { seat: at, tick });
    // The fold itself has to be possible.
    let breach = doctored(|report| {
        let frames: Vec<_> = (0..40).map(|tick| Frame::new(Generation(0), Tick::new(tick))).collect();
        report.clients.iter_mut().for_each(|client| client.frames = frames.clone());
        report.raw_seats[0].frames = frames.clone();
        report.frames = frames;
    });
    assert_eq!(breach, Breach::Fold { tick: Tick::ZERO });
}

#[test]
fn i4_bites_on_an_early_a_double_and_a_false_report() {
    let (at, tick) = (seat(0), Tick::new(11));
    let early = Breach::EarlyReport { seat: at, tick, confirmed: Tick::new(10) };
    assert_eq!(doctored(|report| report.clients[0].reports[1].confirmed = Tick::new(10)), early);
    let double = |report: &mut MatchReport| {
        let sent = report.clients[0].reports[1];
        report.clients[0].reports.push(sent);
    };
    assert_eq!(doctored(double), Breach::WrongReport { seat: at, tick });
    let breach = doctored(|report| report.clients[0].reports[1].checksum = Checksum::of(b""));
    assert_eq!(breach, Breach::WrongReport { seat: at, tick });
}

#[test]
fn i5_bites_one_tick_past_the_window() {
    let stretch = |lead: u64| {
        move |report: &mut MatchReport| {
            let turn = &mut report.clients[0].turns[12];
            turn.head = turn.confirmed.saturating_add(lead);
        }
    };
    assert!(matches!(doctored(stretch(9)), Breach::Window { lead: 9, window: 8, .. }));
    let mut report = honest();
    stretch(8)(&mut report);
    assert_eq!(check_i5(&report), Ok(()));
}

#[test]
fn i6_bites_on_a_target_that_is_the_present_or_was_not_kept() {
    let present = |report: &mut MatchReport| {
        let seen = &mut report.clients[0].rollbacks[0];
        seen.from = seen.head_before;
    };
    assert!(matches!(doctored(present), Breach::RollbackTarget { .. }));
    let released = |report: &mut MatchReport| {
        let seen = report.clients[0].rollbacks.last_mut().expect("rollbacks happened");
        seen.oldest_checkpoint = Some(seen.from.saturating_add(1));
    };
    assert!(matches!(doctored(released), Breach::RollbackTarget { .. }));
}

#[test]
fn i7_bites_on_a_dishonest_end_lost_inputs_and_nonsense() {
    let at = seat(0);
    let breach = doctored(|report| report.clients[0].end = Some(EndReason::Protocol));
    assert_eq!(breach, Breach::End { seat: at, end: EndReason::Protocol });
    assert!(matches!(doctored(|report| report.delivered_inputs[2] += 200), Breach::Unaccounted { .. }));
    assert!(matches!(doctored(|report| report.delivered_inputs[2] -= 1), Breach::Unaccounted { .. }));
    assert_eq!(doctored(|report| report.raw_seats[0].malformed = 1), Breach::Nonsense { seat: seat(2), count: 1 });
}

#[test]
fn i8_bites_one_past_each_cap() {
    let bounded = |breach: Breach| match breach {
        Breach::Cap { bounded, found, cap, .. } if found == cap + 1 => bounded,
        other => panic!("another breach: {other}"),
    };
    let kept = |report: &mut MatchReport| report.clients[0].turns[9].kept_checkpoints = 8 + 1 + 25 + 1 + 1;
    assert_eq!(bounded(doctored(kept)), Bounded::Checkpoints);
    let behind = |kept: usize| {
        move |report: &mut MatchReport| {
            let turn = &mut report.clients[0].turns[9];
            (turn.standing, turn.kept_checkpoints) = (Standing::CatchingUp, kept);
        }
    };
    assert_eq!(bounded(doctored(behind(8 + 1 + 256 + 1))), Bounded::Checkpoints);
    let mut report = honest();
    behind(8 + 1 + 256)(&mut report);
    assert_eq!(check_i8(&report), Ok(()));
    let queued = |report: &mut MatchReport| report.clients[0].turns[9].queued_frames = 72_001;
    assert_eq!(bounded(doctored(queued)), Bounded::QueuedFrames);
    let ahead = |report: &mut MatchReport| {
        let turn = &mut report.clients[0].turns[9];
        turn.next_input = turn.confirmed.saturating_add(1026);
    };
    assert_eq!(bounded(doctored(ahead)), Bounded::UnconfirmedInputs);
    let bytes = |report: &mut MatchReport| report.clients[0].most_bytes_under_way = (1 << 20) + 1;
    assert_eq!(bounded(doctored(bytes)), Bounded::BytesUnderWay);
}

/// The first breach of a match of two beeping seats after `doctor` worked on what seat 0 was told.
fn misheard(doctor: impl FnOnce(&mut Vec<EventSeen>)) -> Option<Breach> {
    let factory = Arc::new(beeper_factory());
    let beeps = |_, tick: Tick| pack_tally(if (10..14).contains(&tick.index()) { BEEPING_INPUT } else { 0 });
    let client = || ClientSetup::new(beeps).latency_ticks(factory.manifest().tick_rate(), 2);
    let mut sim = MatchSetup::new(factory.clone()).client(client()).client(client()).last_tick(40).build();
    sim.run_until_confirmed(40);
    let mut report = sim.finish();
    let lives = |life| report.clients[0].presented.iter().filter(|seen| seen.life == life).count();
    assert!(lives(EventLife::Confirmed) == 8 && lives(EventLife::Predicted) > 8 && lives(EventLife::Canceled) > 0);
    doctor(&mut report.clients[0].presented);
    check_all(&report, factory.as_ref()).into_iter().next()
}

fn position(seen: &[EventSeen], life: EventLife, nth: usize) -> usize {
    let mut all = seen.iter().enumerate().filter(|(_, seen)| seen.life == life);
    all.nth(nth).map(|(index, _)| index).expect("there are as many")
}

#[test]
fn k10_bites_on_an_event_that_is_missing_doubled_or_swapped_and_on_a_false_life() {
    assert_eq!(misheard(|_| {}), None);
    let missing = misheard(|seen| drop(seen.remove(position(seen, EventLife::Confirmed, 2))));
    assert_eq!(missing, Some(Breach::Events { seat: seat(0), tick: Tick::new(11) }));
    let doubled = misheard(|seen| {
        let last = seen[position(seen, EventLife::Confirmed, 7)].clone();
        seen.push(last);
    });
    assert_eq!(doubled, Some(Breach::Events { seat: seat(0), tick: Tick::new(13) }));
    let swapped = misheard(|seen| {
        let [one, other] = [2, 3].map(|nth| position(seen, EventLife::Confirmed, nth));
        seen.swap(one, other);
    });
    assert_eq!(swapped, Some(Breach::Events { seat: seat(0), tick: Tick::new(11) }));
    let never_predicted = misheard(|seen| {
        let end = position(seen, EventLife::Canceled, 0);
        let key = seen[end].key;
        seen.retain(|seen| seen.life != EventLife::Predicted || seen.key != key);
    });
    assert!(matches!(never_predicted, Some(Breach::EventLife { .. })), "{never_predicted:?}");
    let twice = misheard(|seen| {
        let first = seen[position(seen, EventLife::Predicted, 0)].clone();
        seen.insert(0, first);
    });
    assert_eq!(twice, Some(Breach::EventLife { seat: seat(0), tick: Tick::new(10) }));
}

#[test]
fn k4_a_breach_of_the_runtimes_contract_is_told() {
    let violation = Violation::ProjectionChangedState { tick: Tick::new(3) };
    let breach = doctored(|report| report.clients[1].violations.push(violation.clone()));
    assert_eq!(breach, Breach::Contract { seat: seat(1), violation });
}
