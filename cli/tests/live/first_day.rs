//! Messages for users who have installed nothing yet, or whose first template is not right.

use std::process::Stdio;

use anyhow::{Context as _, Result, ensure};
use cartouche_tests::{cluster::Seen, controller::Controller, kind::SERVICE_ACCOUNT, repository};
use serde_json::json;

use crate::story::Story;

/// A template whose rule no `ConfigMap` ever fits, its account, and a Runnable.
const NEVER: &str = r"
apiVersion: carto.run/v1alpha1
kind: ClusterRunTemplate
metadata: { name: never }
spec:
  template:
    apiVersion: v1
    kind: ConfigMap
    metadata: { generateName: never- }
    data: { phase: done }
  healthRule:
    multiMatch:
      healthy:
        matchConditions: [{ type: Done, status: 'True' }]
        matchFields: [{ key: .data.phase, operator: In, values: [Done] }]
      unhealthy:
        matchFields: [{ key: .status.failed, operator: Exists }]
---
apiVersion: v1
kind: ServiceAccount
metadata: { name: never }
---
apiVersion: carto.run/v1alpha1
kind: Runnable
metadata: { name: never }
spec:
  serviceAccountName: never
  runTemplateRef: { name: never }
";

/// A cluster that lacks Cartouche says so to every command, and in the log of its controller.
pub async fn nothing_is_installed(story: &Story) -> Result<()> {
    let missing = "Cartouche is not installed in this cluster";
    for arguments in [
        &["get"][..],
        &["get", "hello"],
        &["why", "hello"],
        &["history", "hello"],
        &["tree", "hello"],
        &["tree"],
        &["outputs", "hello"],
        &["wait", "hello"],
        &["diff", "hello"],
        &["diff", "-f", "examples/job"],
        &["rerun", "hello"],
        &["suspend", "hello"],
        &["resume", "hello"],
        &["cancel", "hello"],
        &["logs", "hello", "--follow"],
        &["explain", "greet"],
        &["rbac", "-r", "hello"],
        &["rbac", "greet", "--account", "greeter"],
        &["render", "--cluster", "-r", "hello"],
        &["migrate", "check"],
    ] {
        story.warns(arguments, 2, missing)?;
        story.warns(arguments, 2, "dist/install.yaml of its repository")?;
    }
    // Its rights are there, the definitions are not.
    let definitions = repository().join("config/crd");
    story.cluster.install_cartouche().await?;
    let definitions = definitions.to_str().context("a path of text")?;
    story
        .cluster
        .kubectl(&["delete", "--wait", "-k", definitions])
        .await?;
    let controller = story.unready_controller().await?;
    let wanted = "the definitions of Cartouche are not installed: kubectl apply -k config/crd";
    story
        .eventually("the controller to say what is missing", || async {
            Ok(if controller.log()?.contains(wanted) {
                Seen::Done(())
            } else {
                Seen::NotYet(controller.log()?)
            })
        })
        .await
}

/// A Runnable that no controller has seen yet: its run is waited for, and followed to its end.
pub async fn logs_are_followed_from_the_start(story: &Story) -> Result<Controller> {
    let cluster = &story.cluster;
    cluster.install_cartouche().await?;
    let example = repository().join("examples/job");
    cluster.apply_kustomization(&example).await?;
    let mut command = story.command(&["logs", "hello", "--follow"]);
    let following = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    tokio::time::sleep(std::time::Duration::from_secs(2)).await;
    let controller = story.controller().await?;
    let ended = tokio::task::spawn_blocking(|| following.wait_with_output()).await??;
    let said = String::from_utf8_lossy(&ended.stderr);
    let waited = "there is no run of hello yet: the controller has not observed the last change";
    ensure!(said.contains(waited), "{said}");
    // The pods of this control plane print nothing, but the request and the end of the run show all the same.
    ensure!(!said.contains("no such run"), "{said}");
    story.says(&["get", "hello"], &["Succeeded"])?;
    let undeclared = "ClusterRunTemplate greet declares no output pod\nhint: did you mean 'pods'?";
    story.warns(&["wait", "hello", "--for", "output=pod"], 1, undeclared)?;
    story.warns(&["outputs", "hello", "pod"], 2, undeclared)?;
    Ok(controller)
}

/// The run never ends, and the command reports what is missing.
pub async fn a_health_rule_never_matches(story: &Story) -> Result<()> {
    story.apply(NEVER).await?;
    let role = story.well(&["rbac", "-r", "never"])?;
    story.apply(&role).await?;
    let judged = [
        "it is judged by healthRule.multiMatch, and after",
        "condition Done has not appeared",
        "field .data.phase is \"done\", none of Done",
    ];
    story.why_says("never", &judged).await?;
    let why = story.json(&["why", "never", "-o", "json"])?;
    let by = &why["run"]["judged"]["by"];
    ensure!(by == "healthRule.multiMatch", "{why}");
    // The namespace is not the one that the kubeconfig means.
    let hint = format!("hint: cartouche why never -n {}", story.namespace);
    story.warns(&["outputs", "never"], 2, &hint)
}

/// Returns a template that names its runs, and a Runnable of it, for the account of the one before.
fn fixed(name: &str) -> String {
    format!(
        "apiVersion: carto.run/v1alpha1
kind: ClusterRunTemplate
metadata: {{ name: {name} }}
spec: {{ template: {{ apiVersion: v1, kind: ConfigMap, metadata: {{ name: {name} }} }} }}
---
apiVersion: carto.run/v1alpha1
kind: Runnable
metadata: {{ name: {name} }}
spec: {{ serviceAccountName: never, runTemplateRef: {{ name: {name} }} }}
"
    )
}

/// The command names the owner of the object that has the name of a run.
pub async fn a_name_is_taken(story: &Story) -> Result<()> {
    let account = story.get(SERVICE_ACCOUNT, "never").await?;
    let owner = json!({
        "apiVersion": "v1", "kind": "ServiceAccount", "name": "never",
        "uid": account["metadata"]["uid"], "controller": true,
    });
    for (name, owners, whose) in [
        ("somebodys", json!([]), "created by another client"),
        (
            "owned",
            json!([owner]),
            "controlled by ServiceAccount never",
        ),
    ] {
        let metadata = json!({ "name": name, "ownerReferences": owners });
        let object = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata });
        let made = story.put(object).await?;
        let created = made["metadata"]["creationTimestamp"].as_str();
        let created = created.context("when it was created")?;
        story.apply(&fixed(name)).await?;
        let said = format!("{name} exists already, {whose} (created at {created})");
        story.why_says(name, &["NameConflict", &said]).await?;
    }
    Ok(())
}
