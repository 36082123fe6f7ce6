//! What a lint can't check: the dependency arrows, the files that the architecture names, and words that have no place here.
#![expect(clippy::unwrap_used, reason = "a panic in a test is a red test")]

mod cases;

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap()
}

/// Every file below `folder` that a person wrote.
fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            if !["target", ".git", "node_modules"].contains(&name.as_str()) {
                files(&path, found);
            }
        } else if ["rs", "toml", "md", "sh", "wat"].iter().any(|kind| name.ends_with(&format!(".{kind}")))
            || name == "run"
        {
            found.push(path);
        }
    }
}

fn sources() -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    files(&root(), &mut found);
    found.into_iter().map(|path| (path.clone(), fs::read_to_string(&path).unwrap())).collect()
}

/// The workspace packages that a manifest names outside its dev-dependencies.
fn arrows(manifest: &str) -> Vec<String> {
    let text = fs::read_to_string(root().join(manifest)).unwrap();
    let mut section = String::new();
    let mut found = Vec::new();
    for line in text.lines() {
        if line.starts_with('[') {
            section = line.to_owned();
        }
        let name = line.split(['.', ' ', '=']).next().unwrap_or("");
        let is_ours = name.starts_with("retick-") || name == "skirmish";
        if section == "[dependencies]" && is_ours {
            found.push(name.to_owned());
        }
    }
    found
}

#[test]
fn dependencies_point_down_only() {
    let allowed: [(&str, &[&str]); 15] = [
        ("core", &["retick-macros"]),
        ("core/macros", &[]),
        ("core/manifest", &["retick-core"]),
        ("authority", &["retick-core"]),
        ("authority/client", &["retick-core"]),
        ("runtime-wasm", &["retick-core"]),
        ("runtime-wasm/guest", &["retick-core"]),
        ("testing", &["retick-core", "retick-authority", "retick-wasm"]),
        ("fuzz", &["retick-testing"]),
        ("examples/skirmish", &["retick-core"]),
        ("examples/guests", &["retick-core", "retick-guest"]),
        (
            "examples",
            &["retick-core", "retick-authority", "retick-client", "retick-wasm", "retick-testing", "skirmish"],
        ),
        ("benches/kernels", &["retick-core"]),
        (
            "benches",
            &["retick-core", "retick-authority", "retick-kernels", "retick-wasm", "retick-testing", "skirmish"],
        ),
        (
            "authority/cli",
            &["retick-core", "retick-authority", "retick-client", "retick-wasm", "retick-testing", "skirmish"],
        ),
    ];
    let mut seen = 0;
    for (folder, below) in allowed {
        let found = arrows(&format!("{folder}/Cargo.toml"));
        seen += found.len();
        let wrong: Vec<_> = found.iter().filter(|name| !below.contains(&name.as_str())).collect();
        assert!(wrong.is_empty(), "{folder} must not depend on {wrong:?}");
    }
    assert!(seen >= 10, "the manifests were read: {seen} arrows");
}

#[test]
fn the_kernel_and_the_room_have_no_std() {
    let core = fs::read_to_string(root().join("core/src/lib.rs")).unwrap();
    assert!(core.contains("\n#![no_std]\n"));
    let authority = fs::read_to_string(root().join("authority/src/lib.rs")).unwrap();
    assert!(authority.contains("\n#![cfg_attr(not(feature = \"files\"), no_std)]\n"));
}

#[test]
fn the_architecture_names_only_what_exists() {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let mut checked = 0;
    for row in text.lines().filter(|line| line.starts_with("| `")) {
        let cell = row.split('|').nth(1).unwrap();
        let mut folder = PathBuf::new();
        for name in cell.split('`').filter(|part| !part.trim().is_empty()) {
            // A second name in a cell stands beside the first.
            let path = if root().join(name).exists() { PathBuf::from(name) } else { folder.join(name) };
            assert!(root().join(&path).exists(), "{name} in: {row}");
            folder = path.parent().unwrap_or(Path::new("")).to_path_buf();
            checked += 1;
        }
    }
    assert!(checked >= 15, "{checked} paths were checked");
}

#[test]
fn no_file_holds_what_has_no_place_here() {
    // Put together here, so that this file does not hold them.
    let everywhere = [["/wo", "rk/"].concat(), ["/ro", "ot/"].concat(), ["index.cra", "tes.io"].concat()];
    let in_sources = [["#[ig", "nore"].concat(), ["thread::sl", "eep"].concat(), ["to", "do!("].concat()];
    let all = sources();
    assert!(all.len() > 60, "{} files were read", all.len());
    for (path, text) in &all {
        for word in &everywhere {
            assert!(!text.contains(word.as_str()), "{} holds {word}", path.display());
        }
        if path.extension().is_some_and(|kind| kind == "rs") {
            for word in &in_sources {
                assert!(!text.contains(word.as_str()), "{} holds {word}", path.display());
            }
        }
    }
}

#[test]
fn unsafe_code_stays_where_the_architecture_says() {
    let word = ["uns", "afe "].concat();
    let allowed = [
        "runtime-wasm/guest",
        "runtime-wasm/src/cache/code.rs",
        "runtime-wasm/src/memory.rs",
        "runtime-wasm/src/pages/userfault/kernel.rs",
    ]
    .map(|path| root().join(path));
    for (path, text) in sources() {
        let is_code = |line: &&str| !line.trim_start().starts_with("//") && line.contains(&word);
        let outside = !allowed.iter().any(|allowed| path.starts_with(allowed));
        if outside && path.extension().is_some_and(|kind| kind == "rs") {
            assert_eq!(text.lines().find(is_code), None, "{}", path.display());
        }
    }
}

/// Crates whose public modules are documented with examples that run.
const DOCUMENTED: [&str; 7] =
    ["core", "core/manifest", "authority", "authority/client", "runtime-wasm", "runtime-wasm/guest", "testing"];
/// Where an example needs sockets, and is compiled only.
const WITH_SOCKETS: [&str; 2] = ["authority/src/service/mod.rs", "authority/client/src/lib.rs"];

/// A file and, below it, every public module whose docs are not hidden.
fn documented(file: &Path, folder: &Path, found: &mut Vec<PathBuf>) {
    found.push(file.to_path_buf());
    let text = fs::read_to_string(file).unwrap();
    let mut line_before = "";
    for line in text.lines() {
        let name = line.strip_prefix("pub mod ").and_then(|rest| rest.strip_suffix(';'));
        if let Some(name) = name.filter(|_| line_before != "#[doc(hidden)]") {
            let below = folder.join(name);
            let [beside, inside] = [below.with_extension("rs"), below.join("mod.rs")];
            documented(if beside.exists() { &beside } else { &inside }, &below, found);
        }
        line_before = line;
    }
}

/// What stands behind the opening fence of each block of code in the leading docs of a file.
fn fences(text: &str) -> Vec<&str> {
    let docs = text.lines().map_while(|line| line.strip_prefix("//!"));
    let fences = docs.filter_map(|line| line.trim_start().strip_prefix("```"));
    // Every second one closes a block.
    fences.step_by(2).collect()
}

#[test]
fn every_public_module_has_an_example_that_runs() {
    let mut modules = Vec::new();
    for source in DOCUMENTED.map(|folder| root().join(folder).join("src")) {
        documented(&source.join("lib.rs"), &source, &mut modules);
    }
    assert!(modules.len() >= 35, "{} modules were read", modules.len());
    let with_sockets = WITH_SOCKETS.map(|path| root().join(path));
    for module in &modules {
        let text = fs::read_to_string(module).unwrap();
        let runs = if with_sockets.contains(module) { "no_run" } else { "" };
        assert!(fences(&text).contains(&runs), "the docs of {} have no example that runs", module.display());
        assert!(!text.contains("```ignore"), "{} has an example that nobody compiles", module.display());
    }
    assert!(with_sockets.iter().all(|path| modules.contains(path)), "an exception that is none");
}
