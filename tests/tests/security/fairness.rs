//! A tenant with much to do keeps nobody waiting.

use anyhow::{Result, ensure};
use cartouche_tests::{
    cluster::{Cluster, Seen},
    controller::{Controller, Settings},
};
use serde_json::json;

use crate::ground::{self, DEMO, SOON, apply, echo, runnable};

/// Runnables of each of the tenants that have much to do.
const MANY: usize = 200;

/// What the audit log must show when the last of three namespaces has one Runnable: its run is made
/// among the first of all, not after all others. Order tells, not time.
#[tokio::test]
async fn a_tenant_with_hundreds_of_runnables_does_not_delay_another() -> Result<()> {
    let cluster = ground::cluster().await?;
    // The API server lists by name: without fairness the last would wait for all others.
    let floods = [
        ground::namespace(&cluster, "a-flood").await?,
        ground::namespace(&cluster, "b-flood").await?,
    ];
    let last = ground::namespace(&cluster, "z-last").await?;
    apply(&cluster, &[echo()]).await?;
    let runnables = |namespace: &str, count: usize| -> Vec<_> {
        (0..count)
            .map(|index| {
                runnable(
                    namespace,
                    &format!("r{index}"),
                    "echo",
                    &json!({ "say": "x" }),
                )
            })
            .collect()
    };
    for flood in &floods {
        apply(&cluster, &runnables(flood, MANY)).await?;
    }
    apply(&cluster, &runnables(&last, 1)).await?;

    let audit = cluster.audit()?;
    let settings = Settings::with_arguments(&["--concurrency", "8"]);
    let controller = Controller::start(DEMO, &cluster, &settings).await?;
    for (namespace, count) in [(&last, 1), (&floods[0], MANY), (&floods[1], MANY)] {
        made(&cluster, namespace, count).await?;
    }
    assert!(controller.runs()?);

    let creates: Vec<_> = audit
        .events()?
        .into_iter()
        .filter(|event| {
            event.verb == "create" && event.resource() == "configmaps" && event.took_effect()
        })
        .filter(|event| {
            floods
                .iter()
                .chain([&last])
                .any(|it| it == event.namespace())
        })
        .collect();
    assert_eq!(creates.len(), 2 * MANY + 1, "each run is made, and once");
    let turn = creates.iter().position(|event| event.namespace() == last);
    let turn = turn.unwrap_or(usize::MAX);
    ensure!(turn < MANY / 2, "{turn} runs of others came before it");
    Ok(())
}

/// Waits until so many Runnables have their run.
async fn made(cluster: &Cluster, namespace: &str, count: usize) -> Result<()> {
    let what = format!("{count} Runnables of {namespace} to be ready");
    cluster
        .eventually(&what, SOON, || async {
            let runnables = ground::all(cluster, namespace, "runnables").await?;
            let ready = runnables
                .iter()
                .filter(|it| ground::condition(it, "Ready")["status"] == "True");
            let ready = ready.count();
            Ok(if ready == count {
                Seen::Done(())
            } else {
                Seen::NotYet(format!("{ready} are"))
            })
        })
        .await
}
