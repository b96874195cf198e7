//! States of all Runnables, counted for each request of the metrics.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Mutex,
    time::Duration,
};

use cartouche_crds::{
    RunPhase, Runnable,
    conditions::{READY, RUN_IN_PROGRESS, RUN_LOST},
};
use cartouche_protocol::{category::Category, newer_release::leaves_alone, status::is_at_work};
use k8s_openapi::jiff::Timestamp;

use crate::lock::lock;

/// Reason of a Runnable that is not Ready for a reason of its run: there may be any number of those.
const OF_ITS_RUN: &str = "Run";

/// Reason of a Runnable whose status has no Ready condition yet.
const UNOBSERVED: &str = "Unobserved";

/// State of all Runnables together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Survey {
    /// Number of Runnables for each status and reason of Ready.
    pub ready: BTreeMap<(&'static str, &'static str), i64>,
    /// Start of the oldest run that has not ended.
    pub oldest_unfinished: Option<Timestamp>,
    /// Time for which the oldest change has waited.
    pub oldest_waiting: Option<Duration>,
}

/// Times since which Runnables have had a spec that the status does not cover, by uid, with the observed generation.
/// They pass from one survey to the next: an object that arrives again, even with a further change, has waited as long
/// as before.
#[derive(Debug, Default)]
pub struct WaitingSince(Mutex<HashMap<String, (Option<i64>, Duration)>>);

impl Survey {
    /// Counts these, each with its time of arrival. The time is `moment`, and `now` for the API server.
    pub fn count<'a>(
        runnables: impl IntoIterator<Item = (&'a Runnable, Duration)>,
        waiting: &WaitingSince,
        (moment, now): (Duration, Option<Timestamp>),
    ) -> Self {
        let mut survey = Self::default();
        let mut before = lock(&waiting.0);
        let mut waiting = HashMap::new();
        for (runnable, came) in runnables {
            let since = is_unobserved(runnable).then(|| since(runnable, came, &before));
            if let (Some(since), Some(uid)) = (since, &runnable.metadata.uid) {
                waiting.insert(uid.clone(), (observed(runnable), since));
            }
            let unobserved = since.map(|since| moment.saturating_sub(since));
            let waits = [unobserved, intended(runnable, now)];
            let oldest = survey.oldest_waiting.into_iter();
            survey.oldest_waiting = oldest.chain(waits.into_iter().flatten()).max();
            *survey.ready.entry(ready(runnable)).or_default() += 1;
            let oldest = survey.oldest_unfinished.into_iter();
            survey.oldest_unfinished = oldest.chain(unfinished(runnable)).min();
        }
        *before = waiting;
        survey
    }
}

/// Returns the time since which a Runnable has waited that arrived in its present state at `came`.
fn since(
    runnable: &Runnable,
    came: Duration,
    before: &HashMap<String, (Option<i64>, Duration)>,
) -> Duration {
    let uid = runnable.metadata.uid.as_deref();
    let known = uid.and_then(|uid| before.get(uid));
    let known = known.filter(|(speaks_of, _)| *speaks_of == observed(runnable));
    known.map_or(came, |(_, since)| came.min(*since))
}

fn ready(runnable: &Runnable) -> (&'static str, &'static str) {
    if let Some(newer) = leaves_alone(runnable.status.as_ref()) {
        return ("Unknown", newer.category.as_str());
    }
    let conditions = runnable.status.iter().flat_map(|it| &it.conditions);
    let Some(ready) = conditions.into_iter().find(|it| it.type_ == READY) else {
        return ("Unknown", UNOBSERVED);
    };
    let among =
        |closed: &[&'static str], word: &str| closed.iter().find(|it| **it == word).copied();
    let status = among(&["True", "False"], &ready.status).unwrap_or("Unknown");
    let own = among(&[READY, RUN_LOST], &ready.reason);
    // It counts as in progress, whatever hinders it.
    let at_work = is_at_work(&ready.status, &ready.reason).then_some(RUN_IN_PROGRESS);
    let own = own.or(at_work);
    let reason = own.or_else(|| Category::parse(&ready.reason).map(Category::as_str));
    (status, reason.unwrap_or(OF_ITS_RUN))
}

/// Returns the generation that the status covers.
fn observed(runnable: &Runnable) -> Option<i64> {
    runnable.status.as_ref()?.observed_generation
}

/// Returns true if a spec waits that the status does not cover. A debounced spec does not count, nor does one that is
/// still suspended, or that a newer release serves.
fn is_unobserved(runnable: &Runnable) -> bool {
    let reason = ready(runnable).1;
    let is_suspended = runnable.spec.suspend == Some(true);
    observed(runnable) != runnable.metadata.generation
        && runnable.metadata.deletion_timestamp.is_none()
        // The status of an unreadable Runnable is written elsewhere.
        && !runnable.spec.run_template_ref.name.is_empty()
        && reason != Category::Debouncing.as_str()
        && !(is_suspended && reason == Category::Suspended.as_str())
        && leaves_alone(runnable.status.as_ref()).is_none()
}

/// Returns the time for which a run has been intended and not made, unless something requested holds it back.
fn intended(runnable: &Runnable, now: Option<Timestamp>) -> Option<Duration> {
    let held = Category::parse(ready(runnable).1);
    if held.is_some_and(|it| it.is_hold() || it == Category::Rejected)
        || leaves_alone(runnable.status.as_ref()).is_some()
    {
        return None;
    }
    let current = runnable.status.as_ref()?.current_run.as_ref()?;
    let intended = (current.phase == RunPhase::Pending).then_some(current.intent_at.as_ref()?)?;
    Duration::try_from(now?.duration_since(intended.0)).ok()
}

/// Returns the start times of the runs of a Runnable that have not ended, as far as they are known.
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
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
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

    fn survey(all: &[Runnable], now: Option<Timestamp>) -> Survey {
        let all = all.iter().map(|it| (it, Duration::ZERO));
        let moment = Duration::from_secs(7);
        Survey::count(all, &WaitingSince::default(), (moment, now))
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
            (("False", "Run"), 2),
            (("False", "RunTemplateNotFound"), 1),
            (("True", "Ready"), 2),
            (("Unknown", "NewerRelease"), 1),
            (("Unknown", "RunInProgress"), 1),
            (("Unknown", "Unobserved"), 1),
        ];
        assert_eq!(survey(&all, None).ready, expected.into());
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
        let oldest = |all: &[Runnable]| {
            let oldest = survey(all, None).oldest_unfinished;
            oldest.map(|at| at.to_string())
        };
        assert_eq!(oldest(std::slice::from_ref(&ended)), None);
        let all = [ended, running.clone()];
        assert_eq!(oldest(&all).as_deref(), Some("2026-01-01T00:00:03Z"));
        let all = [running, superseded];
        assert_eq!(oldest(&all).as_deref(), Some("2026-01-01T00:00:02Z"));
    }

    #[test]
    fn the_oldest_change_waits_that_no_status_speaks_of_or_that_is_intended_and_not_made() {
        let now: Timestamp = "2026-01-01T00:01:00Z".parse().unwrap();
        let waits = |status: serde_json::Value| {
            let mut runnable = runnable(&status);
            runnable.metadata.generation = Some(2);
            survey(&[runnable], Some(now)).oldest_waiting
        };
        let seconds = |seconds| Some(Duration::from_secs(seconds));
        assert_eq!(waits(json!({})), seconds(7));
        assert_eq!(waits(json!({ "observedGeneration": 1 })), seconds(7));
        assert_eq!(waits(json!({ "observedGeneration": 2 })), None);
        let entry = |phase: &str| {
            json!({ "observedGeneration": 2, "currentRun": {
                "sequence": 2, "inputHash": "v1:0", "phase": phase, "apiVersion": "v1", "kind": "Pod",
                "name": "a", "intentAt": "2026-01-01T00:00:20Z",
            } })
        };
        assert_eq!(waits(entry("Pending")), seconds(40));
        assert_eq!(waits(entry("Created")), None);
        assert_eq!(waits(entry("Rejected")), None);
    }

    #[test]
    fn a_change_that_arrives_again_has_waited_since_it_was_first_seen() {
        let waiting = WaitingSince::default();
        let seconds = Duration::from_secs;
        let waits = |generation, observed, came, moment| {
            let mut runnable = runnable(&json!({ "observedGeneration": observed }));
            runnable.metadata.uid = Some("u".to_owned());
            runnable.metadata.generation = Some(generation);
            let all = [(&runnable, seconds(came))];
            let survey = Survey::count(all, &waiting, (seconds(moment), None));
            survey.oldest_waiting
        };
        assert_eq!(waits(2, 1, 10, 12), Some(seconds(2)));
        // A label is written, and then the spec once more.
        assert_eq!(waits(2, 1, 20, 22), Some(seconds(12)));
        assert_eq!(waits(3, 1, 30, 32), Some(seconds(22)));
        // The first change was acted on.
        assert_eq!(waits(3, 2, 40, 42), Some(seconds(2)));
        assert_eq!(waits(3, 3, 50, 52), None);
        assert_eq!(waits(4, 3, 60, 61), Some(seconds(1)));
    }

    #[test]
    fn an_intended_run_that_is_held_back_by_design_is_no_change_that_waits() {
        let now: Timestamp = "2026-01-01T00:01:00Z".parse().unwrap();
        let waits = |reason: &str| {
            let mut runnable = told("Unknown", reason);
            let entry = json!({
                "sequence": 2, "inputHash": "v1:0", "phase": "Pending", "apiVersion": "v1", "kind": "Pod",
                "name": "a", "intentAt": "2026-01-01T00:00:20Z",
            });
            let status = runnable.status.as_mut().unwrap();
            status.current_run = Some(serde_json::from_value(entry).unwrap());
            survey(&[runnable], Some(now)).oldest_waiting.is_some()
        };
        for held in [
            "Suspended",
            "ApprovalRequired",
            "Rejected",
            "RunAtWork",
            "Debouncing",
        ] {
            assert!(!waits(held), "{held}");
        }
        for late in [
            "RunInProgress",
            "StampedObjectRejectedByAPIServer",
            "PermissionMissing",
        ] {
            assert!(waits(late), "{late}");
        }
    }

    #[test]
    fn what_waits_by_design_is_no_change_that_waits() {
        let mut debounced = told("Unknown", "Debouncing");
        debounced.metadata.generation = Some(2);
        let mut deleted = runnable(&json!({}));
        deleted.metadata.generation = Some(2);
        let mut unreadable = deleted.clone();
        deleted.metadata.deletion_timestamp = Some(Time(Timestamp::UNIX_EPOCH));
        unreadable.spec.run_template_ref.name.clear();
        let mut suspended = told("False", "Suspended");
        suspended.metadata.generation = Some(2);
        suspended.spec.suspend = Some(true);
        let mut resumed = suspended.clone();
        resumed.spec.suspend = None;
        let mut newer = runnable(&json!({ "needs": ["ticks"] }));
        newer.metadata.generation = Some(2);
        let all = [debounced, deleted, unreadable, suspended, newer];
        assert_eq!(survey(&all, None).oldest_waiting, None);
        assert!(survey(&[resumed], None).oldest_waiting.is_some());
    }
}
