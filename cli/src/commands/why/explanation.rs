//! The explanation of a Runnable's state as data: for programs, and for the text made from it.

use std::{borrow::Cow, fmt::Write as _};

use cartouche_crds::{
    ClusterRunTemplate, PendingRun, PinnedProfile, Runnable,
    conditions::{READY, RUN_TEMPLATE_READY, STAMPED_OBJECT_CONDITION, TRUE},
};
use cartouche_engines::{RunReason, is_of_memory_limit, kinds::standing};
use cartouche_protocol::{
    advice::advice, category::Category, ledger::Due, messages::format::MessageParts,
    status::blocking,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::ResourceExt as _;
use serde::Serialize;

use super::{
    explained_run::{self, ExplainedRun},
    log, look,
    retry::{RetryState, deadline},
    unseen, writers,
};
use crate::{
    cluster::{AccessDenied, Cluster, first_line, split},
    live::{
        events, newer_release, pending,
        place::Place,
        prospect::{self, Edited, Prospect},
        requests, runs,
        sources::SourcesState,
    },
};

/// Advice if no controller has written a status.
const UNOBSERVED: &str = "check that the controller runs, watches this namespace and may write runnables/status: see `kubectl get events` and its log";

/// Advice if a retry is held back.
const RESUME: &str = "to allow the retry, use `cartouche resume`, or set spec.suspend to false";

/// All that `why` says.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WhyReport {
    pub(super) name: String,
    pub(super) namespace: String,
    /// Status of the condition Ready; `None` if no controller has observed the Runnable.
    pub(super) ready: Option<String>,
    pub(super) reason: String,
    pub(super) message: String,
    pub(super) suspended: bool,
    /// Reason why controllers of this release leave the Runnable alone, if they do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) left_alone: Option<String>,
    /// Profile that the Runnable is pinned to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) profile: Option<PinnedProfile>,
    /// True if the status is that of the last change.
    pub(super) observed: bool,
    /// Advice; `None` if there is nothing to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) to_do: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) blocked_by: Option<BlockedBy>,
    /// Pending run, if one waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) pending: Option<PendingRun>,
    /// Current run.
    pub(super) run: Option<ExplainedRun>,
    /// Retries of the current run; `None` unless it failed and has a retry policy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) retry: Option<RetryState>,
    pub(super) next: NextRun,
    /// State of the sources of the inputs.
    #[serde(flatten)]
    pub(super) sources: SourcesState,
    /// Facts of the cluster that say more than the status.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) seen: Vec<String>,
    /// Runnable that writes a missing object of the inputs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) writers: Option<String>,
    /// Warning of an event that no condition has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) warned: Option<String>,
    /// Warnings of the template, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) warnings: Option<String>,
    /// Reason why the template could not be read, if so; the rest needs none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) not_seen: Option<String>,
    /// Namespace that hints with commands refer to.
    #[serde(skip)]
    pub(super) place: Place,
}

/// Condition that keeps Ready from being True.
#[derive(Debug, Serialize)]
pub(super) struct BlockedBy {
    pub(super) condition: String,
    pub(super) reason: String,
    pub(super) message: String,
}

/// Next run.
#[derive(Debug, Serialize)]
#[serde(tag = "due")]
pub(super) enum NextRun {
    /// This run is to come.
    New { sequence: i64 },
    /// This run is to be made.
    Pending { sequence: i64 },
    /// This run is the rendered one: there is nothing to run.
    Nothing { sequence: i64 },
    /// The controller has to find out if this run is the rendered one.
    OtherHash { sequence: i64 },
    /// No run: the Runnable is being deleted, and waits for these finalizers.
    Deleting { finalizers: Vec<String> },
    /// The next run is unknown.
    Unknown { message: String },
}

impl WhyReport {
    pub(super) async fn fetch(runnable: &Runnable, cluster: &Cluster) -> anyhow::Result<Self> {
        let mut runs = runs::runs(runnable);
        requests::add(&mut runs, runnable, cluster).await?;
        let name = runnable.name_any();
        let prospect = prospect::of_named(cluster, &name, &Edited::default()).await;
        let mut run =
            explained_run::find_current(runnable, &runs, prospect.as_ref().ok(), cluster).await;
        let read = if let Ok(prospect) = &prospect {
            Ok(Some(prospect.template.clone()))
        } else {
            // A template that does not render now may still have warnings.
            let name = &runnable.spec.run_template_ref.name;
            Box::pin(cluster.template(name)).await
        };
        let is_hidden = read.as_ref().is_err_and(AccessDenied::hides_templates);
        let (template, not_seen) = split(read);
        let warnings = template.as_ref().and_then(warnings);
        let revisions = prospect.as_ref().ok().map(|it| it.revisions.clone());
        let of_profile = prospect.as_ref().ok().and_then(of_profile);
        let both = run.as_ref().zip(prospect.as_ref().ok());
        let shows_log =
            both.is_some_and(|(run, prospect)| !log::may_hold_secrets(prospect, run.run.sequence));
        let next = match &runnable.metadata.deletion_timestamp {
            None => next(prospect),
            Some(_) => NextRun::Deleting {
                finalizers: runnable.finalizers().to_vec(),
            },
        };
        if let (Some(run), Some(template)) = (&mut run, &template) {
            let object = explained_run::at_work(&run.run, cluster).await;
            let standing = object.as_ref().map(standing).unwrap_or_default();
            run.deadline = deadline(runnable, template, standing);
            run.judged = object.and_then(|it| explained_run::find_rules(template, &it));
            if shows_log {
                run.log = Box::pin(log::last_lines(&run.run, cluster)).await;
            }
        }
        if let Some(run) = &mut run {
            let reason = runs::condition(runnable, READY).map(|it| it.reason.as_str());
            let hindered = reason.and_then(RunReason::parse);
            let warned = explained_run::warning(&run.run, hindered, cluster).await;
            if let Some(warned) = warned {
                run.warning = Some(warned.text);
                run.cure = warned.cure;
            }
        }
        let about = (run, next, warnings);
        let retry = match &template {
            Some(template) => RetryState::from_objects(runnable, template),
            None => RetryState::by_status(runnable),
        };
        let revisions = revisions.unwrap_or_default();
        let sources = SourcesState::fetch(runnable, revisions, cluster).await?;
        let explanation = Self::with(runnable, cluster.namespace.clone(), about);
        let explanation = explanation.with_cure_of_event();
        let explanation = explanation.with_retry(retry).with_place(cluster.place());
        let explanation = explanation.with_profile(of_profile);
        let explanation = explanation.without_template(not_seen, is_hidden);
        let seen = match &explanation.blocked_by {
            Some(blocking) => {
                let said = (blocking.reason.as_str(), blocking.message.as_str());
                Box::pin(look::look(said, runnable, cluster)).await
            }
            None => look::LookResult::default(),
        };
        let explanation = explanation.with_seen(seen);
        let warned = match runnable.uid() {
            Some(uid) => events::last_warning_of_runnable(&uid, cluster).await,
            None => None,
        };
        let writers = if explanation.waits_for_inputs() {
            writers::writers(runnable, cluster).await
        } else {
            None
        };
        Ok(Self {
            to_do: match &writers {
                Some(writers) => Some(writers.to_do.clone()),
                None => explanation.to_do,
            },
            writers: writers.map(|it| it.said),
            warned: warned.map(|it| it.text),
            sources,
            ..explanation
        })
    }

    fn with(
        runnable: &Runnable,
        namespace: String,
        (run, next, warnings): (Option<ExplainedRun>, NextRun, Option<String>),
    ) -> Self {
        let ready = runs::condition(runnable, READY);
        let text = |field: fn(&Condition) -> &String| ready.map(field).cloned().unwrap_or_default();
        let status = runnable.status.as_ref();
        let blocking = status
            .filter(|_| ready.is_none_or(|ready| ready.status != TRUE))
            .and_then(blocking);
        // A Runnable that is being deleted makes no run, even if the user fixes the problem.
        let is_deleted = matches!(next, NextRun::Deleting { .. });
        let advised = status.zip(blocking).filter(|_| !is_deleted);
        let advised = advised.and_then(|(status, blocking)| advice(status, blocking));
        let newer = newer_release::left_alone(runnable);
        let newer = newer
            .as_ref()
            .map(|newer| MessageParts::parse(&newer.message));
        let advised = newer
            .as_ref()
            .map_or(advised, |newer| newer.to_do.map(Cow::Borrowed));
        Self {
            name: runnable.name_any(),
            namespace,
            left_alone: newer.map(|newer| newer.what.to_owned()),
            ready: ready.map(|ready| ready.status.clone()),
            reason: text(|ready| &ready.reason),
            message: text(|ready| &ready.message),
            suspended: runnable.spec.suspend == Some(true),
            profile: status.and_then(|status| status.profile.as_deref().cloned()),
            observed: status
                .is_some_and(|status| status.observed_generation == runnable.metadata.generation),
            to_do: advised
                .or(ready.is_none().then_some(Cow::Borrowed(UNOBSERVED)))
                .map(Cow::into_owned),
            blocked_by: blocking.map(|condition| BlockedBy {
                condition: condition.type_.clone(),
                reason: condition.reason.clone(),
                message: condition.message.clone(),
            }),
            pending: pending::pending(runnable).cloned(),
            run,
            retry: None,
            next,
            sources: SourcesState::default(),
            seen: Vec::new(),
            writers: None,
            warned: None,
            warnings,
            not_seen: None,
            place: Place::default(),
        }
    }

    /// Replaces the advice of the status by the cure of an event, which is about the cause.
    fn with_cure_of_event(mut self) -> Self {
        let cure = self.run.as_ref().and_then(|run| run.cure);
        // For the effects of a memory limit, events say less than the status.
        let is_said = is_of_memory_limit(&self.message);
        if let Some(cure) = cure.filter(|_| !is_said) {
            self.to_do = Some(cure.to_owned());
        }
        self
    }

    /// Returns true if an input is missing.
    fn waits_for_inputs(&self) -> bool {
        let blocking = self.blocked_by.as_ref();
        blocking.is_some_and(|it| it.reason == Category::DependencyNotReady.as_str())
    }

    fn with_seen(mut self, seen: look::LookResult) -> Self {
        self.seen = seen.said;
        self.to_do = match seen.to_do {
            Some(to_do) if self.to_do.is_some() => Some(to_do),
            _ => self.to_do,
        };
        if let (Some(to_do), Some(hint)) = (&mut self.to_do, seen.hint) {
            let _ = write!(to_do, " ({hint})");
        }
        self
    }

    /// Rewrites the commands in the advice for this namespace.
    fn with_place(mut self, place: Place) -> Self {
        let to_do = self.to_do.as_deref();
        self.to_do = to_do.map(|advice| place.for_runnable(advice, &self.name));
        self.place = place;
        self
    }

    /// Adds a remark to advice about a failing run if a profile sets fields of the run. The advice is for the
    /// template, but the profile may override it, and a change of the profile makes no run.
    fn with_profile(mut self, of_profile: Option<String>) -> Self {
        let blocking = self.blocked_by.as_ref();
        let is_of_run = blocking.is_some_and(|it| it.condition == STAMPED_OBJECT_CONDITION);
        if let (Some(to_do), Some(sets)) = (&mut self.to_do, of_profile.filter(|_| is_of_run)) {
            let rerun = self.place.command(&format!("rerun {}", self.name));
            let _ = write!(
                to_do,
                "; {sets}: correct these there, then run again: `{rerun}`"
            );
        }
        self
    }

    /// Adds the reason why the template was not read. If the user lacks the right to read it, limits the advice to
    /// what works without; other reasons are temporary.
    fn without_template(mut self, not_seen: Option<String>, is_hidden: bool) -> Self {
        if is_hidden {
            let (name, place) = (&self.name, &self.place);
            let advice = self.to_do.as_deref();
            self.to_do = advice.map(|advice| unseen::advice(advice, name, place));
        }
        self.not_seen = not_seen;
        self
    }

    /// Adds the retries, and removes advice: before a retry the user has nothing to do, unless something blocks it.
    fn with_retry(mut self, retry: Option<RetryState>) -> Self {
        let in_its_way = self.blocked_by.as_ref().is_some_and(|blocked| {
            blocked.condition == RUN_TEMPLATE_READY
                && blocked.reason != Category::Suspended.as_str()
        });
        let retry = retry.map(|retry| if in_its_way { retry.block() } else { retry });
        match &retry {
            Some(RetryState::Scheduled { .. }) if self.ready.is_some() => self.to_do = None,
            Some(RetryState::Said { .. }) if !in_its_way => self.to_do = None,
            Some(RetryState::Held { .. }) if !in_its_way => self.to_do = Some(RESUME.to_owned()),
            _ => {}
        }
        self.retry = retry;
        self
    }
}

/// Returns a phrase with the fields of the run that a profile sets, or `None`.
fn of_profile(prospect: &Prospect) -> Option<String> {
    let (name, fields) = (
        &prospect.profile.as_ref()?.name,
        prospect.making().format_merged()?,
    );
    Some(format!("ClusterRunProfile {name} sets {fields}"))
}

/// Returns the warnings of an accepted template, or `None`.
fn warnings(template: &ClusterRunTemplate) -> Option<String> {
    let mut conditions = template.status.iter().flat_map(|status| &status.conditions);
    let accepted = conditions.find(|condition| condition.reason == "AcceptedWithWarnings")?;
    Some(accepted.message.clone())
}

/// Returns the next run, by what is rendered.
fn next(prospect: anyhow::Result<Prospect>) -> NextRun {
    match prospect.map(|prospect| (prospect.due, prospect.unknown_hash())) {
        Ok((Some(Due::New(sequence)), _)) => NextRun::New { sequence },
        Ok((Some(Due::Pending(sequence)), _)) => NextRun::Pending { sequence },
        Ok((Some(Due::Nothing(sequence)), _)) => NextRun::Nothing { sequence },
        Ok((Some(Due::OtherHash(sequence)), _)) => NextRun::OtherHash { sequence },
        Ok((None, unknown_hash)) => NextRun::Unknown {
            message: unknown_hash.unwrap_or_default(),
        },
        Err(error) => NextRun::Unknown {
            message: first_line(&error),
        },
    }
}

#[cfg(test)]
pub(super) mod tests {
    use cartouche_crds::conditions::RUN_IN_PROGRESS;
    use serde_json::{Value, json};

    use super::*;

    /// Returns the explanation of a Runnable with these conditions, whose next run is unknown.
    pub(in super::super) fn explanation(conditions: &Value, status: bool) -> WhyReport {
        let mut runnable = json!({
            "apiVersion": "carto.run/v1alpha1", "kind": "Runnable",
            "metadata": { "name": "hello", "generation": 2 },
            "spec": { "runTemplateRef": { "name": "greet" } },
        });
        if status {
            runnable["status"] = json!({ "observedGeneration": 2, "conditions": conditions });
        }
        let runnable = serde_json::from_value(runnable).unwrap();
        let next = NextRun::New { sequence: 1 };
        WhyReport::with(&runnable, "demo".to_owned(), (None, next, None))
    }

    pub(in super::super) fn condition(name: &str, status: &str, reason: &str) -> Value {
        json!({
            "type": name, "status": status, "reason": reason, "message": "m",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        })
    }

    #[test]
    fn of_a_runnable_that_is_being_deleted_nothing_is_to_be_mended() {
        let runnable = serde_json::from_value(json!({
            "apiVersion": "carto.run/v1alpha1", "kind": "Runnable",
            "metadata": { "name": "hello" },
            "spec": { "runTemplateRef": { "name": "greet" } },
            "status": { "conditions": [
                condition("RunTemplateReady", "False", "ServiceAccountError"),
                condition("Ready", "False", "ServiceAccountError"),
            ] },
        }))
        .unwrap();
        let to_do = |next| WhyReport::with(&runnable, "demo".to_owned(), (None, next, None)).to_do;
        assert!(to_do(NextRun::New { sequence: 1 }).is_some());
        assert_eq!(to_do(NextRun::Deleting { finalizers: vec![] }), None);
    }

    #[test]
    fn only_who_lacks_the_right_to_read_the_template_is_advised_without_it() {
        let advised = |is_hidden| {
            let mut unread = explanation(&json!([]), false);
            unread.to_do = Some("`cartouche rbac --runnable hello` prints it".to_owned());
            let unread = unread.without_template(Some("no answer".to_owned()), is_hidden);
            assert_eq!(unread.not_seen.as_deref(), Some("no answer"));
            unread.to_do.unwrap()
        };
        assert!(advised(true).contains("which you lack"));
        assert!(advised(false).starts_with("`cartouche rbac "));
    }

    #[test]
    fn the_document_says_what_blocks_and_what_to_do() {
        let conditions = json!([
            condition("RunTemplateReady", "False", "RunTemplateNotFound"),
            condition("Ready", "False", "RunTemplateNotFound"),
        ]);
        let to_do = "correct what the message names, in the Runnable or in its template";
        assert_eq!(
            json!(explanation(&conditions, true)),
            json!({
                "name": "hello", "namespace": "demo",
                "ready": "False", "reason": "RunTemplateNotFound", "message": "m",
                "suspended": false, "observed": true, "toDo": to_do,
                "blockedBy": { "condition": "RunTemplateReady", "reason": "RunTemplateNotFound", "message": "m" },
                "run": null, "next": { "due": "New", "sequence": 1 },
            })
        );
    }

    #[test]
    fn nothing_is_to_be_done_while_a_run_is_at_work_or_when_all_is_well() {
        let at_work = json!([
            condition("StampedObjectCondition", "Unknown", "JobCondition"),
            condition("Ready", "Unknown", RUN_IN_PROGRESS),
        ]);
        let at_work = explanation(&at_work, true);
        assert!(at_work.to_do.is_none() && at_work.blocked_by.is_some());
        let well = explanation(&json!([condition("Ready", "True", "Ready")]), true);
        assert!(well.to_do.is_none() && well.blocked_by.is_none());
        let unobserved = explanation(&json!([]), false);
        assert_eq!(
            (unobserved.ready, unobserved.to_do.as_deref()),
            (None, Some(UNOBSERVED))
        );
    }
}
