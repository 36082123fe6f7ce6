//! `retick demo`: the match on the virtual clock, and a short one over real sockets.

use std::fs;

use crate::{check_refused, retick, scratch, stderr, stdout};

/// The numbers in a line of the summary that ends in these words.
fn count(text: &str, words: &str) -> u64 {
    let before = text.split(words).next().unwrap();
    before.rsplit(|c: char| !c.is_ascii_digit()).find(|part| !part.is_empty()).unwrap().parse().unwrap()
}

#[test]
fn the_fast_demo_agrees_and_its_replay_is_the_same_for_one_seed() {
    let files = ["fast-1.replay", "fast-2.replay", "fast-3.replay"].map(scratch);
    let mut prints = Vec::new();
    for (file, seed) in files.iter().zip(["11", "11", "12"]) {
        let arguments = ["demo", "--fast", "--seconds", "6", "--seed", seed, "--record", file.to_str().unwrap()];
        let output = retick(&arguments);
        assert!(output.status.success(), "{}{}", stdout(&output), stderr(&output));
        assert!(stdout(&output).contains("all 4 players and the offline re-simulation agree"));
        prints.push(stdout(&output));
    }
    let [one, again, other] = files.map(|file| fs::read(file).unwrap());
    assert!(one == again && one != other, "the seed decides everything");
    // The dangers were there.
    assert!(count(&prints[0], " rollbacks,") > 50, "{}", prints[0]);
    assert!(count(&prints[0], " substituted inputs") > 0);
    assert_eq!(count(&prints[0], " seats resumed"), 1);
}

#[test]
fn the_demo_over_real_sockets_agrees() {
    let output = retick(&["demo", "--seconds", "6", "--seats", "3", "--seed", "5"]);
    let said = stdout(&output);
    assert!(output.status.success(), "{said}{}", stderr(&output));
    assert!(said.contains("all 3 players and the offline re-simulation agree"), "{said}");
    assert!(count(&said, " rollbacks,") > 20, "{said}");
    assert_eq!(count(&said, " seats resumed"), 1, "{said}");
}

#[test]
fn impossible_matches_and_places_are_refused() {
    check_refused(&["demo", "--seats", "1"], 2, &["--seats", "2..=8"]);
    check_refused(&["demo", "--seconds", "0"], 2, &["--seconds"]);
    let nowhere = scratch("no-such-folder").join("demo.replay");
    let nowhere = nowhere.to_str().unwrap();
    check_refused(&["demo", "--fast", "--seconds", "1", "--record", nowhere], 2, &["can't write", nowhere]);
}
