//! The `CustomResourceDefinition`s: the derived schemas, completed.

use std::collections::BTreeMap;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, JSON, JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
};
use kube::CustomResourceExt;
use serde_json::json;

use crate::{
    keys::SCHEMA_ANNOTATION, profile::ClusterRunProfile, run_template::ClusterRunTemplate,
    runnable::Runnable,
};

/// The schema number of this release, the same in all definitions. Each release that adds a field raises it. A
/// controller intends no runs under definitions with a lower number, because they drop fields of its own and of
/// users.
pub const SCHEMA: u32 = 1;

/// Returns the schema number of a definition with these annotations, or 0 if it has none, as Cartographer's do.
#[must_use]
pub fn schema_of(annotations: &BTreeMap<String, String>) -> u32 {
    let number = annotations.get(SCHEMA_ANNOTATION);
    number
        .and_then(|number| number.parse().ok())
        .unwrap_or_default()
}

/// Returns the installed definition of the Runnable.
#[must_use]
pub fn runnable() -> CustomResourceDefinition {
    completed(
        Runnable::crd(),
        "The template to run, its inputs, and the ServiceAccount that runs it.",
    )
}

/// Returns the installed definition of the `ClusterRunTemplate`.
#[must_use]
pub fn cluster_run_template() -> CustomResourceDefinition {
    completed(
        ClusterRunTemplate::crd(),
        "The object that a run is, and how to read it.",
    )
}

/// Returns the installed definition of the `ClusterRunProfile`.
#[must_use]
pub fn cluster_run_profile() -> CustomResourceDefinition {
    completed(
        ClusterRunProfile::crd(),
        "Rules that choose Runnables, and the settings for their runs.",
    )
}

/// Adds what the derive cannot express, and removes its surplus.
fn completed(
    mut definition: CustomResourceDefinition,
    spec_description: &str,
) -> CustomResourceDefinition {
    let annotations = definition.metadata.annotations.get_or_insert_default();
    annotations.insert(SCHEMA_ANNOTATION.to_owned(), SCHEMA.to_string());
    for root in roots(&mut definition) {
        tidy(root);
        complete_root(root, spec_description);
    }
    definition
}

/// Iterates over the schemas of all versions.
fn roots(definition: &mut CustomResourceDefinition) -> impl Iterator<Item = &mut JSONSchemaProps> {
    definition
        .spec
        .versions
        .iter_mut()
        .filter_map(|version| version.schema.as_mut()?.open_api_v3_schema.as_mut())
}

/// Completes the root schema. The derive describes the kind by its own name and puts the type's doc comment on
/// `spec`, but `kubectl explain` should show the doc comment first.
///
/// A status that starts at generation -1 makes tools such as Flux treat a fresh object as "in progress"; without a
/// status they would treat it as done.
fn complete_root(root: &mut JSONSchemaProps, spec_description: &str) {
    root.required = Some(vec!["metadata".to_owned(), "spec".to_owned()]);
    let properties = root.properties.get_or_insert_default();
    properties.insert(
        "metadata".to_owned(),
        JSONSchemaProps {
            type_: Some("object".to_owned()),
            ..JSONSchemaProps::default()
        },
    );
    if let Some(status) = properties.get_mut("status") {
        status.default = Some(JSON(json!({ "observedGeneration": -1 })));
    }
    if let Some(spec) = properties.get_mut("spec") {
        root.description = spec.description.replace(spec_description.to_owned());
    }
}

/// Removes titles, which repeat the kind, and the line breaks of the source, which `kubectl explain` would show.
/// `nullable` stays where the value is any JSON, so that a user's null is kept. Elsewhere the API server then
/// drops a null, as it did under the schema of Cartographer, so that CEL rules and readers see an absent field.
fn tidy(schema: &mut JSONSchemaProps) {
    schema.title = None;
    schema.description = schema
        .description
        .take()
        .map(|text| text.replace('\n', " "));
    let is_any = schema.x_kubernetes_preserve_unknown_fields == Some(true);
    if !is_any || schema.properties.is_some() {
        schema.nullable = None;
    }
    let members = schema.properties.iter_mut().flat_map(|p| p.values_mut());
    members.for_each(tidy);
    if let Some(JSONSchemaPropsOrBool::Schema(values)) = &mut schema.additional_properties {
        tidy(values);
    }
    match &mut schema.items {
        Some(JSONSchemaPropsOrArray::Schema(item)) => tidy(item),
        Some(JSONSchemaPropsOrArray::Schemas(items)) => items.iter_mut().for_each(tidy),
        None => {}
    }
}

#[cfg(test)]
mod refused;

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn schema_of(definition: &CustomResourceDefinition) -> Value {
        let value = serde_json::to_value(definition).unwrap();
        value["spec"]["versions"][0]["schema"]["openAPIV3Schema"].clone()
    }

    /// Collects the paths of all members called `key` whose value is not a schema, in document order.
    fn paths_of(key: &str, value: &Value, at: &str, found: &mut Vec<String>) {
        let Some(map) = value.as_object() else {
            return;
        };
        for (name, member) in map {
            if name == key && !member.is_object() {
                found.push(at.to_owned());
            }
            paths_of(key, member, &format!("{at}/{name}"), found);
        }
    }

    #[test]
    fn null_is_a_value_only_where_any_json_is() {
        let mut found = Vec::new();
        paths_of("nullable", &schema_of(&runnable()), "", &mut found);
        paths_of(
            "nullable",
            &schema_of(&cluster_run_template()),
            "",
            &mut found,
        );
        paths_of(
            "nullable",
            &schema_of(&cluster_run_profile()),
            "",
            &mut found,
        );
        assert_eq!(
            found,
            [
                "/properties/spec/properties/inputs/additionalProperties",
                "/properties/status/properties/failure/properties/outputs/additionalProperties",
                "/properties/status/properties/outputs/additionalProperties",
                "/properties/spec/properties/values/additionalProperties",
            ]
        );
    }

    /// A later release adds fields to these objects that this one must not prune. If you add an object to a
    /// status, open it and name it here.
    #[test]
    fn every_object_of_a_status_lets_unknown_fields_stand() {
        fn objects(schema: &Value, at: &str, found: &mut Vec<String>) {
            if let Some(properties) = schema["properties"].as_object() {
                let is_open = schema["x-kubernetes-preserve-unknown-fields"] == true;
                found.push(format!("{at}{}", if is_open { "" } else { ": closed" }));
                for (name, member) in properties {
                    objects(member, &format!("{at}.{name}"), found);
                }
            }
            objects_in(&schema["items"], &format!("{at}[]"), found);
            objects_in(&schema["additionalProperties"], &format!("{at}.*"), found);
        }
        fn objects_in(schema: &Value, at: &str, found: &mut Vec<String>) {
            if schema.is_object() {
                objects(schema, at, found);
            }
        }
        let found = |definition: &CustomResourceDefinition| {
            let mut found = Vec::new();
            let schema = schema_of(definition)["properties"]["status"].clone();
            objects(&schema, "status", &mut found);
            found
        };
        assert_eq!(
            found(&runnable()),
            [
                "status",
                // The type of Kubernetes, without a field of ours.
                "status.conditions[]: closed",
                "status.currentRun",
                "status.currentRun.stop",
                "status.failure",
                "status.outputsFrom",
                "status.pending",
                "status.profile",
                "status.sensitiveOutputs.*",
                "status.sinks[]",
                "status.unfinishedRuns[]",
                "status.unfinishedRuns[].stop",
            ]
        );
        let of_others = ["status", "status.conditions[]: closed"];
        assert_eq!(found(&cluster_run_template()), of_others);
        assert_eq!(found(&cluster_run_profile()), of_others);
    }

    #[test]
    fn every_definition_bears_the_number_of_its_schema() {
        let of = super::schema_of;
        for definition in [runnable(), cluster_run_template(), cluster_run_profile()] {
            assert_eq!(of(&definition.metadata.annotations.unwrap()), SCHEMA);
        }
        let with = |number: &str| of(&[(SCHEMA_ANNOTATION.to_owned(), number.to_owned())].into());
        assert_eq!(["7", "", "-1", "two"].map(with), [7, 0, 0, 0]);
        assert_eq!(of(&BTreeMap::new()), 0);
    }

    #[test]
    fn a_description_is_one_line() {
        for definition in [runnable(), cluster_run_template(), cluster_run_profile()] {
            assert!(!schema_of(&definition).to_string().contains("\\n"));
        }
    }

    #[test]
    fn a_kind_is_described_by_the_doc_comment_of_its_spec() {
        for definition in [runnable(), cluster_run_template(), cluster_run_profile()] {
            let description = schema_of(&definition)["description"].clone();
            assert!(!description.as_str().unwrap().contains("Auto-generated"));
        }
    }

    #[test]
    fn a_fresh_object_has_a_status_of_generation_minus_one() {
        for definition in [runnable(), cluster_run_template(), cluster_run_profile()] {
            let status = schema_of(&definition)["properties"]["status"].clone();
            assert_eq!(status["default"], json!({ "observedGeneration": -1 }));
        }
    }

    #[test]
    fn every_list_and_map_of_a_profile_has_a_bound() {
        fn unbounded(schema: &Value, at: &str, found: &mut Vec<String>) {
            let Some(map) = schema.as_object() else {
                return;
            };
            let lacks = |bound: &str| !map.contains_key(bound);
            let is_list = map.get("type") == Some(&json!("array"));
            let is_map = map
                .get("additionalProperties")
                .is_some_and(Value::is_object);
            if is_list && lacks("maxItems") || is_map && lacks("maxProperties") {
                found.push(at.to_owned());
            }
            for (name, member) in map {
                unbounded(member, &format!("{at}/{name}"), found);
            }
        }
        let mut found = Vec::new();
        unbounded(
            &schema_of(&cluster_run_profile())["properties"]["spec"],
            "",
            &mut found,
        );
        assert_eq!(found, [""; 0]);
    }

    #[test]
    fn profiles_belong_to_the_cluster_and_to_no_namespace() {
        let definition = serde_json::to_value(cluster_run_profile()).unwrap();
        assert_eq!(
            definition["metadata"]["name"],
            "clusterrunprofiles.carto.run"
        );
        assert_eq!(definition["spec"]["scope"], "Cluster");
        assert_eq!(definition["spec"]["names"]["shortNames"], json!(["crp"]));
        assert_eq!(definition["spec"]["versions"][0]["name"], "v1alpha1");
    }
}
