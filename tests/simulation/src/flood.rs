//! Tenants that flood events, and tenants that must not lose any because of that. All name an account that
//! does not exist, and change it again and again: each change is a status and a Warning.

use serde_json::json;

use crate::{
    discovery::Resource,
    people::make_as,
    store::{Key, Store},
    strangers::STRANGER,
};

/// The namespace of the tenants that flood.
pub(crate) const FLOOD: &str = "flood";
/// The namespace of the tenants whose Warnings must all arrive.
pub(crate) const QUIET: &str = "quiet";
/// Events per second that a controller sends where there is a flood, which has three per second.
pub(crate) const RATE: u32 = 1;

/// Number of flooding Runnables: so many that the queued events of each delay the others for longer than is
/// allowed.
const FLOODING: u64 = 40;
/// Number of those that change with each tide, one after the other.
const AT_ONCE: u64 = 6;
const QUIET_ONES: u64 = 3;
/// Tides between two changes of the quiet tenants.
const SELDOM: u64 = 8;

/// Makes their objects at the beginning.
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

/// Lets some of them name another account.
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
    // It is never deleted.
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
