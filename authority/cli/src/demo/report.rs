//! What the demo shows at the end: the table, and the proof.

use retick_core::client::{DesyncFinding, EndReason};
use retick_core::frame::Frame;
use retick_core::replay::{Replay, Verdict, verify};
use retick_core::seat::{Presence, Seat};
use retick_core::tick::Tick;
use retick_core::wire::CloseReason;

use super::Plan;
use super::cast::{Part, Role};
use crate::failure::Failure;
use crate::observer::{Observer, Seen};
use crate::replay::verify::tell;

/// What somebody's transport carried, and how it ended.
pub struct Carried {
    /// Whose.
    pub part: Part,
    /// Bytes of the messages to the room.
    pub sent_bytes: u64,
    /// Bytes of the messages from the room.
    pub received_bytes: u64,
    /// Connections that the network dropped.
    pub cut_off: u64,
    /// Why its client was over before it was stopped, if it was.
    pub end: Option<EndReason>,
    /// The state that the room asked it about last, if it asked.
    pub examined: Option<(Tick, Vec<u8>)>,
}

/// One client's match.
pub struct ClientResult {
    seen: Seen,
    carried: Carried,
}

/// A finished match.
#[derive(Default)]
pub struct Results {
    clients: Vec<ClientResult>,
    /// The recording.
    pub replay: Vec<u8>,
}

impl Results {
    /// Adds what one client saw, and the recording if it is the one that records. The first one added plays the whole match.
    ///
    /// # Errors
    /// When the recording could not be written.
    pub fn add(&mut self, observer: &mut Observer, carried: Carried) -> Result<(), Failure> {
        if let Some(replay) = observer.finish_recording()? {
            self.replay = replay;
        }
        self.clients.push(ClientResult { seen: observer.seen.clone(), carried });
        Ok(())
    }

    /// What the room said of a desync, and how far whoever heard it first had come.
    pub fn finding(&self) -> Option<(DesyncFinding, Tick)> {
        self.clients.iter().find_map(|client| client.seen.finding.clone())
    }

    /// A state that the room asked about.
    pub fn examined(&self, tick: Tick) -> Option<&[u8]> {
        let examined = self.clients.iter().filter_map(|client| client.carried.examined.as_ref());
        examined.filter(|(of, _)| *of == tick).map(|(_, state)| state.as_slice()).next()
    }

    fn of(&self, role: Role) -> Option<&ClientResult> {
        self.clients.iter().find(|client| client.carried.part.role == role)
    }

    fn sum(&self, count: impl Fn(&ClientResult) -> u64) -> u64 {
        self.clients.iter().map(count).sum()
    }
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
    print_roles(plan, results);
    let clients = results.clients.len();
    println!("all {clients} clients and the offline re-simulation agree on every frame, checksum and final state");
    Ok(())
}

fn print_table(plan: &Plan, results: &Results) {
    println!();
    println!(
        "seat                 from  confirmed  rollbacks  median  max  substituted  reconnects  up B/s  down B/s  checksums"
    );
    for ClientResult { seen, carried } in &results.clients {
        let Part { seat, role } = carried.part;
        let substituted = seen.substitutions.get(seat.index()).copied().unwrap_or(0);
        let seconds = seen.confirmed.since(seen.first) as f64 / f64::from(plan.descriptor.tick_rate().hz());
        println!(
            "{:>4}  {role:<13}  {:>4}  {:>9}  {:>9}  {:>6}  {:>3}  {substituted:>11}  {:>10}  {:>6.0}  {:>8.0}  {:>9}",
            seat.number(),
            seen.first.index(),
            seen.confirmed.index(),
            seen.rollback_depths.len(),
            median(&seen.rollback_depths),
            seen.rollback_depths.iter().max().unwrap_or(&0),
            seen.reconnects,
            carried.sent_bytes as f64 / seconds,
            carried.received_bytes as f64 / seconds,
            seen.checksums.len(),
        );
    }
    println!("{:>4}  bot", plan.cast.bot.number());
    let rollbacks = results.sum(|client| client.seen.rollback_depths.len() as u64);
    let substitutions: u64 = results.clients.first().map_or(0, |client| client.seen.substitutions.iter().sum());
    let reconnects = results.sum(|client| client.seen.reconnects);
    let cut_off = results.sum(|client| client.carried.cut_off);
    println!(
        "\n{rollbacks} rollbacks, {substitutions} substituted inputs, {cut_off} connections dropped, {reconnects} seats resumed"
    );
}

fn print_roles(plan: &Plan, results: &Results) {
    if let Some(late) = results.of(Role::Latecomer) {
        let Seen { first, confirmed, .. } = late.seen;
        println!("a latecomer took seat {} and has S({first}) to S({confirmed}) as all others do", plan.cast.late);
    }
    if let (Some(old), Some(new)) = (results.of(Role::FirstDevice), results.of(Role::SecondDevice)) {
        println!(
            "the player of seat {} went on at another device from S({}); the first one was told that {}",
            plan.cast.moving,
            new.seen.first,
            old.carried.end.as_ref().map_or(String::new(), EndReason::to_string),
        );
    }
    println!("a bot played seat {}: its input is null in every frame", plan.cast.bot);
}

fn median(depths: &[u64]) -> u64 {
    let mut sorted = depths.to_vec();
    sorted.sort_unstable();
    sorted.get(sorted.len() / 2).copied().unwrap_or(0)
}

/// Everything that is not as it must be, in words.
fn differences(plan: &Plan, results: &Results, verdict: &Verdict) -> Vec<String> {
    let mut found = Vec::new();
    let Some(first) = results.clients.first().map(|client| &client.seen) else {
        return vec!["there are no clients".into()];
    };
    for client in &results.clients {
        let Part { seat, role } = client.carried.part;
        let told = client_differences(plan, client, first).into_iter();
        found.extend(told.map(|difference| format!("seat {seat} {role}: {difference}")));
    }
    match verdict {
        Verdict::Verified { ticks, final_checksum, .. } if *ticks == plan.ticks => {
            let last = (plan.ticks, *final_checksum);
            let stays = results.clients.iter().filter(|client| client.carried.part.role.stays());
            for client in stays.filter(|client| client.seen.checksums.last() != Some(&last)) {
                let Part { seat, role } = client.carried.part;
                found.push(format!("seat {seat} {role} ends in another state than the offline re-simulation"));
            }
        }
        verdict => found.push(format!("the recording is not verified: {}", tell(verdict))),
    }
    match Replay::parse(&results.replay) {
        Ok(replay) => found.extend(frame_differences(plan, &replay.frames().collect::<Vec<_>>())),
        Err(error) => found.push(format!("the recording: {error}")),
    }
    found
}

/// What is not as it must be with one client, whose frames and checksums must be those of the first, from its first to its last.
fn client_differences(plan: &Plan, client: &ClientResult, first: &Seen) -> Vec<String> {
    let (Part { seat, role }, seen) = (client.carried.part, &client.seen);
    let mut found = Vec::new();
    let mut expect = |holds: bool, what: String| {
        if !holds {
            found.push(what);
        }
    };
    expect(seen.seat == Some(seat), format!("it got {:?}", seen.seat));
    expect(seen.first == Tick::ZERO || !role.is_there_from_the_start(), format!("it began with S({})", seen.first));
    let expected_ticks = if role.stays() { plan.ticks } else { seen.confirmed };
    expect(seen.confirmed == expected_ticks, format!("it confirmed {} of {} ticks", seen.confirmed, plan.ticks));
    let theirs = first.frames_between(seen.first, seen.confirmed);
    expect(!seen.frames.is_empty() && Some(seen.frames.as_slice()) == theirs, "it has other frames than seat 0".into());
    let due = |tick: Tick| tick > seen.first && tick <= seen.confirmed;
    let missing = first.checksums.iter().find(|entry| due(entry.0) && !seen.checksums.contains(entry));
    let wrong = seen.checksums.iter().find(|entry| !first.checksums.contains(entry));
    expect(missing.is_none(), format!("it lacks a checksum of seat 0: {missing:?}"));
    expect(wrong.is_none(), format!("it has a checksum that seat 0 has not: {wrong:?}"));
    expect(!seen.checksums.is_empty(), "it has no checksum".into());
    expect(seen.desyncs == 0, format!("the room announced {} desyncs", seen.desyncs));
    let superseded = EndReason::Closed(CloseReason::Superseded);
    let expected_end = if role.stays() { None } else { Some(&superseded) };
    expect(client.carried.end.as_ref() == expected_end, format!("its end was {:?}", client.carried.end));
    found
}

/// What is not as it must be with the frames: the bot's seat is a bot's in all of them, and everyone else plays in the end.
fn frame_differences(plan: &Plan, frames: &[Frame]) -> Vec<String> {
    let mut found = Vec::new();
    let bot = plan.cast.bot;
    let is_bots = |frame: &Frame| {
        let view = frame.seat(bot);
        (view.presence, view.input, view.substituted) == (Presence::Bot, None, false)
    };
    if let Some(frame) = frames.iter().find(|frame| !is_bots(frame)) {
        found.push(format!("in tick {} seat {bot} is not a bot's: {:?}", frame.tick(), frame.seat(bot)));
    }
    let last_second = usize::try_from(plan.descriptor.tick_rate().hz()).unwrap_or(0);
    let last = &frames[frames.len().saturating_sub(last_second)..];
    let plays = |frame: &Frame, seat: Seat| {
        let view = frame.seat(seat);
        view.presence == Presence::Human && view.input.is_some() && !view.substituted
    };
    for seat in plan.descriptor.seats().seats().filter(|seat| *seat != bot) {
        if !last.iter().any(|frame| plays(frame, seat)) {
            found.push(format!("nobody plays seat {seat} in the last second"));
        }
    }
    found
}
