//! The runtime's contract, on modules that were written to break it. Each test's name carries the rule or case that it pins.

mod admission;
mod cache;
mod contents;
mod document;
mod events;
mod faults;
mod growth;
mod numbers;
mod state;
mod support;
mod tracking;
