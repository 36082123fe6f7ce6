//! One game from three languages against its native self, the SDKs of two of them against the kernel, and the bits of math.

mod fields;
mod forage;
mod goldens;
#[path = "../../../../runtime-wasm/guest/stale.rs"]
mod stale;

const ADVICE: &str = "run examples/guests/rebuild.sh and commit what it writes";

#[test]
fn the_modules_are_built_from_these_sources() {
    for module in
        ["rust/forage", "rust/goldens", "c/forage", "c/fields", "assemblyscript/forage", "assemblyscript/fields"]
    {
        stale::assert_fresh(&format!("examples/guests/{module}.wasm"), ADVICE);
    }
}

#[test]
fn the_modules_in_rust_are_locked_to_the_versions_of_the_workspace() {
    stale::assert_locked("examples/guests/rust", &["guests-guest"], ADVICE);
}
