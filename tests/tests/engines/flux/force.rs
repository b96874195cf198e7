//! Force, of a Kustomization and of one object: the mistakes in Git that delete a Runnable because of it.

use anyhow::{Result, ensure};
use cartouche_tests::{cluster::Seen, kind::RUNNABLE};
use serde_json::{Value, json};

use super::stage::{Stage, for_version};
use crate::scene::with;

/// Without force, by the Kustomization, and by the annotation.
const NAMES: [&str; 3] = ["plain", "forced", "annotated"];

/// Returns the files of all three, with further fields of their spec.
fn files(stage: &Stage, version: &str, more: &Value) -> [(String, String); 3] {
    NAMES.map(|name| {
        let mut manifest = stage.manifest(name, with(for_version(version), more.clone()));
        if name == "annotated" {
            let force = json!({ "kustomize.toolkit.fluxcd.io/force": "Enabled" });
            manifest["metadata"]["annotations"] = force;
        }
        (format!("{name}/{name}.yaml"), manifest.to_string())
    })
}

/// Returns the uids of the Runnables, null where there is none.
async fn uids(stage: &Stage) -> Result<Vec<Value>> {
    let mut uids = Vec::new();
    for name in NAMES {
        let it = stage.find(RUNNABLE, name).await?.unwrap_or_default();
        uids.push(it["metadata"]["uid"].clone());
    }
    Ok(uids)
}

/// Pushes this version, and waits until all three Kustomizations are ready.
async fn taken(stage: &Stage, version: &str) -> Result<()> {
    let revision = stage.push(&files(stage, version, &json!({}))).await?;
    for name in NAMES {
        let ready = stage.record.ready(&stage.namespace, name, &revision);
        ready.await?;
    }
    Ok(())
}

/// Pushes a mistake, and waits until all three Kustomizations have failed with these words.
async fn refused(stage: &Stage, mistake: &Value, words: &str) -> Result<()> {
    let (record, namespace) = (&stage.record, &stage.namespace);
    let revision = stage.push(&files(stage, "v01", mistake)).await?;
    for name in NAMES {
        let failed = record.failed(namespace, name, &revision, "ReconciliationFailed");
        failed.await?;
        let says = record.says(namespace, name);
        ensure!(says.contains(words), "{name}: {says}");
    }
    Ok(())
}

#[tokio::test]
#[ignore = "builds Flux: just nightly"]
async fn only_a_refused_value_deletes_a_runnable_by_force_and_none_without() -> Result<()> {
    let Some(stage) = Stage::set("force").await? else {
        return Ok(());
    };
    let by_kustomization = json!({ "force": true });
    let kustomizations = [
        ("plain", json!({})),
        ("forced", by_kustomization),
        ("annotated", json!({})),
    ];
    let good = files(&stage, "v00", &json!({}));
    let revision = stage.sync(&good, &kustomizations).await?;
    for name in NAMES {
        let ready = stage.record.ready(&stage.namespace, name, &revision);
        ready.await?;
    }
    let before = uids(&stage).await?;

    // An unknown field, a value of another type, and a good edit.
    let unknown = json!({ "retries": 3 });
    refused(&stage, &unknown, "field not declared in schema").await?;
    let of_another_type = json!({ "retry": { "limit": "many" } });
    refused(&stage, &of_another_type, "limit").await?;
    taken(&stage, "v01").await?;
    // The controller refuses it, not the API server.
    let too_often = json!({ "retry": { "limit": 99 } });
    let revision = stage.push(&files(&stage, "v01", &too_often)).await?;
    for name in NAMES {
        let failed = stage
            .record
            .failed(&stage.namespace, name, &revision, "HealthCheckFailed");
        failed.await?;
    }
    taken(&stage, "v01").await?;
    assert_eq!(uids(&stage).await?, before);

    let refused_value = json!({ "approval": "Sometimes" });
    refused(&stage, &refused_value, "spec.approval").await?;
    stage.gone(RUNNABLE, "forced").await?;
    stage.gone(RUNNABLE, "annotated").await?;
    let deleted = [before[0].clone(), Value::Null, Value::Null];
    assert_eq!(uids(&stage).await?, deleted);
    taken(&stage, "v01").await?;
    let runs = |name: &str, version: &str| stage.record.runs(&stage.namespace, name, version);
    // Each kind has a watch of its own.
    stage
        .eventually("the runs", || async {
            let made = NAMES.map(|name| (runs(name, "v00"), runs(name, "v01")));
            Ok(if made == [(1, 1), (1, 2), (1, 2)] {
                Seen::Done(())
            } else {
                Seen::NotYet(format!("{made:?}"))
            })
        })
        .await?;
    println!("force: 2 Runnables deleted by a refused value, 0 by other mistakes and edits");
    Ok(())
}
