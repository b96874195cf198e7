//! A version of the runs' kind that is no longer served: the runs are the same objects in another one.

use std::time::Duration;

use anyhow::{Context, Result};
use cartouche_crds::Runnable;
use cartouche_tests::cluster::{Rights, Seen};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{
    Api, ResourceExt,
    api::{
        ApiResource, DynamicObject, GroupVersionKind, ListParams, Patch, PatchParams, PostParams,
    },
};
use serde_json::{Value, json};

use crate::{
    engine::{TRIAL, end, hangs, template},
    retention::{an_hour_passes, keep},
    scene::{SOON, Scene},
    sight::{confirmed, current, is_at, output, result},
};

/// A group in which the controller may watch everything.
const GROUP: &str = "passing.lab.test";

struct Versioned<'a> {
    scene: &'a Scene,
    kind: String,
    plural: String,
}

impl<'a> Versioned<'a> {
    async fn begin(scene: &'a Scene) -> Result<Self> {
        let kind = format!("Trial{}", scene.namespace.replace('-', ""));
        let plural = format!("{}s", kind.to_lowercase());
        let rights = [Rights::of_a_runnable(GROUP, &plural)];
        scene.cluster.grant(&scene.account, &rights).await?;
        let this = Self {
            scene,
            kind,
            plural,
        };
        let definition: CustomResourceDefinition = serde_json::from_value(json!({
            "metadata": { "name": this.definition() },
            "spec": {
                "group": GROUP, "scope": "Namespaced",
                "names": { "kind": this.kind, "plural": this.plural },
                "versions": [version("v1", true), version("v1beta1", true)],
            },
        }))?;
        let definitions = scene.cluster.all::<CustomResourceDefinition>();
        definitions
            .create(&PostParams::default(), &definition)
            .await?;
        this.served("v1beta1", true).await?;
        this.template("v1beta1").await?;
        Ok(this)
    }

    fn definition(&self) -> String {
        format!("{}.{GROUP}", self.plural)
    }

    fn objects(&self, version: &str) -> Api<DynamicObject> {
        let kind = GroupVersionKind::gvk(GROUP, version, &self.kind);
        let kind = ApiResource::from_gvk_with_plural(&kind, &self.plural);
        let client = self.scene.cluster.client();
        Api::namespaced_with(client, &self.scene.namespace, &kind)
    }

    async fn template(&self, version: &str) -> Result<()> {
        let mut spec = template(TRIAL);
        spec["template"]["apiVersion"] = json!(format!("{GROUP}/{version}"));
        spec["template"]["kind"] = json!(self.kind);
        self.scene.template(spec).await
    }

    async fn served(&self, version: &str, served: bool) -> Result<()> {
        let what = format!("{version} to be served or not");
        let look = || async {
            let listed = self.objects(version).list(&ListParams::default()).await;
            Ok(if listed.is_ok() == served {
                Seen::Done(())
            } else {
                Seen::NotYet(format!("{listed:?}"))
            })
        };
        self.scene.cluster.eventually(&what, SOON, look).await
    }

    async fn drop_v1beta1(&self) -> Result<()> {
        let versions = [version("v1", true), version("v1beta1", false)];
        let patch = Patch::Merge(json!({ "spec": { "versions": versions } }));
        let definitions = self.scene.cluster.all::<CustomResourceDefinition>();
        let name = self.definition();
        definitions
            .patch(&name, &PatchParams::default(), &patch)
            .await?;
        self.served("v1beta1", false).await?;
        self.served("v1", true).await
    }

    async fn runs(&self) -> Result<Vec<DynamicObject>> {
        let of = ListParams::default().labels("carto.run/runnable-name=app");
        // Right after a definition was changed its storage begins anew.
        let objects = self.objects("v1");
        let listing = || objects.list(&of);
        Ok(self
            .scene
            .tried("the runs to be listed", listing)
            .await?
            .items)
    }
}

fn version(name: &str, served: bool) -> Value {
    let anything = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    json!({
        "name": name, "served": served, "storage": name == "v1", "subresources": { "status": {} },
        "schema": { "openAPIV3Schema": {
            "type": "object", "properties": { "spec": anything, "status": anything },
        } },
    })
}

#[tokio::test]
async fn a_run_whose_version_is_served_no_more_is_followed_and_collected_in_another() -> Result<()>
{
    let scene = Scene::begin("versions").await?;
    let kind = Versioned::begin(&scene).await?;
    let mut controller = scene.controller(&[]).await?;
    let spec = json!({ "inputs": hangs(1), "retentionPolicy": keep(1, 1) });
    scene.runnable_with("app", spec).await?;
    let first = scene.until("app", "its run", confirmed).await?;
    kind.drop_v1beta1().await?;
    // No look of any client reports meanwhile that the run is gone.
    let poke = json!({ "metadata": { "annotations": { "look": "again" } } });
    scene.patch("app", poke).await?;
    tokio::time::sleep(Duration::from_secs(12)).await;
    controller.restart().await?;
    scene.is_served().await?;
    let now = scene.now("app").await?;
    assert_eq!(result(&now), None);
    assert_eq!(current(&now)?.uid, current(&first)?.uid);

    let runs = kind.runs().await?;
    end(&kind.objects("v1"), runs.first().context("no run")?, true).await?;
    let ended = |r: &Runnable| output(r) == Some(1);
    scene.until("app", "the output of its run", ended).await?;
    assert_eq!(kind.runs().await?.len(), 1);

    kind.template("v1").await?;
    scene
        .until("app", "a run of the new version", is_at(2))
        .await?;
    scene.until("app", "confirmed", confirmed).await?;
    let runs = kind.runs().await?;
    let old = current(&first)?.uid;
    let new = runs.iter().find(|run| run.uid() != old);
    end(&kind.objects("v1"), new.context("no second run")?, true).await?;
    scene.gives("app", 1).await?;
    assert_eq!(runs.len(), 2);
    an_hour_passes(&scene, &mut controller, "app").await?;
    let left = || async {
        let left = kind.runs().await?.len();
        Ok(if left == 1 {
            Seen::Done(())
        } else {
            Seen::NotYet(left.to_string())
        })
    };
    scene
        .cluster
        .eventually("the old run to go", SOON, left)
        .await?;
    assert_eq!(current(&scene.now("app").await?)?.sequence, 2);
    Ok(())
}

#[tokio::test]
async fn a_running_controller_notices_that_a_version_is_served_no_more() -> Result<()> {
    let scene = Scene::begin("unserved").await?;
    let kind = Versioned::begin(&scene).await?;
    let _controller = scene.controller(&[]).await?;
    scene.runnable("app", hangs(1)).await?;
    scene.until("app", "its run", confirmed).await?;
    kind.drop_v1beta1().await?;
    let runs = kind.runs().await?;
    end(&kind.objects("v1"), runs.first().context("no run")?, true).await?;
    let ended = |r: &Runnable| output(r) == Some(1);
    scene.until("app", "the output of its run", ended).await?;
    assert_eq!(kind.runs().await?.len(), 1);
    Ok(())
}
