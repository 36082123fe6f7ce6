//! The committed module is built from the committed sources. `rebuild.sh` writes the list that this test reads.

use std::path::Path;

#[path = "../../../runtime-wasm/guest/stale.rs"]
mod shared;

fn check(check: impl FnOnce(shared::SourceList<'_>)) {
    let root = &Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let advice = "run examples/skirmish/rebuild.sh and commit what it writes";
    check(shared::SourceList { root, path: "examples/skirmish/skirmish.wasm.sources", advice });
}

#[test]
fn the_module_is_built_from_these_sources() {
    check(|list| list.assert_current(&["examples/skirmish/skirmish.wasm"]));
}

/// The module computes with the same dependencies as the native build: otherwise the two could differ in a bit.
#[test]
fn the_module_is_locked_to_the_versions_of_the_workspace() {
    check(|list| list.assert_locked("examples/skirmish/guest/Cargo.lock", &["skirmish-guest"]));
}
