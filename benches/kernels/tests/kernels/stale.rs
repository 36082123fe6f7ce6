//! The committed modules are built from the committed sources.

#[path = "../../../../runtime-wasm/guest/stale.rs"]
mod shared;

const ADVICE: &str = "run benches/kernels/rebuild.sh and commit what it writes";

#[test]
fn the_modules_are_built_from_these_sources() {
    for module in ["benches/kernels/floats.wasm", "benches/kernels/stores.wasm"] {
        shared::assert_fresh(module, ADVICE);
    }
}

#[test]
fn the_modules_are_locked_to_the_versions_of_the_workspace() {
    shared::assert_locked("benches/kernels/guest", &["floats-guest", "stores-guest"], ADVICE);
}
