//! The final state: L1 and L2.

use std::cell::LazyCell;

use cartouche_crds::{RunResult, RunnableStatus};
use cartouche_oracle::Past;
use serde_json::{Value, json};

use super::{Excuse, Verdict, history, number, owner, sinks, status, text, uid, waiting};
use crate::{
    discovery::Resource,
    people::{NAMESPACE, runnable, source, template},
    plan::Plan,
    retries::most_attempts,
    stops::as_made,
    store::{Store, reword},
    strangers::STRANGER,
};

/// Returns everything that L1 or L2 still lacks.
#[must_use]
pub fn unsettled(store: &Store, plan: &Plan) -> Verdict {
    let mut found = Verdict::default();
    // Computed only where something is missing, because this runs again and again.
    let past = LazyCell::new(|| history::past(store, plan));
    let excuse = |run: &Value| excuse(&past, run);
    for at in 0..plan.runnables {
        let Some(object) = store.get(&runnable(at)) else {
            continue;
        };
        let stored = status(&object);
        if waiting::is_excused(store, plan, at, &object, &stored) {
            continue;
        }
        let Some(final_document) = final_document(store, plan, at, &object) else {
            found.broken(
                "C5",
                format!("r{at}: a source has no value, and it does not say so"),
            );
            continue;
        };
        if let Some(what) = left_out(&stored, plan) {
            found.broken("L1", format!("r{at}: {what}"));
        }
        match up_to_date(store, &object, &stored, &final_document, &excuse) {
            Ok(excuse) => excuse.into_iter().for_each(|excuse| found.excuse(excuse)),
            Err(what) => found.broken("L1", format!("r{at}: {what}")),
        }
        let own = runs(store, uid(&object)).filter(|run| !is_strangers(store, run));
        for run in own.filter(|run| !knows(&stored, uid(run))) {
            if let Some(excuse) = excuse(run) {
                found.excuse(excuse);
            } else {
                let name = text(run, "/metadata/name");
                found.broken("L2", format!("r{at}: its ledger does not know {name}"));
            }
        }
    }
    sinks::unsettled(store, plan, &mut found);
    found
}

/// Returns a message about a future attempt, whose time comes in any case.
fn left_out(stored: &RunnableStatus, plan: &Plan) -> Option<String> {
    let current = stored.current_run.as_ref()?;
    let ended = current.result?;
    let is_allowed = current.attempt < most_attempts(plan.retries.as_ref());
    let retry_at = current.retry_at.as_ref().filter(|_| is_allowed)?;
    (ended != RunResult::Succeeded).then(|| {
        format!(
            "run {} is to be tried again at {}",
            current.sequence, retry_at.0
        )
    })
}

/// Returns the reason why a ledger does not know a run, if there is one.
fn excuse(past: &Past, run: &Value) -> Option<Excuse> {
    let excuse = past.known(uid(run)).and_then(|run| past.unknown_for(run));
    // Users are patient here.
    excuse.filter(|excuse| *excuse != Excuse::DeletedUnrecorded)
}

fn runs<'a>(store: &'a Store, owned_by: &'a str) -> impl Iterator<Item = &'a Value> {
    [Resource::Tasks, Resource::Builds]
        .into_iter()
        .flat_map(|resource| store.all(resource, NAMESPACE))
        .map(|(_, run)| &**run)
        .filter(move |run| owner(run) == owned_by)
}

/// Returns true if a stranger made it.
fn is_strangers(store: &Store, run: &Value) -> bool {
    let mut log = store.log().iter();
    log.find(|change| uid(&change.object) == uid(run))
        .is_some_and(|change| change.actor == STRANGER)
}

fn knows(stored: &RunnableStatus, uid: &str) -> bool {
    let current = stored.current_run.iter().map(|run| &run.uid);
    let mut known = current.chain(stored.history.iter().map(|entry| &entry.uid));
    known.any(|known| known.as_deref() == Some(uid))
}

/// Returns kind and spec of the run that is wanted in the end.
fn final_document(
    store: &Store,
    plan: &Plan,
    at: usize,
    object: &Value,
) -> Option<(String, Value)> {
    let template = store
        .get(&template(plan.template_of(at)))
        .unwrap_or_default();
    let spec = template
        .pointer("/spec/template/spec")
        .cloned()
        .unwrap_or_default();
    let source = store.get(&source(at)).unwrap_or_default();
    let revision = if spec["source"] == "none" {
        "none"
    } else {
        text(&source, "/spec/revision")
    };
    let mut document = spec.clone();
    document["value"] = match plan.chain.zip(plan.chain.and_then(|chain| chain.role(at))) {
        Some((chain, role)) => json!(chain.wanted(store, role)?),
        None => json!(text(object, "/spec/inputs/value")),
    };
    document["source"] = json!(revision);
    reword(&mut document);
    Some((text(&template, "/spec/template/kind").to_owned(), document))
}

/// Checks that the current run is the newest and for the final input, and that the status has its end; the
/// error has what is missing.
fn up_to_date(
    store: &Store,
    object: &Value,
    stored: &RunnableStatus,
    (kind, spec): &(String, Value),
    excuse: &impl Fn(&Value) -> Option<Excuse>,
) -> Result<Option<Excuse>, String> {
    let Some(current) = &stored.current_run else {
        return Err("no run is current".to_owned());
    };
    let Some(current_uid) = current.uid.as_deref() else {
        return Err(format!("run {} is not confirmed", current.sequence));
    };
    let token = object["metadata"]["annotations"]
        .get(cartouche_crds::RERUN_TOKEN_ANNOTATION)
        .and_then(Value::as_str);
    if token.is_some() && token != stored.last_answered() {
        return Err("the request to run again is not answered".to_owned());
    }
    let mut log = store.log().iter().rev();
    let Some(last) = log.find(|change| uid(&change.object) == current_uid) else {
        return Err(format!("nobody ever made the current run {current_uid}"));
    };
    if is_strangers(store, &last.object) {
        // The check of the ledgers decides if that is allowed.
        return Ok(None);
    }
    let there = store
        .get(&last.key)
        .is_some_and(|run| uid(&run) == current_uid);
    let mut excused = None;
    if last.key.resource.kind() != kind || as_made(&last.object["spec"]) != as_made(spec) {
        if there || number(&last.object).is_some() {
            return Err(format!("the current run is not for {kind} {spec}"));
        }
        excused = Some(Excuse::DeletedUncompared);
    }
    let newer = runs(store, uid(object))
        .filter(|run| !is_strangers(store, run))
        .filter(|run| number(run) > Some(current.sequence));
    for newer in newer {
        // A run of another kind, from before its ledger was emptied. The check of the runs that the ledger
        // does not know counts the excuse.
        if excuse(newer) != Some(Excuse::LostWithItsKind) {
            let name = text(newer, "/metadata/name");
            return Err(format!("{name} is newer than current"));
        }
    }
    let ended = match text(&last.object, "/status/conditions/0/status") {
        "True" => Some(RunResult::Succeeded),
        "False" => Some(RunResult::Failed),
        _ => None,
    };
    match current.result {
        None => return Err("the end of the current run is not told".to_owned()),
        Some(RunResult::Lost) if !there => return Ok(excused),
        // It went without a result, or with one that was not seen.
        Some(RunResult::Failed) if !there && current.stop.is_some() => return Ok(excused),
        result if result != ended => return Err(format!("{result:?} is told, but it {ended:?}")),
        Some(_) => {}
    }
    let from = stored.outputs_from.as_ref().map(|from| from.sequence);
    if there && ended == Some(RunResult::Succeeded) && from != Some(current.sequence) {
        return Err(format!("the outputs are those of {from:?}"));
    }
    Ok(excused)
}
