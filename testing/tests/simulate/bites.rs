//! Every judge bites: a trace that holds, with one thing in it changed, breaks the rule that is about that thing.

use retick_authority::log::Record;
use retick_authority::room::{ConnectionId, RoomEvent};
use retick_core::client::EndReason;
use retick_core::codec::wire::List;
use retick_core::digest::Checksum;
use retick_core::event::EventLife;
use retick_core::frame::{CommandSource, SeatFrame};
use retick_core::seat::{Generation, Presence, Seat};
use retick_core::tick::{Moment, Tick};
use retick_core::wire::{ClientMessage, CloseReason, RoomMessage};
use retick_testing::simulate::{Rule, Seen, judge};

use crate::doctor::{
    broken, copy_of, encoded, from_call, is_frame_record, is_handed, is_sent, place, played, record, repeat, with_frame,
};
use crate::plain::killed;

#[test]
fn i1_a_frame_out_of_order_is_seen_at_a_client_and_in_the_log() {
    let swapped = broken(|trace| {
        let who =
            trace.iter().find_map(|(_, seen)| if let Seen::Applied { who, .. } = seen { Some(*who) } else { None });
        let mine = |seen: &Seen| matches!(seen, Seen::Applied { who: it, .. } if Some(*it) == who);
        let (one, other) = (place(trace, 20, mine), place(trace, 21, mine));
        trace.swap(one, other);
    });
    assert_eq!(swapped, Some(Rule::Order));
    assert_eq!(broken(|trace| repeat(trace, 30, is_frame_record)), Some(Rule::FrameATick));
}

#[test]
fn i2_another_frame_and_one_that_was_not_written_down_are_seen() {
    let other = broken(|trace| {
        let place = place(trace, 50, |seen| matches!(seen, Seen::Applied { .. }));
        let Seen::Applied { frame, .. } = &mut trace[place].1 else { panic!("applied") };
        frame.push_command(CommandSource::Authority, b"forged");
    });
    assert_eq!(other, Some(Rule::Line));
    // Nothing is safe any more, but goes out.
    let unsafe_release = broken(|trace| {
        let from = place(trace, 40, |seen| matches!(seen, Seen::Synced { .. }));
        let mut index = 0;
        trace.retain(|(_, seen)| {
            index += 1;
            index <= from || !matches!(seen, Seen::Synced { .. })
        });
    });
    assert_eq!(unsafe_release, Some(Rule::Durability));
}

#[test]
fn a12_what_clients_gave_back_and_the_room_did_not_take_is_seen() {
    let (schedule, mut trace) = record(killed());
    let recovered = |seen: &Seen| matches!(seen, Seen::Event(RoomEvent::Recovered { returned_ticks: 1.., .. }));
    let place = place(&trace, 0, recovered);
    let Seen::Event(RoomEvent::Recovered { frontier, .. }) = &mut trace[place].1 else { panic!("recovered") };
    *frontier = frontier.saturating_sub(1);
    assert_eq!(judge(&schedule, &trace).map(|breach| breach.rule), Some(Rule::Recovered));
}

#[test]
fn i3_another_state_and_a_checksum_too_many_are_seen() {
    let wrong = broken(|trace| {
        let forged = Checksum::of(b"another state");
        let which = place(trace, 9, |seen| matches!(seen, Seen::Checksum { .. }));
        let Seen::Checksum { who, tick, .. } = trace[which].1 else { panic!("a checksum") };
        for (_, seen) in trace.iter_mut() {
            match seen {
                Seen::Checksum { who: it, tick: of, checksum, .. } if (*it, *of) == (who, tick) => *checksum = forged,
                Seen::Report { who: it, tick: of, checksum, .. } if (*it, *of) == (who, tick) => *checksum = forged,
                _ => {}
            }
        }
    });
    assert_eq!(wrong, Some(Rule::State));
    let twice = broken(|trace| repeat(trace, 9, |seen| matches!(seen, Seen::Checksum { .. })));
    assert_eq!(twice, Some(Rule::Checksums));
}

#[test]
fn i4_an_early_report_and_a_second_one_are_seen() {
    let early = broken(|trace| {
        let place = place(trace, 7, |seen| matches!(seen, Seen::Report { .. }));
        let Seen::Report { tick, confirmed, .. } = &mut trace[place].1 else { panic!("a report") };
        *confirmed = tick.saturating_sub(1);
    });
    assert_eq!(early, Some(Rule::EarlyReport));
    let twice = broken(|trace| repeat(trace, 7, |seen| matches!(seen, Seen::Report { .. })));
    assert_eq!(twice, Some(Rule::WrongReport));
}

#[test]
fn i5_i6_a_lead_beyond_the_window_and_a_rollback_to_nowhere_are_seen() {
    let beyond = broken(|trace| {
        let place = place(trace, 100, |seen| matches!(seen, Seen::Turn { .. }));
        let Seen::Turn { turn, .. } = &mut trace[place].1 else { panic!("a turn") };
        turn.head = turn.confirmed.saturating_add(9);
    });
    assert_eq!(beyond, Some(Rule::Window));
    let nowhere = broken(|trace| {
        let place = place(trace, 5, |seen| matches!(seen, Seen::RolledBack { .. }));
        let Seen::RolledBack { from, oldest, .. } = &mut trace[place].1 else { panic!("a rollback") };
        *oldest = Some(from.saturating_add(1));
    });
    assert_eq!(nowhere, Some(Rule::RollbackTarget));
}

#[test]
fn i7_an_end_without_a_reason_is_seen() {
    for (reason, rule) in [
        (EndReason::Protocol, Rule::End),
        (EndReason::Closed(CloseReason::Superseded), Rule::End),
        (EndReason::Closed(CloseReason::Budget), Rule::Malformed),
    ] {
        let ended = broken(|trace| {
            let place = place(trace, 100, |seen| matches!(seen, Seen::Turn { .. }));
            let Seen::Turn { who, .. } = trace[place].1 else { panic!("a turn") };
            trace.insert(place, (trace[place].0, Seen::Ended { who, reason: reason.clone() }));
        });
        assert_eq!(ended, Some(rule), "{reason}");
    }
}

#[test]
fn i8_what_grows_beyond_its_cap_is_seen_at_clients_and_in_the_room() {
    let grown = broken(|trace| {
        let place = place(trace, 100, |seen| matches!(seen, Seen::Turn { .. }));
        let Seen::Turn { turn, .. } = &mut trace[place].1 else { panic!("a turn") };
        turn.kept_checkpoints = 300;
    });
    assert_eq!(grown, Some(Rule::Cap));
    assert_eq!(broken(|trace| from_call(trace, 1_000, |room| room.loose_records = 5_000)), Some(Rule::Memory));
}

#[test]
fn k10_an_event_that_comes_twice_not_at_all_or_without_end_is_seen() {
    let confirmed = |seen: &Seen| matches!(seen, Seen::Presented { life: EventLife::Confirmed, .. });
    let predicted = |seen: &Seen| matches!(seen, Seen::Presented { life: EventLife::Predicted, .. });
    assert_eq!(broken(|trace| repeat(trace, 4, confirmed)), Some(Rule::EventTwice));
    let lost = broken(|trace| {
        let place = place(trace, 4, confirmed);
        trace.remove(place);
    });
    assert_eq!(lost, Some(Rule::EventLost));
    assert_eq!(broken(|trace| repeat(trace, 4, predicted)), Some(Rule::EventLife));
}

#[test]
fn a1_a_room_that_stalls_hurries_or_keeps_another_time_is_seen() {
    let stalls = broken(|trace| from_call(trace, 1_500, |room| room.frontier = room.frontier.saturating_sub(25)));
    assert_eq!(stalls, Some(Rule::Stalled));
    let hurries = broken(|trace| from_call(trace, 1_500, |room| room.frontier = room.frontier.saturating_add(9)));
    assert_eq!(hurries, Some(Rule::TooEarly));
    let other = broken(|trace| {
        from_call(trace, 1_500, |room| {
            room.clock_tick = room.clock_tick.map(|tick| tick.saturating_add(5));
            room.frontier = room.frontier.saturating_add(5);
        });
    });
    assert_eq!(other, Some(Rule::Clock));
}

#[test]
fn a1_an_input_that_nobody_gave_and_one_that_did_not_count_are_seen() {
    let nobody = broken(|trace| {
        let from = place(trace, 200, |seen| is_handed(seen, |it| matches!(it, ClientMessage::Inputs(_))));
        let mut index = 0;
        trace.retain(|(_, seen)| {
            index += 1;
            index <= from || !is_handed(seen, |it| matches!(it, ClientMessage::Inputs(_)))
        });
    });
    assert_eq!(nobody, Some(Rule::Input));
    let replaced = broken(|trace| {
        with_frame(trace, 60, |frame| {
            copy_of(frame, |seat| SeatFrame { substituted: seat.presence == Presence::Human, ..seat })
        });
    });
    assert_eq!(replaced, Some(Rule::Substituted));
    let twice = broken(|trace| repeat(trace, 60, |seen| matches!(seen, Seen::Sampled { .. })));
    assert_eq!(twice, Some(Rule::Resampled));
}

#[test]
fn a1_a_tick_that_waits_although_everything_is_there_is_seen() {
    let waits = broken(|trace| {
        // From here on no frame is made, and the room is called as ever.
        let from = place(trace, 60, is_frame_record);
        let Seen::Record { bytes, .. } = &trace[from].1 else { panic!("a record") };
        let Ok(Record::Frame { tick, .. }) = Record::decode(bytes) else { panic!("a frame's") };
        let mut index = 0;
        trace.retain(|(_, seen)| {
            index += 1;
            let is_made = is_frame_record(seen)
                || is_sent(seen, |it| matches!(it, RoomMessage::Frames(_)))
                || matches!(seen, Seen::Applied { .. } | Seen::Checksum { .. } | Seen::Report { .. });
            index <= from || !is_made
        });
        for (_, seen) in trace.iter_mut().skip(from) {
            if let Seen::RoomTurn(room) = seen {
                room.frontier = tick;
            }
        }
    });
    assert_eq!(waits, Some(Rule::Unconfirmed));
}

#[test]
fn a9_a_command_that_nobody_requested_and_one_that_comes_twice_are_seen() {
    let is_command = |seen: &Seen| is_handed(seen, |it| matches!(it, ClientMessage::Command { .. }));
    assert_eq!(broken(|trace| trace.retain(|(_, seen)| !is_command(seen))), Some(Rule::Command));
    let twice = broken(|trace| {
        let ordered = place(trace, 0, is_command);
        let Seen::Handed { bytes, .. } = &trace[ordered].1 else { panic!("handed") };
        let Ok(ClientMessage::Command { payload, .. }) = ClientMessage::decode(bytes) else { panic!("a command") };
        let payload = payload.to_vec();
        let seat = Seat::new(1).expect("valid");
        with_frame(trace, 90, |frame| {
            let mut copy = copy_of(frame, |seat| seat);
            copy.push_command(CommandSource::Game(seat), &payload);
            copy
        });
    });
    assert_eq!(twice, Some(Rule::CommandTwice));
}

#[test]
fn a6_a9_what_reaches_whom_it_does_not_concern_is_seen() {
    let is_welcome = |seen: &Seen| is_sent(seen, |it| matches!(it, RoomMessage::Welcome(_)));
    let token = broken(|trace| {
        let place = place(trace, 1, is_welcome);
        let mut leaked = trace[place].clone();
        let Seen::Sent { to, .. } = &mut leaked.1 else { panic!("sent") };
        *to = vec![ConnectionId(0)];
        trace.insert(place + 1, leaked);
    });
    assert_eq!(token, Some(Rule::TokenLeak));
    let ephemeral = broken(|trace| {
        let place = place(trace, 0, |seen| is_sent(seen, |it| matches!(it, RoomMessage::Ephemeral { .. })));
        let Seen::Sent { to, .. } = &mut trace[place].1 else { panic!("sent") };
        to.push(ConnectionId(0));
    });
    assert_eq!(ephemeral, Some(Rule::EphemeralLeak));
    let secret = broken(|trace| {
        let Seen::Record { bytes, .. } = &trace[place(trace, 0, |seen| matches!(seen, Seen::Record { .. }))].1 else {
            panic!("a record");
        };
        let Ok(Record::Created { secret, .. }) = Record::decode(bytes) else { panic!("the first one") };
        let message = RoomMessage::Ephemeral { seat: Seat::new(0).expect("valid"), payload: &secret.0 };
        let (at, bytes) = (trace[400].0, encoded(&message));
        trace.insert(400, (at, Seen::Sent { to: vec![ConnectionId(1)], bytes }));
    });
    assert_eq!(secret, Some(Rule::SecretLeak));
}

#[test]
fn t2_a_match_that_does_not_converge_is_seen() {
    let (schedule, _) = played();
    let end = schedule.end_millis();
    let is_after = |at: &Moment, millis: u64| *at >= Moment::from_millis(millis);
    let desync = broken(|trace| {
        let values = List(vec![]);
        let message = RoomMessage::Desync { generation: Generation(0), tick: Tick::new(1), values };
        let (at, bytes) = (trace[400].0, encoded(&message));
        trace.insert(400, (at, Seen::Sent { to: vec![ConnectionId(1)], bytes }));
    });
    assert_eq!(desync, Some(Rule::FalseDesync));
    let silent = broken(|trace| {
        trace.retain(|(at, seen)| {
            !(is_after(at, end - 900) && matches!(seen, Seen::Turn { who, .. } if who.actor == 1))
        });
    });
    assert_eq!(silent, Some(Rule::NotLive));
    let behind = broken(|trace| {
        let place = place(trace, 1, |seen| matches!(seen, Seen::Stands { .. }));
        let Seen::Stands { stand, .. } = &mut trace[place].1 else { panic!("stands") };
        (stand.received, stand.confirmed, stand.state) = (Tick::new(9), Tick::new(9), None);
    });
    assert_eq!(behind, Some(Rule::NotConverged));
    let pending = broken(|trace| from_call(trace, end - 3_500, |room| room.donating = true));
    assert_eq!(pending, Some(Rule::Pending));
    // Between the first and the last measured call nothing was confirmed, and no time was counted.
    let slow = broken(|trace| {
        let mut first = None;
        trace.retain(|(at, seen)| match seen {
            Seen::RoomTurn(room) if is_after(at, end - 2_000) => {
                let is_kept = first.is_none() || is_after(at, end - 20);
                first = first.or(Some(*room));
                is_kept
            }
            _ => true,
        });
        let first = first.expect("the room was called");
        from_call(trace, end - 1_900, |room| *room = first);
    });
    assert_eq!(slow, Some(Rule::Rate));
}
