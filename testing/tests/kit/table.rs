//! The table of `TWINS.md`: every twin, every proof, and where it is caught.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use retick_testing::assert::GameFault;
use retick_testing::checkers::Breach;
use retick_testing::twins::{Kind, Twin, every_twin};

use crate::proofs::PROOFS;

/// Ticks of each match.
const TICKS: u64 = 160;
/// Between these lines stands what is measured.
const BEGIN: &str = "<!-- measured: begin -->\n";
const END: &str = "<!-- measured: end -->\n";
/// What stands for a proof that passes.
const PASSES: &str = "·";

/// What the guide says that a proof can't see, and the twins that show it.
const LIMITS: [(&str, &str, &[&str]); 4] = [
    (
        "assert_deterministic",
        "It never rolls back and never takes a snapshot.",
        &["Narrow", "ProbedIds", "SkippedRandom", "SharedCell", "SkippedField", "LossySnapshot", "FirstExecution"],
    ),
    (
        "synctest",
        "What a snapshot leaves out, a checkpoint may hold.",
        &["ProbedIds", "SkippedRandom", "SkippedField", "LossySnapshot", "Unencoded"],
    ),
    ("assert_hydration", "No room, no client.", &["FirstExecution", "ViewReader", "ShownMachine"]),
    ("assert_replay_verifies", "Events are not in the file.", &["FirstExecution", "Numbered", "Unencoded"]),
];

/// Every proof's word on a twin.
type Row = (Twin, Vec<String>);

fn measure() -> Vec<Row> {
    let words = |twin: &Twin| PROOFS.iter().map(|proof| word(&proof.check(twin, TICKS))).collect();
    every_twin().into_iter().map(|twin| (twin.clone(), words(&twin))).collect()
}

/// What a cell says.
fn word(said: &Result<(), GameFault>) -> String {
    match said {
        Ok(()) => PASSES.into(),
        Err(GameFault::Differs { tick, .. }) => format!("S({tick})"),
        Err(GameFault::EventsDiffer { tick, .. }) => format!("event {tick}"),
        Err(GameFault::Breaches(breaches)) => match &breaches[0] {
            Breach::State { tick, .. } => format!("I3 S({tick})"),
            Breach::Events { tick, .. } => format!("K10 event {tick}"),
            Breach::Contract { .. } => "contract".into(),
            other => other.to_string().split(':').next().unwrap_or_default().to_owned(),
        },
        Err(GameFault::PremiseNotMet(_)) => "premise".into(),
        Err(other) => other.to_string(),
    }
}

fn table(rows: &[Row]) -> String {
    let mut text = String::from("| twin | class |");
    PROOFS.iter().for_each(|proof| write!(text, " `{}` |", proof.name).expect("a string takes it"));
    text.push_str("\n|---|---|");
    text.push_str(&"---|".repeat(PROOFS.len()));
    for (twin, words) in rows {
        let class = match twin.kind {
            Kind::Clean => format!("*clean*: {}", twin.class),
            Kind::CleanInState => format!("*clean in its states*: {}", twin.class),
            Kind::Faulty => twin.class.to_owned(),
        };
        write!(text, "\n| `{}` | {class} | {} |", twin.name, words.join(" | ")).expect("a string takes it");
    }
    text.push('\n');
    text
}

fn path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("TWINS.md")
}

#[test]
fn t4_every_twin_is_caught_as_the_table_says_and_no_clean_one() {
    let rows = measure();
    for (twin, words) in &rows {
        let caught: Vec<_> =
            PROOFS.iter().zip(words).filter(|(_, word)| *word != PASSES).map(|(it, _)| it.name).collect();
        assert!(!words.iter().any(|word| word == "premise"), "{}: nothing was proved: {words:?}", twin.name);
        match twin.kind {
            Kind::Clean => assert_eq!(caught, [""; 0], "{}: {words:?}", twin.name),
            Kind::CleanInState => assert_eq!(caught, ["assert_presentation_parity"], "{}: {words:?}", twin.name),
            Kind::Faulty => assert_ne!(caught, [""; 0], "{}: nothing catches it", twin.name),
        }
    }
    // No proof is there in vain: each catches what some other one lets pass.
    for (column, proof) in PROOFS.iter().enumerate() {
        let alone = |(_, words): &&Row| words[column] != PASSES && words.iter().any(|word| word == PASSES);
        assert!(rows.iter().any(|row| alone(&row)), "{} catches nothing that another does not", proof.name);
    }
    let guide = fs::read_to_string(path().with_file_name("..").join("docs/testing.md")).expect("the guide");
    for (proof, sentence, missed) in LIMITS {
        assert!(guide.contains(sentence), "the guide says nothing of this limit of {proof}");
        let column = PROOFS.iter().position(|it| it.name == proof).expect("a proof");
        let passes = |name: &&&str| rows.iter().any(|(twin, words)| twin.name == **name && words[column] == PASSES);
        assert_eq!(missed.iter().find(|name| !passes(name)), None, "{proof} sees more than the guide says");
    }
    let measured = table(&rows);
    let text = fs::read_to_string(path()).expect("TWINS.md");
    let (before, rest) = text.split_once(BEGIN).expect("a place for the table");
    let (written, after) = rest.split_once(END).expect("its end");
    let new = Path::new(env!("CARGO_TARGET_TMPDIR")).join("TWINS.md");
    fs::write(&new, [before, BEGIN, &measured, END, after].concat()).expect("written");
    for (written, measured) in written.lines().zip(measured.lines()) {
        assert_eq!(written, measured, "what is measured stands in {}", new.display());
    }
    assert_eq!(written, measured, "TWINS.md has other rows than {}", new.display());
}
