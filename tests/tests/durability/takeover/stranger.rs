//! A foreign object holds the name of the next run, which is public.

use anyhow::Result;
use cartouche_language::name_suffix;
use kube::{ResourceExt as _, api::PostParams};
use serde_json::json;

use super::original;
use crate::{
    engine::{TRIAL, succeeds},
    scene::Scene,
};

#[tokio::test]
async fn a_name_that_is_taken_is_no_reason_to_take_a_change_for_what_has_run() -> Result<()> {
    let scene = Scene::begin("takeover-taken").await?;
    original(&scene, "changed", vec![succeeds(1)], "True", Some(1)).await?;
    let runnable = scene.now("changed").await?;
    let suffix = name_suffix(&runnable.uid().unwrap_or_default(), 2);
    let resource = TRIAL.resource();
    let stranger = serde_json::from_value(json!({
        "apiVersion": resource.api_version, "kind": resource.kind,
        "metadata": { "name": format!("changed-{suffix}") }, "spec": { "value": 99 },
    }))?;
    scene
        .api(TRIAL)
        .create(&PostParams::default(), &stranger)
        .await?;
    scene.change("changed", succeeds(2)).await?;
    let _controller = scene.controller(&[]).await?;
    scene.gives("changed", 2).await?;
    assert_eq!(scene.made("changed")?, [2]);
    Ok(())
}
