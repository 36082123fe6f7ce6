//! The kernels as native code and as modules: what the modules are built from, and what they compute in which engine.

mod engines;
mod native;
mod stale;
mod v8;
