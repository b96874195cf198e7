use cartouche_crds::{Backoff, CurrentRun, Retry, RetryOn, RunResult, Stop, StopReason};
use k8s_openapi::{apimachinery::pkg::apis::meta::v1::Time, jiff::Timestamp};

use super::*;
use crate::{
    ledger::tests::sample::{self, at},
    policy::tests::{backoff, limited, policy_of},
};

/// A run that ended like this, as this attempt.
fn ended(result: RunResult, attempt: i64) -> CurrentRun {
    CurrentRun {
        attempt,
        ..sample::ended(1, "A", result)
    }
}

/// A run that was asked to stop for this reason and ended like this.
fn stopped(result: RunResult, reason: StopReason) -> CurrentRun {
    let stop = Stop {
        reason,
        at: Time(at(0)),
        unknown_fields: cartouche_crds::UnknownFields::default(),
    };
    CurrentRun {
        stop: Some(stop),
        ..ended(result, 1)
    }
}

fn policy(runnable: Option<&Retry>, template: Option<&Retry>) -> Option<RetryPolicy> {
    policy_of(runnable, template).unwrap().retry
}

/// The pauses before each attempt after the first one in seconds, on average and to the nearest five.
fn pauses(retry: &RetryPolicy, attempts: i64) -> Vec<i64> {
    let pause = |attempt| {
        let seconds = (1..=2_000).map(|run| {
            let next = retry.next(at(0), attempt, "a-uid", run);
            next.duration_since(at(0)).as_secs()
        });
        (seconds.sum::<i64>() / 2_000 + 2) / 5 * 5
    };
    (1..=attempts).map(pause).collect()
}

#[test]
fn nothing_is_tried_again_unless_somebody_asks_for_it() {
    assert_eq!(policy(None, None), None);
    assert_eq!(policy(Some(&limited(0)), Some(&limited(3))), None);
}

#[test]
fn who_asks_without_numbers_gets_three_more_attempts_at_failures() {
    for (runnable, template) in [
        (Some(Retry::default()), None),
        (None, Some(Retry::default())),
    ] {
        let retry = policy(runnable.as_ref(), template.as_ref()).unwrap();
        assert!(retry.allows(&ended(RunResult::Failed, 3)));
        assert!(!retry.allows(&ended(RunResult::Failed, 4)));
        assert!(!retry.allows(&ended(RunResult::Lost, 1)));
        assert!(!retry.allows(&ended(RunResult::Succeeded, 1)));
    }
}

#[test]
fn the_smaller_limit_counts() {
    let last = |runnable, template| {
        let retry = policy(Some(&limited(runnable)), Some(&limited(template))).unwrap();
        (1..=20)
            .rev()
            .find(|it| retry.allows(&ended(RunResult::Failed, *it)))
    };
    assert_eq!(last(2, 5), Some(2));
    assert_eq!(last(5, 2), Some(2));
}

#[test]
fn what_the_runnable_says_else_goes_before_what_its_template_says() {
    let on = |on| Retry {
        retry_on: Some(vec![on]),
        ..Retry::default()
    };
    let retry = policy(Some(&on(RetryOn::Lost)), Some(&on(RetryOn::Failed))).unwrap();
    assert!(
        retry.allows(&ended(RunResult::Lost, 1)) && !retry.allows(&ended(RunResult::Failed, 1))
    );
    let retry = policy(Some(&limited(1)), Some(&on(RetryOn::Lost))).unwrap();
    assert!(
        retry.allows(&ended(RunResult::Lost, 1)) && !retry.allows(&ended(RunResult::Failed, 1))
    );

    // The policies merge by field: what one leaves out, the other gives.
    let own = Retry {
        backoff: Some(Backoff {
            initial: Some("20s".to_owned()),
            ..Backoff::default()
        }),
        ..Retry::default()
    };
    let retry = policy(Some(&own), Some(&backoff("1s", 3, "100s"))).unwrap();
    assert_eq!(pauses(&retry, 3), [20, 60, 100]);
}

#[test]
fn pauses_grow_up_to_the_longest() {
    let retry = policy(Some(&backoff("10s", 2, "1m")), None).unwrap();
    assert_eq!(pauses(&retry, 5), [10, 20, 40, 60, 60]);
    let retry = policy(Some(&backoff("8760h", 10, "8760h")), None).unwrap();
    assert_eq!(pauses(&retry, 20).len(), 20);
}

#[test]
fn without_numbers_pauses_grow_from_ten_seconds_to_five_minutes() {
    let retry = policy(Some(&limited(20)), None).unwrap();
    assert_eq!(pauses(&retry, 7), [10, 20, 40, 80, 160, 300, 300]);
    let long = Retry {
        backoff: Some(Backoff {
            initial: Some("10m".to_owned()),
            ..Backoff::default()
        }),
        ..limited(20)
    };
    let retry = policy(Some(&long), None).unwrap();
    assert_eq!(pauses(&retry, 2), [600, 600]);
}

#[test]
fn those_that_fail_together_do_not_come_back_together() {
    let retry = policy(Some(&backoff("100s", 1, "100s")), None).unwrap();
    let after = |uid: &str| retry.next(at(0), 1, uid, 1).duration_since(at(0)).as_secs();
    let mut times: Vec<i64> = (0..200).map(|run| after(&format!("uid-{run}"))).collect();
    assert_eq!(after("uid-0"), times[0], "two controllers say the same");
    times.sort_unstable();
    assert!(times[0] >= 80 && times[199] <= 120, "{times:?}");
    times.dedup();
    assert!(times.len() > 30, "{times:?}");
}

#[test]
fn a_time_is_in_whole_seconds_as_a_status_holds_it() {
    let retry = policy(Some(&backoff("1s", 1, "1s")), None).unwrap();
    for run in 0..100 {
        let next = retry.next(at(0), 1, &format!("uid-{run}"), 1);
        assert_eq!(next.subsec_nanosecond(), 0);
        assert!(next > at(0));
    }
    assert_eq!(retry.next(Timestamp::MAX, 1, "a-uid", 1), Timestamp::MAX);
}

#[test]
fn one_that_cannot_be_tried_again_was_tried_as_often_as_it_may() {
    let retry = policy(Some(&limited(2)), None).unwrap();
    assert!(!retry.is_exhausted(&ended(RunResult::Failed, 2)));
    assert!(retry.is_exhausted(&ended(RunResult::Failed, 3)));
    assert!(!retry.is_exhausted(&ended(RunResult::Lost, 3)));
    assert!(!retry.is_exhausted(&ended(RunResult::Succeeded, 3)));
}

#[test]
fn an_end_that_only_a_later_release_knows_is_no_reason() {
    let text = r#"{"retryOn": ["Replaced", "Failed"]}"#;
    let retry: Retry = serde_json::from_str(text).unwrap();
    let retry = policy(Some(&retry), None).unwrap();
    assert!(retry.allows(&ended(RunResult::Failed, 1)));
}

#[test]
fn a_timeout_is_an_end_of_its_own() {
    let on = |on: Vec<RetryOn>| Retry {
        retry_on: Some(on),
        ..Retry::default()
    };
    let timed_out = stopped(RunResult::Failed, StopReason::TimedOut);
    let allows = |retry: &Retry, run: &CurrentRun| policy(Some(retry), None).unwrap().allows(run);
    assert!(allows(&Retry::default(), &timed_out), "without a word both");
    assert!(!allows(&on(vec![RetryOn::Failed]), &timed_out));
    assert!(allows(&on(vec![RetryOn::TimedOut]), &timed_out));
    let only = on(vec![RetryOn::TimedOut]);
    assert!(!allows(&only, &ended(RunResult::Failed, 1)));
    let in_time = stopped(RunResult::Succeeded, StopReason::TimedOut);
    assert!(!allows(&only, &in_time), "it did its work");
}

#[test]
fn what_somebody_stopped_for_another_reason_is_not_tried_again() {
    let on = vec![RetryOn::Failed, RetryOn::TimedOut, RetryOn::Lost];
    let retry = Retry {
        retry_on: Some(on),
        ..Retry::default()
    };
    let retry = policy(Some(&retry), None).unwrap();
    for reason in [
        StopReason::Cancelled,
        StopReason::Other("Replaced".to_owned()),
    ] {
        assert!(!retry.allows(&stopped(RunResult::Failed, reason)));
    }
}
