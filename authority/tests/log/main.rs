//! Logs in files against the contract of a log (A12), on a disk that forgets, tears and refuses, and on a real one.
//!
//! `disk` is the disk of the tests. Whatever it does, records that were reported as synced are there again, bit for bit.
#![expect(clippy::unwrap_used, reason = "a panic in a test is a red test")]

mod crashes;
mod damage;
mod disk;
mod durability;
mod failures;
mod forgetting;
mod kills;
mod limits;
mod model;
mod real;
mod world;
