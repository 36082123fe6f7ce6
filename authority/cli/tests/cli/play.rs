//! `retick play`: a service and its players, each a process of its own.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdout, Command, Stdio};

use crate::{Serving, check_refused, retick, scratch, stdout};

/// A player in a process of its own.
struct Playing {
    process: Child,
    output: BufReader<ChildStdout>,
    /// The room, as the player said it.
    code: String,
}

impl Playing {
    /// Starts one, and reads what it says up to the code of its room.
    fn start(service: &Serving, arguments: &[&str]) -> Playing {
        let mut playing = Command::new(env!("CARGO_BIN_EXE_retick"));
        let playing = playing.args(["play", "--bot", "--address", &service.address]).args(arguments);
        let mut process = playing.stdout(Stdio::piped()).spawn().unwrap();
        let mut output = BufReader::new(process.stdout.take().unwrap());
        let code = loop {
            let mut line = String::new();
            assert!(output.read_line(&mut line).unwrap() > 0, "it ended without a room");
            if let Some(room) = line.strip_prefix("room ") {
                break room.split(' ').next().unwrap().to_owned();
            }
        };
        Playing { process, output, code }
    }

    /// Waits for its end, and gives the rest of what it said.
    fn finish(mut self) -> String {
        let mut said = String::new();
        self.output.read_to_string(&mut said).unwrap();
        assert!(self.process.wait().unwrap().success(), "{said}");
        said
    }
}

fn line<'a>(said: &'a str, start: &str) -> &'a str {
    said.lines().find(|line| line.starts_with(start)).unwrap_or_else(|| panic!("no {start:?} in {said}"))
}

#[test]
fn a_service_and_two_players_are_three_processes_of_one_match() {
    let (service, replay) = (Serving::start(&["--open"]), scratch("play.replay"));
    let replay = replay.to_str().unwrap();
    let first = Playing::start(&service, &["--create", "--seats", "2", "--seconds", "3", "--record", replay]);
    let second = Playing::start(&service, &[&first.code, "--seconds", "3"]);
    assert_eq!(first.code, second.code);

    let said = [first.finish(), second.finish()];
    for start in ["chain head ", "substituted inputs by seat: ", "4 checksums, the last is S(181) "] {
        assert_eq!(line(&said[0], start), line(&said[1], start));
    }
    assert!(line(&said[0], "seat ").starts_with("seat 0 of 2, 181 ticks confirmed"), "{}", said[0]);
    assert!(line(&said[1], "seat ").starts_with("seat 1 of 2, 181 ticks confirmed"), "{}", said[1]);
    let verified = retick(&["verify", replay]);
    assert!(stdout(&verified).starts_with("verified: 181 ticks, 4 checksums"), "{}", stdout(&verified));
    let last = line(&said[0], "4 checksums").rsplit(' ').next().unwrap();
    assert!(stdout(&verified).contains(last), "{} without {last}", stdout(&verified));
}

/// What a player recorded, and what the room wrote down, are one match; the room's is signed.
#[test]
fn r1_a_rooms_log_becomes_a_signed_replay_of_what_its_player_recorded() {
    let (folder, key) = (scratch("log-replay"), scratch("log-replay.key"));
    let _ = std::fs::remove_dir_all(&folder);
    let _ = std::fs::remove_file(&key);
    let (recorded, logged) = (scratch("log-replay-player.replay"), scratch("log-replay-room.replay"));
    let [folder_name, key, recorded, logged] = [&folder, &key, &recorded, &logged].map(|path| path.to_str().unwrap());
    let public = stdout(&retick(&["ticket", "keygen", key]));
    let service = Serving::start(&["--open", "--log-dir", folder_name, "--durability", "none"]);
    let player =
        Playing::start(&service, &["--create", "--seats", "2", "--bots", "1", "--seconds", "2", "--record", recorded]);
    let code = player.code.clone();
    player.finish();
    // The room lives on with its bot; a stop keeps it.
    service.signal("-TERM");
    drop(service);

    let rooms = ["rooms", "ended"].map(|kind| folder.join(kind).join(&code));
    let room = rooms.iter().find(|room| room.exists()).unwrap().to_str().unwrap();
    let written = retick(&["log", "replay", room, "--output", logged, "--sign-with", key]);
    assert!(written.status.success(), "{}", crate::stderr(&written));
    assert!(stdout(&written).contains(&format!("signed by {}", public.trim())), "{}", stdout(&written));
    let verified = retick(&["verify", logged, "--signed-by", public.trim()]);
    assert!(stdout(&verified).starts_with("verified: "), "{}", stdout(&verified));
    let unsigned = retick(&["verify", recorded, "--signed-by", public.trim()]);
    assert!(stdout(&unsigned).contains("RTK-R032"), "{}", stdout(&unsigned));
    // Nothing differs up to where the player stopped.
    let compared = retick(&["replay", "diff", recorded, logged]);
    let said = stdout(&compared) + &crate::stderr(&compared);
    assert!(said.contains("the same match") || said.contains("differ: 121 ticks, and "), "{said}");
    check_refused(
        &["log", "replay", room, "--output", logged, "--generation", "1"],
        2,
        &["no beginning of generation 1"],
    );
}

#[test]
fn a5_a_created_room_has_bots_on_its_last_seats_and_needs_nobody_there() {
    let service = Serving::start(&["--open"]);
    let said = Playing::start(&service, &["--create", "--seats", "3", "--bots", "2", "--seconds", "2"]).finish();
    assert!(line(&said, "seat ").starts_with("seat 0 of 3, 121 ticks confirmed"), "{said}");
}

#[test]
fn what_can_not_be_played_is_refused() {
    let service = Serving::start(&["--open"]);
    let address = ["--address", &service.address];
    let refused = |arguments: &[&str], words: &[&str]| {
        check_refused(&[&["play"], arguments, &address].concat(), 2, words);
    };
    refused(&["--create"], &["--bot"]);
    refused(&["--bot"], &["CODE"]);
    refused(&["--bot", "AAAA-AAAA", "--create"], &["--create"]);
    refused(&["--bot", "AAAA-AAAA", "--seats", "3"], &["--seats", "CODE"]);
    refused(&["--bot", "--create", "--seats", "9"], &["--seats", "2..=8"]);
    refused(&["--bot", "AAAA-AAAA", "--bots", "1"], &["--bots", "CODE"]);
    refused(&["--bot", "--create", "--bots", "2"], &["--bots 2 leaves no seat"]);
    refused(&["--bot", "../health"], &["room code"]);
    refused(&["--bot", "AAAA-AAAA"], &["there is no such room"]);
    let nowhere = scratch("no-such-folder").join("play.replay");
    refused(&["--bot", "--create", "--record", nowhere.to_str().unwrap()], &["can't write"]);
}
