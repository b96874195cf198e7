//! Other tenants, in a namespace of their own, who do everything that they may. They write Runnables that
//! read each other while they wait, that are refused, that change all the time beside their sources, and that
//! are small as a text and heavy as a tree. Some flood events (`flood.rs`).
//!
//! Their Runnables never run. The oracle judges the effect on others, and the number of writes to their own
//! statuses (`oracle/rest.rs`, `oracle/events.rs`). Where there are tenants, the watch of one kind of runs
//! fails for one of the controllers, for good.

use std::time::Duration;

use cartouche_crds::RUNNABLE_NAME_LABEL;
use serde_json::{Value, json};

use crate::{
    discovery::{EXAMPLE, Resource},
    flood,
    people::{NAMESPACE, make_as},
    requests::{Call, Target},
    store::{Key, Store},
    strangers::{STRANGER, TENANTS},
};

/// The controller whose watch fails.
const DEAF: &str = "controller-0";
/// Time between two changes of the `ConfigMap`.
const TIDE: Duration = Duration::from_secs(2);
const CHANGING: usize = 3;
/// Chains of maps in each other: 14 KB as a text, 1.5 MiB as a tree.
const CHAINS: usize = 40;
const LEVELS: usize = 58;
/// The template of all of them, and the `ConfigMap` that changes.
const WAITS: &str = "waits";
const SEA: &str = "sea";

/// Makes their objects at the beginning.
pub(crate) fn settle_in(store: &mut Store) {
    let account = json!({ "metadata": { "name": "default", "namespace": TENANTS } });
    make_as(store, Resource::Accounts, &account, STRANGER);
    let template = json!({
        "metadata": { "name": WAITS },
        "spec": { "template": {
            "apiVersion": EXAMPLE, "kind": "Task", "metadata": { "generateName": "run-" },
            "spec": { "inputs": "$(runnable.spec.inputs)$" },
        } },
    });
    make_as(store, Resource::Templates, &template, STRANGER);
    let sea =
        json!({ "metadata": { "name": SEA, "namespace": TENANTS }, "data": { "level": "0" } });
    make_as(store, Resource::ConfigMaps, &sea, STRANGER);
    let waits = |from: Value| json!({ "approval": "Manual", "inputs": {}, "inputsFrom": from });
    for (name, other) in [("left", "right"), ("right", "left")] {
        let version = json!([{ "name": "read", "objectRef": {
            "apiVersion": cartouche_crds::API_VERSION, "kind": "Runnable",
            "matchingLabels": { "is": other }, "path": ".metadata.resourceVersion", "waitFor": "Nothing",
        } }]);
        make(store, name, waits(version));
    }
    let level = json!([{ "name": "level", "configMapKeyRef": { "name": SEA, "key": "level" } }]);
    for number in 0..CHANGING {
        make(store, &format!("changing-{number}"), waits(level.clone()));
    }
    make(store, "refused", json!({ "inputs": {} }));
    make(
        store,
        "refused-anew",
        json!({ "inputs": {}, "inputsFrom": level }),
    );
    let heavy = json!({ "suspend": true, "inputs": { "heavy": heavy() } });
    make(store, "heavy", heavy);
    // It claims to be a run of another Runnable.
    let claims = json!({
        "metadata": { "name": "heavy", "namespace": NAMESPACE, "labels": { RUNNABLE_NAME_LABEL: "r0" } },
        "spec": { "heavy": self::heavy() },
    });
    make_as(store, Resource::Tasks, &claims, STRANGER);
    flood::settle_in(store);
}

fn make(store: &mut Store, name: &str, mut spec: Value) {
    spec["runTemplateRef"] = json!({ "name": WAITS });
    let object = json!({
        "metadata": { "name": name, "namespace": TENANTS, "labels": { "is": name }, "annotations": {} },
        "spec": spec,
    });
    make_as(store, Resource::Runnables, &object, STRANGER);
}

/// Returns a value that is small as a text, and heavy as a tree.
pub(crate) fn heavy() -> Value {
    let chain = (0..LEVELS).fold(json!(1), |inner, _| json!({ "a": inner }));
    (0..CHAINS).map(|_| chain.clone()).collect()
}

/// Changes the `ConfigMap` once more.
pub(crate) fn rise(store: &mut Store, last: &mut Duration) {
    if store.elapsed < *last + TIDE {
        return;
    }
    *last = store.elapsed;
    let key = Key {
        resource: Resource::ConfigMaps,
        namespace: TENANTS.to_owned(),
        name: SEA.to_owned(),
    };
    let level = store.elapsed.as_millis().to_string();
    // It is never deleted.
    let _ = store.change(&key, STRANGER, |object| {
        object["data"]["level"] = json!(level);
    });
    flood::rise(store, last.as_secs() / TIDE.as_secs());
}

/// Returns true for the watch that fails.
pub(crate) fn is_deaf(call: &Call) -> bool {
    let is_of_tasks = matches!(call.target(), Target::All(Resource::Tasks, _));
    call.host == DEAF && is_of_tasks
}
