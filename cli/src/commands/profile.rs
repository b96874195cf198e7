//! `cartouche profile`: the `ClusterRunProfile` that runs are made with, and its refresh.

mod refresh;
mod which;

use clap::Subcommand;
pub(crate) use which::unmatched;

use crate::{cluster::Cluster, outcome::Outcome};

#[derive(Debug, Subcommand)]
pub(crate) enum ProfileCommand {
    Which(which::WhichArgs),
    Refresh(refresh::RefreshArgs),
}

pub(crate) async fn execute(command: &ProfileCommand) -> anyhow::Result<Outcome> {
    match command {
        ProfileCommand::Which(args) => {
            which::execute(args, &Cluster::connect(&args.cluster).await?).await
        }
        ProfileCommand::Refresh(args) => {
            refresh::execute(args, &Cluster::connect(&args.cluster).await?).await
        }
    }
}
