//! Resolved versions, as cargo's lock file has them.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::Deserialize;

/// A lock file that can't be read, or a dependency that it doesn't resolve to one version (K11).
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum LockError {
    /// Dependencies are listed, and no lock file.
    #[error("dependencies are listed without a lock file")]
    NotGiven,
    /// The lock file can't be read.
    #[error("the lock file {path:?} can't be read: {kind}")]
    Unreadable {
        /// Where it was looked for.
        path: PathBuf,
        /// Why.
        kind: ErrorKind,
    },
    /// The file is not one that cargo wrote.
    #[error("the lock file {path:?} is malformed at byte {offset}")]
    Malformed {
        /// Its path.
        path: PathBuf,
        /// Where reading stopped.
        offset: usize,
    },
    /// The lock file has no such package, or not in this version.
    #[error("the lock file has no {name:?}")]
    Missing {
        /// The dependency as listed.
        name: String,
    },
    /// The lock file has several versions, and the list doesn't say which.
    #[error("the lock file has {name:?} as {versions:?}; list one as `name@version`")]
    Ambiguous {
        /// The dependency as listed.
        name: String,
        /// The versions that it could be.
        versions: Vec<String>,
    },
    /// A dependency is listed twice.
    #[error("the dependency {name:?} is listed twice")]
    Duplicate {
        /// Its name.
        name: String,
    },
}

#[derive(Deserialize)]
pub(crate) struct Lock {
    #[serde(default)]
    package: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    version: String,
    source: Option<String>,
}

impl Lock {
    pub(crate) fn read(path: &Path) -> Result<Lock, LockError> {
        let unreadable = |error: std::io::Error| LockError::Unreadable { path: path.to_path_buf(), kind: error.kind() };
        Lock::parse(&fs::read_to_string(path).map_err(unreadable)?)
            .map_err(|offset| LockError::Malformed { path: path.to_path_buf(), offset })
    }

    /// The lock file, or where reading stopped.
    fn parse(text: &str) -> Result<Lock, usize> {
        toml::from_str(text).map_err(|error| error.span().map_or(0, |span| span.start))
    }

    /// Name and version of the one package that `dependency`, `name` or `name@version`, can be.
    pub(crate) fn resolve<'a>(&self, dependency: &'a str) -> Result<(&'a str, String), LockError> {
        let (name, wanted) = match dependency.split_once('@') {
            Some((name, version)) => (name, Some(version)),
            None => (dependency, None),
        };
        let fits = |package: &&Package| {
            package.name == name && wanted.is_none_or(|wanted| is_prefix(wanted, &package.version))
        };
        let mut versions: Vec<String> = self.package.iter().filter(fits).map(Package::resolved).collect();
        match (versions.pop(), versions.is_empty()) {
            (None, _) => Err(LockError::Missing { name: String::from(dependency) }),
            (Some(version), true) => Ok((name, version)),
            (Some(last), false) => {
                versions.push(last);
                Err(LockError::Ambiguous { name: String::from(dependency), versions })
            }
        }
    }
}

/// Whether `wanted` is the version or its first parts: `0.10` is of `0.10.3`, and not of `0.1.0` or `0.100.0`.
fn is_prefix(wanted: &str, version: &str) -> bool {
    version.strip_prefix(wanted).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '-', '+']))
}

impl Package {
    /// The version, and for a package from a repository its commit, since there a version says little.
    fn resolved(&self) -> String {
        let commit = self.source.as_deref().filter(|source| source.starts_with("git+"));
        match commit.and_then(|source| source.split_once('#')) {
            Some((_, commit)) => format!("{}#{commit}", self.version),
            None => self.version.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCK: &str = r#"
        version = 4

        [[package]]
        name = "game"
        version = "0.1.0"
        dependencies = ["libm", "rand_chacha 0.10.3"]

        [[package]]
        name = "libm"
        version = "0.2.16"
        source = "registry+https://github.com/rust-lang/crates.io-index"
        checksum = "00"

        [[package]]
        name = "rand_chacha"
        version = "0.1.0"

        [[package]]
        name = "rand_chacha"
        version = "0.10.3"

        [[package]]
        name = "physics"
        version = "1.0.0"
        source = "git+https://example.org/physics?branch=main#0123abc"

        [[package]]
        name = "twin"
        version = "1.0.0"

        [[package]]
        name = "twin"
        version = "1.0.0"
        source = "git+https://example.org/twin#4567def"
    "#;

    fn resolve(dependency: &str) -> Result<String, LockError> {
        Lock::parse(LOCK).expect("a lock file").resolve(dependency).map(|(name, version)| format!("{name} {version}"))
    }

    #[test]
    fn k11_a_dependency_resolves_to_its_one_version() {
        assert_eq!(resolve("libm"), Ok("libm 0.2.16".into()));
        assert_eq!(resolve("libm@0.2.16"), Ok("libm 0.2.16".into()));
        assert_eq!(resolve("rand_chacha@0.10"), Ok("rand_chacha 0.10.3".into()));
        assert_eq!(resolve("rand_chacha@0.1"), Ok("rand_chacha 0.1.0".into()));
        assert_eq!(resolve("physics"), Ok("physics 1.0.0#0123abc".into()));
    }

    #[test]
    fn k11_a_dependency_of_no_or_of_several_versions_is_refused() {
        for name in ["lib", "libm2", "libm@0.2.1", "libm@0.2.16.1", "rand_chacha@0.2", "@0.2.16", ""] {
            assert_eq!(resolve(name), Err(LockError::Missing { name: name.into() }));
        }
        let ambiguous = |name: &str, versions: [&str; 2]| {
            Err(LockError::Ambiguous { name: name.into(), versions: versions.map(String::from).into() })
        };
        assert_eq!(resolve("rand_chacha"), ambiguous("rand_chacha", ["0.1.0", "0.10.3"]));
        assert_eq!(resolve("rand_chacha@0"), ambiguous("rand_chacha@0", ["0.1.0", "0.10.3"]));
        assert_eq!(resolve("twin"), ambiguous("twin", ["1.0.0", "1.0.0#4567def"]));
    }

    #[test]
    fn k11_a_malformed_lock_file_is_refused_where_it_is_wrong() {
        assert_eq!(Lock::parse("version = 4\n= 1").err(), Some(12));
        assert!(Lock::parse("[[package]]\nname = 1\nversion = \"1\"").is_err());
        assert!(Lock::parse("[[package]]\nname = \"a\"").is_err());
        assert_eq!(Lock::parse("version = 4").map(|lock| lock.package.len()), Ok(0));
    }
}
