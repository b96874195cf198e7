//! The users who change things. They act on the store itself.

use std::{collections::BTreeMap, time::Duration};

use cartouche_crds::{API_VERSION, RERUN_TOKEN_ANNOTATION, RUNNABLE_NAME_LABEL, RunnableStatus};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    approval::Approver,
    chain::{self, Role},
    discovery::{EXAMPLE, Resource},
    engine::{COLLECTOR, Engine},
    original,
    plan::{Deed, Plan, TEMPLATES},
    retries, sinks, stops,
    store::{Key, Store},
    strangers, tenants,
};

/// The namespace of everything.
pub const NAMESPACE: &str = "space";
/// Age up to which runs are left alone: a create of them may still be on its way.
const SETTLED: Duration = Duration::from_secs(45);
/// Actor of users.
pub(crate) const SOMEBODY: &str = "somebody";
/// Actor that writes statuses, other than controllers.
const RESTORER: &str = "somebody with a backup";

/// Users, and the engine that they use.
pub struct People {
    random: fastrand::Rng,
    engine: Engine,
    changes: u64,
    plan: Plan,
    approver: Option<Approver>,
    /// Source of the times at which the garbage collector looks for objects without an owner.
    collector: fastrand::Rng,
    /// Time at which other tenants last changed the objects that theirs read.
    tide: Duration,
    /// Copies of statuses, with the uids of their Runnables.
    backups: BTreeMap<usize, (String, Value)>,
}

/// Returns the key of a Runnable, by number.
#[must_use]
pub fn runnable(number: usize) -> Key {
    key(Resource::Runnables, NAMESPACE, &format!("r{number}"))
}

/// Returns the key of the template with this number.
#[must_use]
pub fn template(number: usize) -> Key {
    key(Resource::Templates, "", &format!("t{number}"))
}

/// Returns the key of the object that a Runnable selects.
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
    /// Returns the users of a plan.
    #[must_use]
    pub fn new(plan: &Plan) -> Self {
        Self {
            random: fastrand::Rng::with_seed(plan.seed ^ 0x70_656f_706c_6500),
            engine: Engine::new(plan),
            changes: 0,
            plan: plan.clone(),
            approver: plan.asked.map(|_| Approver::new(plan.seed)),
            collector: fastrand::Rng::with_seed(plan.seed ^ 0x63_6f6c_6c65_6374),
            tide: Duration::ZERO,
            backups: BTreeMap::new(),
        }
    }

    /// Makes the first objects.
    pub fn settle_in(&mut self, store: &mut Store, plan: &Plan) {
        make(
            store,
            Resource::Accounts,
            &json!({ "metadata": { "name": "default", "namespace": NAMESPACE } }),
        );
        for number in 0..TEMPLATES {
            make(store, Resource::Templates, &template_object(number, plan));
        }
        if let Some(chain) = plan.chain {
            make(store, Resource::ConfigMaps, &chain::sizes_object());
            for role in Role::ALL {
                let object = asked_for(chain.template_object(role), plan);
                make(store, Resource::Templates, &object);
            }
        }
        for number in 0..plan.runnables {
            let source = json!({
                "metadata": { "name": format!("r{number}"), "namespace": NAMESPACE, "labels": { "app": format!("r{number}") } },
                "spec": { "revision": "s0" },
            });
            make(store, Resource::Sources, &source);
            self.make_runnable(store, number, "i0");
        }
        if plan.tenants {
            tenants::settle_in(store);
        }
        for (number, left) in plan.originals.iter().enumerate() {
            if let Some(left) = left {
                left.leave(store, number);
            }
        }
    }

    /// Performs a deed, if it is one of users.
    pub fn act(&mut self, store: &mut Store, deed: Deed) {
        self.changes += 1;
        let now = self.changes;
        match deed {
            Deed::Input(number) => self.change_input(store, number),
            Deed::Everything => {
                let runnables = store.all(Resource::Runnables, NAMESPACE).count();
                for number in 0..runnables {
                    self.change_input(store, number);
                }
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
            Deed::Size(number) => {
                let size = format!("s{}", self.random.u8(..3));
                let key = ["small", "other"][number];
                set(store, &chain::sizes(), &format!("/data/{key}"), json!(size));
            }
            Deed::Tie | Deed::Untie => {
                if let Some(chain) = self.plan.chain {
                    chain.tie(store, SOMEBODY, deed == Deed::Tie);
                }
            }
            Deed::Suspend(number) => set(store, &runnable(number), "/spec/suspend", json!(true)),
            Deed::Resume(number) => set(store, &runnable(number), "/spec/suspend", json!(false)),
            Deed::Recreate(number) => self.recreate(store, number),
            Deed::Cancel(number) => retries::cancel(store, &mut self.random, number),
            Deed::Timeout(_) | Deed::WayToStop(_) => stops::change(store, &mut self.random, deed),
            Deed::DeleteRun(number) => self.delete_a_run(store, number),
            Deed::Straggler(number) => original::arrive(store, number),
            Deed::Stranger(number, sort) => strangers::arrive(store, number, sort),
            Deed::Wipe(number) => lose(store, number, |status| *status = json!({})),
            Deed::ForgetRuns(number) => lose(store, number, forget_runs),
            Deed::BackUp(number) => {
                if let Some(object) = store.get(&runnable(number)) {
                    let copy = (uid(&object), object["status"].clone());
                    self.backups.insert(number, copy);
                }
            }
            Deed::Restore(number) => self.restore(store, number),
            Deed::Forbid | Deed::Allow => {
                // The event of the role wakes Runnables that wait for the right.
                let role = json!({ "metadata": { "name": format!("role-{now}"), "namespace": NAMESPACE } });
                make(store, Resource::Roles, &role);
            }
            _ => sinks::change(store, deed, now),
        }
    }

    fn make_runnable(&self, store: &mut Store, number: usize, input: &str) {
        let of_chain = self.plan.chain.and_then(|chain| {
            let role = chain.role(number)?;
            Some(chain.runnable_object(role, input))
        });
        let mut object = of_chain.unwrap_or_else(|| runnable_object(number, input));
        self.plan.ask(&mut object, false);
        sinks::ask(&self.plan.sinks, &mut object, number);
        make(store, Resource::Runnables, &object);
    }

    fn recreate(&self, store: &mut Store, number: usize) {
        if delete_with_runs(store, number) {
            self.make_runnable(store, number, &format!("n{}", self.changes));
        }
    }

    /// Changes an input, often back to its previous value.
    fn change_input(&mut self, store: &mut Store, number: usize) {
        let input = format!("i{}", self.random.u8(..3));
        set(store, &runnable(number), "/spec/inputs/value", json!(input));
    }

    fn restore(&mut self, store: &mut Store, number: usize) {
        let now = store.get(&runnable(number)).map(|object| uid(&object));
        let copy = self.backups.remove(&number);
        // A copy of a Runnable that was created anew since does not fit.
        if let Some((_, status)) = copy.filter(|(owner, _)| Some(owner) == now.as_ref()) {
            lose(store, number, |present| *present = status);
        }
    }

    fn delete_a_run(&mut self, store: &mut Store, number: usize) {
        let Some(owner) = store.get(&runnable(number)) else {
            return;
        };
        let status = RunnableStatus::deserialize(&owner["status"]).unwrap_or_default();
        let current = status.current_run.into_iter().map(|run| run.uid);
        let earlier = status.history.iter().map(|run| run.uid.clone());
        let known: Vec<String> = current.chain(earlier).flatten().collect();
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
                uid.is_some_and(|uid| known.iter().any(|known| known == uid)) && old(key)
            })
            .map(|(key, _)| key.clone())
            .collect();
        if let Some(key) = self.random.choice(&candidates) {
            // It exists: it was just found.
            let _ = store.delete(key, SOMEBODY);
        }
    }

    /// Lets the engine end the runs whose time has come.
    pub fn run_engine(&mut self, store: &mut Store) {
        self.engine.run(store, &mut self.random);
        if self.plan.tenants {
            tenants::rise(store, &mut self.tide);
        }
        if !self.plan.sinks.is_empty() && self.collector.f64() < 0.02 {
            sinks::collect(store);
        }
    }

    /// Approves waiting runs.
    pub fn approve(&mut self, store: &mut Store) {
        if let Some(approver) = &mut self.approver {
            approver.look(store);
        }
    }

    /// Returns true if a run is under way, or an approval is about to be written.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        self.engine.is_busy() || self.approver.as_ref().is_some_and(Approver::is_busy)
    }
}

fn set(store: &mut Store, key: &Key, pointer: &str, value: Value) {
    // A deleted object stays deleted.
    let _ = store.change(key, SOMEBODY, |object| {
        if let Some(place) = object.pointer_mut(pointer) {
            *place = value;
        }
    });
}

fn uid(object: &Value) -> String {
    let uid = object.pointer("/metadata/uid").and_then(Value::as_str);
    uid.unwrap_or_default().to_owned()
}

/// Writes the status of a Runnable.
fn lose(store: &mut Store, number: usize, change: impl FnOnce(&mut Value)) {
    // A deleted object has none.
    let _ = store.change(&runnable(number), RESTORER, |object| {
        change(&mut object["status"]);
    });
}

/// Leaves what a writer leaves that knows only the fields of the original.
fn forget_runs(status: &mut Value) {
    if let Value::Object(fields) = status {
        fields.retain(|name, _| {
            ["conditions", "outputs", "observedGeneration"].contains(&name.as_str())
        });
    }
}

/// Deletes a Runnable with its runs. Returns true if it existed.
fn delete_with_runs(store: &mut Store, number: usize) -> bool {
    let key = runnable(number);
    let Some(before) = store.get(&key) else {
        return false;
    };
    let uid = before
        .pointer("/metadata/uid")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned();
    // It exists: it was just read.
    let _ = store.delete(&key, SOMEBODY);
    // The part of the garbage collector.
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
        let _ = store.delete(&run, COLLECTOR);
    }
    true
}

fn make(store: &mut Store, resource: Resource, object: &Value) {
    make_as(store, resource, object, SOMEBODY);
}

/// Creates an object, and returns its uid.
pub(crate) fn make_as(
    store: &mut Store,
    resource: Resource,
    object: &Value,
    actor: &str,
) -> String {
    let mut object = object.clone();
    object["apiVersion"] = json!(resource.api_version());
    object["kind"] = json!(resource.kind());
    let namespace = object
        .pointer("/metadata/namespace")
        .and_then(Value::as_str);
    let namespace = namespace.unwrap_or_default().to_owned();
    let made = store.create(resource, &namespace, object, actor, false);
    debug_assert!(made.is_ok(), "{made:?}");
    made.map(|object| uid(&object)).unwrap_or_default()
}

fn template_object(number: usize, plan: &Plan) -> Value {
    let source = if number == 0 {
        "none"
    } else {
        "$(selected.spec.revision)$"
    };
    let object = json!({
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
    });
    asked_for(object, plan)
}

fn asked_for(mut object: Value, plan: &Plan) -> Value {
    plan.ask(&mut object, true);
    if plan.reworded {
        object["spec"]["template"]["spec"]["amount"] = json!("1000m");
        object["spec"]["template"]["spec"]["nothing"] = json!([]);
    }
    object
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

/// Returns true if an actor is no controller: no controller is to blame for its writes.
#[must_use]
pub fn is_person(actor: &str) -> bool {
    [SOMEBODY, RESTORER, original::ORIGINAL, strangers::STRANGER].contains(&actor)
}

/// Returns true if an object is a run of ours: it carries our label and a controller.
#[must_use]
pub fn is_run_of_ours(object: &Value) -> bool {
    object["metadata"]["labels"]
        .get(RUNNABLE_NAME_LABEL)
        .is_some()
        && object.pointer("/metadata/ownerReferences/0/uid").is_some()
        && object["apiVersion"] != API_VERSION
}
