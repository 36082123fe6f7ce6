//! The connections that are open, of all addresses and of each: who gets a place, and for how long (V1).

use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::address::{Counts, Peer};
use super::handshakes::{Place, Stage};
use super::hub::Hub;

/// Places of all connections.
#[derive(Debug)]
pub(super) struct Places {
    all: Arc<Semaphore>,
    limit: usize,
    limit_per_peer: usize,
    peers: Mutex<Counts>,
}

/// A connection's place among [`ServiceConfig::max_connections`](super::ServiceConfig::max_connections), and among those of its
/// address; kept for as long as the socket lives.
#[derive(Clone, Debug)]
pub(super) struct Permit {
    _kept: Arc<Kept>,
}

#[derive(Debug)]
struct Kept {
    _place: OwnedSemaphorePermit,
    places: Arc<Places>,
    peer: Option<Peer>,
}

impl Places {
    pub(super) fn new(limit: usize, limit_per_peer: usize) -> Arc<Places> {
        let limit = limit.min(Semaphore::MAX_PERMITS);
        Arc::new(Places { all: Arc::new(Semaphore::new(limit)), limit, limit_per_peer, peers: Mutex::default() })
    }

    /// How many connections are open.
    pub(super) fn taken(&self) -> usize {
        self.limit - self.all.available_permits()
    }

    fn peers(&self) -> MutexGuard<'_, Counts> {
        // Single inserts and removals can't leave the counts half done.
        self.peers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(self: &Arc<Self>, address: IpAddr) -> Option<Permit> {
        let place = self.all.clone().try_acquire_owned().ok()?;
        let peer = Peer::limited(address);
        if peer.is_some_and(|peer| !self.peers().add(peer, self.limit_per_peer)) {
            return None;
        }
        Some(Permit { _kept: Arc::new(Kept { _place: place, places: self.clone(), peer }) })
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        if let Some(peer) = self.peer {
            self.places.peers().remove(peer);
        }
    }
}

/// A connection that got a place, on its way in.
pub(super) struct Visitor {
    pub(super) permit: Permit,
    pub(super) place: Place,
    pub(super) address: IpAddr,
}

impl Visitor {
    /// Lets a connection in, if there is a place for it.
    pub(super) fn enter(hub: &Hub, address: IpAddr) -> Option<Visitor> {
        let Some(permit) = hub.places.take(address) else {
            hub.metrics.connections_turned_away.increment(1);
            return None;
        };
        Some(Visitor { permit, place: hub.handshakes.enter(Stage::Http, address), address })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn v1_an_address_has_its_places_and_gives_them_back() {
        let places = Places::new(3, 2);
        let take = |text: &str| places.take(text.parse().expect("an address"));
        let first = take("192.0.2.1").expect("free");
        let second = take("192.0.2.1").expect("free");
        assert!(take("192.0.2.1").is_none() && places.taken() == 2);
        let third = take("192.0.2.2").expect("free");
        assert!(take("127.0.0.1").is_none(), "all are taken");
        drop((first.clone(), second));
        assert_eq!(places.taken(), 2);
        drop(first);
        let here = take("127.0.0.1").expect("free");
        assert!(take("192.0.2.1").is_some());
        drop((third, here));
        assert_eq!(places.taken(), 0);
    }
}
