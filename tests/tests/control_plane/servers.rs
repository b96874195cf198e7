//! The servers of a control plane die and come back.

use std::time::{Duration, Instant};

use anyhow::Result;
use cartouche_tests::{
    cluster::{Cluster, Seen},
    control_plane::{Options, Part, supervise::Signal},
    lab::{self, TRIAL},
};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api,
    api::{DynamicObject, ListParams, PostParams},
};
use serde_json::json;

use super::{DEMO, SOON};

#[tokio::test]
async fn killed_servers_come_back_with_their_data() -> Result<()> {
    let begin = Instant::now();
    let cluster = Cluster::start(DEMO, &Options::bare()).await?;
    eprintln!("bare control plane after {:?}", begin.elapsed());
    let plane = cluster.control_plane()?;
    let namespace = cluster.namespace("kept").await?;
    let maps: Api<ConfigMap> = cluster.api(&namespace);
    for part in [Part::ApiServer, Part::Etcd] {
        let name = part.binary();
        let map = serde_json::from_value(json!({ "metadata": { "name": name } }))?;
        maps.create(&PostParams::default(), &map).await?;
        plane.kill(part)?;
        let request = tokio::time::timeout(Duration::from_millis(500), maps.get(name)).await;
        assert!(!matches!(request, Ok(Ok(_))), "{name} is still there");
        let begin = Instant::now();
        plane.restart(part).await?;
        eprintln!("{name} restarted after {:?}", begin.elapsed());
        cluster
            .wait_for(&maps, name, "the object to be still there", SOON, |_| true)
            .await?;
    }
    plane.signal(Part::ApiServer, Signal::Pause)?;
    // A server of many threads may answer once more before the last of them has stopped.
    cluster
        .eventually("requests to hang", SOON, || async {
            let request = tokio::time::timeout(Duration::from_millis(500), maps.get("etcd"));
            Ok(match request.await {
                Err(_) => Seen::Done(()),
                Ok(answer) => Seen::NotYet(format!("{answer:?}")),
            })
        })
        .await?;
    plane.signal(Part::ApiServer, Signal::Resume)?;
    maps.get("etcd").await?;
    Ok(())
}

/// KWOK itself gives up a request that the server answered with its death.
#[tokio::test]
async fn runs_that_an_engine_had_in_hand_when_a_server_died_are_played_to_their_end() -> Result<()>
{
    let cluster = Cluster::start(DEMO, &Options::full()).await?;
    let plane = cluster.control_plane()?;
    cluster.apply_yaml("default", lab::KINDS).await?;
    cluster.definitions_served().await?;
    plane.play([lab::stages()]).await?;
    let namespace = cluster.namespace("in-hand").await?;
    let trials =
        Api::<DynamicObject>::namespaced_with(cluster.client(), &namespace, &TRIAL.resource());
    for part in [Part::ApiServer, Part::Etcd].repeat(3) {
        let making = async {
            for value in 0..300 {
                let run = serde_json::from_value(json!({
                    "apiVersion": "lab.test/v1", "kind": "Trial",
                    "metadata": { "generateName": "run-" }, "spec": lab::succeeds(value),
                }))?;
                // A create that dies with the server took effect or not: only existing runs count.
                if trials.create(&PostParams::default(), &run).await.is_err() {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
            }
            anyhow::Ok(())
        };
        let dying = async {
            tokio::time::sleep(Duration::from_millis(700)).await;
            plane.restart(part).await
        };
        tokio::try_join!(making, dying)?;
        cluster
            .eventually("every run to end", SOON, || async {
                let runs = trials.list(&ListParams::default()).await?.items;
                let hangs = runs.iter().filter(|run| run.data["status"].is_null());
                let count = hangs.count();
                Ok(match (runs.len(), count) {
                    (100.., 0) => Seen::Done(()),
                    (all, count) => Seen::NotYet(format!("{count} of {all} hang")),
                })
            })
            .await?;
    }
    Ok(())
}
