//! Strict reading of users' specs: fields that this release does not know are recorded, so that no run is made
//! without them.
//!
//! The API server drops fields that its definition does not know. Such a field arrives only under the definition
//! of a newer release.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_ignored::Path;

use crate::{
    profile::ClusterRunProfileSpec, run_template::ClusterRunTemplateSpec, runnable::RunnableSpec,
};

/// Maximum number of recorded fields.
const MOST: usize = 8;
/// Maximum length of a recorded path, in bytes.
const BYTES: usize = 128;
/// Path below which Cartographer permits any field, and reads none.
const IGNORED: &str = "healthRule.alwaysHealthy.";

/// Adds one field to the unknown ones.
fn put_down(unknown: &mut Vec<String>, path: &Path<'_>) {
    // An optional field has a step of its own.
    let mut path = path.to_string().replace(".?", "");
    if unknown.len() < MOST && !path.starts_with(IGNORED) {
        path.truncate(path.floor_char_boundary(BYTES));
        unknown.push(path);
    }
}

/// Implements serde's traits over the derived functions, which skip unknown fields.
macro_rules! read_strictly {
    ($($spec:ty),*) => {$(
        impl<'de> Deserialize<'de> for $spec {
            fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                let mut unknown = Vec::new();
                let mut note = |path: Path<'_>| put_down(&mut unknown, &path);
                let mut spec = <$spec>::deserialize(serde_ignored::Deserializer::new(from, &mut note))?;
                spec.unknown_fields = unknown;
                Ok(spec)
            }
        }

        impl Serialize for $spec {
            fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                <$spec>::serialize(self, to)
            }
        }
    )*};
}

read_strictly!(RunnableSpec, ClusterRunTemplateSpec, ClusterRunProfileSpec);

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn of_runnable(spec: Value) -> Vec<String> {
        let spec: RunnableSpec = serde_json::from_value(spec).unwrap();
        spec.unknown_fields
    }

    fn of_template(spec: Value) -> Vec<String> {
        let spec: ClusterRunTemplateSpec = serde_json::from_value(spec).unwrap();
        spec.unknown_fields
    }

    #[test]
    fn a_field_that_is_not_known_is_put_down_by_its_path_wherever_it_is() {
        let unknown = of_runnable(json!({
            "runTemplateRef": { "name": "t", "version": 2 },
            "start": { "debounce": "1s", "at": "noon" },
            "inputsFrom": [{ "name": "a", "configMapKeyRef": { "name": "b", "key": "c" } }, { "name": "d", "valueFrom": {} }],
            "writeOutputsTo": [{ "kind": "ConfigMap", "name": "a", "sign": true }],
            "tick": "hourly",
        }));
        assert_eq!(
            unknown,
            [
                "inputsFrom.1.valueFrom",
                "runTemplateRef.version",
                "start.at",
                "tick",
                "writeOutputsTo.0.sign",
            ]
        );
    }

    #[test]
    fn the_same_is_true_of_templates_and_profiles() {
        let template = json!({ "template": {}, "stop": { "signal": 2 }, "cluster": "b" });
        assert_eq!(of_template(template), ["cluster", "stop.signal"]);
        let profile = json!({ "rules": [{ "templates": ["a"], "clusters": ["b"] }], "queue": "c" });
        let profile: ClusterRunProfileSpec = serde_json::from_value(profile).unwrap();
        assert_eq!(profile.unknown_fields, ["queue", "rules.0.clusters"]);
    }

    #[test]
    fn what_users_may_write_freely_is_not_unknown() {
        let none: [&str; 0] = [];
        let runnable = json!({
            "runTemplateRef": { "kind": "ClusterRunTemplate", "name": "t" }, "inputs": { "a": { "b": [{ "c": null }] } },
            "selector": { "resource": { "apiVersion": "v1", "kind": "Pod" }, "matchingLabels": { "x": "y" } },
            "retentionPolicy": { "maxFailedRuns": 1, "maxSuccessfulRuns": 1 },
        });
        assert_eq!(of_runnable(runnable), none);
        let template = json!({
            "template": { "kind": "Job", "spec": { "anything": { "at": ["all"] } } },
            "inputSchema": { "properties": { "a": { "type": "string" } } },
            "outputs": { "digest": ".status.x" }, "stop": { "mergePatch": { "spec": { "paused": true } } },
            "healthRule": { "alwaysHealthy": { "as": "Cartographer allows" } },
        });
        assert_eq!(of_template(template), none);
    }

    #[test]
    fn what_is_put_down_is_bounded_and_not_written() {
        let many = (0..100).map(|at| (format!("{at}{}", "x".repeat(500)), json!(at)));
        let mut spec: serde_json::Map<String, Value> = many.collect();
        spec.insert("runTemplateRef".to_owned(), json!({ "name": "t" }));
        let spec: RunnableSpec = serde_json::from_value(spec.into()).unwrap();
        assert_eq!(spec.unknown_fields.len(), MOST);
        assert!(spec.unknown_fields.iter().all(|path| path.len() <= BYTES));
        assert!(json!(spec).get("unknownFields").is_none());
    }
}
