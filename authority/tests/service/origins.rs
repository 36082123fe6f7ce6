//! Web pages: only those whose origin is allowed are served, and browsers are told so (V1).

use retick_authority::service::{Origins, ServiceConfig};

use crate::game::{factory, room_config};
use crate::raw::exchange;
use crate::server::{Server, local_config};

const OWN: &str = "https://game.example";

#[tokio::test]
async fn v1_pages_of_other_origins_are_refused_before_anything_is_done() {
    let origins = Origins::listed([OWN.to_owned()]);
    let (server, game) = (Server::start(ServiceConfig { origins, ..local_config() }), factory::<60>(b"one"));
    let code = server.handle.create_room(room_config(&game, 2)).expect("a room");
    let play = format!("GET /rooms/{code}/play");
    let upgrade = "upgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-version: 13\r\n\
                   sec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n";
    let ask = async |line: &str, headers: &str| {
        let stream = tokio::net::TcpStream::connect(server.address).await.expect("it listens");
        exchange(stream, line, headers, b"").await
    };
    let foreign = "origin: https://evil.example\r\n";
    for line in ["GET /health", "POST /rooms", "POST /match", &play, "OPTIONS /rooms"] {
        let answer = ask(line, &format!("{foreign}{upgrade}")).await;
        assert_eq!((answer.status, answer.code().as_str()), (403, "origin"), "{line}");
        assert_eq!(answer.header("access-control-allow-origin"), None);
    }
    assert!(server.handle.metrics().contains("retick_refusals_total{code=\"origin\"} 5\n"));
    // The page that belongs is served, and its browser told so.
    let own = format!("origin: {OWN}\r\n");
    let answer = ask("GET /health", &own).await;
    assert_eq!((answer.status, answer.header("access-control-allow-origin")), (200, Some(OWN)));
    assert_eq!((answer.header("vary"), answer.header("cache-control")), (Some("origin"), Some("no-store")));
    let answer = ask("OPTIONS /rooms", &format!("{own}access-control-request-method: POST\r\n")).await;
    assert_eq!((answer.status, answer.header("access-control-allow-methods")), (204, Some("GET, POST, PATCH")));
    // What is no browser says nothing of an origin.
    assert_eq!(ask("GET /health", "").await.status, 200);
    server.stop().await;
}
