//! `retick verify`: verified is exit code 0, everything else is not.

use std::fs;

use crate::{check_refused, retick, scratch, stdout};

#[test]
fn only_an_untouched_replay_is_verified() {
    let file = scratch("verify.replay");
    let path = file.to_str().unwrap();
    assert!(retick(&["demo", "--fast", "--seconds", "3", "--seed", "3", "--record", path]).status.success());
    let verified = retick(&["verify", path]);
    assert!(verified.status.success() && stdout(&verified).starts_with("verified: 181 ticks, 4 checksums"));

    let bytes = fs::read(&file).unwrap();
    let (cut, damaged) = (scratch("cut.replay"), scratch("damaged.replay"));
    fs::write(&cut, &bytes[..bytes.len() - 20]).unwrap();
    let mut changed = bytes.clone();
    let middle = bytes.len() / 2;
    changed[middle] ^= 1;
    fs::write(&damaged, changed).unwrap();
    for (file, word) in [(cut, "cut off"), (damaged, "damaged at byte")] {
        let path = file.to_str().unwrap();
        let output = retick(&["verify", path]);
        assert!(stdout(&output).starts_with("incomplete: ") && stdout(&output).contains(word), "{}", stdout(&output));
        check_refused(&["verify", path], 1, &["not verified"]);
    }
}

#[test]
fn files_that_are_no_replay_are_refused() {
    let (empty, text) = (scratch("empty.replay"), scratch("text.replay"));
    fs::write(&empty, b"").unwrap();
    fs::write(&text, b"a shopping list").unwrap();
    for file in [&empty, &text] {
        let path = file.to_str().unwrap();
        assert_eq!(stdout(&retick(&["verify", path])).split(" (").next(), Some("refused: not a replay"));
        check_refused(&["verify", path], 1, &["not verified"]);
    }
    check_refused(&["verify", scratch("missing.replay").to_str().unwrap()], 2, &["can't read"]);
    check_refused(&["verify", env!("CARGO_TARGET_TMPDIR")], 2, &["can't read"]);
}
