//! Properties of the merge for any profile and any run.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::{check, job, merge};

/// Elements with some of these names, each at most once, in any order.
fn named(
    key: &'static str,
    names: &'static [&'static str],
    with: &'static [&'static str],
) -> impl Strategy<Value = Value> {
    let order = Just(names.to_vec()).prop_shuffle();
    (
        order,
        0..=names.len(),
        prop::collection::vec(leaf(), names.len() * with.len()),
    )
        .prop_map(move |(names, count, leaves)| {
            let elements = names.iter().take(count).enumerate().map(|(index, name)| {
                let fields = with.iter().zip(&leaves[index * with.len()..]);
                let fields = fields.map(|(field, leaf)| ((*field).to_owned(), leaf.clone()));
                let mut element: Map<String, Value> = fields.collect();
                element.insert(key.to_owned(), (*name).into());
                Value::Object(element)
            });
            elements.collect()
        })
}

fn leaf() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        Just(json!("x")),
        Just(json!(["a"])),
        Just(json!(["b", { "c": null }])),
        Just(json!({ "a": "b" })),
        Just(json!({ "a": null, "c": ["d"] })),
    ]
}

fn pod_spec() -> impl Strategy<Value = Value> {
    let containers = named("name", &["a", "b", "c"], &["image", "args"]);
    let env = named("name", &["A", "B", "C"], &["value", "valueFrom"]);
    let mounts = named("mountPath", &["/a", "/b"], &["name"]);
    let volumes = named("name", &["u", "v", "w"], &["emptyDir"]);
    (containers, env, mounts, volumes, leaf(), leaf()).prop_map(
        |(mut containers, env, mounts, volumes, tolerations, selector)| {
            for container in containers.as_array_mut().into_iter().flatten() {
                container["env"] = env.clone();
                container["volumeMounts"] = mounts.clone();
            }
            json!({ "containers": containers, "volumes": volumes, "tolerations": tolerations, "nodeSelector": selector })
        },
    )
}

proptest! {
    #[test]
    fn to_merge_twice_is_to_merge_once(spec in pod_spec(), patch in pod_spec()) {
        let patch = json!({ "spec": patch });
        prop_assert_eq!(check(&patch), []);
        let mut once = job(spec);
        if merge(&mut once, &patch).is_ok() {
            let mut twice = once.clone();
            merge(&mut twice, &patch).unwrap();
            prop_assert_eq!(twice, once);
        }
    }

    #[test]
    fn what_the_profile_does_not_name_stays_and_what_it_says_is_there(spec in pod_spec(), patch in pod_spec()) {
        let mut document = job(spec.clone());
        let whole = json!({ "spec": patch });
        if merge(&mut document, &whole).is_ok() {
            let merged = &document["spec"]["template"]["spec"];
            let names = |value: &Value| -> Vec<Value> {
                let mut names: Vec<Value> = value.as_array().into_iter().flatten().map(|it| it["name"].clone()).collect();
                names.sort_by_key(ToString::to_string);
                names.dedup();
                names
            };
            prop_assert_eq!(names(&merged["containers"]), names(&spec["containers"]));
            let mut both = spec["volumes"].clone();
            both.as_array_mut().unwrap().extend(patch["volumes"].as_array().unwrap().clone());
            prop_assert_eq!(names(&merged["volumes"]), names(&both));
            let mut at_hand = Vec::new();
            holds(merged, &patch, &mut at_hand);
            prop_assert_eq!(at_hand, [""; 0]);
        }
    }
}

/// Returns the part of a patch that is missing in the merged value, as a text. Elements are identified by any of
/// their keys.
fn holds(merged: &Value, patch: &Value, missing: &mut Vec<String>) {
    match patch {
        Value::Object(patch) => {
            for (key, wanted) in patch {
                match (merged.get(key), wanted) {
                    (None, Value::Null) => {}
                    (Some(found), wanted) => holds(found, wanted, missing),
                    (None, wanted) => missing.push(format!("{key}: {wanted}")),
                }
            }
        }
        Value::Array(elements) => {
            for wanted in elements {
                let found = merged.as_array().into_iter().flatten();
                let holding = found.filter(|found| {
                    let mut lacks = Vec::new();
                    holds(found, wanted, &mut lacks);
                    lacks.is_empty()
                });
                if holding.count() == 0 {
                    missing.push(wanted.to_string());
                }
            }
        }
        other if other != merged => missing.push(other.to_string()),
        _ => {}
    }
}
