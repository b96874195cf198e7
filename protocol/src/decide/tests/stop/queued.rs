//! Runs that a queue holds: at work for the order of runs, but not for the timeout. One that does
//! not heed its stop is deleted.

use std::collections::BTreeMap;

use cartouche_engines::kinds::{Standing, Works};

use super::*;

const QUEUED: Standing = Standing {
    works: Works::NotYet,
    heeds_stop: false,
};

fn works(works: Works) -> Standing {
    Standing {
        works,
        heeds_stop: true,
    }
}

fn standing(standing: Standing) -> FetchedRun {
    FetchedRun {
        standing,
        version: Some(7),
        ..running(run(2, "A"))
    }
}

/// A run that a watch shows like this, as the status says already.
fn shown(facts: Facts, run: &FetchedRun) -> Facts {
    let read = facts.reading_found(&name(2), run.clone());
    let mut facts = read.stored_as_reported().seeing(seen(run));
    facts.reads.clear();
    facts
}

/// A run that was made long before its timeout, with this standing now.
fn long_made(now: Standing) -> Facts {
    shown(bounded(with(since(10 * TIMEOUT), "A")), &standing(now))
}

#[test]
fn the_time_in_a_queue_counts_for_no_timeout() {
    let queued = long_made(QUEUED);
    assert_eq!((decide(&queued), next_stop(&queued)), (Step::Settled, None));
}

#[test]
fn the_time_counts_from_its_admission() {
    let early = long_made(works(Works::Since(at(NOW - TIMEOUT + 1))));
    assert_eq!(decide(&early), Step::Settled);
    assert_eq!(next_stop(&early), Some(at(NOW + 1)));
    let late = standing(works(Works::Since(at(NOW - TIMEOUT))));
    let late = shown(bounded(with(since(10 * TIMEOUT), "A")), &late).reading_found(&name(2), late);
    let stop = written(&late, Change::Stop).current.unwrap().stop;
    assert_eq!(stop, Some(stop_at(NOW, StopReason::TimedOut)));
}

#[test]
fn it_never_counts_from_before_the_run_was_made() {
    let facts = bounded(with(since(1), "A"));
    let older = shown(facts, &standing(works(Works::Since(at(NOW - 2 * TIMEOUT)))));
    assert_eq!(decide(&older), Step::Settled);
    assert_eq!(next_stop(&older), Some(at(NOW + TIMEOUT - 1)));
}

#[test]
fn without_a_time_it_counts_from_when_it_was_first_seen_so() {
    for now in [Works::Untimed, Works::Since(at(NOW + 61))] {
        let mut facts = long_made(works(now));
        facts.seen_at_work = facts.list_untimed(&BTreeMap::new());
        assert_eq!(next_stop(&facts), Some(at(NOW + TIMEOUT)));
        let before = BTreeMap::from([(uid(2), at(NOW - TIMEOUT))]);
        facts.seen_at_work = facts.list_untimed(&before);
        assert_eq!(facts.seen_at_work, before, "it is known already");
        assert_eq!(decide(&facts), Step::ReadRun(run_name(&name(2))));
    }
    // A clock that went back has left a time in the future.
    let mut facts = long_made(works(Works::Untimed));
    let ahead = BTreeMap::from([(uid(2), at(NOW + 61))]);
    facts.seen_at_work = facts.list_untimed(&ahead);
    assert_eq!(next_stop(&facts), Some(at(NOW + TIMEOUT)));
}

#[test]
fn a_time_of_a_clock_that_is_a_little_fast_counts() {
    let facts = long_made(works(Works::Since(at(NOW + 60))));
    assert_eq!(facts.list_untimed(&BTreeMap::new()), BTreeMap::new());
    assert_eq!(next_stop(&facts), Some(at(NOW + 60 + TIMEOUT)));
}

#[test]
fn after_an_eviction_the_clock_begins_anew() {
    let before = BTreeMap::from([(uid(2), at(NOW - TIMEOUT))]);
    let evicted = long_made(QUEUED);
    assert_eq!(evicted.list_untimed(&before), BTreeMap::new());
    let mut admitted = long_made(works(Works::Untimed));
    admitted.seen_at_work = admitted.list_untimed(&evicted.list_untimed(&before));
    assert_eq!(next_stop(&admitted), Some(at(NOW + TIMEOUT)));
}

#[test]
fn nothing_is_kept_in_mind_without_a_timeout() {
    let mut facts = long_made(works(Works::Untimed));
    facts.policy.timeout = None;
    assert_eq!(facts.list_untimed(&BTreeMap::new()), BTreeMap::new());
}

#[test]
fn a_look_that_fails_does_not_begin_the_clock_anew() {
    let before = BTreeMap::from([(uid(2), at(NOW - TIMEOUT))]);
    // Neither a read nor a watch shows how the run stands.
    let unseen = bounded(with(since(10 * TIMEOUT), "A"));
    assert_eq!(unseen.standing(&uid(2)), None);
    assert_eq!(unseen.list_untimed(&before), before);
    assert_eq!(unseen.list_untimed(&BTreeMap::new()), BTreeMap::new());
    for now in [Works::Untimed, Works::Since(at(NOW + 61))] {
        let mut clockless = long_made(works(now));
        clockless.now = None;
        assert_eq!(clockless.list_untimed(&before), before, "{now:?}");
        assert_eq!(clockless.list_untimed(&BTreeMap::new()), BTreeMap::new());
    }
    let mut clockless = long_made(QUEUED);
    clockless.now = None;
    assert_eq!(
        clockless.list_untimed(&before),
        BTreeMap::new(),
        "it is queued"
    );
    let mut unread = long_made(works(Works::Untimed));
    unread.policy.timeout = None;
    unread.policy_from = PolicyFrom::Nowhere;
    assert_eq!(unread.list_untimed(&before), before, "no template");
    // Another run does not count.
    let other = BTreeMap::from([(uid(1), at(NOW - TIMEOUT))]);
    assert_eq!(unseen.list_untimed(&other), BTreeMap::new());
}

#[test]
fn one_that_a_read_finds_queued_again_is_not_stopped() {
    let late = long_made(works(Works::Since(at(NOW - TIMEOUT))));
    assert_eq!(decide(&late), Step::ReadRun(run_name(&name(2))));
    let evicted = late.reading_found(&name(2), standing(QUEUED));
    let step = decide(&evicted);
    assert!(!matches!(step, Step::Write(_, Change::Stop)), "{step:?}");
    assert_eq!((stopped(&step), next_stop(&evicted)), (None, None));
}

/// A run with a request of this many seconds ago to make way, and this standing.
fn told_while(now: Standing, seconds: i64) -> Facts {
    let current = CurrentRun {
        stop: Some(stop_at(NOW - seconds, StopReason::Replaced)),
        ..since(seconds)
    };
    shown(bounded(with(current, "A")), &standing(now))
}

/// The request to stop, and the version that the run may have.
fn request(facts: &Facts) -> Option<(StopRequest, Option<u64>)> {
    match decide(facts) {
        Step::Stop(to) => Some((to.request, to.version)),
        _ => None,
    }
}

#[test]
fn what_does_not_heed_its_stop_is_deleted_a_minute_later_as_a_read_has_seen_it() {
    let early = told_while(QUEUED, 59);
    assert_eq!(decide(&early), Step::Settled);
    assert_eq!(next_stop(&early), Some(at(NOW + 1)));
    let due = told_while(QUEUED, 60);
    assert_eq!(decide(&due), Step::ReadRun(run_name(&name(2))));
    let read = due.reading_found(&name(2), standing(QUEUED));
    assert_eq!(request(&read), Some((StopRequest::Delete, Some(7))));
}

#[test]
fn one_that_was_let_go_by_then_is_told_in_its_way() {
    let due = told_while(QUEUED, 60);
    let patched = due.policy.stop.clone();
    let read = due.reading_found(&name(2), standing(works(Works::Untimed)));
    assert_eq!(request(&read).map(|it| it.0), patched);
    let admitted = told_while(works(Works::Untimed), 5);
    assert_eq!(request(&admitted).map(|it| it.0), patched, "at once");
}

#[test]
fn a_template_may_know_how_what_no_queue_holds_is_stopped() {
    let deaf = Standing {
        works: Works::Untimed,
        heeds_stop: false,
    };
    let told = told_while(deaf, 60).reading_found(&name(2), standing(deaf));
    let own = told.policy.stop.clone();
    assert_eq!(request(&told).map(|it| it.0), own);
    let mut unknown = told;
    unknown.policy.stop = None;
    assert_eq!(request(&unknown).map(|it| it.0), Some(StopRequest::Delete));
}

#[test]
fn a_template_that_says_the_way_of_the_kind_knows_no_more_of_a_run_that_does_not_heed_it() {
    let deaf = Standing {
        works: Works::Untimed,
        heeds_stop: false,
    };
    let job = ("batch/v1", "Job");
    let of_kind = StopRequest::of_kind(job.0, job.1);
    let policy = Policy {
        stop: of_kind.clone(),
        ..Policy::default()
    };
    let way = |standing| policy.way_to_stop_now(job, Some(job), standing);
    assert_eq!(way(deaf), Some(StopRequest::Delete));
    assert_eq!(way(Standing::FREE), of_kind);
}

#[test]
fn a_queued_run_that_was_told_to_stop_and_is_deleted_is_not_made_again() {
    let current = CurrentRun {
        stop: Some(stop_at(NOW - 60, StopReason::Cancelled)),
        ..since(60)
    };
    let facts = bounded(with(current, "A"))
        .seeing(seen_to_go(&standing(QUEUED)))
        .reading_absent(&name(2));
    let current = recorded(&facts);
    assert_eq!(current.result, Some(RunResult::Failed));
    assert_eq!(current.stop, Some(stop_at(NOW - 60, StopReason::Cancelled)));
}

fn cancelled_while(now: Standing) -> Facts {
    let run = FetchedRun {
        asked: Asked::ByPerson,
        ..standing(now)
    };
    shown(with(since(1), "A"), &run)
}

#[test]
fn a_persons_word_that_a_queued_run_does_not_heed_is_put_down() {
    let mut facts = cancelled_while(QUEUED);
    facts.policy_from = PolicyFrom::Cache;
    assert_eq!(decide(&facts), Step::RenderAgain);
    facts.policy_from = PolicyFrom::Read;
    assert_eq!(decide(&facts), Step::ReadRun(run_name(&name(2))));
    let run = FetchedRun {
        asked: Asked::ByPerson,
        ..standing(QUEUED)
    };
    let read = facts.clone().reading_found(&name(2), run);
    let stop = written(&read, Change::Stop).current.unwrap().stop;
    assert_eq!(stop, Some(stop_at(NOW, StopReason::Cancelled)));
    // The queue released it meanwhile, and it heeds what was written into it.
    let admitted = FetchedRun {
        asked: Asked::ByPerson,
        ..standing(works(Works::Untimed))
    };
    let next = decide(&facts.reading_found(&name(2), admitted));
    assert!(!matches!(next, Step::Write(_, Change::Stop)), "{next:?}");
}

#[test]
fn a_persons_word_that_the_run_heeds_is_left_to_the_run() {
    for now in [Standing::FREE, works(Works::Untimed)] {
        let mut facts = cancelled_while(now);
        facts.policy_from = PolicyFrom::Read;
        assert_eq!(decide(&facts), Step::Settled);
    }
    let mut clockless = cancelled_while(QUEUED);
    clockless.policy_from = PolicyFrom::Read;
    clockless.now = None;
    assert_eq!(decide(&clockless), Step::Settled);
}
