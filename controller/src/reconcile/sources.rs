//! Inputs that come from other objects, read as the Runnable's account. I/O.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use cartouche_crds::{InputSource, Runnable};
use cartouche_protocol::{
    diagnosis::{Denied, Diagnosis, Who},
    facts::{Dependencies, WatchState},
    reconcile_error::{Category, ReconcileError, Requeue},
    sourced_inputs::{self, SourceKind, SourceObject, SourceRead},
};
use cartouche_templating::Sourced;
use k8s_openapi::ByteString;
use serde::Deserialize;
use serde_json::json;

use super::{LOOKED_UP_AFTER, reconciliation::Reconciliation};
use crate::{
    api::{ApiError, Requests, ResourcePath},
    backoff::{FIFTH, TENTH},
    clock::boot_time,
    lock::lock,
    mutants,
    picked::Kept,
    watch::Watched,
};

/// A `ConfigMap`, as far as inputs come from it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ConfigMap {
    metadata: Identified,
    #[serde(default)]
    data: BTreeMap<String, String>,
    #[serde(default)]
    binary_data: BTreeMap<String, String>,
}

/// A Secret, the same. No value of it outlives the read.
#[derive(Deserialize)]
struct Secret {
    metadata: Identified,
    #[serde(default)]
    data: BTreeMap<String, ByteString>,
}

#[derive(Deserialize)]
struct Identified {
    uid: String,
}

impl Reconciliation<'_> {
    /// The inputs that other objects give, by name: from memory while nothing says that they may have changed.
    pub(super) async fn sourced(
        &mut self,
        account: &Requests,
        consistent: bool,
    ) -> Result<BTreeMap<String, Sourced>, ReconcileError> {
        let runnable = self.runnable.clone();
        let sources = runnable.spec.inputs_from.as_deref().unwrap_or_default();
        self.facts.dependencies = Dependencies {
            has_sources: !sources.is_empty(),
            ..Dependencies::default()
        };
        let objects: BTreeSet<SourceObject> = sources.iter().filter_map(SourceObject::of).collect();
        if lock(&self.memory).sources.become_for(sources) {
            self.name_sources(&objects);
        }
        if sources.is_empty() {
            return Ok(BTreeMap::new());
        }
        sourced_inputs::check(self.runnable.spec.inputs.as_ref(), sources)
            .map_err(|wrong| wrong.error(LOOKED_UP_AFTER))?;
        let (mut read, mut denied) = (BTreeMap::new(), None);
        for object in objects {
            match self.source(account, sources, &object, consistent).await {
                Ok(found) => drop(read.insert(object, found)),
                Err(error) => self.deny(&mut denied, &error)?,
            }
        }
        if let Some((who, verbs)) = denied {
            let cause = Diagnosis::Forbidden(who, verbs);
            return Err(unread(Requeue::OnRbac, cause, None));
        }
        let taken = sourced_inputs::taken(&self.key.namespace, sources, |it| read.get(it));
        let are_wanting = !taken.wrong.is_nothing();
        lock(&self.memory).sources.are_wanting = are_wanting;
        self.facts.dependencies = self.depends(&taken, &read, consistent);
        if are_wanting {
            return Err(self.without_inputs(taken));
        }
        Ok(taken.values)
    }

    /// Takes down what is not allowed, of all objects; any other error ends the reading.
    fn deny(
        &self,
        denied: &mut Option<(Who, Vec<Denied>)>,
        error: &ApiError,
    ) -> Result<(), ReconcileError> {
        match self.cause_of(error, "show what inputs come from") {
            Diagnosis::Forbidden(who, verbs) => {
                let all = &mut denied.get_or_insert((who, Vec::new())).1;
                for one in verbs {
                    one.add_to(all);
                }
                Ok(())
            }
            cause => Err(unread(error.requeue(), cause, Some(error.brief()))),
        }
    }

    /// One object.
    async fn source(
        &self,
        account: &Requests,
        sources: &[InputSource],
        object: &SourceObject,
        consistent: bool,
    ) -> Result<SourceRead, ApiError> {
        let pause = self.pause_of_sources(self.is_watched(object));
        // An event that comes while the read is under way makes its answer old.
        let began = {
            let memory = lock(&self.memory);
            let known = memory.sources.lately(object, pause, boot_time());
            if let Some(known) = known.filter(|_| !mutants::is_read(consistent)) {
                return Ok(known);
            }
            memory.changes
        };
        let (read, place) = self.read_source(account, sources, object).await?;
        let mut memory = lock(&self.memory);
        // One that found no place among all that is kept is read each time.
        let is_kept = place.is_some() || !matches!(read, SourceRead::ConfigMap(_));
        if memory.changes == began && is_kept {
            memory
                .sources
                .keep(object.clone(), read.clone(), place, boot_time());
        }
        Ok(read)
    }

    /// Whether every change of it is heard of.
    fn is_watched(&self, object: &SourceObject) -> bool {
        match object.kind {
            SourceKind::ConfigMap => {
                self.ctx.watches.state(&Watched::config_maps()) == WatchState::Synced
            }
            SourceKind::Secret => false,
            SourceKind::Runnable => {
                let served = self.ctx.namespace.as_ref();
                served.is_none_or(|it| it == object.namespace_in(&self.key.namespace))
            }
        }
    }

    async fn read_source(
        &self,
        account: &Requests,
        sources: &[InputSource],
        object: &SourceObject,
    ) -> Result<(SourceRead, Option<Arc<Kept>>), ApiError> {
        let namespace = object.namespace_in(&self.key.namespace);
        let (version, plural) = (object.kind.api_version(), object.kind.plural());
        let path = ResourcePath::new(version, plural, Some(namespace));
        let keys = sourced_inputs::keys(sources, object);
        let read = match object.kind {
            SourceKind::ConfigMap => {
                let found = account.get::<ConfigMap>(&path, &object.name).await;
                found.map(|mut map| {
                    map.data.retain(|key, _| keys.contains(key.as_str()));
                    let mut binary = map.binary_data;
                    binary.retain(|key, _| keys.contains(key.as_str()));
                    // That it is there is all that matters.
                    binary.values_mut().for_each(String::clear);
                    let uid = map.metadata.uid;
                    let value = Arc::new(json!({
                        "metadata": { "uid": uid }, "data": map.data, "binaryData": binary,
                    }));
                    let place = self.ctx.picked.keep(&value);
                    // All who read the same share it.
                    let value = place.as_ref().map_or(value, |kept| kept.value());
                    (SourceRead::ConfigMap(value), place)
                })
            }
            SourceKind::Secret => {
                let found = account.get::<Secret>(&path, &object.name).await;
                found.map(|secret| {
                    let values = secret.data.iter();
                    let asked = values.filter(|(key, _)| keys.contains(key.as_str()));
                    let asked = asked.map(|(key, value)| (key.as_str(), value.0.as_slice()));
                    (SourceRead::secret(&secret.metadata.uid, asked), None)
                })
            }
            SourceKind::Runnable => {
                let found = account.get::<Runnable>(&path, &object.name).await;
                found.map(|runnable| (SourceRead::runnable(&runnable, &keys), None))
            }
        };
        match read {
            // Of any other 404 nobody knows who gave it.
            Err(error) if error.is_absent() => Ok((SourceRead::Absent, None)),
            read => read,
        }
    }

    /// Has the watch of `ConfigMaps` know whose changes concern this Runnable.
    fn name_sources(&self, objects: &BTreeSet<SourceObject>) {
        let names = objects.iter().filter(|it| it.kind == SourceKind::ConfigMap);
        let names = names.map(|object| object.name.clone()).collect();
        self.ctx
            .selections
            .name(&Watched::config_maps(), &self.key, names);
    }

    /// What is watched for the inputs from other objects.
    pub(super) fn watched_sources(&self) -> Option<Watched> {
        let sources = self.runnable.spec.inputs_from.iter().flatten();
        let mut kinds = sources
            .filter_map(SourceObject::of)
            .map(|object| object.kind);
        kinds
            .any(|kind| kind == SourceKind::ConfigMap)
            .then(Watched::config_maps)
    }

    /// For how long what was read may be relied on; without an end while its changes are told.
    pub(super) fn pause_of_sources(&self, is_watched: bool) -> Option<Duration> {
        let are_wanting = lock(&self.memory).sources.are_wanting;
        if is_watched {
            return are_wanting.then_some(LOOKED_UP_AFTER / 2);
        }
        Some(self.polled_after())
    }

    /// How old may be what nobody watches: whoever looks after a poll, or a little earlier, reads again.
    fn polled_after(&self) -> Duration {
        self.ctx.poll * 8 / 10
    }

    /// When what inputs come from is read again: Secrets, of whose changes nobody tells, and whatever gave none.
    pub(super) fn sources_again(&self) -> Option<Duration> {
        if self.facts.runnable.deleting {
            return None;
        }
        let memory = lock(&self.memory);
        let (poll, now) = (self.ctx.poll, boot_time());
        let oldest = memory
            .sources
            .oldest(|object| object.kind != SourceKind::ConfigMap && !self.is_watched(object));
        let polled = oldest.map(|at| {
            // What is old already could not be read, or something before it was wrong: that says when it is tried again.
            let is_read = at + self.polled_after() > now;
            TENTH.over(if is_read {
                (at + poll).saturating_sub(now)
            } else {
                poll
            })
        });
        let wanting = memory.sources.are_wanting;
        let wanting = wanting.then(|| FIFTH.over(LOOKED_UP_AFTER));
        polled.into_iter().chain(wanting).min()
    }
}

fn unread(requeue: Requeue, cause: Diagnosis, text: Option<String>) -> ReconcileError {
    ReconcileError::caused(Category::SourceError, requeue, cause, text)
}
