//! What the tests share that hold a committed module against its committed sources. It is no part of the SDK: a test includes this file as
//! a module of its own. The lists are written by `rebuild-lib.sh`, beside this file.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

/// A list of sources, where it lies from the root of the repository, and what to do when it is out of date.
pub struct SourceList<'a> {
    pub root: &'a Path,
    pub path: &'a str,
    pub advice: &'a str,
}

impl SourceList<'_> {
    fn full(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.full(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    /// SHA-256 of a file, as `sha256sum` prints it; `None` when there is no such file.
    fn digest(&self, path: &str) -> Option<String> {
        let bytes = fs::read(self.full(path)).ok()?;
        let mut text = String::new();
        Sha256::digest(&bytes).iter().for_each(|byte| write!(text, "{byte:02x}").expect("a string takes everything"));
        Some(text)
    }

    /// Adds the files at and below `path`, but for tests.
    fn collect(&self, path: &str, files: &mut Vec<String>) {
        let full = self.full(path);
        if full.is_file() {
            files.push(path.to_owned());
            return;
        }
        let entries = fs::read_dir(&full).unwrap_or_else(|error| panic!("{path}: {error}"));
        for entry in entries {
            let name = entry.expect("an entry").file_name().into_string().expect("a plain name");
            if name != "tests" && name != "tests.rs" {
                self.collect(&format!("{path}/{name}"), files);
            }
        }
    }

    /// Fails unless every source and all of `modules` are what the list says, and nothing was added.
    pub fn assert_current(&self, modules: &[&str]) {
        let (list, advice) = (self.read(self.path), self.advice);
        let entries =
            list.lines().filter(|line| !line.starts_with('#')).map(|line| line.split_once("  ").expect("a digest"));
        let listed: BTreeMap<&str, &str> = entries.map(|(digest, path)| (path, digest)).collect();
        let mut files: Vec<String> = modules.iter().map(|&path| path.to_owned()).collect();
        list.lines().filter_map(|line| line.strip_prefix("# source: ")).for_each(|path| self.collect(path, &mut files));
        assert!(files.len() > 30, "the list names its sources");

        let added = files.iter().find(|path| !listed.contains_key(path.as_str()));
        assert_eq!(added, None, "a new file since the module was built: {advice}");
        for (path, expected) in listed {
            let found = self.digest(path);
            assert_eq!(found.as_deref(), Some(expected), "{path} changed since the module was built: {advice}");
        }
    }

    /// Fails unless the guest's lock file names the versions of the workspace's: a module that computes with other dependencies than the
    /// native build could differ from it in a bit. `own` are the guest's own packages.
    pub fn assert_locked(&self, lock: &str, own: &[&str]) {
        let workspace = packages(&self.read("Cargo.lock"));
        let guest = packages(&self.read(lock));
        assert!(guest.len() > 20, "{guest:?}");
        let other = |package: &&(String, String)| !own.contains(&package.0.as_str()) && !workspace.contains(package);
        let different = guest.iter().find(other);
        assert_eq!(different, None, "update {lock}, then {}", self.advice);
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
