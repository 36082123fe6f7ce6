//! The service over loopback sockets, beside its peers: the most rooms that each carries on one core, all in one run and in turns.

use std::fs;
use std::time::{Duration, Instant};

use retick_testing::load::{LOAD_INPUT_BYTES, LOAD_TICK_RATE};

use super::search::Search;
use super::trial::{Outcome, Trial, seats};
use super::{Contender, RoomsArguments};
use crate::failure::Failure;

/// A seat's ticks in a second that count as 60, on average and for the one with the fewest.
const LEAST_RATE_MEAN: f64 = 59.5;
const LEAST_RATE: f64 = 58.5;
/// Most of it. A server that is faster works off a backlog, which only one that had fallen behind has.
const MOST_RATE_MEAN: f64 = 60.5;
/// Most time between frames, for 99 of 100, in milliseconds: two ticks.
const MOST_GAP_MILLIS: f64 = 33.0;
/// Most inputs that a service may put in itself, in thousandths of all. Otherwise a rate would be no proof of anything.
const MOST_SUBSTITUTED_PER_MILLE: f64 = 1.0;
/// A trial in which the clients were later than this, in milliseconds, for one input of a hundred, says nothing of the server: then
/// they did not have their core. It is made again, so often at most.
const MOST_LATE_MILLIS: f64 = 3.0;
const MOST_REPEATS: usize = 4;
/// Time before a trial is measured, in milliseconds.
const WARM_MILLIS: u64 = 1_500;
/// A quick run's rooms, and its time before it is measured.
const QUICK_ROOMS: u32 = 3;
const QUICK_WARM_MILLIS: u64 = 300;
/// Most seconds of a quick run's trials.
const QUICK_SECONDS: u64 = 1;

/// What is to be reached: whom the service is compared with, and the least ratio.
const TARGETS: [(Contender, f64); 3] =
    [(Contender::Relay, 0.9), (Contender::Colyseus, 3.0), (Contender::ColyseusTuned, 1.6)];

/// One contender's search.
struct Row {
    contender: Contender,
    search: Search,
    best: Option<(u32, Outcome)>,
}

/// Measures the service and its peers.
pub(super) fn run(arguments: &RoomsArguments) -> Result<(), Failure> {
    let hz = LOAD_TICK_RATE.hz();
    println!("rooms × {} seats over loopback sockets, {hz} Hz, inputs of {LOAD_INPUT_BYTES} bytes", seats());
    let mut rows: Vec<Row> = contenders(arguments).into_iter().map(Row::new).collect();
    if arguments.quick {
        return rows.iter().try_for_each(|row| quick(row.contender, arguments));
    }
    let (begin, most) = (Instant::now(), Duration::from_secs(arguments.most_seconds));
    // In turns, so that what else the machine does meets them alike.
    while rows.iter().any(|row| row.search.next().is_some()) && begin.elapsed() < most {
        for row in &mut rows {
            let Some(rooms) = row.search.next() else { continue };
            let trial = trial(row.contender, rooms, arguments);
            let mut outcome = trial.run();
            for _ in 0..MOST_REPEATS {
                if !outcome.as_ref().is_ok_and(|outcome| is_void(rooms, outcome)) {
                    break;
                }
                outcome = trial.run();
            }
            row.take(rooms, outcome.map_err(|failure| failure.to_string()));
        }
    }
    let text = report(&rows);
    println!("\n{text}");
    match &arguments.results {
        None => Ok(()),
        Some(path) => {
            let read = fs::read_to_string(path).map_err(|error| Failure::Read { path: path.clone(), error })?;
            let missing = || Failure::Run(format!("{} has no section `service`", path.display()));
            let rewritten = replace_section(&read, &text).ok_or_else(missing)?;
            fs::write(path, rewritten).map_err(|error| Failure::Write { path: path.clone(), error })
        }
    }
}

fn contenders(arguments: &RoomsArguments) -> Vec<Contender> {
    let mut all = vec![Contender::Retick, Contender::Relay];
    if arguments.colyseus.is_some() {
        all.extend([Contender::Colyseus, Contender::ColyseusTuned]);
    }
    all.retain(|contender| arguments.contenders.is_empty() || arguments.contenders.contains(contender));
    all
}

fn trial(contender: Contender, rooms: u32, arguments: &RoomsArguments) -> Trial<'_> {
    let (seconds, colyseus) = (arguments.seconds, arguments.colyseus.as_deref());
    Trial { contender, rooms, warm_millis: WARM_MILLIS, seconds, colyseus }
}

/// A trial with a few rooms, which every machine carries.
fn quick(contender: Contender, arguments: &RoomsArguments) -> Result<(), Failure> {
    let trial = trial(contender, QUICK_ROOMS, arguments);
    let seconds = arguments.seconds.min(QUICK_SECONDS);
    let (outcome, substituted) = Trial { warm_millis: QUICK_WARM_MILLIS, seconds, ..trial }.run()?;
    let name = contender.name();
    println!("{name}: {QUICK_ROOMS} rooms, {:.1} ticks a second", outcome.rate_mean);
    // A busy machine may be slow, but ticks come, and no faster than they should.
    let flowed = outcome.rate_least > 0.0 && outcome.gap_p50_millis > 0.0;
    let rate = f64::from(LOAD_TICK_RATE.hz());
    let is_right = flowed && outcome.rate_mean > rate / 2.0 && outcome.rate_mean < rate * 1.2;
    if is_right {
        Ok(())
    } else {
        Err(Failure::CheckFailed(format!(
            "{name} did not carry {QUICK_ROOMS} rooms, {substituted} inputs substituted: {outcome:?}"
        )))
    }
}

impl Row {
    fn new(contender: Contender) -> Row {
        let first = match contender {
            Contender::Retick | Contender::Relay => 400,
            Contender::Colyseus => 100,
            Contender::ColyseusTuned => 170,
        };
        Row { contender, search: Search::new(first), best: None }
    }

    fn take(&mut self, rooms: u32, trial: Result<(Outcome, u64), String>) {
        let (name, passed) = (self.contender.name(), trial.as_ref().is_ok_and(|trial| passes(rooms, trial)));
        let verdict = if passed { "carried" } else { "not carried" };
        match trial {
            Ok((outcome, substituted)) => {
                println!("{name}: {rooms} rooms {verdict}: {}, {substituted} substituted", line(&outcome));
                if passed && self.best.is_none_or(|(best, _)| best < rooms) {
                    self.best = Some((rooms, outcome));
                }
            }
            // An overloaded server closes connections.
            Err(failure) => println!("{name}: {rooms} rooms {verdict}: {failure}"),
        }
        self.search.tried(passed);
    }

    fn rooms(&self) -> f64 {
        self.best.map_or(0.0, |(rooms, _)| f64::from(rooms))
    }
}

fn passes(rooms: u32, (outcome, substituted): &(Outcome, u64)) -> bool {
    let inputs = f64::from(rooms) * outcome.rate_mean * seats().count() as f64;
    (LEAST_RATE_MEAN..=MOST_RATE_MEAN).contains(&outcome.rate_mean)
        && outcome.rate_least >= LEAST_RATE
        && outcome.gap_p99_millis <= MOST_GAP_MILLIS
        && *substituted as f64 <= inputs * MOST_SUBSTITUTED_PER_MILLE / 1_000.0
}

/// Whether it failed for want of clients.
fn is_void(rooms: u32, trial: &(Outcome, u64)) -> bool {
    !passes(rooms, trial) && trial.0.late_p99_millis > MOST_LATE_MILLIS
}

fn line(outcome: &Outcome) -> String {
    format!(
        "{:.2} ticks a second (least {:.2}), gaps {:.1} / {:.1} / {:.0} ms, server {:.0} % + {:.0} %, {:.0} MiB, clients {:.0} %, \
         {:.1} ms late",
        outcome.rate_mean,
        outcome.rate_least,
        outcome.gap_p50_millis,
        outcome.gap_p99_millis,
        outcome.gap_longest_millis,
        outcome.server.user * 100.0,
        outcome.server.system * 100.0,
        outcome.server.memory_bytes / f64::from(1 << 20),
        (outcome.clients.user + outcome.clients.system) * 100.0,
        outcome.late_p99_millis,
    )
}

/// The tables: who carried how many rooms, and how the service compares.
fn report(rows: &[Row]) -> String {
    let mut text = String::from(
        "| on one core | rooms | ticks a second | gap p50 | gap p99 | user | system | memory | a room | clients' core |\n\
         |---|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n",
    );
    for row in rows {
        let Some((rooms, outcome)) = row.best else { continue };
        // A search that was cut short found what is carried, and not what is too much.
        let bound = if row.search.next().is_some() { "at least " } else { "" };
        let memory = outcome.server.memory_bytes / f64::from(1 << 20);
        text += &format!(
            "| {} | {bound}{rooms} | {:.2} | {:.1} ms | {:.1} ms | {:.0} % | {:.0} % | {memory:.0} MiB | {:.0} KiB | {:.0} % |\n",
            row.contender.name(),
            outcome.rate_mean,
            outcome.gap_p50_millis,
            outcome.gap_p99_millis,
            outcome.server.user * 100.0,
            outcome.server.system * 100.0,
            memory * 1024.0 / f64::from(rooms),
            (outcome.clients.user + outcome.clients.system) * 100.0,
        );
    }
    let Some(own) = rows.iter().find(|row| row.contender == Contender::Retick) else { return text };
    text += "\n| Retick's service ÷ | ratio | target | |\n|---|--:|--:|---|\n";
    for (contender, target) in TARGETS {
        let Some(other) = rows.iter().find(|row| row.contender == contender && row.best.is_some()) else { continue };
        let ratio = own.rooms() / other.rooms();
        let met = if ratio >= target { "met" } else { "missed" };
        text += &format!("| {} | {ratio:.2} | {target:.1} | {met} |\n", contender.name());
    }
    text
}

/// `text` with the section `service` replaced; `None` without its two markers.
fn replace_section(text: &str, body: &str) -> Option<String> {
    let (begin, end) = ("<!-- service:begin -->", "<!-- service:end -->");
    let (before, rest) = text.split_once(begin)?;
    let (_, after) = rest.split_once(end)?;
    Some(format!("{before}{begin}\n{}\n{end}{after}", body.trim_end()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(rate_mean: f64, rate_least: f64, gap_p99_millis: f64) -> Outcome {
        Outcome { rate_mean, rate_least, gap_p99_millis, ..Outcome::default() }
    }

    #[test]
    fn rooms_are_carried_when_rate_and_gaps_hold_and_inputs_are_the_clients_own() {
        assert!(passes(10, &(outcome(60.0, 60.0, 33.0), 2)));
        assert!(!passes(10, &(outcome(59.4, 59.0, 17.0), 0)));
        assert!(!passes(10, &(outcome(60.0, 58.0, 17.0), 0)));
        assert!(!passes(10, &(outcome(60.6, 60.0, 17.0), 0)));
        assert!(!passes(10, &(outcome(60.0, 60.0, 33.1), 0)));
        assert!(!passes(10, &(outcome(60.0, 60.0, 17.0), 3)));
    }

    #[test]
    fn a_section_is_replaced_between_its_markers() {
        let text = "a\n<!-- service:begin -->\nold\n<!-- service:end -->\nb\n";
        let rewritten = replace_section(text, "new\n").expect("its markers");
        assert_eq!(rewritten, "a\n<!-- service:begin -->\nnew\n<!-- service:end -->\nb\n");
        assert_eq!(replace_section("none", "new"), None);
    }
}
