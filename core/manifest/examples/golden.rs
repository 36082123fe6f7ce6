//! Writes the golden file of the tests anew; a game that commits its file has a command like this one.
//!
//! `cargo run -p retick-manifest --example golden`

use std::path::Path;

use retick_manifest::SourceList;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/manifest/golden");
    let list = SourceList::new(&golden).files(["src/step.rs", "src/rules.rs"]).lock_file("game.lock");
    list.dependencies(["rand_chacha@0.10", "libm"]).read()?.write(&golden.join("sources.rs"))?;
    Ok(())
}
