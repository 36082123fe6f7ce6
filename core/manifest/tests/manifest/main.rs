//! The manifest helper on folders made for each test, and its output compiled.
#![expect(clippy::unwrap_used, reason = "a panic in a test is a red test")]

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use retick_core::digest::Digest;
use retick_core::identity::{IdentityManifest, ManifestBuilder, ManifestError};
use retick_core::input::InputSchema;
use retick_core::tick::TickRate;
use retick_manifest::{LockError, ReadError, SourceList, WriteError};

/// The committed output for the folder `golden`, compiled as a game compiles it. The example `golden` writes it anew.
mod generated {
    include!("golden/sources.rs");
}

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/manifest/golden")
}

fn golden_list() -> SourceList {
    let list = SourceList::new(golden()).files(["src/step.rs", "src/rules.rs"]).lock_file("game.lock");
    list.dependencies(["rand_chacha@0.10", "libm"])
}

/// A new folder with two sources.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    if folder.exists() {
        fs::remove_dir_all(&folder).unwrap();
    }
    fs::create_dir_all(folder.join("src")).unwrap();
    fs::write(folder.join("src/a.rs"), "fn a() {}").unwrap();
    fs::write(folder.join("src/b.rs"), "fn b() {}").unwrap();
    folder
}

fn manifest(sources: impl FnOnce(ManifestBuilder) -> ManifestBuilder) -> IdentityManifest {
    let schema = InputSchema::builder("x/v1").boolean("jump").build().unwrap();
    sources(IdentityManifest::builder("native", 1, TickRate::Hz60).input_schema(schema)).build().unwrap()
}

#[test]
fn k11_the_generated_function_gives_the_identity_of_the_bytes() {
    let read = golden_list().read().unwrap();
    read.check(&golden().join("sources.rs")).unwrap();
    let by_hand = manifest(|builder| {
        let builder = builder.module("src/rules.rs", include_bytes!("golden/src/rules.rs"));
        let builder = builder.module("src/step.rs", include_bytes!("golden/src/step.rs"));
        builder.dependency("libm", "0.2.16").dependency("rand_chacha", "0.10.0")
    });
    assert_eq!(manifest(generated::sources).identity(), by_hand.identity());
    assert_eq!(manifest(|builder| read.add_to(builder)).identity(), by_hand.identity());
}

#[test]
fn k11_a_file_that_is_not_there_stops_the_build() {
    let list = SourceList::new(folder("missing")).files(["src/a.rs"]);
    assert!(list.read().is_ok());
    for path in ["src/c.rs", "src/a.rs/b.rs"] {
        assert_eq!(list.clone().files([path]).read(), Err(ReadError::Missing { path: path.into() }));
    }
    let folder_listed = list.clone().files(["src"]).read();
    assert!(matches!(folder_listed, Err(ReadError::Unreadable { path, .. }) if path == "src"));
    let elsewhere = list.files(["../missing/src/b.rs"]).read();
    assert_eq!(elsewhere, Err(ReadError::PathForm { path: "../missing/src/b.rs".into() }));
    assert_eq!(SourceList::new(folder("none")).read(), Err(ReadError::NoFiles));
}

#[test]
fn k11_a_file_listed_twice_stops_the_build() {
    let folder = folder("duplicate");
    let twice = SourceList::new(&folder).files(["src/a.rs", "src/b.rs", "src/a.rs"]).read();
    assert_eq!(twice, Err(ReadError::Duplicate { first: "src/a.rs".into(), second: "src/a.rs".into() }));
}

#[cfg(unix)]
#[test]
fn k11_two_paths_to_one_file_stop_the_build() {
    let folder = folder("linked");
    std::os::unix::fs::symlink("a.rs", folder.join("src/z.rs")).unwrap();
    let linked = SourceList::new(&folder).files(["src/z.rs", "src/a.rs"]).read();
    assert_eq!(linked, Err(ReadError::Duplicate { first: "src/z.rs".into(), second: "src/a.rs".into() }));
}

#[test]
fn k11_a_generated_identity_file_covers_neither_itself_nor_another() {
    let folder = folder("generated");
    let list = SourceList::new(&folder).files(["src/a.rs", "src/b.rs"]);
    let (read, output) = (list.read().unwrap(), folder.join("src/identity.rs"));
    read.write(&output).unwrap();
    let listed = list.files(["src/identity.rs"]).read();
    assert_eq!(listed, Err(ReadError::Generated { path: "src/identity.rs".into() }));

    // Nor may the output overwrite a source that it covers, whatever path leads there.
    let path = folder.join("src/../src/a.rs");
    assert_eq!(read.write(&path), Err(WriteError::IsASource { path: path.clone() }));
    assert_eq!(read.check(&path), Err(WriteError::IsASource { path }));
    assert_eq!(fs::read_to_string(folder.join("src/a.rs")).unwrap(), "fn a() {}");
}

#[test]
fn k11_a_committed_file_is_stale_once_a_byte_or_a_version_changes() {
    let folder = folder("stale");
    fs::write(folder.join("Cargo.lock"), "[[package]]\nname = \"libm\"\nversion = \"0.2.16\"\n").unwrap();
    let list = SourceList::new(&folder).files(["src/b.rs", "src/a.rs"]).lock_file("Cargo.lock").dependencies(["libm"]);
    let output = folder.join("sources.rs");
    let absent = WriteError::Io { path: output.clone(), kind: ErrorKind::NotFound };
    assert_eq!(list.read().unwrap().check(&output), Err(absent));
    list.read().unwrap().write(&output).unwrap();
    assert_eq!(list.read().unwrap().check(&output), Ok(()));
    let line_of = |text: &str| 1 + fs::read_to_string(&output).unwrap().lines().position(|l| l.contains(text)).unwrap();

    fs::write(folder.join("src/b.rs"), "fn b() { }").unwrap();
    let stale = WriteError::Stale { path: output.clone(), line: line_of("src/b.rs") };
    assert_eq!(list.read().unwrap().check(&output), Err(stale));

    fs::write(folder.join("src/b.rs"), "fn b() {}").unwrap();
    assert_eq!(list.read().unwrap().check(&output), Ok(()));
    fs::write(folder.join("Cargo.lock"), "[[package]]\nname = \"libm\"\nversion = \"0.2.17\"\n").unwrap();
    let stale = WriteError::Stale { path: output.clone(), line: line_of("libm") };
    assert_eq!(list.read().unwrap().check(&output), Err(stale));
    list.read().unwrap().write(&output).unwrap();
    assert_eq!(list.read().unwrap().check(&output), Ok(()));
}

#[test]
fn k11_a_file_that_is_as_it_should_be_is_not_written_again() {
    let folder = folder("unchanged");
    let (read, output) = (SourceList::new(&folder).files(["src/a.rs"]).read().unwrap(), folder.join("sources.rs"));
    read.write(&output).unwrap();
    let mut permissions = fs::metadata(&output).unwrap().permissions();
    let written = fs::metadata(&output).unwrap().modified().unwrap();
    permissions.set_readonly(true);
    fs::set_permissions(&output, permissions).unwrap();
    assert_eq!(read.write(&output), Ok(()));
    assert_eq!(fs::metadata(&output).unwrap().modified().unwrap(), written);
}

#[test]
fn k11_dependencies_come_from_the_lock_file_or_stop_the_build() {
    let folder = folder("dependencies");
    let list = SourceList::new(&folder).files(["src/a.rs"]).dependencies(["libm"]);
    assert_eq!(list.read(), Err(ReadError::Lock(LockError::NotGiven)));
    let list = list.lock_file("Cargo.lock");
    let path = folder.join("Cargo.lock");
    let unreadable = LockError::Unreadable { path: path.clone(), kind: ErrorKind::NotFound };
    assert_eq!(list.read(), Err(ReadError::Lock(unreadable)));
    fs::write(&path, "[[package]]\nname = ").unwrap();
    assert!(matches!(list.read(), Err(ReadError::Lock(LockError::Malformed { .. }))));
    fs::copy(golden().join("game.lock"), &path).unwrap();
    let read = list.read().unwrap();
    assert_eq!(read.dependencies().collect::<Vec<_>>(), [("libm", "0.2.16")]);
    assert_eq!(read.files().collect::<Vec<_>>(), [("src/a.rs", Digest::of(b"fn a() {}"))]);
    let resolve = |name: &str| list.clone().dependencies([name]).read().unwrap_err();
    assert_eq!(resolve("glam"), ReadError::Lock(LockError::Missing { name: "glam".into() }));
    assert_eq!(resolve("libm"), ReadError::Lock(LockError::Duplicate { name: "libm".into() }));
    assert!(matches!(resolve("rand_chacha"), ReadError::Lock(LockError::Ambiguous { .. })));
}

#[test]
fn k11_what_no_manifest_takes_stops_the_build() {
    let folder = folder("long");
    let part = "d".repeat(120);
    fs::create_dir_all(folder.join(&part).join(&part)).unwrap();
    let path = |name: &str| format!("{part}/{part}/{name}");
    let (fits, beyond) = (path(&"n".repeat(14)), path(&"n".repeat(15)));
    for path in [&fits, &beyond] {
        fs::write(folder.join(path), "x").unwrap();
    }
    assert_eq!((fits.len(), beyond.len()), (256, 257));
    assert!(SourceList::new(&folder).files([fits.as_str()]).read().is_ok());
    let refused = SourceList::new(&folder).files([beyond.as_str()]).read();
    assert_eq!(refused, Err(ReadError::Manifest(ManifestError::Name { name: beyond })));
}

#[test]
fn k11_cargo_watches_every_file_and_the_lock_file() {
    let lines: Vec<String> = golden_list().read().unwrap().cargo_directives().collect();
    assert_eq!(lines.len(), 3);
    for (line, end) in lines.iter().zip(["rules.rs", "step.rs", "game.lock"]) {
        assert!(line.starts_with("cargo::rerun-if-changed=") && line.ends_with(end), "{line}");
    }
}
