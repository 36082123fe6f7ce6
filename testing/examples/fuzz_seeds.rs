//! Writes the first inputs of the fuzz targets: `cargo run -p retick-testing --example fuzz_seeds`.
#![expect(clippy::print_stdout, reason = "it says what it wrote")]

use std::fs;
use std::io;
use std::path::Path;

use retick_testing::fuzzing::Target;

fn main() -> io::Result<()> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/seeds");
    for target in Target::ALL {
        let folder = corpus.join(target.name());
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        fs::create_dir_all(&folder)?;
        let seeds = target.seeds();
        for seed in &seeds {
            fs::write(folder.join(seed.name), &seed.bytes)?;
        }
        let bytes: usize = seeds.iter().map(|seed| seed.bytes.len()).sum();
        println!("{}: {} files, {bytes} bytes", target.name(), seeds.len());
    }
    Ok(())
}
