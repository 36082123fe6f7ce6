//! Connections on their way in: how many there may be in each stage, and who gives way when there are more (V1, L02).
//!
//! A connection that says nothing costs its peer nothing, so their number alone must not keep anyone out. Each stage has its own
//! limit; beyond it a newcomer is let in, and the oldest of the address with the most in that stage gives way. Whoever speaks
//! at once is in and out of a stage long before it is the oldest.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use super::address::Peer;

/// How far a connection has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stage {
    /// It was accepted, and speaks TLS and HTTP, or nothing yet.
    Http,
    /// Its WebSocket is open, and its greeting is awaited.
    Greeting,
    /// Its greeting is checked.
    Check,
}

impl Stage {
    /// All of them, in order.
    pub const ALL: [Stage; 3] = [Stage::Http, Stage::Greeting, Stage::Check];

    /// The name that stands in answers and metrics.
    pub fn name(self) -> &'static str {
        match self {
            Stage::Http => "http",
            Stage::Greeting => "greeting",
            Stage::Check => "check",
        }
    }

    fn index(self) -> usize {
        match self {
            Stage::Http => 0,
            Stage::Greeting => 1,
            Stage::Check => 2,
        }
    }
}

/// All connections that are on their way in.
#[derive(Debug)]
pub(super) struct Handshakes {
    limit: usize,
    limit_per_peer: usize,
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    next: u64,
    stages: [BTreeMap<u64, Waiting>; 3],
}

#[derive(Debug)]
struct Waiting {
    peer: Peer,
    evicted: Arc<Notify>,
}

/// A connection's place in one stage, given up when this is dropped.
#[derive(Debug)]
pub(super) struct Place {
    handshakes: Arc<Handshakes>,
    stage: Stage,
    number: u64,
    evicted: Arc<Notify>,
}

impl Handshakes {
    pub(super) fn new(limit: usize, limit_per_peer: usize) -> Arc<Handshakes> {
        Arc::new(Handshakes { limit: limit.max(1), limit_per_peer: limit_per_peer.max(1), table: Mutex::default() })
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        // Single inserts and removals can't leave the table half done.
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many are in each stage, in the order of [`Stage::ALL`].
    pub(super) fn counts(&self) -> [usize; 3] {
        let table = self.table();
        [table.stages[0].len(), table.stages[1].len(), table.stages[2].len()]
    }

    /// Lets a connection into a stage.
    pub(super) fn enter(self: &Arc<Self>, stage: Stage, address: IpAddr) -> Place {
        let (peer, is_limited) = (Peer::of(address), Peer::limited(address).is_some());
        let evicted = Arc::new(Notify::new());
        let mut table = self.table();
        let places = &mut table.stages[stage.index()];
        let of_peer = || places.values().filter(|waiting| waiting.peer == peer).count();
        if is_limited && of_peer() >= self.limit_per_peer {
            evict_oldest(places, peer);
        } else if places.len() >= self.limit
            && let Some(most) = peer_with_most(places)
        {
            evict_oldest(places, most);
        }
        let number = table.next;
        table.next += 1;
        table.stages[stage.index()].insert(number, Waiting { peer, evicted: evicted.clone() });
        Place { handshakes: self.clone(), stage, number, evicted }
    }
}

fn peer_with_most(places: &BTreeMap<u64, Waiting>) -> Option<Peer> {
    let mut counts: BTreeMap<Peer, usize> = BTreeMap::new();
    places.values().for_each(|waiting| *counts.entry(waiting.peer).or_default() += 1);
    counts.into_iter().max_by_key(|(_, count)| *count).map(|(peer, _)| peer)
}

fn evict_oldest(places: &mut BTreeMap<u64, Waiting>, peer: Peer) {
    let oldest = places.iter().find(|(_, waiting)| waiting.peer == peer).map(|(number, _)| *number);
    if let Some(waiting) = oldest.and_then(|number| places.remove(&number)) {
        waiting.evicted.notify_one();
    }
}

impl Place {
    /// Ready once the connection has to give way.
    pub(super) async fn evicted(&self) {
        self.evicted.notified().await;
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.handshakes.table().stages[self.stage.index()].remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    fn is_evicted(place: &Place) -> bool {
        place.evicted().now_or_never().is_some()
    }

    fn address(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn l02_the_oldest_of_the_address_with_the_most_gives_way() {
        let handshakes = Handshakes::new(4, 100);
        let enter = |text| handshakes.enter(Stage::Greeting, address(text));
        let honest = enter("192.0.2.1");
        let flood = [(); 3].map(|()| enter("192.0.2.2"));
        let newcomer = enter("192.0.2.3");
        assert!(is_evicted(&flood[0]), "the oldest of the many");
        assert!(![&honest, &flood[1], &flood[2], &newcomer].into_iter().any(is_evicted));
        assert_eq!(handshakes.counts(), [0, 4, 0]);
        drop((honest, flood, newcomer));
        assert_eq!(handshakes.counts(), [0, 0, 0]);
    }

    #[test]
    fn l02_an_address_displaces_itself_and_loopback_has_no_limit_of_its_own() {
        let handshakes = Handshakes::new(100, 2);
        let of = |text: &'static str| [(); 3].map(|()| handshakes.enter(Stage::Http, address(text)));
        let (one, home, this) = (of("192.0.2.1"), of("2001:db8::1"), of("127.0.0.1"));
        for evicted in [&one, &home] {
            assert_eq!(evicted.each_ref().map(is_evicted), [true, false, false]);
        }
        assert_eq!(this.each_ref().map(is_evicted), [false; 3]);
        // Another stage is another table.
        assert!(!is_evicted(&handshakes.enter(Stage::Check, address("192.0.2.1"))));
    }
}
