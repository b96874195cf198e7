//! Tells runs to stop that have worked for longer than their timeout. I/O.

use std::{collections::BTreeSet, time::Duration};

use cartouche_protocol::{
    decide::{STOPS_WITHIN, ToStop, earlier_that_do_not_stop, next_stop},
    facts::{RunName, StopOutcome},
    reconcile_error::{Category, ReconcileError, Requeue},
};
use cartouche_templating::kinds::StopRequest;
use k8s_openapi::jiff::SignedDuration;

use super::{
    prune::CLOCK_LOOK,
    reconciliation::{Reconciliation, SECOND},
};
use crate::{clock::boot_time, discovery::DiscoveryError, lock::lock, memory::Operation};

impl Reconciliation<'_> {
    /// What this process remembers of runs that were told to stop.
    pub(super) fn take_in_stops(&mut self) {
        let ledger = &self.facts.ledger;
        let mut memory = lock(&self.memory);
        let now = boot_time();
        // Of those that have ended nobody waits for anything.
        memory.backoffs.retain(|backoff| match &backoff.what {
            Operation::Stop(uid) => ledger.at_work().any(|run| run.uid == uid),
            _ => true,
        });
        let asked = memory
            .asked_to_stop
            .lately(STOPS_WITHIN.unsigned_abs(), now);
        let at_work = ledger.at_work().filter(|run| run.stop.is_some());
        let stops = at_work.filter_map(|run| {
            let failed = memory.in_backoff(&Operation::Stop(run.uid.to_owned()), now);
            let failed = failed.map(|(error, _)| StopOutcome::Failed(error.clone()));
            let sent = asked.contains(run.uid).then_some(StopOutcome::Sent);
            Some((run.uid.to_owned(), failed.or(sent)?))
        });
        self.facts.stops = stops.collect();
    }

    /// Tells a run to stop.
    pub(super) async fn stop(&mut self, to: ToStop) {
        let ToStop { name, uid, request } = to;
        let what = Operation::Stop(uid.clone());
        let outcome = match self.request_stop(&name, &uid, &request).await {
            Ok(()) => {
                let mut memory = lock(&self.memory);
                memory.succeeded(&what);
                memory.asked_to_stop.add([uid.clone()], boot_time());
                StopOutcome::Sent
            }
            Err(error) => {
                tracing::info!(namespace = self.key.namespace, runnable = self.key.name, run = name.name, %error, "a run cannot be told to stop");
                let error = self.unstopped(&error);
                lock(&self.memory).failed(what, &error, boot_time());
                StopOutcome::Failed(error)
            }
        };
        self.look_at_the_clock();
        self.facts.stops.insert(uid, outcome);
    }

    async fn request_stop(
        &self,
        name: &RunName,
        uid: &str,
        request: &StopRequest,
    ) -> Result<(), DiscoveryError> {
        let Some(account) = &self.account else {
            return Ok(());
        };
        let kinds = &self.ctx.kinds;
        let kind = kinds.find_objects(&name.api_version, &name.kind).await?;
        let path = kind.path(&self.key.namespace);
        let asked = match request.patch(Some(uid), None) {
            Some(change) => account.merge(&path, &name.name, &change).await,
            None => account.delete(&path, &name.name, uid).await,
        };
        match asked {
            // It is gone, or another object has its name: the watch tells.
            Err(error) if error.is_not_found() || error.is_conflict() => Ok(()),
            asked => Ok(asked?),
        }
    }

    fn unstopped(&self, error: &DiscoveryError) -> ReconcileError {
        let tried = "stop the run";
        let requeue = match error {
            DiscoveryError::Unknown { .. } => Requeue::OnKind,
            DiscoveryError::Api(error) => error.requeue(),
        };
        // A refusal may pass without anything that is heard of.
        let requeue = match requeue {
            Requeue::OnChange => Requeue::Backoff,
            other => other,
        };
        let cause = self.cause_of_discovery(error, tried);
        ReconcileError::caused(Category::StopFailed, requeue, cause, None)
    }

    /// Of an earlier run that does not stop an event tells, once: it keeps the Runnable from nothing.
    pub(super) fn report_unstopped(&self) {
        let problems = earlier_that_do_not_stop(&self.facts);
        let mut memory = lock(&self.memory);
        let reported = &mut memory.reported_unstopped;
        let known: BTreeSet<&str> = self.facts.ledger.at_work().map(|run| run.uid).collect();
        reported.retain(|uid| known.contains(uid.as_str()));
        let new: Vec<ReconcileError> = problems
            .into_iter()
            .filter_map(|(uid, error)| reported.insert(uid).then_some(error))
            .collect();
        drop(memory);
        for error in new {
            self.publish_warning(error.category.as_str(), error.message);
        }
    }

    /// How long until a run has to be told to stop, or told once more, or is said not to stop.
    pub(super) fn next_stop(&self) -> Option<Duration> {
        let memory = lock(&self.memory);
        let now = boot_time();
        let at_work = self.facts.ledger.at_work();
        let failed = at_work.filter_map(|run| {
            let what = Operation::Stop(run.uid.to_owned());
            memory.in_backoff(&what, now).map(|(_, left)| left + SECOND)
        });
        let time = next_stop(&self.facts).map(|at| {
            let Some(now) = self.facts.now else {
                return CLOCK_LOOK;
            };
            match at.duration_since(now) {
                left if left <= SignedDuration::ZERO => CLOCK_LOOK,
                left => (left.unsigned_abs() + SECOND).min(CLOCK_LOOK),
            }
        });
        failed.chain(time).min()
    }
}
