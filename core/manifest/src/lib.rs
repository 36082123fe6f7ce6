//! The module manifest of a native game (K11), written while the game is built.
//!
//! The identity of a native game covers its sources: the digest of every file that can change a bit of state, and the resolved
//! version of every dependency that computes. A [`SourceList`] names both. Reading it fails for a file that is missing or
//! listed twice, for a dependency that the lock file doesn't resolve to exactly one version, and for a generated identity file,
//! which would cover itself. What it writes is a Rust file with one function,
//! `pub fn sources(builder: ManifestBuilder) -> ManifestBuilder`, for `NativeFactory::new`.
//!
//! It is a crate of its own because `retick-core` can't name a file, and stays so: a feature that turned that on for a build
//! script could not be told from one that turns it on for a game.
//!
//! A game's `build.rs`, with the game's folder as its working folder, as cargo gives it:
//!
//! ```no_run
//! use retick_manifest::SourceList;
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let sources = SourceList::new(".")
//!         .files(["src/step.rs", "src/rules.rs"])
//!         .lock_file("../Cargo.lock")
//!         .dependencies(["retick-core", "libm", "rand_chacha@0.10"])
//!         .read()?;
//!     sources.cargo_directives().for_each(|line| println!("{line}"));
//!     let folder = std::env::var_os("OUT_DIR").ok_or("cargo names a folder")?;
//!     sources.write(&std::path::Path::new(&folder).join("sources.rs"))?;
//!     Ok(())
//! }
//! ```
//!
//! and in the game `include!(concat!(env!("OUT_DIR"), "/sources.rs"));`, then `NativeFactory::new(sources)`. A game that would
//! rather commit the file calls [`SourceManifest::check`] in a test. Peers need the same bytes: where a checkout may change the
//! ends of lines, say `-text` for the sources in `.gitattributes`.
//!
//! The same, on a folder made for the example:
//!
//! ```
//! use retick_manifest::{ReadError, SourceList};
//!
//! let game = std::env::temp_dir().join(format!("retick-manifest-example-{}", std::process::id()));
//! std::fs::create_dir_all(&game)?;
//! std::fs::write(game.join("step.rs"), "fn step() {}")?;
//! std::fs::write(game.join("Cargo.lock"), "[[package]]\nname = \"libm\"\nversion = \"0.2.16\"\n")?;
//!
//! let list = SourceList::new(&game).files(["step.rs"]).lock_file("Cargo.lock").dependencies(["libm"]);
//! let text = list.read()?.to_rust();
//! assert!(text.contains("pub fn sources") && text.contains(r#".dependency("libm", "0.2.16")"#));
//!
//! let missing = list.files(["rules.rs"]).read();
//! assert_eq!(missing.unwrap_err(), ReadError::Missing { path: "rules.rs".into() });
//! # std::fs::remove_dir_all(&game)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod list;
mod lock;
mod output;

pub use list::{ReadError, SourceList};
pub use lock::LockError;
pub use output::{SourceManifest, WriteError};
