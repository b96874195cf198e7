//! The definition of Runnables is lowered to one of an older release while changes come, and raised again.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use cartouche_crds::SCHEMA_ANNOTATION;
use cartouche_tests::{cluster::Seen, controller::Controller, fixture::objects::name_of};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::PostParams;
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::{
    engine::{TRIAL, succeeds, template},
    scene::{AFTER_QUIET, SOON, Scene, names},
};

pub const DEFINITION: &str = "runnables.carto.run";
const OF_TEMPLATES: &str = "clusterruntemplates.carto.run";
/// The fields of a status that Cartographer's definition knows.
const OF_CARTOGRAPHER: [&str; 3] = ["conditions", "observedGeneration", "outputs"];

/// Returns the present definition of this name.
pub async fn definition(scene: &Scene, name: &str) -> Result<Value> {
    let definitions = scene.cluster.all::<CustomResourceDefinition>();
    Ok(serde_json::to_value(definitions.get(name).await?)?)
}

/// Replaces spec and annotations of the definition.
pub async fn define(scene: &Scene, as_in: &Value) -> Result<()> {
    let definitions = scene.cluster.all::<CustomResourceDefinition>();
    let name = name_of(as_in);
    let replacing = || async {
        let now = definitions.get(name).await?;
        let mut next = serde_json::to_value(now).map_err(kube::Error::SerdeError)?;
        next["spec"] = as_in["spec"].clone();
        next["metadata"]["annotations"] = as_in["metadata"]["annotations"].clone();
        let next = serde_json::from_value(next).map_err(kube::Error::SerdeError)?;
        definitions
            .replace(name, &PostParams::default(), &next)
            .await
    };
    scene
        .tried("the definition to be replaced", replacing)
        .await
        .map(drop)
}

/// Returns the definition with the status of Cartographer's, with or without the number of the shipped one.
fn lowered(shipped: &Value, keeps_number: bool) -> Result<Value> {
    let mut lowered = shipped.clone();
    let status = "/spec/versions/0/schema/openAPIV3Schema/properties/status";
    let status = lowered.pointer_mut(status).context("no status")?;
    let properties = status["properties"].as_object_mut();
    let properties = properties.context("no properties")?;
    properties.retain(|name, _| OF_CARTOGRAPHER.contains(&name.as_str()));
    let status = status.as_object_mut().context("no schema")?;
    status.remove("x-kubernetes-preserve-unknown-fields");
    if !keeps_number {
        let annotations = lowered["metadata"]["annotations"].as_object_mut();
        annotations
            .context("no annotations")?
            .remove(SCHEMA_ANNOTATION);
    }
    Ok(lowered)
}

/// Waits until the controller reports that it waits for definitions, and the reason.
async fn is_unready(scene: &Scene, controller: &Controller, why: &str) -> Result<()> {
    let look = || async {
        let said = match controller.get("/readyz").await {
            Ok(said) => said,
            Err(error) => format!("{error:#}"),
        };
        let is_said = said.contains("waiting for definitions of this release")
            && said.contains(why)
            && said.contains("kubectl apply");
        Ok(if is_said {
            Seen::Done(())
        } else {
            Seen::NotYet(said)
        })
    };
    let what = "the controller to be unready";
    scene.cluster.eventually(what, SOON, look).await
}

/// Waits until the controller is ready, without a restart.
async fn is_ready(scene: &Scene, controller: &Controller) -> Result<()> {
    let look = || async {
        Ok(match controller.get("/readyz").await {
            Ok(_) => Seen::Done(()),
            Err(error) => Seen::NotYet(format!("{error:#}")),
        })
    };
    let what = "the controller to be ready without a restart";
    scene.cluster.eventually(what, SOON, look).await
}

/// Checks that a definition that drops parts of templates is noticed: what it drops of the status it may drop
/// of the spec as well.
async fn one_that_drops_from_templates_is_noticed(
    scene: &Scene,
    controller: &Controller,
    why: &str,
) -> Result<()> {
    let shipped = definition(scene, OF_TEMPLATES).await?;
    let mut dropping = shipped.clone();
    let status = "/spec/versions/0/schema/openAPIV3Schema/properties/status";
    let status = dropping.pointer_mut(status).context("no status")?;
    *status =
        json!({ "type": "object", "properties": { "observedGeneration": { "type": "integer" } } });
    define(scene, &dropping).await?;
    scene.template_named("dropped", template(TRIAL)).await?;
    is_unready(scene, controller, why).await?;
    define(scene, &shipped).await?;
    is_ready(scene, controller).await
}

async fn lowered_under_load(name: &str, keeps_number: bool, why: &str) -> Result<()> {
    let scene = Scene::with_servers_of_its_own(name).await?;
    let shipped = definition(&scene, DEFINITION).await?;
    ensure!(shipped["metadata"]["annotations"][SCHEMA_ANNOTATION] == json!("1"));
    let controller = scene.controller(&[]).await?;
    let names = names(10);
    for name in &names {
        scene.runnable(name, succeeds(1)).await?;
    }
    scene.all_give(&names, 1).await?;

    let changing = async {
        for value in 2..=4 {
            for name in &names {
                scene.change(name, succeeds(value)).await?;
            }
        }
        anyhow::Ok(())
    };
    let lowering = async {
        sleep(Duration::from_millis(300)).await;
        define(&scene, &lowered(&shipped, keeps_number)?).await
    };
    tokio::try_join!(changing, lowering)?;
    for name in &names {
        scene.change(name, succeeds(5)).await?;
    }
    is_unready(&scene, &controller, why).await?;
    let before = scene.made_of(TRIAL)?.len();
    sleep(Duration::from_secs(4)).await;
    is_unready(&scene, &controller, why).await?;
    ensure!(scene.made_of(TRIAL)?.len() == before, "a run was made");
    scene.warns(&names[0], "DefinitionsOutdated", why).await?;

    define(&scene, &shipped).await?;
    is_ready(&scene, &controller).await?;
    for name in &names {
        let done = |r: &_| crate::sight::ready(r) && crate::sight::output(r) == Some(5);
        scene.within(AFTER_QUIET, name, "output 5", done).await?;
        let made = scene.made(name)?;
        let mut once = made.clone();
        once.sort_unstable();
        once.dedup();
        ensure!(made == once && made.last() == Some(&5), "{name}: {made:?}");
    }
    if keeps_number {
        one_that_drops_from_templates_is_noticed(&scene, &controller, why).await?;
    }
    let verdict = scene.chronicle.past(scene.sight)?.verdict();
    // The definition hides or drops the ledgers, not a controller.
    let hidden = [
        "is gone",
        "are said to be from nowhere",
        "or are from nowhere",
    ];
    let mut others = verdict.violations;
    others.retain(|it| !hidden.iter().any(|hidden| it.what.ends_with(hidden)));
    ensure!(others.is_empty(), "{others:#?}");
    Ok(())
}

#[tokio::test]
async fn a_definition_without_a_number_holds_all_runs_until_it_is_raised() -> Result<()> {
    let why = "the definition runnables.carto.run is of schema 0, and this controller needs 1";
    lowered_under_load("lowered", false, why).await
}

#[tokio::test]
async fn a_definition_that_drops_what_is_written_holds_all_runs_whatever_its_number() -> Result<()>
{
    let why = "the API server drops what the controller writes";
    lowered_under_load("dropping", true, why).await
}
