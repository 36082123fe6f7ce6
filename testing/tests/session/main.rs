//! The session on a real runtime that is held to its contract: what it shows and confirms, whatever arrives when.
#![expect(clippy::cast_possible_truncation, reason = "ticks of tests are small")]

mod atomicity;
mod averted;
mod brittle;
mod commands;
mod everywhere;
mod faults;
mod games;
mod input_retention;
mod local;
#[cfg(feature = "wasm")]
mod module;
mod presentation;
mod promotion;
mod refusals;
mod retention;
mod rollback;
mod schedules;
mod snapshots;
mod stalls;
mod standing;
mod support;
mod tick_range;
mod windows;
mod wire;
