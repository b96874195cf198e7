//! Tenants choose the kinds of runs and of selected objects, but not how many watches are open.

use anyhow::{Context, Result, ensure};
use cartouche_tests::{
    cluster::{Rights, Seen},
    controller::{Controller, Settings},
};
use serde_json::{Value, json};

use crate::ground::{self, DEMO, SOON, apply, condition, template};

/// Kinds that nobody runs: the test says when one has ended.
const KINDS: [(&str, &str, &str, &str); 5] = [
    ("v1", "ConfigMap", "", "configmaps"),
    ("v1", "Secret", "", "secrets"),
    ("v1", "LimitRange", "", "limitranges"),
    (
        "coordination.k8s.io/v1",
        "Lease",
        "coordination.k8s.io",
        "leases",
    ),
    (
        "rbac.authorization.k8s.io/v1",
        "Role",
        "rbac.authorization.k8s.io",
        "roles",
    ),
];

/// All runs of Runnables.
const RUNS: &str = "carto.run/runnable-name";

/// A run has succeeded when the test annotates it.
fn ends_when_told() -> Value {
    let when = |word: &str| {
        json!({
            "matchFields": [{ "key": ".metadata.annotations.end", "operator": "In", "values": [word] }],
        })
    };
    json!({ "multiMatch": { "healthy": when("good"), "unhealthy": when("bad") } })
}

#[tokio::test]
async fn beyond_the_cap_kinds_are_polled_and_runs_are_made_and_followed_all_the_same() -> Result<()>
{
    let cluster = ground::cluster().await?;
    let namespace = cluster.namespace("kinds").await?;
    let rights = KINDS.map(|(_, _, group, resource)| Rights::of_a_runnable(group, resource));
    cluster
        .service_account(&namespace, "runner", &rights)
        .await?;
    let mut objects = Vec::new();
    for (index, (version, kind, ..)) in KINDS.into_iter().enumerate() {
        let name = format!("kind-{index}");
        let document = json!({
            "apiVersion": version, "kind": kind, "metadata": { "generateName": "run-" },
        });
        let mut spec = json!({ "template": document, "healthRule": ends_when_told() });
        if kind != "Secret" {
            spec["outputs"] = json!({ "end": ".metadata.annotations.end" });
        }
        objects.push(template(&name, &spec));
        objects.push(ground::runnable(&namespace, &name, &name, &json!({})));
    }
    let settings = Settings::with_arguments(&["--max-watched-kinds", "2", "--poll-seconds", "1"]);
    let controller = Controller::start(DEMO, &cluster, &settings).await?;
    apply(&cluster, &objects).await?;
    cluster
        .eventually("a run of every kind", SOON, || async {
            let runnables = ground::all(&cluster, &namespace, "runnables").await?;
            let missing: Vec<_> = runnables
                .iter()
                .filter(|it| it["status"]["currentRun"]["phase"] != "Created")
                .map(|it| condition(it, "Ready").to_string())
                .collect();
            Ok(if missing.is_empty() && runnables.len() == KINDS.len() {
                Seen::Done(())
            } else {
                Seen::NotYet(missing.join("\n"))
            })
        })
        .await?;
    let metrics = controller.get("/metrics").await?;
    let gauge = |state: &str| -> Result<u64> {
        let start = format!("cartouche_watches{{state=\"{state}\"}} ");
        let line = metrics.lines().find_map(|line| line.strip_prefix(&start));
        Ok(line.with_context(|| metrics.clone())?.parse()?)
    };
    ensure!(gauge("Watched")? <= 2, "{metrics}");
    ensure!(
        gauge("Watched")? + gauge("Polled")? == KINDS.len() as u64,
        "{metrics}"
    );
    for (_, kind, ..) in KINDS {
        let arguments = ["-n", &namespace, "annotate", kind, "-l", RUNS, "end=good"];
        cluster.kubectl(&arguments).await?;
    }
    cluster
        .eventually("the end of every run", SOON, || async {
            let runnables = ground::all(&cluster, &namespace, "runnables").await?;
            let open: Vec<_> = runnables
                .iter()
                .filter(|it| {
                    let outputs = &it["status"]["outputs"];
                    let is_secret = it["status"]["currentRun"]["kind"] == "Secret";
                    it["status"]["currentRun"]["result"] != "Succeeded"
                        || (outputs["end"] != "good" && !is_secret)
                })
                .map(|it| it["status"].to_string())
                .collect();
            Ok(if open.is_empty() {
                Seen::Done(())
            } else {
                Seen::NotYet(open.join("\n"))
            })
        })
        .await?;
    let log = controller.log()?;
    ensure!(log.contains("too many kinds to watch"), "{log}");
    Ok(())
}
