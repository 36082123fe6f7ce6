//! P02: what a crash leaves of a recording is a replay of so many ticks, and nothing that was damaged is ever taken for whole.

use std::env;
use std::fs;
use std::io::{Read, Write, stdout};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use retick_client::{InvalidReplay, ReplayFile, ReplaySync, list_replays, read_replay_file};
use retick_core::replay::{Replay, ReplayEnd, ReplayError, Verdict, verify};
use retick_core::rng::{RngStream, SessionSeed};
use retick_core::runtime::RuntimeFactory;
use retick_core::tick::Tick;
use retick_testing::fixtures::{tally_descriptor, tally_factory};

use crate::rec::{CADENCE, FLUSH, TICKS, frame, options, play, rec, session};
use crate::support::zig_of;

/// How many recordings are killed, and how many are under way at once.
const KILLS: usize = 50;
const AT_ONCE: usize = 5;
/// The last tick at which one is: it may play on for a moment, and must not come to its end.
const LAST_KILL: u32 = 560;
/// Fewest kills that have to come between two flushes.
const BETWEEN_FLUSHES: usize = 40;
/// What makes this test's own binary the process that records.
const RECORD_TO: &str = "RETICK_P02_RECORD_TO";
/// What it says for each tick that it has recorded: a byte that the test harness never prints.
const TOLD: u8 = 1;
/// How fast it plays: a tick in each of these.
const PACE: Duration = Duration::from_micros(500);

/// Where everybody else's file is not.
fn scratch(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("p02").join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder of this test's own");
    folder
}

/// How many of REC's checksums are of states up to here.
fn checksums_until(ticks: u64) -> usize {
    (0..ticks).filter(|tick| tick.is_multiple_of(u64::from(CADENCE))).count()
}

#[test]
fn p02_a_no_prefix_is_complete_and_each_verifies_as_far_as_it_goes() {
    let (rec, factory) = (rec(), tally_factory());
    let (mut usable, mut reached) = (0, vec![]);
    for length in 0..rec.len() {
        match verify(&rec[..length], &factory) {
            Verdict::Incomplete { ticks, checksums, end } => {
                assert_eq!(end, ReplayEnd::CutOff, "{length}");
                assert!(ticks.index() >= usable, "{length}: {ticks} after {usable}");
                // The checksum of a state stands behind the frames that lead there.
                let most = checksums_until(ticks.index());
                assert!(checksums == most || checksums + 1 == most, "{length}: {checksums} of {most}");
                usable = ticks.index();
                reached.push(usable);
            }
            Verdict::Refused(refused) => assert!(reached.is_empty(), "{length}: {refused}"),
            verdict => panic!("{length} of {}: {verdict:?}", rec.len()),
        }
    }
    reached.dedup();
    // Whole flush intervals, and what a key frame let out in between.
    let flushes = reached.iter().filter(|ticks| ticks.is_multiple_of(u64::from(FLUSH))).count();
    assert_eq!(flushes as u64, TICKS / u64::from(FLUSH) + 1, "{reached:?}");
    assert_eq!((usable, reached[0]), (TICKS, 0));
    assert!(matches!(verify(&rec, &factory), Verdict::Verified { checksums: 5, .. }));
}

#[test]
fn p02_b_no_flipped_byte_is_ever_verified() {
    let (rec, factory) = (rec(), tally_factory());
    let mut uncovered = vec![];
    for index in 0..rec.len() {
        for flip in [0x01, 0x80, 0xff] {
            let mut changed = rec.clone();
            changed[index] ^= flip;
            if let Verdict::Verified { .. } = verify(&changed, &factory) {
                uncovered.push((index, flip));
            }
        }
    }
    assert_eq!(uncovered, [], "bytes that nothing covers");
    assert!(rec.len() > 2_000, "guard: {} bytes were flipped", rec.len());
}

/// Records REC live, a tick at a time, and says one byte for each tick that it has recorded.
fn record_live(path: &Path, pace: Duration, mut told: impl Write) {
    let factory = tally_factory();
    let descriptor = tally_descriptor(&factory, 2, 1);
    let mut session = session(&factory, &descriptor);
    let file = ReplayFile::create(path, factory.manifest(), &descriptor, options(), ReplaySync::AtEnd);
    let mut file = file.expect("a place for the recording");
    for tick in 0..TICKS {
        play(&mut session, &frame(tick, zig_of));
        while let Some(event) = session.poll_event() {
            file.take_event(&event).expect("written");
        }
        file.take_key_frame(&mut session).expect("written");
        told.write_all(&[TOLD]).and_then(|()| told.flush()).expect("somebody reads");
        std::thread::park_timeout(pace);
    }
    file.finish().expect("written");
}

/// Without a place to record to, this is a test like any other; with one, it is the process that gets killed.
#[test]
fn p02_c_a_recording_that_nobody_kills_is_rec() {
    if let Some(path) = env::var_os(RECORD_TO) {
        return record_live(Path::new(&path), PACE, stdout().lock());
    }
    let path = scratch("unharmed").join("rec.replay");
    record_live(&path, Duration::ZERO, std::io::sink());
    assert_eq!(fs::read(&path).expect("recorded"), rec());
}

/// A process that records, until it is killed.
struct Recording {
    process: Child,
    path: PathBuf,
}

impl Recording {
    fn start(path: PathBuf) -> Recording {
        let process = Command::new(env::current_exe().expect("this test"))
            .args(["--exact", "p02::p02_c_a_recording_that_nobody_kills_is_rec", "--nocapture", "--test-threads=1"])
            .env(RECORD_TO, &path)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        Recording { process: process.expect("a process"), path }
    }

    /// Kills it once it has said so many ticks, and gives how many it had said by the time it was dead.
    fn kill_at(mut self, tick: u64) -> (u64, PathBuf) {
        let mut said = self.process.stdout.take().expect("piped");
        let (mut ticks, mut byte) = (0, [0]);
        while ticks < tick && said.read(&mut byte).expect("readable") == 1 {
            ticks += u64::from(byte == [TOLD]);
        }
        self.process.kill().expect("it runs");
        self.process.wait().expect("it ends");
        let mut rest = vec![];
        said.read_to_end(&mut rest).expect("readable");
        (ticks + rest.iter().filter(|byte| **byte == TOLD).count() as u64, self.path)
    }
}

#[test]
fn p02_c_fifty_killed_recordings_lose_no_more_than_a_flush_interval() {
    let folder = scratch("killed");
    let mut chance = RngStream::derive(&SessionSeed::from_u64(2), "moments of death");
    let factory = tally_factory();
    let (mut between, mut moments) = (0, vec![]);
    for round in 0..KILLS / AT_ONCE {
        let start = |number| Recording::start(folder.join(format!("{round}-{number}.replay")));
        let mut recordings: Vec<(u64, Recording)> =
            (0..AT_ONCE).map(|number| (u64::from(chance.range(1..=LAST_KILL)), start(number))).collect();
        // Those that die first are waited for first, and the others play on meanwhile.
        recordings.sort_by_key(|(tick, _)| *tick);
        for (tick, recording) in recordings {
            let (k, path) = recording.kill_at(tick);
            moments.push(k);
            between += usize::from(!k.is_multiple_of(u64::from(FLUSH)));
            let left = read_replay_file(&path).expect("it was begun");
            let Verdict::Incomplete { ticks, checksums, end: ReplayEnd::CutOff } = verify(&left, &factory) else {
                panic!("killed at {k}: {:?}", verify(&left, &factory));
            };
            let flushed = k / u64::from(FLUSH) * u64::from(FLUSH);
            assert!(ticks.index() >= flushed && ticks.index() <= k + 1, "killed at {k}: {ticks} ticks are usable");
            assert!(checksums + 1 >= checksums_until(ticks.index()), "killed at {k}: {checksums} checksums");
        }
    }
    assert!(between >= BETWEEN_FLUSHES, "guard: {between} of {KILLS} kills between two flushes: {moments:?}");
}

#[test]
fn p02_d_what_is_no_replay_is_shown_with_a_reason_beside_those_that_are() {
    let folder = scratch("list");
    let rec = rec();
    let mut random = vec![0; 5 << 20];
    let mut chance = RngStream::derive(&SessionSeed::from_u64(5), "noise");
    random.chunks_mut(4).for_each(|word| word.copy_from_slice(&chance.next_u32().to_le_bytes()));
    let write = |name: &str, bytes: &[u8]| fs::write(folder.join(name), bytes).expect("a file");
    write("a-whole.replay", &rec);
    write("b-empty.replay", b"");
    fs::create_dir(folder.join("c-folder.replay")).expect("a folder");
    write("d-random.replay", &random);
    // As random, behind the first bytes of a replay: nothing of what it claims is believed.
    write("e-random.replay", &[&rec[..10], &random[..]].concat());
    write("f-cut.replay", &rec[..rec.len() / 2]);

    let list = list_replays(&folder).expect("the folder is there");
    let names: Vec<_> = list.iter().map(|(path, _)| path.file_name().expect("a name").to_owned()).collect();
    assert_eq!(names.len(), 6, "{names:?}");
    let shown = |index: usize| list[index].1.as_ref();
    assert!(matches!(shown(0), Ok(summary) if summary.ticks == Tick::new(TICKS) && summary.end == ReplayEnd::Complete));
    assert!(matches!(shown(1), Err(InvalidReplay::Replay(ReplayError::NotAReplay))));
    assert!(matches!(shown(2), Err(InvalidReplay::NotAFile)));
    assert!(matches!(shown(3), Err(InvalidReplay::Replay(ReplayError::NotAReplay))));
    assert!(matches!(shown(4), Err(InvalidReplay::Replay(ReplayError::Header))));
    assert!(matches!(shown(5), Ok(summary) if summary.ticks > Tick::ZERO && summary.end == ReplayEnd::CutOff));
    assert!(list.iter().filter_map(|(_, shown)| shown.as_ref().err()).all(|reason| !reason.to_string().is_empty()));
    assert_eq!(Replay::parse(&rec).map(|replay| replay.ticks()), Ok(Tick::new(TICKS)));
}
