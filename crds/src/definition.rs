//! The `CustomResourceDefinition`s: the derived schemas, completed.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, JSON, JSONSchemaProps,
};
use kube::CustomResourceExt;
use serde_json::json;

use crate::{ClusterRunTemplate, Runnable};

/// The definition of the Runnable.
#[must_use]
pub fn runnable() -> CustomResourceDefinition {
    completed(Runnable::crd())
}

/// The definition of the `ClusterRunTemplate`.
#[must_use]
pub fn cluster_run_template() -> CustomResourceDefinition {
    completed(ClusterRunTemplate::crd())
}

/// Adds what the derive cannot say. A status that starts at generation -1 makes tools such as Flux
/// see a fresh object as "in progress"; without any status they take it for done.
fn completed(mut definition: CustomResourceDefinition) -> CustomResourceDefinition {
    for version in &mut definition.spec.versions {
        let Some(root) = version
            .schema
            .as_mut()
            .and_then(|s| s.open_api_v3_schema.as_mut())
        else {
            continue;
        };
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
            status.nullable = None;
        }
    }
    definition
}
