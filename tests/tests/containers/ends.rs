//! Ends of containers: by themselves, and by their run's deadline.

use anyhow::Result;
use cartouche_tests::kind::JOB;
use serde_json::json;

use crate::scene::{Scene, message, pod};

#[tokio::test]
async fn a_failed_container_is_told_of_with_its_exit_code_and_its_words() -> Result<()> {
    let Some(scene) = Scene::set().await? else {
        return Ok(());
    };
    let pod = pod(&["fail", "the registry is gone", "7"]);
    scene.start(pod, json!({}), json!({})).await?;
    let it = scene.ready("False").await?;
    let said = message(&it, "Ready");
    assert!(said.contains("exited 7: the registry is gone"), "{said}");
    Ok(())
}

#[tokio::test]
async fn a_deadline_ends_each_attempt_and_its_container() -> Result<()> {
    let Some(scene) = Scene::set().await? else {
        return Ok(());
    };
    let job = json!({ "activeDeadlineSeconds": 2 });
    let backoff = json!({ "initial": "1s", "max": "1s" });
    let retry = json!({ "retry": { "limit": 1, "backoff": backoff } });
    scene.start(pod(&["sleep"]), job, retry).await?;
    let it = scene.stalled().await?;
    let said = message(&it, "Ready");
    assert!(said.contains("deadline"), "{said}");
    assert_eq!(scene.runs(JOB, "it").await?.len(), 2);
    scene.nothing_runs().await
}
