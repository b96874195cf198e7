//! The definition of Runnables is upgraded under existing Runnables: from one whose status is written field
//! by field to the shipped one, whose status is written as a whole.

use anyhow::{Context, Result, ensure};
use cartouche_crds::{FIELD_MANAGER, Runnable};
use cartouche_tests::{cluster::Seen, fixture::Fixture, kind::RUNNABLE};
use k8s_openapi::{
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
    apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry,
};
use kube::{
    ResourceExt,
    api::{DynamicObject, Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};

use crate::{
    engine::{TRIAL, succeeds},
    scene::{SOON, Scene},
    sight::{current, status},
};

const DEFINITION: &str = "runnables.carto.run";
/// Field manager of the GitOps tool that owns the specs of Runnables.
const FLUX: &str = "kustomize-controller";

/// Returns the status in the definition's schema.
fn schema_of_status(definition: &mut Value) -> Result<&mut Value> {
    definition
        .pointer_mut("/spec/versions/0/schema/openAPIV3Schema/properties/status")
        .context("the definition has no status")
}

/// Changes the definition, and waits until statuses are written by it: field by field, or as a whole.
async fn define(
    scene: &Scene,
    by_field: bool,
    change: impl Fn(&mut Value) -> Result<()>,
) -> Result<()> {
    let definitions = scene.cluster.all::<CustomResourceDefinition>();
    let mut definition = serde_json::to_value(definitions.get(DEFINITION).await?)?;
    change(&mut definition)?;
    definitions
        .replace(
            DEFINITION,
            &PostParams::default(),
            &serde_json::from_value(definition)?,
        )
        .await?;
    let probe = "probe";
    scene
        .runnable_with(probe, json!({ "suspend": true }))
        .await?;
    let look = || async {
        scene
            .edit_status(probe, |status| {
                // Another value each time, so that each is a write.
                let before = status["observedGeneration"].as_i64().unwrap_or_default();
                *status = json!({ "observedGeneration": before + 1, "outputs": { "a": 1 } });
            })
            .await?;
        let now = scene.runnables().get(probe).await?;
        let entries = status_entries(&now, "admin");
        Ok(if entries.iter().all(|it| is_by_field(it) == by_field) {
            Seen::Done(())
        } else {
            Seen::NotYet(format!("{entries:?}"))
        })
    };
    let what = "statuses to be written by the new definition";
    scene.cluster.eventually(what, SOON, look).await?;
    Fixture::delete(scene, RUNNABLE, probe).await
}

/// Returns the API server's notes of this writer of the status.
fn status_entries<'a>(runnable: &'a Runnable, writer: &str) -> Vec<&'a ManagedFieldsEntry> {
    let entries = runnable.managed_fields().iter();
    let of_writer = entries.filter(|it| {
        it.subresource.as_deref() == Some("status") && it.manager.as_deref() == Some(writer)
    });
    of_writer.collect()
}

fn is_by_field(entry: &ManagedFieldsEntry) -> bool {
    let fields = entry.fields_v1.as_ref().map(|fields| &fields.0);
    let status = fields.and_then(|fields| fields.get("f:status"));
    status.is_some_and(|status| *status != json!({}))
}

/// Checks that one entry of the controller records its write of the status in this form.
fn is_written(runnable: &Runnable, by_field: bool) -> Result<()> {
    let entries = status_entries(runnable, FIELD_MANAGER);
    ensure!(
        entries.len() == 1 && is_by_field(entries[0]) == by_field,
        "{:?}",
        runnable.managed_fields()
    );
    Ok(())
}

/// Applies a Runnable as a GitOps tool does: only the content of its repository.
async fn apply(scene: &Scene, writer: &str, inputs: &Value) -> kube::Result<DynamicObject> {
    let mut manifest = scene.manifest("app", json!({ "inputs": inputs }));
    manifest["metadata"]["annotations"] = json!({ "from": "git" });
    let params = PatchParams::apply(writer);
    let patch = Patch::Apply(&manifest);
    scene.api(RUNNABLE).patch("app", &params, &patch).await
}

#[tokio::test]
async fn an_upgrade_of_the_definition_makes_no_run_and_takes_nothing_from_who_applies_specs()
-> Result<()> {
    let scene = Scene::with_servers_of_its_own("upgraded").await?;
    let shipped = scene.cluster.all::<CustomResourceDefinition>();
    let shipped = serde_json::to_value(shipped.get(DEFINITION).await?)?;
    define(&scene, true, |definition| {
        let status = schema_of_status(definition)?.as_object_mut();
        let former = status.and_then(|status| status.remove("x-kubernetes-map-type"));
        ensure!(former == Some(json!("atomic")), "{former:?}");
        Ok(())
    })
    .await?;
    let mut controller = scene.controller(&[]).await?;
    for value in 1..=3 {
        apply(&scene, FLUX, &succeeds(value)).await?;
        scene.gives("app", value).await?;
    }
    let before = scene.now("app").await?;
    is_written(&before, true)?;
    let size_before = serde_json::to_vec(before.managed_fields())?.len();

    define(&scene, false, |definition| {
        let mut shipped = shipped.clone();
        schema_of_status(definition)?.clone_from(schema_of_status(&mut shipped)?);
        Ok(())
    })
    .await?;
    // A repeated look writes only if there is something new.
    controller.restart().await?;
    scene.is_served().await?;
    let now = scene.now("app").await?;
    assert_eq!(status(&now), status(&before));
    // The very same manifest changes nothing, once the API server has noted owners by the new definition.
    let again = apply(&scene, FLUX, &succeeds(3)).await?;
    assert_eq!(again.metadata.generation, now.metadata.generation);
    let once_more = apply(&scene, FLUX, &succeeds(3)).await?;
    assert_eq!(once_more.resource_version(), again.resource_version());

    apply(&scene, FLUX, &succeeds(4)).await?;
    let end = scene.gives("app", 4).await?;
    is_written(&end, false)?;
    let size = serde_json::to_vec(end.managed_fields())?.len();
    assert!(
        size + 400 < size_before,
        "{size_before} and then {size} bytes"
    );
    assert_eq!(current(&end)?.sequence, 4);
    assert_eq!(status(&end).history.len(), 3);
    assert_eq!(end.annotations()["from"], "git");
    // Its fields still belong to the applier: another one who wants others is refused.
    let refused = apply(&scene, "somebody-else", &succeeds(5)).await;
    let refused = refused.err().context("nobody owns the inputs any more")?;
    ensure!(
        matches!(&refused, kube::Error::Api(status) if status.is_conflict() && status.message.contains(FLUX)),
        "{refused}"
    );
    assert_eq!(scene.made_of(TRIAL)?.len(), 4);
    scene.nothing_twice()
}
