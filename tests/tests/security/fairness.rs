//! A tenant with much to do delays no other tenant.

use std::time::Duration;

use anyhow::{Result, ensure};
use cartouche_tests::{
    cluster::{Cluster, Seen},
    controller::{Controller, Settings},
    fault_proxy::{Call, FaultProxy},
    fixture::Fixture,
    kind::{CONFIG_MAP, RUNNABLE},
};
use serde_json::json;

use crate::ground::{self, DEMO, echoing, is_ready, says};

/// Runnables of each of the tenants that have much to do.
const MANY: usize = 200;

/// Makes a namespace with this many Runnables.
async fn tenant(cluster: &Cluster, prefix: &str, runnables: usize) -> Result<Fixture> {
    let tenant = echoing(cluster, prefix).await?;
    for index in 0..runnables {
        tenant.runnable(&format!("r{index}"), says("x")).await?;
    }
    Ok(tenant)
}

/// The last of three namespaces has one Runnable. The audit log must show its run among the first of all, not
/// after all others. The order proves it, not the time.
#[tokio::test]
async fn a_tenant_with_hundreds_of_runnables_does_not_delay_another() -> Result<()> {
    let cluster = ground::cluster().await?;
    // The API server lists by name: without fairness the last would wait for all others.
    let floods = [
        tenant(&cluster, "a-flood", MANY).await?,
        tenant(&cluster, "b-flood", MANY).await?,
    ];
    let last = tenant(&cluster, "z-last", 1).await?;

    let audit = cluster.audit()?;
    let settings = Settings::with_arguments(&["--concurrency", "8"]);
    let controller = Controller::start(DEMO, &cluster, &settings).await?;
    for (tenant, count) in [(&last, 1), (&floods[0], MANY), (&floods[1], MANY)] {
        let what = format!("{count} Runnables of {} to be ready", tenant.namespace);
        tenant.all_observed(count, &what, is_ready).await?;
    }
    assert!(controller.runs()?);

    let mut creates = audit.events()?;
    // The runs without the config map that Kubernetes itself puts into each new namespace, at times after the
    // first Runnable exists.
    creates.retain(|event| {
        let mut tenants = floods.iter().chain([&last]);
        event.verb == "create"
            && event.resource() == "configmaps"
            && event.took_effect()
            && tenants.any(|it| it.account.user() == event.acting_as())
    });
    assert_eq!(creates.len(), 2 * MANY + 1, "each run is made, and once");
    let turn = creates
        .iter()
        .position(|it| it.namespace() == last.namespace);
    let turn = turn.unwrap_or(usize::MAX);
    ensure!(turn < MANY / 2, "{turn} runs of others came before it");
    Ok(())
}

/// The creates of a tenant are never answered, for example because of a webhook of its own: all its
/// reconciles hang. Another gets its runs meanwhile, of a new Runnable and of every change of it.
#[tokio::test]
async fn a_tenant_whose_requests_hang_does_not_delay_another() -> Result<()> {
    let cluster = ground::cluster().await?;
    let flood = tenant(&cluster, "a-flood", MANY).await?;
    let last = echoing(&cluster, "z-last").await?;
    let proxy = hangs_creates_of(&flood).await?;
    let settings = proxy.settings(&cluster, &["--concurrency", "8"]).await?;
    let controller = Controller::start(DEMO, &cluster, &settings).await?;
    let given_up = || -> Result<usize> {
        let log = controller.log()?;
        let told = log.lines().filter(|line| line.contains("has a problem"));
        Ok(told.filter(|line| line.contains(&flood.namespace)).count())
    };
    last.runnable("r", says("0")).await?;
    // A slow machine may need longer for a run than a create hangs, which is ten seconds.
    let mut at_once = false;
    for say in 1..=8 {
        // The share of a namespace while others have work, too.
        let wanted = proxy.held().max(5) + usize::from(say > 1);
        last.eventually("more looks to hang", || async {
            Ok(match proxy.held() {
                held if held >= wanted => Seen::Done(()),
                held => Seen::NotYet(format!("{held} do")),
            })
        })
        .await?;
        // All of them.
        tokio::time::sleep(Duration::from_secs(1)).await;
        let before = given_up()?;
        say_again(&last, say).await?;
        at_once |= given_up()? == before;
        if at_once {
            break;
        }
    }
    ensure!(
        at_once,
        "the other was only served after looks of the tenant had ended"
    );
    // Nothing had gone through.
    let made = flood.list(CONFIG_MAP, "carto.run/runnable-name").await?;
    ensure!(made.is_empty(), "the creates of the tenant were not held");
    assert!(controller.runs()?);
    Ok(())
}

/// Makes a proxy that answers no create of a config map in this namespace.
async fn hangs_creates_of(tenant: &Fixture) -> Result<FaultProxy> {
    let namespace = &tenant.namespace;
    let (proxy, _) = FaultProxy::start(&tenant.cluster, namespace).await?;
    let create = Call::new("create", "configmaps");
    let inside = format!("\"namespace\":\"{namespace}\"");
    proxy.hold(Box::new(move |call: &Call, body: &[u8]| {
        *call == create && String::from_utf8_lossy(body).contains(&inside)
    }));
    Ok(proxy)
}

/// Changes the one Runnable of a namespace, and waits for the output of its run.
async fn say_again(tenant: &Fixture, say: usize) -> Result<()> {
    let say = say.to_string();
    tenant.change("r", json!({ "say": say })).await?;
    let what = format!("to say {say} while all of the other tenant hangs");
    let said = |it: &serde_json::Value| it["status"]["outputs"]["said"] == say.as_str();
    tenant.observed(RUNNABLE, "r", &what, said).await.map(drop)
}
