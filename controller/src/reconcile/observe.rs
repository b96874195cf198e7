//! What a pass begins with: mostly caches, and what they cannot hold. I/O.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use cartouche_crds::{API_VERSION, GROUP, RUNNABLE_NAME_LABEL};
use cartouche_templating::{Context, label_value};
use serde_json::{Value, json, value::RawValue};

use super::{
    assess::{matters, reading},
    facts::{Rendering, Sighting, WatchState},
    pass::{End, Pass},
};
use crate::{
    api::{Requests, ResourcePath},
    clock::boot_time,
    discovery::{DiscoveryError, Kind},
    ledger::Cause,
    memory::{RunnableKey, lock},
    mutants::{self, Mutant},
    problem::{Category, Cure, Problem, bounded},
    templates::Compiled,
    watch::{Purpose, Watched, runs::Poll},
};

/// How long a run that was just made may stay unseen by its watch before it is looked for: the watch
/// may have begun anew in that very moment.
pub(super) const AWAITED_FOR: Duration = Duration::from_mins(1);

/// What a rendering was made of, beside the Runnable, of which a pass has only one state.
pub(super) struct Sources {
    compiled: Arc<Compiled>,
    selected: Option<Arc<Value>>,
}

impl Sources {
    fn are(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.compiled, &other.compiled) && self.selected == other.selected
    }
}

impl Pass<'_> {
    /// Reads everything that a decision needs first.
    pub(super) async fn observe(&mut self) {
        if self.facts.runnable.deleting {
            return;
        }
        self.facts.rendering = self.render(false).await;
        self.look_around().await;
    }

    /// Reads template and selected object consistently, after the Runnable.
    pub(super) async fn render_again(&mut self) -> Result<(), End> {
        self.facts.rendering = self.render(true).await;
        self.facts.now = self.own.identity.connection().now();
        self.look_around().await;
        Ok(())
    }

    async fn render(&mut self, consistent: bool) -> Result<Rendering, Problem> {
        let account = self.account().await?;
        let compiled = self.template(consistent).await?;
        let template = self.facts.runnable.template.clone();
        let stamp_failure = |error: String| {
            Problem::new(
                Category::TemplateStampFailure,
                Cure::Change,
                format!("unable to stamp object for run template [{template}]: {error}"),
            )
        };
        let ready = compiled
            .template
            .as_ref()
            .map_err(|problems| stamp_failure(problems.to_string()))?;
        self.compiled = Some(compiled.clone());
        let selected = match self.runnable.spec.selector.clone() {
            None => None,
            Some(selector) => {
                let selected = self.selected(&account, &selector, consistent).await;
                self.has_unpicked = selected.is_err();
                Some(selected?)
            }
        };
        let sources = Sources {
            compiled: compiled.clone(),
            selected: selected.clone(),
        };
        if let (Ok(before), Some(known)) = (&self.facts.rendering, &self.sources)
            && sources.are(known)
        {
            return Ok(Rendering {
                consistent,
                ..before.clone()
            });
        }
        let mut runnable = json!({
            "apiVersion": API_VERSION, "kind": "Runnable", "metadata": self.runnable.metadata, "spec": self.runnable.spec,
        });
        // Who wrote its status is nothing that a run is made of.
        if let Some(Value::Object(metadata)) = runnable.get_mut("metadata") {
            metadata.remove("managedFields");
        }
        let context = Context::new(&runnable, selected.as_deref())
            .map_err(|problems| stamp_failure(problems.to_string()))?;
        let document = ready
            .render(&context)
            .map_err(|problems| stamp_failure(problems.to_string()))?;
        let rendering = Rendering {
            consistent,
            document: Arc::new(document),
            rules_hash: compiled.rules_hash.clone(),
            has_outputs: ready.has_outputs(),
            has_health_rule: ready.has_health_rule(),
            cause: Cause {
                generation: self.facts.runnable.generation,
                template_uid: compiled.uid.clone(),
                template_generation: compiled.generation,
            },
        };
        self.check_kind(&rendering).await?;
        self.sources = Some(sources);
        Ok(rendering)
    }

    /// Requests as the Runnable's ServiceAccount, which must exist.
    async fn account(&mut self) -> Result<Requests, Problem> {
        if let Some(account) = &self.account {
            return Ok(account.clone());
        }
        let (namespace, name) = (&self.key.namespace, self.runnable.spec.service_account());
        let requests = self.own.identity.of(namespace, name).await?;
        if !self.own.accounts.exists(namespace, name) {
            return Err(Problem::new(
                Category::ServiceAccountError,
                Cure::Change,
                format!(
                    "failed to get service account object from api server [{namespace}/{name}]: failed to get object [{namespace}/{name}] from api server: \
                     ServiceAccount {name:?} not found"
                ),
            ));
        }
        self.account = Some(requests.clone());
        Ok(requests)
    }

    async fn template(&self, consistent: bool) -> Result<Arc<Compiled>, Problem> {
        let name = &self.facts.runnable.template;
        let missing = |cure, error: String| {
            let text = format!(
                "unable to get run template [{name}]: failed to get run template object from api server [ClusterRunTemplate/{name}]: {error}"
            );
            Problem::new(Category::RunTemplateNotFound, cure, text)
        };
        let absent = || {
            missing(
                Cure::Change,
                format!("ClusterRunTemplate.{GROUP} {name:?} not found"),
            )
        };
        if !consistent || mutants::makes(Mutant::StaleTemplate) {
            return self.own.templates.cached(name).ok_or_else(absent);
        }
        let path = ResourcePath::new(API_VERSION, "clusterruntemplates", None);
        match self
            .own
            .identity
            .own()
            .get::<Box<RawValue>>(&path, name)
            .await
        {
            Ok(answer) => self
                .own
                .templates
                .read(&answer)
                .map_err(|error| missing(Cure::Retry, error.to_string())),
            Err(error) if error.is_not_found() => Err(absent()),
            Err(error) => Err(missing(Cure::Retry, error.to_string())),
        }
    }

    /// Runs live in the Runnable's namespace.
    async fn check_kind(&mut self, rendering: &Rendering) -> Result<(), Problem> {
        let (document, template) = (&rendering.document, &self.facts.runnable.template);
        let (api_version, kind) = (document.api_version(), document.kind());
        let stamp_failure = |error: String| {
            Err(Problem::new(
                Category::TemplateStampFailure,
                Cure::Change,
                format!("unable to stamp object for run template [{template}]: {error}"),
            ))
        };
        let namespace = document
            .document()
            .pointer("/metadata/namespace")
            .and_then(Value::as_str)
            .unwrap_or_default();
        if !namespace.is_empty() && namespace != self.key.namespace {
            return stamp_failure("cannot set namespace in resource template".to_owned());
        }
        match self.own.kinds.find(api_version, kind).await {
            Ok(found) if found.namespaced => Ok(()),
            Ok(_) => stamp_failure(format!(
                "{kind} of {api_version} is a cluster-scoped kind: a run must live in the namespace of its Runnable"
            )),
            Err(error) => Err(self.unlisted(&unapplied_name(rendering), &error)),
        }
    }

    /// The text of a list before the create that failed.
    pub(super) fn unlisted(&self, name: &str, error: &DiscoveryError) -> Problem {
        let cure = match error {
            DiscoveryError::Unknown { .. } => Cure::Kind,
            DiscoveryError::Api(error) if error.is_forbidden() => Cure::Right,
            DiscoveryError::Api(_) => Cure::Retry,
        };
        let (namespace, template) = (&self.key.namespace, &self.facts.runnable.template);
        Problem::new(
            Category::StampedObjectRejectedByAPIServer,
            cure,
            format!(
                "unable to apply object [{namespace}/{name}] for run template [{template}]: unable to list from api server: {error}"
            ),
        )
    }

    /// Has the kinds watched that matter, and takes in what their watches have shown.
    pub(super) async fn look_around(&mut self) {
        let current = self
            .facts
            .ledger
            .current
            .as_ref()
            .map(|current| (current.api_version.clone(), current.kind.clone()));
        let kind = match &current {
            Some((api_version, kind)) => self.kind(Purpose::Runs, api_version, kind).await,
            None => Ok(None),
        };
        self.watch_kinds(kind.as_ref().ok().and_then(Option::as_ref))
            .await;
        let Ok(kind) = kind else {
            // Nobody says whether the kind is there: nothing is concluded from what is not seen.
            self.facts.watch = WatchState::Starting;
            return;
        };
        self.facts.resource = kind.as_ref().map(|kind| kind.resource());
        self.facts.awaited = lock(&self.memory)
            .awaited
            .clone()
            .filter(|(_, since)| boot_time().saturating_sub(*since) < AWAITED_FOR)
            .map(|(uid, _)| uid);
        self.facts.missed = self.witness().is_some_and(|left| left.is_zero());
        let Some(kind) = kind else {
            // Objects of a kind that is not served do not exist; what was seen to go with it stays seen.
            self.facts.watch = WatchState::Synced;
            self.facts.sightings = self.own.runs.sightings(&self.facts.runnable.uid);
            self.facts.sightings.retain(|sighting| sighting.deleted);
            return;
        };
        let watched = Watched {
            purpose: Purpose::Runs,
            kind,
        };
        self.facts.watch = self.own.watches.state(&watched);
        self.facts.sightings = match self.facts.watch {
            WatchState::Polled => self.poll(&watched).await,
            WatchState::Starting | WatchState::Synced => {
                self.own.runs.sightings(&self.facts.runnable.uid)
            }
        };
    }

    /// A kind that is to be watched; `None` if it is not served. An API server that does not answer has
    /// not taken it away: who watched it goes on.
    async fn kind(
        &self,
        purpose: Purpose,
        api_version: &str,
        kind: &str,
    ) -> Result<Option<Arc<Kind>>, DiscoveryError> {
        let kinds = &self.own.kinds;
        let found = match purpose {
            // A run stays the same object, whatever version it is read in.
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
        let mut wanted: BTreeSet<Watched> = current
            .map(|kind| Watched {
                purpose: Purpose::Runs,
                kind: kind.clone(),
            })
            .into_iter()
            .collect();
        // Finished runs too: retention has to know whether they are still there.
        let history = &self.facts.ledger.history;
        let mut runs: BTreeSet<(&str, &str)> = history
            .iter()
            .map(|entry| (entry.api_version.as_str(), entry.kind.as_str()))
            .collect();
        if let Ok(rendering) = &self.facts.rendering {
            runs.insert((rendering.document.api_version(), rendering.document.kind()));
        }
        for (api_version, kind) in runs {
            if let Ok(Some(kind)) = self.kind(Purpose::Runs, api_version, kind).await {
                wanted.insert(Watched {
                    purpose: Purpose::Runs,
                    kind,
                });
            }
        }
        let resource = self
            .runnable
            .spec
            .selector
            .as_ref()
            .map(|selector| &selector.resource);
        if let Some((api_version, kind)) =
            resource.and_then(|resource| resource.api_version.as_ref().zip(resource.kind.as_ref()))
            && let Ok(Some(kind)) = self.kind(Purpose::Selected, api_version, kind).await
        {
            wanted.insert(Watched {
                purpose: Purpose::Selected,
                kind,
            });
        }
        let before = std::mem::replace(&mut lock(&self.memory).watched, wanted.clone());
        for gone in before
            .difference(&wanted)
            .filter(|watched| watched.purpose == Purpose::Selected)
        {
            self.own.selections.remove(gone, &self.key);
            // What happens to it from now on is not told.
            let mut memory = lock(&self.memory);
            memory.picked = None;
            memory.changes += 1;
        }
        self.own.serve(&self.key, &before, &wanted);
        self.facts.unwatched = self.unwatched(&wanted);
    }

    /// What is to be said of watches that fail.
    fn unwatched(&self, wanted: &BTreeSet<Watched>) -> Option<String> {
        let seconds = self.own.poll.as_secs();
        let failing = wanted.iter().filter_map(|watched| {
            let why = self.own.watches.failing(watched)?;
            let resource = watched.kind.resource();
            Some(format!(
                "{resource} cannot be watched ({why}) and is looked at every {seconds} s as the Runnable's ServiceAccount meanwhile"
            ))
        });
        let failing: Vec<String> = failing.collect();
        (!failing.is_empty()).then(|| bounded(failing.join("; ")))
    }

    /// Runs of a kind that the controller may not watch, listed as the account.
    pub(super) async fn poll(&self, watched: &Watched) -> Vec<Sighting> {
        let (runs, owner) = (&self.own.runs, &self.facts.runnable.uid);
        let (Some(account), Some(compiled)) = (&self.account, &self.compiled) else {
            return runs.sightings(owner);
        };
        let path = watched.kind.path(&self.key.namespace);
        let mut found = Vec::new();
        let history = &self.facts.ledger.history;
        let listed = account
            .each(&path, &own_runs(&self.key), |object| {
                let reading = reading(compiled, history, &object);
                let own = reading.filter(|reading| reading.run.is_owned_by(owner));
                found.extend(own.as_ref().map(Sighting::of));
                own.is_some()
            })
            .await;
        if listed.is_err() {
            // Nobody says what is there. What was seen says how a run fared then: it is read again.
            let mut known = runs.sightings(owner);
            for sighting in known.iter_mut().filter(|sighting| !sighting.deleted) {
                sighting.rules_hash = "".into();
            }
            return known;
        }
        let poll = Poll {
            watched,
            owner: (&self.key, owner),
            found: &found,
            at: self.own.identity.connection().now(),
        };
        runs.polled(&poll, |sighting| matters(&self.runnable, &sighting.run));
        let mut known = runs.sightings(owner);
        known.retain(|known| found.iter().all(|found| found.run.uid != known.run.uid));
        known.extend(found);
        known
    }
}

/// The name that a message uses for what is not created yet.
pub(super) fn unapplied_name(rendering: &Rendering) -> String {
    rendering.document.display_name().to_owned()
}

/// The query for the runs that carry a Runnable's name.
pub(super) fn own_runs(key: &RunnableKey) -> String {
    format!(
        "labelSelector={}%3D{}",
        RUNNABLE_NAME_LABEL.replace('/', "%2F"),
        label_value(&key.name)
    )
}
