//! Fields that Cartographer pruned or ignored, and that Cartouche obeys.

use cartouche_crds::{
    APPROVED_ANNOTATION, ClusterRunTemplateSpec, PROFILE_REFRESH_ANNOTATION, REJECTED_ANNOTATION,
    RERUN_REQUEST_ANNOTATION, RERUN_TOKEN_ANNOTATION,
};
use serde_json::{Value, json};

use super::{Level, Remark};

/// Fields of a template's spec in Cartographer.
const OF_TEMPLATE: [&str; 2] = ["outputs", "template"];
/// Fields of a Runnable's spec in Cartographer.
const OF_RUNNABLE: [&str; 5] = [
    "inputs",
    "retentionPolicy",
    "runTemplateRef",
    "selector",
    "serviceAccountName",
];
/// Annotations of a Runnable that Cartographer kept, but did not read.
const ANNOTATIONS: [&str; 5] = [
    APPROVED_ANNOTATION,
    PROFILE_REFRESH_ANNOTATION,
    REJECTED_ANNOTATION,
    RERUN_REQUEST_ANNOTATION,
    RERUN_TOKEN_ANNOTATION,
];

pub(super) fn of_template(spec: &ClusterRunTemplateSpec) -> Vec<Remark> {
    ignored(&json!(spec), &OF_TEMPLATE)
}

pub(super) fn of_runnable(runnable: &Value) -> Vec<Remark> {
    let spec = runnable.get("spec").unwrap_or_default();
    let mut remarks = ignored(spec, &OF_RUNNABLE);
    let annotations = runnable.pointer("/metadata/annotations");
    let read = ANNOTATIONS
        .iter()
        .filter(|it| annotations.is_some_and(|all| all.get(**it).is_some()));
    remarks.extend(read.map(|annotation| {
        let text = format!("Cartographer did not read the annotation {annotation}; here it counts");
        Remark::new(Level::Differs, text)
    }));
    remarks
}

fn ignored(spec: &Value, known: &[&str]) -> Vec<Remark> {
    let fields = spec.as_object().into_iter().flatten();
    let ours = fields.filter(|(name, value)| !known.contains(&name.as_str()) && !value.is_null());
    let remark = |(name, _): (&String, &Value)| {
        let text = format!(
            "Cartographer ignored spec.{name}, which it does not have; here it counts: remove it, or see its meaning in docs/reference/api.md"
        );
        Remark::new(Level::Differs, text)
    };
    ours.map(remark).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_field_that_cartographer_does_not_have_is_named() {
        let runnable = json!({
            "metadata": { "annotations": { "carto.run/rerun-token": "1", "other": "2" } },
            "spec": { "runTemplateRef": { "name": "t" }, "inputs": {}, "suspend": true, "timeout": "1h", "retry": null },
        });
        let named: Vec<String> = of_runnable(&runnable)
            .into_iter()
            .map(|it| it.text)
            .collect();
        let begins = [
            "Cartographer ignored spec.suspend",
            "Cartographer ignored spec.timeout",
            "Cartographer did not read the annotation carto.run/rerun-token",
        ];
        assert_eq!(named.len(), begins.len(), "{named:?}");
        for (text, begin) in named.iter().zip(begins) {
            assert!(text.starts_with(begin), "{named:?}");
        }
        let spec = json!({ "template": {}, "outputs": { "a": ".b" } });
        assert!(of_template(&serde_json::from_value(spec).unwrap()).is_empty());
    }
}
