//! Logs as they come, until the run ends.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    time::Duration,
};

use anyhow::{anyhow, bail};
use cartouche_authoring::foreign::in_lines;
use cartouche_protocol::status::RunState;
use futures::{AsyncBufReadExt as _, TryStreamExt as _};
use k8s_openapi::api::core::v1::Pod;
use kube::{Api, ResourceExt as _, api::LogParams};
use tokio::task::JoinSet;

use crate::outcome::{FOUND, Outcome, print as put, print_error};
use crate::{
    cluster::{Cluster, explain_error},
    commands::logs::{
        containers, has_begun, log_line, never_begun, pods::pods, statuses, unknown_container,
        waits, why_no_pod,
    },
    live::{
        pod_waiting::pod_waiting,
        runs::{self, LedgerRun},
    },
};

/// Interval between two looks for pods that have begun.
const PAUSE: Duration = Duration::from_secs(1);

/// Choice of logs.
pub(super) struct LogFilter {
    pub(super) container: Option<String>,
    pub(super) tail: Option<i64>,
}

/// Container of a pod.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct PodContainer {
    pod: String,
    container: String,
}

/// Prints what the containers of a run print, each line with its container, until the run has ended and nothing more
/// comes.
pub(super) async fn follow(
    name: &str,
    run: &LedgerRun,
    wanted: &LogFilter,
    cluster: &Cluster,
) -> anyhow::Result<Outcome> {
    let mut followed: BTreeSet<PodContainer> = BTreeSet::new();
    let mut reading: JoinSet<anyhow::Result<()>> = JoinSet::new();
    let mut outcome = Outcome::default();
    let mut waits = Waits::default();
    let (unknown, never_begun) = loop {
        // Read before the pods: a container that begins later belongs to a run that has not ended.
        let ended = has_ended(name, run.sequence, cluster).await?;
        let pods = pods(run, None, cluster).await?;
        if !ended {
            let nothing = if pods.is_empty() {
                Some(why_no_pod(run, cluster).await)
            } else {
                // A later pod of a pipeline may have it.
                unknown_container(wanted.container.as_deref(), &pods, run)
            };
            for line in waits.news(&pods, nothing) {
                print_error(&format!("{line}\n"))?;
            }
        }
        for source in begun(&pods, wanted) {
            if followed.insert(source.clone()) {
                reading.spawn(print(cluster.api::<Pod>(), source, wanted.tail));
            }
        }
        while let Some(read) = reading.try_join_next() {
            note(read, &mut outcome);
        }
        if ended {
            let wanted = wanted.container.as_deref();
            let never = pods.iter().flat_map(|it| never_begun(it, wanted));
            let never: Vec<String> = never.collect();
            break (unknown_container(wanted, &pods, run), never);
        }
        tokio::time::sleep(PAUSE).await;
    };
    while let Some(read) = reading.join_next().await {
        note(read, &mut outcome);
    }
    if followed.is_empty() {
        if let Some(unknown) = unknown {
            bail!(unknown);
        }
        if never_begun.is_empty() {
            outcome.err.push_str(
                "the run has ended, and nothing was printed: its pods may have been deleted\n",
            );
        }
        outcome.code = FOUND;
    }
    for reported in never_begun {
        let _ = writeln!(outcome.err, "{reported}");
    }
    Ok(outcome)
}

/// Last reason printed for each pod. The empty name is for the run: no pod, or no such container.
#[derive(Default)]
struct Waits {
    reported: BTreeMap<String, String>,
}

impl Waits {
    /// Returns why nothing comes, unless the reason is the same as before.
    fn news(&mut self, pods: &[Pod], nothing: Option<String>) -> Vec<String> {
        let mut now = BTreeMap::new();
        let mut lines = Vec::new();
        let mut note = |name: String, reason: String, line: String| {
            if self.reported.get(&name) != Some(&reason) {
                lines.push(line);
            }
            now.insert(name, reason);
        };
        if let Some(nothing) = nothing {
            note(String::new(), nothing.clone(), nothing);
        }
        for pod in pods {
            if let Some(waiting) = pod_waiting(pod) {
                let line = waits(pod, &waiting);
                note(pod.name_any(), waiting.reason, line);
            }
        }
        self.reported = now;
        lines
    }
}

/// Notes the error of one container, which does not end the others.
fn note(read: Result<anyhow::Result<()>, tokio::task::JoinError>, outcome: &mut Outcome) {
    let error = match read {
        Ok(Ok(())) => return,
        Ok(Err(error)) => error,
        Err(error) => anyhow!(error),
    };
    // Writing to a string cannot fail.
    let _ = writeln!(outcome.err, "{}", in_lines(&format!("{error:#}")));
    outcome.code = FOUND;
}

async fn has_ended(name: &str, sequence: i64, cluster: &Cluster) -> anyhow::Result<bool> {
    let runnable = cluster.runnable(name).await?;
    let runs = runs::runs(&runnable);
    let run = runs.iter().find(|run| run.sequence == sequence);
    // An unknown run may still be made.
    let goes_on = |state| {
        matches!(
            state,
            RunState::Running | RunState::Pending | RunState::Unknown
        )
    };
    Ok(!run.is_some_and(|run| goes_on(run.state)))
}

/// Returns the containers that have begun, so that there is something to read.
fn begun(pods: &[Pod], wanted: &LogFilter) -> Vec<PodContainer> {
    let mut found = Vec::new();
    for pod in pods {
        let begun: BTreeSet<&str> = statuses(pod)
            .filter(|status| has_begun(status.state.as_ref()))
            .map(|status| status.name.as_str())
            .collect();
        let is_wanted = |name: &&str| wanted.container.as_deref().is_none_or(|one| one == *name);
        for container in containers(pod)
            .filter(|name| begun.contains(name))
            .filter(is_wanted)
        {
            found.push(PodContainer {
                pod: pod.name_any(),
                container: container.to_owned(),
            });
        }
    }
    found
}

async fn print(api: Api<Pod>, source: PodContainer, tail: Option<i64>) -> anyhow::Result<()> {
    let parameters = LogParams {
        container: Some(source.container.clone()),
        follow: true,
        tail_lines: tail,
        ..LogParams::default()
    };
    let PodContainer { pod, container } = &source;
    let what = format!("reading the log of {pod}/{container}");
    let stream = api
        .log_stream(pod, &parameters)
        .await
        .map_err(|error| explain_error(&what, error))?;
    let mut lines = stream.lines();
    let broken = |error| anyhow!("{what}: {error}");
    while let Some(line) = lines.try_next().await.map_err(broken)? {
        if !put(&log_line(pod, container, &line))? {
            break;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod() -> Pod {
        serde_json::from_value(json!({
            "metadata": { "name": "build-x" },
            "spec": {
                "initContainers": [{ "name": "fetch" }],
                "containers": [{ "name": "build" }, { "name": "proxy" }],
            },
            "status": {
                "initContainerStatuses": [{
                    "name": "fetch", "image": "", "imageID": "", "ready": true, "restartCount": 0,
                    "state": { "terminated": { "exitCode": 0 } },
                }],
                "containerStatuses": [
                    { "name": "build", "image": "", "imageID": "", "ready": true, "restartCount": 0, "state": { "running": {} } },
                    { "name": "proxy", "image": "", "imageID": "", "ready": false, "restartCount": 0, "state": { "waiting": { "reason": "ImagePullBackOff" } } },
                ],
            },
        }))
        .unwrap()
    }

    fn names(container: Option<&str>) -> Vec<String> {
        let wanted = LogFilter {
            container: container.map(str::to_owned),
            tail: None,
        };
        let found = begun(&[pod()], &wanted);
        found.into_iter().map(|source| source.container).collect()
    }

    #[test]
    fn containers_are_followed_once_they_have_begun() {
        assert_eq!(names(None), ["fetch", "build"]);
    }

    #[test]
    fn one_container_can_be_picked() {
        assert_eq!(names(Some("build")), ["build"]);
        assert!(names(Some("proxy")).is_empty());
    }
}
