use super::*;

const LIMITS: BreakerLimits = BreakerLimits { max_runs: 3 };

fn at(seconds: i64) -> Timestamp {
    Timestamp::UNIX_EPOCH + SignedDuration::from_secs(seconds)
}

fn cause(generation: i64) -> Cause {
    Cause {
        generation,
        template_uid: "template".to_owned(),
        template_generation: 1,
        ancestors: None,
    }
}

/// A count of runs under one cause since a second.
fn counted(runs: i64, window_start: i64) -> Breaker {
    Breaker {
        runs,
        ..cause(1).first(at(window_start))
    }
}

fn pace(breaker: &Breaker, cause: &Cause, last: i64, now: i64) -> Pace {
    LIMITS.pace(Some(breaker), cause, Some(at(last)), Some(at(now)))
}

#[test]
fn the_first_run_begins_a_count() {
    let expected = Pace::Go(Some(counted(1, 7)));
    assert_eq!(LIMITS.pace(None, &cause(1), None, Some(at(7))), expected);
}

#[test]
fn runs_without_a_change_are_counted() {
    assert_eq!(
        pace(&counted(1, 0), &cause(1), 1, 2),
        Pace::Go(Some(counted(2, 0)))
    );
    assert_eq!(
        pace(&counted(2, 0), &cause(1), 2, 3),
        Pace::Go(Some(counted(3, 0)))
    );
}

#[test]
fn the_run_above_the_limit_waits_five_minutes_after_the_one_before() {
    let slow = Pace::Slow {
        until: at(303),
        runs: 3,
    };
    assert_eq!(pace(&counted(3, 0), &cause(1), 3, 4), slow);
    assert_eq!(pace(&counted(3, 0), &cause(1), 3, 302), slow);
    assert_eq!(
        pace(&counted(3, 0), &cause(1), 3, 303),
        Pace::Go(Some(counted(4, 0)))
    );
}

#[test]
fn once_tripped_it_stays_slow_however_long_it_takes() {
    let tripped = counted(4, 0);
    assert_eq!(
        pace(&tripped, &cause(1), 303, 400),
        Pace::Slow {
            until: at(603),
            runs: 4
        }
    );
    assert_eq!(
        pace(&tripped, &cause(1), 10_000, 10_001),
        Pace::Slow {
            until: at(10_300),
            runs: 4
        }
    );
    assert_eq!(
        pace(&tripped, &cause(1), 10_000, 10_300),
        Pace::Go(Some(counted(5, 0)))
    );
}

#[test]
fn any_change_of_the_runnable_or_its_template_begins_anew() {
    let tripped = counted(9, 0);
    let other_template = Cause {
        template_uid: "other".to_owned(),
        ..cause(1)
    };
    let newer_template = Cause {
        template_generation: 2,
        ..cause(1)
    };
    for changed in [cause(2), other_template, newer_template] {
        assert_eq!(
            pace(&tripped, &changed, 99, 100),
            Pace::Go(Some(changed.first(at(100))))
        );
    }
}

#[test]
fn a_count_that_stayed_within_the_limit_ends_with_its_ten_minutes() {
    assert_eq!(
        pace(&counted(2, 0), &cause(1), 599, 600),
        Pace::Go(Some(counted(3, 0)))
    );
    assert_eq!(
        pace(&counted(2, 0), &cause(1), 599, 601),
        Pace::Go(Some(counted(1, 601)))
    );
    assert_eq!(
        pace(&counted(3, 0), &cause(1), 599, 601),
        Pace::Go(Some(counted(1, 601)))
    );
}

#[test]
fn without_the_servers_clock_nothing_is_counted_or_slowed() {
    let tripped = counted(9, 0);
    let expected = Pace::Go(Some(tripped.clone()));
    assert_eq!(
        LIMITS.pace(Some(&tripped), &cause(1), Some(at(1)), None),
        expected
    );
}

#[test]
fn a_run_before_it_of_unknown_time_does_not_slow_the_next() {
    let tripped = counted(9, 0);
    let expected = Pace::Go(Some(counted(10, 0)));
    assert_eq!(
        LIMITS.pace(Some(&tripped), &cause(1), None, Some(at(10))),
        expected
    );
}
