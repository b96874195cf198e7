//! Reads the pods of a run: outputs, why it failed, and why it does not progress. I/O.

use std::time::Duration;

use cartouche_crds::conditions::{READY, find};
use cartouche_engines::{
    EndedPods, Maker, PodsTell, PodsWords, RunReason, Said, Sensitive, had_failed_pods,
    has_message_in_pods, is_job, is_late,
    kinds::{self, PodsOf},
    no_pod_because, remedy_at_work, why_no_pod,
};
use cartouche_protocol::{
    category::Category,
    evaluate::{failure_with_pods, outputs_with_pods},
    facts::Hindrance,
    ledger::{FetchedRun, OutputsRead, PodsSaid, RunIdentity, explanation::PODS_GONE},
    messages::{diagnosis::Diagnosis, format, reconcile_error::ReconcileError},
    status::is_at_work,
};
use cartouche_templating::Template;
use serde_json::Value;

use super::reconciliation::Reconciliation;
use crate::{
    api::{ApiError, Requests, ResourcePath, field_query, label_query},
    backoff::PODS,
    clock::boot_time,
    lock::lock,
    memory::PodsMemory,
};

/// Maximum number of pods that are read for why a run failed or does not progress. Foreign pods may have the same
/// label.
const MOST_PODS: usize = 500;
/// Maximum number of events that are read for why a run has no pod.
const MOST_EVENTS: usize = 100;
/// Timeout of these lists.
const WORDS_WITHIN: Duration = Duration::from_secs(5);

impl Reconciliation<'_> {
    /// Adds what the run does not say itself, from its pods. Unreadable pods fail the read of outputs, but never keep a
    /// failure from being recorded.
    pub(super) async fn ask_pods(
        &self,
        found: &mut FetchedRun,
        object: Value,
    ) -> Result<(), ReconcileError> {
        if found.outputs == OutputsRead::Elsewhere {
            (found.outputs, found.sensitive) = self.read_outputs(&found.run, object).await?;
            return Ok(());
        }
        if found.failure.is_some() {
            Box::pin(self.read_failure(found, &object)).await;
        }
        if found.pods_tell == PodsTell::WhyItFailed && found.stopped.is_none() {
            let words = self.pods_words(&found.run).await;
            let said = match words {
                Ok(words) if words.is_of_none() && had_failed_pods(&object) => {
                    Err(PODS_GONE.to_owned())
                }
                Ok(words) => Ok(words.failure()),
                Err(error) => Err(self.excuse(&error)),
            };
            found.pods_said = self.remembered(&found.run, said, is_late(&object));
        }
        Ok(())
    }

    /// Adds the message of the pod that failed last to the failure of a Job. An unreadable pod does not keep the
    /// failure from being recorded.
    async fn read_failure(&self, found: &mut FetchedRun, object: &Value) {
        let compiled = self.compiled.as_ref().filter(|compiled| {
            let template = compiled.template.as_ref();
            template.is_ok_and(Template::failure_reads_termination_message)
        });
        let Some(compiled) = compiled.filter(|_| is_job(object)) else {
            return;
        };
        if let Ok(pods) = self.ended_pods(&found.run, object).await {
            let pods = pods.unwrap_or_else(|| EndedPods::from_job(object));
            found.failure = failure_with_pods(compiled, object.clone(), pods);
        }
    }

    fn remembered(
        &self,
        run: &RunIdentity,
        said: Result<Option<Said>, String>,
        is_late: bool,
    ) -> PodsSaid {
        if self.facts.is_current_run(run) {
            let memory = &mut lock(&self.memory).pods;
            memory.for_run(&run.uid).record_cause(said, is_late)
        } else {
            // The memory has one place, so nothing is kept of a superseded run.
            PodsMemory::default().record_cause(said, is_late)
        }
    }

    /// Reads the outputs of a Job from the termination messages of its pods.
    async fn read_outputs(
        &self,
        run: &RunIdentity,
        job: Value,
    ) -> Result<(OutputsRead, Sensitive), ReconcileError> {
        let unread = || (OutputsRead::Elsewhere, Sensitive::default());
        let Some(compiled) = &self.compiled else {
            return Ok(unread());
        };
        match self.ended_pods(run, &job).await {
            Ok(Some(pods)) => Ok(outputs_with_pods(compiled, job, pods)),
            Ok(None) => Ok(unread()),
            Err(error) => {
                let (namespace, kind, name) = (&self.key.namespace, &run.kind, &run.name);
                let cause = self.cause_of(&error, "list the pods of the run");
                let text = format!(
                    "unable to read the termination message of {kind} [{namespace}/{name}]: unable to list its pods: {error}"
                );
                Err(ReconcileError::from_diagnosis(
                    Category::OutputPathNotSatisfied,
                    error.requeue(),
                    Diagnosis::OutputsUnread(name.clone(), Box::new(cause)),
                    Some(text),
                ))
            }
        }
    }

    /// Returns true if a Secret may have gone into a run, so that its containers may repeat it.
    pub(super) fn may_hold_secrets(&self, run: &RunIdentity) -> bool {
        self.has_secrets() || self.gives_secrets() || !self.facts.is_as_rendered(run)
    }

    /// Returns true if the template has sensitive outputs.
    fn gives_secrets(&self) -> bool {
        let template = self.compiled.as_ref().map(|it| it.template.as_ref());
        let mut sensitive = template.into_iter().flatten();
        sensitive.any(|template| template.sensitive_outputs().next().is_some())
    }

    /// Collects messages of the pods of a run: of the first of them, within a short timeout, since they only explain.
    async fn pods_words(&self, run: &RunIdentity) -> Result<PodsWords, ApiError> {
        let mut words = if self.may_hold_secrets(run) {
            PodsWords::without_messages()
        } else {
            PodsWords::default()
        };
        let Some((account, path, query)) = self.pods_of(run) else {
            return Ok(words);
        };
        let maker = maker(run);
        let hear = |pod: Value| {
            if maker.has_created(&pod) {
                words.hear(&pod);
            }
        };
        let listed = account.show_some(&path, &query, MOST_PODS, hear);
        match tokio::time::timeout(WORDS_WITHIN, listed).await {
            Ok(listed) => listed.map(|()| words),
            Err(_) => Err(ApiError::Unanswered("no answer in time".to_owned())),
        }
    }

    /// Returns why the pods of a run could not be read.
    fn excuse(&self, error: &ApiError) -> String {
        let (namespace, account) = (&self.key.namespace, self.runnable.spec.service_account());
        if error.is_forbidden() {
            format!(
                "its pods may show why, but ServiceAccount {namespace}/{account} may not list pods"
            )
        } else {
            format!(
                "its pods may show why, but could not be listed: {}",
                error.brief()
            )
        }
    }

    /// Returns the account, path and query for the pods of a run, or `None` if its kind has no label for them.
    fn pods_of(&self, run: &RunIdentity) -> Option<(&Requests, ResourcePath, String)> {
        let known = kinds::known_fields(&run.api_version, &run.kind)?;
        let PodsOf::Labelled(label) = known.pods else {
            return None;
        };
        let path = ResourcePath::new("v1", "pods", Some(&self.key.namespace));
        let query = label_query([(label, &*run.name)]);
        Some((self.account.as_ref()?, path, query))
    }

    /// Returns the pods of a Job that have ended, or `None` if its kind has no label for them.
    async fn ended_pods(
        &self,
        run: &RunIdentity,
        job: &Value,
    ) -> Result<Option<EndedPods>, ApiError> {
        let Some((account, path, query)) = self.pods_of(run) else {
            return Ok(None);
        };
        let mut pods = EndedPods::from_job(job);
        account.each(&path, &query, |pod| pods.hear(&pod)).await?;
        Ok(Some(pods))
    }

    /// Looks why the current run does not progress, if none of its pods runs, or it has none. The first look is
    /// delayed, since most runs soon start, and looks become rarer. Returns the time until the next look.
    pub(super) async fn look_for_hindrance(&mut self) -> Option<Duration> {
        let current = self.facts.ledger.current.as_ref();
        let current = current.filter(|current| current.result.is_none())?;
        let seen = self.facts.cached_run(current.uid.as_deref()?)?;
        let run = seen.run.clone();
        if !has_message_in_pods(&current.api_version, &current.kind) {
            let is_seen = seen.health.pods.is_some_and(RunReason::is_hindrance);
            return self.tell_of_own_pod(&run, is_seen);
        }
        match seen.pods_tell {
            PodsTell::Nothing => {
                lock(&self.memory).pods.for_run(&run.uid).run(boot_time());
                self.facts.hindrance = Hindrance::Nothing;
            }
            PodsTell::WhyItFailed => {
                let read = self.facts.fetched_run(&run.uid);
                if let Some(PodsSaid::Words(said)) = read.map(|read| read.pods_said.clone()) {
                    self.facts.hindrance = Hindrance::Said(said);
                }
                return None;
            }
            tell => {
                if matches!(tell, PodsTell::WhyPodsFail { .. }) {
                    let memory = &mut lock(&self.memory).pods;
                    memory.for_run(&run.uid).note_failed_pod(boot_time());
                }
                self.look_at_waiting_pods(&run, tell).await;
            }
        }
        // Without an account another error is reported, and retried.
        self.account.as_ref()?;
        let next = lock(&self.memory)
            .pods
            .for_run(&run.uid)
            .until_look(boot_time());
        // No event tells that pods run now. While a hindrance is reported, the next look must not be late.
        let is_reported = self.facts.hindrance.report().is_some();
        let next = if is_reported {
            next.min(PODS.first)
        } else {
            next
        };
        Some(next + Duration::from_millis(50))
    }

    /// Publishes the hindrance of a run that is itself a pod, once it has lasted. `Ready` shows it already.
    fn tell_of_own_pod(&self, run: &RunIdentity, is_seen: bool) -> Option<Duration> {
        let known = kinds::known_fields(&run.api_version, &run.kind)?;
        if !matches!(known.pods, PodsOf::Itself) {
            return None;
        }
        let ready = find(&self.facts.stored, READY);
        let ready = ready.filter(|it| is_at_work(&it.status, &it.reason));
        let hindrance = ready.and_then(|it| {
            let reason = RunReason::parse(&it.reason).filter(|it| it.is_hindrance())?;
            Some(Said::new(it.message.clone(), reason))
        });
        let now = boot_time();
        let Some(said) = hindrance else {
            lock(&self.memory).pods.for_run(&run.uid).run(now);
            // `Ready` is about to show it.
            return is_seen.then_some(PODS.first);
        };
        let mut memory = lock(&self.memory);
        let pods = memory.pods.for_run(&run.uid);
        pods.record_look(Hindrance::Said(said), false, now);
        let left = pods.time_until_report(now);
        drop(memory);
        self.tell_of_hindrance(run);
        left
    }

    async fn look_at_waiting_pods(&mut self, run: &RunIdentity, tell: PodsTell) {
        let namespace = &self.key.namespace;
        if tell != PodsTell::WhyNoneIsMade {
            // The Job says so itself, before its pods are looked at again.
            lock(&self.memory)
                .pods
                .for_run(&run.uid)
                .clear_hindrance(RunReason::NoPodYet);
        }
        let until = lock(&self.memory)
            .pods
            .for_run(&run.uid)
            .until_look(boot_time());
        if until.is_zero() && self.account.is_some() {
            let words = self.pods_words(run).await;
            let lacks_pods = words.as_ref().is_ok_and(PodsWords::is_of_none);
            let cause = if tell == PodsTell::WhyNoneIsMade && lacks_pods {
                self.why_no_pod(run).await
            } else {
                None
            };
            let mut memory = lock(&self.memory);
            let pods = memory.pods.for_run(&run.uid);
            match words {
                Ok(words) => {
                    let is_failure = words.is_hindered_by_failure();
                    let said = words.hindrance_of_job(tell, namespace, &run.name);
                    let said = cause.or(said);
                    let said = said.map_or(Hindrance::Nothing, Hindrance::Said);
                    pods.record_look(said, is_failure, boot_time());
                }
                // A refusal is no hindrance. If the run fails, the missing permission is reported then.
                Err(error) if error.is_forbidden() => pods.record_refusal(boot_time()),
                Err(_) => pods.record_look(pods.hindrance.clone(), pods.is_failure, boot_time()),
            }
        }
        let said = lock(&self.memory).pods.for_run(&run.uid).hindrance.clone();
        self.facts.hindrance = said;
        self.tell_of_hindrance(run);
    }

    /// Returns why a Job makes no pod, which only its events say, if the account may list them. While they are not
    /// listed, the last known cause holds.
    pub(super) async fn why_no_pod(&self, run: &RunIdentity) -> Option<Said> {
        // A webhook's message may contain part of a Secret.
        if self.may_hold_secrets(run) {
            return None;
        }
        let account = self.account.as_ref()?;
        let (namespace, name) = (&self.key.namespace, self.runnable.spec.service_account());
        let pace = &self.ctx.event_pace;
        if pace.is_refused(namespace, name, boot_time()) {
            return None;
        }
        let known = lock(&self.memory).pods.for_run(&run.uid).no_pod();
        let Some(now) = self.ctx.identity.connection().now() else {
            return known;
        };
        if !pace.try_list(namespace, boot_time()) {
            return known;
        }
        let path = ResourcePath::new("v1", "events", Some(namespace));
        let query = field_query([("involvedObject.uid", &*run.uid), ("type", "Warning")]);
        let mut events = Vec::new();
        let listed = account.show_some(&path, &query, MOST_EVENTS, |event| events.push(event));
        match tokio::time::timeout(WORDS_WITHIN, listed).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) if error.is_forbidden() => {
                pace.record_refusal(namespace, name, boot_time());
                return None;
            }
            Ok(Err(_)) | Err(_) => return known,
        }
        let causes = events
            .iter()
            .filter_map(|event| why_no_pod(event, &run.kind, now));
        let last = causes.max();
        last.map(|(_, message)| no_pod_because(&run.name, &message))
            .or(known)
    }

    /// Publishes a hindrance of the run that needs a user's action.
    fn tell_of_hindrance(&self, run: &RunIdentity) {
        let current = self.facts.ledger.current.as_ref();
        if current.is_some_and(|current| current.stop.is_some()) {
            return;
        }
        let report = lock(&self.memory)
            .pods
            .for_run(&run.uid)
            .to_tell(boot_time());
        let Some((said, reason)) = report.and_then(|said| Some((said.clone(), said.reason?)))
        else {
            return;
        };
        let cure = remedy_at_work(&said).unwrap_or_default();
        let message = format::message(&format!("run {}: {said}", run.name), cure, None);
        self.publish_warning(reason.as_str(), message);
    }
}

fn maker(run: &RunIdentity) -> Maker {
    Maker::new(&run.api_version, &run.kind, &run.uid)
}
