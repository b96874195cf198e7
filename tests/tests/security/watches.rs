//! Tenants choose the kinds of runs and of selected objects, but not the number of open watches.

use anyhow::{Context, Result, ensure};
use cartouche_tests::{
    controller::{Controller, Settings},
    kind::{CONFIG_MAP, Kind, SECRET},
};
use serde_json::{Value, json};

use crate::ground::{self, DEMO};

/// Kinds without an engine: the test ends their runs.
const KINDS: [Kind; 5] = [
    CONFIG_MAP,
    SECRET,
    Kind::new("", "v1", "LimitRange", "limitranges"),
    Kind::new("coordination.k8s.io", "v1", "Lease", "leases"),
    Kind::new("rbac.authorization.k8s.io", "v1", "Role", "roles"),
];

/// Selects all runs of Runnables.
const RUNS: &str = "carto.run/runnable-name";

/// Returns a rule by which a run has succeeded when the test annotates it.
fn ends_when_told() -> Value {
    let when = |word: &str| {
        json!({
            "matchFields": [{ "key": ".metadata.annotations.end", "operator": "In", "values": [word] }],
        })
    };
    json!({ "multiMatch": { "healthy": when("good"), "unhealthy": when("bad") } })
}

/// Returns the spec of a template of these runs.
fn template(kind: Kind) -> Value {
    let mut spec = json!({
        "template": {
            "apiVersion": kind.api_version(), "kind": kind.name,
            "metadata": { "generateName": "run-" },
        },
        "healthRule": ends_when_told(),
    });
    if kind != SECRET {
        spec["outputs"] = json!({ "end": ".metadata.annotations.end" });
    }
    spec
}

/// Returns the number of kinds in a state: watched, polled, ...
async fn watches(controller: &Controller, state: &str) -> Result<usize> {
    let metrics = controller.get("/metrics").await?;
    let start = format!("cartouche_watched_kinds{{state=\"{state}\"}} ");
    let line = metrics.lines().find_map(|line| line.strip_prefix(&start));
    Ok(line.with_context(|| metrics.clone())?.parse()?)
}

#[tokio::test]
async fn beyond_the_cap_kinds_are_polled_and_runs_are_made_and_followed_all_the_same() -> Result<()>
{
    let cluster = ground::cluster().await?;
    let rights = KINDS.map(Kind::rights_of_a_runnable);
    let tenant = ground::namespace(&cluster, "kinds", &rights).await?;
    let settings = Settings::with_arguments(&["--max-watched-kinds", "2", "--poll-seconds", "1"]);
    let controller = Controller::start(DEMO, &cluster, &settings).await?;
    for kind in KINDS {
        tenant.template_named(kind.plural, template(kind)).await?;
        let spec = json!({ "runTemplateRef": { "name": kind.plural } });
        tenant.runnable(kind.plural, spec).await?;
    }
    let made = |it: &Value| it["status"]["currentRun"]["phase"] == "Created";
    let what = "a run of every kind";
    tenant.all_observed(KINDS.len(), what, made).await?;
    let watched = watches(&controller, "Watched").await?;
    ensure!(watched <= 2, "{watched} are watched");
    let polled = watches(&controller, "Polled").await?;
    ensure!(watched + polled == KINDS.len(), "{watched} and {polled}");
    for kind in KINDS {
        let namespace = &tenant.namespace;
        let arguments = [
            "-n", namespace, "annotate", kind.name, "-l", RUNS, "end=good",
        ];
        cluster.kubectl(&arguments).await?;
    }
    let ended = |it: &Value| {
        let (current, outputs) = (&it["status"]["currentRun"], &it["status"]["outputs"]);
        let told = outputs["end"] == "good" || current["kind"] == SECRET.name;
        current["result"] == "Succeeded" && told
    };
    let what = "the end of every run";
    tenant.all_observed(KINDS.len(), what, ended).await?;
    let log = controller.log()?;
    ensure!(log.contains("too many kinds to watch"), "{log}");
    Ok(())
}
