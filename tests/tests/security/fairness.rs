//! A tenant with much to do keeps nobody waiting.

use std::time::Duration;

use anyhow::{Result, ensure};
use cartouche_tests::{
    cluster::{Cluster, Seen},
    controller::{Controller, Settings},
    fault_proxy::{Call, FaultProxy},
};
use serde_json::{Value, json};

use crate::ground::{self, DEMO, SOON, apply, echo, runnable};

/// Runnables of each of the tenants that have much to do.
const MANY: usize = 200;

/// What the audit log must show when the last of three namespaces has one Runnable: its run is made
/// among the first of all, not after all others. Order tells, not time.
#[tokio::test]
async fn a_tenant_with_hundreds_of_runnables_does_not_delay_another() -> Result<()> {
    let cluster = ground::cluster().await?;
    // The API server lists by name: without fairness the last would wait for all others.
    let floods = [
        ground::namespace(&cluster, "a-flood").await?,
        ground::namespace(&cluster, "b-flood").await?,
    ];
    let last = ground::namespace(&cluster, "z-last").await?;
    apply(&cluster, &[echo()]).await?;
    let runnables = |namespace: &str, count: usize| -> Vec<_> {
        (0..count)
            .map(|index| {
                runnable(
                    namespace,
                    &format!("r{index}"),
                    "echo",
                    &json!({ "say": "x" }),
                )
            })
            .collect()
    };
    for flood in &floods {
        apply(&cluster, &runnables(flood, MANY)).await?;
    }
    apply(&cluster, &runnables(&last, 1)).await?;

    let audit = cluster.audit()?;
    let settings = Settings::with_arguments(&["--concurrency", "8"]);
    let controller = Controller::start(DEMO, &cluster, &settings).await?;
    for (namespace, count) in [(&last, 1), (&floods[0], MANY), (&floods[1], MANY)] {
        made(&cluster, namespace, count).await?;
    }
    assert!(controller.runs()?);

    let creates: Vec<_> = audit
        .events()?
        .into_iter()
        .filter(|event| {
            event.verb == "create" && event.resource() == "configmaps" && event.took_effect()
        })
        .filter(|event| {
            floods
                .iter()
                .chain([&last])
                .any(|it| it == event.namespace())
        })
        .collect();
    assert_eq!(creates.len(), 2 * MANY + 1, "each run is made, and once");
    let turn = creates.iter().position(|event| event.namespace() == last);
    let turn = turn.unwrap_or(usize::MAX);
    ensure!(turn < MANY / 2, "{turn} runs of others came before it");
    Ok(())
}

/// A tenant whose creates are never answered, because of a webhook of its own perhaps: all its looks
/// hang. Another gets its runs meanwhile, of a new Runnable and of every change of it.
#[tokio::test]
async fn a_tenant_whose_requests_hang_does_not_delay_another() -> Result<()> {
    let cluster = ground::cluster().await?;
    let flood = ground::namespace(&cluster, "a-flood").await?;
    let last = ground::namespace(&cluster, "z-last").await?;
    apply(&cluster, &[echo()]).await?;
    let many: Vec<_> = (0..MANY)
        .map(|index| runnable(&flood, &format!("r{index}"), "echo", &json!({ "say": "x" })))
        .collect();
    apply(&cluster, &many).await?;

    let (proxy, _) = FaultProxy::start(&cluster, &flood).await?;
    let (create, inside) = (
        Call::new("create", "configmaps"),
        format!("\"namespace\":\"{flood}\""),
    );
    proxy.hold(Box::new(move |call: &Call, body: &[u8]| {
        *call == create && String::from_utf8_lossy(body).contains(&inside)
    }));
    let account = Controller::account();
    let token = cluster.token(&account).await?;
    let settings = Settings {
        kubeconfig: Some(proxy.kubeconfig(&account.name, &token)?),
        ..Settings::with_arguments(&["--concurrency", "8"])
    };
    let controller = Controller::start(DEMO, &cluster, &settings).await?;
    let given_up = || -> Result<usize> {
        let log = controller.log()?;
        let told = log.lines().filter(|line| line.contains("has a problem"));
        Ok(told.filter(|line| line.contains(&flood)).count())
    };
    apply(
        &cluster,
        &[runnable(&last, "r", "echo", &json!({ "say": "0" }))],
    )
    .await?;
    // A slow machine may need longer for a run than a create hangs, which is ten seconds.
    let mut at_once = false;
    for say in 1..=8 {
        let before = proxy.held();
        cluster
            .eventually("more looks to hang", SOON, || async {
                // As many as a namespace gets while others have work, too.
                Ok(if proxy.held() >= before.max(5) + usize::from(say > 1) {
                    Seen::Done(())
                } else {
                    Seen::NotYet(format!("{} do", proxy.held()))
                })
            })
            .await?;
        // All of them.
        tokio::time::sleep(Duration::from_secs(1)).await;
        let before = given_up()?;
        say_again(&cluster, &last, say).await?;
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
    let made = ground::all(&cluster, &flood, "configmaps").await?;
    let made = made
        .iter()
        .filter(|it| it["metadata"]["labels"].is_object());
    ensure!(made.count() == 0, "the creates of the tenant were not held");
    assert!(controller.runs()?);
    Ok(())
}

/// Changes the one Runnable of a namespace, and waits for the output of its run.
async fn say_again(cluster: &Cluster, namespace: &str, say: usize) -> Result<()> {
    let say = say.to_string();
    let inputs = json!({ "spec": { "inputs": { "say": say } } }).to_string();
    let change = [
        "-n",
        namespace,
        "patch",
        "runnable",
        "r",
        "--type=merge",
        "-p",
    ];
    let change: Vec<&str> = change.into_iter().chain([inputs.as_str()]).collect();
    cluster.kubectl(&change).await?;
    let what = format!("the other to say {say} while all of the tenant hangs");
    cluster
        .eventually(&what, SOON, || async {
            let found = ground::all(cluster, namespace, "runnables").await?;
            let said = |it: &Value| it["status"]["outputs"]["said"] == say.as_str();
            Ok(if found.iter().all(said) {
                Seen::Done(())
            } else {
                Seen::NotYet(json!(found).to_string())
            })
        })
        .await
}

/// Waits until so many Runnables have their run.
async fn made(cluster: &Cluster, namespace: &str, count: usize) -> Result<()> {
    let what = format!("{count} Runnables of {namespace} to be ready");
    cluster
        .eventually(&what, SOON, || async {
            let runnables = ground::all(cluster, namespace, "runnables").await?;
            let ready = runnables
                .iter()
                .filter(|it| ground::condition(it, "Ready")["status"] == "True");
            let ready = ready.count();
            Ok(if ready == count {
                Seen::Done(())
            } else {
                Seen::NotYet(format!("{ready} are"))
            })
        })
        .await
}
