//! `retick serve`: says where it listens, answers, and stops cleanly on a signal.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;

use crate::{Serving, check_refused};

#[cfg(unix)]
#[test]
fn it_answers_and_stops_on_a_signal() {
    for signal in ["-INT", "-TERM"] {
        let mut serving = Serving::start();
        let address = &serving.address;
        let mut connection = TcpStream::connect(address).unwrap();
        let request = format!("GET /health HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n");
        connection.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        connection.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        assert!(Command::new("kill").args([signal, &serving.process.id().to_string()]).status().unwrap().success());
        assert!(serving.process.wait().unwrap().success(), "{signal}");
    }
}

#[test]
fn an_address_that_is_none_is_refused() {
    check_refused(&["serve", "--listen", "nowhere"], 2, &["--listen"]);
    check_refused(&["serve", "--log", "a=b=c"], 2, &["--log"]);
}
