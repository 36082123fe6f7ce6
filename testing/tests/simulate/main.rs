//! The whole-match simulator (T2): matches hold, their seed says everything, failures shrink, and every judge bites.

mod bites;
mod doctor;
mod plain;
mod table;

use retick_testing::simulate::{Coverage, Happening, Outcome, Planned, Rule, Schedule, draw, run, shrink};

use plain::plain;

/// Seeds of the quick test; the command line plays many more.
const SEEDS: std::ops::Range<u64> = 0..24;

#[test]
fn t2_drawn_matches_hold_and_meet_what_they_are_for() {
    let mut coverage = Coverage::default();
    for seed in SEEDS {
        let outcome = run(&draw(seed));
        assert_eq!(outcome.breach.map(|breach| breach.to_string()), None, "seed {seed}");
        coverage.merge(&outcome.coverage);
    }
    // Few seeds do not meet everything, but these in any case.
    for name in
        ["rollbacks", "substituted inputs", "kills", "runs restored", "drops", "seats resumed", "snapshots kept"]
    {
        assert!(coverage.count(name) > 0, "guard: no {name}");
    }
    assert_eq!(coverage.count("confirmed ticks").min(1_000), 1_000);
}

#[test]
fn t2_a_seed_says_everything_and_another_one_something_else() {
    let [one, again, other] = [3, 3, 4].map(|seed| run(&draw(seed)));
    assert_eq!((one.digest, &one.coverage), (again.digest, &again.coverage));
    assert_ne!(one.digest, other.digest);
    // Also on another thread.
    let threaded = std::thread::spawn(|| run(&draw(3)).digest).join();
    assert_eq!(threaded.ok(), Some(one.digest));
}

#[test]
fn t2_a_schedule_is_a_text_that_plays_the_same_match() {
    let schedule = draw(11);
    let text = serde_json::to_string_pretty(&schedule).expect("a schedule is plain data");
    let read: Schedule = serde_json::from_str(&text).expect("its own text");
    assert_eq!(read, schedule);
    let [one, other] = [&schedule, &read].map(|schedule| run(schedule).digest);
    assert_eq!(one, other);
}

#[test]
fn t2_a_failure_shrinks_to_what_it_takes() {
    // A match that breaks a rule with one of its many events: a config that no room takes, swapped in by the test.
    let mut schedule = draw(5);
    let culprit = Happening::RoomJump { millis: 12_345 };
    schedule.events.push(Planned { at_millis: 700, event: culprit.clone() });
    let events = schedule.events.len();
    let breaks = |schedule: &Schedule| {
        let has_culprit = schedule.events.iter().any(|planned| planned.event == culprit);
        (has_culprit && schedule.actors.len() > 1).then_some(Rule::Rate)
    };
    let small = shrink(&schedule, 400, breaks);
    assert!(events > 1 && schedule.actors.len() >= 2, "guard");
    assert_eq!(small.events.iter().map(|planned| &planned.event).collect::<Vec<_>>(), [&culprit]);
    assert_eq!(small.actors.len(), 2);
    assert!(small.safety_millis < schedule.safety_millis);
    // What does not fail stays as it is.
    assert_eq!(shrink(&schedule, 400, |_| None), schedule);
}

#[test]
fn t2_a_panic_of_any_machine_is_a_breach_and_so_is_a_match_without_end() {
    let mut broken = plain();
    // No room takes such a config, so the host panics.
    broken.room.checksum_cadence_ticks = 0;
    let Outcome { breach, .. } = run(&broken);
    assert_eq!(breach.map(|breach| breach.rule), Some(Rule::Panic));
    let mut endless = plain();
    endless.actors[0].turns_per_second = 1_000_000;
    assert_eq!(run(&endless).breach.map(|breach| breach.rule), Some(Rule::Steps));
}
