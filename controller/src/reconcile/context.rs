//! State that all reconciliations share.

use std::{sync::Arc, time::Duration};

use cartouche_language::Hashing;
use cartouche_protocol::ledger::BreakerLimits;
use kube::runtime::reflector::Store;

use crate::{
    cached_runnable::CachedRunnable,
    definitions::Definitions,
    discovery::Kinds,
    events::Events,
    identity::Identity,
    memory::{EventPace, Memories},
    metrics::Metrics,
    picked::PickedObjects,
    profiles::{ClusterProfiles, NAMESPACES},
    reviews::Reviews,
    templates::Templates,
    watch::{
        Enqueuer, Watches, dependents::Dependents, named::SecretWatches, references::Accounts,
        runs::Runs, selected::Selections,
    },
};

impl ControllerContext {
    /// Returns why the labels of namespaces are unknown, if a rule of a profile selects by them and their watch fails.
    pub(super) fn without_namespaces(&self) -> Option<String> {
        let is_needed = self.profiles.select_namespaces();
        is_needed
            .then(|| self.watches.why_lacking(NAMESPACES))
            .flatten()
    }
}

/// Dependencies of every reconciliation.
pub struct ControllerContext {
    /// Identities that requests are sent as.
    pub identity: Arc<Identity>,
    /// Kinds that the API server serves.
    pub kinds: Kinds,
    /// Cache of Runnables.
    pub runnables: Store<CachedRunnable>,
    /// Cache of templates.
    pub templates: Arc<Templates>,
    /// Cache of profiles.
    pub profiles: Arc<ClusterProfiles>,
    /// Definitions of the controller's own kinds.
    pub definitions: Arc<Definitions>,
    /// Cache of ServiceAccounts.
    pub accounts: Arc<Accounts>,
    /// Permissions of accounts.
    pub reviews: Reviews,
    /// Watches of kinds.
    pub watches: Arc<Watches>,
    /// Watches of single Secrets.
    pub secrets: Arc<SecretWatches>,
    /// Runs that the watches have shown.
    pub runs: Arc<Runs>,
    /// Objects that selectors and inputs refer to.
    pub selections: Arc<Selections>,
    /// Picked objects, shared among Runnables.
    pub picked: PickedObjects,
    /// Memory of each Runnable.
    pub memories: Arc<Memories>,
    /// Graph of which Runnables derive from which.
    pub dependents: Arc<Dependents>,
    /// The only namespace that is served, if the controller is limited to one.
    pub namespace: Option<String>,
    /// True if inputs may come only from the namespace of their Runnable.
    pub no_cross_namespace_refs: bool,
    /// Queue of Runnables to reconcile.
    pub enqueuer: Enqueuer,
    /// Sink of events.
    pub events: Events,
    /// Pace of lists of events in namespaces.
    pub event_pace: EventPace,
    /// Metrics.
    pub metrics: Metrics,
    /// Limits of the breaker on the number of runs.
    pub limits: BreakerLimits,
    /// Hash method for rendered documents.
    pub hashing: Hashing,
    /// Interval of lists of runs whose kind may not be watched.
    pub poll: Duration,
}
