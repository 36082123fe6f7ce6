//! What the demo shows at the end: the table, and the proof.

use retick_core::replay::{Verdict, verify};

use super::Plan;
use crate::failure::Failure;
use crate::observer::Seen;
use crate::verify::tell;

/// One player's match, and what its transport carried.
pub struct SeatResult {
    /// What was seen.
    pub seen: Seen,
    /// Bytes of the messages to the room.
    pub sent_bytes: u64,
    /// Bytes of the messages from the room.
    pub received_bytes: u64,
    /// Connections that the network dropped.
    pub cut_off: u64,
}

/// A finished match.
pub struct Results {
    /// The players, by seat.
    pub seats: Vec<SeatResult>,
    /// The recording.
    pub replay: Vec<u8>,
}

/// Prints the table, re-simulates the recording, and compares everything with everything.
pub fn conclude(plan: &Plan, results: &Results) -> Result<(), Failure> {
    print_table(plan, results);
    let started = std::time::Instant::now();
    let verdict = verify(&results.replay, plan.factory.as_ref());
    println!("\nre-simulated offline in {:.0?}: {}", started.elapsed(), tell(&verdict));
    let differences = differences(plan, results, &verdict);
    if let Some(first) = differences.first() {
        differences.iter().for_each(|difference| println!("DIFFERS: {difference}"));
        return Err(Failure::CheckFailed(first.clone()));
    }
    let seats = results.seats.len();
    println!("all {seats} players and the offline re-simulation agree on every frame, checksum and final state");
    Ok(())
}

fn print_table(plan: &Plan, results: &Results) {
    let seconds = plan.ticks.index() as f64 / f64::from(plan.descriptor.tick_rate().hz());
    println!();
    println!("seat  confirmed  rollbacks  median  max  substituted  reconnects  up B/s  down B/s  checksums");
    for (result, number) in results.seats.iter().zip(0..) {
        let seen = &result.seen;
        let substituted = seen.substitutions.get(number).copied().unwrap_or(0);
        println!(
            "{number:>4}  {:>9}  {:>9}  {:>6}  {:>3}  {substituted:>11}  {:>10}  {:>6.0}  {:>8.0}  {:>9}",
            seen.confirmed,
            seen.rollback_depths.len(),
            median(&seen.rollback_depths),
            seen.rollback_depths.iter().max().unwrap_or(&0),
            seen.reconnects,
            result.sent_bytes as f64 / seconds,
            result.received_bytes as f64 / seconds,
            seen.checksums.len(),
        );
    }
    let rollbacks: usize = results.seats.iter().map(|result| result.seen.rollback_depths.len()).sum();
    let substitutions: u64 = results.seats.first().map_or(0, |result| result.seen.substitutions.iter().sum());
    let reconnects: u64 = results.seats.iter().map(|result| result.seen.reconnects).sum();
    let cut_off: u64 = results.seats.iter().map(|result| result.cut_off).sum();
    println!(
        "\n{rollbacks} rollbacks, {substitutions} substituted inputs, {cut_off} connections dropped, {reconnects} seats resumed"
    );
}

fn median(depths: &[u64]) -> u64 {
    let mut sorted = depths.to_vec();
    sorted.sort_unstable();
    sorted.get(sorted.len() / 2).copied().unwrap_or(0)
}

/// Everything that is not as it must be, in words.
fn differences(plan: &Plan, results: &Results, verdict: &Verdict) -> Vec<String> {
    let mut found = Vec::new();
    let Some(first) = results.seats.first().map(|result| &result.seen) else {
        return vec!["there are no players".into()];
    };
    for (result, seat) in results.seats.iter().zip(0..) {
        let seen = &result.seen;
        if seen.confirmed != plan.ticks {
            found.push(format!("seat {seat} confirmed {} of {} ticks", seen.confirmed, plan.ticks));
        }
        if seen.chain_head != first.chain_head || seen.chain_head.is_none() {
            found.push(format!("seat {seat} has other frames than seat 0"));
        }
        if let Some((tick, _)) = seen.checksums.iter().find(|entry| !first.checksums.contains(entry)) {
            found.push(format!("seat {seat} has another checksum of S({tick}) than seat 0"));
        }
        if seen.checksums.len() != first.checksums.len() {
            found.push(format!("seat {seat} has {} checksums, seat 0 {}", seen.checksums.len(), first.checksums.len()));
        }
        if seen.desyncs > 0 {
            found.push(format!("the room announced {} desyncs to seat {seat}", seen.desyncs));
        }
    }
    match verdict {
        Verdict::Verified { ticks, final_checksum, .. } if *ticks == plan.ticks => {
            let last = (plan.ticks, *final_checksum);
            for (_, seat) in
                results.seats.iter().zip(0..).filter(|(result, _)| result.seen.checksums.last() != Some(&last))
            {
                found.push(format!("seat {seat} ends in another state than the offline re-simulation"));
            }
        }
        verdict => found.push(format!("the recording is not verified: {}", tell(verdict))),
    }
    found
}
