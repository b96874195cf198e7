//! The requests for sinks. I/O.

use cartouche_protocol::{
    diagnosis::Diagnosis,
    ledger::Ledger,
    object::Object,
    process_state::CREATES_SETTLE_IN,
    reconcile_error::{Requeue, bounded},
    sinks::{FoundSink, SinkProblem, created, replaced},
    sourced_inputs::{SourceKind, SourceObject},
};
use cartouche_templating::Owner;
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::{MOST_CONFLICTS, Progress, Write};
use crate::{
    api::{ApiError, CreateMode, Requests, ResourcePath},
    clock::boot_time,
    lock::lock,
    reconcile::reconciliation::{End, Reconciliation},
};

/// Of an object that was made, which it is.
#[derive(Deserialize)]
struct Made {
    metadata: MadeMeta,
}

#[derive(Deserialize)]
struct MadeMeta {
    uid: String,
}

impl Reconciliation<'_> {
    fn owner(&self) -> Owner<'_> {
        let runnable = &self.facts.runnable;
        Owner {
            name: &self.key.name,
            namespace: &self.key.namespace,
            uid: &runnable.uid,
        }
    }

    fn sink_path(&self, object: &SourceObject) -> ResourcePath {
        let plural = match object.kind {
            SourceKind::Secret => "secrets",
            _ => "configmaps",
        };
        ResourcePath::new("v1", plural, Some(&self.key.namespace))
    }

    /// What has the name of a sink.
    pub(super) async fn read_sink(
        &self,
        account: &Requests,
        object: &SourceObject,
        ledger: &Ledger,
    ) -> Result<Option<FoundSink>, SinkProblem> {
        let path = self.sink_path(object);
        match account.get::<Object>(&path, &object.name).await {
            Ok(Object(found)) => {
                let found = FoundSink::of(object.kind, found, &self.owner(), ledger);
                found.map(Some).ok_or_else(|| {
                    let unreadable = ApiError::Unanswered("no object".to_owned());
                    self.sink_failed(object, &unreadable)
                })
            }
            Err(error) if error.is_absent() => Ok(None),
            Err(error) => Err(self.sink_failed(object, &error)),
        }
    }

    /// Makes a sink, or replaces it as it was read.
    pub(super) async fn write_sink(
        &self,
        account: &Requests,
        ledger: &Ledger,
        write: Write<'_>,
        progress: &mut Progress,
    ) -> Result<(), End> {
        let Write { read, content, .. } = &write;
        let (object, owner) = (&read.object, self.owner());
        let from = ledger.outputs_from.as_ref();
        let sequence = from.map(|from| from.sequence).unwrap_or_default();
        let path = self.sink_path(object);
        let sent = match &read.found {
            None => {
                let body = created(object, &owner, sequence, content);
                account
                    .create::<Made>(&path, &body, CreateMode::Real)
                    .await
                    .map(|made| made.metadata.uid)
            }
            Some(found) => {
                let body = replaced(found, object, &owner, sequence, content);
                let sent = account.replace::<IgnoredAny>(&path, &object.name, &body);
                sent.await.map(|_| found.uid.clone())
            }
        };
        match sent {
            Ok(uid) => {
                if let Some(has) = write.put_back {
                    self.warn_of_put_back(object, has, sequence);
                }
                progress.sinks.note(object, sequence, false);
                progress
                    .in_place
                    .insert(object.clone(), (uid, write.sensitive));
                Ok(())
            }
            Err(error) => self.unsent(object, &error, progress),
        }
    }

    /// Deletes a sink of ours that is wanted no more, as it was read.
    pub(super) async fn delete_sink(
        &self,
        account: &Requests,
        object: &SourceObject,
        found: &FoundSink,
        progress: &mut Progress,
    ) -> Result<(), End> {
        let path = self.sink_path(object);
        match account.delete(&path, &object.name, &found.uid).await {
            Err(error) if !error.is_absent() => self.unsent(object, &error, progress),
            _ => {
                progress.sinks.note(object, 0, true);
                let mut memory = lock(&self.memory);
                memory
                    .sinks
                    .is_absent_for(object, CREATES_SETTLE_IN, boot_time());
                Ok(())
            }
        }
    }

    /// A write did not go through. Somebody else may have written: that is looked at anew, unless it happens all the time.
    fn unsent(
        &self,
        object: &SourceObject,
        error: &ApiError,
        progress: &mut Progress,
    ) -> Result<(), End> {
        let is_meanwhile = error.is_conflict() || error.is_already_exists() || error.is_absent();
        if is_meanwhile && !error.is_namespace_terminating() {
            let mut memory = lock(&self.memory);
            memory.sinks.doubt();
            memory.sinks.conflicts = memory.sinks.conflicts.saturating_add(1);
            if memory.sinks.conflicts < MOST_CONFLICTS {
                return Err(End::Conflict);
            }
        }
        let problem = self.sink_failed(object, error);
        progress.fails(object, problem);
        Ok(())
    }

    /// Why a request for a sink failed. What was sent may be secret, and stand in what anybody answers.
    pub(super) fn sink_failed(&self, object: &SourceObject, error: &ApiError) -> SinkProblem {
        let is_of_others = error.is_not_admitted() || error.is_silent_webhook();
        let diagnosis = match error.denied() {
            Some(_) => self.cause_of(error, "take the outputs"),
            None if error.is_refusal() => {
                let told = if object.kind == SourceKind::Secret && is_of_others {
                    error.brief()
                } else {
                    error.without_values()
                };
                Diagnosis::Refused("take the outputs", bounded(told))
            }
            None => Diagnosis::NoAnswer("take the outputs"),
        };
        // A quota is no right.
        let requeue = match error.denied() {
            Some(_) => Requeue::OnRbac,
            None => Requeue::Backoff,
        };
        SinkProblem::Failed(object.clone(), diagnosis, requeue)
    }

    fn warn_of_put_back(&self, object: &SourceObject, has: i64, sequence: i64) {
        let message = format!(
            "{object} had the outputs of run {has}, of which the status knows nothing, and has those of run {sequence} now: somebody has put back or removed the status"
        );
        self.publish_warning("OutputSinkOverwritten", message);
    }
}
