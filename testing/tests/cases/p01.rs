//! P01: a replay of another game, map or format is refused before its first tick, with what differs.

use std::collections::BTreeSet;

use retick_core::config::SessionConfig;
use retick_core::identity::{IdentityManifest, IdentityPart, ManifestBuilder, MatchDescriptor};
use retick_core::input::{GameInput, InputSchema};
use retick_core::replay::{
    Expected, IdentityMismatch, Refused, Replay, ReplayError, ReplayPlayer, Verdict, verify, verify_expecting,
};
use retick_core::runtime::{Capabilities, RuntimeFactory};
use retick_core::tick::{Tick, TickRate};
use retick_testing::fixtures::TallyInput;

use crate::rec::{Counted, FINAL_MIX, FINAL_SUM, TICKS, options, record, shown};
use crate::replay_blocks::{KIND_HEADER, KIND_INDEX, START_BYTES, blocks, end, offsets, sealed};
use crate::support::zig_of;

const CONFIG: &[u8] = b"map 7, rules 3";
const OTHER_CONFIG: &[u8] = b"map 7, rules 4";

/// The parts of the game's manifest, each of which one variant changes.
struct Parts {
    engine_revision: u32,
    tick_rate: TickRate,
    input_schema: InputSchema,
    state_schema: &'static str,
    rules: &'static [u8],
    mod_file: Option<&'static [u8]>,
}

impl Default for Parts {
    fn default() -> Self {
        Parts {
            engine_revision: 1,
            tick_rate: TickRate::Hz60,
            input_schema: TallyInput::schema(),
            state_schema: "tally/state/v1",
            rules: b"the rules of tally",
            mod_file: None,
        }
    }
}

impl Parts {
    fn manifest(&self) -> IdentityManifest {
        let builder: ManifestBuilder = IdentityManifest::builder("native", self.engine_revision, self.tick_rate);
        let builder = builder
            .capabilities(Capabilities { commands: false, projection: true })
            .input_schema(self.input_schema.clone())
            .state_schema(self.state_schema)
            .module("rules.rs", self.rules);
        let builder = match self.mod_file {
            Some(bytes) => builder.module("mods/fast.rs", bytes),
            None => builder,
        };
        builder.build().expect("a valid manifest")
    }
}

/// A whole recording of the same frames by a game of these parts.
fn recorded(parts: &Parts) -> Vec<u8> {
    let game = Counted::new(parts.manifest());
    record(&game, &game.descriptor(CONFIG), options(), zig_of).0
}

fn rec() -> Vec<u8> {
    recorded(&Parts::default())
}

/// REC with another header in front of blocks that are otherwise its own.
fn with_header(descriptor: &[u8], sealed_for: &MatchDescriptor) -> Vec<u8> {
    let (file, manifest) = (rec(), Parts::default().manifest());
    let mut blocks = blocks(&file);
    assert_eq!(blocks[0].0, KIND_HEADER);
    blocks[0].1 = retick_core::codec::wire::encode(&(&manifest.to_bytes()[..], descriptor));
    sealed(&file[..START_BYTES], sealed_for, &blocks)
}

/// REC with one section more, of a kind that nobody knows, in front of its index.
fn with_section(kind: u8) -> Vec<u8> {
    let (file, descriptor) = (rec(), Counted::new(Parts::default().manifest()).descriptor(CONFIG));
    let replay = Replay::parse(&file).expect("REC");
    let mut blocks = blocks(&file);
    let place = blocks.iter().position(|block| block.0 == KIND_INDEX).expect("an index");
    blocks.insert(place, (kind, b"what it means stands in a later version".to_vec()));
    let index = offsets(&sealed(&file[..START_BYTES], &descriptor, &blocks))[place + 1].1 as u64;
    let counts = [TICKS, replay.checksums().len() as u64, replay.key_frames().len() as u64];
    blocks.last_mut().expect("an end").1 = end(counts, index, replay.chain_head().expect("complete"));
    sealed(&file[..START_BYTES], &descriptor, &blocks)
}

fn renamed_schema() -> InputSchema {
    let range = i64::from(i32::MIN)..=i64::from(i32::MAX);
    InputSchema::builder("tally-input/v2").integer("value", range).build().expect("valid")
}

/// What a verification with the original runtime refuses, after no step at all.
fn refused(file: &[u8], expected: &Expected) -> Refused {
    let game = Counted::new(Parts::default().manifest());
    let verdict = verify_expecting(file, &game, expected);
    let Verdict::Refused(refused) = verdict else { panic!("{verdict:?}") };
    assert_eq!(game.steps(), 0, "{refused}");
    refused
}

/// A refusal of another identity that names this part, and both values.
fn check_part(parts: Parts, part: &IdentityPart) -> Refused {
    let theirs = parts.manifest().value_of(part);
    let ours = Parts::default().manifest().value_of(part);
    let refusal = refused(&recorded(&parts), &Expected::default());
    let Refused::Identity(mismatch) = &refusal else { panic!("{refusal}") };
    let IdentityMismatch { part: named, expected_value, found_value, .. } = mismatch.as_ref();
    assert_eq!(named.as_ref(), Some(part));
    let or_none = |value: Option<String>| value.unwrap_or_else(|| "none".into());
    assert_eq!((expected_value, found_value), (&or_none(theirs), &or_none(ours)));
    let words = refusal.to_string();
    assert_ne!(expected_value, found_value);
    assert!(words.contains(expected_value.as_str()) && words.contains(found_value.as_str()), "{words}");
    refusal
}

#[test]
fn p01_nine_variants_are_nine_refusals_before_the_first_step() {
    let rules = || IdentityPart::Module { path: "rules.rs".into() };
    let mut refusals = vec![
        check_part(Parts { engine_revision: 2, ..Parts::default() }, &IdentityPart::Engine),
        check_part(Parts { rules: b"other rules", ..Parts::default() }, &rules()),
        check_part(Parts { tick_rate: TickRate::Hz30, ..Parts::default() }, &IdentityPart::TickRate),
        check_part(Parts { input_schema: renamed_schema(), ..Parts::default() }, &IdentityPart::InputSchema),
        check_part(Parts { state_schema: "tally/state/v2", ..Parts::default() }, &IdentityPart::StateSchema),
    ];

    // One byte of the config, under the digest of the old one.
    let game = Counted::new(Parts::default().manifest());
    let (ours, other) = (game.descriptor(CONFIG), game.descriptor(OTHER_CONFIG));
    let mut changed = ours.to_bytes();
    let at = changed.windows(CONFIG.len()).position(|window| window == CONFIG).expect("it stands in clear");
    changed[at..at + CONFIG.len()].copy_from_slice(OTHER_CONFIG);
    refusals.push(refused(&with_header(&changed, &ours), &Expected::default()));

    // Config and digest together: whoever knows which config was played says so.
    let replaced = with_header(&other.to_bytes(), &other);
    let expected = Expected { config: Some(ours.config().digest()), ..Expected::default() };
    refusals.push(refused(&replaced, &expected));

    let mut old = rec();
    old[8..START_BYTES].copy_from_slice(&1u16.to_le_bytes());
    refusals.push(refused(&old, &Expected::default()));
    refusals.push(refused(&with_section(0x40), &Expected::default()));

    let digests = |config: &[u8]| SessionConfig::from_bytes(config).expect("short").digest().to_string();
    let words: Vec<String> = refusals.iter().map(Refused::to_string).collect();
    for both in [&words[5], &words[6]] {
        assert!(both.contains(&digests(CONFIG)) && both.contains(&digests(OTHER_CONFIG)), "{both}");
    }
    assert_eq!(refusals[7], Refused::Unreadable(ReplayError::Version { found: 1 }));
    assert!(words[7].contains("version 1") && words[7].contains("3 is read"), "{}", words[7]);
    assert_eq!(refusals[8], Refused::Unreadable(ReplayError::Section { kind: 0x40 }));
    assert!(words[8].contains("64") && words[8].contains("0 to 5"), "{}", words[8]);

    let codes: BTreeSet<&str> = refusals.iter().map(Refused::code).collect();
    assert_eq!((refusals.len(), codes.len()), (9, 9), "{codes:?}");
}

/// Nobody has to know the config: the frame chain begins with it.
#[test]
fn p01_a_replaced_config_breaks_the_chain_of_frames() {
    let game = Counted::new(Parts::default().manifest());
    let other = game.descriptor(OTHER_CONFIG);
    let refusal = refused(&with_header(&other.to_bytes(), &other), &Expected::default());
    assert!(matches!(refusal, Refused::Chain { .. }), "{refusal}");
    let expected = Expected { descriptor: Some(game.descriptor(CONFIG).digest()), ..Expected::default() };
    let refusal = refused(&with_header(&other.to_bytes(), &other), &expected);
    assert!(matches!(refusal, Refused::Match { found, .. } if found == other.digest()), "{refusal}");
}

#[test]
fn p01_a_rule_module_that_is_missing_is_named() {
    let path = "mods/fast.rs";
    let part = IdentityPart::Module { path: path.into() };
    let refusal = check_part(Parts { mod_file: Some(b"twice as fast"), ..Parts::default() }, &part);
    assert!(refusal.to_string().contains(path), "{refusal}");
    let Refused::Identity(mismatch) = refusal else { panic!("{refusal}") };
    assert_eq!(mismatch.found_value, "none");
}

#[test]
fn p01_rec_itself_verifies_and_its_steps_are_counted() {
    let game = Counted::new(Parts::default().manifest());
    let file = rec();
    let verdict = verify(&file, &game);
    assert!(matches!(verdict, Verdict::Verified { checksums: 5, ticks, .. } if ticks.index() == TICKS), "{verdict:?}");
    assert_eq!(game.steps(), TICKS, "guard");
    let whole = Expected {
        config: Some(game.descriptor(CONFIG).config().digest()),
        descriptor: Some(game.descriptor(CONFIG).digest()),
        ..Expected::default()
    };
    assert_eq!(verify_expecting(&file, &game, &whole), verdict);
    let mut player = ReplayPlayer::new(Replay::parse(&file).expect("REC"), &game).expect("of this game");
    player.seek(Tick::new(TICKS)).expect("the last state");
    let view = shown(player.projection().expect("TALLY projects"));
    assert_eq!((&view.sum[..], view.mix), (&FINAL_SUM[..], FINAL_MIX));
    assert_eq!(game.manifest().identity(), player.replay().manifest().identity());
}
