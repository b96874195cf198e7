//! Reads the inputs that come from other objects, as the Runnable's account. I/O.

mod read;
#[cfg(test)]
pub(super) mod tests;
mod when;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use cartouche_crds::InputSource;
use cartouche_protocol::{
    category::Category,
    facts::Dependencies,
    messages::{
        diagnosis::{Denied, Diagnosis, Fault, Who},
        reconcile_error::{ReconcileError, Requeue},
    },
    references::{self, SourceKind, SourceObject},
    sourced_inputs::{self, NoInputs, SourceRead},
};
use cartouche_templating::Sourced;

use super::reconciliation::{LOOKED_UP_AFTER, Reconciliation};
use crate::{
    api::{ApiError, Requests, ResourcePath},
    backoff::FIFTH,
    budget::HeldFor,
    clock::boot_time,
    discovery::{DiscoveryError, Kind},
    lock::lock,
    mutants,
};
use read::WantedSource;
use when::polled_after;

/// Maximum age of what is known of a source.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Age {
    /// Any age, while no event has reported a change.
    Any,
    /// Read in this reconciliation, a moment ago.
    Moment,
    /// Not used: the source is read.
    None,
}

impl Reconciliation<'_> {
    /// Returns the inputs from other objects, by name: from memory while no event says that they may have changed.
    pub(super) async fn read_inputs(
        &mut self,
        account: &Requests,
        consistent: bool,
    ) -> Result<BTreeMap<String, Sourced>, ReconcileError> {
        let runnable = self.runnable.clone();
        let sources = runnable.spec.inputs_from.as_deref().unwrap_or_default();
        let age = match (consistent, self.facts.dependencies.rests_on_own_reads) {
            (false, _) => Age::Any,
            (true, false) => Age::Moment,
            // The reads themselves may be stale, and only the Runnables that made them know.
            (true, true) => Age::None,
        };
        self.facts.dependencies = Dependencies {
            has_sources: !sources.is_empty(),
            ..Dependencies::default()
        };
        let objects: BTreeSet<SourceObject> = self.objects_of(sources).collect();
        let name = runnable.spec.service_account();
        let become_for = || lock(&self.memory).sources.become_for(name, sources);
        if sources.is_empty() {
            if become_for() {
                self.name_sources(&objects);
            }
            return Ok(BTreeMap::new());
        }
        self.check_sources(sources)
            .map_err(|wrong| wrong.error(LOOKED_UP_AFTER))?;
        let paths = self.paths_of(objects.iter()).await?;
        if become_for() {
            self.name_sources(&objects);
        }
        lock(&self.memory).sources.has_unkept = false;
        let (mut read, mut denied) = (BTreeMap::new(), None);
        for (object, path) in objects.into_iter().zip(paths) {
            let wanted = WantedSource {
                path,
                keys: references::keys(&self.key.namespace, sources, &object),
                object: &object,
            };
            match self.source(account, &wanted, age).await {
                Ok(mut found) => {
                    if let Some(seen) =
                        self.find_cached(&object.source_key(&self.key.namespace, ""))
                    {
                        found.set_newest(seen);
                    }
                    self.hold_source(sources, &object, &found).await?;
                    let are_heavy =
                        matches!(found, SourceRead::Several(_)) && self.budget.has_place();
                    if found.is_too_heavy() || are_heavy {
                        // Each further object might cost the API server as much, to no use.
                        return Err(self.too_heavy(sources, &object, &found));
                    }
                    read.insert(object, found);
                }
                Err(error) => self.deny(&mut denied, &object, &error)?,
            }
        }
        if let Some((who, verbs)) = denied {
            let cause = Diagnosis::Forbidden(who, verbs);
            return Err(unread(Requeue::OnRbac, cause, None));
        }
        let taken = sourced_inputs::take_inputs(&self.key.namespace, sources, |it| read.get(it));
        let are_wanting = !taken.wrong.is_nothing();
        lock(&self.memory).sources.are_wanting = are_wanting;
        self.facts.dependencies = self.depends(&taken, &read, consistent);
        if are_wanting {
            return Err(self.without_inputs(taken));
        }
        Ok(taken.values)
    }

    /// Reserves room for what was read of an object, and for what its texts are parsed into.
    async fn hold_source(
        &self,
        sources: &[InputSource],
        object: &SourceObject,
        found: &SourceRead,
    ) -> Result<(), ReconcileError> {
        let weight = found.weight(&self.key.namespace, sources, object);
        let held = self.budget.hold(HeldFor::Rendering, weight).await;
        held.map_err(|error| {
            lock(&self.memory).sources.are_wanting = true;
            let cure = "take inputs from fewer or smaller objects, or let the run read them itself";
            let what = format!("what is read of {object} {error}");
            let wrong = NoInputs {
                faults: vec![Fault::new(what, Some(cure.to_owned()))],
                ..NoInputs::default()
            };
            wrong.error(LOOKED_UP_AFTER)
        })
    }

    /// Returns the error for a heavy object from which nothing can be taken. The objects after it are not read.
    fn too_heavy(
        &self,
        sources: &[InputSource],
        object: &SourceObject,
        found: &SourceRead,
    ) -> ReconcileError {
        lock(&self.memory).sources.are_wanting = true;
        let own = &self.key.namespace;
        let is_of_it =
            |source: &&InputSource| SourceObject::read_in(own, source).as_ref() == Some(object);
        let of_it: Vec<InputSource> = sources.iter().filter(is_of_it).cloned().collect();
        let taken = sourced_inputs::take_inputs(own, &of_it, |_| Some(found));
        taken.wrong.error(FIFTH.over(LOOKED_UP_AFTER))
    }

    fn objects_of<'a>(
        &'a self,
        sources: &'a [InputSource],
    ) -> impl Iterator<Item = SourceObject> + 'a {
        let own = &self.key.namespace;
        let sources = sources.iter();
        sources.filter_map(|source| SourceObject::read_in(own, source))
    }

    /// Collects the denied requests of all objects. Any other error ends the reading.
    fn deny(
        &self,
        denied: &mut Option<(Who, Vec<Denied>)>,
        object: &SourceObject,
        error: &ApiError,
    ) -> Result<(), ReconcileError> {
        match self.cause_of(error, "show the sources of inputs") {
            Diagnosis::Forbidden(who, verbs) => {
                let all = &mut denied.get_or_insert((who, Vec::new())).1;
                let own = self.key.namespace.as_str();
                let elsewhere = Some(object.namespace_in(own)).filter(|it| *it != own);
                for one in verbs {
                    one.with_name(&object.name)
                        .in_namespace(elsewhere)
                        .add_to(all);
                }
                Ok(())
            }
            cause => Err(unread(error.requeue(), cause, Some(error.brief()))),
        }
    }

    /// Checks the sources without regard to the objects.
    fn check_sources(&self, sources: &[InputSource]) -> Result<(), NoInputs> {
        sourced_inputs::check(self.runnable.spec.inputs.as_ref(), sources)?;
        if self.ctx.no_cross_namespace_refs {
            sourced_inputs::check_namespaces(&self.key.namespace, sources)?;
        }
        Ok(())
    }

    /// Returns the paths of these objects, in their order.
    async fn paths_of(
        &self,
        objects: impl Iterator<Item = &SourceObject>,
    ) -> Result<Vec<ResourcePath>, ReconcileError> {
        let mut paths = Vec::new();
        for object in objects {
            let kind = match object.kind {
                SourceKind::ConfigMap => Arc::new(Kind::config_maps()),
                SourceKind::Secret => Arc::new(Kind::secrets()),
                SourceKind::Runnable => Arc::new(Kind::runnables()),
                SourceKind::Any => {
                    let (api_version, kind) = object.type_meta();
                    let kinds = &self.ctx.kinds;
                    let found = kinds.find(api_version, kind).await;
                    found.map_err(|error| self.without_kind(&kinds.with_hint(error)))?
                }
            };
            paths.push(kind.path(object.namespace_in(&self.key.namespace)));
        }
        Ok(paths)
    }

    fn without_kind(&self, error: &DiscoveryError) -> ReconcileError {
        let cause = self.cause_of_discovery(error, "show the kind that an input comes from");
        unread(error.requeue(), cause, Some(error.to_string()))
    }

    /// Reads one object, or takes it from memory.
    async fn source(
        &self,
        account: &Requests,
        wanted: &WantedSource<'_>,
        age: Age,
    ) -> Result<SourceRead, ApiError> {
        let object = wanted.object;
        let is_watched = self.is_watched(object);
        let pause = if is_watched {
            self.pause_of_watched_sources()
        } else {
            Some(polled_after(self.poll_of(object.kind)))
        };
        // An event during the read may make its answer stale.
        let began = {
            let memory = lock(&self.memory);
            let now = boot_time();
            let known = match age {
                _ if !mutants::is_read(age != Age::Any) => {
                    memory.sources.lately(object, pause, now)
                }
                Age::Moment => {
                    let known = memory.sources.just_read(object, self.read_at, now);
                    known.filter(|it| self.is_as_cached(object, it))
                }
                _ => None,
            };
            if let Some(known) = known {
                return Ok(known);
            }
            memory.changes
        };
        let mut read = Box::pin(self.read_source(account, wanted)).await?;
        self.watch_found(object, &read);
        let place = read.content_mut().map(|content| {
            let place = self.ctx.picked.keep(content);
            // All readers of the same content share it.
            if let Some(kept) = &place {
                *content = kept.value();
            }
            place
        });
        let mut memory = lock(&self.memory);
        // Content that found no place in the shared store is read each time.
        let is_kept = place.as_ref().is_none_or(Option::is_some);
        let place = place.flatten();
        if !is_kept && !is_watched {
            memory.sources.has_unkept = true;
        }
        if memory.changes == began && is_kept {
            memory
                .sources
                .keep(object.clone(), read.clone(), place, boot_time());
        }
        Ok(read)
    }
}

fn unread(requeue: Requeue, cause: Diagnosis, text: Option<String>) -> ReconcileError {
    ReconcileError::from_diagnosis(Category::SourceError, requeue, cause, text)
}
