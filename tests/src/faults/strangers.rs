//! Objects of an account that may create objects of the kind of the runs, and nothing else. They claim to be
//! runs, or hardly any client can read them. They exist beside the runs of a stage and in a namespace of
//! their own.

use anyhow::{Context, Result};
use kube::{
    Api, ResourceExt,
    api::{ApiResource, DynamicObject, PostParams},
};
use serde_json::{Value, json};

use super::stage::APP;
use crate::{
    cluster::{Account, Cluster, Rights},
    lab::TRIAL,
};

/// Deeper than JSON parsers follow.
const TOO_DEEP: usize = 140;
/// Beginning of their names.
const NAME: &str = "stranger-";

/// Numbers that are invalid or too high.
const NUMBERS: [&str; 6] = [
    "0",
    "1.5",
    "one",
    "9007199254740992",
    "9223372036854775807",
    "99999999999999999999",
];

/// Returns true if the object is one of them.
#[must_use]
pub fn is_strange(object: &DynamicObject) -> bool {
    object.name_any().starts_with(NAME)
}

/// Fills a namespace with all sorts of them. All controllers of the cluster meet them, because they watch a
/// kind everywhere.
pub async fn settle(cluster: &Cluster) -> Result<()> {
    let namespace = cluster.namespace("strangers").await?;
    let kind = TRIAL.resource();
    let mut objects = readable(&namespace, &owner(cluster, &namespace).await?);
    let mut deep = object("deep", &json!({ "carto.run/runnable-name": APP }));
    deep["spec"]["deep"] = (0..TOO_DEEP).fold(json!({}), |inner, _| json!({ "a": inner }));
    objects.push(deep);
    make(cluster, &namespace, &kind, &objects).await
}

/// Puts the readable ones beside the runs of a stage: the tests list them, too.
pub(super) async fn join(cluster: &Cluster, namespace: &str, kind: &ApiResource) -> Result<()> {
    let objects = readable(APP, &owner(cluster, namespace).await?);
    make(cluster, namespace, kind, &objects).await
}

/// Returns an account that stays, as their owner: objects without an owner would be collected.
async fn owner(cluster: &Cluster, namespace: &str) -> Result<Value> {
    let accounts = cluster.api::<k8s_openapi::api::core::v1::ServiceAccount>(namespace);
    let account = accounts.get("default").await?;
    Ok(json!({
        "apiVersion": "v1", "kind": "ServiceAccount", "controller": true,
        "name": "default", "uid": account.uid().context("an account has a uid")?,
    }))
}

async fn make(
    cluster: &Cluster,
    namespace: &str,
    kind: &ApiResource,
    objects: &[Value],
) -> Result<()> {
    let rights = [Rights {
        group: &kind.group,
        resource: &kind.plural,
        verbs: &["create"],
    }];
    let Account { name, .. } = cluster
        .service_account(namespace, "stranger", &rights)
        .await?;
    let client = cluster.client_of(&Account::new(namespace, name)).await?;
    let api: Api<DynamicObject> = Api::namespaced_with(client, namespace, kind);
    for object in objects {
        let mut object = object.clone();
        object["apiVersion"] = json!(kind.api_version);
        object["kind"] = json!(kind.kind);
        let object = serde_json::from_value(object)?;
        cluster
            .eventually("a stranger to come", super::stage::PATIENCE, || async {
                match api.create(&PostParams::default(), &object).await {
                    Err(kube::Error::Api(status)) if status.is_already_exists() => {}
                    other => drop(other?),
                }
                Ok(crate::cluster::Seen::Done(()))
            })
            .await?;
    }
    Ok(())
}

/// Returns an object that claims to be a run of the Runnable with this name.
fn object(name: &str, labels: &Value) -> Value {
    json!({ "metadata": { "name": format!("{NAME}{name}"), "labels": labels }, "spec": {} })
}

fn readable(runnable: &str, owner: &Value) -> Vec<Value> {
    let labels = || json!({ "carto.run/runnable-name": runnable });
    let mut objects: Vec<Value> = NUMBERS
        .iter()
        .enumerate()
        .map(|(at, number)| {
            let mut labels = labels();
            labels["carto.run/run-sequence"] = json!(number);
            labels["carto.run/runnable-uid"] = json!("nobody");
            object(&format!("number-{at}"), &labels)
        })
        .collect();
    let mut foreign = object("foreign", &labels());
    foreign["metadata"]["ownerReferences"] = json!([owner]);
    let mut hash = object("hash", &labels());
    hash["metadata"]["annotations"] = json!({ "carto.run/input-hash": "f".repeat(100_000) });
    let mut nulls = object("nulls", &labels());
    for field in [
        "annotations",
        "ownerReferences",
        "finalizers",
        "generateName",
    ] {
        nulls["metadata"][field] = Value::Null;
    }
    objects.extend([foreign, hash, nulls]);
    objects
}
