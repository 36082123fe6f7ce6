//! Whole matches of real clients beside the cases: lost last messages, reconnects, leaves, and that a seed reproduces all.

use retick_core::client::{ClientEvent, EndReason, Transport};
use retick_core::seat::{Presence, Seat};
use retick_core::tick::{Moment, Tick};
use retick_core::wire::CloseReason;
use retick_testing::fixtures::zig;
use retick_testing::net::{Chance, Delivery, Jitter, tick_nanos};
use retick_testing::sim::{DEFAULT_LOBBY_TICKS, MatchReport};

use crate::support::{RATE, authority_tally, client, input, shown_tally, tally_match, view, zig_of};

/// The moment at which an authority tick begins.
fn moment(tick: u64) -> Moment {
    RATE.moment_of(Tick::new(DEFAULT_LOBBY_TICKS + tick))
}

#[test]
fn n2_the_last_inputs_are_sent_again_when_their_message_was_lost() {
    let mut lossy = client(zig).latency_ticks(RATE, 2);
    lossy.config.transport = Transport::Lossy;
    lossy.up.delivery = Delivery::Datagrams;
    // The clients have sampled all 60 ticks when this ends, so no new input brings the lost ones along.
    lossy.up.cuts = vec![moment(50)..moment(70)];
    let setup =
        tally_match().hard_tolerance_ticks(60).last_tick(60).client(lossy).client(client(zig).latency_ticks(RATE, 2));
    let mut sim = setup.build();
    sim.run_until_confirmed(60);
    assert!(sim.authority_tick() < Tick::new(90), "at {}", sim.authority_tick());
    let report = sim.finish();
    assert_eq!(report.flagged_ticks(), [0; 0]);
    assert!(report.clients[0].up.lost >= 10, "guard");
    assert_eq!(authority_tally(&report, 60), view(&[1, 5], &[0, 0], 0xDAB4_FAC9));
}

#[test]
fn a6_a_client_that_was_away_resumes_its_seat_and_catches_up() {
    let player = || client(zig).latency_ticks(RATE, 1);
    let setup = tally_match().hard_tolerance_ticks(6).client(player()).client(player());
    let mut sim = setup.disconnect(100, 1).reconnect(160, 1).last_tick(300).build();
    sim.run_until_confirmed(300);
    let report = sim.finish();
    let resumed = ClientEvent::Joined { seat: Seat::new(1).expect("valid"), resumed: true };
    assert!(report.clients[1].events.iter().any(|(_, event)| *event == resumed));
    // Null from the first deadline after the loss, until its inputs are there again.
    assert_eq!(input(&report, 1, 99), Some(zig_of(1, 99)));
    let away = 110..150;
    assert!(away.clone().all(|tick| input(&report, 1, tick).is_none()));
    let presence = |tick: usize| report.frames[tick].seat(Seat::new(1).expect("valid")).presence;
    assert!(away.clone().all(|tick| presence(tick) == Presence::Disconnected));
    assert!((170..300).all(|tick| input(&report, 1, tick) == Some(zig_of(1, tick as u64))));
    assert!((170..300).all(|tick| presence(tick) == Presence::Human));
    assert!((0..300).all(|tick| input(&report, 0, tick) == Some(zig_of(0, tick as u64))), "its peer lost nothing");
    let end = authority_tally(&report, 300);
    assert!(report.clients.iter().all(|client| shown_tally(client) == end));
}

#[test]
fn a1_a_client_that_leaves_is_told_so_and_the_other_plays_on() {
    let player = || client(zig).latency_ticks(RATE, 1);
    let mut sim = tally_match().client(player()).client(player()).leave(100, 1).last_tick(200).build();
    sim.run_until_confirmed(200);
    let report = sim.finish();
    assert_eq!(report.clients[1].end, Some(EndReason::Closed(CloseReason::Left)));
    assert!((102..200).all(|tick| input(&report, 1, tick).is_none()));
    assert_eq!(report.clients[0].frames.len(), 200);
    assert_eq!(report.clients[0].end, None);
    let late = (102..200).filter(|tick| report.confirmed_at(*tick) != Some(*tick)).count();
    assert_eq!(late, 0, "nobody waits for a seat that was left");
}

/// A match on a bad network.
fn bad_network(seed: u64) -> MatchReport {
    let mut player = client(zig).latency_ticks(RATE, 4);
    player.up.jitter = Jitter { steps: 3, step_nanos: tick_nanos(RATE) };
    player.up.loss = Chance::percent(20);
    player.up.resend_nanos = 8 * tick_nanos(RATE);
    player.down = player.up.clone();
    let setup = tally_match().seed(seed).hard_tolerance_ticks(10);
    let mut sim = setup.client(player.clone()).client(player.clone()).client(player).build();
    sim.run_ticks(400);
    sim.finish()
}

#[test]
fn t2_a_seed_reproduces_a_whole_match() {
    let report = bad_network(3);
    assert_eq!(report, bad_network(3));
    assert_ne!(report.frames, bad_network(4).frames);
    assert!(!report.flagged_ticks().is_empty() && report.rollbacks() > 100, "guard");
}
