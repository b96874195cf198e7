//! Very many small objects or connections.

use std::{net::SocketAddr, time::Duration};

use anyhow::{Context, Result};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    task::JoinSet,
    time::{interval, sleep, timeout},
};

use super::{AT_ONCE, ground::Ground};
use crate::{api, load::name};

const RUNNABLES: usize = 1_500;
const SECRETS: usize = 32;
const CONNECTIONS: usize = 1_500;
const CONTAINERS: usize = 1_000;
/// Pause before a connection that was given up begins again.
const PAUSE: Duration = Duration::from_secs(10);
/// Bytes of a head that does not end.
const HEAD: usize = 400_000;
const WAITING: usize = 200;
/// Interval of fifty per second.
pub(super) const FIFTIETH: Duration = Duration::from_millis(20);

/// Makes Runnables that name missing Secrets of their own.
pub(super) async fn secrets(ground: &Ground<'_>) -> Result<()> {
    let from = |runnable: usize| -> Value {
        let each = (0..SECRETS).map(|index| {
            let name = format!("missing-{runnable}-{index}");
            json!({ "name": format!("s{index}"), "secretKeyRef": { "name": name, "key": "k" } })
        });
        each.collect()
    };
    let spec = |runnable| {
        json!({
            "runTemplateRef": { "name": "bench" }, "inputs": { "change": 1 }, "inputsFrom": from(runnable),
        })
    };
    ground.many(RUNNABLES, spec).await
}

/// Makes Runnables that set the containers of their Job, and a profile that adds to each of them.
pub(super) async fn stars(ground: &Ground<'_>) -> Result<()> {
    let profile = json!({
        "apiVersion": "carto.run/v1alpha1", "kind": "ClusterRunProfile", "metadata": { "name": "stars" },
        "spec": { "rules": [{ "templates": ["stars"] }], "podTemplate": { "spec": { "containers": [{ "name": "*", "tty": true }] } } },
    });
    let path = "/apis/carto.run/v1alpha1/clusterrunprofiles";
    api::ensure(&ground.client, path, &profile).await?;
    let spec =
        json!({ "restartPolicy": "Never", "containers": "$(runnable.spec.inputs.containers)$" });
    let job = json!({
        "apiVersion": "batch/v1", "kind": "Job", "metadata": { "generateName": "work-" }, "spec": { "template": { "spec": spec } },
    });
    ground
        .template("stars", &json!({ "template": job }))
        .await?;
    let containers: Value = (0..CONTAINERS)
        .map(|at| json!({ "name": format!("c{at}") }))
        .collect();
    let spec = json!({
        "runTemplateRef": { "name": "stars" }, "inputs": { "containers": containers },
    });
    ground.many(AT_ONCE, |_| spec.clone()).await
}

/// Opens connections that begin again some time after they are given up: 1,500 that were given up at once
/// would take all of this machine by themselves.
pub(super) fn heads(ground: &Ground<'_>, tasks: &mut JoinSet<Result<()>>) -> Result<()> {
    let address = ground
        .health
        .context("only a controller that is started here has a known port")?;
    for _ in 0..CONNECTIONS {
        tasks.spawn(async move {
            loop {
                // A failure does not matter.
                let _ = timeout(Duration::from_secs(30), head(address)).await;
                sleep(PAUSE).await;
            }
        });
    }
    Ok(())
}

async fn head(address: SocketAddr) -> Result<()> {
    let mut connection = TcpStream::connect(address).await?;
    connection
        .write_all(b"GET /metrics HTTP/1.1\r\nX: ")
        .await?;
    connection.write_all(&vec![b'a'; HEAD]).await?;
    while connection.read(&mut [0; 64]).await? > 0 {}
    Ok(())
}

/// Makes Runnables that ask for approval at each change, and changes them all the time.
pub(super) async fn events(ground: &Ground<'_>, tasks: &mut JoinSet<Result<()>>) -> Result<()> {
    let spec = json!({
        "runTemplateRef": { "name": "bench" }, "approval": "Manual",
        "inputs": { "change": 1, "repository": "r", "source": {} },
    });
    ground.many(WAITING, |_| spec.clone()).await?;
    let (client, path) = (ground.client.clone(), ground.runnables());
    tasks.spawn(async move {
        let mut ticks = interval(FIFTIETH);
        for change in 2_u64.. {
            ticks.tick().await;
            let runnable = name(usize::try_from(change)? % WAITING);
            let body = json!({ "spec": { "inputs": { "change": change } } });
            let path = format!("{path}/{runnable}");
            crate::api::send::<serde::de::IgnoredAny>(&client, "PATCH", &path, &body).await?;
        }
        Ok(())
    });
    Ok(())
}
