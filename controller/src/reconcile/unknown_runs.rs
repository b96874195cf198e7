//! Tells runs from objects that look like runs of a Runnable and that its ledger does not know, and reports those. I/O.

use std::collections::BTreeMap;

use cartouche_crds::{CurrentRun, FIELD_MANAGER};
use cartouche_protocol::{
    facts::{LedgerWriter, Probe},
    ledger::{Ledger, RunIdentity, RunName},
    object::Object,
};
use kube::ResourceExt;
use serde::{Deserialize, de::IgnoredAny};
use serde_json::{Value, json};

use super::reconciliation::{End, Reconciliation};
use crate::{api::CreateMode, events::WarningReason, lock::lock, memory::Operation};

/// Maximum number of unknown runs of one Runnable that are reported.
const MAX_REPORTED: usize = 100;

impl Reconciliation<'_> {
    /// Reads who wrote the ledger last. Returns `Err` if another client has written since this reconciliation read it.
    pub(super) async fn read_ledger_writer(&mut self) -> Result<(), End> {
        let found = self
            .read_again(|found: &RunnableWriters| found.metadata.resource_version.as_str())
            .await?;
        let writer = found.ledger_writer();
        self.facts.ledger_writer = Some(writer);
        if writer == LedgerWriter::Ours {
            let entries = self.runnable.managed_fields();
            lock(&self.memory).state.looked_up(entries, self.facts.now);
            self.note_unknown_runs();
        }
        Ok(())
    }

    /// Notes runs that claim to be ahead of a ledger of ours. They are unknown runs, and stay so when the number that
    /// they bear is given.
    fn note_unknown_runs(&mut self) {
        let uid = &self.facts.runnable.uid;
        let ledger = &self.facts.ledger;
        let ahead = self
            .facts
            .cached_runs
            .iter()
            .map(|cached_run| &cached_run.run);
        let ahead: Vec<RunIdentity> = ahead
            .filter(|run| ledger.is_behind(run, uid))
            .cloned()
            .collect();
        if let Some(current) = &ledger.current {
            self.report_unknown_runs(current, &ahead);
        }
        let state = &mut lock(&self.memory).state;
        state.note_unknown_runs(ahead, self.facts.now);
        self.facts.unknown_runs = state.unknown_runs.keys().cloned().collect();
    }

    /// Asks, by a dry run, what the API server makes of an object like the pending run. A lasting refusal counts as
    /// an empty answer; a passing one ends the reconciliation.
    pub(super) async fn probe(&mut self) -> Result<(), End> {
        let (Some(current), Some(account)) = (&self.facts.ledger.current, &self.account) else {
            return Err(End::Conflict);
        };
        let (sequence, name) = (current.sequence, current.name.clone());
        let token = current.rerun_token.as_deref();
        let rendering = self.facts.rendering.as_ref().map_err(Clone::clone);
        let rendering = rendering.map_err(|error| self.fail(Operation::Create(sequence), error))?;
        let asked = self.unheld_name(&rendering.document);
        let made = match self.stamp(sequence, Some(&asked), token) {
            Ok((path, object)) => account.create(&path, &object, CreateMode::DryRun).await,
            Err(error) => return Err(self.fail(Operation::Create(sequence), error)),
        };
        let probe = match made {
            Ok(Object(made)) => probed(current, &self.facts.runnable.uid, &made),
            Err(error) if error.is_passing() => {
                let error = self.refusal(&name, &error);
                return Err(self.fail(Operation::Create(sequence), error));
            }
            Err(_) => Probe::default(),
        };
        self.facts.probe = Some(probe);
        Ok(())
    }

    /// Reports objects that claim to be runs of this Runnable and that its ledger cannot know: forged, or left by a
    /// backup. Old runs that the ledger has dropped are not reported.
    pub(super) fn report_unknown_runs(&self, current: &CurrentRun, runs: &[RunIdentity]) {
        let oldest = self
            .facts
            .ledger
            .history
            .first()
            .and_then(|entry| entry.started_at.as_ref());
        let mut memory = lock(&self.memory);
        for run in runs {
            let dropped = match run.genuine_sequence(&self.facts.runnable.uid) {
                Some(sequence) => sequence < current.sequence,
                None => run.sequence.is_none() && run.created < oldest.map(|at| at.0),
            };
            if dropped
                || memory.reported.len() >= MAX_REPORTED
                || !memory.reported.insert(run.uid.clone())
            {
                continue;
            }
            let message = "claims to be a run of this Runnable, but its status does not name it: it gives no outputs and is never deleted; \
                        delete it if it is not yours";
            self.report_unknown_run(&RunName::of_run(run), message);
        }
    }

    /// Reports that the number before was given up, since an unknown run held its name.
    pub(super) fn report_taken_name(&self, before: &Ledger) {
        let (Some(given_up), Some(next)) = (&before.current, &self.facts.ledger.current) else {
            return;
        };
        let message = format!(
            "holds the name of run {} and was not made for it: it gives no outputs and is never deleted; run {} is made instead",
            given_up.sequence, next.sequence
        );
        self.report_unknown_run(&RunName::from_current(given_up), &message);
    }

    fn report_unknown_run(&self, run: &RunName, message: &str) {
        self.ctx.metrics.unknown_run();
        let kinds = &self.ctx.kinds;
        let resource = kinds.find_known(&run.api_version, &run.kind);
        let resource = resource.map_or_else(|| run.kind.clone(), |kind| kind.resource());
        let message = format!("{resource}/{} {message}", run.name);
        self.publish_warning(WarningReason::UnknownRun.as_str(), message);
    }
}

/// A Runnable, reduced to who wrote its status.
#[derive(Deserialize)]
struct RunnableWriters {
    metadata: WritersMeta,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WritersMeta {
    resource_version: String,
    #[serde(default)]
    managed_fields: Vec<StatusWriter>,
}

/// The needed fields of an entry of `managedFields`, which may be as large as all that users wrote.
#[derive(Deserialize)]
struct StatusWriter {
    manager: Option<String>,
    subresource: Option<String>,
    #[serde(rename = "fieldsV1", default)]
    owned: OwnedStatus,
}

#[derive(Default, Deserialize)]
#[expect(
    clippy::zero_sized_map_values,
    reason = "a set cannot be read from an object"
)]
struct OwnedStatus {
    #[serde(rename = "f:status")]
    status: Option<BTreeMap<String, IgnoredAny>>,
}

impl RunnableWriters {
    /// Returns the last writer of the ledger. `currentRun` is written as a whole and as a part of the status, so its
    /// owner is the last client that changed it. Beyond ten writers, the API server merges entries into one of no
    /// subresource, which may well be ours and does not count.
    fn ledger_writer(&self) -> LedgerWriter {
        let owns_ledger = |entry: &&StatusWriter| {
            let fields = entry.owned.status.as_ref();
            entry.subresource.as_deref() == Some("status")
                && fields.is_some_and(|it| it.is_empty() || it.contains_key("f:currentRun"))
        };
        let mut others = self.metadata.managed_fields.iter().filter(owns_ledger);
        if others.any(|entry| entry.manager.as_deref() != Some(FIELD_MANAGER)) {
            LedgerWriter::Another
        } else {
            LedgerWriter::Ours
        }
    }
}

fn probed(current: &CurrentRun, owner: &str, made: &Value) -> Probe {
    // An object of a dry run may lack a uid.
    let mut object = made.clone();
    if let Some(Value::Object(metadata)) = object.get_mut("metadata") {
        metadata.entry("uid").or_insert_with(|| "none".into());
    }
    let run = RunIdentity::from_object(&object);
    let marked = run.is_some_and(|run| run.is_owned_by(owner) && run.answers(current));
    let status = made.get("status");
    Probe {
        marked,
        with_status: status.is_some_and(|status| !status.is_null() && *status != json!({})),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{LedgerWriter, RunnableWriters};

    fn ledger_writer(entries: &[Value]) -> LedgerWriter {
        let runnable = json!({ "metadata": { "resourceVersion": "1", "managedFields": entries } });
        let written: RunnableWriters = serde_json::from_value(runnable).unwrap();
        written.ledger_writer()
    }

    fn entry(manager: &str, subresource: Option<&str>, fields: &Value) -> Value {
        json!({ "manager": manager, "operation": "Update", "subresource": subresource, "fieldsV1": fields })
    }

    fn ledger() -> Value {
        json!({ "f:status": { "f:currentRun": {}, "f:history": {} } })
    }

    #[test]
    fn who_wrote_the_current_run_as_a_status_wrote_the_ledger() {
        let ours = entry("cartouche", Some("status"), &ledger());
        let theirs = entry("kubectl-edit", Some("status"), &ledger());
        let whole = entry("velero", Some("status"), &json!({ "f:status": {} }));
        let conditions = json!({ "f:status": { "f:conditions": {} } });
        let conditions = entry("other", Some("status"), &conditions);
        assert_eq!(
            ledger_writer(&[ours.clone(), conditions]),
            LedgerWriter::Ours
        );
        assert_eq!(
            ledger_writer(std::slice::from_ref(&theirs)),
            LedgerWriter::Another
        );
        assert_eq!(ledger_writer(&[whole]), LedgerWriter::Another);
        assert_eq!(ledger_writer(&[ours, theirs]), LedgerWriter::Another);
        assert_eq!(ledger_writer(&[]), LedgerWriter::Ours);
    }

    /// More than ten writers of the spec cause that, without any permission to write statuses.
    #[test]
    fn a_ledger_of_ours_that_was_merged_with_the_entries_of_others_stays_ours() {
        let merged = json!({ "f:spec": { "f:inputs": {} }, "f:status": { "f:currentRun": {} } });
        let ancient = entry("ancient-changes", None, &merged);
        assert_eq!(ledger_writer(&[ancient]), LedgerWriter::Ours);
    }
}
