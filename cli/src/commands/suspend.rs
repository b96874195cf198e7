//! `cartouche suspend` and `cartouche resume`.

use std::fmt::Write as _;

use cartouche_crds::Runnable;
use clap::Args;
use kube::{
    Api,
    api::{Patch, PatchParams},
};
use serde_json::{Value, json};

use crate::cluster::{CLIENT, Cluster, ClusterArgs, within};
use crate::outcome::Outcome;

/// Hold new runs of Runnables back
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  cartouche suspend shop-build
  cartouche suspend shop-build shop-test --namespace demo

It sets spec.suspend. The run at work goes on, and its outputs still come; `cartouche cancel` stops it.
What changes meanwhile runs when the Runnable is resumed. Where manifests are kept in Git, set spec.suspend
there: a GitOps tool may take this change back.")]
pub(crate) struct SuspendArgs {
    /// The Runnables
    #[arg(required = true)]
    names: Vec<String>,
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
}

/// Let Runnables make new runs again
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  cartouche resume shop-build

It takes spec.suspend away. If anything has changed since the last run, or a re-run was asked for, a run is
made at once.")]
pub(crate) struct ResumeArgs {
    /// The Runnables
    #[arg(required = true)]
    names: Vec<String>,
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
}

pub(crate) async fn suspend(args: &SuspendArgs, cluster: &Cluster) -> anyhow::Result<Outcome> {
    set(&args.names, true, cluster).await
}

pub(crate) async fn resume(args: &ResumeArgs, cluster: &Cluster) -> anyhow::Result<Outcome> {
    set(&args.names, false, cluster).await
}

async fn set(names: &[String], suspend: bool, cluster: &Cluster) -> anyhow::Result<Outcome> {
    let api: Api<Runnable> = cluster.api();
    // Not set is what a manifest that never spoke of it has.
    let value = if suspend { json!(true) } else { Value::Null };
    let patch = Patch::Merge(json!({ "spec": { "suspend": value } }));
    let (done, state) = if suspend {
        ("is suspended", "was suspended already")
    } else {
        ("is resumed", "was not suspended")
    };
    let mut out = String::new();
    for name in names {
        let runnable = cluster.runnable(name).await?;
        if runnable.spec.suspend.unwrap_or_default() == suspend {
            let _ = writeln!(out, "{name} {state}");
            continue;
        }
        let what = format!("setting spec.suspend of Runnable {name}");
        let parameters = PatchParams::apply(CLIENT);
        within(&what, api.patch(name, &parameters, &patch)).await?;
        let _ = writeln!(out, "{name} {done}");
    }
    Ok(Outcome::good(out))
}
