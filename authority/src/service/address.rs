//! Peers by address, for the limits that one of them must not use up for all.

use std::collections::BTreeMap;
use std::net::IpAddr;

use tokio::time::{Duration, Instant};

/// Most addresses whose rates are remembered. The one that was quiet for longest gives way.
pub(super) const MAX_TRACKED_ADDRESSES: usize = 4096;
const MINUTE: Duration = Duration::from_secs(60);

/// One address, as the limits count them: an IPv4 address, or an IPv6 network of 64 bits, which is what one household has.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct Peer(IpAddr);

impl Peer {
    /// Who stands behind this address; `None` for a loopback one, behind which anybody may stand.
    pub(super) fn limited(address: IpAddr) -> Option<Peer> {
        let peer = Peer::of(address);
        (!peer.0.is_loopback()).then_some(peer)
    }

    pub(super) fn of(address: IpAddr) -> Peer {
        match address.to_canonical() {
            IpAddr::V6(v6) if !v6.is_loopback() => {
                let network = v6.to_bits() & !u128::from(u64::MAX);
                Peer(IpAddr::V6(network.into()))
            }
            address => Peer(address),
        }
    }
}

/// So many a minute, and as many at once after a quiet one.
#[derive(Clone, Copy, Debug)]
struct Allowance {
    /// What is left, in units times nanoseconds of a minute, so that no fraction is lost.
    credit: u128,
    filled: Instant,
}

impl Allowance {
    fn full(per_minute: u32, now: Instant) -> Allowance {
        Allowance { credit: u128::from(per_minute) * MINUTE.as_nanos(), filled: now }
    }

    fn take(&mut self, per_minute: u32, now: Instant) -> bool {
        let gained = now.saturating_duration_since(self.filled).as_nanos() * u128::from(per_minute);
        let capacity = u128::from(per_minute) * MINUTE.as_nanos();
        self.credit = (self.credit + gained).min(capacity);
        self.filled = self.filled.max(now);
        let enough = self.credit >= MINUTE.as_nanos();
        if enough {
            self.credit -= MINUTE.as_nanos();
        }
        enough
    }
}

/// Rates of all addresses together, and of each.
#[derive(Debug)]
pub(super) struct Rates {
    per_minute: u32,
    per_minute_per_peer: u32,
    all: Allowance,
    peers: BTreeMap<Peer, Allowance>,
}

impl Rates {
    pub(super) fn new(per_minute: u32, per_minute_per_peer: u32, now: Instant) -> Rates {
        let all = Allowance::full(per_minute, now);
        Rates { per_minute, per_minute_per_peer, all, peers: BTreeMap::new() }
    }

    /// Takes one request in, or says that it is one too many. Those that one address has too many do not count for all.
    pub(super) fn take(&mut self, peer: Option<Peer>, now: Instant) -> bool {
        if let Some(peer) = peer {
            if !self.peers.contains_key(&peer) && self.peers.len() >= MAX_TRACKED_ADDRESSES {
                self.forget_quietest();
            }
            let per_minute = self.per_minute_per_peer;
            let allowance = self.peers.entry(peer).or_insert_with(|| Allowance::full(per_minute, now));
            if !allowance.take(per_minute, now) {
                return false;
            }
        }
        self.all.take(self.per_minute, now)
    }

    fn forget_quietest(&mut self) {
        let quietest = self.peers.iter().min_by_key(|(_, allowance)| allowance.filled).map(|(peer, _)| *peer);
        quietest.map(|peer| self.peers.remove(&peer));
    }
}

/// How many of something each address has.
#[derive(Debug, Default)]
pub(super) struct Counts(BTreeMap<Peer, usize>);

impl Counts {
    /// One more, if that is not beyond `limit`.
    pub(super) fn add(&mut self, peer: Peer, limit: usize) -> bool {
        let count = self.0.get(&peer).copied().unwrap_or(0);
        if count >= limit {
            return false;
        }
        self.0.insert(peer, count + 1);
        true
    }

    pub(super) fn remove(&mut self, peer: Peer) {
        if let Some(count) = self.0.get_mut(&peer) {
            *count -= 1;
            if *count == 0 {
                self.0.remove(&peer);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(text: &str) -> Peer {
        Peer::of(text.parse().expect("an address"))
    }

    #[test]
    fn v1_a_household_is_one_address_in_either_protocol_and_loopback_is_none() {
        assert_eq!(peer("2001:db8:1:2::1"), peer("2001:db8:1:2:ffff::9"));
        assert_ne!(peer("2001:db8:1:2::1"), peer("2001:db8:1:3::1"));
        assert_eq!(peer("::ffff:192.0.2.7"), peer("192.0.2.7"));
        assert_ne!(peer("192.0.2.7"), peer("192.0.2.8"));
        for loopback in ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"] {
            assert_eq!(Peer::limited(loopback.parse().expect("an address")), None, "{loopback}");
        }
    }

    #[test]
    fn v1_an_address_has_its_rate_and_cannot_use_up_that_of_all() {
        let origin = Instant::now();
        let mut rates = Rates::new(6, 3, origin);
        let mut at = |seconds, peer| rates.take(peer, origin + Duration::from_secs(seconds));
        let (one, other) = (Some(peer("192.0.2.1")), Some(peer("192.0.2.2")));
        assert!(at(0, one) && at(0, one) && at(0, one) && !at(0, one) && !at(0, one));
        assert!(at(0, other) && at(0, other) && at(0, None) && !at(0, None));
        assert!(!at(9, other) && at(20, one) && !at(20, one));
    }

    #[test]
    fn v1_remembered_addresses_are_bounded_and_the_quietest_is_forgotten() {
        let origin = Instant::now();
        let mut rates = Rates::new(u32::MAX, 1, origin);
        let address = |index: usize| Some(Peer::of(IpAddr::V4(u32::try_from(index).expect("few").into())));
        for index in 1..=MAX_TRACKED_ADDRESSES {
            assert!(rates.take(address(index), origin + Duration::from_millis(index as u64)));
        }
        let now = origin + Duration::from_millis(MAX_TRACKED_ADDRESSES as u64 + 1);
        assert!(rates.take(address(MAX_TRACKED_ADDRESSES + 1), now));
        assert_eq!(rates.peers.len(), MAX_TRACKED_ADDRESSES);
        assert!(!rates.take(address(MAX_TRACKED_ADDRESSES + 1), now) && rates.take(address(1), now));
    }

    #[test]
    fn v1_counts_end_at_their_limit_and_leave_nothing_behind() {
        let (mut counts, one) = (Counts::default(), peer("192.0.2.1"));
        assert!(counts.add(one, 2) && counts.add(one, 2) && !counts.add(one, 2));
        counts.remove(one);
        assert!(counts.add(one, 2));
        counts.remove(one);
        counts.remove(one);
        assert!(counts.0.is_empty());
    }
}
