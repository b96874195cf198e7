//! `cartouche why`: what made the last run, who is waited for, and what to do.

mod explained_run;
mod explanation;
mod log;
mod look;
mod origin;
mod retry;
mod text;
mod unseen;
mod writers;

use clap::Args;

use crate::{
    cluster::{Cluster, ClusterArgs},
    format::Format,
    outcome::Outcome,
};
use explanation::Explanation;

/// Say why a Runnable is as it is: what made its last run, what it waits for, what to do
#[derive(Args, Debug)]
#[command(
    visible_alias = "describe",
    after_help = "\
Examples:
  cartouche why hello
  cartouche describe hello --namespace demo
  cartouche why hello -o json | jq -r .toDo"
)]
pub(crate) struct WhyArgs {
    /// The Runnable
    name: String,
    /// Format
    #[arg(short, long, value_enum, default_value_t)]
    output: Format,
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
}

pub(crate) async fn execute(args: &WhyArgs, cluster: &Cluster) -> anyhow::Result<Outcome> {
    let runnable = cluster.runnable(&args.name).await?;
    let explanation = Box::pin(Explanation::of(&runnable, cluster)).await?;
    Ok(Outcome::good(args.output.write(&explanation, text::text)?))
}
