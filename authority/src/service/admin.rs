//! What operators see, on a listener of its own: metrics and the monitor (V1). It only tells, and changes nothing.

use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, HOST};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::sleep;
use tracing::{debug, info, warn};

use super::hub::Hub;
use super::monitor;
use super::serving::MAX_HEADER_BYTES;

/// Most connections of operators at once.
const MAX_ADMIN_CONNECTIONS: usize = 64;
/// How long one of them may take for a request's header.
const HEADER_TIME: Duration = Duration::from_secs(5);
/// Pause after a failed accept.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// The operators' listener.
#[derive(Debug)]
pub(super) struct Admin {
    listener: TcpListener,
    address: SocketAddr,
}

impl Admin {
    pub(super) fn bind(address: SocketAddr) -> io::Result<Admin> {
        let listener = std::net::TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let listener = TcpListener::from_std(listener)?;
        let address = listener.local_addr()?;
        Ok(Admin { listener, address })
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }
}

/// Serves operators for as long as it is polled; for ever pending where there is no listener.
pub(super) async fn serve(admin: Option<&Admin>, hub: &Arc<Hub>) -> Infallible {
    let Some(admin) = admin else { return std::future::pending().await };
    info!(address = %admin.address, "metrics and the monitor");
    let (router, places) = (router(hub.clone()), Arc::new(Semaphore::new(MAX_ADMIN_CONNECTIONS)));
    loop {
        match admin.listener.accept().await {
            Ok((stream, _)) => {
                let Ok(place) = places.clone().try_acquire_owned() else { continue };
                let (router, hub) = (router.clone(), hub.clone());
                tokio::spawn(async move {
                    serve_one(stream, router, &hub).await;
                    drop(place);
                });
            }
            Err(error) => {
                warn!(%error, "an operator's connection was not accepted");
                sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

async fn serve_one(stream: TcpStream, router: Router, hub: &Hub) {
    let routes = TowerToHyperService::new(router);
    let service = hyper::service::service_fn(move |request: Request<Incoming>| {
        hyper::service::Service::call(&routes, request.map(Body::new))
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIME)
        .max_buf_size(MAX_HEADER_BYTES)
        .serve_connection(TokioIo::new(stream), service);
    let mut stop = hub.hold();
    tokio::select! {
        served = connection => if let Err(error) = served {
            debug!(%error, "an operator's connection ended");
        },
        // Nothing that is told here outlives the service.
        () = super::hub::stopped(&mut stop) => {}
    }
}

fn router(hub: Arc<Hub>) -> Router {
    Router::new()
        .route("/metrics", get(metrics))
        .route("/monitor", get(monitor::page))
        .route("/monitor/state", get(monitor::state))
        .layer(from_fn(guard))
        .with_state(hub)
}

/// Refuses requests under a foreign name: a web page that has its own name point here would read what it is not to see.
async fn guard(request: Request, next: Next) -> Response {
    if !is_own_name(request.headers()) {
        return (StatusCode::MISDIRECTED_REQUEST, "this listener is reached by address, or as localhost\n")
            .into_response();
    }
    let mut response = next.run(request).await;
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

fn is_own_name(headers: &HeaderMap) -> bool {
    let Some(host) = headers.get(HOST).and_then(|host| host.to_str().ok()) else { return false };
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let bare = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    name == "localhost" || bare.parse::<IpAddr>().is_ok()
}

async fn metrics(State(hub): State<Arc<Hub>>) -> Response {
    monitor::measure(&hub);
    ([(CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], hub.metrics.render()).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn v1_the_operators_listener_is_known_by_its_address_alone() {
        let own = |host: &'static str| is_own_name(&HeaderMap::from_iter([(HOST, HeaderValue::from_static(host))]));
        for host in ["localhost", "localhost:9090", "127.0.0.1:9090", "10.0.0.7", "[::1]:9090", "[::1]"] {
            assert!(own(host), "{host}");
        }
        for host in
            ["evil.example", "evil.example:9090", "localhost.evil.example", "", ":9090", "127.0.0.1.evil.example"]
        {
            assert!(!own(host), "{host}");
        }
        assert!(!is_own_name(&HeaderMap::new()));
    }
}
