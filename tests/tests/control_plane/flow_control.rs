//! `config/flow-control`: the API server serves the controller's own requests at the level `workload-high`, and
//! requests as a ServiceAccount at the level of that account.

use anyhow::{Context, Result};
use cartouche_tests::{
    cluster::{Account, Cluster, Seen},
    controller::Controller,
    repository,
};
use http::{Request, StatusCode};
use kube::{Client, client::Body};

use crate::{DEMO, SOON};

/// Headers of each answer: the uids of the schema and of the level that its request got.
const CLASSES: [&str; 2] = [
    "x-kubernetes-pf-flowschema-uid",
    "x-kubernetes-pf-prioritylevel-uid",
];

/// Lists Runnables, as another user if one is given. Returns the code of the answer, and its [`CLASSES`].
async fn list(client: &Client, user: Option<&str>) -> Result<(StatusCode, Vec<String>)> {
    let mut request = Request::get("/apis/carto.run/v1alpha1/runnables?limit=1");
    if let Some(user) = user {
        request = request.header("Impersonate-User", user);
    }
    let answer = client.send(request.body(Body::empty())?).await?;
    let mut classes = Vec::new();
    for name in CLASSES {
        let value = answer.headers().get(name);
        let value = value.with_context(|| format!("{}: no {name}", answer.status()))?;
        classes.push(value.to_str()?.to_owned());
    }
    Ok((answer.status(), classes))
}

/// Returns the uids of a schema and of a level.
async fn uids(cluster: &Cluster, schema: &str, level: &str) -> Result<Vec<String>> {
    let mut uids = Vec::new();
    for (kind, name) in [
        ("flowschema", schema),
        ("prioritylevelconfiguration", level),
    ] {
        let uid = "jsonpath={.metadata.uid}";
        let get = ["get", kind, name, "--output", uid];
        uids.push(cluster.kubectl(&get).await?);
    }
    Ok(uids)
}

/// Waits until a request gets this code and these classes: the API server learns of roles and schemas later.
async fn gets(
    cluster: &Cluster,
    client: &Client,
    user: Option<&str>,
    wanted: (StatusCode, Vec<String>),
) -> Result<()> {
    let what = format!("a request as {user:?} to get {wanted:?}");
    cluster
        .eventually(&what, SOON, || async {
            let answer = list(client, user).await?;
            Ok(if answer == wanted {
                Seen::Done(())
            } else {
                Seen::NotYet(format!("{answer:?}"))
            })
        })
        .await
}

#[tokio::test]
async fn only_requests_of_the_controller_itself_get_its_flow_schema() -> Result<()> {
    let cluster = Cluster::shared(DEMO).await?;
    cluster.install_cartouche().await?;
    let client = cluster.client_of(&Controller::account()).await?;
    let runner = Account::new(cluster.namespace("flows").await?, "default").user();
    let of_accounts = uids(&cluster, "service-accounts", "workload-low").await?;
    let before = (StatusCode::OK, of_accounts.clone());
    gets(&cluster, &client, None, before).await?;

    let folder = repository().join("config/flow-control");
    cluster.apply_kustomization(&folder).await?;
    let of_controller = uids(&cluster, "cartouche-controller", "workload-high").await?;
    gets(&cluster, &client, None, (StatusCode::OK, of_controller)).await?;
    // The account may not list Runnables, so the API server has taken the request for one of the account.
    let as_account = (StatusCode::FORBIDDEN, of_accounts);
    gets(&cluster, &client, Some(&runner), as_account).await?;
    // Other tests share the cluster.
    let folder = folder.display().to_string();
    cluster.kubectl(&["delete", "-k", &folder]).await?;
    Ok(())
}
