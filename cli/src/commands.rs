//! The commands, a file each; this one runs those that need a cluster.

pub(crate) mod approve;
pub(crate) mod cancel;
pub(crate) mod diff;
pub(crate) mod explain;
pub(crate) mod get;
pub(crate) mod graph;
pub(crate) mod history;
pub(crate) mod init;
pub(crate) mod logs;
pub(crate) mod manual;
pub(crate) mod many;
pub(crate) mod migrate;
pub(crate) mod outputs;
pub(crate) mod profile;
pub(crate) mod rbac;
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
    cluster::{self, Cluster},
    outcome::Outcome,
};

#[derive(Debug, Subcommand)]
pub(crate) enum LiveCommand {
    Explain(explain::ExplainArgs),
    Get(get::GetArgs),
    Why(why::WhyArgs),
    History(history::HistoryArgs),
    Tree(tree::TreeArgs),
    Graph(graph::GraphArgs),
    Outputs(outputs::OutputsArgs),
    Wait(wait::WaitArgs),
    Diff(diff::DiffArgs),
    Approve(approve::ApproveArgs),
    Rerun(rerun::RerunArgs),
    /// Show or refresh the profile of a Runnable
    #[command(subcommand)]
    Profile(profile::ProfileCommand),
    Suspend(suspend::SuspendArgs),
    Resume(suspend::ResumeArgs),
    Cancel(cancel::CancelArgs),
    Logs(logs::LogsArgs),
    Rbac(rbac::RbacArgs),
    /// Migrate from Cartographer
    #[command(subcommand)]
    Migrate(migrate::MigrateCommand),
}

impl LiveCommand {
    /// Moves files into the argument that the command reads, whether they are positional or given by `--file`.
    pub(crate) fn take_files(&mut self) {
        match self {
            Self::Explain(args) => args.take_files(),
            Self::Graph(args) => args.files.take_one(&mut args.name),
            Self::Diff(args) => args.files.take_one(&mut args.name),
            Self::Rbac(args) => args.files.take_from(&mut args.templates),
            Self::Migrate(migrate::MigrateCommand::Check(args)) => {
                args.files.move_to(&mut args.paths);
            }
            _ => {}
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
    if let LiveCommand::Rbac(args) = command
        && args.is_offline()
    {
        return rbac::from_files(args);
    }
    if let LiveCommand::Graph(args) = command
        && !args.files.is_empty()
    {
        return graph::from_files(args);
    }
    let to = Cluster::connect;
    cluster::block_on(async {
        match command {
            LiveCommand::Explain(args) => explain::execute(args, &to(&args.cluster).await?).await,
            LiveCommand::Suspend(args) => suspend::suspend(args, &to(&args.cluster).await?).await,
            LiveCommand::Resume(args) => suspend::resume(args, &to(&args.cluster).await?).await,
            LiveCommand::Cancel(args) => cancel::execute(args, &to(&args.cluster).await?).await,
            LiveCommand::Get(args) => get::execute(args, &to(&args.cluster).await?).await,
            LiveCommand::Why(args) => Box::pin(why::execute(args, &to(&args.cluster).await?)).await,
            LiveCommand::History(args) => history::execute(args, &to(&args.cluster).await?).await,
            LiveCommand::Tree(args) => tree::execute(args, &to(&args.cluster).await?).await,
            LiveCommand::Graph(args) => graph::execute(args, &to(&args.cluster).await?).await,
            LiveCommand::Outputs(args) => outputs::execute(args, &to(&args.cluster).await?).await,
            LiveCommand::Wait(args) => wait::execute(args, &to(&args.cluster).await?).await,
            LiveCommand::Diff(args) => {
                Box::pin(diff::execute(args, &to(&args.cluster).await?)).await
            }
            LiveCommand::Approve(args) => {
                Box::pin(approve::execute(args, &to(&args.cluster).await?)).await
            }
            LiveCommand::Profile(command) => Box::pin(profile::execute(command)).await,
            LiveCommand::Rerun(args) => rerun::execute(args, &to(&args.cluster).await?).await,
            LiveCommand::Logs(args) => logs::execute(args, &to(&args.cluster).await?).await,
            LiveCommand::Rbac(args) => rbac::execute(args, &to(&args.cluster()).await?).await,
            LiveCommand::Migrate(migrate::MigrateCommand::Check(args)) => {
                migrate::check_cluster(args, &to(&args.cluster).await?).await
            }
        }
    })
}
