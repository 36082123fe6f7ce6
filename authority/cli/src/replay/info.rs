//! `retick replay info`: what stands in a replay, without its game.

use std::path::Path;

use retick_client::list_replays;
use retick_core::replay::{Replay, ReplayEnd};
use retick_core::tick::TickRate;

use super::parse;
use crate::failure::Failure;

/// Shows a replay, or a line for everything in a folder.
pub fn run(path: &Path) -> Result<(), Failure> {
    if path.is_dir() {
        return list(path);
    }
    let replay = parse(path)?;
    let (manifest, descriptor) = (replay.manifest(), replay.descriptor());
    println!("{}", length(replay.ticks().index(), descriptor.tick_rate(), replay.end()));
    println!("game        {} on {}", manifest.input_schema().id(), manifest.engine());
    println!("identity    {}", manifest.identity());
    for module in manifest.modules() {
        println!("module      {} {}", module.digest(), module.path());
    }
    let config = descriptor.config();
    println!("config      {} bytes, digest {}", config.bytes().len(), config.digest());
    let (seats, generation) = (descriptor.seats(), descriptor.generation().0);
    println!("match       {} seats, generation {generation}, digest {}", seats, descriptor.digest());
    let last = replay.checksums().iter().map(|(tick, _)| *tick).max();
    let last = last.map_or(String::new(), |tick| format!(", the last of S({tick})"));
    println!("checksums   {}{last}", replay.checksums().len());
    println!("key frames  {}", replay.key_frames().len());
    println!("frame chain {}", chain(&replay));
    if let Some(key) = replay.claimed_signer() {
        println!("signed by   {key}, unless it is forged: `retick replay verify --signed-by` checks that");
    }
    if replay.skipped_sections() > 0 {
        println!("{} sections of a later version were passed over", replay.skipped_sections());
    }
    Ok(())
}

fn chain(replay: &Replay) -> String {
    match (replay.check_chain(), replay.chain_head()) {
        (Err(broken), _) => format!("broken before S({}): {}, not {}", broken.tick, broken.found, broken.expected),
        (Ok(()), Some(head)) => format!("ends in {head}, as it says"),
        (Ok(()), None) => "has no end to be held against".into(),
    }
}

fn list(folder: &Path) -> Result<(), Failure> {
    let list = list_replays(folder).map_err(|error| Failure::Read { path: folder.into(), error })?;
    for (path, shown) in &list {
        let name = path.file_name().unwrap_or_default().display();
        match shown {
            Ok(summary) => {
                let length = length(summary.ticks.index(), summary.tick_rate, summary.end);
                println!("{name}: {length}, {} seats, {} checksums", summary.seats, summary.checksums);
            }
            Err(reason) => println!("{name}: invalid: {reason}"),
        }
    }
    Ok(())
}

fn length(ticks: u64, rate: TickRate, end: ReplayEnd) -> String {
    let tenths = ticks * 10 / u64::from(rate.hz());
    format!("{ticks} ticks at {rate}, {}.{} s, {end}", tenths / 10, tenths % 10)
}
