use cartouche_crds::{Backoff, Retry, StopMethod};
use serde_json::json;

use super::*;
use crate::ledger::tests::sample::at;

/// The merged policy of these retry rules.
pub(super) fn policy_of(
    runnable: Option<&Retry>,
    template: Option<&Retry>,
) -> Result<Policy, Vec<Fault>> {
    let asks = |retry: Option<&Retry>| Asks {
        retry: retry.cloned(),
        ..Asks::default()
    };
    Policy::merge(&asks(runnable), &asks(template))
}

pub(super) fn limited(limit: i64) -> Retry {
    Retry {
        limit: Some(limit),
        ..Retry::default()
    }
}

pub(super) fn backoff(initial: &str, factor: i64, max: &str) -> Retry {
    let backoff = Backoff {
        initial: Some(initial.to_owned()),
        factor: Some(factor),
        max: Some(max.to_owned()),
    };
    Retry {
        backoff: Some(backoff),
        ..limited(20)
    }
}

#[test]
fn all_that_cannot_be_used_is_told_at_once() {
    let mut own = backoff("soon", 11, "0s");
    own.limit = Some(-1);
    let general = limited(21);
    let faults = policy_of(Some(&own), Some(&general)).unwrap_err();
    let whats: Vec<String> = faults.into_iter().map(|fault| fault.what).collect();
    assert_eq!(
        whats,
        [
            "the Runnable's spec.retry.limit -1 is not a number from 0 to 20",
            "the Runnable's spec.retry.backoff.factor 11 is not a number from 1 to 10",
            "the Runnable's spec.retry.backoff.initial \"soon\" is not a duration from 1s to 8760h, such as 30s or 5m",
            "the Runnable's spec.retry.backoff.max \"0s\" is not a duration from 1s to 8760h, such as 30s or 5m",
            "the template's spec.retry.limit 21 is not a number from 0 to 20",
        ]
    );
}

#[test]
fn a_name_that_the_template_fixes_can_be_made_once_only() {
    let retry = || policy_of(Some(&limited(1)), None).unwrap();
    assert!(retry().check_name(None).is_ok());
    let faults = retry().check_name(Some("migrate")).unwrap_err();
    assert!(faults[0].what.contains("\"migrate\""), "{faults:?}");
    let none = policy_of(Some(&limited(0)), None).unwrap();
    assert!(none.check_name(Some("migrate")).is_ok());
}

fn within(timeout: &str) -> Asks {
    Asks {
        timeout: Some(timeout.to_owned()),
        ..Asks::default()
    }
}

#[test]
fn the_shorter_timeout_counts() {
    let deadline = |own: Asks, general: Asks| {
        let policy = Policy::merge(&own, &general).unwrap();
        policy.deadline(at(0))
    };
    assert_eq!(deadline(Asks::default(), Asks::default()), None);
    assert_eq!(deadline(within("1m"), Asks::default()), Some(at(60)));
    assert_eq!(deadline(Asks::default(), within("1m")), Some(at(60)));
    assert_eq!(deadline(within("1m"), within("1h")), Some(at(60)));
    assert_eq!(deadline(within("1h"), within("1m")), Some(at(60)));
    let policy = Policy::merge(&within("8760h"), &Asks::default()).unwrap();
    assert_eq!(policy.deadline(Timestamp::MAX), Some(Timestamp::MAX));
}

#[test]
fn the_timeout_that_can_be_used_counts_while_something_else_cannot() {
    let retry = Some(limited(-1));
    let own = Asks {
        retry,
        ..within("soon")
    };
    let general = Asks {
        stop: Some(StopMethod::default()),
        ..within("1m")
    };
    let faults = Policy::merge(&own, &general).unwrap_err();
    assert_eq!(faults.len(), 3, "{faults:?}");
    let policy = Policy::as_far_as_usable(&own, &general);
    assert_eq!(policy.deadline(at(0)), Some(at(60)));
    assert_eq!((policy.retry, policy.stop), (None, None));
}

#[test]
fn a_run_that_fails_while_something_else_cannot_be_used_keeps_its_retries() {
    let own = Asks {
        retry: Some(limited(3)),
        ..within("soon")
    };
    assert!(Policy::merge(&own, &Asks::default()).is_err());
    let policy = Policy::as_far_as_usable(&own, &Asks::default());
    assert_eq!(policy.retry.map(|it| it.limit), Some(3));
}

#[test]
fn a_run_is_stopped_as_its_template_says_if_it_is_of_its_kind() {
    let stop = json!({ "mergePatch": { "spec": { "paused": true } } });
    let general = Asks {
        stop: Some(serde_json::from_value(stop).unwrap()),
        ..Asks::default()
    };
    let policy = Policy::merge(&Asks::default(), &general).unwrap();
    let way = |run, template| policy.way_to_stop(run, template);
    let build = ("example.dev/v1", "Build");
    let own = policy.stop.clone();
    assert_eq!(way(build, Some(build)), own);
    assert_eq!(way(build, Some(("example.dev/v2", "Build"))), own);
    assert_eq!(way(build, Some(("example.org/v1", "Build"))), None);
    assert_eq!(way(build, None), own, "a tag decides its kind");
    let job = ("batch/v1", "Job");
    assert_eq!(way(job, Some(job)), own, "also where its way is known");
    let known = StopRequest::of_kind("batch/v1", "Job");
    assert!(known.is_some() && way(job, Some(build)) == known);
}

#[test]
fn a_way_to_stop_that_cannot_be_used_is_told() {
    let stop = json!({ "mergePatch": { "metadata": { "labels": {} } } });
    let general = Asks {
        stop: Some(serde_json::from_value(stop).unwrap()),
        ..Asks::default()
    };
    let faults = Policy::merge(&Asks::default(), &general).unwrap_err();
    assert_eq!(
        faults[0].what,
        "the template's spec.stop has a mergePatch of more than `spec`"
    );
}

#[test]
fn the_concurrency_policy_is_the_templates_if_it_has_one() {
    use ConcurrencyPolicy::{Allow, LatestOnly, Replace};
    for (own, general, expected) in [
        (None, None, Allow),
        (Some(Replace), None, Replace),
        (None, Some(LatestOnly), LatestOnly),
        (Some(Allow), Some(LatestOnly), LatestOnly),
        (Some(LatestOnly), Some(Allow), Allow),
    ] {
        let asks = |concurrency| Asks {
            concurrency,
            ..Asks::default()
        };
        let policy = Policy::merge(&asks(own), &asks(general)).unwrap();
        assert_eq!(policy.concurrency, expected, "{own:?}, {general:?}");
    }
}
