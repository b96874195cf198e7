//! The API server's handling of manifests: defaults, refusals, pruning, columns.

mod approvals;
mod columns;
mod kept;
mod open;
mod retries;

use anyhow::{Context, Result};
use kube::api::{Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use crate::world::{PROFILE, RUNNABLE, TEMPLATE, TEST_OBJ, World, document, stamps};

/// Returns the object that the API server would store, by a dry run.
async fn stored(world: &World, object: Value) -> Result<Value> {
    let (object, api) = world.among_its_kind(&object)?;
    let dry_run = PostParams {
        dry_run: true,
        ..PostParams::default()
    };
    Ok(serde_json::to_value(api.create(&dry_run, &object).await?)?)
}

fn runnable(world: &World, spec: Value) -> Value {
    world.manifest("r", spec)
}

fn template(spec: &Value) -> Value {
    json!({
        "apiVersion": "carto.run/v1alpha1", "kind": "ClusterRunTemplate",
        "metadata": { "name": "t" }, "spec": spec,
    })
}

#[tokio::test]
async fn ten_failed_and_ten_successful_runs_are_kept_by_default() -> Result<()> {
    let world = World::new("defaults").await?;
    let made = stored(&world, runnable(&world, json!({}))).await?;
    let kept = json!({ "maxFailedRuns": 10, "maxSuccessfulRuns": 10 });
    assert_eq!(made["spec"]["retentionPolicy"], kept);
    Ok(())
}

#[tokio::test]
async fn what_nobody_has_looked_at_observes_generation_minus_one() -> Result<()> {
    let world = World::new("unseen").await?;
    for object in [runnable(&world, json!({})), template(&stamps(json!({})))] {
        let made = stored(&world, object).await?;
        assert_eq!(made["status"], json!({ "observedGeneration": -1 }));
    }
    Ok(())
}

/// Their schema makes them a map by type, though the status is written as a whole.
#[tokio::test]
async fn a_status_has_no_two_conditions_of_one_type() -> Result<()> {
    let world = World::new("conditions").await?;
    world.put(runnable(&world, json!({}))).await?;
    let ready = |status: &str| {
        json!({
            "type": "Ready", "status": status, "reason": "Test", "message": "",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        })
    };
    let write = |conditions: Value| {
        let (api, plain) = (world.api(RUNNABLE), PatchParams::default());
        let patch = Patch::Merge(json!({ "status": { "conditions": conditions } }));
        async move { api.patch_status("r", &plain, &patch).await }
    };
    let refused = write(json!([ready("True"), ready("False")])).await;
    let said = refused.err().context("it was taken")?.to_string();
    assert!(said.contains("Duplicate value"), "{said}");
    write(json!([ready("True")])).await?;
    Ok(())
}

#[tokio::test]
async fn unknown_fields_are_forgotten() -> Result<()> {
    let world = World::new("pruned").await?;
    let reference = json!({ "name": "t", "kind": "Whatever", "namespace": "other" });
    let spec =
        json!({ "runTemplateRef": reference, "bogus": 1, "inputs": { "bogus": { "x": 1 } } });
    let made = stored(&world, runnable(&world, spec)).await?;
    let reference = json!({ "name": "t", "kind": "Whatever" });
    assert_eq!(made["spec"]["runTemplateRef"], reference);
    assert_eq!(made["spec"]["bogus"], Value::Null);
    assert_eq!(made["spec"]["inputs"], json!({ "bogus": { "x": 1 } }));
    let mut spec = stamps(json!({ "kept": true }));
    spec["ytt"] = "x".into();
    let made = stored(&world, template(&spec)).await?;
    assert_eq!(made["spec"], stamps(json!({ "kept": true })));
    Ok(())
}

#[tokio::test]
async fn the_schema_refuses_runnables_that_cannot_be_meant() -> Result<()> {
    let world = World::new("refused").await?;
    let reference = json!({ "name": "t" });
    for (spec, part) in [
        (
            json!({ "runTemplateRef": {} }),
            "spec.runTemplateRef.name: Required value",
        ),
        (
            json!({ "runTemplateRef": { "name": "" } }),
            "should be at least 1 chars long",
        ),
        (json!({ "runTemplateRef": "t" }), "must be of type object"),
        (
            json!({ "runTemplateRef": reference, "retentionPolicy": { "maxFailedRuns": 3 } }),
            "spec.retentionPolicy.maxSuccessfulRuns: Required value",
        ),
        (
            json!({ "runTemplateRef": reference, "retentionPolicy": { "maxFailedRuns": 0, "maxSuccessfulRuns": 1 } }),
            "should be greater than or equal to 1",
        ),
        (
            json!({ "runTemplateRef": reference, "selector": { "resource": {} } }),
            "spec.selector.matchingLabels: Required value",
        ),
        (
            json!({ "runTemplateRef": reference, "selector": { "matchingLabels": {} } }),
            "spec.selector.resource: Required value",
        ),
        (
            json!({ "runTemplateRef": reference, "selector": { "resource": {}, "matchingLabels": { "a": 1 } } }),
            "must be of type string",
        ),
        (
            json!({ "runTemplateRef": reference, "inputs": [1] }),
            "must be of type object",
        ),
        (
            json!({ "runTemplateRef": reference, "serviceAccountName": 1 }),
            "must be of type string",
        ),
    ] {
        let said = world.refused(&runnable(&world, spec.clone())).await?;
        assert!(said.contains(part), "{spec}: {said}");
    }
    let mut bare = runnable(&world, json!({}));
    bare["spec"].take();
    let said = world.refused(&bare).await?;
    assert!(said.contains("spec: Required value"), "{said}");
    Ok(())
}

#[tokio::test]
async fn what_the_original_schema_accepted_is_accepted() -> Result<()> {
    let world = World::new("accepted").await?;
    for spec in [
        json!({ "serviceAccountName": "" }),
        json!({ "selector": { "resource": {}, "matchingLabels": {} } }),
        json!({ "selector": { "resource": { "kind": "X" }, "matchingLabels": { "a": "b" } } }),
        json!({ "inputs": {} }),
        json!({ "retentionPolicy": { "maxFailedRuns": 1, "maxSuccessfulRuns": 9_000_000_000_i64 } }),
    ] {
        stored(&world, runnable(&world, spec.clone()))
            .await
            .with_context(|| spec.to_string())?;
    }
    for spec in [
        json!({ "template": {} }),
        json!({ "template": { "spec": 3 }, "outputs": {} }),
    ] {
        stored(&world, template(&spec)).await?;
    }
    Ok(())
}

#[tokio::test]
async fn inputs_hold_any_json_and_null_stays_null() -> Result<()> {
    let world = World::new("inputs").await?;
    let inputs = json!({
        "null": null, "deep": { "null": null, "list": [1, [null, {}]] }, "int": 9_223_372_036_854_775_807_i64,
        "float": 1.5, "bool": false, "text": "", "empty": [], "a.b/c": "d",
    });
    let made = stored(&world, runnable(&world, json!({ "inputs": inputs }))).await?;
    assert_eq!(made["spec"]["inputs"], inputs);
    Ok(())
}

#[tokio::test]
async fn the_schema_refuses_templates_that_cannot_be_meant() -> Result<()> {
    let world = World::new("refused").await?;
    let document = document(TEST_OBJ, json!({}));
    let with = |rule: Value| json!({ "template": document, "healthRule": rule });
    let matches = json!({ "matchFields": [{ "key": ".status.phase", "operator": "Exists" }] });
    let one = "exactly one of alwaysHealthy, singleConditionType and multiMatch must be set";
    for (spec, part) in [
        (json!({}), "spec.template: Required value"),
        (json!({ "template": "x" }), "must be of type object"),
        (json!({ "template": [] }), "must be of type object"),
        (
            json!({ "template": document, "outputs": { "a": 1 } }),
            "must be of type string",
        ),
        (with(json!({})), one),
        (
            with(json!({ "alwaysHealthy": {}, "singleConditionType": "Ready" })),
            one,
        ),
        (
            with(json!({ "multiMatch": { "healthy": matches } })),
            "spec.healthRule.multiMatch.unhealthy: Required value",
        ),
        (
            with(json!({ "multiMatch": { "healthy": matches, "unhealthy": {} } })),
            "at least one of matchConditions and matchFields must be given",
        ),
        (
            with(
                json!({ "multiMatch": { "healthy": matches, "unhealthy": { "matchFields": [{ "key": "a", "operator": "Like" }] } } }),
            ),
            "supported values: \"In\", \"NotIn\", \"Exists\", \"DoesNotExist\"",
        ),
    ] {
        let said = world.refused(&template(&spec)).await?;
        assert!(
            said.to_lowercase().contains(&part.to_lowercase()),
            "{spec}: {said}"
        );
    }
    Ok(())
}

#[tokio::test]
async fn users_cannot_write_the_status_beside_the_spec() -> Result<()> {
    let world = World::new("status").await?;
    let mut manifest = runnable(&world, json!({}));
    manifest["status"] = json!({ "outputs": { "forged": true }, "observedGeneration": 7 });
    let made = stored(&world, manifest).await?;
    assert_eq!(made["status"], json!({ "observedGeneration": -1 }));
    Ok(())
}

#[tokio::test]
async fn the_status_has_one_condition_of_each_type() -> Result<()> {
    let world = World::new("map").await?;
    world.template(stamps(json!({}))).await?;
    let subject = world.runnable("r", json!({})).await?;
    subject.run(1).await?;
    let ready = json!({
        "type": "Ready", "status": "True", "reason": "Twice", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z",
    });
    let twice = json!({ "conditions": [ready, ready] });
    let refused = world.play(&subject.object().await?, twice).await;
    let said = format!("{:#}", refused.err().context("it was accepted")?);
    assert!(said.contains("Duplicate value"), "{said}");
    Ok(())
}

#[tokio::test]
async fn runnables_live_in_namespaces_and_templates_do_not() -> Result<()> {
    let world = World::new("scope").await?;
    let resources = ["api-resources", "--api-group=carto.run", "--no-headers"];
    let said = world.cluster.kubectl(&resources).await?;
    let mut lines: Vec<Vec<&str>> = said
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    lines.sort_unstable();
    let version = "carto.run/v1alpha1";
    assert_eq!(
        lines,
        [
            ["clusterrunprofiles", "crp", version, "false", PROFILE.name],
            [
                "clusterruntemplates",
                "crt",
                version,
                "false",
                TEMPLATE.name
            ],
            ["runnables", "run", version, "true", RUNNABLE.name],
        ]
    );
    Ok(())
}

/// As in Cartographer's documentation, except for the stamped kind.
const UPSTREAM: &str = "
apiVersion: v1
kind: ServiceAccount
metadata: {name: pipeline-run-service-account}
---
apiVersion: carto.run/v1alpha1
kind: Runnable
metadata:
  name: linter
  labels: {app.kubernetes.io/part-of: shop}
spec:
  serviceAccountName: pipeline-run-service-account
  runTemplateRef: {name: NAME, kind: ClusterRunTemplate}
  selector:
    resource: {apiVersion: v1, kind: ConfigMap}
    matchingLabels: {pipeline: linter}
  inputs:
    repository: https://example.com/shop
    retries: 3
---
apiVersion: carto.run/v1alpha1
kind: ClusterRunTemplate
metadata: {name: NAME}
spec:
  outputs:
    url: .status.outputs.url
    revision: status.outputs['git\\.revision']
  template:
    apiVersion: test.run/v1
    kind: TestObj
    metadata:
      generateName: $(runnable.metadata.name)$-pipeline-run-
      labels: $(runnable.metadata.labels)$
    spec:
      pipelineRef: $(selected.metadata.name)$
      params:
      - name: repository
        value: $(runnable.spec.inputs.repository)$
      - name: retries
        value: $(runnable.spec.inputs.retries)$
";

#[tokio::test]
async fn a_manifest_for_the_original_works_unchanged() -> Result<()> {
    let world = World::new("upstream").await?;
    let selected = crate::world::config_map("lint", json!({ "pipeline": "linter" }), json!({}));
    world.put(selected).await?;
    let yaml = UPSTREAM.replace("NAME", &world.template_name());
    world.cluster.apply_yaml(&world.namespace, &yaml).await?;
    let subject = world.subject("linter");
    let run = subject.run(1).await?;
    let params = json!([
        { "name": "repository", "value": "https://example.com/shop" },
        { "name": "retries", "value": 3 },
    ]);
    let spec = json!({ "pipelineRef": "lint", "params": params });
    assert_eq!(run["spec"], spec);
    let mut status = crate::world::succeeded("True", "");
    status["outputs"] = json!({ "url": "https://example.com", "git.revision": "abc" });
    world.play(&run, status).await?;
    let outputs = json!({ "url": "https://example.com", "revision": "abc" });
    subject.outputs(outputs).await
}
