//! Why a command did not succeed.

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use retick_core::config::ConfigError;
use retick_core::runtime::CreateError;
use retick_wasm::LoadError;

/// Why a command did not succeed. The first variant means that a check ran and failed; every other, that none ran.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// What was to be proved is not so.
    #[error("{0}")]
    CheckFailed(String),
    /// A file can't be read.
    #[error("can't read {}: {error}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// A file can't be written.
    #[error("can't write {}: {error}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// A file is larger than any of its kind.
    #[error("{} has {bytes} bytes, of which {limit} are allowed", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// Its size.
        bytes: u64,
        /// Most bytes allowed.
        limit: u64,
    },
    /// A module is refused.
    #[error("the module {name} is refused: {error}")]
    Module {
        /// Where it came from.
        name: String,
        /// What is wrong with it.
        error: LoadError,
    },
    /// The session config can't be made.
    #[error("the session config: {0}")]
    Config(#[from] ConfigError),
    /// A `--set` that is not one.
    #[error("--set {argument}: {reason}")]
    Setting {
        /// The argument.
        argument: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The game does not take the match.
    #[error("{0}")]
    Create(#[from] CreateError),
    /// The runtime, the service or the network failed.
    #[error("{0}")]
    Run(String),
}

impl Failure {
    /// 1 when a check failed, 2 otherwise.
    pub fn exit_code(&self) -> ExitCode {
        ExitCode::from(if matches!(self, Failure::CheckFailed(_)) { 1 } else { 2 })
    }
}
