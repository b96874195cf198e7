//! Objects of the original controller, Cartographer v0.8.
//!
//! Its runs carry two labels, a random ending and an owner reference that blocks the owner's deletion; its
//! status has conditions, outputs and `observedGeneration`. Nothing identifies a run.

use cartouche_crds::{RUN_TEMPLATE_NAME_LABEL, RUNNABLE_NAME_LABEL};
use serde_json::{Value, json};

use crate::{
    discovery::{EXAMPLE, Resource},
    engine::{answer, end_run},
    people::{NAMESPACE, make_as, runnable, source, template},
    plan::TEMPLATES,
    store::Store,
};

/// Its name as an actor.
pub const ORIGINAL: &str = "original";

/// Objects that it left of one Runnable.
#[derive(Clone, Debug)]
pub struct Original {
    /// Its runs, oldest first.
    pub runs: Vec<OldRun>,
    /// The present input; it need not be that of the newest run.
    pub input: u8,
    /// True if an error emptied the outputs, as errors do there.
    pub emptied: bool,
}

/// A run that it made.
#[derive(Clone, Debug)]
pub struct OldRun {
    /// Seconds between its creation and the simulation.
    pub age: i64,
    /// The input that it was made for.
    pub input: u8,
    /// True if it has succeeded; `None` if it has not ended.
    pub ended: Option<bool>,
}

impl Original {
    /// Draws up to four runs of three inputs, at times two of them in one second.
    pub(crate) fn draw(random: &mut fastrand::Rng) -> Self {
        let mut ages: Vec<i64> = (0..random.usize(..5))
            .map(|_| 100 + random.i64(0..2_000))
            .collect();
        ages.sort_unstable_by(|a, b| b.cmp(a));
        if let [.., before, last] = ages.as_mut_slice()
            && random.f64() < 0.3
        {
            *before = *last;
        }
        let mut run = |age| OldRun {
            age,
            input: random.u8(..3),
            ended: [None, Some(false), Some(true), Some(true)][random.usize(..4)],
        };
        let runs: Vec<OldRun> = ages.into_iter().map(&mut run).collect();
        let last = runs.last().map(|run| run.input);
        let changed = random.bool();
        Self {
            input: last.filter(|_| !changed).unwrap_or_else(|| random.u8(..3)),
            runs,
            emptied: random.f64() < 0.15,
        }
    }

    /// Leaves the runs and the status of the existing Runnable with this number.
    pub(crate) fn leave(&self, store: &mut Store, number: usize) {
        let mut newest_answer = None;
        for run in &self.runs {
            store.clock_error = -run.age;
            let uid = make_run(store, number, run.input);
            if let Some(succeeds) = run.ended {
                end_run(store, &uid, succeeds, None);
            }
            if run.ended == Some(true) {
                newest_answer = Some(answer(&uid));
            }
        }
        store.clock_error = 0;
        let status = self.status(newest_answer.filter(|_| !self.emptied).as_deref());
        let input = format!("i{}", self.input);
        // It exists.
        let _ = store.change(&runnable(number), ORIGINAL, |object| {
            object["status"] = status;
        });
        let _ = store.change(&runnable(number), ORIGINAL, |object| {
            object["spec"]["inputs"]["value"] = json!(input);
        });
    }

    fn status(&self, answer: Option<&str>) -> Value {
        let verdict = match self.runs.last().map(|run| run.ended) {
            None | Some(Some(false)) => "False",
            Some(None) => "Unknown",
            Some(Some(true)) => "True",
        };
        let word = |kind: &str, status: &str, reason: &str| {
            json!({
                "type": kind, "status": status, "message": "", "lastTransitionTime": "2026-12-01T00:00:00Z",
                "reason": if status == "True" { "Ready" } else { reason },
            })
        };
        let engine = "SucceededCondition";
        let mut status = json!({ "observedGeneration": 1, "conditions": [
            word("RunTemplateReady", "True", "Ready"),
            word("StampedObjectCondition", verdict, engine),
            word("Ready", verdict, engine),
        ]});
        if self.runs.is_empty() {
            status["conditions"] = json!([
                word(
                    "RunTemplateReady",
                    "False",
                    "StampedObjectRejectedByAPIServer"
                ),
                word("Ready", "False", "StampedObjectRejectedByAPIServer"),
            ]);
        }
        if let Some(answer) = answer {
            status["outputs"] = json!({ "answer": answer });
        }
        status
    }
}

/// Lets a create that it sent before its end take effect, if it ever served this Runnable.
pub(crate) fn arrive(store: &mut Store, number: usize) {
    let Some(object) = store.get(&runnable(number)) else {
        return;
    };
    let served = store
        .log()
        .iter()
        .any(|change| change.actor == ORIGINAL && uid(&change.object) == uid(&object));
    let input = object.pointer("/spec/inputs/value").and_then(Value::as_str);
    let input = input.and_then(|input| input.strip_prefix('i')?.parse().ok());
    if let (true, Some(input)) = (served, input) {
        make_run(store, number, input);
    }
}

fn uid(object: &Value) -> &str {
    let uid = object.pointer("/metadata/uid").and_then(Value::as_str);
    uid.unwrap_or_default()
}

/// Makes a run as it would. The template and the selected object are the present ones.
fn make_run(store: &mut Store, number: usize, input: u8) -> String {
    let owner = store.get(&runnable(number)).unwrap_or_default();
    let template = store.get(&template(number % TEMPLATES)).unwrap_or_default();
    let source = store.get(&source(number)).unwrap_or_default();
    let document = &template["spec"]["template"];
    let mut spec = document["spec"].clone();
    spec["value"] = json!(format!("i{input}"));
    if spec["source"] != "none" {
        spec["source"] = source["spec"]["revision"].clone();
    }
    let kind = if document["kind"] == "Build" {
        Resource::Builds
    } else {
        Resource::Tasks
    };
    let object = json!({
        "apiVersion": EXAMPLE,
        "kind": document["kind"],
        "metadata": {
            "generateName": "run-",
            "namespace": NAMESPACE,
            "labels": {
                RUNNABLE_NAME_LABEL: owner["metadata"]["name"],
                RUN_TEMPLATE_NAME_LABEL: template["metadata"]["name"],
            },
            "ownerReferences": [{
                "apiVersion": cartouche_crds::API_VERSION, "kind": "Runnable", "name": owner["metadata"]["name"],
                "uid": owner["metadata"]["uid"], "controller": true, "blockOwnerDeletion": true,
            }],
        },
        "spec": spec,
    });
    make_as(store, kind, &object, ORIGINAL)
}
