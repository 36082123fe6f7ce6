//! `retick synctest`: passes for the built-in game, and names what is wrong with a module.

use std::fs;

use crate::{check_refused, retick, scratch, stderr, stdout};

#[test]
fn the_built_in_game_passes_all_three_checks() {
    let output = retick(&["synctest", "--ticks", "60", "--set", "pickups=true", "--seats", "3"]);
    assert!(output.status.success(), "{}{}", stdout(&output), stderr(&output));
    for check in ["deterministic: passed", "rollback: passed", "hydration: passed", "61 states", "60 rollbacks"] {
        assert!(stdout(&output).contains(check), "{check}: {}", stdout(&output));
    }
}

#[test]
fn bad_modules_settings_and_seats_are_refused_by_name() {
    let text = scratch("text.wasm");
    fs::write(&text, b"no module").unwrap();
    check_refused(&["synctest", text.to_str().unwrap()], 2, &["is refused", "text.wasm"]);
    let large = scratch("large.wasm");
    fs::write(&large, vec![0; 3 << 20]).unwrap();
    check_refused(&["synctest", large.to_str().unwrap()], 2, &["3145728", "2097152"]);
    check_refused(&["synctest", "--seats", "9"], 2, &["9 seats", "2 to 8"]);
    check_refused(&["synctest", "--set", "colour=red"], 2, &["colour=red"]);
    check_refused(&["synctest", "--set", "rounds=many"], 2, &["rounds=many"]);
    check_refused(&["synctest", "--set", "rounds=99"], 2, &["rounds", "99"]);
    check_refused(&["synctest", "--ticks", "0"], 2, &["--ticks"]);
}

#[test]
fn a8_rollbacks_are_counted_and_none_is_taken_for_a_desync() {
    let output = retick(&["false-alarms", "--rollbacks", "2000"]);
    let said = stdout(&output);
    assert!(output.status.success(), "{said}{}", stderr(&output));
    assert!(said.contains(" rollbacks of ") && said.contains(" 0 alarms"), "{said}");
    check_refused(&["false-alarms", "/nowhere.wasm"], 2, &["/nowhere.wasm"]);
}
