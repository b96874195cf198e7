//! Creates the run of the pending entry, as the Runnable's account. I/O.

use std::{fmt::Write as _, sync::Arc, time::Duration};

use cartouche_crds::{
    BESIDE_TEMPLATE, CurrentRun, PinnedProfile, RERUN_REQUEST_ANNOTATION, RerunRequest,
    TO_BESIDE_TEMPLATE,
};
use cartouche_engines::kinds::holds_secrets;
use cartouche_language::{Owner, weight::weight};
use cartouche_protocol::{
    category::Category,
    evaluate::fetched_run,
    facts::{CreateOutcome, Rendering},
    ledger::CachedRun,
    messages::reconcile_error::{ReconcileError, Requeue},
    object::Object,
};
use cartouche_templating::{Rendered, Stamp, stamp};
use kube::ResourceExt;
use serde_json::{Value, json};

use super::{
    observe::unapplied_name,
    reconciliation::{End, Reconciliation},
    write::RunnableVersion,
};
use crate::{
    api::{ApiError, ResourcePath},
    clock::boot_time,
    discovery::{DiscoveryError, Kind},
    events::{Occasion, WarningReason},
    lock::lock,
    memory::{Operation, digest},
    mutants,
};

/// Maximum time from the read of a ledger to the create that it allows; see
/// [`cartouche_protocol::ledger::MINIMUM_AGE`].
pub(super) const LEDGER_FRESH_FOR: Duration = Duration::from_secs(10);

impl Reconciliation<'_> {
    /// Returns the object to create for the entry of the ledger, and its path. Another name, number or request is for
    /// dry runs only.
    pub(super) fn stamp(
        &self,
        sequence: i64,
        name: Option<&str>,
        token: Option<&str>,
    ) -> Result<(ResourcePath, Value), ReconcileError> {
        let rendering = self.facts.rendering.as_ref().map_err(Clone::clone)?;
        let ledger = &self.facts.ledger;
        let made = match &ledger.current {
            Some(current) => self.facts.made_for(rendering, current)?,
            None => self.facts.made_next(rendering, ledger, None)?,
        };
        self.stamped_as(
            rendering,
            &made,
            ledger.profile.as_deref(),
            (sequence, name, token),
        )
    }

    /// Returns the object and path of a dry run that is compared with an existing run, whose rendering is `made`.
    pub(super) fn stamped_like(
        &self,
        made: &Rendered,
        sequence: i64,
        name: Option<&str>,
    ) -> Result<(ResourcePath, Value), ReconcileError> {
        let rendering = self.facts.rendering.as_ref().map_err(Clone::clone)?;
        self.stamped_as(rendering, made, None, (sequence, name, None))
    }

    /// Returns the object and path of a dry run for the number that follows.
    pub(super) fn stamped_next(
        &self,
        sequence: i64,
        name: Option<&str>,
        token: Option<&str>,
    ) -> Result<(ResourcePath, Value), ReconcileError> {
        let rendering = self.facts.rendering.as_ref().map_err(Clone::clone)?;
        let ledger = &self.facts.ledger;
        let chosen = self.facts.choose_profile(rendering, ledger);
        let pinned = chosen.ok().and_then(|chosen| chosen.pinned);
        let made = self.facts.made_next(rendering, ledger, pinned.as_ref())?;
        self.stamped_as(rendering, &made, pinned.as_ref(), (sequence, name, token))
    }

    fn stamped_as(
        &self,
        rendering: &Rendering,
        document: &Rendered,
        pinned: Option<&PinnedProfile>,
        (sequence, name, token): (i64, Option<&str>, Option<&str>),
    ) -> Result<(ResourcePath, Value), ReconcileError> {
        let kind = self.rendered_kind(rendering)?;
        let runnable = &self.facts.runnable;
        let profile = pinned.and_then(|pinned| self.facts.profiles.get(&pinned.name));
        let profile = profile.map(|profile| profile.version.to_string());
        let fresh = document.run_name(&runnable.uid, sequence);
        let request = token.and_then(|token| self.rerun_request(token));
        let current = self.facts.ledger.current.as_ref();
        let current = current.filter(|current| current.sequence == sequence);
        // A number keeps the hash that it was assigned with.
        let input_hash = match current {
            Some(current) => rendering.hash_like(&current.input_hash),
            None => document.input_hash(),
        };
        let sources = current.and_then(|current| current.sources.as_ref());
        let sources = sources
            .filter(|it| !it.is_empty())
            .map(|it| json!(it).to_string());
        let marks = Stamp {
            owner: Owner {
                name: &runnable.name,
                namespace: &runnable.namespace,
                uid: &runnable.uid,
            },
            template_name: &runnable.template,
            name: name.unwrap_or(&fresh),
            sequence,
            input_hash,
            rerun_token: token,
            rerun_request: request.as_deref(),
            sources: sources.as_deref(),
            profile: profile.as_deref(),
            profile_refresh: pinned.and_then(|it| it.refresh_token.as_deref()),
        };
        let object = stamp(document, &marks).map_err(|error| self.stamp_error(error))?;
        Ok((kind.path(&runnable.namespace), object))
    }

    /// Returns the kind of the rendering, which rendering has looked up.
    fn rendered_kind(&self, rendering: &Rendering) -> Result<Arc<Kind>, ReconcileError> {
        let (api_version, kind) = (rendering.document.api_version(), rendering.document.kind());
        self.ctx.kinds.find_known(api_version, kind).ok_or_else(|| {
            let unknown = DiscoveryError::unknown(api_version, kind);
            self.lookup_error(&unapplied_name(rendering), &unknown)
        })
    }

    /// Returns the annotation with the author and reason of the re-run request of this token, if known.
    fn rerun_request(&self, token: &str) -> Option<String> {
        let annotation = self.runnable.annotations().get(RERUN_REQUEST_ANNOTATION)?;
        Some(RerunRequest::parse(annotation, token)?.annotation())
    }

    /// Stamps an object once there is room for it: a profile may have made it far heavier than the rendering.
    pub(super) async fn in_place(
        &self,
        stamp: impl Fn() -> Result<(ResourcePath, Value), ReconcileError>,
    ) -> Result<(ResourcePath, Value), ReconcileError> {
        self.budget.in_place(stamp, |made| weight(&made.1)).await
    }

    /// Creates the run of the pending entry.
    pub(super) async fn create(&mut self) -> Result<(), End> {
        let (Some(account), Some(current)) =
            (self.account.clone(), self.facts.ledger.current.clone())
        else {
            return Err(End::Conflict);
        };
        let (name, token) = (Some(&*current.name), current.rerun_token.as_deref());
        let (path, object) = self
            .in_place(|| self.stamp(current.sequence, name, token))
            .await
            .map_err(|error| self.fail(Operation::Create(current.sequence), error))?;
        // Comes after any wait.
        self.confirm_ledger().await?;
        let object = mutants::object(object);
        let send = || account.create_with_warnings(&path, &object);
        let answer = mutants::answer(send, ApiError::is_passing).await;
        self.look_at_the_clock();
        let outcome = match answer {
            Ok((Object(object), warnings)) => {
                self.report_warnings(&warnings);
                let end = self.handle_created(&current, &object);
                if matches!(end, End::PutOff) {
                    self.report_doubtful_values();
                }
                return Err(end);
            }
            Err(error) if error.is_already_exists() => CreateOutcome::AlreadyExists,
            Err(error) => self.not_created(&current, &error).await,
        };
        self.facts.created = Some(outcome);
        Ok(())
    }

    /// Returns true if the ledger was read, or its write was sent, recently enough for a create to follow.
    pub(super) fn is_ledger_fresh(&self) -> bool {
        boot_time().saturating_sub(self.read_at) <= LEDGER_FRESH_FOR
    }

    /// Reports warnings of the API server: a dropped field is most often misspelt.
    fn report_warnings(&self, warnings: &[String]) {
        // A webhook's warning may contain part of a Secret.
        if warnings.is_empty() || self.has_secrets() {
            return;
        }
        let Some(compiled) = &self.compiled else {
            return;
        };
        let warned = digest((&compiled.uid, compiled.generation, warnings));
        let before = lock(&self.memory).reported_warnings.replace(warned);
        if before != Some(warned) {
            let mut message = format!(
                "the API server warns about the run: {}",
                warnings.join(", ")
            );
            if let Some(field) = beside_template(warnings) {
                let _ = write!(message, "; to do: of {field}: {TO_BESIDE_TEMPLATE}");
            }
            self.publish_warning(WarningReason::RunWarning.as_str(), message);
        }
        self.ctx.templates.warn(compiled, warnings);
    }

    /// Reports values of the run that are probably mistakes. If such a value makes the run fail, the run itself says
    /// less about it.
    fn report_doubtful_values(&self) {
        let (Some(compiled), Ok(rendering)) = (&self.compiled, &self.facts.rendering) else {
            return;
        };
        // Even the fact that a value of a Secret is a number would leak something of it.
        if self.has_secrets() {
            return;
        }
        let template = compiled.template.iter();
        let values = template.flat_map(|it| it.doubtful_values(&rendering.context));
        let values: Vec<_> = values.map(|value| value.to_string()).collect();
        if !values.is_empty() {
            self.publish_warning(WarningReason::DoubtfulValue.as_str(), values.join("; "));
        }
    }

    /// Handles a successful create. The run is confirmed later: if it has ended by then, together with its result.
    fn handle_created(&self, current: &CurrentRun, object: &Value) -> End {
        let compiled = self.compiled.as_ref();
        let Some(fetched) = compiled.and_then(|compiled| fetched_run(compiled, &[], object)) else {
            let error = ApiError::Unanswered("the answer is not an object".to_owned());
            return self.fail(
                Operation::Create(current.sequence),
                self.refusal(&current.name, &error),
            );
        };
        let resource = self.resource_of(current);
        self.publish(&Occasion::Applied(format!(
            "{resource}/{}",
            fetched.run.name
        )));
        self.ctx.metrics.run_created();
        let mut memory = lock(&self.memory);
        if let Some(since) = memory.changed.record_run() {
            let took = boot_time().saturating_sub(since);
            self.ctx.metrics.change_to_run(took);
        }
        memory.state.made = Some(CachedRun::from_fetched(&fetched));
        memory.clear_making_failures();
        memory.state.unconfirmed = Some(Box::new(fetched));
        End::PutOff
    }

    /// Handles a create without a positive answer.
    async fn not_created(&self, current: &CurrentRun, error: &ApiError) -> CreateOutcome {
        if error.is_not_found() {
            self.ctx.kinds.forget(&current.api_version);
        }
        let refusal = self
            .with_all_missing(self.refusal(&current.name, error))
            .await;
        let mut memory = lock(&self.memory);
        if error.is_definite_refusal() {
            let times = (self.facts.now, boot_time());
            let refusal = memory.record_refusal(current.sequence, self.making(), refusal, times);
            CreateOutcome::Refused(refusal)
        } else {
            // While a server is overloaded, no status is written for each try.
            let operation = Operation::Create(current.sequence);
            memory.record_failure(operation, &refusal, boot_time());
            CreateOutcome::Unknown(refusal)
        }
    }

    /// Returns `resource.group` of the current run, as events show it.
    pub(super) fn resource_of(&self, current: &CurrentRun) -> String {
        let kinds = &self.ctx.kinds;
        let kind = kinds.find_known(&current.api_version, &current.kind);
        kind.map(|kind| kind.resource()).unwrap_or_default()
    }

    /// Confirms that the ledger is current before a run is made or stopped, since a cache may be of any age. Unless
    /// this reconciliation wrote the ledger, it is read once more.
    pub(super) async fn confirm_ledger(&mut self) -> Result<(), End> {
        if !self.has_written {
            let read_at = boot_time();
            self.read_again(|found: &RunnableVersion| found.metadata.resource_version.as_str())
                .await?;
            self.read_at = read_at;
        }
        if self.is_ledger_fresh() {
            Ok(())
        } else {
            Err(End::Conflict)
        }
    }

    pub(super) fn refusal(&self, name: &str, error: &ApiError) -> ReconcileError {
        let requeue = if error.is_namespace_terminating() {
            Requeue::OnChange
        } else if error.is_not_found() {
            Requeue::OnKind
        } else {
            error.requeue()
        };
        let (namespace, template) = (&self.key.namespace, &self.facts.runnable.template);
        ReconcileError::from_diagnosis(
            Category::StampedObjectRejectedByAPIServer,
            requeue,
            self.cause_of_refusal(error),
            Some(format!(
                "unable to apply object [{namespace}/{name}] for run template [{template}]: create: {}",
                self.redact_error(error)
            )),
        )
    }

    /// Returns true if the rendering may contain parts of a Secret: it is one, or one is selected.
    pub(super) fn has_secrets(&self) -> bool {
        let selector = self.runnable.spec.selector.as_ref();
        let selected = selector.and_then(|selector| selector.resource.kind.as_deref());
        let rendered = self.facts.rendering.as_ref().ok();
        let rendered = rendered.map(|rendering| rendering.document.kind());
        selected.into_iter().chain(rendered).any(holds_secrets)
    }
}

/// Returns the template field that was written into the run instead, if the API server warns of one.
fn beside_template(warnings: &[String]) -> Option<&'static str> {
    let is_meant = |field: &&str| {
        let unknown = format!("unknown field \"{field}\"");
        warnings.contains(&unknown)
    };
    BESIDE_TEMPLATE.into_iter().find(is_meant)
}

#[cfg(test)]
mod tests {
    use super::beside_template;

    #[test]
    fn a_field_of_the_template_is_found_at_the_top_of_its_run_alone() {
        let warned = |text: &str| beside_template(&["other".to_owned(), text.to_owned()]);
        assert_eq!(warned("unknown field \"outputs\""), Some("outputs"));
        assert_eq!(warned("unknown field \"spec.outputs\""), None);
        assert_eq!(warned("unknown field \"colour\""), None);
    }
}
