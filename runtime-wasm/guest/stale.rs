//! Whether a committed module is built from the committed sources. A game's own tests include this file; its `rebuild.sh` writes the
//! lists that it reads.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

/// The root of the repository, from a package two folders below it.
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

/// Fails unless every source on the module's list has the bytes that it was built from, and nothing was added. `advice` says what to
/// do then.
pub fn assert_fresh(module: &str, advice: &str) {
    let list = read(&format!("{module}.sources"));
    let entries =
        list.lines().filter(|line| !line.starts_with('#')).map(|line| line.split_once("  ").expect("a digest"));
    let listed: BTreeMap<&str, &str> = entries.map(|(digest, path)| (path, digest)).collect();
    let mut files = vec![module.to_owned()];
    list.lines().filter_map(|line| line.strip_prefix("# source: ")).for_each(|path| collect(path, &mut files));
    assert!(files.len() > 2, "{module}: the list names its sources");

    let added = files.iter().find(|path| !listed.contains_key(path.as_str()));
    assert_eq!(added, None, "a new file since {module} was built: {advice}");
    for (path, expected) in listed {
        let found = digest(path);
        assert_eq!(found.as_deref(), Some(expected), "{path} changed since {module} was built: {advice}");
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

/// Fails unless the guests in `folder`, the packages `own`, compute with the same dependencies as the native build: otherwise the
/// two could differ in a bit.
pub fn assert_locked(folder: &str, own: &[&str], advice: &str) {
    let workspace = packages(&read("Cargo.lock"));
    let packages = packages(&read(&format!("{folder}/Cargo.lock")));
    assert!(packages.len() > 20, "{packages:?}");
    let different = packages.iter().find(|package| !own.contains(&package.0.as_str()) && !workspace.contains(package));
    assert_eq!(different, None, "update {folder}/Cargo.lock, then {advice}");
}
