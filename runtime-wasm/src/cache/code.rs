//! Compiled code as bytes, and back.
#![expect(unsafe_code, reason = "native code that was compiled before is loaded without a compiler")]

use wasmtime::{Engine, Module};

/// The module in bytes that [`Module::serialize`] gave; nothing if they are of another engine, or of other settings.
pub(crate) fn load(engine: &Engine, code: &[u8]) -> Option<Module> {
    // SAFETY: the engine runs what these bytes say. They come from a file in a directory that whoever made the cache named as one
    // to trust with code, that no other user may write, and that the file's hash shows to be undamaged.
    unsafe { Module::deserialize(engine, code) }.ok()
}
