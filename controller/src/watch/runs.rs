//! Runs, as their watches show them: of most only their existence; of those that still matter also their state.

use std::{
    collections::{HashMap, HashSet, hash_map::Entry},
    sync::{Arc, Mutex},
};

use cartouche_crds::{RUNNABLE_NAME_LABEL, Runnable};
use cartouche_language::controlling_runnable;
use cartouche_protocol::{
    evaluate::{current_sequence, digest_run, is_relevant},
    ledger::{CachedRun, FetchedRun, OutputsDigest, RunIdentity},
};
use futures::StreamExt;
use k8s_openapi::jiff::Timestamp;
use kube::{
    Api, Client, ResourceExt,
    runtime::{reflector::Store, watcher},
};
use serde_json::Value;

use super::{Enqueuer, Progress, Watches, config, run_object::RunObject};
use crate::{
    cached_runnable::CachedRunnable, lock::lock, memory::Memories, metrics::Metrics,
    runnable_key::RunnableKey, templates::Templates, watched_kind::Watched,
};

/// A uid in 16 bytes.
type Uid = u128;

/// Runs that the watches have shown.
#[derive(Default)]
pub struct Runs {
    inner: Mutex<SeenRuns>,
    metrics: Metrics,
}

#[derive(Default)]
struct SeenRuns {
    owners: HashMap<Uid, RunOwner>,
    /// Owner of each run that exists, by kind.
    live: HashMap<Watched, HashMap<Uid, Uid>>,
    /// Times at which the runs of an owner were listed because the kind is polled, by kind.
    polled: HashMap<Watched, HashMap<Uid, Timestamp>>,
}

impl SeenRuns {
    /// Records that runs, given with their owners, are gone without an event. Returns the Runnables that this
    /// concerns.
    fn vanished(&mut self, runs: impl Iterator<Item = (Uid, Uid)>) -> Vec<RunnableKey> {
        let mut gone: HashMap<Uid, HashSet<Uid>> = HashMap::new();
        for (run, owner) in runs {
            gone.entry(owner).or_default().insert(run);
        }
        let mut concerned = Vec::new();
        for (owner, gone) in gone {
            if let Some(owner) = self.owners.get_mut(&owner) {
                owner.record_loss(&gone);
                concerned.push(owner.key.clone());
            }
        }
        concerned
    }
}

impl Runs {
    /// Creates an empty set, whose dropped runs are counted by `metrics`.
    #[must_use]
    pub fn counted_by(metrics: Metrics) -> Self {
        Self {
            metrics,
            ..Self::default()
        }
    }

    /// Returns the runs of a Runnable that still matter.
    #[must_use]
    pub fn cached_runs(&self, runnable_uid: &str) -> Vec<CachedRun> {
        lock(&self.inner)
            .owners
            .get(&short(runnable_uid))
            .map(|owner| owner.cached_runs.clone())
            .unwrap_or_default()
    }

    /// Updates the cached run of a run that was read, so that it is not read again for the same news. It must still be
    /// the one that was seen `before` the read: a newer one has enqueued the Runnable, and what was read may be older.
    pub fn refresh(&self, runnable_uid: &str, before: Option<&CachedRun>, fetched: &FetchedRun) {
        let mut inner = lock(&self.inner);
        let (Some(before), Some(owner)) = (before, inner.owners.get_mut(&short(runnable_uid)))
        else {
            return;
        };
        if before.deleted {
            // The run exists all the same: it has lost its label, so its further state is unknown.
            owner.cached_runs.retain(|known| known != before);
            return;
        }
        if let Some(known) = owner.cached_runs.iter_mut().find(|known| *known == before) {
            known.health = fetched.health.clone();
            known.rules_hash = fetched.rules_hash.clone();
            known.standing = fetched.standing;
            // Outputs out of pods are not in the object that the watch shows.
            if known.outputs != OutputsDigest::Elsewhere {
                known.outputs = OutputsDigest::from_read(&fetched.outputs);
            }
        }
    }

    /// Drops the cached runs that do not matter any more.
    pub fn retain(&self, runnable_uid: &str, keep: impl FnMut(&CachedRun) -> bool) {
        let mut inner = lock(&self.inner);
        if let Entry::Occupied(mut owner) = inner.owners.entry(short(runnable_uid)) {
            owner.get_mut().cached_runs.retain(keep);
            owner.get_mut().cached_runs.shrink_to_fit();
            if owner.get().cached_runs.is_empty() {
                owner.remove();
            }
        }
    }

    /// Returns true if an object with this uid is known to exist.
    #[must_use]
    pub fn exists(&self, watched: &Watched, uid: &str) -> bool {
        lock(&self.inner)
            .live
            .get(watched)
            .is_some_and(|live| live.contains_key(&short(uid)))
    }

    /// Forgets a Runnable.
    pub fn forget(&self, runnable_uid: &str) {
        let owner = short(runnable_uid);
        let mut inner = lock(&self.inner);
        inner.owners.remove(&owner);
        let SeenRuns { live, polled, .. } = &mut *inner;
        for (watched, polled) in polled {
            if polled.remove(&owner).is_some()
                && let Some(live) = live.get_mut(watched)
            {
                live.retain(|_, of| *of != owner);
            }
        }
    }

    /// Records a run that exists, or that was deleted. Returns true if that is news for its owner.
    fn take_in(
        &self,
        watched: &Watched,
        key: &RunnableKey,
        run: &RunIdentity,
        deleted: bool,
        cached_run: Option<(CachedRun, i64)>,
    ) -> bool {
        let owner = short(run.owner_uid.as_deref().unwrap_or_default());
        let mut inner = lock(&self.inner);
        let live = inner.live.entry(watched.clone()).or_default();
        if deleted {
            live.remove(&short(&run.uid));
        } else {
            live.insert(short(&run.uid), owner);
        }
        cached_run.is_some_and(|(cached_run, current)| {
            self.put(&mut inner, owner, key, cached_run, current)
        })
    }

    /// Records an object that may have lost its owner: the watch shows no more of that run, so what was seen of it is
    /// dropped. Returns the former owner, if there was one.
    fn disowned(&self, watched: &Watched, uid: &str, owner: Option<&str>) -> Option<RunnableKey> {
        let run = short(uid);
        let mut inner = lock(&self.inner);
        let SeenRuns { live, owners, .. } = &mut *inner;
        let Entry::Occupied(known) = live.get_mut(watched)?.entry(run) else {
            return None;
        };
        if owner.map(short) == Some(*known.get()) {
            return None;
        }
        let owner = owners.get_mut(&known.remove())?;
        owner.unsee(run);
        Some(owner.key.clone())
    }

    /// Records a new first list, which is complete: what it lacks was deleted unseen. Returns the Runnables that this
    /// concerns.
    fn relisted(&self, watched: &Watched, listed: &HashMap<Uid, Uid>) -> Vec<RunnableKey> {
        let mut inner = lock(&self.inner);
        let before = inner
            .live
            .insert(watched.clone(), listed.clone())
            .unwrap_or_default();
        let gone = before
            .into_iter()
            .filter(|(run, _)| !listed.contains_key(run));
        inner.vanished(gone)
    }

    /// Keeps a cached run of a Runnable that is at the number `current`. Returns true if it is news.
    fn put(
        &self,
        inner: &mut SeenRuns,
        owner: Uid,
        key: &RunnableKey,
        cached_run: CachedRun,
        current: i64,
    ) -> bool {
        let owner = inner
            .owners
            .entry(owner)
            .or_insert_with(|| RunOwner::new(key.clone()));
        let news = owner.put(cached_run);
        if news {
            self.metrics.cached_runs_dropped(owner.make_room(current));
        }
        news
    }
}

/// Shortens a uid. It is a UUID in practice; any other text is hashed.
fn short(uid: &str) -> Uid {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let hex: String = uid.chars().filter(|char| *char != '-').collect();
    if hex.len() == 32
        && let Ok(uid) = Uid::from_str_radix(&hex, 16)
    {
        return uid;
    }
    let mut hasher = DefaultHasher::new();
    uid.hash(&mut hasher);
    Uid::from(hasher.finish())
}

/// Parts that a watch of runs needs.
#[derive(Clone)]
pub struct RunWatch {
    /// The runs that were seen.
    pub runs: Arc<Runs>,
    /// The Runnables, as cached.
    pub runnables: Store<CachedRunnable>,
    /// The templates, which judge the state of a run.
    pub templates: Arc<Templates>,
    /// Memories of the runs that reconciliations made.
    pub memories: Arc<Memories>,
    /// Queue of Runnables to reconcile.
    pub enqueuer: Enqueuer,
    /// The registry that this watch is in.
    pub watches: Arc<Watches>,
    /// Metrics that count objects that cannot be read.
    pub metrics: Metrics,
}

impl RunWatch {
    /// Watches all runs of a kind until it is aborted.
    pub async fn watch(self, client: Client, watched: Watched, progress: Arc<Progress>) {
        let api: Api<RunObject> = self.watches.api(client, &watched.kind);
        let events = watcher(api, config().labels(RUNNABLE_NAME_LABEL)).boxed();
        let mut listed = HashMap::new();
        let take = |event| self.take(&watched, &mut listed, event);
        // Another state concerns every Runnable that waits for this watch.
        let on_change = || {
            for key in self.watches.state_changed(&watched) {
                self.enqueuer.enqueue(&key);
            }
        };
        let what = watched.kind.resource();
        progress.follow(&what, events, take, on_change).await;
    }

    fn take(
        &self,
        watched: &Watched,
        listed: &mut HashMap<Uid, Uid>,
        event: watcher::Event<RunObject>,
    ) {
        match event {
            watcher::Event::Init => listed.clear(),
            watcher::Event::InitApply(object) => {
                if let Some(run) = self.show(watched, &object, false) {
                    listed.insert(
                        short(&run.uid),
                        short(run.owner_uid.as_deref().unwrap_or_default()),
                    );
                }
            }
            watcher::Event::InitDone => {
                for key in self.runs.relisted(watched, listed) {
                    self.enqueuer.enqueue(&key);
                }
            }
            watcher::Event::Apply(object) => drop(self.show(watched, &object, false)),
            watcher::Event::Delete(object) => drop(self.show(watched, &object, true)),
        }
    }

    /// Records one object, and enqueues its owner if that is news.
    fn show(&self, watched: &Watched, object: &RunObject, deleted: bool) -> Option<RunIdentity> {
        if let Some(error) = object.unreadable() {
            tracing::warn!(kind = watched.kind.resource(), %error, "an object cannot be read and is ignored");
            self.metrics.undecodable();
        }
        let head = object.head(&watched.kind);
        let run = RunIdentity::from_object(&head)?;
        let disowned = self
            .runs
            .disowned(watched, &run.uid, run.owner_uid.as_deref());
        if let Some(before) = disowned {
            self.enqueuer.enqueue(&before);
        }
        let key = owner(&head)?;
        let runnable = key.find(&self.runnables);
        let runnable = runnable.filter(|runnable| runnable.uid() == run.owner_uid);
        let cached_run = runnable
            .as_ref()
            .filter(|runnable| is_relevant(runnable, &run))
            .and_then(|runnable| {
                let object = object.read(&watched.kind)?;
                let cached_run = self.cached_run(runnable, &run, &object, deleted);
                Some((cached_run, current_sequence(runnable)))
            });
        let as_made = cached_run
            .as_ref()
            .is_some_and(|(cached_run, _)| self.consume_create_echo(&key, cached_run));
        let news = self.runs.take_in(watched, &key, &run, deleted, cached_run);
        if news && !as_made {
            self.enqueuer.enqueue(&key);
        }
        Some(run)
    }

    /// Returns true if the reconciliation that made this run knows all that the watch shows of it.
    fn consume_create_echo(&self, key: &RunnableKey, cached_run: &CachedRun) -> bool {
        let memory = self.memories.get(key);
        memory.is_some_and(|memory| lock(&memory).state.consume_create_echo(cached_run))
    }

    fn cached_run(
        &self,
        runnable: &Runnable,
        run: &RunIdentity,
        object: &Value,
        deleted: bool,
    ) -> CachedRun {
        // An end that is seen while the template is missing is kept all the same: it is read when the template is back.
        let template = &runnable.spec.run_template_ref.name;
        let compiled = self.templates.find_cached(template);
        let status = runnable.status.as_ref();
        let history = status.map_or(&[][..], |status| &status.history);
        digest_run(compiled.as_deref(), history, run.clone(), object, deleted)
    }
}

/// Returns the namespace of the object, and the name of the Runnable that controls it.
fn owner(object: &Value) -> Option<RunnableKey> {
    let metadata = object.get("metadata")?;
    let owner = controlling_runnable(metadata)?;
    Some(RunnableKey {
        namespace: metadata.get("namespace")?.as_str()?.to_owned(),
        name: owner.get("name")?.as_str()?.to_owned(),
    })
}

mod owner;
mod polled;
use owner::RunOwner;
pub use polled::Poll;

#[cfg(test)]
mod tests;
