//! A service for one test, and waiting with a deadline.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use retick_authority::service::{RoomCode, RoomStatus, Service, ServiceConfig, ServiceError, ServiceHandle};
use retick_client::{NetClient, NetConfig, NetStats, Player};
use retick_core::runtime::RuntimeFactory;
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// When a condition has not come true by then, it never will.
pub const DEADLINE: Duration = Duration::from_secs(30);

pub struct Server {
    pub address: SocketAddr,
    pub admin: Option<SocketAddr>,
    pub handle: ServiceHandle,
    drain: Option<oneshot::Sender<()>>,
    shutdown: oneshot::Sender<()>,
    task: JoinHandle<Result<(), ServiceError>>,
}

/// A config that listens on a free loopback port.
pub fn local_config() -> ServiceConfig {
    ServiceConfig { address: (Ipv4Addr::LOCALHOST, 0).into(), ..ServiceConfig::default() }
}

impl Server {
    pub fn start(config: ServiceConfig) -> Server {
        let service = Service::bind(config).expect("a free port");
        let (shutdown, stopped) = oneshot::channel();
        let (drain, drained) = oneshot::channel();
        let (address, admin, handle) = (service.local_address(), service.admin_address(), service.handle());
        let drained = async {
            if drained.await.is_err() {
                std::future::pending().await
            }
        };
        let task = tokio::spawn(service.run(drained, async {
            let _ = stopped.await;
        }));
        Server { address, admin, handle, drain: Some(drain), shutdown, task }
    }

    pub fn drain(&mut self) {
        self.drain.take().expect("asked for once").send(()).expect("it runs");
    }

    /// Waits until it has ended by itself.
    pub async fn ended(self) {
        soon("the service ends", self.task).await.expect("no panic").expect("a clean end");
    }

    pub async fn stop(self) {
        self.shutdown.send(()).expect("it runs");
        soon("the service stops", self.task).await.expect("no panic").expect("a clean stop");
    }

    pub fn net_config(&self, code: RoomCode) -> NetConfig {
        NetConfig::new(self.address.to_string(), code.to_string().parse().expect("a code is a code"))
    }

    pub fn join(&self, code: RoomCode, factory: &Arc<dyn RuntimeFactory>, player: impl Player) -> NetClient {
        NetClient::spawn(self.net_config(code), Box::new(factory.clone()), player)
    }

    pub fn status(&self, code: RoomCode) -> watch::Receiver<RoomStatus> {
        self.handle.watch_room(code).expect("the room exists")
    }
}

/// What `future` gives, which must be soon.
pub async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    let result = timeout(DEADLINE, future).await;
    result.unwrap_or_else(|_| panic!("{what}: not within {DEADLINE:?}"))
}

pub async fn room_is(what: &str, status: &watch::Receiver<RoomStatus>, condition: impl FnMut(&RoomStatus) -> bool) {
    let mut status = status.clone();
    if soon(what, status.wait_for(condition)).await.is_err() {
        panic!("{what}: the room ended at {:?}", status.borrow());
    }
}

pub async fn client_is(what: &str, client: &NetClient, condition: impl FnMut(&NetStats) -> bool) {
    let mut stats = client.watch();
    if soon(what, stats.wait_for(condition)).await.is_err() {
        panic!("{what}: the client ended at {:?}", client.stats());
    }
}
