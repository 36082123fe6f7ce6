//! R1: `docs/replay-format.md` shows a whole file, byte by byte, and it is what the recorder writes.

use retick_core::config::SessionConfig;
use retick_core::digest::Checksum;
use retick_core::frame::{Frame, SeatFrame};
use retick_core::identity::{IdentityManifest, MatchDescriptor};
use retick_core::input::InputSchema;
use retick_core::replay::{Recorder, Replay, ReplayEnd};
use retick_core::rng::SessionSeed;
use retick_core::seat::{ControlEpoch, Generation, Presence};
use retick_core::tick::{Tick, TickRate};

use crate::counter::seats;

const DOCUMENT: &str = include_str!("../../../docs/replay-format.md");

/// Two ticks of one seat that jumps and keeps jumping, and a made-up checksum of S(1).
fn recorded() -> Vec<u8> {
    let schema = InputSchema::builder("jump/v1").boolean("jump").build().unwrap();
    let manifest = IdentityManifest::builder("native", 1, TickRate::Hz60).input_schema(schema).build().unwrap();
    let seed = SessionSeed::from_bytes([7; 32]);
    let descriptor = MatchDescriptor::new(&manifest, SessionConfig::empty(), seed, seats(1));
    let mut recorder = Recorder::new(&manifest, &descriptor);
    for tick in 0..2 {
        let mut frame = Frame::new(Generation(0), Tick::new(tick));
        let (presence, epoch) = (Presence::Human, ControlEpoch(1));
        frame.push_seat(SeatFrame { input: Some(&[1]), substituted: false, presence, epoch });
        recorder.push_frame(&frame);
        if tick == 0 {
            recorder.push_checksum(Tick::new(1), Checksum::of(b"made up"));
        }
    }
    recorder.finish();
    recorder.take_bytes()
}

/// The bytes of the document's example; behind a semicolon stands what they mean.
fn documented() -> Vec<u8> {
    let (_, example) = DOCUMENT.split_once("```hex replay\n").unwrap();
    let (example, _) = example.split_once("```").unwrap();
    let digits = example.lines().flat_map(|line| line.split(';').next().unwrap().split_whitespace());
    digits.map(|digits| u8::from_str_radix(digits, 16).unwrap()).collect()
}

fn shown(bytes: &[u8]) -> String {
    bytes.chunks(32).map(|line| line.iter().map(|byte| format!("{byte:02x} ")).collect::<String>() + "\n").collect()
}

#[test]
fn r1_the_documents_example_is_what_is_written_and_read() {
    let (written, documented) = (recorded(), documented());
    assert!(written == documented, "written:\n{}documented:\n{}", shown(&written), shown(&documented));
    let replay = Replay::parse(&documented).unwrap();
    assert_eq!((replay.ticks(), replay.end(), replay.checksums().len()), (Tick::new(2), ReplayEnd::Complete, 1));
}
