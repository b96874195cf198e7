//! `cartouche why`: the cause of the last run, what the Runnable waits for, and what to do.

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
    format::OutputFormat,
    outcome::Outcome,
};
use explanation::WhyReport;

/// Show why a Runnable runs or waits, and what to do
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
    /// Name of the Runnable
    name: String,
    /// Format of the output
    #[arg(short, long, value_enum, default_value_t)]
    output: OutputFormat,
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
}

pub(crate) async fn execute(args: &WhyArgs, cluster: &Cluster) -> anyhow::Result<Outcome> {
    let runnable = cluster.runnable(&args.name).await?;
    let explanation = Box::pin(WhyReport::fetch(&runnable, cluster)).await?;
    Ok(Outcome::good(args.output.write(&explanation, text::text)?))
}
