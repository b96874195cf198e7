//! The people who change things, and the engine that ends runs. Both act on the store itself.

use std::{collections::BTreeMap, time::Duration};

use cartouche_crds::{API_VERSION, RERUN_TOKEN_ANNOTATION, RUNNABLE_NAME_LABEL};
use serde_json::{Value, json};

use crate::{
    discovery::{EXAMPLE, Resource},
    plan::{Deed, Plan, TEMPLATES},
    store::{Key, Store},
};

/// The namespace of everything.
pub const NAMESPACE: &str = "space";
/// Runs that were made less long ago are left alone: a create of them may still be on its way.
const SETTLED: Duration = Duration::from_secs(45);
/// Who acts, where it is no controller.
const SOMEBODY: &str = "somebody";
/// Who ends runs.
const ENGINE: &str = "engine";

/// People and engine.
pub struct People {
    random: fastrand::Rng,
    failing: f64,
    longest_run: f64,
    changes: u64,
    /// When the runs that are under way end, by uid.
    ends: BTreeMap<String, (Duration, bool)>,
    /// Up to this version the engine has looked at what happened.
    looked: u64,
}

/// The key of a Runnable, by number.
#[must_use]
pub fn runnable(number: usize) -> Key {
    key(Resource::Runnables, NAMESPACE, &format!("r{number}"))
}

/// The key of the template with this number.
#[must_use]
pub fn template(number: usize) -> Key {
    key(Resource::Templates, "", &format!("t{number}"))
}

/// The key of what a Runnable selects.
#[must_use]
pub fn source(runnable: usize) -> Key {
    key(Resource::Sources, NAMESPACE, &format!("r{runnable}"))
}

fn key(resource: Resource, namespace: &str, name: &str) -> Key {
    Key {
        resource,
        namespace: namespace.to_owned(),
        name: name.to_owned(),
    }
}

impl People {
    /// Those of a plan.
    #[must_use]
    pub fn new(plan: &Plan) -> Self {
        Self {
            random: fastrand::Rng::with_seed(plan.seed ^ 0x70_656f_706c_6500),
            failing: plan.failing,
            longest_run: plan.longest_run,
            changes: 0,
            ends: BTreeMap::new(),
            looked: 0,
        }
    }

    /// What is there at first.
    pub fn settle_in(&mut self, store: &mut Store, plan: &Plan) {
        make(
            store,
            Resource::Accounts,
            &json!({ "metadata": { "name": "default", "namespace": NAMESPACE } }),
        );
        for number in 0..TEMPLATES {
            make(store, Resource::Templates, &template_object(number));
        }
        for number in 0..plan.runnables {
            let source = json!({
                "metadata": { "name": format!("r{number}"), "namespace": NAMESPACE, "labels": { "app": format!("r{number}") } },
                "spec": { "revision": "s0" },
            });
            make(store, Resource::Sources, &source);
            make(store, Resource::Runnables, &runnable_object(number, "i0"));
        }
    }

    /// Something that people do. Whether it was theirs to do.
    pub fn act(&mut self, store: &mut Store, deed: Deed) {
        self.changes += 1;
        let now = self.changes;
        let set = |store: &mut Store, key: &Key, pointer: &str, value: Value| {
            // What was deleted stays as it is.
            let _ = store.change(key, SOMEBODY, |object| {
                if let Some(place) = object.pointer_mut(pointer) {
                    *place = value;
                }
            });
        };
        match deed {
            Deed::Input(number) => {
                // Often back to what it was before.
                let input = format!("i{}", self.random.u8(..3));
                set(store, &runnable(number), "/spec/inputs/value", json!(input));
            }
            Deed::Template(number) => set(
                store,
                &template(number),
                "/spec/template/spec/flavour",
                json!(format!("f{now}")),
            ),
            Deed::Kind(number) => set(
                store,
                &template(number),
                "/spec/template/kind",
                json!("Build"),
            ),
            Deed::Source(number) => {
                let revision = format!("s{}", self.random.u8(..3));
                set(store, &source(number), "/spec/revision", json!(revision));
            }
            Deed::Rerun(number) => set(
                store,
                &runnable(number),
                "/metadata/annotations",
                json!({ RERUN_TOKEN_ANNOTATION: format!("again-{now}") }),
            ),
            Deed::Recreate(number) => recreate(store, number, now),
            Deed::DeleteRun(number) => self.delete_a_run(store, number),
            Deed::Forbid | Deed::Allow => {
                // The event of the role tells those who wait for the right.
                let role = json!({ "metadata": { "name": format!("role-{now}"), "namespace": NAMESPACE } });
                make(store, Resource::Roles, &role);
            }
            _ => {}
        }
    }

    fn delete_a_run(&mut self, store: &mut Store, number: usize) {
        let Some(owner) = store.get(&runnable(number)) else {
            return;
        };
        let mut known: Vec<&str> = owner
            .pointer("/status/currentRun/uid")
            .and_then(Value::as_str)
            .into_iter()
            .collect();
        let history = owner.pointer("/status/history").and_then(Value::as_array);
        known.extend(
            history
                .into_iter()
                .flatten()
                .filter_map(|entry| entry["uid"].as_str()),
        );
        let old = |key: &Key| {
            let mut log = store.log().iter().rev();
            log.find(|change| {
                change.key == *key && change.happened == crate::store::Happened::Created
            })
            .is_some_and(|change| change.at + SETTLED < store.elapsed)
        };
        let runs = [Resource::Tasks, Resource::Builds];
        let candidates: Vec<Key> = runs
            .iter()
            .flat_map(|resource| store.all(*resource, NAMESPACE))
            .filter(|(key, run)| {
                let uid = run.pointer("/metadata/uid").and_then(Value::as_str);
                uid.is_some_and(|uid| known.contains(&uid)) && old(key)
            })
            .map(|(key, _)| key.clone())
            .collect();
        if let Some(key) = self.random.choice(&candidates) {
            // It is there: it was just found.
            let _ = store.delete(key, None, SOMEBODY);
        }
    }

    /// The engine ends the runs that are due.
    pub fn run_engine(&mut self, store: &mut Store) {
        let new = store
            .log()
            .partition_point(|change| change.version <= self.looked);
        for change in &store.log()[new..] {
            self.looked = change.version;
            let uid = change
                .object
                .pointer("/metadata/uid")
                .and_then(Value::as_str);
            if let Some(uid) = uid
                && change.key.resource.is_run()
                && change.happened == crate::store::Happened::Created
            {
                let time = 0.3 + self.random.f64() * self.longest_run;
                let end = store.elapsed + Duration::from_secs_f64(time);
                let fails = self.random.f64() < self.failing;
                self.ends.insert(uid.to_owned(), (end, !fails));
            }
        }
        let due: Vec<String> = self
            .ends
            .iter()
            .filter(|(_, (end, _))| *end <= store.elapsed)
            .map(|(uid, _)| uid.clone())
            .collect();
        for uid in due {
            if let Some((_, succeeds)) = self.ends.remove(&uid) {
                end_run(store, &uid, succeeds);
            }
        }
    }

    /// Whether a run is under way.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        !self.ends.is_empty()
    }
}

fn end_run(store: &mut Store, uid: &str, succeeds: bool) {
    let runs = [Resource::Tasks, Resource::Builds];
    let found = runs
        .iter()
        .flat_map(|resource| store.all(*resource, NAMESPACE))
        .find(|(_, run)| run.pointer("/metadata/uid").and_then(Value::as_str) == Some(uid))
        .map(|(key, _)| key.clone());
    let Some(key) = found else { return };
    let status = json!({
        "answer": format!("answer of {uid}"),
        "conditions": [{
            "type": "Succeeded", "status": if succeeds { "True" } else { "False" }, "reason": "Ended", "message": "",
        }],
    });
    // It is there: it was just found.
    let _ = store.change(&key, ENGINE, |run| run["status"] = status);
}

fn recreate(store: &mut Store, number: usize, now: u64) {
    let key = runnable(number);
    let Some(before) = store.get(&key) else {
        return;
    };
    let uid = before
        .pointer("/metadata/uid")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned();
    // It is there: it was just read.
    let _ = store.delete(&key, None, SOMEBODY);
    // What the garbage collector does.
    let runs: Vec<Key> = [Resource::Tasks, Resource::Builds]
        .iter()
        .flat_map(|resource| store.all(*resource, NAMESPACE))
        .filter(|(_, run)| {
            run.pointer("/metadata/ownerReferences/0/uid")
                .and_then(Value::as_str)
                == Some(&uid)
        })
        .map(|(key, _)| key.clone())
        .collect();
    for run in runs {
        let _ = store.delete(&run, None, "garbage collector");
    }
    make(
        store,
        Resource::Runnables,
        &runnable_object(number, &format!("n{now}")),
    );
}

fn make(store: &mut Store, resource: Resource, object: &Value) {
    let mut object = object.clone();
    object["apiVersion"] = json!(resource.api_version());
    object["kind"] = json!(resource.kind());
    let namespace = object
        .pointer("/metadata/namespace")
        .and_then(Value::as_str);
    let namespace = namespace.unwrap_or_default().to_owned();
    let made = store.create(resource, &namespace, object, SOMEBODY, false);
    debug_assert!(made.is_ok(), "{made:?}");
}

fn template_object(number: usize) -> Value {
    let source = if number == 0 {
        "none"
    } else {
        "$(selected.spec.revision)$"
    };
    json!({
        "metadata": { "name": format!("t{number}") },
        "spec": {
            "template": {
                "apiVersion": EXAMPLE,
                "kind": "Task",
                "metadata": { "generateName": "run-" },
                "spec": { "value": "$(runnable.spec.inputs.value)$", "flavour": "f0", "source": source },
            },
            "outputs": { "answer": ".status.answer" },
        },
    })
}

fn runnable_object(number: usize, input: &str) -> Value {
    let template = number % TEMPLATES;
    let mut object = json!({
        "metadata": { "name": format!("r{number}"), "namespace": NAMESPACE, "annotations": {} },
        "spec": {
            "runTemplateRef": { "name": format!("t{template}") },
            "inputs": { "value": input },
            "retentionPolicy": { "maxFailedRuns": 1, "maxSuccessfulRuns": 1 },
        },
    });
    if template == 1 {
        object["spec"]["selector"] = json!({
            "resource": { "apiVersion": EXAMPLE, "kind": "Source" }, "matchingLabels": { "app": format!("r{number}") },
        });
    }
    object
}

/// Whether an object is a run of ours: it carries our label and a controller.
#[must_use]
pub fn is_run_of_ours(object: &Value) -> bool {
    object["metadata"]["labels"]
        .get(RUNNABLE_NAME_LABEL)
        .is_some()
        && object.pointer("/metadata/ownerReferences/0/uid").is_some()
        && object["apiVersion"] != API_VERSION
}
