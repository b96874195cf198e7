//! A chain over two namespaces: rights to read each other, waiting for each other, and the sources of each run.

use anyhow::{Result, ensure};
use cartouche_tests::cluster::Seen;
use serde_json::{Value, json};

use crate::{
    story::{Story, contains},
    support,
};

/// The namespace of the first link.
const ELSEWHERE: &str = "cartouche-ci";

/// Returns a link, which passes its input on, and its account.
fn link(name: &str, spec: &Value) -> Value {
    let mut spec = spec.clone();
    spec["runTemplateRef"] = json!({ "name": "pass" });
    spec["serviceAccountName"] = json!("link");
    json!({
        "apiVersion": "carto.run/v1alpha1", "kind": "Runnable", "metadata": { "name": name }, "spec": spec,
    })
}

fn account() -> Value {
    json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "name": "link" } })
}

fn template() -> Value {
    json!({
        "apiVersion": "carto.run/v1alpha1", "kind": "ClusterRunTemplate", "metadata": { "name": "pass" },
        "spec": {
            "healthRule": { "alwaysHealthy": {} },
            "inputSchema": { "type": "object", "properties": {
                "value": { "type": "string" }, "own": { "type": "string", "default": "1" },
            } },
            "template": {
                "apiVersion": "v1", "kind": "ConfigMap",
                "metadata": { "generateName": "$(runnable.metadata.name)$-" },
                "data": { "value": "$(runnable.spec.inputs.value)$", "own": "$(runnable.spec.inputs.own)$" },
            },
            "outputs": { "value": ".data.value" },
        },
    })
}

fn reads(name: &str, namespace: Option<&str>, own: &str) -> Value {
    let mut reference = json!({ "name": name, "output": "value" });
    if let Some(namespace) = namespace {
        reference["namespace"] = json!(namespace);
    }
    json!({ "inputs": { "own": own }, "inputsFrom": [{ "name": "value", "runnableRef": reference }] })
}

async fn base(story: &Story, value: &str, approval: &str) -> Result<()> {
    let base = link(
        "base",
        &json!({ "inputs": { "value": value }, "approval": approval }),
    );
    story
        .cluster
        .apply_yaml(ELSEWHERE, &base.to_string())
        .await?;
    Ok(())
}

/// Applies the role that is printed for a Runnable of this namespace.
async fn allow(story: &Story, namespace: &str, runnable: &str) -> Result<()> {
    let arguments = [
        "rbac",
        "-r",
        runnable,
        "-o",
        "json",
        "--namespace",
        namespace,
    ];
    let mut command = support::command(&cartouche_tests::repository(), &arguments);
    command.env("KUBECONFIG", story.cluster.kubeconfig());
    let printed = support::finish(&mut command);
    ensure!(printed.code == 0, "{}", printed.err);
    // Each role has its namespace.
    story
        .cluster
        .kubectl_with_input(&["apply", "-f", "-"], &printed.out)
        .await?;
    Ok(())
}

/// The whole chain, from a missing right to a run that waits for two others.
pub async fn are_told(story: &Story) -> Result<()> {
    story
        .cluster
        .kubectl(&["create", "namespace", ELSEWHERE])
        .await?;
    for namespace in [ELSEWHERE, &story.namespace] {
        let account = account().to_string();
        story.cluster.apply_yaml(namespace, &account).await?;
    }
    story.apply(&template().to_string()).await?;
    base(story, "one", "Automatic").await?;
    story
        .apply(&link("middle", &reads("base", Some(ELSEWHERE), "1")).to_string())
        .await?;
    story
        .apply(&link("app", &reads("middle", None, "1")).to_string())
        .await?;
    allow(story, ELSEWHERE, "base").await?;
    rights(story).await?;
    story.says(&["wait", "app", "--timeout", "2m"], &["ready"])?;
    ensure!(story.well(&["outputs", "app", "value"])? == "one\n");
    shown(story)?;
    held(story).await?;
    moved_on(story).await
}

/// A missing right of the account of the second link is named with the namespace, and granted by the printed role.
async fn rights(story: &Story) -> Result<()> {
    let wanted = format!("get runnables.carto.run/base in the namespace {ELSEWHERE}");
    let check = ["rbac", "-r", "middle", "--check"];
    let checked = story.cartouche(&check);
    ensure!(checked.code == 1, "{}{}", checked.out, checked.err);
    contains(&checked.out, &[&wanted])?;
    let missing = format!("get runnables.carto.run \"base\" in the namespace {ELSEWHERE}");
    story
        .why_says(
            "middle",
            &["SourceError", &missing, "list/create/delete configmaps"],
        )
        .await?;
    for runnable in ["middle", "app"] {
        allow(story, &story.namespace, runnable).await?;
    }
    let granted = || async {
        let now = story.cartouche(&check);
        Ok(match now.code {
            0 => Seen::Done(()),
            _ => Seen::NotYet(now.out + &now.err),
        })
    };
    story.eventually("the role to hold", granted).await
}

fn shown(story: &Story) -> Result<()> {
    let own = &story.namespace;
    let base = format!("Runnable {ELSEWHERE}/base  True (Ready), gives ");
    let of_app = format!("value: output value of Runnable {own}/middle (made from ");
    let graph = story.well(&["graph", "app"])?;
    contains(&graph, &[&base, &of_app])?;
    ensure!(!graph.contains("hello"), "{graph}");
    let json = story.json(&["graph", "app", "-o", "json"])?;
    let ids: Vec<_> = json["nodes"].as_array().into_iter().flatten().collect();
    let ids: Vec<_> = ids.iter().filter_map(|it| it["id"].as_str()).collect();
    let expected = [
        format!("Runnable/{ELSEWHERE}/base"),
        format!("Runnable/{own}/middle"),
        format!("Runnable/{own}/app"),
    ];
    ensure!(ids == expected, "{json}");
    story.says(
        &["graph", "--all-namespaces", "-o", "dot"],
        &["digraph", "label=\"value\""],
    )?;
    story.says(&["tree", "app"], &[&of_app])
}

/// The first link waits for approval, the second for the first, and the third for the second.
async fn held(story: &Story) -> Result<()> {
    base(story, "two", "Manual").await?;
    let asks = || async {
        let base = story
            .cluster
            .api::<cartouche_crds::Runnable>(ELSEWHERE)
            .get("base")
            .await?;
        let pending = base.status.and_then(|status| status.pending);
        Ok(match pending.filter(|it| it.reason == "ApprovalRequired") {
            Some(_) => Seen::Done(()),
            None => Seen::NotYet("the run does not wait for approval".to_owned()),
        })
    };
    story.eventually("base to ask", asks).await?;
    let (own, waits) = (&story.namespace, "waits");
    let of_base = format!("the next run of Runnable {ELSEWHERE}/base {waits} (ApprovalRequired)");
    story.change("middle", json!({ "own": "2" })).await?;
    story
        .why_says("middle", &["DependencyNotReady", &of_base])
        .await?;
    story.change("app", json!({ "own": "2" })).await?;
    let of_middle = format!("the next run of Runnable {own}/middle {waits} (DependencyNotReady)");
    let since = format!("since {of_base}");
    story
        .why_says("app", &["DependencyNotReady", &of_middle, &since])
        .await?;
    story.warns(
        &["wait", "app", "--timeout", "2s"],
        1,
        "is pending (DependencyNotReady)",
    )?;
    story.says(
        &["graph", "app"],
        &["Unknown (DependencyNotReady)", &of_middle, &of_base],
    )
}

/// Once the first has run, the others run too, and their sources are reported.
async fn moved_on(story: &Story) -> Result<()> {
    base(story, "two", "Automatic").await?;
    let output = || async {
        let said = story.cartouche(&["outputs", "app", "value"]);
        Ok(match said.out.as_str() {
            "two\n" => Seen::Done(()),
            _ => Seen::NotYet(said.out + &said.err),
        })
    };
    story.eventually("two at the end", output).await?;
    story.says(&["wait", "app", "--timeout", "1m"], &["ready"])?;
    let from = format!(
        "Runnable {}/middle, which gives the input value: ",
        story.namespace
    );
    story
        .why_says("app", &["these sources of its inputs had changed", &from])
        .await?;
    let runs: Value = story.json(&["history", "app", "-o", "json"])?;
    let runs = runs.as_array().map_or(0, Vec::len);
    ensure!(runs == 2, "one change of each, and {runs} runs");
    Ok(())
}
