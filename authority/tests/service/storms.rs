//! A room that opens sockets and answers nothing: the client gives up when it said it would (A6, N1).

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use retick_client::{ConnectError, NetClient, NetConfig, NetEnd, Reconnect};
use tokio::net::TcpListener;

use crate::game::{Scripted, factory};
use crate::server::soon;

#[tokio::test]
async fn a6_sockets_that_open_and_close_are_failed_attempts() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("bound");
    let opened = Arc::new(AtomicU32::new(0));
    let counter = opened.clone();
    let server = tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            if tokio_tungstenite::accept_async(stream).await.is_ok() {
                counter.fetch_add(1, Ordering::Relaxed);
            }
        }
    });
    let code = "AAAA-AAAA".parse().expect("a code");
    let reconnect = Reconnect { first_delay_millis: 50, max_delay_millis: 200, give_up_millis: 600 };
    let config = NetConfig { reconnect, ..NetConfig::new(address.to_string(), code) };
    let client = NetClient::spawn(config, Box::new(factory::<60>(b"storm")), Scripted::new(1).0);
    let outcome = soon("the client gives up", client.join()).await.expect("no panic");
    let opened = opened.load(Ordering::Relaxed);
    let gave_up = matches!(outcome.end, NetEnd::Unreachable { last: ConnectError::NoGreeting, .. });
    assert!(gave_up && (2..=8).contains(&opened), "{:?} after {opened} sockets", outcome.end);
    server.abort();
}
