//! A file for each command; here, how those that need a cluster are run.

pub(crate) mod cancel;
pub(crate) mod diff;
pub(crate) mod explain;
pub(crate) mod get;
pub(crate) mod history;
pub(crate) mod logs;
pub(crate) mod manual;
pub(crate) mod migrate;
pub(crate) mod outputs;
pub(crate) mod render;
pub(crate) mod rerun;
pub(crate) mod suspend;
pub(crate) mod test;
pub(crate) mod tree;
pub(crate) mod validate;
pub(crate) mod wait;
pub(crate) mod why;

use clap::Subcommand;

use crate::{
    cluster::{self, Cluster, ClusterArgs},
    outcome::Outcome,
};

#[derive(Debug, Subcommand)]
pub(crate) enum LiveCommand {
    Explain(explain::ExplainArgs),
    Get(get::GetArgs),
    Why(why::WhyArgs),
    History(history::HistoryArgs),
    Tree(tree::TreeArgs),
    Outputs(outputs::OutputsArgs),
    Wait(wait::WaitArgs),
    Diff(diff::DiffArgs),
    Rerun(rerun::RerunArgs),
    Suspend(suspend::SuspendArgs),
    Resume(suspend::ResumeArgs),
    Cancel(cancel::CancelArgs),
    Logs(logs::LogsArgs),
    /// Help with moving from Cartographer
    #[command(subcommand)]
    Migrate(migrate::MigrateCommand),
}

impl LiveCommand {
    fn cluster(&self) -> &ClusterArgs {
        match self {
            Self::Explain(args) => &args.cluster,
            Self::Suspend(args) => &args.cluster,
            Self::Resume(args) => &args.cluster,
            Self::Cancel(args) => &args.cluster,
            Self::Get(args) => &args.cluster,
            Self::Why(args) => &args.cluster,
            Self::History(args) => &args.cluster,
            Self::Tree(args) => &args.cluster,
            Self::Outputs(args) => &args.cluster,
            Self::Wait(args) => &args.cluster,
            Self::Diff(args) => &args.cluster,
            Self::Rerun(args) => &args.cluster,
            Self::Logs(args) => &args.cluster,
            Self::Migrate(migrate::MigrateCommand::Check(args)) => &args.cluster,
        }
    }
}

pub(crate) fn execute(command: &LiveCommand) -> anyhow::Result<Outcome> {
    if let LiveCommand::Migrate(migrate::MigrateCommand::Check(args)) = command
        && !args.paths.is_empty()
    {
        return migrate::check_files(args);
    }
    if let LiveCommand::Explain(args) = command
        && !args.files.is_empty()
    {
        return explain::from_files(args);
    }
    cluster::block_on(async {
        let cluster = Cluster::connect(command.cluster()).await?;
        match command {
            LiveCommand::Explain(args) => explain::execute(args, &cluster).await,
            LiveCommand::Suspend(args) => suspend::suspend(args, &cluster).await,
            LiveCommand::Resume(args) => suspend::resume(args, &cluster).await,
            LiveCommand::Cancel(args) => cancel::execute(args, &cluster).await,
            LiveCommand::Get(args) => get::execute(args, &cluster).await,
            LiveCommand::Why(args) => why::execute(args, &cluster).await,
            LiveCommand::History(args) => history::execute(args, &cluster).await,
            LiveCommand::Tree(args) => tree::execute(args, &cluster).await,
            LiveCommand::Outputs(args) => outputs::execute(args, &cluster).await,
            LiveCommand::Wait(args) => wait::execute(args, &cluster).await,
            LiveCommand::Diff(args) => diff::execute(args, &cluster).await,
            LiveCommand::Rerun(args) => rerun::execute(args, &cluster).await,
            LiveCommand::Logs(args) => logs::execute(args, &cluster).await,
            LiveCommand::Migrate(migrate::MigrateCommand::Check(args)) => {
                migrate::check_cluster(args, &cluster).await
            }
        }
    })
}
