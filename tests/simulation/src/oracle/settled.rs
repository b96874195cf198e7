//! What must be so in the end: L1 and L2.

use cartouche_crds::{RunResult, RunnableStatus};
use serde_json::{Value, json};

use super::{Violation, number, owner, status, text, uid};
use crate::{
    discovery::Resource,
    people::{NAMESPACE, runnable, source, template},
    plan::{Plan, TEMPLATES},
    store::Store,
};

/// What L1 or L2 still lacks.
#[must_use]
pub fn unsettled(store: &Store, plan: &Plan) -> Vec<Violation> {
    let mut found = Vec::new();
    for at in 0..plan.runnables {
        let Some(object) = store.get(&runnable(at)) else {
            continue;
        };
        let stored = status(&object);
        let lacks = |what: String| Violation::new("L1", format!("r{at}: {what}"));
        let final_document = final_document(store, at, &object);
        found.extend(up_to_date(store, &object, &stored, &final_document).map(lacks));
        for run in runs(store, uid(&object)) {
            if !knows(&stored, uid(run)) {
                let name = text(run, "/metadata/name");
                found.push(Violation::new(
                    "L2",
                    format!("r{at}: its ledger does not know {name}"),
                ));
            }
        }
    }
    found
}

fn runs<'a>(store: &'a Store, owned_by: &'a str) -> impl Iterator<Item = &'a Value> {
    [Resource::Tasks, Resource::Builds]
        .into_iter()
        .flat_map(|resource| store.all(resource, NAMESPACE))
        .map(|(_, run)| &**run)
        .filter(move |run| owner(run) == owned_by)
}

fn knows(stored: &RunnableStatus, uid: &str) -> bool {
    let current = stored.current_run.iter().map(|run| &run.uid);
    let mut known = current.chain(stored.history.iter().map(|entry| &entry.uid));
    known.any(|known| known.as_deref() == Some(uid))
}

/// Kind and spec of the run that is wanted in the end.
fn final_document(store: &Store, at: usize, object: &Value) -> (String, Value) {
    let template = store.get(&template(at % TEMPLATES)).unwrap_or_default();
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
    let document = json!({
        "value": text(object, "/spec/inputs/value"), "flavour": spec["flavour"], "source": revision,
    });
    (text(&template, "/spec/template/kind").to_owned(), document)
}

/// What is missing from: the current run is the newest, is for the final input, and the status tells
/// its end.
fn up_to_date(
    store: &Store,
    object: &Value,
    stored: &RunnableStatus,
    (kind, spec): &(String, Value),
) -> Option<String> {
    let Some(current) = &stored.current_run else {
        return Some("no run is current".to_owned());
    };
    let Some(current_uid) = current.uid.as_deref() else {
        return Some(format!("run {} is not confirmed", current.sequence));
    };
    let token = object["metadata"]["annotations"]
        .get(cartouche_crds::RERUN_TOKEN_ANNOTATION)
        .and_then(Value::as_str);
    if token.is_some() && token != current.rerun_token.as_deref() {
        return Some("the request to run again is not answered".to_owned());
    }
    let mut log = store.log().iter().rev();
    let Some(last) = log.find(|change| uid(&change.object) == current_uid) else {
        return Some(format!("nobody ever made the current run {current_uid}"));
    };
    if last.key.resource.kind() != kind || last.object["spec"] != *spec {
        return Some(format!("the current run is not for {kind} {spec}"));
    }
    let there = store
        .get(&last.key)
        .is_some_and(|run| uid(&run) == current_uid);
    let newer = runs(store, uid(object)).find(|run| number(run) > Some(current.sequence));
    if let Some(newer) = newer {
        return Some(format!(
            "{} is newer than current",
            text(newer, "/metadata/name")
        ));
    }
    let ended = match text(&last.object, "/status/conditions/0/status") {
        "True" => Some(RunResult::Succeeded),
        "False" => Some(RunResult::Failed),
        _ => None,
    };
    match current.result {
        None => return Some("the end of the current run is not told".to_owned()),
        Some(RunResult::Lost) if !there => return None,
        result if result != ended => return Some(format!("{result:?} is told, but it {ended:?}")),
        Some(_) => {}
    }
    let from = stored.outputs_from.as_ref().map(|from| from.sequence);
    (there && ended == Some(RunResult::Succeeded) && from != Some(current.sequence))
        .then(|| format!("the outputs are those of {from:?}"))
}
