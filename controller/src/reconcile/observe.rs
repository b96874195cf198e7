//! Collects the facts of a reconciliation: mostly from caches, the rest from the API server. I/O.

use std::{collections::BTreeMap, fmt::Display, sync::Arc};

use cartouche_crds::{API_VERSION, GROUP};
use cartouche_language::{Diagnostics, weight::weight};
use cartouche_protocol::{
    category::Category,
    compiled::Compiled,
    facts::{PolicyFrom, Rendering},
    ledger::Cause,
    messages::{
        diagnosis::{Diagnosis, Fault},
        reconcile_error::{ReconcileError, Requeue},
    },
    newer_release,
    object::too_heavy,
    policy::{Asks, Policy},
};
use cartouche_templating::{Context, Rendered, Sourced, StampError, Template};
use serde_json::{Value, json};

use super::{
    made_of::RenderSources,
    reconciliation::{End, Reconciliation},
};
use crate::{
    api::Requests,
    budget::HeldFor,
    clock::boot_time,
    discovery::DiscoveryError,
    lock::lock,
    memory::{Changes, digest},
    mutants::{self, Mutant},
    templates::TemplateUnread,
};

impl Reconciliation<'_> {
    /// Reads everything that a decision needs first.
    pub(super) async fn observe(&mut self) {
        self.watch_secrets();
        if self.facts.runnable.deleting {
            return;
        }
        self.take_in_stops();
        self.facts.rendering = self.render(false).await;
        self.observe_watches().await;
    }

    /// Reads the template and the selected object consistently, after the Runnable, and renders again.
    pub(super) async fn render_again(&mut self) -> Result<(), End> {
        self.facts.rendering = self.render(true).await;
        self.look_at_the_clock();
        self.observe_watches().await;
        Ok(())
    }

    /// Notes when a spec arrived that no status reflects yet.
    pub(super) fn note_change(&self) {
        let generation = self.runnable.metadata.generation;
        if generation != self.facts.stored.observed_generation
            && let Some(cached) = self.key.find(&self.ctx.runnables)
        {
            lock(&self.memory)
                .changed
                .record_arrival(generation, cached.arrival_time());
        }
    }

    /// Notes for how long the pending change has stayed the same, for debounce.
    pub(super) fn note_what_is_due(&mut self) {
        let Ok(rendering) = &self.facts.rendering else {
            lock(&self.memory).changes_due.record_unknown(boot_time());
            return;
        };
        let hash = rendering.document.input_hash();
        // An edit may fix errors outside the document, in the account or in the inputs of a profile.
        let edited = self.facts.runnable.generation;
        lock(&self.memory).record_rendering(digest(hash), edited);
        let Some(pause) = self.facts.policy.debounce else {
            lock(&self.memory).changes_due = Changes::default();
            return;
        };
        let token = self.facts.runnable.rerun_token.as_deref();
        let what = digest((hash, token));
        let number = self.facts.ledger.next_sequence();
        let due = self.facts.may_intend().then_some((number, what));
        let mut memory = lock(&self.memory);
        self.facts.settling = memory
            .changes_due
            .record(due, pause.unsigned_abs(), boot_time());
    }

    async fn render(&mut self, consistent: bool) -> Result<Rendering, ReconcileError> {
        self.facts.policy_from = PolicyFrom::Nowhere;
        let account = self.account().await?;
        let compiled = self.template_and_policy(consistent).await?;
        let known = newer_release::known_fields(&self.runnable.spec, &compiled);
        let template = match (&compiled.template, &known) {
            (Ok(template), _) => template,
            (Err(_), Err(newer)) => return Err(newer.clone()),
            (Err(problems), Ok(())) => {
                return Err(self.stamp_failure(self.render_error(problems), problems));
            }
        };
        self.compiled = Some(compiled.clone());
        known?;
        let own = Asks::of_runnable(&self.runnable.spec);
        self.facts.policy = Policy::merge(&own, &compiled.asks).map_err(unusable)?;
        self.budget.renew(HeldFor::Rendering);
        self.hold_inputs().await?;
        let selected = match self.runnable.spec.selector.clone() {
            None => {
                self.pick_nothing();
                None
            }
            Some(selector) => {
                let selected = self.select(&account, &selector, consistent).await;
                self.has_unpicked = selected.is_err();
                let selected = selected?;
                self.hold_selected(&selected).await?;
                Some(selected)
            }
        };
        let sources = RenderSources {
            compiled: compiled.clone(),
            selected: selected.clone(),
            inputs: Box::pin(self.read_inputs(&account, consistent)).await?,
        };
        let cause = Cause {
            generation: self.facts.runnable.generation,
            template_uid: compiled.uid.clone(),
            template_generation: compiled.generation,
            ancestors: self.facts.dependencies.ancestors.clone(),
        };
        if let (Ok(before), Some(known)) = (&self.facts.rendering, &self.sources)
            && sources.are(known)
        {
            return Ok(Rendering {
                consistent,
                cause,
                ..before.clone()
            });
        }
        let rendered = self.document_in_place(template, selected.as_deref(), &sources.inputs);
        let (document, context) = rendered.await?;
        let rendering = Rendering {
            consistent,
            document: Arc::new(document),
            context: Arc::new(context),
            needs_profile: compiled.needs_profile,
            rules_hash: compiled.rules_hash.clone(),
            has_outputs: template.has_outputs(),
            has_health_rule: template.has_health_rule(),
            cause,
        };
        let name = rendering.document.fixed_name();
        self.facts.policy.check_name(name).map_err(unusable)?;
        self.check_kind(&rendering).await?;
        let mounted = template.check_is_mounted(rendering.document.document());
        mounted.map_err(|found| self.stamp_failure(self.render_error(&found), &found))?;
        self.sources = Some(sources);
        Ok(rendering)
    }

    /// Returns the template, and takes the policy as far as it is usable, so that runs at work are governed even if
    /// something else fails.
    async fn template_and_policy(
        &mut self,
        consistent: bool,
    ) -> Result<Arc<Compiled>, ReconcileError> {
        let compiled = self.template(consistent).await?;
        let own = Asks::of_runnable(&self.runnable.spec);
        self.facts.policy = Policy::as_far_as_usable(&own, &compiled.asks);
        // If the template cannot be read, the kind of its runs is unknown, and so which runs its `stop` is for.
        self.facts.policy_from = match (&compiled.template, consistent) {
            (Err(_), _) => PolicyFrom::Nowhere,
            (Ok(_), true) => PolicyFrom::Read,
            (Ok(_), false) => PolicyFrom::Cache,
        };
        let kind = compiled
            .template
            .as_ref()
            .ok()
            .and_then(Template::literal_kind);
        self.facts.literal_kind = kind.map(|(version, kind)| (version.to_owned(), kind.to_owned()));
        Ok(compiled)
    }

    /// Renders a template for the Runnable, and returns the context that its tags saw.
    fn document(
        &self,
        template: &Template,
        selected: Option<&Value>,
        inputs: &BTreeMap<String, Sourced>,
    ) -> Result<(Rendered, Context), ReconcileError> {
        let runnable = json!({
            "apiVersion": API_VERSION, "kind": "Runnable", "metadata": self.runnable.metadata, "spec": self.runnable.spec,
        });
        Context::from_owned(runnable, selected)
            .and_then(|context| context.with_sources(inputs))
            .and_then(|context| template.render_and_keep(context.with_hashing(self.ctx.hashing)))
            .map_err(|problems| self.stamp_failure(self.render_error(&problems), &problems))
    }

    /// Renders likewise, once there is room for the document.
    pub(super) async fn document_in_place(
        &self,
        template: &Template,
        selected: Option<&Value>,
        inputs: &BTreeMap<String, Sourced>,
    ) -> Result<(Rendered, Context), ReconcileError> {
        let render = || self.document(template, selected, inputs);
        let weigh = |rendered: &(Rendered, Context)| weight(rendered.0.document());
        self.budget.in_place(render, weigh).await
    }

    /// Reserves room for the inputs that the Runnable gives itself.
    async fn hold_inputs(&self) -> Result<(), ReconcileError> {
        let held = self.budget.hold(HeldFor::Rendering, self.inputs_weigh);
        let at = ["runnable", "spec", "inputs"];
        let refused = |error| self.no_room(at, format!("what the Runnable gives {error}"));
        held.await.map_err(refused)
    }

    /// Reserves room for the selected object.
    async fn hold_selected(&self, selected: &Value) -> Result<(), ReconcileError> {
        let weight = too_heavy(selected).unwrap_or_else(|| weight(selected));
        let held = self.budget.hold(HeldFor::Rendering, weight).await;
        held.map_err(|error| {
            let text = |pointer| selected.pointer(pointer).and_then(Value::as_str);
            let [kind, name] = ["/kind", "/metadata/name"].map(|it| text(it).unwrap_or_default());
            self.no_room(["selected"], format!("{kind} {name} {error}"))
        })
    }

    fn no_room<'a>(&self, steps: impl IntoIterator<Item = &'a str>, why: String) -> ReconcileError {
        let problems = Diagnostics::no_room(steps, why);
        self.stamp_failure(self.render_error(&problems), &problems)
    }

    pub(super) fn stamp_failure(&self, cause: Diagnosis, error: &dyn Display) -> ReconcileError {
        let template = &self.facts.runnable.template;
        let text = format!("unable to stamp object for run template [{template}]: {error}");
        ReconcileError::from_diagnosis(
            Category::TemplateStampFailure,
            Requeue::OnChange,
            cause,
            Some(text),
        )
    }

    /// Returns requests as the Runnable's ServiceAccount, which must exist.
    async fn account(&mut self) -> Result<Requests, ReconcileError> {
        if let Some(account) = &self.account {
            return Ok(account.clone());
        }
        let (namespace, name) = (&self.key.namespace, self.runnable.spec.service_account());
        let requests = self.ctx.identity.requests_as(namespace, name).await?;
        let requests = requests.within(self.budget.clone());
        if !self.ctx.accounts.exists(namespace, name) {
            return Err(ReconcileError::from_diagnosis(
                Category::ServiceAccountError,
                Requeue::OnChange,
                Diagnosis::AccountMissing(namespace.clone(), name.to_owned()),
                Some(format!(
                    "failed to get service account object from api server [{namespace}/{name}]: failed to get object [{namespace}/{name}] from api server: \
                     ServiceAccount {name:?} not found"
                )),
            ));
        }
        self.account = Some(requests.clone());
        Ok(requests)
    }

    async fn template(&self, consistent: bool) -> Result<Arc<Compiled>, ReconcileError> {
        let name = &self.facts.runnable.template;
        let missing = |requeue, cause, error: String| {
            let text = format!(
                "unable to get run template [{name}]: failed to get run template object from api server [ClusterRunTemplate/{name}]: {error}"
            );
            ReconcileError::from_diagnosis(
                Category::RunTemplateNotFound,
                requeue,
                cause,
                Some(text),
            )
        };
        let absent = || {
            missing(
                Requeue::OnChange,
                Diagnosis::TemplateMissing(name.clone()),
                format!("ClusterRunTemplate.{GROUP} {name:?} not found"),
            )
        };
        if !consistent || mutants::makes(Mutant::StaleTemplate) {
            return self.ctx.templates.find_cached(name).ok_or_else(absent);
        }
        let own = self.ctx.identity.own();
        match self.ctx.templates.read(name, self.arrived, own).await {
            Ok(compiled) => Ok(compiled),
            Err(TemplateUnread::Absent) => Err(absent()),
            Err(TemplateUnread::Failed(error)) => {
                let cause = Diagnosis::TemplateUnread(name.clone());
                Err(missing(Requeue::Backoff, cause, error))
            }
        }
    }

    /// Checks that the document can be a run: in the Runnable's namespace, and of a namespaced kind that is served.
    async fn check_kind(&mut self, rendering: &Rendering) -> Result<(), ReconcileError> {
        let document = &rendering.document;
        let (api_version, kind) = (document.api_version(), document.kind());
        document
            .check_namespace(&self.key.namespace)
            .map_err(|error| self.stamp_error(error))?;
        match self.ctx.kinds.find(api_version, kind).await {
            Ok(found) if found.namespaced => Ok(()),
            Ok(_) => Err(self.stamp_failure(
                Diagnosis::ClusterScoped(api_version.to_owned(), kind.to_owned()),
                &format!("{kind} of {api_version} is a cluster-scoped kind: a run must live in the namespace of its Runnable"),
            )),
            Err(error) => {
                let error = self.ctx.kinds.with_hint(error);
                Err(self.lookup_error(&unapplied_name(rendering), &error))
            }
        }
    }

    /// Returns the error for a document that cannot be stamped, such as one for another namespace.
    pub(super) fn stamp_error(&self, error: StampError) -> ReconcileError {
        let cause = self.render_error(&error.diagnostic().into());
        self.stamp_failure(cause, &error)
    }

    /// Returns the error for the kind look-up or list before a create.
    pub(super) fn lookup_error(&self, name: &str, error: &DiscoveryError) -> ReconcileError {
        let (namespace, template) = (&self.key.namespace, &self.facts.runnable.template);
        ReconcileError::from_diagnosis(
            Category::StampedObjectRejectedByAPIServer,
            error.requeue(),
            self.cause_of_discovery(error, "list the runs"),
            Some(format!(
                "unable to apply object [{namespace}/{name}] for run template [{template}]: unable to list from api server: {error}"
            )),
        )
    }
}

/// Returns the error for an unusable policy.
fn unusable(faults: Vec<Fault>) -> ReconcileError {
    let cause = Diagnosis::PolicyInvalid(faults);
    ReconcileError::from_diagnosis(Category::PolicyInvalid, Requeue::OnChange, cause, None)
}

/// Returns the name that messages use for a run that is not created yet.
pub(super) fn unapplied_name(rendering: &Rendering) -> String {
    rendering.document.display_name().to_owned()
}
