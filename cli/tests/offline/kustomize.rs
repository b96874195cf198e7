//! Names that Kustomize changes: the configuration that lets them reach references, and the findings without it.

use std::fs;

use serde_json::Value;

use crate::support::{cartouche_in, repository};

fn read(path: &str) -> Value {
    let text = fs::read_to_string(repository().join(path)).unwrap();
    serde_saphyr::from_str(&text).unwrap()
}

/// Returns the schema at the end of a path as Kustomize writes it: through every list.
fn at<'a>(schema: &'a Value, path: &str) -> Option<&'a Value> {
    let inner = |schema: &'a Value| schema.get("items").unwrap_or(schema);
    path.split('/').try_fold(schema, |schema, key| {
        Some(inner(schema.get("properties")?.get(key)?))
    })
}

#[test]
fn every_reference_of_the_configuration_is_a_text_of_its_definition() {
    let configuration = read("config/kustomize/name-references.yaml");
    let mut paths = Vec::new();
    for reference in configuration["nameReference"].as_array().unwrap() {
        for field in reference["fieldSpecs"].as_array().unwrap() {
            let (kind, path) = (field["kind"].as_str(), field["path"].as_str().unwrap());
            let file = match kind {
                Some("Runnable") => "carto.run_runnables",
                Some("ClusterRunProfile") => "carto.run_clusterrunprofiles",
                other => panic!("{other:?}"),
            };
            assert_eq!(field["group"], "carto.run", "{path}");
            let definition = read(&format!("config/crd/{file}.yaml"));
            let schema = &definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
            let named = at(schema, path);
            assert_eq!(
                named.map(|it| &it["type"]),
                Some(&Value::from("string")),
                "{path}"
            );
            paths.push(path.to_owned());
        }
    }
    for path in [
        "spec/runTemplateRef/name",
        "spec/inputsFrom/configMapKeyRef/name",
        "spec/inputsFrom/secretKeyRef/name",
        "spec/inputsFrom/runnableRef/name",
        "spec/inputsFrom/objectRef/name",
        "spec/serviceAccountName",
        "spec/profileName",
    ] {
        assert!(paths.iter().any(|it| it == path), "{path}");
    }
}

/// Output of Kustomize for a template, a Runnable and a generated `ConfigMap` without the configuration.
const RENAMED: &str = "apiVersion: carto.run/v1alpha1
kind: ClusterRunTemplate
metadata: {name: prod-greet}
spec:
  template:
    apiVersion: batch/v1
    kind: Job
    metadata: {generateName: j-}
    spec:
      template:
        spec:
          restartPolicy: Never
          containers: [{name: a, image: busybox, args: [$(runnable.spec.inputs.size)$]}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: prod-sizes-ch7th88g6k, namespace: team}
data: {small: '1'}
---
apiVersion: carto.run/v1alpha1
kind: Runnable
metadata: {name: prod-shop, namespace: team}
spec:
  runTemplateRef: {name: greet}
  inputsFrom:
  - name: size
    configMapKeyRef: {name: sizes, key: small}
";

fn validated(text: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("all.yaml"), text).unwrap();
    cartouche_in(folder.path(), &["validate", ".", "--notes"]).out
}

#[test]
fn a_name_that_is_there_with_a_prefix_or_a_suffix_is_asked_about() {
    let asked = |name: &str| format!("did a namePrefix change it? '{name}' is there");
    let text = validated(RENAMED);
    assert!(
        text.contains("there is no ClusterRunTemplate 'greet'"),
        "{text}"
    );
    assert!(text.contains(&asked("prod-greet")), "{text}");
    let text = validated(&RENAMED.replace("{name: greet}", "{name: prod-greet}"));
    assert!(
        text.contains("ConfigMap sizes is not among these files"),
        "{text}"
    );
    assert!(text.contains(&asked("prod-sizes-ch7th88g6k")), "{text}");
    // Nothing but its hash is behind it.
    let renamed = RENAMED.replace("{name: greet}", "{name: prod-greet}");
    let text = validated(&renamed.replace("prod-sizes-", "sizes-"));
    let generated = "Kustomize has generated it as 'sizes-ch7th88g6k': add config/kustomize/name-references.yaml";
    assert!(
        text.contains("warning[source]") && text.contains(generated),
        "{text}"
    );
    // A name that only looks like it gives a note, as for any missing object.
    let other = renamed.replace("prod-sizes-ch7th88g6k", "sizes-production");
    let text = validated(&other);
    assert!(
        text.contains("note[unchecked]") && !text.contains("warning["),
        "{text}"
    );
    // A name within a word is another one.
    let text = validated(&RENAMED.replace("{name: greet}", "{name: gree}"));
    assert!(!text.contains("namePrefix"), "{text}");
}
