//! `cartouche logs`.

mod begun;
mod follow;
mod pods;

use std::{collections::BTreeSet, fmt::Write as _};

use anyhow::bail;
use cartouche_authoring::foreign::{in_lines, in_one_line};
use cartouche_language::suggestion;
use cartouche_protocol::status::RunState;
use clap::Args;
use k8s_openapi::api::core::v1::{ContainerState, ContainerStateTerminated, ContainerStatus, Pod};
use kube::{Api, ResourceExt as _, api::LogParams};

use crate::outcome::{FOUND, Outcome};
use crate::{
    cluster::{Cluster, ClusterArgs, within},
    live::{
        events,
        pod_waiting::{PodWaiting, pod_waiting},
        runs::{self, LedgerRun},
    },
};

pub(crate) use pods::pods;

/// Print the logs of a run's pods
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  cartouche logs hello
  cartouche logs hello --follow
  cartouche logs hello --run 3 --tail 100

For Jobs, Pods, Tekton TaskRuns and PipelineRuns, and Argo Workflows. If a pod prints nothing yet, standard error says
what it waits for; with --follow, again whenever the reason changes. --follow also waits for a run that is not made
yet.")]
pub(crate) struct LogsArgs {
    /// Name of the Runnable
    name: String,
    /// Number of the run; by default the current one
    #[arg(long, value_name = "SEQUENCE")]
    run: Option<i64>,
    /// Follow the logs until the run ends, also as its pods come and go
    #[arg(short, long)]
    follow: bool,
    /// Show only this container
    #[arg(short, long)]
    container: Option<String>,
    /// Show only the last lines of each container
    #[arg(long, value_name = "LINES")]
    tail: Option<i64>,
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
}

impl LogsArgs {
    fn filter(&self) -> follow::LogFilter {
        follow::LogFilter {
            container: self.container.clone(),
            tail: self.tail,
        }
    }
}

pub(crate) async fn execute(args: &LogsArgs, cluster: &Cluster) -> anyhow::Result<Outcome> {
    if args.follow && args.run.is_none() {
        let run = begun::wait_for_run(&args.name, cluster).await?;
        return follow::follow(&args.name, &run, &args.filter(), cluster).await;
    }
    let runnable = cluster.runnable(&args.name).await?;
    let runs = runs::runs(&runnable);
    let run = runs.iter().find(|run| {
        args.run
            .map_or(run.current, |sequence| run.sequence == sequence)
    });
    let Some(run) = run else {
        bail!(
            "{} has no such run\nhint: `{}` lists its runs",
            args.name,
            cluster.place().command(&format!("history {}", args.name))
        );
    };
    if args.follow {
        return follow::follow(&args.name, run, &args.filter(), cluster).await;
    }
    let pods = pods(run, None, cluster).await?;
    if pods.is_empty() && run.state == RunState::Running {
        bail!(
            "{}\nhint: `{}` waits for it",
            in_lines(&why_no_pod(run, cluster).await),
            cluster
                .place()
                .command(&format!("logs {} --follow", args.name))
        );
    }
    if pods.is_empty() {
        bail!(
            "there are no pods of {} {}\nhint: finished runs and their pods may have been deleted",
            run.kind,
            run.name
        );
    }
    if let Some(unknown) = unknown_container(args.container.as_deref(), &pods, run) {
        bail!(unknown);
    }
    Ok(printed(args, &pods, cluster).await)
}

/// Returns the message for a container that no pod of the run has. Without it, nothing would be printed, as for an
/// empty log.
fn unknown_container(wanted: Option<&str>, pods: &[Pod], run: &LedgerRun) -> Option<String> {
    let names: BTreeSet<&str> = pods.iter().flat_map(containers).collect();
    let wanted = wanted.filter(|wanted| !names.is_empty() && !names.contains(wanted))?;
    let LedgerRun { kind, name, .. } = run;
    let hint = suggestion::hint(wanted, "they have", names).unwrap_or_default();
    Some(format!(
        "the pods of {kind} {name} have no container {wanted}\nhint: {hint}"
    ))
}

/// Returns the logs of the pods, and the reasons why some print nothing yet.
async fn printed(args: &LogsArgs, pods: &[Pod], cluster: &Cluster) -> Outcome {
    let mut outcome = Outcome::default();
    let mut is_waiting = false;
    let wanted = args.container.as_deref();
    for pod in pods {
        for remark in never_begun(pod, wanted) {
            let _ = writeln!(outcome.err, "{remark}");
            is_waiting = true;
        }
        if let Some(waiting) = pod_waiting(pod) {
            let _ = writeln!(outcome.err, "{}", waits(pod, &waiting));
            is_waiting = true;
        }
        for container in containers(pod).filter(|name| has_printed(pod, name)) {
            if wanted.is_none_or(|wanted| wanted == container) {
                read(args, cluster, &pod.name_any(), container, &mut outcome).await;
            }
        }
    }
    // A waiting pod beside others that print is no failure.
    if is_waiting && outcome.out.is_empty() {
        outcome.code = FOUND;
    }
    outcome
}

/// Returns a line for each container that ended without having begun, so that it has no log, with the reason.
fn never_begun(pod: &Pod, wanted: Option<&str>) -> Vec<String> {
    let ended = statuses(pod).filter(|it| wanted.is_none_or(|wanted| wanted == it.name));
    let ended = ended.filter_map(|it| Some((&it.name, it.state.as_ref()?.terminated.as_ref()?)));
    let remark = ended.filter_map(|(name, ended)| {
        let reason = why_never_begun(ended)?;
        let message = ended.message.as_deref().unwrap_or_default();
        let pod = pod.name_any();
        let remark = format!("container {name} of pod {pod} never began ({reason}): {message}");
        Some(in_one_line(&remark))
    });
    remark.collect()
}

/// Returns the reason if a container has ended without having begun, or `None`.
fn why_never_begun(ended: &ContainerStateTerminated) -> Option<&str> {
    ended
        .reason
        .as_deref()
        .filter(|reason| NEVER_BEGAN.contains(reason))
}

/// Reasons that a kubelet gives if the program of a container could not be called.
const NEVER_BEGAN: [&str; 2] = ["StartError", "ContainerCannotRun"];

/// Returns a line of a log, without its own colours.
fn log_line(pod: &str, container: &str, line: &str) -> String {
    let line = anstream::adapter::strip_str(line).to_string();
    let line = in_lines(&line);
    format!("[{pod}/{container}] {line}\n")
}

/// Returns the message that a run has no pod yet, with the reason from its events or its status.
async fn why_no_pod(run: &LedgerRun, cluster: &Cluster) -> String {
    let why = match events::last_warning(run, cluster).await {
        Some(warning) => warning.text,
        None if run.current => run.message.clone(),
        None => String::new(),
    };
    let LedgerRun { kind, name, .. } = run;
    match why.as_str() {
        "" => format!("there is no pod of {kind} {name} yet"),
        why => format!("there is no pod of {kind} {name} yet: {why}"),
    }
}

fn waits(pod: &Pod, waiting: &PodWaiting) -> String {
    format!("pod {} waits: {}", pod.name_any(), waiting.text)
}

/// Returns the statuses of all containers of a pod.
fn statuses(pod: &Pod) -> impl Iterator<Item = &ContainerStatus> {
    pod.status.iter().flat_map(|status| {
        let init = status.init_container_statuses.iter().flatten();
        init.chain(status.container_statuses.iter().flatten())
    })
}

/// Returns true if a container runs or has run, so that it may have printed something.
fn has_begun(state: Option<&ContainerState>) -> bool {
    state.is_some_and(|state| {
        let ended = state.terminated.as_ref();
        state.running.is_some() || ended.is_some_and(|ended| why_never_begun(ended).is_none())
    })
}

/// Returns true if there may be a log: the container has begun at least once, or its status is unknown and the pod
/// does not wait.
fn has_printed(pod: &Pod, container: &str) -> bool {
    let status = statuses(pod).find(|status| status.name == container);
    status.map_or_else(
        || pod_waiting(pod).is_none(),
        |status| has_begun(status.state.as_ref()) || has_begun(status.last_state.as_ref()),
    )
}

/// Returns the containers of a pod, in the order in which they begin.
fn containers(pod: &Pod) -> impl Iterator<Item = &str> {
    let all = pod.spec.iter().flat_map(|spec| {
        spec.init_containers
            .iter()
            .flatten()
            .chain(&spec.containers)
    });
    all.map(|container| container.name.as_str())
}

async fn read(
    args: &LogsArgs,
    cluster: &Cluster,
    pod: &str,
    container: &str,
    outcome: &mut Outcome,
) {
    let api: Api<Pod> = cluster.api();
    let parameters = LogParams {
        container: Some(container.to_owned()),
        tail_lines: args.tail,
        ..LogParams::default()
    };
    // A container that has not started does not hide the logs of the others.
    match within(
        &format!("reading the log of {pod}/{container}"),
        api.logs(pod, &parameters),
    )
    .await
    {
        Ok(text) => {
            for line in text.lines() {
                outcome.out.push_str(&log_line(pod, container, line));
            }
        }
        Err(error) => {
            let _ = writeln!(outcome.err, "{}", in_lines(&format!("{error:#}")));
            outcome.code = FOUND;
        }
    }
}

#[cfg(test)]
mod tests {
    use cartouche_engines::kinds::{self, PodsOf};
    use clap::Args as _;

    use super::*;

    #[test]
    fn the_help_names_each_kind_whose_pods_are_found() {
        let command = LogsArgs::augment_args(clap::Command::new("logs"));
        let help = command.get_after_help().unwrap().to_string();
        for known in kinds::all().filter(|known| known.pods != PodsOf::Unknown) {
            let kind = known.kind.unwrap();
            assert!(help.contains(kind), "{kind}");
        }
    }
}
