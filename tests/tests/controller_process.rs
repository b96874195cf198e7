//! The controller as a process, as other tests start, stop and kill it.

use std::time::Duration;

use anyhow::Result;
use cartouche_crds::Runnable;
use cartouche_tests::{
    cluster::{Account, Cluster, Rights},
    control_plane::Options,
    controller::{Controller, Settings},
};
use kube::Api;

const DEMO: &str = env!("CARGO_BIN_EXE_demo");
const SOON: Duration = Duration::from_mins(1);

const TEMPLATE_AND_RUNNABLE: &str = "
apiVersion: carto.run/v1alpha1
kind: ClusterRunTemplate
metadata: {name: note}
spec:
  template:
    apiVersion: v1
    kind: ConfigMap
    metadata: {generateName: $(runnable.metadata.name)$-}
    data: {text: $(runnable.spec.inputs.text)$}
  outputs: {text: .data.text}
---
apiVersion: carto.run/v1alpha1
kind: Runnable
metadata: {name: note}
spec:
  runTemplateRef: {name: note}
  inputs: {text: one}
";

fn output_is(runnable: &Runnable, wanted: &str) -> bool {
    let outputs = runnable.status.as_ref().and_then(|s| s.outputs.as_ref());
    outputs.and_then(|o| o.get("text")?.as_str()) == Some(wanted)
}

#[tokio::test]
async fn a_controller_stops_when_asked_and_starts_again_after_a_kill() -> Result<()> {
    let cluster = Cluster::start(DEMO, &Options::controllers()).await?;
    cluster.install_cartouche().await?;
    let mut controller = Controller::start(DEMO, &cluster, &Settings::default()).await?;
    let namespace = cluster.namespace("process").await?;
    let rights = Rights::of_a_runnable("", "configmaps");
    cluster
        .service_account(&namespace, "default", &[rights])
        .await?;
    let audit = cluster.audit()?;
    cluster
        .apply_yaml(&namespace, TEMPLATE_AND_RUNNABLE)
        .await?;
    let runnables: Api<Runnable> = cluster.api(&namespace);
    cluster
        .wait_for(&runnables, "note", "the first output", SOON, |r| {
            output_is(r, "one")
        })
        .await?;

    controller.kill()?;
    assert!(!controller.runs()?);
    let change = r#"{"spec":{"inputs":{"text":"two"}}}"#;
    let patch = [
        "-n",
        &namespace,
        "patch",
        "runnable/note",
        "--type=merge",
        "-p",
        change,
    ];
    cluster.kubectl(&patch).await?;
    controller.restart().await?;
    cluster
        .wait_for(&runnables, "note", "the second output", SOON, |r| {
            output_is(r, "two")
        })
        .await?;
    // Kubernetes, too, makes a ConfigMap in each namespace, sooner or later.
    let account = Account::new(&namespace, "default").user();
    let mut made = audit.in_namespace(&namespace)?;
    made.retain(|event| event.verb == "create" && event.acting_as() == account);
    made.retain(|event| event.resource() == "configmaps" && event.took_effect());
    assert_eq!(made.len(), 2);

    let status = controller.stop().await?;
    assert!(status.success(), "{status}\n{}", controller.log()?);
    Ok(())
}
