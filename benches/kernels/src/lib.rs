//! Two small games that do one thing much: [`FloatField`] computes floats, of which many are NaN, and [`StoreYard`] writes to
//! memory in every way there is. Retick's WASM runtime is measured on them, and held to the same bits in other engines (W4).
//!
//! Each implements [`Simulation`](retick_core::runtime::Simulation) once, for native code and for the modules `FLOATS` and
//! `STORES`, which the feature `modules` includes. Native and WASM agree on the projection, bit for bit.
#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod floats;
mod input;
mod numbers;
mod stores;

pub use floats::{BODIES, FloatField};
pub use input::{Push, REACH, scripted_input};
pub use stores::{StoreYard, YARD_BYTES};

use retick_core::identity::ManifestError;
use retick_core::runtime::NativeFactory;

/// [`FloatField`] as a WebAssembly module, built from these sources by `rebuild.sh`.
#[cfg(feature = "modules")]
pub const FLOATS: &[u8] = include_bytes!("../floats.wasm");

/// [`StoreYard`] as a WebAssembly module, likewise.
#[cfg(feature = "modules")]
pub const STORES: &[u8] = include_bytes!("../stores.wasm");

/// Makes native runtimes of [`FloatField`].
///
/// # Errors
/// [`ManifestError`] when the manifest can't be, which would be a mistake in this file.
pub fn native_floats() -> Result<NativeFactory<FloatField>, ManifestError> {
    NativeFactory::new(|manifest| {
        let manifest = manifest.module("src/floats.rs", include_bytes!("floats.rs"));
        let manifest = manifest.module("src/input.rs", include_bytes!("input.rs"));
        manifest.module("src/numbers.rs", include_bytes!("numbers.rs"))
    })
}

/// Makes native runtimes of [`StoreYard`].
///
/// # Errors
/// [`ManifestError`] when the manifest can't be, which would be a mistake in this file.
pub fn native_stores() -> Result<NativeFactory<StoreYard>, ManifestError> {
    NativeFactory::new(|manifest| {
        let manifest = manifest.module("src/input.rs", include_bytes!("input.rs"));
        manifest.module("src/stores.rs", include_bytes!("stores.rs"))
    })
}
