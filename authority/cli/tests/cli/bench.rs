//! `retick bench`.

use super::{check_refused, retick, stderr, stdout};

#[test]
fn a1_bench_rooms_confirms_every_tick_of_every_room_and_says_what_it_took() {
    for persistence in [&[][..], &["--persist-after", "0"], &["--persist-after", "2"]] {
        let arguments =
            [&["bench", "rooms", "--only", "machine", "--rooms", "3", "--seats", "4", "--ticks", "150"], persistence]
                .concat();
        let output = retick(&arguments);
        let said = stdout(&output);
        assert!(output.status.success(), "{said}");
        for words in ["3 rooms × 4 seats, 60 Hz, inputs of 8 bytes", "450 ticks confirmed in", "rooms in real time"] {
            assert!(said.contains(words), "{said:?} lacks {words:?}");
        }
        let bytes_down = |said: &str| {
            let line = said.lines().find_map(|line| line.strip_prefix("down: "))?;
            line.split(' ').next()?.parse::<f64>().ok()
        };
        let moving = bytes_down(&said).unwrap();
        let held = stdout(&retick(&[&arguments[..], &["--change-every", "30"]].concat()));
        assert!(bytes_down(&held).unwrap() < moving / 2.0, "{held:?} against {said:?}");
    }
}

#[test]
fn v1_bench_rooms_plays_over_sockets_beside_a_bare_relay() {
    let output = retick(&["bench", "rooms", "--quick"]);
    let said = stdout(&output);
    assert!(output.status.success(), "{said}{}", stderr(&output));
    for words in
        ["rooms in real time on one core", "Retick's service: 3 rooms", "a bare tokio-tungstenite relay: 3 rooms"]
    {
        assert!(said.contains(words), "{said:?} lacks {words:?}");
    }
    check_refused(
        &["bench", "rooms", "--quick", "--only", "service", "--contenders", "colyseus", "--colyseus", "no-such-folder"],
        2,
        &["early"],
    );
}

#[test]
fn bench_refuses_what_no_room_can_have() {
    check_refused(&["bench", "rooms", "--seats", "129"], 2, &["129"]);
    check_refused(&["bench", "rooms", "--rooms", "0"], 2, &["0"]);
    check_refused(&["bench"], 2, &["rooms"]);
}
