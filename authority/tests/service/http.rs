//! Requests over HTTP: every refusal is typed, and nothing is lost by one.

use retick_authority::service::{MAX_CREATE_BODY_BYTES, ServiceConfig};
use retick_client::{CreateOptions, HttpError, create_room, room_info};
use serde_json::{Value, json};

use crate::game::{descriptor, factory};
use crate::raw::request;
use crate::server::{Server, local_config};

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[tokio::test]
async fn v1_a_malformed_request_gets_a_typed_refusal() {
    let (server, game) = (Server::start(local_config()), factory::<60>(b"one"));
    let bytes = descriptor(&game, 2).to_bytes();
    let good = hex(&bytes);
    let with = |name: &str, value: Value| {
        let mut body = json!({ "descriptor": good });
        body[name] = value;
        body.to_string().into_bytes()
    };
    let mut trailing = bytes.clone();
    trailing.push(0);
    let too_long = vec![b' '; MAX_CREATE_BODY_BYTES + 1];
    let cases: Vec<(&str, &str, Vec<u8>, u16, &str)> = vec![
        ("POST", "/rooms", b"{".to_vec(), 400, "malformed-json"),
        ("POST", "/rooms", vec![], 400, "malformed-json"),
        ("POST", "/rooms", b"\xff\xfe".to_vec(), 400, "malformed-json"),
        ("POST", "/rooms", with("unknown", json!(1)), 400, "malformed-json"),
        ("POST", "/rooms", with("hard_tolerance_ticks", json!(65_536)), 400, "malformed-json"),
        ("POST", "/rooms", with("descriptor", json!("0g")), 400, "malformed-hex"),
        ("POST", "/rooms", with("descriptor", json!("")), 400, "malformed-descriptor"),
        ("POST", "/rooms", with("descriptor", json!(hex(&trailing))), 400, "malformed-descriptor"),
        ("POST", "/rooms", with("descriptor", json!(&good[..good.len() - 2])), 400, "malformed-descriptor"),
        ("POST", "/rooms", with("checksum_cadence_ticks", json!(0)), 422, "room-refused"),
        ("POST", "/rooms", with("hard_tolerance_ticks", json!(60_000)), 422, "room-refused"),
        ("POST", "/rooms", with("grace_millis", json!(600_001)), 422, "grace-too-long"),
        ("POST", "/rooms", too_long, 413, "body-too-long"),
        ("GET", "/rooms", vec![], 400, "malformed-query"),
        ("PUT", "/rooms", vec![], 405, "method-not-allowed"),
        ("POST", "/rooms", with("visibility", json!("secret")), 400, "malformed-json"),
        ("POST", "/match", b"{}".to_vec(), 400, "malformed-json"),
        ("POST", "/match", with("seats", json!(3)), 422, "other-match"),
        ("PATCH", "/rooms/ZZZZ-ZZZZ", b"{}".to_vec(), 404, "no-such-room"),
        ("GET", "/rooms/ZZZZ-ZZZZ", vec![], 404, "no-such-room"),
        ("GET", "/rooms/../health", vec![], 404, "no-such-path"),
        ("GET", "/rooms/%ff", vec![], 404, "no-such-room"),
        ("GET", "/elsewhere", vec![], 404, "no-such-path"),
    ];
    for (method, path, body, status, code) in cases {
        let (found, answer) = request(server.address, method, path, &body).await;
        assert_eq!((found, answer["code"].as_str()), (status, Some(code)), "{method} {path}: {answer}");
        assert!(answer["message"].as_str().is_some_and(|message| !message.is_empty()), "{answer}");
    }
    assert_eq!(server.handle.room_count(), 0);

    let code = create_room(&server.address.to_string(), &descriptor(&game, 2), &CreateOptions::default()).await;
    let path = format!("/rooms/{}/play", code.expect("a room"));
    let (status, answer) = request(server.address, "GET", &path, b"").await;
    assert_eq!((status, answer["code"].as_str()), (426, Some("not-a-websocket")));
    let (status, answer) = request(server.address, "GET", "/health", b"").await;
    assert_eq!((status, &answer["rooms"]), (200, &json!(1)));
    server.stop().await;
}

#[tokio::test]
async fn v1_a_room_beyond_the_limit_is_refused_with_the_number() {
    let (server, game) = (Server::start(ServiceConfig { max_rooms: 1, ..local_config() }), factory::<60>(b"one"));
    let (address, descriptor) = (server.address.to_string(), descriptor(&game, 2));
    let create = async || create_room(&address, &descriptor, &CreateOptions::default()).await;
    let first = create().await.expect("the first one");
    match create().await {
        Err(HttpError::Refused { status: 503, code, message }) => {
            assert_eq!(code, "too-many-rooms");
            assert!(message.contains('1'), "{message}");
        }
        other => panic!("{other:?}"),
    }
    assert!(room_info(&address, &first).await.is_ok());
    server.handle.close_room(first.as_str().parse().expect("a code")).await.expect("it is open");
    let gone = room_info(&address, &first).await;
    assert!(gone.is_err() || gone.is_ok_and(|info| info.phase == retick_client::RoomPhase::Closed));
    server.stop().await;
}
