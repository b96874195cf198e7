//! The fields that an object was created with: those that Cartouche sent and those that the API server filled in
//! then, without later additions of others. The API server keeps a list of the fields of each writer.

use cartouche_crds::FIELD_MANAGER;
use serde_json::{Map, Value};

/// Returns the fields of an object that Cartouche created it with, or `None` if the API server does not list them.
pub(crate) fn own_fields(object: &Value) -> Option<Value> {
    let managers = object.pointer("/metadata/managedFields")?.as_array()?;
    let ours = managers.iter().find(|entry| {
        entry.get("manager").and_then(Value::as_str) == Some(FIELD_MANAGER)
            && entry
                .get("subresource")
                .and_then(Value::as_str)
                .unwrap_or_default()
                .is_empty()
    })?;
    let mut kept = pick(object, ours.get("fieldsV1")?)?;
    for field in ["apiVersion", "kind"] {
        if let (Some(fields), Some(value)) = (kept.as_object_mut(), object.get(field)) {
            fields.insert(field.to_owned(), value.clone());
        }
    }
    Some(kept)
}

/// Returns the part of a value that a set of fields names. An empty set names all of it.
fn pick(value: &Value, fields: &Value) -> Option<Value> {
    let fields = fields.as_object()?;
    let has_below = fields
        .keys()
        .any(|key| key.starts_with("f:") || key.starts_with("k:") || key.starts_with("v:"));
    if !has_below {
        return Some(value.clone());
    }
    match value {
        Value::Object(members) => {
            let kept = members.iter().filter_map(|(key, member)| {
                let below = fields.get(&format!("f:{key}"))?;
                Some((key.clone(), pick(member, below)?))
            });
            Some(Value::Object(kept.collect::<Map<_, _>>()))
        }
        Value::Array(items) => {
            let kept = items.iter().filter_map(|item| {
                let below = fields.iter().find(|(name, _)| names(name, item))?.1;
                pick(item, below)
            });
            Some(Value::Array(kept.collect()))
        }
        other => Some(other.clone()),
    }
}

/// Returns true if a name such as `k:{"name":"x"}` or `v:"x"` stands for this element of a list.
fn names(name: &str, item: &Value) -> bool {
    if let Some(keys) = name.strip_prefix("k:") {
        let keys: Option<Map<String, Value>> = serde_json::from_str(keys).ok();
        return keys
            .is_some_and(|keys| keys.iter().all(|(key, value)| item.get(key) == Some(value)));
    }
    name.strip_prefix("v:")
        .and_then(|value| serde_json::from_str::<Value>(value).ok())
        .is_some_and(|value| value == *item)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn job() -> Value {
        json!({
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {
                "name": "hello",
                "labels": { "app": "x", "added": "by a webhook" },
                "managedFields": [
                    { "manager": "kube-controller-manager", "subresource": "status", "fieldsV1": { "f:status": {} } },
                    { "manager": "cartouche", "operation": "Update", "fieldsV1": {
                        "f:metadata": { "f:labels": { ".": {}, "f:app": {} } },
                        "f:spec": {
                            "f:backoffLimit": {},
                            "f:template": { "f:spec": { "f:containers": {
                                "k:{\"name\":\"greet\"}": { ".": {}, "f:name": {}, "f:command": {} },
                            } } },
                        },
                    } },
                ],
            },
            "spec": {
                "backoffLimit": 0,
                "completionMode": "NonIndexed",
                "template": { "spec": { "containers": [
                    { "name": "greet", "command": ["echo"], "imagePullPolicy": "IfNotPresent" },
                    { "name": "sidecar", "command": ["proxy"] },
                ] } },
            },
            "status": { "succeeded": 1 },
        })
    }

    #[test]
    fn what_others_added_is_left_out() {
        assert_eq!(
            own_fields(&job()),
            Some(json!({
                "apiVersion": "batch/v1",
                "kind": "Job",
                "metadata": { "labels": { "app": "x" } },
                "spec": {
                    "backoffLimit": 0,
                    "template": { "spec": { "containers": [{ "name": "greet", "command": ["echo"] }] } },
                },
            }))
        );
    }

    #[test]
    fn an_object_that_cartouche_did_not_make_is_not_judged() {
        let mut job = job();
        job["metadata"]["managedFields"] =
            json!([{ "manager": "kubectl", "fieldsV1": { "f:spec": {} } }]);
        assert_eq!(own_fields(&job), None);
    }
}
