//! A controller that serves one namespace and has rights in no other.

use std::time::Instant;

use anyhow::{Result, ensure};
use cartouche_tests::{
    cluster::{Cluster, Seen},
    controller::{Controller, Settings},
    fixture::Fixture,
    kind::{CONFIG_MAP, RUNNABLE},
    repository,
};
use serde_json::{Value, json};

use crate::ground::{self, DEMO, SOON, condition, echo, says};

/// As in the overlay.
const NAMESPACE: &str = "cartouche-examples";

/// Makes the namespace, where the controller has the rights of the overlay and no others.
async fn overlaid(cluster: &Cluster) -> Result<Fixture> {
    cluster.kubectl(&["create", "namespace", NAMESPACE]).await?;
    let overlay = repository().join("config/overlays/one-namespace");
    cluster.apply_kustomization(&overlay).await?;
    for binding in ["", "-kinds", "-impersonation"] {
        let name = format!("cartouche-controller{binding}");
        let delete = ["delete", "clusterrolebinding", &name];
        cluster.kubectl(&delete).await?;
    }
    let mut served = Fixture::of(cluster, NAMESPACE, SOON);
    served.account = served.allow("runner", &[]).await?;
    served.template(echo()).await?;
    Ok(served)
}

async fn has_said(served: &Fixture, name: &str) -> Result<()> {
    let said = |it: &Value| it["status"]["outputs"]["said"] == name;
    let what = format!("to say {name}");
    served.observed(RUNNABLE, name, &what, said).await.map(drop)
}

/// Leaves the controller only the templates, of all cluster-scoped kinds.
async fn leave_only_templates(cluster: &Cluster) -> Result<()> {
    let patch = json!({ "rules": [{
        "apiGroups": ["carto.run"], "resources": ["clusterruntemplates", "clusterrunprofiles"],
        "verbs": ["get", "list", "watch"],
    }] });
    let role = ["patch", "clusterrole", "cartouche-controller-cluster"];
    let patch = ["--type", "merge", "-p", &patch.to_string()];
    cluster.kubectl(&[&role[..], &patch].concat()).await?;
    Ok(())
}

#[tokio::test]
async fn rights_in_one_namespace_are_enough_to_serve_it() -> Result<()> {
    let cluster = ground::cluster().await?;
    let served = overlaid(&cluster).await?;
    let audit = cluster.audit()?;
    let mut controller = served.start_controller_with(DEMO, &[]).await?;
    ensure!(controller.get("/readyz").await? == "ok\n");
    served.runnable("one", says("one")).await?;
    let forbidden = |it: &Value| {
        let said = condition(it, "Ready").to_string();
        said.contains("is forbidden")
    };
    served
        .observed(RUNNABLE, "one", "a refusal", forbidden)
        .await?;
    // A right that is granted here is noticed.
    let begin = Instant::now();
    let rights = [CONFIG_MAP.rights_of_a_runnable()];
    served.allow("runner", &rights).await?;
    has_said(&served, "one").await?;
    ensure!(begin.elapsed().as_secs() < 20, "{:?}", begin.elapsed());
    // Nothing was refused to the controller, and it requested nothing elsewhere.
    let log = controller.log()?;
    ensure!(!log.contains("forbidden=true"), "{log}");
    let user = Controller::account().user();
    ensure!(audit.requests(&user, "list", "configmaps")? > 0);

    leave_only_templates(&cluster).await?;
    controller.restart().await?;
    let lacking = [
        "clusterroles",
        "clusterrolebindings",
        "customresourcedefinitions",
    ];
    served
        .eventually("what is lacking to be said", || async {
            let said = controller.get("/readyz").await?;
            let lacks = |it: &&str| said.contains(&format!("without {it}: "));
            Ok(if said.starts_with("ok\n") && lacking.iter().all(lacks) {
                Seen::Done(())
            } else {
                Seen::NotYet(said)
            })
        })
        .await?;
    served.runnable("two", says("two")).await?;
    has_said(&served, "two").await
}

#[tokio::test]
async fn a_controller_that_may_not_see_accounts_says_so() -> Result<()> {
    let cluster = ground::cluster().await?;
    cluster.kubectl(&["create", "namespace", NAMESPACE]).await?;
    cluster
        .kubectl(&["delete", "clusterrolebinding", "cartouche-controller"])
        .await?;
    let settings = Settings::with_arguments(&["--namespace", NAMESPACE]);
    let controller = Controller::start_without_waiting(DEMO, &cluster, &settings).await?;
    cluster
        .eventually("the reason to be said", SOON, || async {
            let said = format!("{:#}", controller.get("/readyz").await.unwrap_err());
            // Strangers read it: only the log has the account without the right.
            ensure!(!said.contains("system:serviceaccount"), "{said}");
            Ok(
                if said.contains("waiting for serviceaccounts: ") && said.contains("403 Forbidden")
                {
                    Seen::Done(())
                } else {
                    Seen::NotYet(said)
                },
            )
        })
        .await
}
