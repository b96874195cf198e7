//! What is read in the pods of a run: outputs, why it failed, why it does not go on. I/O.

use std::time::Duration;

use cartouche_protocol::{
    evaluate::outputs_with_pods,
    facts::Hindrance,
    ledger::{FetchedRun, OutputsRead, RunIdentity},
    reconcile_error::{Category, ReconcileError},
};
use cartouche_templating::{
    PodsTell, PodsWords, is_pod_of,
    kinds::{self, PodsOf},
};
use serde_json::Value;

use super::reconciliation::Reconciliation;
use crate::{
    api::{ApiError, ResourcePath, label_query},
    clock::boot_time,
    lock::lock,
};

impl Reconciliation<'_> {
    /// Asks the pods of a run that was read what the run does not say itself. That they cannot be read keeps nobody
    /// from recording that it failed.
    pub(super) async fn ask_pods(
        &self,
        found: &mut FetchedRun,
        object: Value,
    ) -> Result<(), ReconcileError> {
        if found.outputs == OutputsRead::Elsewhere {
            found.outputs = self.read_outputs(&found.run, object).await?;
        }
        if found.pods_tell == PodsTell::WhyItFailed && found.stopped.is_none() {
            let words = self.pods_words(&found.run).await;
            let said = words.map(PodsWords::failure);
            found.pods_said = self.remembered(&found.run.uid, said);
        }
        Ok(())
    }

    /// What was said last stays when there is nobody left to say it: a Job that fails may delete its pods.
    fn remembered(&self, uid: &str, said: Result<Option<String>, String>) -> Option<String> {
        let mut memory = lock(&self.memory);
        let before = memory.pods.of(uid);
        match said {
            Ok(Some(said)) => {
                before.failure = Some(said.clone());
                Some(said)
            }
            // It may have run out of time while it could not begin.
            Ok(None) => before.failure.clone().or(before.hindrance.said()),
            Err(why) => before.failure.clone().or(Some(why)),
        }
    }

    /// Reads the outputs of a run, a Job, out of the last words of its pods.
    async fn read_outputs(
        &self,
        run: &RunIdentity,
        job: Value,
    ) -> Result<OutputsRead, ReconcileError> {
        let Some(compiled) = &self.compiled else {
            return Ok(OutputsRead::Elsewhere);
        };
        let mut pods = Vec::new();
        match self.each_pod(run, |pod| pods.push(kept(pod))).await {
            Ok(true) => Ok(outputs_with_pods(compiled, job, &pods)),
            Ok(false) => Ok(OutputsRead::Elsewhere),
            Err(error) => {
                let (namespace, kind, name) = (&self.key.namespace, &run.kind, &run.name);
                let text = format!(
                    "unable to read the termination message of {kind} [{namespace}/{name}]: unable to list its pods: {error}"
                );
                Err(ReconcileError::caused(
                    Category::OutputPathNotSatisfied,
                    error.requeue(),
                    self.cause_of(&error, "list the pods of the run"),
                    Some(text),
                ))
            }
        }
    }

    /// What the pods of a run say; `Err`: why nobody knows.
    async fn pods_words(&self, run: &RunIdentity) -> Result<PodsWords, String> {
        let mut words = PodsWords::default();
        let listed = self.each_pod(run, |pod| words.hear(&pod)).await;
        listed.map(|_| words).map_err(|error| {
            let (namespace, account) = (&self.key.namespace, self.runnable.spec.service_account());
            if error.is_forbidden() {
                format!(
                    "its pods would tell why, if ServiceAccount {namespace}/{account} might list pods"
                )
            } else {
                format!("its pods would tell why, but cannot be listed: {error}")
            }
        })
    }

    /// Hands on each pod of a run. `false` if nothing says which are its.
    async fn each_pod(
        &self,
        run: &RunIdentity,
        mut see: impl FnMut(Value),
    ) -> Result<bool, ApiError> {
        let known = kinds::known_fields(&run.api_version, &run.kind);
        let (Some(account), Some(PodsOf::Labelled(label))) =
            (&self.account, known.map(|known| known.pods))
        else {
            return Ok(false);
        };
        let path = ResourcePath::new("v1", "pods", Some(&self.key.namespace));
        let query = label_query([(label, &*run.name)]);
        let keep = |pod: Value| {
            let is_own = is_pod_of(&pod, &run.uid);
            if is_own {
                see(pod);
            }
            is_own
        };
        account.each(&path, &query, keep).await.map(|()| true)
    }

    /// Looks why the current run does not go on, if none of its pods runs: not at once, since most soon do, and then
    /// less and less often. When to look again.
    pub(super) async fn look_for_hindrance(&mut self) -> Option<Duration> {
        let current = self.facts.ledger.current.as_ref();
        let current = current.filter(|current| current.result.is_none())?;
        let seen = self.facts.cached_run(current.uid.as_deref()?)?;
        let run = seen.run.clone();
        match seen.pods_tell {
            PodsTell::Nothing => {
                lock(&self.memory).pods.of(&run.uid).run();
                self.facts.hindrance = Hindrance::Nothing;
                None
            }
            PodsTell::WhyItFailed => {
                let read = self.facts.fetched_run(&run.uid);
                if let Some(said) = read.and_then(|read| read.pods_said.clone()) {
                    self.facts.hindrance = Hindrance::Said(said);
                }
                None
            }
            PodsTell::WhyItWaits => self.look_at_waiting_pods(&run).await,
        }
    }

    async fn look_at_waiting_pods(&mut self, run: &RunIdentity) -> Option<Duration> {
        let until_look = |it: &Self| {
            let mut memory = lock(&it.memory);
            memory.pods.of(&run.uid).until_look(boot_time())
        };
        if until_look(self).is_zero() && self.account.is_some() {
            let said = match self.pods_words(run).await {
                Ok(words) => words.hindrance(),
                Err(why) => Some(format!("none of its pods runs; {why}")),
            };
            let said = said.map_or(Hindrance::Nothing, Hindrance::Said);
            let mut memory = lock(&self.memory);
            memory.pods.of(&run.uid).looked(said, boot_time());
        }
        let wait = until_look(self);
        let mut memory = lock(&self.memory);
        let said = memory.pods.of(&run.uid).hindrance.clone();
        drop(memory);
        self.facts.hindrance = said;
        // Without an account, another error is told, and tried again.
        self.account
            .is_some()
            .then_some(wait + Duration::from_millis(50))
    }
}

/// What outputs need of a pod.
fn kept(mut pod: Value) -> Value {
    if let Some(fields) = pod.as_object_mut() {
        fields.retain(|field, _| field == "metadata" || field == "status");
    }
    if let Some(metadata) = pod.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.retain(|field, _| field == "ownerReferences" || field == "uid");
    }
    pod
}
