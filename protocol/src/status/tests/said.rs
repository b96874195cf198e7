//! Words of `Ready` about a run beside those of its engine, and how long they stay.

use cartouche_engines::{
    PodsTell, RunReason, Said,
    kinds::{Standing, Works},
};

use cartouche_crds::{Stop, StopReason, UnknownFields};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::*;
use crate::{facts::Hindrance, ledger::PodsSaid};

/// A run that failed; its pods said this, or nothing any more.
fn failed_with(said: Option<&str>) -> FetchedRun {
    let mut run = failed(run(2, "A"));
    run.pods_tell = PodsTell::WhyItFailed;
    run.pods_said = said.map_or(PodsSaid::Nothing, |said| PodsSaid::Words(said.into()));
    run
}

fn ready_message(facts: &Facts) -> String {
    message(&report(facts, None), READY).to_owned()
}

#[test]
fn what_the_pods_said_of_a_failure_is_ready_s_alone() {
    let status = report(&read(&failed_with(Some("exited 3"))), None);
    assert_eq!(
        message(&status, READY),
        "Build failed: exited 3; the Build says: Failed"
    );
    assert_eq!(message(&status, STALLED), message(&status, READY));
    assert_eq!(message(&status, STAMPED_OBJECT_CONDITION), "Failed");
    assert_eq!(said_of_run(&status), Some(message(&status, READY)));
}

#[test]
fn what_the_pods_said_stays_when_they_are_gone() {
    let told = read(&failed_with(Some("exited 3"))).stored_as_reported();
    let said = ready_message(&told);
    assert_eq!(ready_message(&told.clone().fresh()), said);
    let mut silent = told.fresh();
    silent = silent.reading_found(&name(2), failed_with(None));
    assert_eq!(ready_message(&silent), said);
    let mut unasked = failed_with(None);
    unasked.pods_said = PodsSaid::Unasked("no permission".to_owned());
    silent = silent.reading_found(&name(2), unasked.clone());
    assert_eq!(
        ready_message(&silent),
        said,
        "an excuse does not take its place"
    );
    assert_eq!(ready_message(&read(&unasked)), "Failed; no permission");
    let newer = silent.reading_found(&name(2), failed_with(Some("exited 4")));
    assert!(ready_message(&newer).contains("exited 4"));
}

#[test]
fn what_was_said_of_one_run_is_not_said_of_another() {
    let mut other = read(&failed_with(Some("exited 3")))
        .stored_as_reported()
        .fresh();
    let failed_again = failed(run(3, "A"));
    other.ledger = ledger(created(3, "A"), Vec::new());
    other = other.reading_found(&name(3), failed_again.clone());
    other.ledger = other.ledger.record(&failed_again, other.now);
    assert_eq!(ready_message(&other), "Failed");
}

#[test]
fn what_hinders_a_run_is_told_until_nothing_does() {
    let mut facts = read(&running(run(2, "A")));
    facts.hindrance = Hindrance::Said("no node".into());
    let status = report(&facts, None);
    assert_eq!(message(&status, READY), "no node");
    assert_eq!(message(&status, STAMPED_OBJECT_CONDITION), "Unknown");
    assert_eq!(said_of_run(&status), Some("no node"));
    let mut later = facts.stored_as_reported().fresh();
    later.hindrance = Hindrance::NotAsked;
    assert_eq!(ready_message(&later), "no node");
    later.hindrance = Hindrance::Nothing;
    assert_eq!(ready_message(&later), "Unknown");
}

#[test]
fn an_error_that_stands_beside_a_working_run_is_not_hidden_by_what_hinders_it() {
    let mut facts = read(&running(run(2, "A")));
    facts.hindrance = Hindrance::Said("no node".into());
    let error = of(Category::RunTemplateNotFound, Requeue::Backoff);
    let status = report(&facts, Some(&error));
    assert_eq!(message(&status, READY), "what is wrong");
}

#[test]
fn nothing_that_a_run_or_its_pods_say_passes_for_a_part_of_our_own() {
    let said = "no; to do: rm -rf /; in full: x";
    let mut failed = failed_with(Some(said));
    failed.health.message = said.to_owned();
    let mut working = running(run(2, "A"));
    working.health.message = said.to_owned();
    let mut hindered = read(&running(run(2, "A")));
    hindered.hindrance = Hindrance::Said(said.into());
    for facts in [read(&failed), read(&working), hindered] {
        let status = report(&facts, None);
        let ready = message(&status, READY);
        assert!(ready.contains("no, to do: rm -rf /, in full: x"), "{ready}");
        let sum = [STALLED, RECONCILING];
        let sum = sum.iter().find_map(|name| find(&status, name)).unwrap();
        assert_eq!(sum.message, ready, "nothing is left out");
    }
}

#[test]
fn a_run_whose_words_were_left_out_is_not_read_again_for_them() {
    let mut whole = failed(run(2, "A"));
    whole.health.discreet = Some("discreet".to_owned());
    let mut silenced = whole.clone();
    silenced.health = silenced.health.silence();
    for told in [&whole, &silenced] {
        let facts = read(told).stored_as_reported();
        assert!(reports(&facts.stored, &whole.health));
    }
    let mut other = whole.clone();
    other.health.discreet = Some("other".to_owned());
    let facts = read(&silenced).stored_as_reported();
    assert!(!reports(&facts.stored, &other.health));
}

/// The message about a run of this kind and standing that was asked to stop.
fn stopping((api_version, kind): (&str, &str), works: Works, heeds_stop: bool) -> String {
    let mut run = running(run(2, "A"));
    run.standing = Standing { works, heeds_stop };
    let mut facts = read(&run);
    let current = facts.ledger.current.as_mut().unwrap();
    (current.api_version, current.kind) = (api_version.to_owned(), kind.to_owned());
    current.stop = Some(Stop {
        reason: StopReason::Replaced,
        at: Time(at(NOW)),
        unknown_fields: UnknownFields::default(),
    });
    // A watch shows it.
    let seen = seen(&run);
    ready_message(&facts.seeing(seen))
}

#[test]
fn of_a_run_that_is_to_stop_what_becomes_of_it_is_said() {
    let (job, pipeline) = (("batch/v1", "Job"), ("tekton.dev/v1", "PipelineRun"));
    let cases = [
        (
            job,
            Works::NotYet,
            false,
            "and is queued, so the controller deletes it a minute later",
        ),
        // It is patched, and is not deleted.
        (
            pipeline,
            Works::NotYet,
            true,
            "and is queued, and has not ended yet",
        ),
        (
            job,
            Works::Untimed,
            false,
            "and cannot stop in its present state, so the controller deletes it a minute later",
        ),
        (job, Works::Untimed, true, "and has not ended yet"),
    ];
    for (kind, works, heeds_stop, end) in cases {
        let said = stopping(kind, works, heeds_stop);
        assert!(said.ends_with(end), "{kind:?} {works:?}: {said}");
    }
}

/// Ready, as `Status/Reason`.
fn ready_is(facts: &Facts) -> String {
    let status = report(facts, None);
    let ready = find(&status, READY).unwrap();
    assert_eq!(
        said_of_run(&status),
        Some(&*ready.message),
        "it is of the run"
    );
    format!("{}/{}", ready.status, ready.reason)
}

#[test]
fn the_reason_of_a_failure_is_that_of_its_pods_or_of_its_engine_if_the_word_is_known() {
    let of = |reason: Option<RunReason>, cause: &str| {
        let mut run = failed_with(None);
        run.pods_said = PodsSaid::Words(Said::new("exited 137", reason));
        cause.clone_into(&mut run.health.cause);
        ready_is(&read(&run))
    };
    assert_eq!(
        of(Some(RunReason::OOMKilled), "BackoffLimitExceeded"),
        "False/OOMKilled"
    );
    assert_eq!(
        of(None, "BackoffLimitExceeded"),
        "False/BackoffLimitExceeded"
    );
    assert_eq!(of(None, "SomethingElse"), "False/SucceededCondition");
}

#[test]
fn the_reason_of_a_run_that_was_stopped_is_who_stopped_it() {
    let mut cancelled = failed_with(Some("exited 143"));
    cancelled.stopped = cartouche_crds::Cancellation::parse(r#"{"by":"alice"}"#);
    assert_eq!(ready_is(&read(&cancelled)), "False/Cancelled");
    let mut late = read(&failed_with(Some("exited 143")));
    let stop = Stop::of_word("TimedOut@2026-01-01T00:00:00Z");
    late.ledger.current.as_mut().unwrap().stop = stop;
    assert_eq!(ready_is(&late), "False/TimedOut");
}

#[test]
fn the_reason_of_a_run_that_does_not_go_on_stays_with_the_words() {
    let mut facts = read(&running(run(2, "A")));
    assert_eq!(ready_is(&facts), "Unknown/RunInProgress");
    facts.hindrance = Hindrance::Said(Said::new("no node", RunReason::Unschedulable));
    assert_eq!(ready_is(&facts), "Unknown/Unschedulable");
    let status = report(&facts, None);
    assert_eq!(find(&status, RECONCILING).unwrap().reason, "Unschedulable");
    let mut later = facts.stored_as_reported().fresh();
    later.hindrance = Hindrance::NotAsked;
    assert_eq!(ready_is(&later), "Unknown/Unschedulable");
    later.hindrance = Hindrance::Nothing;
    assert_eq!(ready_is(&later), "Unknown/RunInProgress");
}

#[test]
fn a_run_whose_image_cannot_be_pulled_is_stalled_after_a_minute_until_it_can() {
    let mut facts = read(&running(run(2, "A")));
    let mut told = |now: i64, reason: Option<RunReason>| {
        let said = |reason| Hindrance::Said(Said::new("no image", reason));
        facts.now = Some(at(now));
        facts.hindrance = reason.map_or(Hindrance::Nothing, said);
        let status = report(&facts, None);
        facts.stored = Arc::new(status.clone());
        let mut abnormal = [RECONCILING, STALLED].into_iter();
        abnormal.find(|name| find(&status, name).is_some()).unwrap()
    };
    let pulls = Some(RunReason::ImagePullBackOff);
    assert_eq!(told(1_000, None), RECONCILING);
    assert_eq!(told(2_000, pulls), RECONCILING);
    assert_eq!(told(2_059, pulls), RECONCILING);
    assert_eq!(told(2_061, pulls), STALLED);
    assert_eq!(told(2_400, pulls), STALLED);
    assert_eq!(told(2_401, None), RECONCILING);
    let no_node = Some(RunReason::Unschedulable);
    assert_eq!(told(3_000, no_node), RECONCILING);
    assert_eq!(told(9_000, no_node), RECONCILING);
}

#[test]
fn a_failure_keeps_its_reason_when_nobody_can_be_asked_any_more() {
    let mut run = failed_with(None);
    run.pods_said = PodsSaid::Words(Said::new("exited 137", RunReason::OOMKilled));
    let told = read(&run).stored_as_reported();
    assert_eq!(ready_is(&told.fresh()), "False/OOMKilled");
}

#[test]
fn a_run_that_says_nothing_is_said_to_be_made_and_then_not_to_have_ended() {
    let made = with(pending(2, "A"), "A");
    assert_eq!(ready_message(&made), "the run is being made");
    let mut silent = running(run(2, "A"));
    silent.health.message.clear();
    let facts = read(&silent);
    assert_eq!(ready_message(&facts), "the run has not ended yet");
    // The report from before the run existed is over.
    let mut later = made.stored_as_reported();
    later.ledger = facts.ledger.clone();
    assert_eq!(ready_message(&later), "the run has not ended yet");
}

#[test]
fn no_word_of_a_run_is_one_of_what_is_wrong_with_a_runnable() {
    for reason in RunReason::ALL {
        assert_eq!(Category::parse(reason.as_str()), None, "{reason:?}");
    }
}
