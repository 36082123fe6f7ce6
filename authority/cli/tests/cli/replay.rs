//! `retick replay` and its short form `retick verify`: verified is exit code 0, everything else is not.

use std::fs;
use std::path::PathBuf;

use crate::{check_refused, retick, scratch, stdout};

/// A recorded match of three seconds.
fn recorded(name: &str, seed: &str) -> PathBuf {
    let file = scratch(name);
    let path = file.to_str().unwrap();
    assert!(retick(&["demo", "--fast", "--seconds", "3", "--seed", seed, "--record", path]).status.success());
    file
}

/// The line of some output that begins so.
fn line<'a>(said: &'a str, start: &str) -> &'a str {
    said.lines().find(|line| line.starts_with(start)).unwrap_or_else(|| panic!("no {start:?} in {said}"))
}

#[test]
fn only_an_untouched_replay_is_verified() {
    let file = recorded("verify.replay", "3");
    let path = file.to_str().unwrap();
    for command in [&["verify", path][..], &["replay", "verify", path]] {
        let verified = retick(command);
        assert!(verified.status.success() && stdout(&verified).starts_with("verified: 181 ticks, 4 checksums"));
    }

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

#[test]
fn r2_what_the_caller_knows_of_a_replay_is_held_against_it() {
    let file = recorded("expected.replay", "5");
    let path = file.to_str().unwrap();
    let info = stdout(&retick(&["replay", "info", path]));
    let config = line(&info, "config ").rsplit(' ').next().unwrap();
    assert!(retick(&["verify", path, "--config", config]).status.success(), "{config}");
    let other = "0".repeat(64);
    let refused = retick(&["verify", path, "--config", &other]);
    assert_eq!(refused.status.code(), Some(1));
    for word in ["RTK-R030", config, &other] {
        assert!(stdout(&refused).contains(word), "{}", stdout(&refused));
    }
    // A key that is one, and has not signed.
    let key = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";
    let refused = retick(&["verify", path, "--signed-by", key]);
    assert!(stdout(&refused).contains("RTK-R032") && stdout(&refused).contains("nobody has signed"));
    check_refused(&["verify", path, "--signed-by", "no key"], 2, &["--signed-by"]);
}

#[test]
fn r3_a_state_that_was_seeked_is_the_one_that_was_verified() {
    let file = recorded("seek.replay", "6");
    let path = file.to_str().unwrap();
    let verified = stdout(&retick(&["verify", path]));
    let last = verified.split("final checksum ").nth(1).unwrap().split(' ').next().unwrap();
    let said = stdout(&retick(&["replay", "seek", path, "--tick", "181"]));
    assert!(line(&said, "S(181) checksum ").contains(last), "{said} without {last}");
    assert!(line(&said, "projection ").contains("digest "), "{said}");
    let first = stdout(&retick(&["replay", "seek", path, "--tick", "0"]));
    assert!(line(&first, "S(0) checksum ").ends_with("in 0 steps"), "{first}");
    check_refused(&["replay", "seek", path, "--tick", "182"], 1, &["S(181)", "S(182)"]);
}

#[test]
fn r2_two_replays_are_of_one_match_or_differ_somewhere() {
    let (one, other) = (recorded("one.replay", "7"), recorded("other.replay", "8"));
    let again = recorded("again.replay", "7");
    assert_eq!(fs::read(&one).unwrap(), fs::read(&again).unwrap(), "the demo is reproducible");
    let [one, other, again] = [&one, &other, &again].map(|path| path.to_str().unwrap());
    let same = retick(&["replay", "diff", one, again]);
    assert!(same.status.success() && stdout(&same).starts_with("the same match: 181 ticks"), "{}", stdout(&same));
    check_refused(&["replay", "diff", one, other], 1, &["different matches, in Seed"]);
}

#[test]
fn p02_d_a_folder_is_listed_with_what_is_no_replay_in_it() {
    let folder = scratch("replays");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(folder.join("folder")).unwrap();
    let whole = fs::read(recorded("listed.replay", "9")).unwrap();
    fs::write(folder.join("whole"), &whole).unwrap();
    fs::write(folder.join("cut"), &whole[..whole.len() - 1]).unwrap();
    fs::write(folder.join("empty"), b"").unwrap();
    fs::write(folder.join("noise"), vec![0xa5; 5 << 20]).unwrap();
    let list = retick(&["replay", "info", folder.to_str().unwrap()]);
    let said = stdout(&list);
    assert!(list.status.success(), "{said}");
    assert!(line(&said, "whole: ").starts_with("whole: 181 ticks at 60 Hz, 3.0 s, complete, 4 seats"), "{said}");
    assert!(line(&said, "cut: ").contains("cut off"), "{said}");
    assert_eq!(line(&said, "folder: "), "folder: invalid: not a file");
    assert_eq!(line(&said, "empty: "), "empty: invalid: not a replay");
    assert_eq!(line(&said, "noise: "), "noise: invalid: not a replay");
    check_refused(&["replay", "info", folder.join("noise").to_str().unwrap()], 1, &["not a replay"]);
}

#[test]
fn r4_a_match_is_drawn_with_its_clients_figures_beside_it_and_without() {
    let file = recorded("plot.replay", "10");
    let path = file.to_str().unwrap();
    let (stats, drawing) = (scratch("plot.replay.stats.csv"), scratch("plot.replay.svg"));
    assert!(fs::read_to_string(&stats).unwrap().starts_with("tick,lead_ticks,rollback_ticks\n"));
    let drawn = retick(&["replay", "plot", path]);
    assert!(drawn.status.success(), "{}", stdout(&drawn));
    let whole = fs::read_to_string(&drawing).unwrap();
    let titles = ["lead over the confirmed state", "rollback depth", "substituted inputs", "181 ticks at 60 Hz"];
    titles.iter().for_each(|title| assert!(whole.contains(title), "{title}"));

    // Without the figures the replay is as good, and so is what can be drawn of it alone.
    fs::remove_file(&stats).unwrap();
    let bare = scratch("bare.svg");
    let drawn = retick(&["replay", "plot", path, "--output", bare.to_str().unwrap()]);
    assert!(stdout(&drawn).contains("no client's figures"), "{}", stdout(&drawn));
    let bare = fs::read_to_string(&bare).unwrap();
    assert!(bare.contains("substituted inputs") && !bare.contains("lead over"));
    assert!(retick(&["verify", path]).status.success());
    check_refused(&["replay", "plot", path, "--stats", path], 2, &["holds no figures"]);
}
