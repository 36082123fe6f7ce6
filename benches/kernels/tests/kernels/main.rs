//! The kernels as native code and as modules: what the modules are built from, and what they compute in which engine.

mod native;
mod stale;
