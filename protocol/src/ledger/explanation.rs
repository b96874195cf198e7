//! Explanation for people, in one sentence, of why a run failed or does not progress, from what its engine and its
//! pods report. Pure.

use cartouche_crds::{Stop, StopReason};
use cartouche_engines::{RunReason, Verdict};

use super::{FetchedRun, PodsSaid};
use crate::messages::format::truncate;

/// Message for a failure whose pods are gone.
pub const PODS_GONE: &str =
    "its pods, which would tell why, are gone (evicted, drained, deleted, or stopped with the Job)";

/// Returns the explanation of a run: why it failed, else the message of its engine. `stop` is its recorded stop in
/// the ledger.
#[must_use]
pub fn explanation(run: &FetchedRun, stop: Option<&Stop>) -> String {
    if run.health.verdict == Verdict::Failed {
        truncate(failure(run, stop))
    } else {
        run.health.message.clone()
    }
}

/// Returns the same, with the reason why its pods were not asked, if they were not.
#[must_use]
pub fn explanation_with_excuse(run: &FetchedRun, stop: Option<&Stop>) -> String {
    let said = explanation(run, stop);
    match &run.pods_said {
        PodsSaid::Unasked(why) if explain_stop(run, stop).is_none() => {
            truncate(format!("{said}; {why}"))
        }
        _ => said,
    }
}

/// Returns the beginning of an explanation: `Job failed (BackoffLimitExceeded)`.
pub(crate) fn format_failure(kind: &str, cause: &str) -> String {
    match cause {
        "" => format!("{kind} failed"),
        cause => format!("{kind} failed ({cause})"),
    }
}

/// Formats `Job failed (BackoffLimitExceeded): container migrate of pod x exited 3: ...; the Job says: ...`.
fn failure(run: &FetchedRun, stop: Option<&Stop>) -> String {
    let (kind, health) = (&run.run.kind, &run.health);
    let failed = format_failure(kind, &health.cause);
    let message = &health.message;
    // A deliberate stop explains more than the way in which the run ended.
    let stopped = explain_stop(run, stop);
    let words = match &run.pods_said {
        PodsSaid::Words(said) => Some(&said.words),
        PodsSaid::Nothing | PodsSaid::Unasked(_) => None,
    };
    match stopped.as_ref().or(words) {
        Some(said) if message.is_empty() => format!("{failed}: {said}"),
        Some(said) => format!("{failed}: {said}; the {kind} says: {message}"),
        None if message.is_empty() => failed,
        // This is all that the engine says, and all that Cartographer had.
        None if health.cause.is_empty() => message.clone(),
        None => format!("{failed}: {message}"),
    }
}

/// Returns the reason of a failure in one word, if one of the closed set fits. It is the same with which the
/// explanation begins.
pub(crate) fn reason_of_failure(run: &FetchedRun, stop: Option<&Stop>) -> Option<RunReason> {
    let by_person = run.stopped.as_ref().map(|_| RunReason::Cancelled);
    let by_pods = match &run.pods_said {
        PodsSaid::Words(said) => said.reason,
        PodsSaid::Nothing | PodsSaid::Unasked(_) => run.health.pods,
    };
    let by_engine = || RunReason::of_engine(&run.health.cause);
    reason_of_stop(stop)
        .or(by_person)
        .or(by_pods)
        .or_else(by_engine)
}

/// Returns the reason in one word why a stopped run ended.
pub(crate) fn reason_of_stop(stop: Option<&Stop>) -> Option<RunReason> {
    match stop?.reason {
        StopReason::TimedOut => Some(RunReason::TimedOut),
        StopReason::Replaced => Some(RunReason::Replaced),
        StopReason::Cancelled => Some(RunReason::Cancelled),
        StopReason::Withdrawn | StopReason::Other(_) => None,
    }
}

/// Returns who or what stopped the run.
pub(crate) fn explain_stop(run: &FetchedRun, stop: Option<&Stop>) -> Option<String> {
    let by_us = |stop: &&Stop| matches!(stop.reason, StopReason::TimedOut | StopReason::Replaced);
    let by_us = stop.filter(by_us).map(ToString::to_string);
    by_us.or_else(|| run.stopped.as_ref().map(ToString::to_string))
}

#[cfg(test)]
mod tests {
    use cartouche_engines::Verdict;

    use super::{FetchedRun as Run, Stop};
    use crate::ledger::{FetchedRun, PodsSaid, tests::sample::*};

    fn explanation(run: &Run) -> String {
        super::explanation(run, None)
    }

    fn job(cause: &str, message: &str, said: Option<&str>) -> FetchedRun {
        let mut job = failed(run(1, "A"));
        job.run.kind = "Job".to_owned();
        job.health.cause = cause.to_owned();
        job.health.message = message.to_owned();
        job.pods_said = said.map_or(PodsSaid::Nothing, |said| PodsSaid::Words(said.into()));
        job
    }

    #[test]
    fn the_reason_and_the_pods_come_before_the_words_of_the_engine() {
        let cases = [
            (
                job("BackoffLimitExceeded", "it burned", Some("exited 3")),
                "Job failed (BackoffLimitExceeded): exited 3; the Job says: it burned",
            ),
            (
                job("BackoffLimitExceeded", "it burned", None),
                "Job failed (BackoffLimitExceeded): it burned",
            ),
            (
                job("", "it burned", Some("exited 3")),
                "Job failed: exited 3; the Job says: it burned",
            ),
            (job("Evicted", "", None), "Job failed (Evicted)"),
            (job("", "", None), "Job failed"),
        ];
        for (job, wanted) in cases {
            assert_eq!(explanation(&job), wanted);
        }
    }

    #[test]
    fn an_engine_that_gives_no_reason_is_quoted_as_cartographer_did() {
        assert_eq!(explanation(&job("", "it burned", None)), "it burned");
    }

    #[test]
    fn that_the_pods_could_not_be_asked_is_an_excuse_and_no_reason() {
        let mut unasked = job("BackoffLimitExceeded", "it burned", None);
        unasked.pods_said = PodsSaid::Unasked("they may not be listed".to_owned());
        let plain = "Job failed (BackoffLimitExceeded): it burned";
        assert_eq!(explanation(&unasked), plain);
        let excused = super::explanation_with_excuse(&unasked, None);
        assert_eq!(excused, format!("{plain}; they may not be listed"));
    }

    #[test]
    fn who_stopped_a_run_is_told_rather_than_how_its_container_ended() {
        let mut stopped = job("DeadlineExceeded", "it was late", Some("exited 143"));
        stopped.stopped =
            cartouche_crds::Cancellation::parse(r#"{"by":"alice","reason":"the wrong branch"}"#);
        let wanted = "Job failed (DeadlineExceeded): stopped by alice: the wrong branch; the Job says: it was late";
        assert_eq!(explanation(&stopped), wanted);
        stopped.health.verdict = Verdict::Succeeded;
        assert_eq!(
            explanation(&stopped),
            "it was late",
            "it ended before it was stopped"
        );
    }

    #[test]
    fn nothing_is_said_to_have_failed_that_has_not() {
        assert_eq!(explanation(&succeeded(run(1, "A"), "x")), "Succeeded");
        assert_eq!(explanation(&running(run(1, "A"))), "Unknown");
    }

    #[test]
    fn that_its_timeout_stopped_a_run_is_told_rather_than_how_its_container_ended() {
        let stop = Stop::of_word("TimedOut@2026-01-01T00:00:00Z").unwrap();
        let late = job("DeadlineExceeded", "it was late", Some("exited 143"));
        assert_eq!(
            super::explanation(&late, Some(&stop)),
            "Job failed (DeadlineExceeded): stopped by its timeout at 2026-01-01T00:00:00Z; the Job says: it was late"
        );
    }
}
