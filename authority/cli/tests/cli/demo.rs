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
        assert!(stdout(&output).contains("all 4 clients and the offline re-simulation agree"));
        prints.push(stdout(&output));
    }
    let [one, again, other] = files.map(|file| fs::read(file).unwrap());
    assert!(one == again && one != other, "the seed decides everything");
    // The dangers were there.
    assert!(count(&prints[0], " rollbacks,") > 50, "{}", prints[0]);
    assert!(count(&prints[0], " substituted inputs") > 0);
    check_roles(&prints[0], 4);
}

/// The latecomer, the two devices of one player, and the bot were there, in the last seats of so many.
fn check_roles(said: &str, seats: usize) {
    assert_eq!((count(said, " connections dropped"), count(said, " seats resumed")), (1, 1), "{said}");
    let (moving, late, bot) = (seats - 3, seats - 2, seats - 1);
    let told = [
        format!("a latecomer took seat {late} and has S("),
        format!("the player of seat {moving} went on at another device from S("),
        "the first one was told that the room closed the connection: another connection took this seat".into(),
        format!("a bot played seat {bot}: its input is null in every frame"),
    ];
    told.iter().for_each(|words| assert!(said.contains(words.as_str()), "{said} without {words:?}"));
    // Both came in while the match ran, and did not get all of it.
    for words in ["has S(", "another device from S("] {
        let first = said.split(words).nth(1).unwrap().split(')').next().unwrap();
        assert!(first.parse::<u64>().unwrap() > 0, "{said}");
    }
}

#[test]
fn the_demo_over_real_sockets_agrees() {
    let output = retick(&["demo", "--seconds", "6", "--seats", "5", "--seed", "5"]);
    let said = stdout(&output);
    assert!(output.status.success(), "{said}{}", stderr(&output));
    assert!(said.contains("all 5 clients and the offline re-simulation agree"), "{said}");
    assert!(count(&said, " rollbacks,") > 20, "{said}");
    check_roles(&said, 5);
}

#[test]
fn impossible_matches_and_places_are_refused() {
    check_refused(&["demo", "--seats", "3"], 2, &["--seats", "4..=8"]);
    check_refused(&["demo", "--seconds", "2"], 2, &["--seconds", "3..=3600"]);
    let nowhere = scratch("no-such-folder").join("demo.replay");
    let nowhere = nowhere.to_str().unwrap();
    check_refused(&["demo", "--fast", "--seconds", "3", "--record", nowhere], 2, &["can't write", nowhere]);
}

#[test]
fn a8_the_demo_names_a_desync_that_it_plants() {
    for extra in [&["--fast", "--seed", "3"][..], &["--seed", "4"]] {
        let output = retick(&[&["demo", "--plant-desync"], extra].concat());
        let said = stdout(&output);
        assert!(output.status.success(), "{said}{}", stderr(&output));
        for words in ["seat 0 and seat 1 first differ in S(150)", "tick 150", "field players[1].falls,"] {
            assert!(said.contains(words), "{said} without {words:?}");
        }
        assert!(said.contains("the desync that was planted was named"), "{said}");
    }
    check_refused(&["demo", "--plant-desync", "--record", "x.replay"], 2, &["--record"]);
}
