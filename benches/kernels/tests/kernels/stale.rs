//! The committed modules are built from the committed sources. `rebuild.sh` writes the list that this test reads.

use std::path::Path;

#[path = "../../../../runtime-wasm/guest/stale.rs"]
mod shared;

fn check(check: impl FnOnce(shared::SourceList<'_>)) {
    let root = &Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let advice = "run benches/kernels/rebuild.sh and commit what it writes";
    check(shared::SourceList { root, path: "benches/kernels/modules.sources", advice });
}

#[test]
fn the_modules_are_built_from_these_sources() {
    check(|list| list.assert_current(&["benches/kernels/floats.wasm", "benches/kernels/stores.wasm"]));
}

#[test]
fn the_modules_are_locked_to_the_versions_of_the_workspace() {
    check(|list| list.assert_locked("benches/kernels/guest/Cargo.lock", &["floats-guest", "stores-guest"]));
}
