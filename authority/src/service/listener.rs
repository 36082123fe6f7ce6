//! The service itself: its listening socket, its HTTP connections, and its stop.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::Request;
use axum::{Extension, Router};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::{sleep, timeout};
use tracing::{debug, info, warn};

use super::config::ServiceConfig;
use super::error::ServiceError;
use super::handle::ServiceHandle;
use super::http::router;
use super::hub::{Hub, stopped};

/// Connections that the operating system may hold until they are accepted.
const BACKLOG: u32 = 1024;
/// Most bytes of a request's header.
const MAX_HEADER_BYTES: usize = 16 * 1024;
/// Pause after a failed accept, so that a lack of file descriptors does not become a busy loop.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// The answer to a connection beyond the limit, given without reading its request.
const BUSY: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\nconnection: close\r\n\
content-length: 72\r\n\r\n{\"code\":\"too-many-connections\",\"message\":\"the service is full just now\"}";

/// A connection's place among [`ServiceConfig::max_connections`]; kept for as long as the socket lives.
#[derive(Clone)]
pub(super) struct Permit {
    _place: Arc<OwnedSemaphorePermit>,
}

/// A service that listens, and serves once [`Service::run_until`] is awaited. Its rooms run from their creation on, and end
/// when it is dropped.
#[derive(Debug)]
pub struct Service {
    listener: TcpListener,
    address: SocketAddr,
    hub: Arc<Hub>,
}

impl Service {
    /// Listens. Must be called within a tokio runtime.
    ///
    /// # Errors
    /// [`ServiceError::NoRuntime`], or [`ServiceError::Bind`] when the address can't be listened on.
    pub fn bind(config: ServiceConfig) -> Result<Service, ServiceError> {
        let runtime = Handle::try_current().map_err(|_| ServiceError::NoRuntime)?;
        let (listener, address) =
            listen(&config).map_err(|error| ServiceError::Bind { address: config.address, error })?;
        Ok(Service { listener, address, hub: Arc::new(Hub::new(config, runtime)) })
    }

    /// Where it listens, with the port that it has.
    pub fn local_address(&self) -> SocketAddr {
        self.address
    }

    /// The owner's way to it; outlives the service, and then knows no room.
    pub fn handle(&self) -> ServiceHandle {
        ServiceHandle::new(self.hub.clone())
    }

    /// Serves until `shutdown` is ready. Then no connection is accepted any more, every room is closed, clients are told, and
    /// all tasks are waited for, at most [`ServiceConfig::stop_millis`].
    ///
    /// # Errors
    /// [`ServiceError::StopTimeout`].
    pub async fn run_until(self, shutdown: impl Future<Output = ()>) -> Result<(), ServiceError> {
        info!(address = %self.address, "serving");
        tokio::select! {
            () = shutdown => {}
            never = self.accept() => match never {},
        }
        info!(rooms = self.hub.room_count(), "stopping");
        self.hub.stop();
        let ended = timeout(self.hub.config.stop(), self.hub.ended()).await;
        ended.map_err(|_| ServiceError::StopTimeout { tasks: self.hub.task_count() })
    }

    async fn accept(&self) -> std::convert::Infallible {
        let places = Arc::new(Semaphore::new(self.hub.config.max_connections.min(Semaphore::MAX_PERMITS)));
        let router = router(self.hub.clone());
        loop {
            match self.listener.accept().await {
                Ok((stream, peer)) => match places.clone().try_acquire_owned() {
                    Ok(place) => {
                        let permit = Permit { _place: Arc::new(place) };
                        let serve = serve_http(stream, router.clone(), permit, self.hub.config, self.hub.hold());
                        tokio::spawn(serve);
                    }
                    Err(_) => {
                        warn!(%peer, "a connection beyond the limit");
                        // It is dropped whether it takes the answer or not.
                        let _ = stream.try_write(BUSY);
                    }
                },
                Err(error) => {
                    warn!(%error, "a connection was not accepted");
                    sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.hub.stop();
    }
}

fn listen(config: &ServiceConfig) -> io::Result<(TcpListener, SocketAddr)> {
    let socket = if config.address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    #[cfg(unix)]
    socket.set_reuseaddr(true)?;
    // Accepted sockets inherit it. Without it the operating system holds megabytes, and the limit per connection means little.
    socket.set_send_buffer_size(config.socket_send_buffer_bytes)?;
    socket.bind(config.address)?;
    let listener = socket.listen(BACKLOG)?;
    let address = listener.local_addr()?;
    Ok((listener, address))
}

/// Serves one connection's requests. After an upgrade the WebSocket's own task goes on.
async fn serve_http(
    stream: TcpStream,
    router: Router,
    permit: Permit,
    config: ServiceConfig,
    mut stop: watch::Receiver<bool>,
) {
    if let Err(error) = stream.set_nodelay(true) {
        debug!(%error, "a connection without TCP_NODELAY");
    }
    let routes = TowerToHyperService::new(router.layer(Extension(permit)));
    let service = hyper::service::service_fn(move |request: Request<Incoming>| {
        hyper::service::Service::call(&routes, request.map(Body::new))
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(config.greeting())
        .max_buf_size(MAX_HEADER_BYTES)
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades();
    tokio::pin!(connection);
    let served = tokio::select! {
        served = connection.as_mut() => served,
        () = stopped(&mut stop) => {
            connection.as_mut().graceful_shutdown();
            match timeout(config.linger(), connection).await {
                Ok(served) => served,
                Err(_) => return,
            }
        }
    };
    if let Err(error) = served {
        debug!(%error, "an HTTP connection ended");
    }
}

/// Ready when the process is asked to stop: by SIGINT, or by SIGTERM where there is one.
pub async fn shutdown_signal() {
    tokio::select! {
        () = interrupt() => info!("interrupted"),
        () = terminate() => info!("terminated"),
    }
}

async fn interrupt() {
    if let Err(error) = tokio::signal::ctrl_c().await {
        warn!(%error, "interrupts can't be waited for");
        std::future::pending().await
    }
}

#[cfg(unix)]
async fn terminate() {
    use tokio::signal::unix::{SignalKind, signal};
    match signal(SignalKind::terminate()) {
        Ok(mut terminate) => {
            terminate.recv().await;
        }
        Err(error) => {
            warn!(%error, "termination can't be waited for");
            std::future::pending().await
        }
    }
}

#[cfg(not(unix))]
async fn terminate() {
    std::future::pending().await
}
