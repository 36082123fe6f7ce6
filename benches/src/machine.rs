//! What a figure depends on beside the code, in words that name no machine in particular.

use std::fs;
use std::process::Command;
use std::thread::available_parallelism;

/// Processor, cores, compiler: one line for a report.
#[must_use]
pub fn describe() -> String {
    let cores = available_parallelism().map_or(1, usize::from);
    format!("{}, {cores} cores, {}, {}", processor(), rustc(), target())
}

/// The processor's model, as it says itself.
#[must_use]
pub fn processor() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = text.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    model.map_or("an unknown processor", |(_, name)| name.trim()).to_owned()
}

/// The version of the workspace's compiler.
#[must_use]
pub fn rustc() -> String {
    version_of("rustc").unwrap_or_else(|| "an unknown rustc".to_owned())
}

/// Architecture and operating system.
#[must_use]
pub fn target() -> String {
    format!("{}-{}", std::env::consts::ARCH, std::env::consts::OS)
}

/// What a program answers to `--version`; `None` if it is not there.
#[must_use]
pub fn version_of(program: &str) -> Option<String> {
    let output = Command::new(program).arg("--version").current_dir(env!("CARGO_MANIFEST_DIR")).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.lines().next().unwrap_or_default().trim().to_owned())
}
