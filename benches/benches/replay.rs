//! Verification (R2): how many ticks of a replay one core reads, holds against its frame chain, re-simulates and compares in a second,
//! and how many times faster that is than the match was.
//!
//! `cargo bench -p retick-benches --bench replay`, or with `-- --quick` to see that everything runs.

use std::env;
use std::error::Error;
use std::fs;
use std::hint::black_box;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use retick_benches::machine;
use retick_benches::report::{Table, results_file, rewrite_section, time};
use retick_benches::rounds::Timing;
use retick_core::frame::{Frame, SeatFrame};
use retick_core::identity::MatchDescriptor;
use retick_core::replay::{Recorder, Replay, ReplayPlayer, Verdict, verify};
use retick_core::rng::SessionSeed;
use retick_core::runtime::RuntimeFactory;
use retick_core::seat::{ControlEpoch, Generation, Presence, SeatCount, SeatSet};
use retick_core::session::{Budget, Recording, Session, SessionEvent, SessionPolicy};
use retick_core::tick::Tick;
use retick_wasm::{Limits, WasmFactory};
use skirmish::Rules;

/// How many times faster than the match a replay is to be verified.
const TARGET: f64 = 1_000.0;
/// Ten minutes at 60 Hz, and a moment for `--quick`.
const TICKS: u64 = 36_000;
const QUICK_TICKS: u64 = 600;
/// Ticks from one compared state to the next: what rooms do unless they are told otherwise.
const CADENCE_TICKS: u32 = 120;
const ROUNDS: usize = 21;
/// Length of a tick, in nanoseconds.
const TICK_NANOS: f64 = 1e9 / 60.0;

fn main() -> Result<(), Box<dyn Error>> {
    let quick = env::args().any(|argument| argument == "--quick" || argument == "--test");
    let (ticks, rounds) = if quick { (QUICK_TICKS, 3) } else { (TICKS, ROUNDS) };
    let native = skirmish::native_factory()?;
    let module = WasmFactory::load(skirmish::MODULE, Limits::default())?;
    let games: [(&str, &dyn RuntimeFactory); 2] = [("native", &native), ("module", &module)];
    let titles = ["a tick of a replay of skirmish", "takes", "ticks a second", "× real time", "target", ""];
    let (mut table, mut parts) = (Table::new(&titles), Table::new(&["", "file", "read and decoded", "seek, at most"]));
    for seats in [2, 8] {
        for (kind, game) in games {
            let replay = Recorded::new(game, seats, ticks, &format!("{kind}-{seats}"))?;
            let name = format!("{kind}, {seats} seats");
            let timing = replay.verify(rounds);
            let faster = TICK_NANOS / timing.median;
            table.push([
                name.clone(),
                format!("{} ({} to {})", time(timing.median), time(timing.low), time(timing.high)),
                format!("{:.0}", 1e9 / timing.median),
                format!("{faster:.0}"),
                format!("{TARGET:.0}"),
                if faster >= TARGET { "met" } else { "missed" }.to_owned(),
            ]);
            let per_tick = replay.bytes.len() as f64 / ticks as f64;
            let size = format!("{per_tick:.1} bytes a tick");
            parts.push([name, size, time(replay.read(rounds).median), replay.seek()?]);
            fs::remove_file(&replay.path)?;
        }
    }
    let text = format!(
        "{}. One core. Medians of {rounds} verifications of {} ticks each, with their quartiles.\n\n{table}\n{parts}",
        machine::describe(),
        ticks
    );
    writeln!(io::stdout().lock(), "{text}")?;
    if quick { Ok(()) } else { rewrite_section(&results_file(), "replay", &text) }
}

/// A match as a session recorded it, in a file.
struct Recorded<'a> {
    game: &'a dyn RuntimeFactory,
    ticks: u64,
    path: PathBuf,
    bytes: Vec<u8>,
}

impl<'a> Recorded<'a> {
    fn new(game: &'a dyn RuntimeFactory, seats: u8, ticks: u64, name: &str) -> Result<Recorded<'a>, Box<dyn Error>> {
        // Long enough that somebody still plays in the last tick.
        let config = Rules { score_limit: 50, rounds: 9, ..Rules::default() }.to_config()?;
        let seats = SeatCount::new(seats).ok_or("a seat count")?;
        let descriptor = MatchDescriptor::new(game.manifest(), config, SessionSeed::from_u64(5), seats);
        let bytes = record(game, &descriptor, ticks)?;
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.replay"));
        fs::write(&path, &bytes)?;
        Ok(Recorded { game, ticks, path, bytes })
    }

    /// What a tick takes, from the file to the verdict.
    fn verify(&self, rounds: usize) -> Timing {
        self.timed(rounds, || {
            let file = fs::read(&self.path).expect("written before");
            let verdict = verify(&file, self.game);
            assert!(matches!(verdict, Verdict::Verified { ticks, .. } if ticks.index() == self.ticks), "{verdict:?}");
        })
    }

    /// What a tick takes to be read and decoded, without being played.
    fn read(&self, rounds: usize) -> Timing {
        self.timed(rounds, || {
            let file = fs::read(&self.path).expect("written before");
            let replay = Replay::parse(&file).expect("complete");
            assert_eq!(black_box(replay.check_chain()), Ok(()));
        })
    }

    fn timed(&self, rounds: usize, mut run: impl FnMut()) -> Timing {
        let sample = |_| {
            let started = Instant::now();
            run();
            started.elapsed().as_secs_f64() * 1e9 / self.ticks as f64
        };
        Timing::of((0..rounds).map(sample).collect())
    }

    /// The longest of some jumps to and fro, and its steps.
    fn seek(&self) -> Result<String, Box<dyn Error>> {
        let mut player = ReplayPlayer::new(Replay::parse(&self.bytes)?, self.game)?;
        let (mut worst, mut worst_steps) = (0.0, 0);
        for number in 0..24 {
            // All over the match, without a pattern.
            let goal = Tick::new(number * 7_919 * 131 % (self.ticks + 1));
            let (started, before) = (Instant::now(), player.steps());
            player.seek(goal)?;
            worst = f64::max(worst, started.elapsed().as_secs_f64() * 1e9);
            worst_steps = worst_steps.max(player.steps() - before);
        }
        Ok(format!("{}, {worst_steps} steps", time(worst)))
    }
}

fn record(game: &dyn RuntimeFactory, descriptor: &MatchDescriptor, ticks: u64) -> Result<Vec<u8>, Box<dyn Error>> {
    let policy = SessionPolicy {
        recording: Recording::Frames,
        checksum_cadence_ticks: CADENCE_TICKS,
        ..SessionPolicy::default()
    };
    let mut session = Session::new(game.create(descriptor)?, descriptor, policy, SeatSet::EMPTY)?;
    let mut recorder = Recorder::new(game.manifest(), descriptor);
    let mut frame = Frame::new(Generation(0), Tick::ZERO);
    for tick in (0..ticks).map(Tick::new) {
        frame.reset(Generation(0), tick);
        for seat in descriptor.seats().seats() {
            let input = game.manifest().input_schema().pack(&skirmish::scripted_input(seat, tick, 3))?;
            let (presence, epoch) = (Presence::Human, ControlEpoch(1));
            frame.push_seat(SeatFrame { input: Some(&input), substituted: false, presence, epoch });
        }
        session.confirm(&frame)?;
        session.advance(Budget { confirmed_frames: 1, target: Tick::ZERO })?;
        while let Some(event) = session.poll_event() {
            match event {
                SessionEvent::Confirmed(frame) => recorder.push_frame(&frame),
                SessionEvent::Checksum { tick, checksum } => recorder.push_checksum(tick, checksum),
                SessionEvent::RolledBack { .. } => return Err("nothing is predicted".into()),
            }
        }
        if let Some(wanted) = recorder.wanted_key_frame() {
            recorder.push_key_frame(&session.export_snapshot(wanted)?);
        }
    }
    recorder.finish();
    Ok(recorder.take_bytes())
}
