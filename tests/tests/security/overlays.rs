//! Leftovers of an install after an overlay is applied over it that grants less.

use std::fs;

use anyhow::{Context as _, Result, ensure};
use cartouche_tests::{
    cluster::{Cluster, Seen},
    repository,
};
use kube::api::ApiResource;

use crate::ground::{self, SOON};

const CONTROLLER: &str = "system:serviceaccount:cartouche-system:cartouche-controller";
/// Namespace in which the overlays let the controller act.
const SERVED: &str = "cartouche-examples";

fn resource(plural: &str) -> ApiResource {
    ApiResource {
        group: String::new(),
        version: "v1".to_owned(),
        api_version: "v1".to_owned(),
        kind: "ServiceAccount".to_owned(),
        plural: plural.to_owned(),
    }
}

/// Waits until the controller has this right there, or does not have it.
async fn may(
    cluster: &Cluster,
    (verb, plural): (&str, &str),
    namespace: &str,
    wanted: bool,
) -> Result<()> {
    let what = format!("may {verb} {plural} in {namespace}: {wanted}");
    let resource = resource(plural);
    cluster
        .eventually(&what, SOON, || async {
            let may = cluster.may(CONTROLLER, verb, &resource, namespace).await?;
            Ok(if may == wanted {
                Seen::Done(())
            } else {
                Seen::NotYet(format!("{may}"))
            })
        })
        .await
}

/// Runs the command of docs/concepts/security.md that follows these words.
async fn deletes(cluster: &Cluster, words: &str) -> Result<()> {
    let page = fs::read_to_string(repository().join("docs/concepts/security.md"))?;
    let start = format!("{words}`kubectl ");
    let command = page.split_once(&start);
    let command = command.and_then(|(_, rest)| rest.split_once('`'));
    let (command, _) = command.with_context(|| format!("no command after {words:?}"))?;
    ensure!(command.starts_with("delete "), "{command}");
    let arguments: Vec<&str> = command.split_whitespace().collect();
    cluster.kubectl(&arguments).await.map(drop)
}

/// Applies the overlay over the install. Until the objects that it leaves out are deleted, the controller may
/// do as much as before.
async fn narrow(cluster: &Cluster, overlay: &str) -> Result<()> {
    let config = repository().join("config");
    cluster.apply_kustomization(&config.join("default")).await?;
    let folder = config.join("overlays").join(overlay);
    cluster.apply_kustomization(&folder).await?;
    may(cluster, IMPERSONATE, "kube-system", true).await?;
    deletes(cluster, &format!("| `{overlay}` | ")).await?;
    may(cluster, IMPERSONATE, "kube-system", false).await
}

const IMPERSONATE: (&str, &str) = ("impersonate", "serviceaccounts");

#[tokio::test]
async fn an_overlay_over_an_install_grants_no_more_once_what_it_leaves_out_is_deleted() -> Result<()>
{
    let cluster = ground::cluster().await?;
    cluster.kubectl(&["create", "namespace", SERVED]).await?;
    for overlay in ["one-namespace", "named-namespaces"] {
        narrow(&cluster, overlay).await?;
        may(&cluster, IMPERSONATE, SERVED, true).await?;
        // Its reference cannot be changed, and the next overlay needs another one.
        let binding = "rolebinding/cartouche-controller-impersonation";
        let delete = ["-n", SERVED, "delete", binding];
        cluster.kubectl(&delete).await?;
    }
    narrow(&cluster, "tokens").await?;
    let tokens = ("create", "serviceaccounts/token");
    may(&cluster, tokens, "kube-system", true).await?;
    narrow(&cluster, "named-namespaces").await?;
    deletes(&cluster, "delete what that one added, too: ").await?;
    may(&cluster, tokens, "kube-system", false).await
}
