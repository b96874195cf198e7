//! A kind of runs of one stage, which the stage can take away.

use anyhow::Result;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{
    Api,
    api::{ApiResource, DeleteParams, DynamicObject, GroupVersionKind, ListParams, PostParams},
};
use serde_json::json;

use super::{
    record::{End, Record},
    stage::{PATIENCE, Stage},
};
use crate::{
    cluster::{Seen, eventually},
    lab::{self, TRIAL},
};

/// The group of these kinds. The controller may watch any kind in it.
const GROUP: &str = "passing.lab.test";

impl Stage {
    /// Gives the stage a kind of its own in the place of Trials, named after its namespace, with the same
    /// fields and the same engine.
    pub async fn with_own_kind(mut self) -> Result<Self> {
        let own = self.namespace.replace('-', "");
        let kind = GroupVersionKind::gvk(GROUP, "v1", &format!("Trial{own}"));
        self.kind = ApiResource::from_gvk_with_plural(&kind, &format!("trials-{}", self.namespace));
        self.record = Record::begin(&self.cluster, &self.account, &self.kind)?;
        self.add_kind().await?;
        self.engine = Some(lab::start(self.trials()));
        self.grant(true).await?;
        self.template(lab::template(TRIAL)).await?;
        Ok(self)
    }

    /// Removes the kind of the runs, and with it all runs.
    pub async fn remove_kind(&self) -> Result<()> {
        let (definitions, name) = (self.definitions(), self.definition());
        let trials = self.trials();
        eventually("the runs to be seen", PATIENCE, || async {
            let of = ListParams::default().labels("carto.run/runnable-name");
            let runs = none_without_kind(trials.list(&of).await)?;
            self.record.see(&runs)?;
            Ok(Seen::Done(()))
        })
        .await?;
        eventually("the kind to be gone", PATIENCE, || async {
            match definitions.delete(&name, &DeleteParams::default()).await {
                Err(kube::Error::Api(status)) if status.is_not_found() => {}
                other => {
                    drop(other?);
                    return Ok(Seen::NotYet("it is being deleted".to_owned()));
                }
            }
            Ok(match self.trials().list(&ListParams::default()).await {
                Err(kube::Error::Api(status)) if status.code == 404 => Seen::Done(()),
                other => Seen::NotYet(format!("{} runs", other?.items.len())),
            })
        })
        .await
    }

    /// Makes the kind of the runs and waits until it is served.
    pub async fn add_kind(&self) -> Result<()> {
        let definitions = self.definitions();
        let definition: CustomResourceDefinition = serde_json::from_value(json!({
            "metadata": {
                "name": self.definition(),
                // The label gives an event of the kind the namespace that the proxy looks for.
                "labels": { "lab.test/stage": self.namespace },
            },
            "spec": {
                "group": GROUP, "scope": "Namespaced",
                "names": {
                    "kind": self.kind.kind, "plural": self.kind.plural,
                    "singular": self.kind.kind.to_lowercase(),
                },
                "versions": [{
                    "name": "v1", "served": true, "storage": true,
                    "subresources": { "status": {} },
                    "selectableFields": [{ "jsonPath": ".spec.value" }, { "jsonPath": ".status.phase" }],
                    "schema": { "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {
                                "type": "object", "x-kubernetes-preserve-unknown-fields": true,
                                "properties": { "value": { "type": "integer" } },
                            },
                            "status": {
                                "type": "object", "x-kubernetes-preserve-unknown-fields": true,
                                "properties": { "phase": { "type": "string" } },
                            },
                        },
                    } },
                }],
            },
        }))?;
        eventually("the kind to be served", PATIENCE, || async {
            match definitions
                .create(&PostParams::default(), &definition)
                .await
            {
                Err(kube::Error::Api(status)) if status.is_already_exists() => {}
                other => drop(other?),
            }
            self.trials().list(&ListParams::default()).await?;
            Ok(Seen::Done(()))
        })
        .await
    }

    /// Removes the stage's own kind for good, if it has one.
    pub(super) async fn clear_kind(&self) -> Result<()> {
        if self.kind.group == GROUP {
            self.remove_kind().await?;
        }
        Ok(())
    }

    /// Numbers the hashes in their order: those of a stage's own kind differ from those of other stages.
    pub(super) fn comparable(&self, end: End) -> Result<End> {
        if self.kind.group != GROUP {
            return Ok(end);
        }
        let mut hashes: Vec<&String> = Vec::new();
        for hash in end.made.iter().filter_map(|run| run.hash.as_ref()) {
            if !hashes.contains(&hash) {
                hashes.push(hash);
            }
        }
        let mut text = serde_json::to_string(&end)?;
        for (number, hash) in hashes.into_iter().enumerate() {
            text = text.replace(hash.as_str(), &format!("hash {number}"));
        }
        Ok(serde_json::from_str(&text)?)
    }

    fn definitions(&self) -> Api<CustomResourceDefinition> {
        self.cluster.all()
    }

    fn definition(&self) -> String {
        format!("{}.{GROUP}", self.kind.plural)
    }
}

/// Returns the listed objects, or none if the kind is not served.
pub(super) fn none_without_kind(
    listed: kube::Result<kube::core::ObjectList<DynamicObject>>,
) -> Result<Vec<DynamicObject>> {
    match listed {
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(Vec::new()),
        other => Ok(other?.items),
    }
}
