//! Makes strict runtimes wherever a factory is asked for, and keeps a probe for each.

use std::sync::{Arc, Mutex, PoisonError};

use retick_core::identity::{IdentityManifest, MatchDescriptor};
use retick_core::runtime::{CreateError, Runtime, RuntimeFactory};

use super::{FaultPlan, StrictProbe, StrictRuntime};

/// Makes strict runtimes of another factory's. Clones share the list of probes.
#[derive(Clone)]
pub struct StrictFactory {
    inner: Arc<dyn RuntimeFactory>,
    plans: Vec<FaultPlan>,
    probes: Arc<Mutex<Vec<StrictProbe>>>,
}

impl StrictFactory {
    /// A factory of strict runtimes around those of `inner`.
    pub fn new(inner: Arc<dyn RuntimeFactory>) -> StrictFactory {
        StrictFactory { inner, plans: Vec::new(), probes: Arc::default() }
    }

    /// The same, with one more planned fault in every runtime that it makes.
    #[must_use]
    pub fn with_fault(mut self, plan: FaultPlan) -> StrictFactory {
        self.plans.push(plan);
        self
    }

    /// The probes of every runtime made so far, in order.
    pub fn probes(&self) -> Vec<StrictProbe> {
        self.probes.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl RuntimeFactory for StrictFactory {
    fn manifest(&self) -> &IdentityManifest {
        self.inner.manifest()
    }

    fn create(&self, descriptor: &MatchDescriptor) -> Result<Box<dyn Runtime>, CreateError> {
        let runtime = StrictRuntime::new(self.inner.create(descriptor)?, self.plans.clone());
        self.probes.lock().unwrap_or_else(PoisonError::into_inner).push(runtime.probe());
        Ok(Box::new(runtime))
    }
}
