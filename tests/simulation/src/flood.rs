//! Tenants who flood events, and tenants who are to lose none to that. All name an account that is not there, and another one
//! again and again: each change is a status and a Warning.

use serde_json::json;

use crate::{
    discovery::Resource,
    people::make_as,
    store::{Key, Store},
    strangers::STRANGER,
};

/// The namespace of those who flood.
pub(crate) const FLOOD: &str = "flood";
/// The namespace of those of whom each Warning has to arrive.
pub(crate) const QUIET: &str = "quiet";
/// Events a second that a controller sends where there is a flood, which has three a second.
pub(crate) const RATE: u32 = 1;

/// So many that what is left of each of them in a queue keeps others waiting for longer than is allowed.
const FLOODING: u64 = 40;
/// Those that change with each tide, one after the other.
const AT_ONCE: u64 = 6;
const QUIET_ONES: u64 = 3;
/// Tides between two changes of these.
const SELDOM: u64 = 8;

/// Their objects at the beginning.
pub(crate) fn settle_in(store: &mut Store) {
    for (namespace, count) in [(FLOOD, FLOODING), (QUIET, QUIET_ONES)] {
        let account = json!({ "metadata": { "name": "default", "namespace": namespace } });
        make_as(store, Resource::Accounts, &account, STRANGER);
        for number in 0..count {
            let object = json!({
                "metadata": { "name": name(number), "namespace": namespace, "annotations": {} },
                "spec": {
                    "runTemplateRef": { "name": "t0" }, "serviceAccountName": missing(0), "inputs": {},
                },
            });
            make_as(store, Resource::Runnables, &object, STRANGER);
        }
    }
}

/// Some of them name another account.
pub(crate) fn rise(store: &mut Store, tide: u64) {
    for number in 0..AT_ONCE {
        want(store, FLOOD, (tide * AT_ONCE + number) % FLOODING, tide);
    }
    if tide.is_multiple_of(SELDOM) {
        for number in 0..QUIET_ONES {
            want(store, QUIET, number, tide);
        }
    }
}

fn want(store: &mut Store, namespace: &str, number: u64, tide: u64) {
    let key = Key {
        resource: Resource::Runnables,
        namespace: namespace.to_owned(),
        name: name(number),
    };
    // Nothing deletes it.
    let _ = store.change(&key, STRANGER, |object| {
        object["spec"]["serviceAccountName"] = json!(missing(tide));
    });
}

fn name(number: u64) -> String {
    format!("wants-{number}")
}

fn missing(tide: u64) -> String {
    format!("missing-{tide}")
}
