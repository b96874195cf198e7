//! The kinds that the benchmark installs: cheap runs, and a twin of the Runnable for the references.

use anyhow::{Context, Result};
use cartouche_tests::repository;
use serde_json::{Value, json};

/// The group of the runs.
pub(crate) const RUN_GROUP: &str = "bench.carto.run";
/// The group of the Runnables that controllers under test serve.
pub(crate) const RUNNABLE_GROUP: &str = "carto.run";
/// The group of the Runnables that only the references serve: no controller has to stop meanwhile.
pub(crate) const TWIN_GROUP: &str = "twin.bench.carto.run";

/// The group of the Runnables whose status has another form, to compare the two.
pub(crate) const GRANULAR_GROUP: &str = "granular.bench.carto.run";

/// A kind of run.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct RunKind {
    pub(crate) kind: String,
    pub(crate) plural: String,
}

impl RunKind {
    /// Returns the n-th kind, from 0.
    pub(crate) fn number(n: usize) -> Self {
        let suffix = if n == 0 { String::new() } else { n.to_string() };
        Self {
            kind: format!("Work{suffix}"),
            plural: format!("works{suffix}"),
        }
    }

    /// Returns the kind that only the references make: no controller under test watches it.
    pub(crate) fn of_references() -> Self {
        Self {
            kind: "TwinWork".to_owned(),
            plural: "twinworks".to_owned(),
        }
    }

    pub(crate) fn api_version() -> String {
        format!("{RUN_GROUP}/v1")
    }

    /// Returns the resource as the audit log names it.
    pub(crate) fn resource(&self) -> String {
        format!("{}.{RUN_GROUP}", self.plural)
    }

    /// Returns the path of all runs in a namespace.
    pub(crate) fn path(&self, namespace: &str) -> String {
        format!(
            "/apis/{RUN_GROUP}/v1/namespaces/{namespace}/{}",
            self.plural
        )
    }

    /// Returns its definition. Without the status subresource a create may contain a status, which makes
    /// finished runs cheaply before a measurement.
    pub(crate) fn definition(&self, subresource: bool) -> Value {
        let subresources = if subresource {
            json!({ "status": {} })
        } else {
            json!({})
        };
        let anything = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
        json!({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": { "name": self.resource() },
            "spec": {
                "group": RUN_GROUP,
                "scope": "Namespaced",
                "names": {
                    "kind": self.kind,
                    "listKind": format!("{}List", self.kind),
                    "plural": self.plural,
                    "singular": self.kind.to_lowercase(),
                },
                "versions": [{
                    "name": "v1",
                    "served": true,
                    "storage": true,
                    "subresources": subresources,
                    "schema": { "openAPIV3Schema": {
                        "type": "object",
                        "properties": { "spec": anything, "status": anything },
                    } },
                }],
            },
        })
    }

    /// Returns a template that makes runs of this kind, with the mark that the load recognises.
    pub(crate) fn template(&self, name: &str, mark: &str) -> Value {
        json!({
            "apiVersion": "carto.run/v1alpha1",
            "kind": "ClusterRunTemplate",
            "metadata": { "name": name },
            "spec": {
                "template": {
                    "apiVersion": Self::api_version(),
                    "kind": self.kind,
                    "metadata": { "generateName": "work-" },
                    "spec": {
                        "change": "$(runnable.spec.inputs.change)$",
                        "source": "$(runnable.spec.inputs.source)$",
                        "message": "change $(runnable.spec.inputs.change)$ of $(runnable.spec.inputs.repository)$",
                        "mark": mark,
                    },
                },
                "outputs": { "change": ".status.change", "digest": ".status.digest", "mark": ".status.mark" },
            },
        })
    }
}

/// Returns the definition of the twin of the Runnable: the shipped one in another group.
pub(crate) fn twin_definition() -> Result<Value> {
    definition_in(TWIN_GROUP)
}

/// Returns one more, whose status is written field by field and has no schema for earlier runs: the previous
/// form.
pub(crate) fn granular_definition() -> Result<Value> {
    let mut definition = definition_in(GRANULAR_GROUP)?;
    let schema = &mut definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
    let status = &mut schema["properties"]["status"];
    if let Some(status) = status.as_object_mut() {
        status.remove("x-kubernetes-map-type");
    }
    status["properties"]["history"] = json!({ "x-kubernetes-preserve-unknown-fields": true });
    Ok(definition)
}

fn definition_in(group: &str) -> Result<Value> {
    let file = repository().join("config/crd/carto.run_runnables.yaml");
    let text =
        std::fs::read_to_string(&file).with_context(|| format!("reading {}", file.display()))?;
    let mut definition: Value =
        serde_saphyr::from_str(&text).with_context(|| format!("reading {}", file.display()))?;
    definition["metadata"] = json!({ "name": format!("runnables.{group}") });
    definition["spec"]["group"] = group.into();
    if let Some(names) = definition["spec"]["names"].as_object_mut() {
        names.remove("shortNames");
        names.remove("categories");
    }
    Ok(definition)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_twin_has_the_schema_of_the_runnable_and_a_group_of_its_own() {
        let twin = twin_definition().unwrap();
        assert_eq!(twin["spec"]["group"], TWIN_GROUP);
        let schema = &twin["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"];
        assert!(schema["status"]["properties"]["currentRun"].is_object());
    }

    #[test]
    fn the_first_kind_has_no_number() {
        assert_eq!(RunKind::number(0).resource(), "works.bench.carto.run");
        assert_eq!(RunKind::number(7).resource(), "works7.bench.carto.run");
    }
}
