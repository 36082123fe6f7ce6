//! What a game lists, and reading it.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use retick_core::digest::Digest;
use retick_core::identity::{IdentityManifest, ManifestBuilder, ManifestError};
use retick_core::input::InputSchema;
use retick_core::tick::TickRate;

use crate::lock::{Lock, LockError};
use crate::output::{SourceManifest, is_generated};

/// The files and dependencies whose bytes and versions can change a bit of state (K11).
#[derive(Clone, Debug)]
#[must_use]
pub struct SourceList {
    root: PathBuf,
    files: Vec<String>,
    lock_file: Option<PathBuf>,
    dependencies: Vec<String>,
}

/// A list that can't be read as it stands (K11). In a build script, it fails the build.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ReadError {
    /// No file is listed, so that the identity would not cover the game.
    #[error("no source file is listed")]
    NoFiles,
    /// A path is not one that is the same on every machine.
    #[error("the path {path:?} is not a relative one with parts between `/`, without `.`, `..`, `\\` and `:`")]
    PathForm {
        /// The path as listed.
        path: String,
    },
    /// A file is listed twice, or two paths lead to it.
    #[error("the files {first:?} and {second:?} are one")]
    Duplicate {
        /// The path that comes first in the list.
        first: String,
        /// The path that comes second.
        second: String,
    },
    /// There is no such file.
    #[error("the file {path:?} is missing")]
    Missing {
        /// The path as listed.
        path: String,
    },
    /// The file can't be read.
    #[error("the file {path:?} can't be read: {kind}")]
    Unreadable {
        /// The path as listed.
        path: String,
        /// Why.
        kind: ErrorKind,
    },
    /// A generated identity file is listed, which would make identities cover themselves.
    #[error("the file {path:?} is a generated identity file")]
    Generated {
        /// The path as listed.
        path: String,
    },
    /// The lock file, or a dependency in it.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// No manifest takes these entries: there are too many of them, or a path is too long.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
}

impl SourceList {
    /// A list of files below `root`, the folder of the game.
    pub fn new(root: impl Into<PathBuf>) -> SourceList {
        SourceList { root: root.into(), files: Vec::new(), lock_file: None, dependencies: Vec::new() }
    }

    /// Adds files by their paths from the root, with `/` between the parts on every machine. A folder is not read: a list says
    /// what counts, and a test of the game's can compare it with the folder.
    pub fn files<'a>(mut self, paths: impl IntoIterator<Item = &'a str>) -> Self {
        self.files.extend(paths.into_iter().map(String::from));
        self
    }

    /// Where the resolved versions stand: a path from the root, or an absolute one. Needed once there is a dependency.
    pub fn lock_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.lock_file = Some(path.into());
        self
    }

    /// Adds dependencies by name. Where the lock file has several versions of one, `name@version` says which, with as many parts
    /// of the version as it takes: `rand_chacha@0.10`.
    pub fn dependencies<'a>(mut self, names: impl IntoIterator<Item = &'a str>) -> Self {
        self.dependencies.extend(names.into_iter().map(String::from));
        self
    }

    /// Reads all files and resolves all dependencies.
    ///
    /// # Errors
    /// [`ReadError`], naming the entry.
    pub fn read(&self) -> Result<SourceManifest, ReadError> {
        if self.files.is_empty() {
            return Err(ReadError::NoFiles);
        }
        let mut files = BTreeMap::new();
        let mut locations: BTreeMap<PathBuf, &str> = BTreeMap::new();
        for path in &self.files {
            let (location, digest) = self.read_file(path)?;
            if let Some(first) = locations.insert(location, path) {
                return Err(ReadError::Duplicate { first: String::from(first), second: path.clone() });
            }
            files.insert(path.clone(), digest);
        }
        let (lock_file, dependencies) = self.resolve()?;
        let manifest = SourceManifest::new(files, dependencies, locations.into_keys().collect(), lock_file);
        check_manifest(&manifest)?;
        Ok(manifest)
    }

    /// Where the file is, whatever path leads there, and its digest.
    fn read_file(&self, path: &str) -> Result<(PathBuf, Digest), ReadError> {
        if !is_portable(path) {
            return Err(ReadError::PathForm { path: String::from(path) });
        }
        let failure = |error: io::Error| match error.kind() {
            ErrorKind::NotFound | ErrorKind::NotADirectory => ReadError::Missing { path: String::from(path) },
            kind => ReadError::Unreadable { path: String::from(path), kind },
        };
        let location = fs::canonicalize(self.root.join(path)).map_err(failure)?;
        let bytes = fs::read(&location).map_err(failure)?;
        if is_generated(&bytes) {
            return Err(ReadError::Generated { path: String::from(path) });
        }
        Ok((location, Digest::of(&bytes)))
    }

    /// The lock file, when one is needed, and the versions in it.
    fn resolve(&self) -> Result<(Option<PathBuf>, BTreeMap<String, String>), LockError> {
        let mut resolved = BTreeMap::new();
        if self.dependencies.is_empty() {
            return Ok((None, resolved));
        }
        let path = self.root.join(self.lock_file.as_deref().ok_or(LockError::NotGiven)?);
        let lock = Lock::read(&path)?;
        for dependency in &self.dependencies {
            let (name, version) = lock.resolve(dependency)?;
            if resolved.insert(String::from(name), version).is_some() {
                return Err(LockError::Duplicate { name: String::from(name) });
            }
        }
        Ok((Some(path), resolved))
    }
}

/// Whether the path is written as it would be on every machine, and stays below the root.
fn is_portable(path: &str) -> bool {
    let part = |part: &str| !matches!(part, "" | "." | "..") && !part.contains(['\\', ':']);
    path.split('/').all(part) && Path::new(path).is_relative()
}

/// Finds out now, and not when the game starts, whether a manifest takes these entries.
fn check_manifest(manifest: &SourceManifest) -> Result<(), ManifestError> {
    let builder: ManifestBuilder = IdentityManifest::builder("native", 1, TickRate::Hz60);
    // Any schema will do.
    if let Ok(schema) = InputSchema::builder("check").build() {
        manifest.add_to(builder.input_schema(schema)).build()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k11_paths_are_written_in_one_way() {
        for good in ["a", "a.rs", "src/a.rs", "src/..a", "ä/ö.rs", "src/a b.rs"] {
            assert!(is_portable(good), "{good}");
        }
        for bad in ["", "/a", "a/", "a//b", "./a", "a/./b", "../a", "a/..", "a\\b", "C:/a", "C:a"] {
            assert!(!is_portable(bad), "{bad}");
        }
    }
}
