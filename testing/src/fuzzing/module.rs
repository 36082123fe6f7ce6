//! Modules: what is admitted is rewritten in one way, and what is not is refused by name.

mod modules;

use retick_wasm::{Limits, LoadError, normalise};

use super::{Seed, Verdict};

/// Small, so that what a module may ask for is within a fuzzer's memory.
fn limits() -> Limits {
    Limits { module_bytes: 64 << 10, memory_pages: 16, ..Limits::default() }
}

pub(super) fn check(input: &[u8]) -> Verdict {
    let limits = limits();
    let normalised = normalise(input, &limits);
    match &normalised {
        Ok(rewritten) => {
            assert_eq!(normalise(input, &limits).as_ref(), Ok(rewritten), "it depends on the bytes alone");
            let again = normalise(rewritten.bytes(), &limits);
            assert!(again.is_err(), "what was rewritten is not rewritten again");
            assert!(rewritten.report().memory_bytes <= limits.memory_pages * retick_wasm::limits::PAGE_BYTES);
        }
        Err(error) => assert!(is_of_admission(error), "{error}"),
    }
    Verdict::of(&normalised)
}

/// Whether an error is one that is found before anything is compiled.
fn is_of_admission(error: &LoadError) -> bool {
    !matches!(error, LoadError::Engine { .. } | LoadError::Fault { .. })
}

pub(super) fn seeds() -> Vec<Seed> {
    modules::all().into_iter().map(|(name, bytes)| Seed { name, bytes }).collect()
}
