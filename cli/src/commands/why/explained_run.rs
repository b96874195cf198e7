//! The current run of a Runnable, and its cause.

use std::collections::BTreeSet;

use cartouche_crds::{
    ClusterRunTemplate, RUN_SEQUENCE_LABEL, RerunRequest, RunResult, Runnable, StopReason,
};
use cartouche_engines::{Judged, RunReason, has_message_in_pods};
use cartouche_protocol::{ledger::Due, status::RunState};
use cartouche_templating::Template;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::ResourceExt as _;
use serde::Serialize;
use serde_json::Value;

use super::{log::LastLines, origin::Origins};
use crate::{
    cluster::{Cluster, split},
    live::{
        events::{self, WarningEvent},
        prospect::{Prospect, is_rendered_now},
        requests,
        run_diff::{RunDiff, RunSide, differences, rendered_differences},
        runs::{self, LedgerRun},
        sources::{self, SourceChange},
    },
};

/// Run, with its cause.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ExplainedRun {
    #[serde(flatten)]
    pub(super) run: LedgerRun,
    /// Deadline of the run; `None` if it has none, has ended or was asked to stop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) deadline: Option<Time>,
    /// Rules that judge the run while it is running.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) judged: Option<Judged>,
    /// Warning from its events, or from those of its pods.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) warning: Option<String>,
    /// Last lines of the container that failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) log: Option<LastLines>,
    /// Cure for the warning, if it is known.
    #[serde(skip)]
    pub(super) cure: Option<&'static str>,
    pub(super) because: Because,
}

/// Cause of a run.
#[derive(Debug, Serialize)]
#[serde(tag = "cause", rename_all_fields = "camelCase")]
pub(super) enum Because {
    /// There was no run before.
    First,
    /// The earlier runs are forgotten.
    Forgotten,
    /// The rendered run differs from an earlier one.
    Changed {
        run: i64,
        /// Difference; unknown if an object is gone or could not be read.
        #[serde(flatten)]
        found: RunDifference,
        /// Reason why the difference is unknown, if an object could not be read.
        #[serde(skip_serializing_if = "Option::is_none")]
        not_seen: Option<String>,
        /// Changes of the sources of the inputs, as far as they are known.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        sources: Vec<SourceChange>,
    },
    /// A user asked for the run.
    Requested(RerunRequest),
    /// An earlier run of the same document failed.
    Retried { run: i64 },
    /// The run before was deleted before it finished.
    Deleted { run: i64 },
    /// The run before was stopped or withdrawn for another document, which is no longer rendered.
    MadeWay { run: i64 },
}

/// Difference between two runs, if both objects could be read.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum RunDifference {
    Known(RunDiff),
    Unknown { changes: () },
}

impl RunDifference {
    /// The unknown difference.
    pub(super) const UNKNOWN: Self = Self::Unknown { changes: () };
}

/// Returns the current run with its cause, or `None` if there is no run.
pub(super) async fn find_current(
    runnable: &Runnable,
    runs: &[LedgerRun],
    prospect: Option<&Prospect>,
    cluster: &Cluster,
) -> Option<ExplainedRun> {
    let current = runs.iter().find(|run| run.current)?;
    let because = match runs::before(runs, current) {
        None if is_first(runs, current) => Because::First,
        None => Because::Forgotten,
        Some(earlier) if earlier.attempt < current.attempt => Because::Retried {
            run: earlier.sequence,
        },
        Some(earlier) if earlier.input_hash == current.input_hash => match &current.rerun_token {
            Some(token) => Because::Requested(requests::request(current, token)),
            None if made_way(earlier) => Because::MadeWay {
                run: earlier.sequence,
            },
            None => Because::Deleted {
                run: earlier.sequence,
            },
        },
        Some(earlier) => {
            let (old, not_old) = split(object(earlier, cluster).await);
            let (new, not_new) = split(object(current, cluster).await);
            let (its, own) = (old.as_ref(), new.as_ref());
            let changes = changes(its, own, current, prospect);
            Because::Changed {
                run: earlier.sequence,
                not_seen: not_old.or(not_new).filter(|_| changes.is_none()),
                found: changes.map_or(RunDifference::UNKNOWN, RunDifference::Known),
                sources: sources::between(runnable, (earlier, its), (current, own)),
            }
        }
    };
    Some(ExplainedRun::new(current.clone(), because))
}

impl ExplainedRun {
    pub(super) fn new(run: LedgerRun, because: Because) -> Self {
        Self {
            run,
            deadline: None,
            judged: None,
            warning: None,
            log: None,
            cure: None,
            because,
        }
    }
}

/// Returns true if the run was stopped or withdrawn for another one.
fn made_way(run: &LedgerRun) -> bool {
    let reason = run.stop.as_ref().map(|stop| &stop.reason);
    matches!(reason, Some(StopReason::Replaced | StopReason::Withdrawn))
}

/// Returns true if there was no run before: any lower numbers were given up, their names being taken.
fn is_first(runs: &[LedgerRun], current: &LedgerRun) -> bool {
    let given_up = runs.iter().filter(|run| run.state == RunState::NameTaken);
    let below = given_up.map(|run| run.sequence);
    let below = below.filter(|sequence| *sequence < current.sequence);
    (1..current.sequence).eq(below.collect::<BTreeSet<_>>())
}

/// Returns the differences between two runs while both objects exist. For a run that is not made yet, the rendered
/// run is compared.
fn changes(
    old: Option<&Value>,
    new: Option<&Value>,
    current: &LedgerRun,
    prospect: Option<&Prospect>,
) -> Option<RunDiff> {
    let old = RunSide::from_object(old?);
    // The current rendering and profile say nothing about a run that was made of something else.
    let is_now = |it: &&Prospect| {
        let profile = it.profile.as_ref().map(ToString::to_string);
        is_rendered_now(it.due, current.sequence)
            && new.is_none_or(|new| RunSide::from_object(new).is_made_with(profile.as_deref()))
    };
    let making = prospect.filter(is_now).map(Prospect::making);
    let rendered = prospect.filter(|it| it.due == Some(Due::Pending(current.sequence)));
    let mut found = match rendered {
        Some(rendered) => {
            let new = RunSide::from_object(&rendered.run.object);
            rendered_differences(&old, &new, making.as_ref())
        }
        None => differences(&old, &RunSide::from_object(new?), making.as_ref()),
    };
    if let Some(prospect) = prospect.filter(|it| is_rendered_now(it.due, current.sequence))
        && let Some(selected) = &prospect.selected
    {
        Origins::trace(&prospect.template.spec.template, selected).name(&mut found.changes);
    }
    Some(found)
}

/// Returns the rules that judge a run, or `None` if the template cannot be used.
pub(super) fn find_rules(template: &ClusterRunTemplate, object: &Value) -> Option<Judged> {
    let template = Template::compile(&template.spec).ok()?;
    Some(template.choose_rule(object))
}

/// Returns the object of a run that is running, or `None`.
pub(super) async fn at_work(run: &LedgerRun, cluster: &Cluster) -> Option<Value> {
    if run.state != RunState::Running {
        return None;
    }
    object(run, cluster).await.ok().flatten()
}

/// Returns the newest warning about a run that makes no progress, or about its pods; for a failed run, about the
/// probe that killed it. An old warning is left out, unless Ready has a reason that says the run is hindered.
pub(super) async fn warning(
    run: &LedgerRun,
    hindered: Option<RunReason>,
    cluster: &Cluster,
) -> Option<WarningEvent> {
    let has_none = hindered == Some(RunReason::NoPodYet);
    let is_job = has_message_in_pods(&run.api_version, &run.kind);
    let warned = match run.state {
        RunState::Running if has_none => events::last_warning(run, cluster).await,
        RunState::Running if !is_job => events::last_warning_of_pod(run, cluster).await,
        RunState::Running | FAILED if is_job => events::last_warning_of_pods(run, cluster).await,
        _ => None,
    };
    let is_shown = |it: &WarningEvent| match run.state {
        FAILED => it.reason == UNHEALTHY,
        _ => hindered.is_some() || it.is_fresh(FRESH),
    };
    warned.filter(is_shown)
}

/// State of a failed run.
const FAILED: RunState = RunState::Ended(RunResult::Failed);
/// Reason of an event about a failing probe.
const UNHEALTHY: &str = "Unhealthy";
/// Seconds for which a warning about a running run is shown.
const FRESH: i64 = 60;

/// Returns the object of a run, if the object of its name has its number.
async fn object(run: &LedgerRun, cluster: &Cluster) -> anyhow::Result<Option<Value>> {
    let found = cluster
        .object(&run.api_version, &run.kind, &run.name)
        .await?;
    let found = found.filter(|object| {
        object.labels().get(RUN_SEQUENCE_LABEL) == Some(&run.sequence.to_string())
    });
    found
        .map(|object| Ok(serde_json::to_value(object)?))
        .transpose()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_run_is_the_one_with_no_number_before_that_was_run() {
        let mut runs = crate::live::runs::tests::some_runs();
        runs.retain(|run| run.sequence >= 4);
        assert!(!is_first(&runs, &runs[0]), "runs 1 to 3 are forgotten");
        (runs[0].sequence, runs[1].sequence) = (2, 1);
        assert!(is_first(&runs, &runs[0]), "number 1 was given up");
        runs.truncate(1);
        runs[0].sequence = 1;
        assert!(is_first(&runs, &runs[0]));
    }
}
