//! `retick ticket`: a key, a ticket that it signs, and what is said of one.

use crate::{check_refused, retick, scratch, stderr, stdout};

fn line(arguments: &[&str]) -> String {
    let output = retick(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
    stdout(&output).trim().to_owned()
}

#[test]
fn v1_a_key_signs_a_ticket_that_is_shown_and_held_against_it() {
    let (file, other) = (scratch("ticket.key"), scratch("other.key"));
    for file in [&file, &other] {
        let _ = std::fs::remove_file(file);
    }
    let (file, other) = (file.to_str().unwrap(), other.to_str().unwrap());
    let (key, stranger) = (line(&["ticket", "keygen", file]), line(&["ticket", "keygen", other]));
    // A key that is there is not written over.
    check_refused(&["ticket", "keygen", file], 2, &[file]);
    let ticket =
        line(&["ticket", "sign", "--key", file, "--player", "ada\u{7}", "--room", "k3xw9fzm", "--seconds", "60"]);
    let said = line(&["ticket", "show", &ticket, "--key", &key]);
    for words in ["ada\\u{7}", "K3XW-9FZM", "play", &key, "valid"] {
        assert!(said.contains(words), "{said:?} without {words:?}");
    }
    assert!(line(&["ticket", "show", &ticket]).contains("nothing of this is proved"));
    check_refused(&["ticket", "show", &ticket, "--key", &stranger], 1, &["not trusted"]);
    let expired = line(&["ticket", "sign", "--key", file, "--player", "ada", "--room", "K3XW-9FZM", "--seconds", "0"]);
    check_refused(&["ticket", "show", &expired, "--key", &key], 1, &["expired"]);
    let changed = ticket.replacen("616461", "626461", 1);
    check_refused(&["ticket", "show", &changed, "--key", &key], 1, &["signature"]);
    check_refused(&["ticket", "show", "zz"], 2, &["hexadecimal"]);
    check_refused(&["ticket", "sign", "--key", file, "--player", "", "--room", "K3XW-9FZM"], 2, &["--player"]);
    check_refused(&["ticket", "sign", "--key", file, "--player", "ada", "--room", "0"], 2, &["--room"]);
}

#[cfg(unix)]
#[test]
fn v1_a_secret_key_is_its_owners_alone() {
    use std::os::unix::fs::PermissionsExt;
    let file = scratch("private.key");
    let _ = std::fs::remove_file(&file);
    line(&["ticket", "keygen", file.to_str().unwrap()]);
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
}
