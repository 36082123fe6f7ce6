//! The command line as a user meets it: exit codes, what it prints, and what it says of bad input.
#![expect(clippy::unwrap_used, reason = "a panic in a test is a red test")]

mod bench;
mod demo;
mod logs;
mod module;
mod play;
mod referee;
mod replay;
mod restarts;
mod serve;
mod symbols;
mod synctest;
mod ticket;

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Output, Stdio};

/// Runs `retick` with these arguments to its end.
fn retick(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_retick")).args(arguments).output().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// A service in a process of its own, which ends with this.
struct Serving {
    process: Child,
    lines: BufReader<ChildStdout>,
    address: String,
}

impl Serving {
    /// Starts one on a free port.
    fn start(arguments: &[&str]) -> Serving {
        let mut process = Command::new(env!("CARGO_BIN_EXE_retick"))
            .args(["serve", "--listen", "localhost:0"])
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap());
        let address = line_after(&mut lines, "listening on ");
        Serving { process, lines, address }
    }

    fn signal(&self, signal: &str) {
        assert!(Command::new("kill").args([signal, &self.process.id().to_string()]).status().unwrap().success());
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        // It may be over already, by a signal of the test's.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn line_after(lines: &mut impl BufRead, prefix: &str) -> String {
    let mut line = String::new();
    lines.read_line(&mut line).unwrap();
    line.trim().strip_prefix(prefix).unwrap_or_else(|| panic!("{line:?}")).to_owned()
}

/// A file of this test's own.
fn scratch(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// Asserts that a command ended with this code and these words on standard error.
fn check_refused(arguments: &[&str], code: i32, words: &[&str]) {
    let output = retick(arguments);
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {said}");
    words.iter().for_each(|word| assert!(said.contains(word), "{arguments:?} says {said:?}, without {word:?}"));
    assert!(!said.contains("panicked"), "{said}");
}

#[test]
fn help_names_every_command() {
    let help = retick(&["--help"]);
    assert!(help.status.success());
    for command in [
        "demo",
        "play",
        "serve",
        "ticket",
        "log",
        "verify",
        "replay",
        "synctest",
        "simulate",
        "false-alarms",
        "module",
        "bench",
    ] {
        assert!(stdout(&help).contains(command), "{command}");
        assert!(retick(&[command, "--help"]).status.success(), "{command}");
    }
    for command in ["inspect", "certify", "normalise", "symbols"] {
        assert!(stdout(&retick(&["module", "--help"])).contains(command), "{command}");
        assert!(retick(&["module", command, "--help"]).status.success(), "{command}");
    }
    for command in ["verify", "info", "seek", "diff", "plot"] {
        assert!(stdout(&retick(&["replay", "--help"])).contains(command), "{command}");
        assert!(retick(&["replay", command, "--help"]).status.success(), "{command}");
    }
    for command in ["keygen", "sign", "show"] {
        assert!(stdout(&retick(&["ticket", "--help"])).contains(command), "{command}");
        assert!(retick(&["ticket", command, "--help"]).status.success(), "{command}");
    }
    check_refused(&["no-such-command"], 2, &["no-such-command"]);
}
