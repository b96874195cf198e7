//! Decides which kinds are watched for a Runnable, and takes in what their watches have shown. I/O.

use std::{
    collections::{BTreeSet, HashSet},
    sync::Arc,
};

use cartouche_crds::RUNNABLE_NAME_LABEL;
use cartouche_language::label_value;
use cartouche_protocol::{
    category::Category,
    evaluate::{current_sequence, fetched_run, is_relevant},
    facts::WatchState,
    ledger::{CachedRun, RunIdentity, keep_certain},
    messages::{
        diagnosis::Diagnosis,
        format::truncate,
        reconcile_error::{ReconcileError, Requeue},
    },
};

use super::reconciliation::Reconciliation;
use crate::{
    api::{ApiError, label_query},
    clock::boot_time,
    discovery::{DiscoveryError, Kind},
    lock::lock,
    memory::{KnownSinks, KnownSources},
    runnable_key::RunnableKey,
    watch::runs::Poll,
    watched_kind::{Purpose, Watched},
};

impl Reconciliation<'_> {
    /// Watches the relevant kinds, and takes in what their watches have shown.
    pub(super) async fn observe_watches(&mut self) {
        self.unfound.clear();
        let kind = self.current_kind().await;
        self.watch_kinds(kind.as_ref().ok().and_then(Option::as_ref))
            .await;
        let Ok(kind) = kind else {
            // It is unknown whether the kind is served: nothing is concluded from missing objects.
            self.facts.watch = WatchState::Starting;
            return;
        };
        self.facts.resource = kind.as_ref().map(|kind| kind.resource());
        self.take_in_waits();
        let runs = &self.ctx.runs;
        let Some(kind) = kind else {
            // Objects of a kind that is not served do not exist. Runs that were seen to be deleted with it stay
            // deleted.
            self.facts.watch = WatchState::Synced;
            self.facts.cached_runs = runs.cached_runs(&self.facts.runnable.uid);
            self.facts.cached_runs.retain(|run| run.deleted);
            return;
        };
        let watched = Watched {
            purpose: Purpose::Runs,
            kind,
        };
        self.facts.watch = self.ctx.watches.state(&watched);
        self.facts.cached_runs = match self.facts.watch {
            WatchState::Polled => self.poll(&watched).await,
            WatchState::Starting | WatchState::Synced => runs.cached_runs(&self.facts.runnable.uid),
        };
        self.take_in_work();
    }

    /// Takes in what this process still waits for about the current run.
    fn take_in_waits(&mut self) {
        let (memory, now) = (lock(&self.memory), boot_time());
        let unobserved = memory.state.find_unobserved(now);
        self.facts.unobserved_run = unobserved.map(|(uid, _)| uid.to_owned());
        let grace = memory.state.grace_left(&self.facts.ledger, now);
        self.facts.grace_over = grace.is_some_and(|left| left.is_zero());
    }

    /// Returns the kind of the current run; see [`Self::kind`].
    async fn current_kind(&mut self) -> Result<Option<Arc<Kind>>, DiscoveryError> {
        let Some(current) = &self.facts.ledger.current else {
            return Ok(None);
        };
        let (api_version, kind) = (current.api_version.clone(), current.kind.clone());
        let found = self.kind(Purpose::Runs, &api_version, &kind).await;
        if found.is_err() {
            self.unfound.insert((api_version, kind));
        }
        found
    }

    /// Returns a kind to watch, or `None` if it is not served. An API server that does not answer has not removed the
    /// kind, so that a watch goes on.
    async fn kind(
        &self,
        purpose: Purpose,
        api_version: &str,
        kind: &str,
    ) -> Result<Option<Arc<Kind>>, DiscoveryError> {
        let kinds = &self.ctx.kinds;
        let found = match purpose {
            // A run is the same object in every version.
            Purpose::Runs => kinds.find_objects(api_version, kind).await,
            Purpose::Selected => kinds.find(api_version, kind).await,
        };
        match found {
            Ok(kind) => Ok(Some(kind)),
            Err(DiscoveryError::Unknown { .. }) => Ok(None),
            Err(error) => {
                let memory = lock(&self.memory);
                let watched = memory
                    .watched
                    .iter()
                    .filter(|known| known.purpose == purpose);
                let known = watched
                    .map(|watched| &watched.kind)
                    .filter(|known| known.has_objects_of(api_version, kind))
                    .max_by_key(|known| known.api_version == api_version);
                known.map_or(Err(error), |known| Ok(Some(known.clone())))
            }
        }
    }

    async fn watch_kinds(&mut self, current: Option<&Arc<Kind>>) {
        let wanted = self.wanted(current).await;
        let before = std::mem::replace(&mut lock(&self.memory).watched, wanted.clone());
        for gone in before
            .difference(&wanted)
            .filter(|watched| watched.purpose == Purpose::Selected)
        {
            self.ctx.selections.remove(gone, &self.key);
            // Later changes of it go unnoticed.
            let mut memory = lock(&self.memory);
            memory.selection_changed();
            // If the inputs come from that kind again, their objects have to be named anew.
            memory.sources = KnownSources::default();
            if *gone == Watched::config_maps() {
                memory.sinks = KnownSinks::default();
            }
        }
        self.ctx.serve(&self.key, &before, &wanted);
        self.facts.unwatched = self.unwatched(&wanted);
    }

    /// Returns the kinds whose events may concern the Runnable.
    async fn wanted(&mut self, current: Option<&Arc<Kind>>) -> BTreeSet<Watched> {
        let of = |purpose| move |kind| Watched { purpose, kind };
        let current = current.cloned().map(of(Purpose::Runs));
        let mut wanted: BTreeSet<Watched> = current.into_iter().collect();
        // Finished runs count too: retention has to know whether they still exist.
        let history = self.facts.ledger.history.iter();
        let history = history.map(|run| (run.api_version.clone(), run.kind.clone()));
        let rendering = self.facts.rendering.iter();
        let documents = rendering.map(|rendering| &rendering.document);
        let rendered = documents.map(|it| (it.api_version().to_owned(), it.kind().to_owned()));
        let runs: BTreeSet<(String, String)> = history.chain(rendered).collect();
        for (api_version, kind) in runs {
            match self.kind(Purpose::Runs, &api_version, &kind).await {
                Ok(kind) => wanted.extend(kind.map(of(Purpose::Runs))),
                Err(_) => drop(self.unfound.insert((api_version, kind))),
            }
        }
        let selector = self.runnable.spec.selector.as_ref();
        let selected = selector.and_then(|selector| {
            let resource = &selector.resource;
            resource.api_version.as_ref().zip(resource.kind.as_ref())
        });
        if let Some((api_version, kind)) = selected
            && let Ok(kind) = self.kind(Purpose::Selected, api_version, kind).await
        {
            wanted.extend(kind.map(of(Purpose::Selected)));
        }
        wanted.extend(self.watched_sources());
        wanted.extend(self.watched_sinks());
        wanted
    }

    /// Returns what is reported of watches that fail, or that cannot begin.
    fn unwatched(&self, wanted: &BTreeSet<Watched>) -> Option<String> {
        let seconds = self.ctx.poll.as_secs();
        let failing = wanted.iter().filter_map(|watched| {
            let why = self.ctx.watches.failing(watched)?;
            let resource = watched.kind.resource();
            Some(format!(
                "the controller cannot watch {resource} ({why}) and polls it every {seconds} s as the Runnable's ServiceAccount meanwhile"
            ))
        });
        let unfound = self.unfound.iter().filter_map(|(api_version, kind)| {
            let why = self.ctx.kinds.failing(api_version, kind)?;
            Some(unfindable(api_version, kind, &why))
        });
        let failing: Vec<String> = failing.chain(unfound).collect();
        (!failing.is_empty()).then(|| truncate(failing.join("; ")))
    }

    /// Returns why nothing is known of the current run, once discovery has failed for its kind for long enough.
    pub(super) fn discovery_error(&self) -> Option<ReconcileError> {
        let current = self.facts.ledger.current.as_ref()?;
        let of_current = |(api_version, kind): &&(String, String)| {
            *api_version == current.api_version && *kind == current.kind
        };
        let (api_version, kind) = self.unfound.iter().find(of_current)?;
        let why = self.ctx.kinds.failing(api_version, kind)?;
        let text = truncate(unfindable(api_version, kind, &why));
        Some(self.read_error(&ApiError::Unanswered(text)))
    }

    /// Returns why no profile can be chosen, if that needs labels of the namespace that cannot be read.
    pub(super) fn without_namespaces(&self) -> Option<ReconcileError> {
        let is_needed =
            self.facts.watch != WatchState::Starting && self.facts.profiles.lacks_namespace();
        let why = self.ctx.without_namespaces().filter(|_| is_needed)?;
        Some(ReconcileError::from_diagnosis(
            Category::ProfileNotFound,
            Requeue::Backoff,
            Diagnosis::NamespacesUnknown(truncate(why)),
            None,
        ))
    }

    /// Lists the runs of a kind that the controller may not watch, as the account.
    pub(super) async fn poll(&self, watched: &Watched) -> Vec<CachedRun> {
        let (runs, owner) = (&self.ctx.runs, &self.facts.runnable.uid);
        let (Some(account), Some(compiled)) = (&self.account, &self.compiled) else {
            return runs.cached_runs(owner);
        };
        let path = watched.kind.path(&self.key.namespace);
        let mut found = Vec::new();
        let earlier = self.facts.earlier_runs();
        let listed = account
            .each(&path, &own_runs(&self.key), |object| {
                let fetched = fetched_run(compiled, &earlier, &object);
                let own = fetched.filter(|fetched| fetched.run.is_owned_by(owner));
                found.extend(own.as_ref().map(CachedRun::from_fetched));
                own.is_some()
            })
            .await;
        if listed.is_err() {
            let known = runs.cached_runs(owner);
            let of_kind =
                |run: &RunIdentity| watched.kind.has_objects_of(&run.api_version, &run.kind);
            return keep_certain(known, &self.facts.ledger, of_kind);
        }
        let poll = Poll {
            watched,
            owner: (&self.key, owner),
            found: &found,
            current: current_sequence(&self.runnable),
            at: self.ctx.identity.connection().now(),
        };
        runs.record_poll(&poll, |cached_run| {
            is_relevant(&self.runnable, &cached_run.run)
        });
        let mut known = runs.cached_runs(owner);
        let listed: HashSet<&str> = found.iter().map(|it| it.run.uid.as_str()).collect();
        known.retain(|known| !listed.contains(known.run.uid.as_str()));
        known.extend(found);
        known
    }
}

/// Returns the query for the runs that carry a Runnable's name.
pub(super) fn own_runs(key: &RunnableKey) -> String {
    label_query([(RUNNABLE_NAME_LABEL, &*label_value(&key.name))])
}

fn unfindable(api_version: &str, kind: &str, why: &str) -> String {
    format!("{kind} of {api_version} cannot be looked up ({why}) and is not watched meanwhile")
}
