//! TLS: a match over it, and what is not let through (V1).

use retick_authority::service::{ServiceConfig, TlsError as ServiceTlsError, TlsIdentity};
use retick_client::{
    ConnectError, CreateOptions, HttpError, Lobby, NetClient, NetConfig, NetEnd, Reconnect, Roots, TlsClient,
};
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;

use crate::game::{Scripted, assert_agreement, descriptor, factory};
use crate::server::{Server, client_is, local_config, soon};

/// A certificate that signs itself, for this name, and its key.
fn certificate(name: &str) -> (String, String) {
    let made = rcgen::generate_simple_self_signed([name.to_owned()]).expect("a certificate");
    (made.cert.pem(), made.signing_key.serialize_pem())
}

fn secured(name: &str) -> (ServiceConfig, TlsClient) {
    let (certificate, key) = certificate(name);
    let tls = TlsIdentity::from_pem(certificate.as_bytes(), key.as_bytes()).expect("they fit");
    let client = TlsClient::new(Roots::Only(certificate.as_bytes())).expect("a certificate");
    (ServiceConfig { tls: Some(tls), ..local_config() }, client)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn v1_a_match_is_made_and_played_over_tls() {
    let ((config, tls), game) = (secured("localhost"), factory::<60>(b"one"));
    let server = Server::start(config);
    let address = format!("localhost:{}", server.address.port());
    let lobby = Lobby::new(&address).with_tls(tls.clone());
    let options = CreateOptions { checksum_cadence_ticks: Some(20), ..CreateOptions::default() };
    let room = lobby.create(&descriptor(&game, 2), &options).await.expect("a room");
    let (mut clients, mut checksums) = (Vec::new(), Vec::new());
    for script in 0..2 {
        let (player, sums) = Scripted::new(script);
        let config = NetConfig { tls: Some(tls.clone()), ..NetConfig::new(&address, room.info.code.clone()) };
        clients.push(NetClient::spawn(config, Box::new(game.clone()), player));
        checksums.push(sums);
    }
    for client in &clients {
        client_is("the match is played", client, |stats| stats.confirmed.index() >= 120).await;
    }
    assert_agreement(&checksums, 3);
    drop(clients);
    server.stop().await;
}

#[tokio::test]
async fn v1_who_is_not_the_named_service_is_not_believed() {
    let ((config, own), game) = (secured("localhost"), factory::<60>(b"one"));
    let (_, stranger) = secured("localhost");
    let server = Server::start(config);
    let port = server.address.port();
    let created = async |address: String, tls: Option<TlsClient>| {
        let lobby = Lobby::new(address);
        let lobby = if let Some(tls) = tls { lobby.with_tls(tls) } else { lobby };
        lobby.create(&descriptor(&game, 2), &CreateOptions::default()).await.map(|_| ())
    };
    assert_eq!(created(format!("localhost:{port}"), Some(own.clone())).await, Ok(()));
    let untrusted = Err(HttpError::Io(std::io::ErrorKind::InvalidData));
    assert_eq!(created(format!("localhost:{port}"), Some(stranger.clone())).await, untrusted);
    // The certificate is for a name, and not for an address.
    assert_eq!(created(format!("127.0.0.1:{port}"), Some(own)).await, untrusted);
    assert!(created(format!("localhost:{port}"), None).await.is_err());

    let code = "ZZZZ-ZZZZ".parse().expect("a code");
    let reconnect = Reconnect { first_delay_millis: 1, max_delay_millis: 1, give_up_millis: 20 };
    let config = NetConfig { tls: Some(stranger), reconnect, ..NetConfig::new(format!("localhost:{port}"), code) };
    let client = NetClient::spawn(config, Box::new(game.clone()), Scripted::new(0).0);
    let end = soon("the client gives up", client.join()).await.expect("no panic").end;
    let untrusted = ConnectError::Io(std::io::ErrorKind::InvalidData);
    assert!(matches!(end, NetEnd::Unreachable { last, .. } if last == untrusted), "{end:?}");
    server.stop().await;
}

#[tokio::test]
async fn v1_a_half_open_tls_handshake_is_closed_at_the_deadline() {
    let (config, _) = secured("localhost");
    let server = Server::start(ServiceConfig { greeting_millis: 100, ..config });
    let mut stream = TcpStream::connect(server.address).await.expect("it listens");
    let mut answer = Vec::new();
    let _ = soon("it is closed", stream.read_to_end(&mut answer)).await;
    assert_eq!(answer, b"");
    server.stop().await;
}

#[test]
fn v1_a_certificate_and_a_key_that_do_not_fit_are_refused() {
    let ((one, key), (_, other)) = (certificate("localhost"), certificate("localhost"));
    let made = |certificate: &str, key: &str| TlsIdentity::from_pem(certificate.as_bytes(), key.as_bytes()).map(|_| ());
    assert_eq!(made(&one, &key), Ok(()));
    assert_eq!(made("", &key), Err(ServiceTlsError::Certificate));
    assert_eq!(made(&one, ""), Err(ServiceTlsError::Key));
    assert_eq!(made(&one.repeat(17), &key), Err(ServiceTlsError::LongChain));
    assert!(matches!(made(&one, &other), Err(ServiceTlsError::Refused(_))));
}
