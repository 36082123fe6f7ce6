//! The session on a real runtime that is held to its contract: what it shows and confirms, whatever arrives when.
#![expect(clippy::cast_possible_truncation, reason = "ticks of tests are small")]

mod commands;
mod faults;
mod presentation;
mod retention;
mod rollback;
mod snapshots;
mod stalls;
mod support;
mod windows;
