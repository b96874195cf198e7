//! The last lines of the log of the container that failed.

use std::fmt::Write as _;

use cartouche_authoring::foreign::in_one_line;
use cartouche_crds::RunResult;
use cartouche_engines::{PodsWords, mask};
use cartouche_protocol::status::RunState;
use k8s_openapi::api::core::v1::Pod;
use kube::{Api, api::LogParams};
use serde::Serialize;

use crate::{
    cluster::{Cluster, within},
    commands::logs,
    live::{
        prospect::{Prospect, is_rendered_now},
        runs::LedgerRun,
    },
};

/// Most lines that are shown.
const LINES: i64 = 5;
/// Most bytes that are shown.
const BYTES: usize = 1024;
/// Most bytes that are read.
const MOST_BYTES: i64 = 64 * 1024;
/// Most pods that are listed.
const MOST_PODS: u32 = 500;

/// End of a container's log.
#[derive(Debug, Serialize)]
pub(super) struct LastLines {
    pub(super) pod: String,
    pub(super) container: String,
    pub(super) lines: Vec<String>,
}

impl LastLines {
    /// Returns the text for people.
    pub(super) fn text(&self) -> String {
        let mut out = format!("  the log of {}/{} ends:\n", self.pod, self.container);
        for line in &self.lines {
            let _ = writeln!(out, "    {line}");
        }
        out
    }
}

/// Returns true if a Secret may have gone into a run, so that its containers may repeat it: the output of `why` is
/// passed on more widely than logs. The controller applies the same rule to a container's termination message.
pub(super) fn may_hold_secrets(prospect: &Prospect, sequence: i64) -> bool {
    let sensitive = prospect.template.spec.sensitive_outputs.as_ref();
    prospect.has_secrets
        || sensitive.is_some_and(|outputs| !outputs.is_empty())
        || !is_rendered_now(prospect.due, sequence)
}

/// Returns the last lines of the container that failed in a failed run, or `None` if the user may not read them.
pub(super) async fn last_lines(run: &LedgerRun, cluster: &Cluster) -> Option<LastLines> {
    if run.state != RunState::Ended(RunResult::Failed) {
        return None;
    }
    let pods = logs::pods(run, Some(MOST_PODS), cluster).await.ok()?;
    let (pod, container) = failed(&pods)?;
    let api: Api<Pod> = cluster.api();
    let parameters = LogParams {
        container: Some(container.clone()),
        tail_lines: Some(LINES),
        limit_bytes: Some(MOST_BYTES),
        ..LogParams::default()
    };
    let read = within("reading the log", api.logs(&pod, &parameters)).await;
    let lines = format_tail(&read.ok()?);
    (!lines.is_empty()).then_some(LastLines {
        pod,
        container,
        lines,
    })
}

/// Returns the pod and the container that the condition names.
fn failed(pods: &[Pod]) -> Option<(String, String)> {
    let mut words = PodsWords::default();
    for pod in pods {
        words.hear(&serde_json::to_value(pod).ok()?);
    }
    let (pod, container) = words.failed_container()?;
    Some((pod.to_owned(), container.to_owned()))
}

/// Returns the last lines of a log, masked and safe to print.
fn format_tail(log: &str) -> Vec<String> {
    // A log that is longer than the limit may end in the middle of a line.
    let is_cut = log.len() >= usize::try_from(MOST_BYTES).unwrap_or(usize::MAX);
    // Masked before it is cut, so that no part of a password is left without its name.
    let log = mask(log);
    let tail = &log[log.ceil_char_boundary(log.len().saturating_sub(BYTES))..];
    let lines = tail.lines().filter(|line| !line.trim().is_empty());
    let lines = lines.map(|line| in_one_line(&anstream::adapter::strip_str(line).to_string()));
    let lines: Vec<String> = lines.collect();
    let most = usize::try_from(LINES).unwrap_or_default();
    let lines = &lines[lines.len().saturating_sub(most)..];
    let cut = is_cut.then(|| "(cut)".to_owned());
    lines.iter().cloned().chain(cut).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_log_is_bounded_and_escaped() {
        assert_eq!(
            format_tail("mkdir: can't create\u{202e}\n\n::error::x\n"),
            ["mkdir: can't create\\u202e", "\\u003a:error::x"]
        );
        let long = format!("{}\nlast\n", "ä".repeat(5000));
        let lines = format_tail(&long);
        assert_eq!(lines[1], "last");
        assert!(lines[0].len() <= BYTES);
        let cut = format_tail(&"a".repeat(64 * 1024));
        assert_eq!(cut.last().map(String::as_str), Some("(cut)"));
        assert_eq!(format_tail("1\n2\n3\n4\n5\n6\n"), ["2", "3", "4", "5", "6"]);
        assert_eq!(
            format_tail("PGPASSWORD=hunter2 psql\n"),
            ["PGPASSWORD=*** psql"]
        );
    }

    #[test]
    fn the_log_is_that_of_the_container_that_the_condition_names() {
        let ended = |name: &str, code: i32, at: &str| {
            json!({
                "name": name, "image": "", "imageID": "", "ready": false, "restartCount": 0,
                "state": { "terminated": { "exitCode": code, "finishedAt": at } },
            })
        };
        let pod = |name: &str, at: &str| -> Pod {
            let pod = json!({
                "metadata": { "name": name },
                "spec": { "containers": [], "initContainers": [{ "name": "istio-proxy", "restartPolicy": "Always" }] },
                "status": {
                    "phase": "Failed",
                    "initContainerStatuses": [ended("istio-proxy", 1, "2026-01-01T00:00:00Z")],
                    "containerStatuses": [ended("late", 143, "2026-01-01T00:00:09Z"), ended("migrate", 1, at)],
                },
            });
            serde_json::from_value(pod).unwrap()
        };
        let pods = [
            pod("b", "2026-01-01T00:00:04Z"),
            pod("a", "2026-01-01T00:00:03Z"),
        ];
        let found = failed(&pods);
        assert_eq!(found, Some(("b".to_owned(), "migrate".to_owned())));
        assert_eq!(failed(&[]), None);
    }
}
