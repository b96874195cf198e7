use std::fmt::Write as _;

use anyhow::Result;
use serde_json::{Value, json};

use super::Profiles;
use crate::world::{JOB, PROFILE, RUNNABLE, condition, document, text};

fn job() -> Value {
    document(
        JOB,
        json!({ "template": { "spec": {
        "restartPolicy": "Never",
        "containers": [{
            "name": "main", "image": "app", "args": ["for $(runnable.spec.inputs.foo)$"],
            "env": [{ "name": "TAKEN", "value": "1" }], "volumeMounts": [{ "name": "v", "mountPath": "/taken" }],
        }],
        "volumes": [{ "name": "v", "emptyDir": {} }],
    } } }),
    )
}

fn pod(spec: Value) -> Value {
    json!({ "podTemplate": { "spec": spec } })
}

fn patch(patch: Value) -> Value {
    json!({ "patches": [{ "apiVersion": "batch/v1", "kind": "Job", "patch": patch }] })
}

/// Returns specs of unusable profiles.
#[allow(clippy::too_many_lines)] // a table
fn unusable() -> Vec<(&'static str, Value)> {
    let deep = (0..80).fold(json!(1), |inner, _| json!({ "a": inner }));
    let named = |name: &str| json!({ "name": name, "image": "a" });
    let selector = |operator: &str, values: Value| {
        json!({ "rules": [{ "runnableSelector": {
        "matchExpressions": [{ "key": "a", "operator": operator, "values": values }],
    } }] })
    };
    let many = |count: usize| {
        (0..count)
            .map(|at| (format!("v{at}"), json!(1)))
            .collect::<serde_json::Map<_, _>>()
    };
    let patches = |count: usize| -> Vec<Value> {
        (0..count)
            .map(|at| json!({ "apiVersion": "a/v1", "kind": format!("K{at}"), "patch": {} }))
            .collect()
    };
    vec![
        (
            "a container without a name",
            pod(json!({ "containers": [{ "image": "a" }] })),
        ),
        (
            "a container with a number as name",
            pod(json!({ "containers": [{ "name": 3 }] })),
        ),
        (
            "a container twice",
            pod(json!({ "containers": [named("main"), named("main")] })),
        ),
        (
            "containers that are no list",
            pod(json!({ "containers": { "name": "main" } })),
        ),
        (
            "a container that is a text",
            pod(json!({ "containers": ["main"] })),
        ),
        (
            "a variable without a name",
            pod(json!({ "containers": [{ "name": "main", "env": [{ "value": "a" }] }] })),
        ),
        (
            "a mount without a path",
            pod(json!({ "containers": [{ "name": "main", "volumeMounts": [{ "name": "v" }] }] })),
        ),
        (
            "a pod's name",
            json!({ "podTemplate": { "metadata": { "name": "a" } } }),
        ),
        (
            "a field of a pod template that there is not",
            json!({ "podTemplate": { "status": {} } }),
        ),
        (
            "a label of a run's own",
            json!({ "podTemplate": { "metadata": { "labels": { "carto.run/run-sequence": "9" } } } }),
        ),
        (
            "what the selected object says",
            pod(json!({ "nodeName": "$(selected.spec.node)$" })),
        ),
        (
            "an unknown root",
            pod(json!({ "nodeName": "$(runnables.name)$" })),
        ),
        (
            "a status",
            pod(json!({ "nodeName": "$(runnable.status.outputs)$" })),
        ),
        (
            "an unclosed path",
            pod(json!({ "nodeName": "$(runnable.spec.inputs[0)$" })),
        ),
        (
            "an unknown fact of a run",
            pod(json!({ "nodeName": "$(run.uid)$" })),
        ),
        (
            "a profile's rules in a tag",
            pod(json!({ "nodeName": "$(profile.rules)$" })),
        ),
        ("too deep", pod(deep)),
        (
            "too large",
            json!({ "values": { "big": "x".repeat(300_000) } }),
        ),
        (
            "the name of a run",
            patch(json!({ "metadata": { "name": "a" } })),
        ),
        (
            "the namespace of a run",
            patch(json!({ "metadata": { "namespace": "kube-system" } })),
        ),
        (
            "the owner of a run",
            patch(json!({ "metadata": { "ownerReferences": [] } })),
        ),
        (
            "a finalizer",
            patch(json!({ "metadata": { "finalizers": ["a/b"] } })),
        ),
        (
            "an annotation of a run's own",
            patch(json!({ "metadata": { "annotations": { "carto.run/input-hash": "v1:0" } } })),
        ),
        ("another kind", patch(json!({ "kind": "CronJob" }))),
        (
            "another version",
            patch(json!({ "apiVersion": "batch/v2" })),
        ),
        (
            "a status of a run",
            patch(json!({ "status": { "succeeded": 1 } })),
        ),
        (
            "a kind twice",
            json!({ "patches": [patches(1)[0], patches(1)[0]] }),
        ),
        ("too many patches", json!({ "patches": patches(33) })),
        ("too many values", json!({ "values": many(65) })),
        (
            "an operator that there is not",
            selector("Near", json!(["b"])),
        ),
        ("an operator without values", selector("In", json!([]))),
        (
            "an operator with values that takes none",
            selector("Exists", json!(["b"])),
        ),
        (
            "a label key that is none",
            json!({ "rules": [{ "runnableSelector": { "matchLabels": { "a b": "c" } } }] }),
        ),
        (
            "no template in a rule",
            json!({ "rules": [{ "templates": [] }] }),
        ),
        (
            "a rule with a field that there is not",
            json!({ "rules": [{ "template": "a" }] }),
        ),
    ]
}

#[tokio::test]
async fn profiles_that_nothing_can_be_made_with_say_all_that_is_wrong_by_path() -> Result<()> {
    let profiles = Profiles::new("bad-profiles", json!({ "template": job() })).await?;
    let mut told = String::new();
    for (index, (what, mut spec)) in unusable().into_iter().enumerate() {
        let name = profiles.name(&format!("p{index}"));
        // For no Runnable, unless the rules are the defect.
        if spec["rules"].is_null() {
            spec["rules"] = json!([]);
        }
        let object = json!({
            "apiVersion": "carto.run/v1alpha1", "kind": "ClusterRunProfile", "metadata": { "name": name }, "spec": spec,
        });
        let apply = ["apply", "--validate=strict", "-f", "-"];
        let applied = profiles
            .world
            .cluster
            .kubectl_with_input(&apply, &object.to_string())
            .await;
        let outcome = if let Err(error) = applied {
            format!("refused: {}", last_line(&format!("{error:#}")))
        } else {
            let is_looked_at =
                |it: &Value| it["status"]["observedGeneration"] == it["metadata"]["generation"];
            let world = &profiles.world;
            let object = world
                .observed(PROFILE, &name, "to be looked at", is_looked_at)
                .await?;
            let accepted = condition(&object, "Accepted");
            format!(
                "{} {}",
                text(&accepted["status"]),
                text(&accepted["message"])
            )
        };
        writeln!(told, "{what}: {}", outcome.replace(&name, "NAME"))?;
    }
    insta::assert_snapshot!(told);
    Ok(())
}

/// Returns the last line of a refusal, which names the defect.
fn last_line(text: &str) -> String {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let line = lines.next_back().unwrap_or_default();
    line.chars().take(400).collect()
}

/// Returns runners of templates, and names of profiles, that make no run.
fn runners() -> Vec<(&'static str, Value)> {
    let file = |path: &str| json!({ "files": [{ "path": path, "text": "a" }] });
    vec![
        ("a path that is relative", file("config/a")),
        ("a path with dots", file("/config/../a")),
        ("a path that is a folder", file("/config/")),
        ("a path that is mounted already", file("/taken")),
        ("where the arguments are", file("/runner/args.yaml")),
        (
            "a text that is none",
            json!({ "files": [{ "path": "/a", "text": "$(runnable.spec.inputs)$" }] }),
        ),
        (
            "a tag that leads nowhere",
            json!({ "files": [{ "path": "/a", "json": { "a": "$(runnable.spec.inputs.none)$" } }] }),
        ),
        (
            "a container that there is not",
            json!({ "containers": ["mian"] }),
        ),
        (
            "a time that is none",
            json!({ "context": true, "timeout": "soon" }),
        ),
        (
            "a time that is longer than any",
            json!({ "context": true, "timeout": "99999h" }),
        ),
        ("a time without the context", json!({ "timeout": "10m" })),
        (
            "neither true nor false",
            json!({ "context": true, "dryRun": "maybe" }),
        ),
        (
            "a run's name as its time",
            json!({ "context": true, "timeout": "$(run.name)$" }),
        ),
        (
            "an unknown fact of a run",
            json!({ "args": { "a": "$(run.uid)$" } }),
        ),
    ]
}

#[tokio::test]
async fn runners_that_no_container_can_have_say_what_is_wrong_and_where() -> Result<()> {
    let profiles = Profiles::new("bad-runners", json!({ "template": job() })).await?;
    let mut told = String::new();
    for (index, (what, runner)) in runners().into_iter().enumerate() {
        let world = &profiles.world;
        let suffix = format!("t{index}");
        let template = world
            .another_template(&suffix, json!({ "template": job(), "runner": runner }))
            .await?;
        let spec = json!({ "runTemplateRef": { "name": template }, "inputs": { "foo": "a" } });
        let subject = world.runnable(&suffix, spec).await?;
        let is_decided = |it: &Value| {
            !it["status"]["currentRun"]["uid"].is_null()
                || condition(it, "Ready")["status"] == "False"
        };
        let object = subject.until("a run or a reason", is_decided).await?;
        let ready = condition(&object, "RunTemplateReady");
        let said = format!("{} {}", text(&ready["reason"]), text(&ready["message"]));
        writeln!(told, "{what}: {}", said.replace(&template, "TEMPLATE"))?;
        world.delete(RUNNABLE, &suffix).await?;
    }
    insta::assert_snapshot!(told);
    Ok(())
}
