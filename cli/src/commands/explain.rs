//! `cartouche explain`.

use anyhow::{anyhow, bail};
use cartouche_authoring::{
    input_schema::explain::{ExplainFormat, Explanation, explain, explain_one},
    objects::Objects,
};
use clap::Args;

use crate::{
    cluster::{AccessDenied, Cluster, ClusterArgs, as_json},
    files::FileArgs,
    outcome::Outcome,
};

/// Show the inputs that a template takes
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  cartouche explain build
  cartouche explain build source.revision
  cartouche explain -f template.yaml
  cartouche explain build -o json | jq .properties

Prints spec.inputSchema of the ClusterRunTemplate as kubectl explain prints the fields of a kind. For a template
that declares no inputs, it lists those that its tags read.")]
pub(crate) struct ExplainArgs {
    /// Name of the ClusterRunTemplate, or a file with it; with -f only needed if the files hold several
    template: Option<String>,
    /// Show only this input: names joined by dots
    input: Option<String>,
    #[command(flatten)]
    pub(crate) files: FileArgs,
    /// Format of the output
    #[arg(short, long, value_enum, default_value_t)]
    output: ExplainFormat,
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
}

impl ExplainArgs {
    /// Moves files out of the positional arguments.
    pub(crate) fn take_files(&mut self) {
        self.files.take_one(&mut self.template);
        if self.template.is_none() {
            self.template = self.input.take();
        }
    }
}

/// Explains a template in files, without a cluster.
pub(crate) fn from_files(args: &ExplainArgs) -> anyhow::Result<Outcome> {
    let names = (args.template.as_deref(), args.input.as_deref());
    let objects = Objects::load_rest(&args.files.files)?;
    let explanation = objects.or_unreadable(explain_one(&objects, names, args.output))?;
    Ok(outcome(explanation).with_unreadable(&objects))
}

fn outcome(explanation: Explanation) -> Outcome {
    Outcome {
        err: explanation.warning.unwrap_or_default(),
        ..Outcome::good(explanation.text)
    }
}

pub(crate) async fn execute(args: &ExplainArgs, cluster: &Cluster) -> anyhow::Result<Outcome> {
    let Some(name) = &args.template else {
        bail!("which template?\nhint: name a ClusterRunTemplate, or a file with -f");
    };
    let read = cluster.template(name).await;
    let read = read.map_err(|error| match AccessDenied::find(&error) {
        None => error,
        Some(_) => anyhow!("{error:#}\nhint: `cartouche explain -f FILE` reads it from a file"),
    });
    let Some(template) = read? else {
        bail!(
            "there is no ClusterRunTemplate {name}\nhint: kubectl get clusterruntemplates lists them"
        );
    };
    explain(&as_json(&template)?, args.input.as_deref(), args.output).map(outcome)
}
