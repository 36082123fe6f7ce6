//! `retick serve`: says where it listens, answers, and stops cleanly on a signal.

use std::io::{Read, Write};
use std::net::TcpStream;

use crate::{Serving, check_refused, line_after, scratch};

fn ask(address: &str, request: &str, body: &str) -> String {
    let mut connection = TcpStream::connect(address).unwrap();
    let length = body.len();
    let head =
        format!("{request} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n");
    connection.write_all((head + body).as_bytes()).unwrap();
    let mut answer = String::new();
    connection.read_to_string(&mut answer).unwrap();
    answer
}

#[cfg(unix)]
#[test]
fn v1_it_answers_and_stops_on_a_signal() {
    for signal in ["-INT", "-TERM"] {
        let mut serving = Serving::start(&["--open"]);
        let answer = ask(&serving.address, "GET /health", "");
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        let monitor = line_after(&mut serving.lines, "monitor on http://");
        let (admin, path) = monitor.split_at(monitor.find('/').unwrap());
        assert!(ask(admin, &format!("GET {path}"), "").starts_with("HTTP/1.1 200"));
        assert!(ask(admin, "GET /metrics", "").contains("retick_rooms 0"));
        serving.signal(signal);
        assert!(serving.process.wait().unwrap().success(), "{signal}");
    }
}

#[cfg(unix)]
#[test]
fn v1_the_first_signal_drains_and_the_second_stops_at_once() {
    let mut serving = Serving::start(&["--open", "--drain-millis", "600000"]);
    let game = room_of_two();
    let created = ask(&serving.address, "POST /rooms", &game);
    assert!(created.starts_with("HTTP/1.1 201"), "{created}");
    serving.signal("-TERM");
    // It answers on, and says what it does.
    while !ask(&serving.address, "GET /health", "").contains("draining") {}
    let refused = ask(&serving.address, "POST /rooms", &game);
    assert!(refused.starts_with("HTTP/1.1 503") && refused.contains("stopping"), "{refused}");
    assert!(serving.process.try_wait().unwrap().is_none());
    serving.signal("-TERM");
    assert!(serving.process.wait().unwrap().success());
}

/// The body that asks for a room.
fn room_of_two() -> String {
    use retick_core::config::SessionConfig;
    use retick_core::identity::{IdentityManifest, MatchDescriptor};
    use retick_core::input::InputSchema;
    use retick_core::rng::SessionSeed;
    use retick_core::seat::SeatCount;
    use retick_core::tick::TickRate;

    let schema = InputSchema::builder("drive/v1").integer("steer", 0..=255).build().unwrap();
    let manifest = IdentityManifest::builder("native", 1, TickRate::Hz60).input_schema(schema).build().unwrap();
    let seats = SeatCount::new(2).unwrap();
    let descriptor = MatchDescriptor::new(&manifest, SessionConfig::empty(), SessionSeed::from_u64(1), seats);
    let hex: String = descriptor.to_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{{\"descriptor\":\"{hex}\"}}")
}

#[test]
fn v1_it_does_not_serve_before_it_is_said_who_may_join() {
    check_refused(&["serve", "--listen", "127.0.0.1:0"], 2, &["--ticket-key", "--open"]);
    check_refused(&["serve", "--open", "--ticket-key", &"00".repeat(32)], 2, &["--ticket-key"]);
    check_refused(&["serve", "--ticket-key", "ab"], 2, &["64 hexadecimal digits"]);
    check_refused(&["serve", "--open", "--create-token-file", "/nowhere"], 2, &["/nowhere"]);
    let short = scratch("short-token");
    std::fs::write(&short, "short\n").unwrap();
    check_refused(&["serve", "--open", "--create-token-file", short.to_str().unwrap()], 2, &["at least 16 bytes"]);
}

#[test]
fn v1_what_can_not_be_listened_on_or_spoken_is_refused() {
    check_refused(&["serve", "--open", "--listen", "nowhere"], 2, &["--listen"]);
    check_refused(&["serve", "--open", "--listen", "no.such.host.invalid:1"], 2, &["--listen"]);
    check_refused(&["serve", "--open", "--log", "a=b=c"], 2, &["--log"]);
    check_refused(&["serve", "--open", "--tls-cert", "cert.pem"], 2, &["--tls-key"]);
    let none = scratch("no-certificate");
    std::fs::write(&none, "no certificate").unwrap();
    let none = none.to_str().unwrap();
    let arguments = ["serve", "--open", "--listen", "127.0.0.1:0", "--tls-cert", none, "--tls-key", none];
    check_refused(&arguments, 2, &["no certificate in PEM form"]);
}
