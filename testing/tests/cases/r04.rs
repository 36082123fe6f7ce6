//! R04: numbers and references that change on the way through the encoder; here the binary form.

use std::collections::BTreeMap;

use retick_core::codec::canonical::{self, EncodeReason};
use retick_core::digest::Checksum;
use retick_core::identity::MatchDescriptor;
use retick_core::runtime::{
    AdvanceError, GameDescription, InitContext, Keep, NativeFactory, NoCommand, Output, Runtime, RuntimeFactory,
    SeatStep, Simulation, StepBatch, StepContext,
};
use retick_core::seat::{ControlEpoch, Presence};
use retick_core::session::{Session, SessionPolicy};
use retick_core::snapshot::Snapshot;
use retick_core::tick::Tick;
use retick_testing::fixtures::{Tally, TallyInput, pack_tally, tally_descriptor};
use serde::{Deserialize, Serialize, Serializer};

use crate::support::seat;

/// The bits of each `f64` as they go in, and as they come out.
const FLOATS: [(u64, u64); 7] = [
    (0x3FD3_3333_3333_3334, 0x3FD3_3333_3333_3334),
    (0x3FD5_5555_5555_5555, 0x3FD5_5555_5555_5555),
    (0x0000_0000_0000_0001, 0x0000_0000_0000_0001),
    (0x7FEF_FFFF_FFFF_FFFF, 0x7FEF_FFFF_FFFF_FFFF),
    (0x8000_0000_0000_0000, 0x8000_0000_0000_0000),
    (0x7FF0_0000_0000_0000, 0x7FF0_0000_0000_0000),
    // A NaN, with sign and payload, has one form.
    (0xFFF8_0000_0000_0BAD, 0x7FF8_0000_0000_0000),
];

/// A node that refers to others by id.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
struct Node {
    parent: Option<u32>,
    children: Vec<u32>,
    shared: u32,
}

/// Everything that has been known to change on the way.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Relics {
    floats: Vec<f64>,
    third: f32,
    large: u64,
    least: i64,
    strings: Vec<String>,
    map: BTreeMap<String, i64>,
    inserted: Inserted,
    nodes: BTreeMap<u32, Node>,
    empty: Vec<u8>,
    absent: Option<Vec<u8>>,
    deep: Deep,
    sum: i64,
}

/// A map that shows its entries in the order of their insertion.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(from = "BTreeMap<u32, u8>")]
struct Inserted(Vec<(u32, u8)>);

impl From<BTreeMap<u32, u8>> for Inserted {
    fn from(entries: BTreeMap<u32, u8>) -> Inserted {
        Inserted(entries.into_iter().collect())
    }
}

impl Serialize for Inserted {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().copied())
    }
}

/// Nests as deep as it is made.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Deep(Option<Box<Deep>>);

impl Deep {
    fn of(levels: u32) -> Deep {
        (0..levels).fold(Deep(None), |deep, _| Deep(Some(Box::new(deep))))
    }
}

fn relics() -> Relics {
    let node = |parent, children: &[u32]| Node { parent, children: children.to_vec(), shared: 40 };
    Relics {
        floats: FLOATS.map(|(bits, _)| f64::from_bits(bits)).to_vec(),
        third: 1.0 / 3.0,
        large: 9_007_199_254_740_993,
        least: i64::MIN,
        strings: ["a\0b".to_owned(), "\u{301}".to_owned(), "x".repeat(64 << 10), String::new()].to_vec(),
        map: (0..50).rev().map(|key| (format!("key {key}"), -key)).collect(),
        inserted: Inserted((0..50_u8).rev().map(|key| (u32::from(key) << 7, key)).collect()),
        // 1 and 2 are each other's parent and child, and 3 shares with both what 40 stands for.
        nodes: [(3, node(None, &[])), (2, node(Some(1), &[1])), (1, node(Some(2), &[2]))].into_iter().collect(),
        empty: Vec::new(),
        absent: None,
        deep: Deep::of(3),
        sum: 0,
    }
}

/// Compares bit by bit what a value holds with what was put in.
fn assert_kept(found: &Relics) {
    let bits: Vec<u64> = found.floats.iter().map(|float| float.to_bits()).collect();
    assert_eq!(bits, FLOATS.map(|(_, bits)| bits));
    assert_eq!(found.third.to_bits(), 0x3EAA_AAAB);
    assert_eq!((found.large, found.least), (9_007_199_254_740_993, i64::MIN));
    let kept = relics();
    assert_eq!((&found.strings, &found.map), (&kept.strings, &kept.map));
    // The order of the insertions is gone, and nothing else.
    assert!(found.inserted.0.is_sorted() && found.inserted.0.iter().rev().eq(&kept.inserted.0));
    assert_eq!(found.strings[1].as_bytes(), [0xCC, 0x81]);
    assert_eq!(found.nodes, kept.nodes);
    let of = |id: u32| &found.nodes[&id];
    assert_eq!((of(1).parent, of(2).parent, of(1).children[0], of(2).children[0]), (Some(2), Some(1), 2, 1));
    assert!(of(1).shared == of(3).shared && of(2).shared == of(3).shared);
    assert_eq!((&found.empty, &found.absent), (&Vec::new(), &None));
}

impl Simulation for Relics {
    type Input = TallyInput;
    type Command = NoCommand;

    fn describe() -> GameDescription {
        GameDescription { state_schema: "relics/v1", ..Tally::describe() }
    }

    fn init(_: &InitContext<'_>) -> Result<Relics, u32> {
        Ok(relics())
    }

    /// Seat 0 says how much deeper the state gets.
    fn step(&mut self, context: &StepContext<'_, Relics>) {
        let value = context.input(seat(0)).0;
        self.sum += i64::from(value);
        self.deep = Deep::of(value.unsigned_abs());
    }

    fn project(&self, out: &mut Vec<u8>) {
        self.floats.iter().for_each(|float| out.extend_from_slice(&float.to_bits().to_le_bytes()));
    }
}

fn factory() -> NativeFactory<Relics> {
    NativeFactory::new(|builder| builder.module("r04.rs", include_bytes!("r04.rs"))).expect("a manifest")
}

fn descriptor() -> MatchDescriptor {
    tally_descriptor(&factory(), 1, 1)
}

fn checksum(runtime: &mut dyn Runtime) -> Checksum {
    let mut output = Output::default();
    runtime.keep(Keep::CHECKSUM, &mut output).expect("captured");
    output.kept[0].checksum.expect("asked for")
}

fn step(value: i32, keep: Keep) -> StepBatch {
    let mut batch = StepBatch::default();
    batch.reset(Tick::ZERO);
    batch.push_step(keep);
    let (presence, epoch) = (Presence::Human, ControlEpoch(0));
    batch.push_seat(SeatStep { input: &pack_tally(value), substituted: false, malformed: false, presence, epoch });
    batch
}

#[test]
fn r04_the_binary_form_changes_nothing_in_a_thousand_rounds() {
    let first = canonical::encode(&relics()).expect("has a form");
    let mut bytes = first.clone();
    for _ in 0..1000 {
        let value: Relics = canonical::decode_canonical(&bytes).expect("its own form");
        assert_kept(&value);
        bytes.clear();
        canonical::encode_into(&value, &mut bytes).expect("has a form");
        assert!(bytes == first, "the bytes changed");
    }
    // An empty list is not an absent one: each has its own bytes.
    let absent = Relics { absent: Some(Vec::new()), ..relics() };
    assert_ne!(canonical::encode(&absent).expect("has a form"), first);
}

#[test]
fn r04_a_hydrated_state_has_the_checksum_of_the_donors_live_one() {
    let factory = factory();
    let mut donor = factory.create(&descriptor()).expect("a match");
    // The donor's own memory holds the NaN as it was made.
    let mut output = Output::default();
    donor.advance(&step(5, Keep::PROJECTION | Keep::CHECKPOINT), &mut output).expect("it steps");
    assert!(output.projections.ends_with(&FLOATS[6].0.to_le_bytes()), "guard");
    let checkpoint = output.kept[0].checkpoint.expect("asked for");
    let mut state = Vec::new();
    donor.export(checkpoint, 0, usize::MAX, &mut state).expect("kept");

    // As a snapshot travels: in blocks, one of which is all "x".
    let session = |runtime| {
        let seats = [seat(0)].into_iter().collect();
        Session::new(runtime, &descriptor(), SessionPolicy::default(), seats).expect("a valid policy")
    };
    let last = vec![retick_core::snapshot::LastInput::new(&pack_tally(5), Presence::Human, ControlEpoch(0))];
    let snapshot = Snapshot::new(&descriptor(), Tick::new(1), last, &state).to_bytes();
    let mut joiner = session(factory.create(&descriptor()).expect("a match"));
    joiner.hydrate(&Snapshot::from_bytes(&snapshot).expect("its own bytes")).expect("a snapshot of this match");
    assert_eq!(joiner.head_checksum(), Ok(checksum(donor.as_mut())));
    let shown: Vec<u8> = FLOATS.iter().flat_map(|(_, bits)| bits.to_le_bytes()).collect();
    assert_eq!(joiner.projections().0, shown);
    // And what the joiner gives on is the same again.
    let again = joiner.export_snapshot(Tick::new(1)).expect("kept");
    assert_eq!(again.to_bytes(), snapshot);
}

#[test]
fn r04_a_value_without_a_form_is_refused_at_capture_with_its_path() {
    let mut runtime = factory().create(&descriptor()).expect("a match");
    let (before, mut output) = (checksum(runtime.as_mut()), Output::default());
    let refused = runtime.advance(&step(200, Keep::CHECKSUM), &mut output).expect_err("too deep");
    let AdvanceError::Capture { tick, error } = refused else { panic!("{refused}") };
    assert_eq!((tick, error.reason), (Tick::new(1), EncodeReason::TooDeep));
    assert!(error.path.starts_with("deep"), "{}", error.path);
    assert!(output.kept.is_empty());
    assert_eq!((checksum(runtime.as_mut()), runtime.tick()), (before, Tick::ZERO), "as before");
}
