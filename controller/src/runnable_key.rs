//! The key of a Runnable in everything that this process keeps.

use std::sync::Arc;

use cartouche_crds::Runnable;
use kube::{
    ResourceExt,
    runtime::reflector::{ObjectRef, Store},
};

use crate::cached_runnable::CachedRunnable;

/// Namespace and name of a Runnable.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RunnableKey {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl RunnableKey {
    /// Returns the key of a Runnable.
    #[must_use]
    pub fn from_runnable(runnable: &Runnable) -> Self {
        Self {
            namespace: runnable.namespace().unwrap_or_default(),
            name: runnable.name_any(),
        }
    }

    /// Returns the Runnable, if the cache has it.
    #[must_use]
    pub fn find(&self, runnables: &Store<CachedRunnable>) -> Option<Arc<CachedRunnable>> {
        runnables.get(&ObjectRef::new(&self.name).within(&self.namespace))
    }
}
