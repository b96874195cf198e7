//! How all Runnables fare, counted when somebody asks for metrics.

use std::collections::BTreeMap;

use cartouche_crds::Runnable;
use cartouche_protocol::{
    newer_release::leaves_alone,
    reconcile_error::Category,
    status::{READY, RUN_IN_PROGRESS, RUN_LOST},
};
use k8s_openapi::jiff::Timestamp;

/// The reason of whatever is not Ready for a reason that is its run's: of those there may be any number.
const OF_ITS_RUN: &str = "Run";

/// All Runnables together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Survey {
    /// How many there are of each status and reason of Ready; both are empty for one that was not observed yet.
    pub ready: BTreeMap<(&'static str, &'static str), i64>,
    /// When the oldest run began that has not ended.
    pub oldest_unfinished: Option<Timestamp>,
}

impl Survey {
    /// Counts these.
    pub fn of<'a>(runnables: impl IntoIterator<Item = &'a Runnable>) -> Self {
        let mut survey = Self::default();
        for runnable in runnables {
            *survey.ready.entry(ready(runnable)).or_default() += 1;
            let oldest = survey.oldest_unfinished.into_iter();
            survey.oldest_unfinished = oldest.chain(unfinished(runnable)).min();
        }
        survey
    }
}

fn ready(runnable: &Runnable) -> (&'static str, &'static str) {
    if let Some(newer) = leaves_alone(runnable.status.as_ref()) {
        return ("Unknown", newer.category.as_str());
    }
    let conditions = runnable.status.iter().flat_map(|it| &it.conditions);
    let Some(ready) = conditions.into_iter().find(|it| it.type_ == READY) else {
        return ("", "");
    };
    let among =
        |closed: &[&'static str], word: &str| closed.iter().find(|it| **it == word).copied();
    let status = among(&["True", "False"], &ready.status).unwrap_or("Unknown");
    let own = among(&[READY, RUN_IN_PROGRESS, RUN_LOST], &ready.reason);
    let reason = own.or_else(|| Category::parse(&ready.reason).map(Category::as_str));
    (status, reason.unwrap_or(OF_ITS_RUN))
}

/// When the runs of a Runnable began that have not ended, as far as that is known.
fn unfinished(runnable: &Runnable) -> impl Iterator<Item = Timestamp> {
    let status = runnable.status.iter();
    status.flat_map(|status| {
        let current = status.current_run.iter().filter(|run| run.result.is_none());
        let current = current.filter_map(|run| run.started_at.as_ref());
        let earlier = status.history.iter();
        let earlier = earlier.filter(|run| run.result.is_none() && run.uid.is_some());
        let earlier = earlier.filter_map(|run| run.started_at.as_ref());
        current.chain(earlier).map(|at| at.0)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn runnable(status: &serde_json::Value) -> Runnable {
        serde_json::from_value(json!({
            "apiVersion": "carto.run/v1alpha1", "kind": "Runnable",
            "metadata": { "name": "r" },
            "spec": { "runTemplateRef": { "name": "t" } },
            "status": status,
        }))
        .unwrap()
    }

    fn told(status: &str, reason: &str) -> Runnable {
        runnable(&json!({ "conditions": [{
            "type": "Ready", "status": status, "reason": reason, "message": "",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }] }))
    }

    #[test]
    fn reasons_are_those_of_a_closed_set() {
        let all = [
            told("True", "Ready"),
            told("True", "Ready"),
            told("False", "RunTemplateNotFound"),
            told("False", "WhateverAnEngineSays"),
            told("False", "AnotherWord"),
            told("Unknown", "RunInProgress"),
            runnable(&json!({})),
            runnable(&json!({ "needs": ["ticks"] })),
        ];
        let expected = [
            (("", ""), 1),
            (("False", "Run"), 2),
            (("False", "RunTemplateNotFound"), 1),
            (("True", "Ready"), 2),
            (("Unknown", "NewerRelease"), 1),
            (("Unknown", "RunInProgress"), 1),
        ];
        assert_eq!(Survey::of(&all).ready, expected.into());
    }

    #[test]
    fn the_oldest_run_without_a_result_counts_be_it_current_or_not() {
        let run = |result: Option<&str>, at: &str| {
            runnable(&json!({ "currentRun": {
                "sequence": 2, "inputHash": "v1:0", "phase": "Created", "apiVersion": "v1", "kind": "Pod",
                "name": "a", "startedAt": at, "result": result,
            } }))
        };
        let superseded = runnable(&json!({ "unfinishedRuns": [{
            "sequence": 1, "inputHash": "v1:0", "apiVersion": "v1", "kind": "Pod", "name": "a",
            "uid": "u", "startedAt": "2026-01-01T00:00:02Z",
        }, {
            "sequence": 2, "inputHash": "v1:0", "apiVersion": "v1", "kind": "Pod", "name": "never-made",
            "startedAt": "2026-01-01T00:00:01Z",
        }] }));
        let ended = run(Some("Failed"), "2026-01-01T00:00:01Z");
        let running = run(None, "2026-01-01T00:00:03Z");
        let oldest = |all: &[Runnable]| Survey::of(all).oldest_unfinished.map(|at| at.to_string());
        assert_eq!(oldest(std::slice::from_ref(&ended)), None);
        let all = [ended, running.clone()];
        assert_eq!(oldest(&all).as_deref(), Some("2026-01-01T00:00:03Z"));
        let all = [running, superseded];
        assert_eq!(oldest(&all).as_deref(), Some("2026-01-01T00:00:02Z"));
    }
}
