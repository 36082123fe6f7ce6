//! The only place that configures the engine. Each knob here that can change a bit is folded into the identity (K11).
//!
//! Features are an allow-list in both directions: all that the engine knows are switched off, then these are switched on, so
//! that an upgrade of the engine brings nothing new in. The same set bounds validation in [`crate::admit`].
//!
//! NaN bits, gas, depth and the memory's size are not the engine's business: [`crate::normalise`] puts them into the module
//! itself, so that any engine computes the same and ends at the same instruction.

use wasmparser::WasmFeatures;
use wasmtime::{Config, Engine};

use crate::admit::FEATURES;
use crate::error::LoadError;
use crate::limits::Limits;

/// Raised only when bits, gas or faults of the same module under the same settings change.
pub(crate) const ENGINE_REVISION: u32 = 1;

/// Raised when the rewrite of a module changes anything that a game or its host can see (W2).
pub(crate) const NORMALISER_VERSION: u64 = 1;

/// Native stack beside what the budget counts: the engine's own entry frames.
const NATIVE_MARGIN_BYTES: u64 = 16 << 10;

/// The engine's settings beside the limits, by name, for the identity.
pub(crate) const SETTINGS: [(&str, u64); 1] = [("normaliser", NORMALISER_VERSION)];

/// The engine's configuration: the one function that knows it.
pub(crate) fn config(limits: &Limits) -> Config {
    let mut config = Config::new();
    config.wasm_features(WasmFeatures::all(), false);
    config.wasm_features(FEATURES, true);
    config.relaxed_simd_deterministic(true);
    config.cranelift_nan_canonicalization(false);
    config.consume_fuel(false);
    // What a call counts by the module's own budget is at least half of what it takes natively, in every engine setting.
    config.max_wasm_stack(usize::try_from(limits.stack_bytes * 2 + NATIVE_MARGIN_BYTES).unwrap_or(usize::MAX));
    // A memory has its whole size from the start, and stays where it is.
    config.memory_may_move(false);
    config.wasm_backtrace_max_frames(None);
    config.concurrency_support(false);
    config.shared_memory(false);
    config
}

/// An engine with this configuration.
pub(crate) fn engine(config: &Config) -> Result<Engine, LoadError> {
    Engine::new(config).map_err(|error| LoadError::Engine { message: error.to_string() })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All that may be on, and what comes with it: parts of the bulk memory operations and of the reference types.
    const ALLOWED: [&str; 8] = [
        "BULK_MEMORY",
        "FLOATS",
        "MULTI_VALUE",
        "MUTABLE_GLOBAL",
        "REFERENCE_TYPES",
        "SATURATING_FLOAT_TO_INT",
        "SIGN_EXTENSION",
        "SIMD",
    ];
    const IMPLIED: [&str; 2] = ["BULK_MEMORY_OPT", "CALL_INDIRECT_OVERLONG"];

    fn sorted<T: Ord>(names: impl Iterator<Item = T>) -> Vec<T> {
        let mut names: Vec<T> = names.collect();
        names.sort();
        names
    }

    /// W2: an upgrade that enables a feature, or gives one of ours another meaning, fails here.
    #[test]
    fn w2_exactly_these_features_are_on_in_the_parser_and_in_the_engine() {
        assert_eq!(sorted(FEATURES.iter_names().map(|(name, _)| name)), ALLOWED);
        // The engine's own account: it lists every flag that it knows.
        let text = format!("{:?}", config(&Limits::default()));
        let on = text.split(", ").filter_map(|field| field.strip_suffix(": true"));
        let names = on.filter_map(|field| field.trim_start_matches("Config { ").strip_prefix("wasm_"));
        let expected = sorted(ALLOWED.into_iter().chain(IMPLIED).map(str::to_lowercase));
        assert_eq!(sorted(names.map(str::to_owned)), expected);
        assert!(engine(&config(&Limits::default())).is_ok());
    }
}
