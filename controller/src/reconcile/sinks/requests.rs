//! Requests for sinks. I/O.

use cartouche_language::Owner;
use cartouche_protocol::{
    ledger::{CREATES_SETTLE_IN, Ledger},
    messages::{
        diagnosis::{Diagnosis, is_of_quota},
        format::truncate,
        reconcile_error::Requeue,
    },
    object::{Object, is_shortened},
    references::{SourceKind, SourceObject},
    sinks::{FoundSink, SinkProblem, build_object, build_replacement},
};
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::{MOST_CONFLICTS, SinkProgress, plan::SinkWrite};
use crate::{
    api::{ApiError, CreateMode, Requests, ResourcePath, UNPARSED},
    clock::boot_time,
    discovery::Kind,
    events::WarningReason,
    lock::lock,
    reconcile::reconciliation::{End, Reconciliation},
};

/// A created object, reduced to its uid.
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
        let kind = match object.kind {
            SourceKind::Secret => Kind::secrets(),
            _ => Kind::config_maps(),
        };
        kind.path(&self.key.namespace)
    }

    /// Reads the object that has the name of a sink.
    pub(super) async fn read_sink(
        &self,
        account: &Requests,
        object: &SourceObject,
        ledger: &Ledger,
    ) -> Result<Option<FoundSink>, SinkProblem> {
        let path = self.sink_path(object);
        match account.get::<Object>(&path, &object.name).await {
            // The part that was left out would be lost with the next write.
            Ok(Object(found)) if is_shortened(&found) => {
                let too_large = ApiError::Unsent("it is too large or too deep".to_owned());
                Err(self.sink_failed(object, &too_large))
            }
            Ok(Object(found)) => {
                let found = FoundSink::from_object(object.kind, found, &self.owner(), ledger);
                found.map(Some).ok_or_else(|| {
                    let unreadable = ApiError::Unanswered("no object".to_owned());
                    self.sink_failed(object, &unreadable)
                })
            }
            Err(error) if error.is_absent() => Ok(None),
            Err(error) => Err(self.sink_failed(object, &error)),
        }
    }

    /// Creates a sink, or replaces it as it was read.
    pub(super) async fn write_sink(
        &self,
        account: &Requests,
        ledger: &Ledger,
        write: SinkWrite<'_>,
        progress: &mut SinkProgress,
    ) -> Result<(), End> {
        let SinkWrite { read, content, .. } = &write;
        let (object, owner) = (&read.object, self.owner());
        let from = ledger.outputs_from.as_ref();
        let sequence = from.map(|from| from.sequence).unwrap_or_default();
        let path = self.sink_path(object);
        let sent = match &read.found {
            None => {
                let body = build_object(object, &owner, sequence, content);
                account
                    .create::<Made>(&path, &body, CreateMode::Real)
                    .await
                    .map(|made| made.metadata.uid)
            }
            Some(found) => {
                let body = build_replacement(found, object, &owner, sequence, content);
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
                self.leave_sink(object, sequence, content, write.was_changed);
                progress
                    .in_place
                    .insert(object.clone(), (uid, write.sensitive));
                Ok(())
            }
            Err(error) => self.unsent(object, &error, progress),
        }
    }

    /// Deletes a sink of ours that is no longer wanted, as it was read.
    pub(super) async fn delete_sink(
        &self,
        account: &Requests,
        object: &SourceObject,
        found: &FoundSink,
        progress: &mut SinkProgress,
    ) -> Result<(), End> {
        let path = self.sink_path(object);
        let as_read = (found.uid.as_str(), found.version.as_str());
        match account.delete_as_read(&path, &object.name, as_read).await {
            Err(error) if !error.is_absent() => self.unsent(object, &error, progress),
            _ => {
                progress.sinks.note(object, 0, true);
                let mut memory = lock(&self.memory);
                memory
                    .sinks
                    .note_absent(object, CREATES_SETTLE_IN, boot_time());
                Ok(())
            }
        }
    }

    /// Handles a failed write. If another client may have written, the sinks are read anew, unless that happens all the
    /// time.
    fn unsent(
        &self,
        object: &SourceObject,
        error: &ApiError,
        progress: &mut SinkProgress,
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
        progress.fail(object, problem);
        Ok(())
    }

    /// Returns why a request for a sink failed. The sent values may be secret, and any answer may contain them.
    pub(super) fn sink_failed(&self, object: &SourceObject, error: &ApiError) -> SinkProblem {
        let diagnosis = match error.missing_permission() {
            Some(_) => self.cause_of(error, "store the outputs"),
            None if error.is_refusal() => {
                let shown = if object.kind == SourceKind::Secret && !may_be_shown(error) {
                    error.brief()
                } else {
                    error.without_values()
                };
                Diagnosis::Refused("store the outputs", truncate(shown))
            }
            None => Diagnosis::NoAnswer("store the outputs"),
        };
        // A quota is no permission.
        let requeue = match error.missing_permission() {
            Some(_) => Requeue::OnRbac,
            None => Requeue::Backoff,
        };
        SinkProblem::Failed(object.clone(), diagnosis, requeue)
    }

    fn warn_of_put_back(&self, object: &SourceObject, has: i64, sequence: i64) {
        let message = format!(
            "{object} had the outputs of run {has}, which the status does not know, and now has those of run {sequence}: another client has changed it, or has restored or removed the status"
        );
        self.publish_warning(WarningReason::OutputSinkOverwritten.as_str(), message);
    }
}

/// Returns true if a refusal of a Secret comes from the API server itself and names only keys: a schema violation, or
/// an exceeded quota. Any other responder, with whatever code, may repeat the sent values.
fn may_be_shown(error: &ApiError) -> bool {
    let ApiError::Answered { code, message, .. } = error else {
        return false;
    };
    let is_of_others = error.is_not_admitted() || error.is_silent_webhook();
    let is_parsed = !message.contains(UNPARSED);
    let is_quota = *code == 403 && is_of_quota(message);
    !is_of_others && (*code == 422 && is_parsed || is_quota)
}

#[cfg(test)]
mod tests {
    use super::may_be_shown;
    use crate::api::ApiError;

    fn answered(code: u16, message: &str) -> ApiError {
        ApiError::Answered {
            code,
            reason: "Invalid".to_owned(),
            message: message.to_owned(),
            namespace_terminating: false,
        }
    }

    #[test]
    fn only_the_api_server_s_own_words_of_a_secret_are_told() {
        for (code, message) in [
            (
                422,
                "Secret \"db\" is invalid: data[tls.crt]: Required value",
            ),
            (
                403,
                "secrets \"db\" is forbidden: exceeded quota: few, requested: count/secrets=1",
            ),
        ] {
            assert!(may_be_shown(&answered(code, message)), "{message}");
        }
        let webhook = "admission webhook \"a.example\" denied the request: 7731 is too weak";
        for code in [400, 401, 403, 404, 406, 409, 413, 422, 451] {
            assert!(!may_be_shown(&answered(code, webhook)), "{code}");
        }
        let parsed = "Secret \"db\" is invalid: data[.dockerconfigjson]: Invalid value: \"<secret contents redacted>\": invalid character 's' looking for beginning of value";
        assert!(!may_be_shown(&answered(422, parsed)));
        assert!(!may_be_shown(&ApiError::Unanswered("7731".to_owned())));
    }
}
