//! Finished runs without running them: copies of the controller's own objects for one Runnable, written to
//! the API server while no controller runs.

use std::{sync::Arc, time::Duration};

use anyhow::{Context, Result};
use cartouche_crds::FIELD_MANAGER;
use cartouche_language::name_suffix;
use cartouche_tests::cluster::{Seen, eventually};
use futures::{StreamExt, TryStreamExt, stream};
use kube::Client;
use serde::{Deserialize, de::IgnoredAny};
use serde_json::{Value, json};

use crate::{
    api::{self, Meta},
    kinds::{RUN_GROUP, RunKind},
    load::{Field, Plan, name},
    site::Site,
};

/// Runnables that are written at the same time.
const AT_ONCE: usize = 32;
const RUN_SEQUENCE: &str = "carto.run/run-sequence";

/// One Runnable that was served, and its run.
pub(crate) struct Model {
    status: Value,
    run: Value,
}

#[derive(Deserialize)]
struct Made {
    metadata: Meta,
}

impl Model {
    /// Has the controller serve one Runnable, and takes the result.
    pub(crate) async fn learn(site: &Site, mut plan: Plan) -> Result<Self> {
        plan.namespace = site.cluster.namespace("model").await?;
        (plan.runnables, plan.active) = (1, 1);
        let client = site.client();
        let mut field = Field::new(client.clone(), plan.clone()).await?;
        field.sow().await?;
        tokio::time::sleep(Duration::from_secs(1)).await;
        let path = format!("{}/{}", plan.path(), name(0));
        let mut runnable: Value = api::send(&client, "GET", &path, &Value::Null).await?;
        let kind = &plan.kinds.first().context("no kind of runs")?.0;
        let (mut runs, _) = api::list::<Value>(&client, &kind.path(&plan.namespace)).await?;
        field.clear().await?;
        Ok(Self {
            status: runnable["status"].take(),
            run: runs
                .pop()
                .context("the controller under test made no run")?,
        })
    }

    /// Writes the Runnables of a plan, each with this many finished runs.
    pub(crate) async fn write(&self, site: &Site, plan: &Plan, runs_each: usize) -> Result<()> {
        let kind = &plan.kinds.first().context("no kind of runs")?.0;
        statuses_with_creates(site, kind, true).await?;
        let client = site.client();
        let writes = stream::iter(0..plan.runnables).map(|index| {
            let client = client.clone();
            async move { self.write_one(&client, plan, kind, index, runs_each).await }
        });
        writes
            .buffer_unordered(AT_ONCE)
            .try_collect::<Vec<()>>()
            .await?;
        statuses_with_creates(site, kind, false).await?;
        listed_again(site, &kind.path(&plan.namespace)).await
    }

    async fn write_one(
        &self,
        client: &Client,
        plan: &Plan,
        kind: &RunKind,
        index: usize,
        runs_each: usize,
    ) -> Result<()> {
        let object = plan.runnable(index);
        let runnable: Made = api::send(client, "POST", &plan.path(), &object)
            .await
            .context("writing a Runnable")?;
        let mut runs = Vec::new();
        for sequence in 1..=i64::try_from(runs_each)? {
            let run = self.run_of(&runnable.metadata, sequence);
            let made: Made = api::send(client, "POST", &kind.path(&plan.namespace), &run)
                .await
                .context("writing a run")?;
            runs.push((sequence, made.metadata));
        }
        let body = json!({
            "apiVersion": object["apiVersion"],
            "kind": "Runnable",
            "metadata": {
                "name": runnable.metadata.name, "namespace": plan.namespace,
                "resourceVersion": runnable.metadata.resource_version,
            },
            "spec": object["spec"],
            "status": self.status_of(&runs),
        });
        // With the field manager of the controller, because it compares another writer's status with all runs
        // first.
        let path = format!(
            "{}/{}/status?fieldManager={FIELD_MANAGER}",
            plan.path(),
            name(index)
        );
        api::send::<Made>(client, "PUT", &path, &body)
            .await
            .context("writing a status")?;
        Ok(())
    }

    fn run_of(&self, owner: &Meta, sequence: i64) -> Value {
        let mut run = self.run.clone();
        let model = &self.run["metadata"];
        let mut metadata = json!({
            "labels": model["labels"],
            "annotations": model["annotations"],
            "ownerReferences": model["ownerReferences"],
        });
        metadata["labels"]["carto.run/runnable-name"] = owner.name.as_str().into();
        let reference = &mut metadata["ownerReferences"][0];
        reference["name"] = owner.name.as_str().into();
        reference["uid"] = owner.uid.as_str().into();
        metadata["generateName"] = "work-".into();
        if model["labels"].get(RUN_SEQUENCE).is_some() {
            // With the protocol's names of runs; other controllers let the server choose.
            metadata["name"] = format!("work-{}", name_suffix(&owner.uid, sequence)).into();
            metadata["labels"][RUN_SEQUENCE] = sequence.to_string().into();
            metadata["labels"]["carto.run/runnable-uid"] = owner.uid.as_str().into();
        }
        run["metadata"] = metadata;
        run
    }

    fn status_of(&self, runs: &[(i64, Meta)]) -> Value {
        let mut status = self.status.clone();
        let Some((last, run)) = runs.last() else {
            return status;
        };
        let entry = |into: &mut Value, sequence: i64, run: &Meta| {
            into["sequence"] = sequence.into();
            into["name"] = run.name.as_str().into();
            into["uid"] = run.uid.as_str().into();
        };
        if status.get("currentRun").is_none() {
            return status;
        }
        let past = &status["currentRun"];
        let earlier = runs[..runs.len() - 1].iter();
        let history = earlier.map(|(sequence, run)| line(past, *sequence, run));
        status["history"] = history.collect();
        entry(&mut status["currentRun"], *last, run);
        entry(&mut status["outputsFrom"], *last, run);
        status
    }
}

/// Returns the line of the history for a run that ended as this one.
fn line(like: &Value, sequence: i64, run: &Meta) -> String {
    let text = |field: &str| like[field].as_str().unwrap_or("-");
    format!(
        "{sequence} {} {}/{}/{} {} {} {} {} : all steps have completed",
        text("result"),
        text("apiVersion"),
        text("kind"),
        run.name,
        run.uid,
        text("startedAt"),
        text("finishedAt"),
        text("inputHash"),
    )
}

/// Lets creates of this kind contain a status, or not. Returns once the API server has noticed.
async fn statuses_with_creates(site: &Site, kind: &RunKind, wanted: bool) -> Result<()> {
    let client = Arc::new(site.client());
    let path = format!(
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{}",
        kind.resource()
    );
    let mut versions = kind.definition(!wanted)["spec"]["versions"].take();
    if wanted {
        // A merge patch replaces the list of versions as a whole.
        versions[0]["subresources"] = Value::Null;
    }
    api::send::<Value>(
        &client,
        "PATCH",
        &path,
        &json!({ "spec": { "versions": versions } }),
    )
    .await
    .context("changing the definition of the runs")?;
    eventually(
        "the changed kind of runs to be served",
        Duration::from_secs(30),
        || {
            let client = client.clone();
            async move {
                let path = format!("/apis/{RUN_GROUP}/v1");
                let served: Value = api::send(&client, "GET", &path, &Value::Null).await?;
                let status = format!("{}/status", kind.plural);
                let resources = served["resources"].as_array();
                let has_status = resources.is_some_and(|all| {
                    all.iter()
                        .any(|resource| resource["name"] == status.as_str())
                });
                Ok(if has_status == wanted {
                    Seen::NotYet("the old definition is still served".to_owned())
                } else {
                    Seen::Done(())
                })
            }
        },
    )
    .await?;
    // Discovery changes a moment before the storage behind it.
    tokio::time::sleep(Duration::from_secs(1)).await;
    Ok(())
}

/// Waits until the API server lists the runs again. After a change of the definition it fills its cache anew,
/// which takes a while with many objects. Until then it refuses requests that need the cache: lists by label,
/// and watches.
async fn listed_again(site: &Site, path: &str) -> Result<()> {
    let client = Arc::new(site.client());
    let path = format!("{path}?labelSelector=carto.run/runnable-name&limit=1");
    let what = "the API server to list the runs";
    eventually(what, Duration::from_mins(2), || {
        let (client, path) = (client.clone(), path.clone());
        async move {
            let page = api::send::<IgnoredAny>(&client, "GET", &path, &Value::Null).await;
            Ok(match page {
                Ok(_) => Seen::Done(()),
                Err(error) => Seen::NotYet(format!("{error:#}")),
            })
        }
    })
    .await
}
