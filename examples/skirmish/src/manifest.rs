//! The native factory, with the module manifest of these sources (K11).

use retick_core::identity::{ManifestBuilder, ManifestError};
use retick_core::runtime::NativeFactory;

use crate::Skirmish;

/// What the native identity is made of: every file whose bytes can change a bit of state.
macro_rules! sources {
    ($($file:literal),* $(,)?) => {
        [$((concat!("src/", $file), include_bytes!($file) as &[u8])),*]
    };
}

/// Paths and bytes of the sources; a missing file fails the build.
const SOURCES: [(&str, &[u8]); 12] = sources![
    "arena.rs",
    "bot.rs",
    "command.rs",
    "config.rs",
    "input.rs",
    "numbers.rs",
    "pickups.rs",
    "player.rs",
    "projectiles.rs",
    "rounds.rs",
    "seats.rs",
    "world.rs",
];

/// The dependencies that compute, with their resolved versions; a test compares them to the lock file.
const DEPENDENCIES: [(&str, &str); 3] = [("libm", "0.2.16"), ("rand_chacha", "0.10.0"), ("retick-core", "0.1.0")];

/// Makes native runtimes of Skirmish.
///
/// # Errors
/// [`ManifestError`] when the manifest can't be, which would be a mistake in this file.
pub fn native_factory() -> Result<NativeFactory<Skirmish>, ManifestError> {
    NativeFactory::new(with_sources)
}

fn with_sources(builder: ManifestBuilder) -> ManifestBuilder {
    let builder = SOURCES.iter().fold(builder, |builder, (path, bytes)| builder.module(path, bytes));
    DEPENDENCIES.iter().fold(builder, |builder, (name, version)| builder.dependency(name, version))
}

#[cfg(test)]
mod tests {
    use std::string::ToString;
    use std::vec::Vec;
    use std::{format, fs};

    use retick_core::runtime::RuntimeFactory;

    use super::*;

    /// Files that can't change a bit of state: what reads projections, and what assembles this crate.
    const OTHERS: [&str; 5] = ["lib.rs", "manifest.rs", "projection.rs", "render.rs", "scene.rs"];

    #[test]
    fn k11_the_manifest_lists_every_source_file() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src");
        let files =
            fs::read_dir(folder).expect("the folder of this file").map(|entry| entry.expect("an entry").file_name());
        let names = files.map(|name| name.into_string().expect("a plain name")).filter(|name| name.ends_with(".rs"));
        let mut expected: Vec<_> = names.filter(|name| !OTHERS.contains(&name.as_str())).collect();
        expected.sort();
        let factory = native_factory().expect("a valid manifest");
        let listed: Vec<_> = factory.manifest().modules().iter().map(|module| module.path().to_string()).collect();
        assert_eq!(listed, expected.iter().map(|name| format!("src/{name}")).collect::<Vec<_>>());
    }

    #[test]
    fn k11_the_dependencies_are_the_locked_ones() {
        let lock = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.lock")).expect("the lock file");
        for (name, version) in DEPENDENCIES {
            let entry = format!("name = \"{name}\"\nversion = \"{version}\"\n");
            assert!(lock.contains(&entry), "{name} is locked at another version than {version}");
        }
    }
}
