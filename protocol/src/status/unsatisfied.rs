//! Errors about outputs that the current run did not give. Pure.

use cartouche_crds::{
    CurrentRun, RunResult,
    conditions::{RUN_TEMPLATE_READY, find},
};

use super::is_stored;
use crate::{
    category::Category,
    facts::Facts,
    ledger::{Ledger, OutputsDigest, OutputsRead, RunName},
    messages::{
        diagnosis::{Diagnosis, Fault},
        reconcile_error::{ReconcileError, Requeue},
    },
};

/// Returns an error if the current run succeeded but its outputs are not those in the status.
pub(super) fn unsatisfied(facts: &Facts, ledger: &Ledger) -> Option<ReconcileError> {
    let rendering = facts.rendering.as_ref().ok()?;
    let current = ledger
        .current
        .as_ref()
        .filter(|current| current.result == Some(RunResult::Succeeded) && rendering.has_outputs)?;
    let uid = current.uid.as_deref()?;
    if let Some(run) = facts.shown_run(current) {
        let OutputsRead::Unsatisfied { why, faults } = &run.outputs else {
            return None;
        };
        return Some(waiting(facts, current, why, faults.clone()));
    }
    let reported = find(&facts.stored, RUN_TEMPLATE_READY)
        .filter(|condition| condition.reason == Category::OutputPathNotSatisfied.as_str());
    if let Some(reported) = reported.filter(|_| is_stored(facts, current)) {
        return Some(ReconcileError::new(
            Category::OutputPathNotSatisfied,
            Requeue::OnChange,
            reported.message.clone(),
        ));
    }
    // It succeeded and was deleted before it could be read.
    let unfound = facts.reads.contains_key(&RunName::from_current(current));
    let gone = facts.cached_run(uid).is_some_and(|cached_run| {
        (cached_run.deleted || unfound) && !matches!(cached_run.outputs, OutputsDigest::None)
    });
    let missed = ledger
        .outputs_from
        .as_ref()
        .is_none_or(|from| from.sequence < current.sequence);
    (gone && missed).then(|| {
        let why = "the run was deleted before its outputs could be read";
        let cure = "keep finished runs for a while; `cartouche rerun` runs it again";
        let what = "it was deleted before they could be read";
        let fault = Fault::new(what, Some(cure.to_owned()));
        waiting(facts, current, why, vec![fault])
    })
}

fn waiting(facts: &Facts, current: &CurrentRun, why: &str, faults: Vec<Fault>) -> ReconcileError {
    let resource = facts
        .resource
        .as_deref()
        .unwrap_or("could not fetch - see logs for 'failed to retrieve qualified resource name'");
    let (namespace, name, template) = (
        &facts.runnable.namespace,
        &current.name,
        &facts.runnable.template,
    );
    ReconcileError::from_diagnosis(
        Category::OutputPathNotSatisfied,
        Requeue::OnChange,
        Diagnosis::NoOutputs(name.clone(), faults),
        Some(format!(
            "waiting to read value from resource [{resource}/{name}] in namespace [{namespace}]: unable to retrieve outputs from stamped object \
             [{namespace}/{name}] of type [{resource}] for run template [{template}]: {why}"
        )),
    )
}
