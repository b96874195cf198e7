//! The API server's record of the writers of a status.

use cartouche_crds::FIELD_MANAGER;
use k8s_openapi::jiff::Timestamp;
use serde_json::{Value, json};

use crate::people::is_person;

/// Records the writers of a status, and the last one of `currentRun`, as the API server does: it is written
/// as a whole. All controllers write under one name.
pub(super) fn note_writer(before: &Value, after: &mut Value, actor: &str, now: Timestamp) {
    // An empty status has no owners.
    if after["status"] == json!({}) {
        after["metadata"]["managedFields"] = json!([]);
        return;
    }
    let writer = if is_person(actor) {
        actor
    } else {
        FIELD_MANAGER
    };
    let anew = before.pointer("/status/currentRun") != after.pointer("/status/currentRun");
    let entries = &mut after["metadata"]["managedFields"];
    let mut kept: Vec<Value> = entries.as_array().cloned().unwrap_or_default();
    if !kept.iter().any(|entry| entry["manager"] == writer) {
        kept.push(json!({
            "manager": writer, "operation": "Update", "subresource": "status", "fieldsType": "FieldsV1",
            "fieldsV1": { "f:status": { "f:observedGeneration": {} } },
        }));
    }
    let own = kept.iter_mut().filter(|entry| entry["manager"] == writer);
    own.for_each(|entry| entry["time"] = json!(now.to_string()));
    for entry in kept.iter_mut().filter(|_| anew) {
        let own = entry["manager"] == writer;
        if let Some(Value::Object(fields)) = entry.pointer_mut("/fieldsV1/f:status") {
            fields.remove("f:currentRun");
            if own {
                fields.insert("f:currentRun".to_owned(), json!({}));
            }
        }
    }
    *entries = Value::Array(kept);
}
