//! One connection from its first byte on: TLS where it is spoken, HTTP, and the end of both (V1).

use std::sync::Arc;

use axum::body::Body;
use axum::http::Request;
use axum::{Extension, Router};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tracing::debug;

use super::hub::{Hub, stopped};
use super::places::Visitor;

/// Most bytes of a request's header.
pub(super) const MAX_HEADER_BYTES: usize = 16 * 1024;

/// What a route knows of the connection that it serves.
#[derive(Clone, Debug)]
pub(super) struct Origin {
    pub(super) permit: super::places::Permit,
    pub(super) address: std::net::IpAddr,
}

/// Serves a socket of the listener's.
pub(super) async fn serve_socket(
    stream: TcpStream,
    tls: Option<TlsAcceptor>,
    router: Router,
    visitor: Visitor,
    hub: Arc<Hub>,
) {
    if let Err(error) = stream.set_nodelay(true) {
        debug!(%error, "a connection without TCP_NODELAY");
    }
    let Some(tls) = tls else { return serve_http(stream, router, visitor, hub).await };
    let accepted = tokio::select! {
        accepted = timeout(hub.config.greeting(), tls.accept(stream)) => accepted,
        () = visitor.place.evicted() => return hub.metrics.handshakes_evicted.increment(1),
    };
    match accepted {
        Ok(Ok(stream)) => serve_http(stream, router, visitor, hub).await,
        Ok(Err(error)) => debug!(%error, "a TLS handshake failed"),
        Err(_) => debug!("a TLS handshake took too long"),
    }
}

/// Serves one connection's requests. After an upgrade the WebSocket's own task goes on.
pub(super) async fn serve_http<S>(stream: S, router: Router, visitor: Visitor, hub: Arc<Hub>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let Visitor { permit, place, address } = visitor;
    let routes = TowerToHyperService::new(router.layer(Extension(Origin { permit, address })));
    let service = hyper::service::service_fn(move |request: Request<Incoming>| {
        hyper::service::Service::call(&routes, request.map(Body::new))
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(hub.config.greeting())
        .max_buf_size(MAX_HEADER_BYTES)
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades();
    tokio::pin!(connection);
    let mut stop = hub.hold();
    let served = tokio::select! {
        served = connection.as_mut() => served,
        () = place.evicted() => return hub.metrics.handshakes_evicted.increment(1),
        () = stopped(&mut stop) => {
            connection.as_mut().graceful_shutdown();
            match timeout(hub.config.linger(), connection).await {
                Ok(served) => served,
                Err(_) => return,
            }
        }
    };
    if let Err(error) = served {
        debug!(%error, "an HTTP connection ended");
    }
}
