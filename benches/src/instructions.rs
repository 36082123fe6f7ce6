//! Instruction counts of hot calls: what was recorded, what is measured now, and whether that is worse.
//!
//! Callgrind counts the same instructions for the same binary, so a small tolerance is enough; another compiler makes another
//! binary, whose counts are told but not judged.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

/// How much a count may grow before it fails, in percent.
pub const TOLERANCE_PERCENT: u64 = 5;

/// What the counts depend on beside the code.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Toolchain {
    /// The compiler's version.
    pub rustc: String,
    /// Architecture and operating system.
    pub target: String,
    /// The version of Valgrind.
    pub valgrind: String,
}

/// Counts by case.
pub type Counts = BTreeMap<String, u64>;

/// A committed set of counts.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Record {
    /// With what they were counted.
    pub toolchain: Toolchain,
    /// Instructions by case.
    pub instructions: Counts,
}

/// What became of one case.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change {
    /// Within the tolerance, in either direction.
    Within {
        /// Recorded.
        before: u64,
        /// Measured.
        now: u64,
    },
    /// Fewer, beyond the tolerance: worth recording.
    Fewer {
        /// Recorded.
        before: u64,
        /// Measured.
        now: u64,
    },
    /// More, beyond the tolerance: a regression.
    More {
        /// Recorded.
        before: u64,
        /// Measured.
        now: u64,
    },
    /// Measured, not recorded.
    Unrecorded {
        /// Measured.
        now: u64,
    },
    /// Recorded, not measured.
    Unmeasured {
        /// Recorded.
        before: u64,
    },
}

impl Change {
    fn of(before: Option<u64>, now: Option<u64>) -> Option<Change> {
        Some(match (before, now) {
            (None, None) => return None,
            (None, Some(now)) => Change::Unrecorded { now },
            (Some(before), None) => Change::Unmeasured { before },
            (Some(before), Some(now)) if exceeds(now, before) => Change::More { before, now },
            (Some(before), Some(now)) if exceeds(before, now) => Change::Fewer { before, now },
            (Some(before), Some(now)) => Change::Within { before, now },
        })
    }

    fn fails(self) -> bool {
        matches!(self, Change::More { .. } | Change::Unrecorded { .. } | Change::Unmeasured { .. })
    }
}

/// Whether `count` is more than the tolerance above `base`.
fn exceeds(count: u64, base: u64) -> bool {
    u128::from(count) * 100 > u128::from(base) * u128::from(100 + TOLERANCE_PERCENT)
}

/// What comparing two sets of counts gives.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Comparison {
    /// The recorded toolchain, if it is another one.
    pub recorded_with: Option<Toolchain>,
    /// What became of each case.
    pub changes: BTreeMap<String, Change>,
}

/// Compares what is measured with what was recorded.
#[must_use]
pub fn compare(recorded: &Record, measured: &Record) -> Comparison {
    let names = recorded.instructions.keys().chain(measured.instructions.keys());
    let change = |name: &String| {
        let (before, now) = (recorded.instructions.get(name), measured.instructions.get(name));
        Some((name.clone(), Change::of(before.copied(), now.copied())?))
    };
    let differs = recorded.toolchain != measured.toolchain;
    Comparison {
        recorded_with: differs.then(|| recorded.toolchain.clone()),
        changes: names.filter_map(change).collect(),
    }
}

impl Comparison {
    /// Whether a count grew too much, or a case stands on one side alone. Counts of another toolchain are not judged.
    #[must_use]
    pub fn fails(&self) -> bool {
        self.recorded_with.is_none() && self.changes.values().any(|change| change.fails())
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, change) in &self.changes {
            match *change {
                Change::Within { before, now } => line(f, name, before, now, "")?,
                Change::Fewer { before, now } => line(f, name, before, now, "fewer: record it")?,
                Change::More { before, now } => line(f, name, before, now, "MORE THAN THE TOLERANCE")?,
                Change::Unrecorded { now } => writeln!(f, "{name:<36} {:>11} -> {now:>11}          NOT RECORDED", "")?,
                Change::Unmeasured { before } => {
                    writeln!(f, "{name:<36} {before:>11} -> {:>11}          NOT MEASURED", "")?;
                }
            }
        }
        if let Some(toolchain) = &self.recorded_with {
            let Toolchain { rustc, target, valgrind } = toolchain;
            writeln!(f, "not judged: recorded with {rustc}, {target}, {valgrind}")?;
        }
        Ok(())
    }
}

fn line(f: &mut fmt::Formatter<'_>, name: &str, before: u64, now: u64, remark: &str) -> fmt::Result {
    let percent = (now as f64 / before.max(1) as f64 - 1.0) * 100.0;
    writeln!(f, "{}", format!("{name:<36} {before:>11} -> {now:>11} {percent:>+7.2} % {remark}").trim_end())
}

/// Why a runner's output holds no counts.
#[derive(Debug)]
pub enum SummaryError {
    /// A line is not JSON.
    Json(serde_json::Error),
    /// A summary has no name or no instruction count.
    Incomplete,
    /// There is no summary at all.
    Empty,
}

impl fmt::Display for SummaryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SummaryError::Json(error) => write!(f, "the runner's output is not JSON: {error}"),
            SummaryError::Incomplete => f.write_str("a summary has no name or no instruction count"),
            SummaryError::Empty => f.write_str("the runner measured nothing"),
        }
    }
}

impl std::error::Error for SummaryError {}

/// The counts in what the runner writes with `--output-format=json`: one summary a line.
///
/// # Errors
/// [`SummaryError`].
pub fn parse_summaries(output: &str) -> Result<Counts, SummaryError> {
    let mut counts = Counts::new();
    for line in output.lines().filter(|line| line.trim_start().starts_with('{')) {
        let summary: serde_json::Value = serde_json::from_str(line).map_err(SummaryError::Json)?;
        let (name, count) = case(&summary).ok_or(SummaryError::Incomplete)?;
        counts.insert(name, count);
    }
    if counts.is_empty() { Err(SummaryError::Empty) } else { Ok(counts) }
}

/// Name and instruction count of one summary.
fn case(summary: &serde_json::Value) -> Option<(String, u64)> {
    let (function, id) = (summary.get("function_name")?.as_str()?, summary.get("id").and_then(|id| id.as_str()));
    let name = id.map_or_else(|| function.to_owned(), |id| format!("{function}/{id}"));
    let profiles = summary.get("profiles")?.as_array()?;
    let callgrind = profiles.iter().find(|profile| profile.get("tool").is_some_and(|tool| tool == "Callgrind"))?;
    Some((name, callgrind.pointer("/data/total/metrics/Ir/values/new")?.as_u64()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(rustc: &str, counts: &[(&str, u64)]) -> Record {
        let toolchain =
            Toolchain { rustc: rustc.to_owned(), target: "x86_64-linux".to_owned(), valgrind: "3".to_owned() };
        Record { toolchain, instructions: counts.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect() }
    }

    #[test]
    fn a_tenth_more_fails_and_the_tolerance_does_not() {
        let recorded = record("1", &[("turn", 1000), ("submit", 100)]);
        for (now, fails) in [(1000, false), (1050, false), (1051, true), (1100, true), (900, false)] {
            let comparison = compare(&recorded, &record("1", &[("turn", now), ("submit", 100)]));
            assert_eq!(comparison.fails(), fails, "{now}: {comparison}");
        }
        let text = compare(&recorded, &record("1", &[("turn", 1100), ("submit", 100)])).to_string();
        assert!(text.contains("+10.00 % MORE THAN THE TOLERANCE"), "{text}");
    }

    #[test]
    fn a_case_on_one_side_alone_fails() {
        let recorded = record("1", &[("turn", 1000)]);
        assert!(compare(&recorded, &record("1", &[])).fails());
        assert!(compare(&recorded, &record("1", &[("turn", 1000), ("new", 1)])).fails());
    }

    #[test]
    fn counts_of_another_toolchain_are_told_and_not_judged() {
        let comparison = compare(&record("1", &[("turn", 1000)]), &record("2", &[("turn", 2000)]));
        assert!(!comparison.fails());
        assert!(comparison.to_string().contains("not judged: recorded with 1"), "{comparison}");
    }

    #[test]
    fn summaries_give_names_and_counts() {
        let metrics = r#"{"total":{"metrics":{"Ir":{"values":{"new":7,"old":9}}}}}"#;
        let profiles = format!(r#"[{{"tool":"Callgrind","data":{metrics}}}]"#);
        let line = format!(r#"{{"function_name":"turn","id":"seats_2","profiles":{profiles}}}"#);
        let counts = parse_summaries(&format!("noise\n{line}\n")).expect("one summary");
        assert_eq!(counts, Counts::from([("turn/seats_2".to_owned(), 7)]));
        assert!(matches!(parse_summaries("noise"), Err(SummaryError::Empty)));
        assert!(matches!(parse_summaries(&line.replace("Ir", "Dr")), Err(SummaryError::Incomplete)));
        assert!(matches!(parse_summaries("{"), Err(SummaryError::Json(_))));
    }

    #[test]
    fn the_committed_counts_are_a_record() {
        let record: Record = serde_json::from_str(include_str!("../instructions.json")).expect("a record");
        assert!(!record.instructions.is_empty());
    }
}
