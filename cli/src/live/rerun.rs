//! `cartouche rerun`.

use cartouche_crds::{RERUN_TOKEN_ANNOTATION, Runnable};
use clap::Args;
use k8s_openapi::jiff::Timestamp;
use kube::{
    Api, ResourceExt as _,
    api::{Patch, PatchParams},
};
use serde_json::json;

use super::cluster::{Cluster, ClusterArgs, within};
use crate::outcome::Outcome;

/// Run again without a change
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  cartouche rerun hello
  cartouche rerun hello --token incident-4711

It sets the annotation carto.run/rerun-token. Every value asks for one run, however often it is set: with a
token of your own the command can be repeated safely. The run carries the token in the same annotation.")]
pub(crate) struct RerunArgs {
    /// The Runnable
    name: String,
    /// The request; the present time if it is not given
    #[arg(long)]
    token: Option<String>,
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
}

pub(super) async fn execute(args: &RerunArgs, cluster: &Cluster) -> anyhow::Result<Outcome> {
    let runnable = cluster.runnable(&args.name).await?;
    let token = args
        .token
        .clone()
        .unwrap_or_else(|| Timestamp::now().to_string());
    let present = runnable.annotations().get(RERUN_TOKEN_ANNOTATION);
    if present == Some(&token) {
        return Ok(Outcome::good(format!(
            "{} was asked for this run already: {token}\n",
            args.name
        )));
    }
    let api: Api<Runnable> = cluster.api();
    let patch =
        Patch::Merge(json!({ "metadata": { "annotations": { RERUN_TOKEN_ANNOTATION: token } } }));
    let parameters = PatchParams::apply("cartouche-cli");
    let what = format!("setting the annotation of Runnable {}", args.name);
    within(&what, api.patch(&args.name, &parameters, &patch)).await?;
    Ok(Outcome::good(format!(
        "{} is to run again: {token}\n",
        args.name
    )))
}
