//! The table of the cases: every id has its row, and every test that a row names exists in the file that it names.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use crate::{root, sources};

/// The cases that must pass, in their order.
const CASES: [&str; 31] = [
    "K01", "K02", "K03", "K04", "K06", "K07", "K09", "K10", "D01", "D02", "D03", "D05", "D06", "A01", "A03", "A06",
    "A07", "A08", "R02", "R04", "R05", "R06", "P01", "P02", "P04", "W01", "W02", "W05", "L02", "T01", "T03",
];
/// A requirement that has the number of a case: its tests are told apart by their files alone.
const AMBIGUOUS: &str = "K10";

/// The rows: an id, and the tests with their files.
fn rows() -> Vec<(String, Vec<(String, String)>)> {
    let text = fs::read_to_string(root().join("testing/CASES.md")).unwrap();
    let rows = text
        .lines()
        .filter_map(|line| line.strip_prefix("| "))
        .filter(|line| CASES.iter().any(|id| line.split_once(" |").is_some_and(|(cell, _)| cell == *id)));
    rows.map(|row| {
        let (id, cells) = row.split_once(" |").unwrap();
        let (mut file, mut tests) = (String::new(), Vec::new());
        let cell = cells.split('|').nth(1).unwrap_or_default();
        for name in cell.split('`').skip(1).step_by(2) {
            match Path::new(name).extension().is_some_and(|kind| kind == "rs") {
                true => name.clone_into(&mut file),
                false => tests.push((file.clone(), name.to_owned())),
            }
        }
        (id.to_owned(), tests)
    })
    .collect()
}

/// The names of the tests of a source.
fn tests_of(source: &str) -> BTreeSet<&str> {
    let (mut found, mut is_test) = (BTreeSet::new(), false);
    for line in source.lines().map(str::trim) {
        let head = line.strip_prefix("async ").unwrap_or(line);
        if line.starts_with("#[") {
            is_test |= line == "#[test]" || line.starts_with("#[tokio::test");
        } else if let Some(rest) = head.strip_prefix("fn ").filter(|_| is_test) {
            found.extend(rest.split('(').next());
            is_test = false;
        } else if !line.starts_with("//") {
            is_test = false;
        }
    }
    found
}

#[test]
fn t1_every_case_has_its_row_and_every_named_test_exists() {
    let rows = rows();
    assert_eq!(rows.iter().map(|(id, _)| id.as_str()).collect::<Vec<_>>(), CASES);
    let mut sources = BTreeMap::new();
    for (id, tests) in &rows {
        assert!(!tests.is_empty(), "{id} has no test");
        for (file, test) in tests {
            let source = sources.entry(file).or_insert_with(|| {
                let read = fs::read_to_string(root().join(file));
                read.unwrap_or_else(|error| panic!("{id} names {file}: {error}"))
            });
            assert!(tests_of(source).contains(test.as_str()), "{id} names {test}, which is no test of {file}");
        }
    }
}

#[test]
fn t1_every_test_that_carries_a_cases_id_stands_in_its_row() {
    let rows = rows();
    let named: BTreeSet<_> = rows.iter().flat_map(|(_, tests)| tests).map(|(_, test)| test.as_str()).collect();
    let (sources, mut seen) = (sources(), 0);
    for (path, source) in sources.iter().filter(|(path, _)| path.extension().is_some_and(|kind| kind == "rs")) {
        for test in tests_of(source) {
            let id = test.get(..3).unwrap_or_default().to_uppercase();
            if CASES.contains(&id.as_str()) && id != AMBIGUOUS {
                assert!(named.contains(test), "{test} of {} is in no row of CASES.md", path.display());
                seen += 1;
            }
        }
    }
    assert!(seen >= 80, "{seen} tests were seen");
}
