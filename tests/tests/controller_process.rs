//! The controller as a process, as other tests start, stop and kill it.

use std::time::Duration;

use anyhow::Result;
use cartouche_tests::{
    cluster::Cluster,
    control_plane::Options,
    controller::{Controller, Settings},
    fixture::Fixture,
    kind::{CONFIG_MAP, RUNNABLE},
};
use serde_json::json;

const DEMO: &str = env!("CARGO_BIN_EXE_demo");
const SOON: Duration = Duration::from_mins(1);

/// Waits until the Runnable `note` has this output.
async fn gives(fixture: &Fixture, text: &str) -> Result<()> {
    let what = format!("to give {text}");
    fixture
        .observed(RUNNABLE, "note", &what, |it| {
            it["status"]["outputs"]["text"] == text
        })
        .await
        .map(drop)
}

#[tokio::test]
async fn a_controller_stops_when_asked_and_starts_again_after_a_kill() -> Result<()> {
    let cluster = Cluster::start(DEMO, &Options::controllers()).await?;
    cluster.install_cartouche().await?;
    let mut controller = Controller::start(DEMO, &cluster, &Settings::default()).await?;
    let rights = [CONFIG_MAP.rights_of_a_runnable()];
    let fixture = Fixture::begin(&cluster, "process", "default", &rights, SOON).await?;
    let audit = cluster.audit()?;
    let note = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "generateName": "$(runnable.metadata.name)$-" },
        "data": { "text": "$(runnable.spec.inputs.text)$" },
    });
    let template = json!({ "template": note, "outputs": { "text": ".data.text" } });
    fixture.template(template).await?;
    let one = json!({ "inputs": { "text": "one" } });
    fixture.runnable("note", one).await?;
    gives(&fixture, "one").await?;

    controller.kill()?;
    assert!(!controller.runs()?);
    fixture.change("note", json!({ "text": "two" })).await?;
    controller.restart().await?;
    gives(&fixture, "two").await?;
    // Kubernetes, too, makes a ConfigMap in each namespace at some time.
    let account = fixture.account.user();
    let mut made = audit.in_namespace(&fixture.namespace)?;
    made.retain(|event| event.verb == "create" && event.acting_as() == account);
    made.retain(|event| event.resource() == "configmaps" && event.took_effect());
    assert_eq!(made.len(), 2);

    // A scrape counts the present state.
    let lines = [
        "cartouche_runnables{ready=\"True\",reason=\"Ready\"} 1\n",
        "cartouche_oldest_unfinished_run_seconds 0\n",
        "cartouche_oldest_waiting_change_age_seconds 0.0\n",
        "cartouche_queue_length 0\n",
        // Since this start.
        "cartouche_runs_created_total 1\n",
        "cartouche_runs_finished_total{result=\"Succeeded\"} 1\n",
        "cartouche_change_to_run_seconds_count 1\n",
        "cartouche_watch_up{resource=\"runnables.carto.run\"} 1\n",
        concat!(
            "cartouche_build_info{version=\"",
            env!("CARGO_PKG_VERSION"),
            "\"} 1\n"
        ),
    ];
    let has_all = |metrics: &str| lines.iter().all(|line| metrics.contains(line));
    // It counts what watches have shown, with a delay of up to a second.
    let mut metrics = controller.get("/metrics").await?;
    for _ in 0..20 {
        if has_all(&metrics) {
            break;
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
        metrics = controller.get("/metrics").await?;
    }
    assert!(has_all(&metrics), "{metrics}");
    let log = controller.log()?;
    for words in [
        "starting version=",
        "identity=Impersonate",
        "namespace=\"all\"",
        "ready: ",
    ] {
        assert!(log.contains(words), "{words}: {log}");
    }

    let status = controller.stop().await?;
    assert!(status.success(), "{status}\n{}", controller.log()?);
    Ok(())
}
