//! K03: a correction arrives while the prediction window is full.

use retick_core::session::Held;
use retick_core::tick::Tick;
use retick_testing::fixtures::{pack_tally, zig};
use retick_testing::sim::{RawSeat, RawSend, TurnSample};

use crate::support::{RATE, authority_tally, client, input, shown_tally, tally_match, view, zig_of};

#[test]
fn k03_a_correction_that_arrives_in_a_blocked_turn_is_applied() {
    let burst = RawSend::Inputs { first: Tick::ZERO, inputs: vec![pack_tally(5); 12] };
    let raw =
        (12..24).fold(RawSeat::silent().send(30, burst), |raw, tick| raw.input(tick.max(31), tick, pack_tally(5)));
    let setup = tally_match().hard_tolerance_ticks(60).last_tick(24);
    let mut sim = setup.client(client(zig).latency_ticks(RATE, 1).window_ticks(4)).raw(raw).build();

    // The 30 authority ticks without a word of seat 1: blocked at exactly ticks 0 to 3.
    sim.run_ticks(30);
    let blocked = sim.report();
    let turns = &blocked.clients[0].turns;
    let held = |turn: &&TurnSample| turn.progress.held == Some(Held::WindowFull);
    let stuck: Vec<_> = turns.iter().skip_while(|turn| turn.head < Tick::new(4)).skip(1).collect();
    assert!(stuck.len() >= 20 && stuck.iter().all(held), "guard: {} blocked turns", stuck.len());
    assert!(stuck.iter().all(|turn| turn.progress.steps == 0 && turn.head == Tick::new(4)));
    assert_eq!(turns.iter().map(|turn| turn.progress.predicted).sum::<u64>(), 4);
    assert_eq!(blocked.clients[0].stats.blocked_turns, stuck.len() as u64);

    sim.run_until_confirmed(24);
    let report = sim.finish();
    let client = &report.clients[0];
    // The turn that receives the confirmations of ticks 0 to 3 rolls back to 0 in itself.
    let receiving = client.turns.iter().find(|turn| turn.received >= Tick::new(4)).expect("they arrive");
    assert!(receiving.confirmed >= Tick::new(4) && receiving.progress.resimulated == 4, "{receiving:?}");
    assert_eq!((client.rollbacks[0].from, client.rollbacks[0].at), (Tick::ZERO, receiving.at), "guard");
    assert_eq!(authority_tally(&report, 4).sum[1], 20);
    let logged: Vec<_> = (0..24).map(|tick| input(&report, 0, tick)).collect();
    assert_eq!(logged, (0..24).map(|tick| Some(zig_of(0, tick))).collect::<Vec<_>>());
    assert_eq!(client.sampled, (0..24).map(Tick::new).collect::<Vec<_>>());
    let end = view(&[-3, 120], &[0, 0], 0xEE87_EF04);
    assert_eq!((authority_tally(&report, 24), shown_tally(client)), (end.clone(), end));
}
