//! K06: loss, duplication and reordering with three peers.

use retick_core::client::Transport;
use retick_testing::fixtures::zig;
use retick_testing::net::{Chance, Delivery, Jitter, LinkProfile, tick_nanos};
use retick_testing::sim::{ClientSetup, MatchReport};

use crate::support::{RATE, authority_tally, client, shown_tally, tally_match, view};

const TICKS: u64 = 1800;
const TICK_NANOS: u64 = tick_nanos(RATE);

/// To the room: 6 ticks ± 4, a tenth twice, a quarter lost; from the room 6 ticks in order.
fn peer(delivery: Delivery, transport: Transport) -> ClientSetup {
    let mut peer = client(zig).latency_ticks(RATE, 6).window_ticks(60);
    peer.config.transport = transport;
    peer.up = LinkProfile {
        jitter: Jitter { steps: 4, step_nanos: TICK_NANOS },
        duplication: Chance::percent(10),
        loss: Chance::percent(25),
        resend_nanos: 12 * TICK_NANOS,
        delivery,
        ..peer.up
    };
    peer
}

fn play(seed: u64, peer: &ClientSetup) -> MatchReport {
    let setup = tally_match().seed(seed).hard_tolerance_ticks(120).last_tick(TICKS);
    let mut sim = (0..3).fold(setup, |setup, _| setup.client(peer.clone())).build();
    sim.run_until_confirmed(TICKS);
    sim.finish()
}

fn check(report: &MatchReport) {
    let seed = report.seed;
    let end = view(&[2, 1, 0], &[0, 0, 0], 0xDEE5_841E);
    assert_eq!(authority_tally(report, 1800), end, "seed {seed}");
    assert!(report.clients.iter().all(|client| shown_tally(client) == end), "seed {seed}");
    assert_eq!(report.flagged_ticks(), [0; 0], "seed {seed}");
    assert_eq!(report.desyncs(), 0, "seed {seed}");
    // Everything that reached the room twice was counted, as equal or as late, and nothing else was.
    for (stats, delivered) in report.seat_stats.iter().zip(&report.delivered_inputs) {
        let counters = stats.counters;
        assert_eq!(stats.duplicate_inputs + counters.late_inputs, delivered - TICKS, "seed {seed}");
        assert_eq!(counters.conflicting_inputs + counters.refused_inputs, 0, "seed {seed}");
    }
    let total = |count: fn(&retick_testing::sim::ClientRecord) -> u64| report.clients.iter().map(count).sum::<u64>();
    assert!(total(|client| client.up.duplicated) >= 100, "guard: seed {seed}");
    assert!(total(|client| client.up.inversions) >= 100, "guard: seed {seed}");
    assert!(report.rollbacks() >= 100, "guard: seed {seed}");
}

#[test]
fn k06_datagrams_with_the_clients_redundancy() {
    let peer = peer(Delivery::Datagrams, Transport::Lossy);
    for seed in 1..=20 {
        let report = play(seed, &peer);
        check(&report);
        assert!(report.clients.iter().all(|client| client.up.lost >= 100), "guard: seed {seed}");
    }
}

#[test]
fn k06_a_reliable_transport_without_order() {
    let peer = peer(Delivery::Unordered, Transport::Reliable);
    for seed in 1..=20 {
        let report = play(seed, &peer);
        check(&report);
        assert!(report.clients.iter().all(|client| client.up.resent >= 100), "guard: seed {seed}");
    }
}
