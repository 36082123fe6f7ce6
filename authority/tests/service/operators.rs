//! What operators see: metrics for Prometheus, and the monitor (V1).

use std::collections::BTreeMap;
use std::net::SocketAddr;

use retick_authority::service::ServiceConfig;
use tokio::net::TcpStream;

use crate::game::{Scripted, factory, room_config};
use crate::raw::{Answer, Raw, exchange};
use crate::server::{Server, client_is, local_config, soon};

fn watched() -> ServiceConfig {
    ServiceConfig { admin_address: Some(([127, 0, 0, 1], 0).into()), ..local_config() }
}

async fn get(address: SocketAddr, path: &str) -> Answer {
    exchange(TcpStream::connect(address).await.expect("it listens"), &format!("GET {path}"), "", b"").await
}

/// Every sample by its name and labels.
fn samples(text: &str) -> BTreeMap<String, f64> {
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| {
            let (name, value) = line.rsplit_once(' ').unwrap_or_else(|| panic!("{line}"));
            (name.to_owned(), value.parse().unwrap_or_else(|_| panic!("{line}")))
        })
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn v1_metrics_count_what_rooms_do_and_no_label_names_one() {
    let (server, game) = (Server::start(watched()), factory::<60>(b"one"));
    let admin = server.admin.expect("it was asked for");
    let code = server.handle.create_room(room_config(&game, 2)).expect("a room");
    let clients = [0, 1].map(|script| server.join(code, &game, Scripted::new(script).0));
    for client in &clients {
        client_is("the match runs", client, |stats| stats.confirmed.index() >= 120 && stats.client.rollbacks > 0).await;
    }
    let late = server.join(code, &game, Scripted::new(2).0);
    let _ = soon("it is refused", late.join()).await.expect("no panic");
    let mut silent = Raw::open(server.address, code).await;
    silent.hello(factory::<60>(b"other").manifest().identity()).await;
    let _ = silent.end().await;

    let counted = async {
        loop {
            let found = samples(&get(admin, "/metrics").await.body);
            let of = |name: &str| found.get(name).copied().unwrap_or(0.0);
            let there = of("retick_frames_confirmed_total") >= 120.0
                && of("retick_rollbacks_reported_total") > 0.0
                && of("retick_bytes_received_total") > 1_000.0
                && of("retick_bytes_sent_total") > 1_000.0
                && of("retick_tick_lag_seconds_count") > 60.0
                && of("retick_refusals_total{code=\"full\"}") >= 1.0
                && of("retick_refusals_total{code=\"identity\"}") == 1.0;
            if there {
                return found;
            }
            tokio::task::yield_now().await;
        }
    };
    let found = soon("all of it is counted", counted).await;
    let exact = [
        ("retick_rooms", 1.0),
        ("retick_rooms_created_total", 1.0),
        ("retick_seats{state=\"playing\"}", 2.0),
        ("retick_seats{state=\"free\"}", 0.0),
        ("retick_desyncs_total", 0.0),
        ("retick_slow_consumers_total", 0.0),
        ("retick_handshakes{stage=\"check\"}", 0.0),
    ];
    for (name, value) in exact {
        assert_eq!(found.get(name), Some(&value), "{name}: {found:?}");
    }
    assert!(found["retick_connections"] >= 2.0);
    let inf = "retick_tick_lag_seconds_bucket{le=\"+Inf\"}";
    assert_eq!(found.get(inf), found.get("retick_tick_lag_seconds_count"));
    let text = get(admin, "/metrics").await.body;
    assert!(!text.contains(&code.to_string()), "no label names a room");
    // Players can't see any of it.
    assert_eq!(get(server.address, "/metrics").await.status, 404);
    assert_eq!(get(server.address, "/monitor/state").await.status, 404);
    drop(clients);
    server.stop().await;
}

#[tokio::test]
async fn v1_the_monitor_is_a_page_that_can_load_nothing_else() {
    let server = Server::start(watched());
    let admin = server.admin.expect("it was asked for");
    let (one, other) = (get(admin, "/monitor").await, get(admin, "/monitor").await);
    let policy = one.header("content-security-policy").expect("a policy").to_owned();
    assert!(policy.starts_with("default-src 'none'; script-src 'nonce-") && !policy.contains("unsafe"), "{policy}");
    assert_ne!(Some(policy.as_str()), other.header("content-security-policy"), "a nonce is used once");
    let nonce = policy.split("'nonce-").nth(1).and_then(|rest| rest.split('\'').next()).expect("a nonce");
    assert!(one.body.contains(&format!("<script nonce=\"{nonce}\">")) && !one.body.contains("{{"));
    assert_eq!(one.header("x-content-type-options"), Some("nosniff"));
    // Under a name that a page could have point here, nothing is told.
    let foreign = async |path: &str| {
        let mut stream = TcpStream::connect(admin).await.expect("it listens");
        let request = format!("GET {path} HTTP/1.1\r\nhost: evil.example\r\nconnection: close\r\n\r\n");
        tokio::io::AsyncWriteExt::write_all(&mut stream, request.as_bytes()).await.expect("it reads");
        let mut answer = String::new();
        tokio::io::AsyncReadExt::read_to_string(&mut stream, &mut answer).await.expect("it answers");
        answer
    };
    for path in ["/monitor", "/monitor/state", "/metrics"] {
        assert!(foreign(path).await.starts_with("HTTP/1.1 421"), "{path}");
    }
    server.stop().await;
}
