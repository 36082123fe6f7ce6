//! The committed module is built from the committed sources. `rebuild.sh` writes the list that this test reads.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

const MODULE: &str = "examples/skirmish/skirmish.wasm";
const ADVICE: &str = "run examples/skirmish/rebuild.sh and commit what it writes";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// SHA-256 of a file, as `sha256sum` prints it; `None` when there is no such file.
fn digest(path: &str) -> Option<String> {
    let bytes = fs::read(root().join(path)).ok()?;
    let mut text = String::new();
    Sha256::digest(&bytes).iter().for_each(|byte| write!(text, "{byte:02x}").expect("a string takes everything"));
    Some(text)
}

/// Adds the files at and below `path`, but for tests.
fn collect(path: &str, files: &mut Vec<String>) {
    let full = root().join(path);
    if full.is_file() {
        files.push(path.to_owned());
        return;
    }
    let entries = fs::read_dir(&full).unwrap_or_else(|error| panic!("{path}: {error}"));
    for entry in entries {
        let name = entry.expect("an entry").file_name().into_string().expect("a plain name");
        if name != "tests" && name != "tests.rs" {
            collect(&format!("{path}/{name}"), files);
        }
    }
}

#[test]
fn the_module_is_built_from_these_sources() {
    let list = read(&format!("{MODULE}.sources"));
    let entries =
        list.lines().filter(|line| !line.starts_with('#')).map(|line| line.split_once("  ").expect("a digest"));
    let listed: BTreeMap<&str, &str> = entries.map(|(digest, path)| (path, digest)).collect();
    let mut files = vec![MODULE.to_owned()];
    list.lines().filter_map(|line| line.strip_prefix("# source: ")).for_each(|path| collect(path, &mut files));
    assert!(files.len() > 30, "the list names its sources");

    let added = files.iter().find(|path| !listed.contains_key(path.as_str()));
    assert_eq!(added, None, "a new file since the module was built: {ADVICE}");
    for (path, expected) in listed {
        let found = digest(path);
        assert_eq!(found.as_deref(), Some(expected), "{path} changed since the module was built: {ADVICE}");
    }
}

/// Name and version of every package in a lock file.
fn packages(lock: &str) -> Vec<(String, String)> {
    let value = |line: Option<&str>, key: &str| Some(line?.strip_prefix(key)?.trim_matches('"').to_owned());
    let package = |section: &str| {
        let mut lines = section.lines();
        Some((value(lines.next(), "name = ")?, value(lines.next(), "version = ")?))
    };
    lock.split("[[package]]\n").filter_map(package).collect()
}

/// The module computes with the same dependencies as the native build: otherwise the two could differ in a bit.
#[test]
fn the_module_is_locked_to_the_versions_of_the_workspace() {
    let workspace = packages(&read("Cargo.lock"));
    let guest = packages(&read("examples/skirmish/guest/Cargo.lock"));
    assert!(guest.len() > 20, "{guest:?}");
    let different = guest.iter().find(|package| package.0 != "skirmish-guest" && !workspace.contains(package));
    assert_eq!(different, None, "update examples/skirmish/guest/Cargo.lock, then {ADVICE}");
}
