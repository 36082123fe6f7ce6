//! P04: the same file twice, two at once, and one that was tampered with.

use std::sync::LazyLock;

use retick_core::config::ConfigSchema;
use retick_core::digest::Checksum;
use retick_core::replay::{ChecksumMismatch, Expected, Replay, ReplayPlayer, Verdict, Verifier, verify};
use retick_core::runtime::{
    Capabilities, GameDescription, InitContext, NativeFactory, NoCommand, RuntimeFactory, Simulation, StepContext,
};
use retick_core::session::{InputRetention, LocalConfig, LocalSession, ReplayExportError, SessionPolicy};
use retick_core::snapshot::Origin;
use retick_core::tick::{Tick, TickRate};
use retick_testing::fixtures::{TallyInput, TallyView, tally_descriptor};
use serde::{Deserialize, Serialize};

use crate::rec::{FINAL_MIX, FINAL_SUM, TICKS, options, record, record_with, shown, zig_but};
use crate::support::{seat, zig_of};

/// What each seat adds to the mix, built by whatever runs first in this process. It is the same for everybody, and no run may
/// depend on who built it.
static TERMS: LazyLock<Vec<u32>> = LazyLock::new(|| (0..8).map(|number| 7 * number + 1).collect());

/// TALLY, by way of that table.
#[derive(Clone, Serialize, Deserialize)]
struct Tabled {
    frame: u64,
    sum: Vec<i64>,
    sub: Vec<u64>,
    mix: u32,
}

impl Simulation for Tabled {
    type Input = TallyInput;
    type Command = NoCommand;

    fn describe() -> GameDescription {
        GameDescription {
            tick_rate: TickRate::Hz60,
            state_schema: "tabled/v1",
            config_schema: ConfigSchema::empty(),
            seats: 1..=8,
            capabilities: Capabilities { commands: false, projection: true },
        }
    }

    fn init(context: &InitContext<'_>) -> Result<Tabled, u32> {
        let seats = context.seats.count();
        Ok(Tabled { frame: 0, sum: vec![0; seats], sub: vec![0; seats], mix: 1 })
    }

    fn step(&mut self, context: &StepContext<'_, Tabled>) {
        for seat in context.seats() {
            let TallyInput(value) = context.input(seat);
            self.sum[seat.index()] += i64::from(value);
            self.sub[seat.index()] += u64::from(context.substituted(seat));
            let term = value.cast_unsigned().wrapping_add(TERMS[seat.index()]);
            self.mix = self.mix.wrapping_mul(31).wrapping_add(term);
        }
        self.frame += 1;
    }

    fn project(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.mix.to_le_bytes());
        self.sum.iter().for_each(|sum| out.extend_from_slice(&sum.to_le_bytes()));
        self.sub.iter().for_each(|sub| out.extend_from_slice(&sub.to_le_bytes()));
    }
}

fn factory() -> NativeFactory<Tabled> {
    NativeFactory::new(|sources| sources.module("p04.rs", include_bytes!("p04.rs"))).expect("a valid manifest")
}

/// A whole recording of a match in which this is played, and its checksums.
fn recorded(input: impl Fn(u8, u64) -> i32) -> (Vec<u8>, Vec<(Tick, Checksum)>) {
    let factory = factory();
    record(&factory, &tally_descriptor(&factory, 2, 1), options(), input)
}

/// REC's frames as they are, or others, with these checksums.
fn with(checksums: &[(Tick, Checksum)], input: impl Fn(u8, u64) -> i32) -> Vec<u8> {
    let factory = factory();
    record_with(factory.manifest(), &tally_descriptor(&factory, 2, 1), checksums, input)
}

fn verifier(file: &[u8]) -> Verifier {
    Verifier::new(file, &factory(), &Expected::default()).expect("nothing to refuse")
}

/// What the game shows at the end of a replay.
fn last_view(file: &[u8]) -> TallyView {
    let mut player = ReplayPlayer::new(Replay::parse(file).expect("a replay"), &factory()).expect("of this game");
    player.seek(Tick::new(TICKS)).expect("the last state");
    shown(player.projection().expect("it projects"))
}

fn assert_verified(verdict: &Verdict) {
    let verified = matches!(verdict, Verdict::Verified { ticks, checksums: 5, .. } if ticks.index() == TICKS);
    assert!(verified, "{verdict:?}");
}

#[test]
fn p04_twice_in_one_process_interleaved_and_restarted_is_verified_each_time() {
    let (rec, other) = (recorded(zig_of).0, recorded(|seat, tick| -zig_of(seat, tick)).0);
    assert_ne!(last_view(&rec), last_view(&other), "guard: another match");
    assert_eq!(TERMS.len(), 8, "guard: the table was built before");
    let view = last_view(&rec);
    assert_eq!((&view.sum[..], view.mix), (&FINAL_SUM[..], FINAL_MIX));
    let first = verify(&rec, &factory());
    assert_verified(&first);
    assert_eq!(verify(&rec, &factory()), first);

    for beside in [&rec, &other] {
        let (mut one, mut two) = (verifier(&rec), verifier(beside));
        // Tick by tick, in turn.
        for tick in 1..=TICKS {
            let more = (one.step(1), two.step(1));
            assert_eq!(
                (one.tick(), two.tick(), more),
                (Tick::new(tick), Tick::new(tick), (tick < TICKS, tick < TICKS))
            );
        }
        assert_eq!(one.finish(), first);
        assert_verified(&two.finish());
    }

    let mut restarted = verifier(&rec);
    assert!(restarted.step(137));
    assert_eq!(restarted.tick(), Tick::new(137));
    drop(restarted);
    assert_eq!(verifier(&rec).finish(), first);
}

#[test]
fn p04_one_changed_input_diverges_between_the_checksums_around_it() {
    let checksums = recorded(zig_of).1;
    let tampered = with(&checksums, zig_but(seat(1), 250, 1));
    match verify(&tampered, &factory()) {
        Verdict::Diverged { last_good, first_bad, later_bad, later_good } => {
            assert_eq!((last_good, first_bad.tick), (Some(Tick::new(241)), Tick::new(361)));
            assert_eq!((later_bad.len(), later_good), (1, vec![]));
        }
        verdict => panic!("{verdict:?}"),
    }
    let view = last_view(&tampered);
    assert_eq!((&view.sum[..], view.mix), (&[-2, 6][..], 0x10EA_C7B1));
}

#[test]
fn p04_one_changed_checksum_diverges_there_alone() {
    let mut checksums = recorded(zig_of).1;
    let (tick, found) = (Tick::new(361), checksums[3].1);
    assert_eq!(checksums[3].0, tick);
    let expected = Checksum::of(b"another state");
    checksums[3].1 = expected;
    let verdict = verify(&with(&checksums, zig_of), &factory());
    let expected = Verdict::Diverged {
        last_good: Some(Tick::new(241)),
        first_bad: ChecksumMismatch { tick, expected, found },
        later_bad: vec![],
        later_good: vec![Tick::new(481)],
    };
    assert_eq!(verdict, expected);
}

#[test]
fn p04_without_checksums_nothing_is_verified() {
    assert_verified(&verify(&with(&recorded(zig_of).1, zig_of), &factory()));
    let ticks = Tick::new(TICKS);
    assert_eq!(verify(&with(&[], zig_of), &factory()), Verdict::Unverifiable { ticks });
}

#[test]
fn p04_a_promoted_world_exports_no_replay() {
    let factory = factory();
    let descriptor = tally_descriptor(&factory, 1, 1);
    let config = LocalConfig {
        policy: SessionPolicy { input_retention: InputRetention::All, ..SessionPolicy::default() },
        ..LocalConfig::default()
    };
    let mut solo =
        LocalSession::new(factory.create(&descriptor).expect("a match"), &descriptor, config).expect("valid");
    assert!(solo.export_replay().is_ok(), "guard: what began in the match exports");
    let promotion = solo.export_promotion().expect("a state");
    let runtime = factory.create(promotion.descriptor()).expect("the same match");
    let promoted = LocalSession::from_promotion(runtime, &promotion, config).expect("of this game");
    assert_eq!(promoted.session().origin(), Origin::Promotion, "guard");
    let mut promoted = promoted;
    assert_eq!(promoted.export_replay(), Err(ReplayExportError::Promoted));
}
