//! Asks runs to stop: after their timeout, for a later run, or when cancelled. I/O.

use std::{collections::BTreeSet, time::Duration};

use cartouche_protocol::{
    category::Category,
    decide::{STOPS_WITHIN, ToStop, earlier_that_do_not_stop, next_stop},
    facts::StopOutcome,
    messages::{
        diagnosis::Diagnosis,
        reconcile_error::{ReconcileError, Requeue},
    },
};
use k8s_openapi::jiff::SignedDuration;

use super::{
    prune::CLOCK_LOOK,
    reconciliation::{End, Reconciliation, SECOND},
};
use crate::{clock::boot_time, discovery::DiscoveryError, lock::lock, memory::Operation};

impl Reconciliation<'_> {
    /// Loads what this process remembers of runs that were asked to stop.
    pub(super) fn take_in_stops(&mut self) {
        let ledger = &self.facts.ledger;
        let mut memory = lock(&self.memory);
        let now = boot_time();
        // Nothing depends on the backoff for runs that have ended.
        memory.backoffs.retain(|backoff| match &backoff.what {
            Operation::Stop(kind) => ledger.at_work().any(|run| run.name.kind == *kind),
            _ => true,
        });
        let asked = memory
            .asked_to_stop
            .lately(STOPS_WITHIN.unsigned_abs(), now);
        let at_work = ledger.at_work().filter(|run| run.stop.is_some());
        let stops = at_work.filter_map(|run| {
            let failed = memory.in_backoff(&Operation::Stop(run.name.kind.clone()), now);
            let failed = failed.map(|(error, _)| StopOutcome::Failed(error.clone()));
            let sent = asked.contains(run.uid).then_some(StopOutcome::Sent);
            Some((run.uid.to_owned(), sent.or(failed)?))
        });
        self.facts.stops = stops.collect();
    }

    /// Notes since when runs without a start time have been at work, once the state of each is known.
    pub(super) fn take_in_work(&mut self) {
        let seen = &mut lock(&self.memory).seen_at_work;
        *seen = self.facts.list_untimed(seen);
        self.facts.seen_at_work.clone_from(seen);
    }

    /// Asks a run to stop.
    pub(super) async fn stop(&mut self, to: ToStop) -> Result<(), End> {
        self.confirm_ledger().await?;
        let what = Operation::Stop(to.name.kind.clone());
        match self.request_stop(&to).await {
            Ok(()) => {
                let mut memory = lock(&self.memory);
                memory.clear_failure(&what);
                memory.asked_to_stop.add([to.uid.clone()], boot_time());
                drop(memory);
                self.facts.stops.insert(to.uid, StopOutcome::Sent);
            }
            // The request had no effect. It is repeated at once if another read finds the run at work.
            Err(DiscoveryError::Api(error))
                if error.is_conflict() && self.changed_meanwhile.insert(to.uid.clone()) =>
            {
                return self.read_run(to.name).await;
            }
            Err(error) => {
                let error = self.unstopped(&error);
                tracing::info!(namespace = self.key.namespace, runnable = self.key.name, run = to.name.name, error = %error.message, "a run cannot be asked to stop");
                lock(&self.memory).record_failure(what, &error, boot_time());
                self.put_off_stops(&to.name.kind, &error);
            }
        }
        self.look_at_the_clock();
        Ok(())
    }

    /// Postpones all stops of a kind: a refusal for one run most likely holds for all. They are retried together.
    fn put_off_stops(&mut self, kind: &str, error: &ReconcileError) {
        let at_work = self.facts.ledger.at_work();
        let of_kind = at_work.filter(|run| run.stop.is_some() && run.name.kind == kind);
        let uids: Vec<String> = of_kind.map(|run| run.uid.to_owned()).collect();
        for uid in uids {
            let stops = &mut self.facts.stops;
            stops
                .entry(uid)
                .or_insert_with(|| StopOutcome::Failed(error.clone()));
        }
    }

    async fn request_stop(&self, to: &ToStop) -> Result<(), DiscoveryError> {
        let Some(account) = &self.account else {
            return Ok(());
        };
        let (name, uid) = (&to.name, to.uid.as_str());
        let kinds = &self.ctx.kinds;
        let kind = kinds.find_objects(&name.api_version, &name.kind).await?;
        let path = kind.path(&self.key.namespace);
        let asked = if let Some(change) = to.request.patch(Some(uid), None) {
            account.merge(&path, &name.name, &change).await
        } else {
            let this = (uid, to.version);
            account.delete_last(&path, &name.name, this).await
        };
        match asked {
            // Another version may serve the object, and be known by the next time.
            Err(error) if error.is_unserved() => {
                kinds.forget(&kind.api_version);
                Err(error.into())
            }
            // The run is gone: the watch shows that.
            Err(error) if error.is_not_found() => Ok(()),
            asked => Ok(asked?),
        }
    }

    fn unstopped(&self, error: &DiscoveryError) -> ReconcileError {
        let tried = "stop the run";
        let requeue = match error {
            DiscoveryError::Unknown { .. } => Requeue::OnKind,
            DiscoveryError::Api(error) => error.requeue(),
        };
        // A refusal may pass without any event.
        let requeue = match requeue {
            Requeue::OnChange => Requeue::Backoff,
            other => other,
        };
        let cause = self.cause_of_discovery(error, tried);
        ReconcileError::from_diagnosis(Category::StopFailed, requeue, cause, None)
    }

    /// Publishes an event for an earlier run that does not stop, once for each reason. It does not hold back the
    /// Runnable.
    pub(super) fn report_unstopped(&self) {
        let problems = earlier_that_do_not_stop(&self.facts);
        let mut memory = lock(&self.memory);
        let reported = &mut memory.reported_unstopped;
        let known: BTreeSet<&str> = self.facts.ledger.at_work().map(|run| run.uid).collect();
        reported.retain(|(uid, _)| known.contains(uid.as_str()));
        let is_new = |(uid, error): (String, ReconcileError)| {
            // A request that failed and a request that was ignored are two reasons.
            let was_sent = matches!(error.diagnosis.as_deref(), Some(Diagnosis::NotStopped(..)));
            reported.insert((uid, was_sent)).then_some(error)
        };
        let new: Vec<ReconcileError> = problems.into_iter().filter_map(is_new).collect();
        drop(memory);
        for error in new {
            self.publish_warning(error.category.as_str(), error.message);
        }
    }

    /// Returns the time until a run must be asked to stop, or asked again, or is reported as not stopping.
    pub(super) fn next_stop(&self) -> Option<Duration> {
        let memory = lock(&self.memory);
        let now = boot_time();
        let at_work = self.facts.ledger.at_work();
        let failed = at_work.filter_map(|run| {
            let what = Operation::Stop(run.name.kind.clone());
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
