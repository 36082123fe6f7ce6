//! Each check bites: a trace that holds, with one thing in it changed.
