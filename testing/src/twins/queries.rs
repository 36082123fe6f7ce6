//! Leaks by way of what is drawn (A06, D05, K9): a view that reaches the step, a query that changes what it looks at, and pictures of
//! what is in no state.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};

use super::Leak;
use crate::environment;

/// Turns its machine's camera with each picture, and asks in the step where it stands.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ViewReader {}

impl Leak for ViewReader {
    const SCHEMA: &'static str = "twin/view-reader/v1";

    fn next(&mut self) -> u64 {
        environment::camera()
    }

    fn look(&self) -> u64 {
        environment::turn_camera();
        0
    }
}

/// A query builds a cache inside the world, which the step reads; the cache is part of the state.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct QueryCache {
    cached: Cell<u64>,
}

impl Leak for QueryCache {
    const SCHEMA: &'static str = "twin/query-cache/v1";

    fn next(&mut self) -> u64 {
        self.cached.get()
    }

    fn look(&self) -> u64 {
        self.cached.set(1);
        0
    }
}

/// The same, with a cache that is in no encoding, so that no checksum before and after a query can see it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct HiddenCache {
    #[serde(skip)]
    cached: Cell<u64>,
}

impl Leak for HiddenCache {
    const SCHEMA: &'static str = "twin/hidden-cache/v1";

    fn next(&mut self) -> u64 {
        self.cached.get()
    }

    fn look(&self) -> u64 {
        self.cached.set(1);
        0
    }
}

/// Shows its machine: states are right, and pictures are not.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ShownMachine {}

impl Leak for ShownMachine {
    const SCHEMA: &'static str = "twin/shown-machine/v1";

    fn next(&mut self) -> u64 {
        1
    }

    fn look(&self) -> u64 {
        u64::from(environment::current().machine)
    }
}

/// Shows how many steps were executed, those included that were rolled back: states are right, and pictures are not.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ShownExecutions {
    #[serde(skip)]
    executed: Arc<AtomicU64>,
}

impl Leak for ShownExecutions {
    const SCHEMA: &'static str = "twin/shown-executions/v1";

    fn next(&mut self) -> u64 {
        self.executed.fetch_add(1, Ordering::Relaxed);
        1
    }

    fn look(&self) -> u64 {
        self.executed.load(Ordering::Relaxed)
    }
}
