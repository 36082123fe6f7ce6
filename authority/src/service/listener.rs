//! The service itself: its listening socket, its HTTP connections, and its stop.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpSocket};
use tokio::runtime::Handle;
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tracing::{info, warn};

use super::admin::{self, Admin};
use super::admission::Creation;
use super::config::ServiceConfig;
use super::error::ServiceError;
use super::handle::ServiceHandle;
use super::http::router;
use super::hub::Hub;
use super::log_store::LogStore;
use super::places::Visitor;
use super::serving::serve_socket;

/// Connections that the operating system may hold until they are accepted.
const BACKLOG: u32 = 1024;
/// Pause after a failed accept, so that a lack of file descriptors does not become a busy loop.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// The answer to a connection beyond the limit, given without reading its request.
const BUSY: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\nconnection: close\r\n\
content-length: 72\r\n\r\n{\"code\":\"too-many-connections\",\"message\":\"the service is full just now\"}";

/// A service that listens, and serves once [`Service::run_until`] is awaited. Its rooms run from their creation on, and end
/// when it is dropped.
#[derive(Debug)]
pub struct Service {
    listener: TcpListener,
    address: SocketAddr,
    admin: Option<Admin>,
    hub: Arc<Hub>,
}

impl Service {
    /// Listens, and restores the rooms that an earlier service kept (A12). Must be called within a tokio runtime.
    ///
    /// # Errors
    /// [`ServiceError::NoRuntime`], or [`ServiceError::Bind`] or [`ServiceError::BindAdmin`] when an address can't be listened on,
    /// or [`ServiceError::Logs`] when rooms can't be kept as the config says. A room that can't be restored is set aside.
    pub fn bind(config: ServiceConfig) -> Result<Service, ServiceError> {
        let runtime = Handle::try_current().map_err(|_| ServiceError::NoRuntime)?;
        let (listener, address) =
            listen(&config).map_err(|error| ServiceError::Bind { address: config.address, error })?;
        let admin = match config.admin_address {
            Some(address) => Some(Admin::bind(address).map_err(|error| ServiceError::BindAdmin { address, error })?),
            None => None,
        };
        let logs = config.logs.clone().map(LogStore::open).transpose()?;
        let hub = Arc::new(Hub::new(config, runtime, logs));
        hub.restore_rooms();
        Ok(Service { listener, address, admin, hub })
    }

    /// Where metrics and the monitor are, with the port that they have.
    pub fn admin_address(&self) -> Option<SocketAddr> {
        self.admin.as_ref().map(Admin::address)
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
        self.run(std::future::pending(), shutdown).await
    }

    /// Serves until `drain` is ready, and then no longer than [`ServiceConfig::drain_millis`]: no room is made and nobody joins
    /// any more, everyone is told, who lost the connection still returns to its seat, and it ends when the last room has. Once
    /// `stop` is ready, during that or before, it ends as [`Service::run_until`] does.
    ///
    /// # Errors
    /// [`ServiceError::StopTimeout`].
    pub async fn run(
        self,
        drain: impl Future<Output = ()>,
        stop: impl Future<Output = ()>,
    ) -> Result<(), ServiceError> {
        info!(address = %self.address, "serving");
        if self.hub.config.creation == Creation::AsAdmission && !self.hub.config.admission.is_open() {
            warn!("nobody makes rooms over HTTP: there are tickets, and no token for the backend");
        }
        tokio::select! {
            () = stop => {}
            () = self.drain_after(drain) => {}
            never = self.accept() => match never {},
            never = admin::serve(self.admin.as_ref(), &self.hub) => match never {},
        }
        info!(rooms = self.hub.room_count(), "stopping");
        self.hub.stop();
        let ended = timeout(self.hub.config.stop(), self.hub.ended()).await;
        ended.map_err(|_| ServiceError::StopTimeout { tasks: self.hub.task_count() })
    }

    async fn drain_after(&self, asked: impl Future<Output = ()>) {
        asked.await;
        let deadline = Instant::now() + self.hub.config.drain();
        info!(rooms = self.hub.room_count(), millis = self.hub.config.drain_millis, "draining");
        self.hub.drain(deadline);
        tokio::select! {
            () = self.hub.emptied() => info!("no room is left"),
            () = sleep_until(deadline) => {}
        }
    }

    async fn accept(&self) -> std::convert::Infallible {
        let router = router(self.hub.clone());
        let tls = self.hub.config.tls.as_ref().map(|tls| tls.acceptor());
        loop {
            match self.listener.accept().await {
                Ok((stream, peer)) => match Visitor::enter(&self.hub, peer.ip()) {
                    Some(visitor) => {
                        let serve = serve_socket(stream, tls.clone(), router.clone(), visitor, self.hub.clone());
                        tokio::spawn(serve);
                    }
                    None => {
                        warn!(%peer, "a connection beyond the limit");
                        // It is dropped whether it takes the answer or not; over TLS it could not read it.
                        if tls.is_none() {
                            let _ = stream.try_write(BUSY);
                        }
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
