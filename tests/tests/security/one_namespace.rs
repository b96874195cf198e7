//! A controller that serves one namespace and has rights in no other.

use anyhow::{Result, ensure};
use cartouche_tests::{
    cluster::{Cluster, Rights, Seen},
    controller::{Controller, Settings},
    repository,
};
use serde_json::{Value, json};

use crate::ground::{self, DEMO, SOON, apply, condition, echo};

/// As in the overlay.
const NAMESPACE: &str = "cartouche-examples";

async fn says(cluster: &Cluster, name: &str, said: &str) -> Result<()> {
    cluster
        .eventually(&format!("{name} to say {said}"), SOON, || async {
            let runnables = ground::all(cluster, NAMESPACE, "runnables").await?;
            let runnable = runnables.iter().find(|it| it["metadata"]["name"] == name);
            let runnable = runnable.unwrap_or(&Value::Null);
            Ok(if runnable["status"]["outputs"]["said"] == said {
                Seen::Done(())
            } else {
                Seen::NotYet(condition(runnable, "Ready").to_string())
            })
        })
        .await
}

#[tokio::test]
async fn rights_in_one_namespace_are_enough_to_serve_it() -> Result<()> {
    let cluster = ground::cluster().await?;
    cluster.kubectl(&["create", "namespace", NAMESPACE]).await?;
    let overlay = repository().join("config/overlays/one-namespace");
    cluster.apply_kustomization(&overlay).await?;
    for binding in ["", "-kinds", "-impersonation"] {
        let name = format!("cartouche-controller{binding}");
        cluster
            .kubectl(&["delete", "clusterrolebinding", &name])
            .await?;
    }
    let account = cluster.service_account(NAMESPACE, "runner", &[]).await?;
    let audit = cluster.audit()?;
    let settings = Settings::with_arguments(&["--namespace", NAMESPACE]);
    let mut controller = Controller::start(DEMO, &cluster, &settings).await?;
    ensure!(controller.get("/readyz").await? == "ok\n");
    let one = ground::runnable(NAMESPACE, "one", "echo", &json!({ "say": "one" }));
    apply(&cluster, &[echo(), one]).await?;
    cluster
        .eventually("the run to be forbidden", SOON, || async {
            let all = ground::all(&cluster, NAMESPACE, "runnables").await?;
            let said = condition(&all[0], "Ready").to_string();
            Ok(if said.contains("is forbidden") {
                Seen::Done(())
            } else {
                Seen::NotYet(said)
            })
        })
        .await?;
    // A right that is granted here is noticed.
    let begin = std::time::Instant::now();
    let rights = [Rights::of_a_runnable("", "configmaps")];
    cluster.grant(&account, &rights).await?;
    says(&cluster, "one", "one").await?;
    ensure!(begin.elapsed().as_secs() < 20, "{:?}", begin.elapsed());
    // Nothing was refused to the controller, and nothing asked for elsewhere.
    let log = controller.log()?;
    ensure!(!log.contains("forbidden=true"), "{log}");
    let user = Controller::account().user();
    ensure!(audit.requests(&user, "list", "configmaps")? > 0);

    let only_templates = json!([{
        "apiGroups": ["carto.run"], "resources": ["clusterruntemplates"],
        "verbs": ["get", "list", "watch"],
    }]);
    let patch = json!({ "rules": only_templates }).to_string();
    let role = [
        "patch",
        "clusterrole",
        "cartouche-controller-cluster",
        "--type",
        "merge",
        "-p",
    ];
    cluster.kubectl(&[&role[..], &[&patch]].concat()).await?;
    controller.restart().await?;
    let lacking = [
        "clusterroles",
        "clusterrolebindings",
        "customresourcedefinitions",
    ];
    cluster
        .eventually("what is lacking to be said", SOON, || async {
            let said = controller.get("/readyz").await?;
            let all = lacking
                .iter()
                .all(|it| said.contains(&format!("without {it}: ")));
            Ok(if said.starts_with("ok\n") && all {
                Seen::Done(())
            } else {
                Seen::NotYet(said)
            })
        })
        .await?;
    let two = ground::runnable(NAMESPACE, "two", "echo", &json!({ "say": "two" }));
    apply(&cluster, &[two]).await?;
    says(&cluster, "two", "two").await
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
            Ok(
                if said.contains("waiting for serviceaccounts: ") && said.contains("forbidden") {
                    Seen::Done(())
                } else {
                    Seen::NotYet(said)
                },
            )
        })
        .await
}
