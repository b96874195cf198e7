//! What every reconciliation shares.

use std::{sync::Arc, time::Duration};

use cartouche_protocol::ledger::BreakerLimits;
use cartouche_templating::Hashing;
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
    /// Why the labels of namespaces are not known, where a rule of a profile selects them and their watch fails.
    pub(super) fn without_namespaces(&self) -> Option<String> {
        let is_needed = self.profiles.select_namespaces();
        is_needed
            .then(|| self.watches.why_lacking(NAMESPACES))
            .flatten()
    }
}

/// Everything that a reconciliation needs.
pub struct ControllerContext {
    /// Who acts.
    pub identity: Arc<Identity>,
    /// The kinds of the API server.
    pub kinds: Kinds,
    /// The Runnables.
    pub runnables: Store<CachedRunnable>,
    /// The templates.
    pub templates: Arc<Templates>,
    /// The profiles.
    pub profiles: Arc<ClusterProfiles>,
    /// The definitions of our own kinds.
    pub definitions: Arc<Definitions>,
    /// The ServiceAccounts.
    pub accounts: Arc<Accounts>,
    /// What accounts may do.
    pub reviews: Reviews,
    /// The watches of kinds.
    pub watches: Arc<Watches>,
    /// The watches of single Secrets.
    pub secrets: Arc<SecretWatches>,
    /// What the watches of runs have shown.
    pub runs: Arc<Runs>,
    /// What is selected.
    pub selections: Arc<Selections>,
    /// The objects that were picked.
    pub picked: PickedObjects,
    /// What is remembered.
    pub memories: Arc<Memories>,
    /// Which Runnables stem from which.
    pub dependents: Arc<Dependents>,
    /// The only namespace that is served, if there is one.
    pub namespace: Option<String>,
    /// Whether inputs may come only from the namespace of their Runnable.
    pub no_cross_namespace_refs: bool,
    /// Whom to enqueue.
    pub enqueuer: Enqueuer,
    /// Where events go.
    pub events: Events,
    /// How often they are listed.
    pub event_pace: EventPace,
    /// Counters.
    pub metrics: Metrics,
    /// How many runs are too many.
    pub limits: BreakerLimits,
    /// How what is rendered is hashed.
    pub hashing: Hashing,
    /// How often runs of a kind that may not be watched are listed.
    pub poll: Duration,
}
