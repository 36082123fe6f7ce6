//! The committed module is built from the committed sources.

#[path = "../../../runtime-wasm/guest/stale.rs"]
mod stale;

const ADVICE: &str = "run examples/skirmish/rebuild.sh and commit what it writes";

#[test]
fn the_module_is_built_from_these_sources() {
    stale::assert_fresh("examples/skirmish/skirmish.wasm", ADVICE);
}

#[test]
fn the_module_is_locked_to_the_versions_of_the_workspace() {
    stale::assert_locked("examples/skirmish/guest", &["skirmish-guest"], ADVICE);
}
