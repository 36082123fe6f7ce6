//! The pace as a whole: turns, answers, and how many ticks are due.

use std::vec::Vec;

use super::*;

const RATE: TickRate = TickRate::Hz60;
const TURN: u64 = 16_666_667;

fn undelayed() -> Delays {
    Delays::default()
}

fn at(nanos: u64) -> Moment {
    Moment::from_nanos(nanos)
}

/// A path of 20 ms each way to a room whose clock began `ahead_nanos` before this machine's.
fn answer(pace: &mut Pace, ahead_nanos: u64, sent: u64) {
    let clock = RoomClock { micros: (ahead_nanos + sent + 20_000_000) / 1000 };
    pace.handle_pong(at(sent), Some(clock), at(sent + 40_000_000));
}

/// Turns at 60 Hz with an answer in every tenth, and the goals of each.
fn play(pace: &mut Pace, ahead_nanos: u64, turns: core::ops::Range<u64>, delays: Delays) -> Vec<Goals> {
    let turn = |turn: u64| {
        if turn % 10 == 3 {
            answer(pace, ahead_nanos, turn * TURN - 40_000_000);
        }
        pace.turn(at(turn * TURN), delays)
    };
    turns.map(turn).collect()
}

#[test]
fn n4_the_goal_is_where_the_room_will_be_when_what_is_sent_arrives() {
    let mut pace = Pace::new(RATE);
    pace.handle_connected(Moment::ZERO);
    assert!(pace.take_ping(at(100_000_000)));
    answer(&mut pace, 1_000_000_000, 100_000_000);
    assert_eq!(pace.room_tick(at(140_000_000)), RATE.tick_at(at(1_140_000_000)));
    assert_eq!(pace.heard_tick(at(140_000_000)), RATE.tick_at(at(1_120_000_000)));
    // 1140 ms, 20 ms on the way there and seven eighths of a turn are 1174.6 ms: tick 70, so 71 are sampled and stepped.
    let all = Goals { sample: Tick::new(71), present: Tick::new(71) };
    assert_eq!(pace.turn(at(140_000_000), undelayed()), all);
    let next = pace.next_timeout(true);
    assert!(next.nanos_since(at(148_749_990)) < 20, "tick 71 begins at 1183.3 ms: {next:?}");

    // The same with a delay of three ticks, and with two that are sent early.
    let mut pace = Pace::new(RATE);
    answer(&mut pace, 1_000_000_000, 100_000_000);
    let delays = Delays { present_ticks: 3, early_ticks: 2 };
    let goals = pace.turn(at(140_000_000), delays);
    assert_eq!(goals, Goals { sample: Tick::new(73), present: Tick::new(70) });
}

#[test]
fn n4_turns_that_are_seldom_send_what_is_due_before_the_next_one() {
    for (per_second, early) in [(60, 0), (30, 1), (20, 2), (15, 2)] {
        let mut pace = Pace::new(RATE);
        let turn = 1_000_000_000 / per_second;
        let mut late = Vec::new();
        let mut sent = Tick::ZERO;
        for count in 40..800 {
            let now = count * turn;
            answer(&mut pace, 0, now - 40_000_000);
            let goals = pace.turn(at(now), undelayed());
            // The room's clock when this turn's message arrives, and the first tick in it.
            let arrives = now + 20_000_000;
            let late_nanos = arrives.saturating_sub(RATE.moment_of(sent).as_nanos());
            if count > 400 && goals.sample > sent {
                late.push(late_nanos);
            }
            sent = goals.sample;
        }
        let latest = late.iter().max().copied().unwrap_or(0);
        assert!(latest <= turn / 8 + 200_000, "{per_second} turns: {latest} ns late");
        let ahead = sent.since(RATE.tick_at(at(799 * turn + 20_000_000)));
        assert!(ahead <= early + 2, "{per_second} turns: {ahead} ticks ahead");
    }
}

#[test]
fn n4_every_tick_is_due_once_and_in_step_with_the_turns() {
    let mut pace = Pace::new(RATE);
    pace.handle_connected(Moment::ZERO);
    let goals = play(&mut pace, 3_000_000_000, 10..3610, undelayed());
    // Once the first answers are in, one tick a turn; the turn is a third of a nanosecond longer than a tick.
    let steps: Vec<u64> = goals[60..].windows(2).map(|pair| pair[1].sample.since(pair[0].sample)).collect();
    assert!(steps.iter().all(|step| *step == 1), "{:?}", steps.iter().filter(|step| **step != 1).count());
    assert!(goals.iter().all(|goal| goal.sample == goal.present));
}

#[test]
fn n4_an_offset_of_a_second_is_made_up_for_within_five() {
    for [before, after] in [[3_000_000_000, 4_000_000_000], [4_000_000_000, 3_000_000_000]] {
        let mut pace = Pace::new(RATE);
        play(&mut pace, before, 10..310, undelayed());
        let goals = play(&mut pace, after, 310..911, undelayed());
        let mut right = Pace::new(RATE);
        play(&mut right, after, 10..310, undelayed());
        let expected = play(&mut right, after, 310..911, undelayed());
        let off = |index: usize| goals[index].sample.index().abs_diff(expected[index].sample.index());
        assert!(off(0) >= 30, "guard: {}", off(0));
        assert!((300..600).all(|index| off(index) == 0), "{before} to {after}: {:?}", (300..600).map(off).max());
        assert!(goals.windows(2).all(|pair| pair[0].sample <= pair[1].sample));
        assert!(goals.windows(2).all(|pair| pair[1].sample.since(pair[0].sample) <= 3), "no jump");
    }
}

#[test]
fn n3_a_delay_that_changes_moves_the_present_and_no_sample() {
    let mut pace = Pace::new(RATE);
    play(&mut pace, 0, 10..310, undelayed());
    let delayed = Delays { present_ticks: 3, early_ticks: 0 };
    let goals = play(&mut pace, 0, 310..710, delayed);
    assert!(goals.windows(2).all(|pair| pair[1].sample.since(pair[0].sample) == 1));
    assert!(goals.windows(2).all(|pair| pair[1].present.since(pair[0].present) <= 1));
    let lag = |goal: &Goals| goal.sample.since(goal.present);
    assert_eq!((lag(&goals[0]), lag(&goals[399])), (0, 3));
    assert!(goals.windows(2).all(|pair| lag(&pair[0]) <= lag(&pair[1])));
}

#[test]
fn n4_a_freeze_of_this_machine_is_no_error_of_its_clock() {
    let mut pace = Pace::new(RATE);
    let before = play(&mut pace, 0, 10..310, undelayed());
    let after = pace.turn(at(309 * TURN + 10_000_000_000), undelayed());
    assert_eq!(after.sample.since(before[299].sample), 600);
}

#[test]
fn n4_no_clock_of_the_room_stops_the_pace() {
    let mut pace = Pace::new(RATE);
    pace.handle_connected(Moment::ZERO);
    pace.handle_clock(RoomClock { micros: u64::MAX }, Moment::ZERO);
    pace.turn(Moment::from_millis(10), undelayed());
    let now = Moment::from_millis(500);
    pace.handle_pong(Moment::from_millis(460), Some(RoomClock { micros: 400_000 }), now);
    assert!(pace.turn(now, undelayed()).sample < Tick::new(40));
    assert!(pace.next_timeout(true) > now || pace.pings.next() <= now);
    let far = Moment::from_nanos(u64::MAX);
    pace.handle_pong(Moment::ZERO, Some(RoomClock { micros: u64::MAX }), far);
    pace.handle_pong(Moment::ZERO, Some(RoomClock { micros: 0 }), far);
    pace.turn(far, Delays { present_ticks: u16::MAX, early_ticks: u16::MAX });
    let _ = (pace.lead_ticks(far), pace.room_tick(far), pace.heard_tick(far), pace.next_timeout(true));
}
