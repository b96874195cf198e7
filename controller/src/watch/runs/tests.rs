use cartouche_engines::{
    Health, PodsTell, Verdict,
    kinds::{Standing, Works},
};
use cartouche_protocol::ledger::{Asked, OutputsRead, PodsSaid};
use k8s_openapi::jiff::Timestamp;

use super::*;
use crate::lock::lock;

fn health(verdict: Verdict) -> Health {
    Health {
        verdict,
        reason: "WorkflowPhase".to_owned(),
        message: String::new(),
        cause: String::new(),
        pods: None,
        discreet: None,
    }
}

fn seen(verdict: Verdict) -> CachedRun {
    CachedRun {
        run: RunIdentity {
            uid: "run".to_owned(),
            owner_uid: Some("owner".to_owned()),
            ..RunIdentity::default()
        },
        deleted: false,
        health: health(verdict),
        pods_tell: PodsTell::Nothing,
        asked: Asked::No,
        standing: Standing::FREE,
        outputs: OutputsDigest::None,
        rules_hash: "rules".into(),
        version: None,
    }
}

fn read(verdict: Verdict) -> FetchedRun {
    FetchedRun {
        sensitive: cartouche_engines::Sensitive::default(),
        failure: None,
        run: seen(verdict).run,
        health: health(verdict),
        outputs: OutputsRead::None,
        rules_hash: "new rules".into(),
        matches: false,
        pods_tell: PodsTell::Nothing,
        pods_said: PodsSaid::Nothing,
        controller: None,
        stopped: None,
        version: None,
        asked: Asked::No,
        standing: Standing::FREE,
    }
}

fn key() -> RunnableKey {
    RunnableKey {
        namespace: "ns".to_owned(),
        name: "r".to_owned(),
    }
}

fn runs(cached_run: CachedRun) -> Runs {
    let runs = Runs::default();
    let key = key();
    runs.put(&mut lock(&runs.inner), short("owner"), &key, cached_run, 0);
    runs
}

#[test]
fn a_read_brings_the_cached_run_up_to_date_that_it_was_made_for() {
    let runs = runs(seen(Verdict::Unknown));
    runs.refresh(
        "owner",
        Some(&seen(Verdict::Unknown)),
        &read(Verdict::Failed),
    );
    assert_eq!(runs.cached_runs("owner")[0].health.verdict, Verdict::Failed);
}

#[test]
fn that_a_queue_lets_a_run_go_is_news_and_since_when_it_works_is_none() {
    let standing = |works: Works| CachedRun {
        standing: Standing {
            works,
            ..Standing::FREE
        },
        ..seen(Verdict::Unknown)
    };
    let runs = runs(standing(Works::NotYet));
    let shown = |works| {
        let mut inner = lock(&runs.inner);
        runs.put(&mut inner, short("owner"), &key(), standing(works), 0)
    };
    assert!(!shown(Works::NotYet));
    assert!(shown(Works::Untimed), "it was let go");
    let since = Works::Since(Timestamp::UNIX_EPOCH);
    assert!(!shown(since));
    let known = runs.cached_runs("owner")[0].standing.works;
    assert_eq!(known, since, "it is known all the same");
    assert!(shown(Works::NotYet), "it was taken back");
}

#[test]
fn a_run_that_is_read_though_it_was_shown_to_go_has_lost_its_label_and_is_known_no_more() {
    let gone = CachedRun {
        deleted: true,
        ..seen(Verdict::Unknown)
    };
    let runs = runs(gone.clone());
    runs.refresh("owner", Some(&gone), &read(Verdict::Unknown));
    // If it were kept and removed after its end, it would count as deleted unfinished, and be made again.
    assert_eq!(runs.cached_runs("owner"), []);
}

#[test]
fn an_old_read_never_writes_over_a_newer_cached_run() {
    let runs = runs(seen(Verdict::Failed));
    runs.refresh(
        "owner",
        Some(&seen(Verdict::Unknown)),
        &read(Verdict::Unknown),
    );
    assert_eq!(runs.cached_runs("owner")[0].health.verdict, Verdict::Failed);
}

fn watched() -> Watched {
    let kind = crate::discovery::Kind {
        api_version: "a/v1".to_owned(),
        kind: "Thing".to_owned(),
        plural: "things".to_owned(),
        namespaced: true,
    };
    Watched {
        purpose: crate::watched_kind::Purpose::Runs,
        kind: Arc::new(kind),
    }
}

/// Records a complete list, so many seconds after the first.
fn poll(runs: &Runs, found: &[CachedRun], seconds: i64) {
    let key = key();
    let poll = Poll {
        current: 1,
        watched: &watched(),
        owner: (&key, "owner"),
        found,
        at: Timestamp::from_second(seconds).ok(),
    };
    runs.record_poll(&poll, |_| true);
}

#[test]
fn a_run_that_the_next_list_lacks_is_gone_and_went_unseen_unless_it_had_ended() {
    for (verdict, seen_to_go) in [
        (Verdict::Unknown, false),
        (Verdict::Failed, true),
        (Verdict::Succeeded, true),
    ] {
        let runs = Runs::default();
        poll(&runs, &[seen(verdict)], 0);
        assert!(runs.exists(&watched(), "run") && !runs.cached_runs("owner")[0].deleted);
        poll(&runs, &[], 30);
        assert!(!runs.exists(&watched(), "run"));
        let left = runs.cached_runs("owner");
        assert_eq!(left.iter().any(|seen| seen.deleted), seen_to_go);
        assert_eq!(left.is_empty(), !seen_to_go);
    }
}

#[test]
fn of_a_kind_that_nobody_follows_and_of_a_runnable_that_is_gone_nothing_is_kept() {
    let runs = Runs::default();
    poll(&runs, &[seen(Verdict::Unknown)], 0);
    runs.forget("owner");
    assert!(!runs.exists(&watched(), "run") && runs.polled_at(&watched(), "owner").is_none());
    poll(&runs, &[seen(Verdict::Unknown)], 0);
    runs.close(&watched());
    assert!(!runs.exists(&watched(), "run"));
    assert!(lock(&runs.inner).polled.is_empty());
}

/// The kind is removed while the API server is not reachable, and comes back: the list of its second life does not have
/// the run, and nothing else would show its deletion.
#[test]
fn a_run_of_a_kind_that_was_not_followed_for_a_while_is_not_taken_to_be_there() {
    let key = key();
    for (verdict, left) in [
        (Verdict::Unknown, vec![]),
        (Verdict::Succeeded, vec![true]),
        (Verdict::Failed, vec![true]),
    ] {
        let (runs, watched) = (Runs::default(), watched());
        let there = seen(verdict);
        runs.take_in(&watched, &key, &there.run, false, Some((there.clone(), 1)));
        runs.close(&watched);
        runs.relisted(&watched, &HashMap::new());
        let deleted = |it: &CachedRun| it.deleted;
        let known = runs.cached_runs("owner");
        assert_eq!(known.iter().map(deleted).collect::<Vec<_>>(), left);
    }
}

#[test]
fn a_new_list_says_of_what_it_lacks_what_a_poll_says() {
    let key = key();
    for (verdict, left) in [(Verdict::Unknown, 0), (Verdict::Succeeded, 1)] {
        let (runs, watched) = (Runs::default(), watched());
        let there = seen(verdict);
        runs.take_in(&watched, &key, &there.run, false, Some((there.clone(), 1)));
        assert_eq!(
            runs.relisted(&watched, &HashMap::new()),
            std::slice::from_ref(&key)
        );
        let known = runs.cached_runs("owner");
        assert_eq!(known.len(), left);
        assert!(known.iter().all(|it| it.deleted));
    }
}

/// Returns a run with a number that its name confirms.
fn numbered(sequence: i64) -> CachedRun {
    let mut seen = seen(Verdict::Unknown);
    let suffix = cartouche_language::name_suffix("owner", sequence);
    seen.run.name = format!("r{suffix}");
    seen.run.uid = format!("run {sequence}");
    seen.run.sequence = Some(sequence);
    seen
}

#[test]
fn of_very_many_runs_those_stay_in_mind_that_went_and_those_next_to_the_current_one() {
    let runs = Runs::default();
    let key = key();
    let put = |cached_run| {
        runs.put(
            &mut lock(&runs.inner),
            short("owner"),
            &key,
            cached_run,
            501,
        )
    };
    let went = |sequence| CachedRun {
        deleted: true,
        ..numbered(sequence)
    };
    put(went(1));
    put(numbered(1_000_000));
    let many = i64::try_from(owner::MOST + owner::SLACK).unwrap();
    for sequence in 2..=many {
        put(numbered(sequence));
    }
    let kept = runs.cached_runs("owner");
    assert_eq!(kept.len(), owner::MOST + 1);
    assert!(kept.contains(&went(1)) && kept.contains(&numbered(502)));
    assert!(!kept.contains(&numbered(1_000_000)) && !kept.contains(&numbered(many)));
    let counted = format!("cartouche_cached_runs_dropped_total {}", owner::SLACK);
    assert!(runs.metrics.text().contains(&counted));
    assert!(put(went(2)), "that it went is news");
    assert!(runs.cached_runs("owner").contains(&went(2)));
    for sequence in many..=2 * many {
        put(went(sequence));
    }
    let kept = runs.cached_runs("owner");
    assert!(kept.iter().filter(|seen| seen.deleted).count() < owner::MOST + owner::SLACK);
    assert!(kept.contains(&went(2)) && kept.contains(&numbered(502)));
    assert!(!kept.contains(&went(2 * many - 10)));
}

#[test]
fn a_run_that_loses_its_owner_is_known_no_more_and_concerns_the_one_it_had() {
    let (runs, watched) = (Runs::default(), watched());
    let key = key();
    let there = seen(Verdict::Unknown);
    runs.take_in(&watched, &key, &there.run, false, Some((there.clone(), 1)));
    assert_eq!(runs.disowned(&watched, "run", Some("owner")), None);
    assert_eq!(runs.disowned(&watched, "another", None), None);
    assert_eq!(runs.cached_runs("owner").len(), 1);
    assert_eq!(runs.disowned(&watched, "run", None), Some(key));
    assert_eq!(runs.cached_runs("owner"), []);
    assert!(!runs.exists(&watched, "run"));
    assert_eq!(runs.disowned(&watched, "run", None), None);
}
