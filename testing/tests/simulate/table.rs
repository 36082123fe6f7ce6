//! The golden performance table: what is committed is what is measured, and a changed number is refused.

use retick_testing::golden::{Conditions, compare, measure, measure_all, render};

const COMMITTED: &str = include_str!("../../golden/performance.md");

#[test]
fn p10_the_golden_table_is_what_matches_cost() {
    let rows = measure_all();
    let difference = compare(COMMITTED, &rows).err();
    assert_eq!(difference.map(|difference| difference.to_string()), None);
    // Guards: losses and distance cost something, and a delay saves it.
    let find = |loss_percent, round_trip_millis, delay_ticks| {
        let conditions = Conditions { loss_percent, round_trip_millis, delay_ticks };
        *rows.iter().find(|row| row.conditions == conditions).expect("a row of the table")
    };
    assert!(find(0, 240, 0).resimulated_ticks > find(0, 20, 0).resimulated_ticks);
    assert!(find(0, 120, 6).resimulated_ticks < find(0, 120, 0).resimulated_ticks);
    assert!(find(10, 240, 0).substitutions > find(0, 240, 0).substitutions);
}

#[test]
fn p10_a_changed_number_is_refused_with_its_line() {
    let row = measure(Conditions { loss_percent: 2, round_trip_millis: 60, delay_ticks: 0 });
    let text = render(&[row]);
    assert_eq!(compare(&text, &[row]), Ok(()));
    let last = text.lines().count();
    let changed = text.replace(&format!("| {} |", row.rollbacks), &format!("| {} |", row.rollbacks + 1));
    assert_ne!(changed, text, "guard");
    assert_eq!(compare(&changed, &[row]).expect_err("it differs").line, last);
    // A row too few is a difference too, and so is one too many.
    let short: String = text.lines().take(last - 1).map(|line| format!("{line}\n")).collect();
    assert_eq!(compare(&short, &[row]).expect_err("it is short").line, last);
    assert_eq!(compare(&text, &[]).expect_err("it is long").line, last);
}
