//! Messages of the pods of a run.

use std::time::Duration;

use cartouche_engines::{RunReason, Said};
use cartouche_protocol::{facts::Hindrance, ledger::PodsSaid};

use crate::backoff::PODS;

/// Time for which a hindrance has to last before an event reports it. The first look is half a minute after the run was
/// made, and the second one half a minute later, give or take a fifth.
const REPORTED_AFTER: Duration = Duration::from_secs(24);

/// Hindrance of a run, and its beginning.
#[derive(Clone, Copy, Debug)]
struct Hindered {
    reason: RunReason,
    since: Duration,
    /// True once an event has reported it.
    is_reported: bool,
}

/// Messages of the pods of one run, and the time of the next look at them.
#[derive(Debug, Default)]
pub struct PodsMemory {
    uid: String,
    /// The reason why the run failed.
    failure: Option<Said>,
    /// The reason why it does not go on.
    pub hindrance: Hindrance,
    /// True if that is the end of a container, such as one that crashes again and again: a cause in any case.
    pub is_failure: bool,
    /// Time of the next look if none of them runs, on the clock that goes on while the machine sleeps.
    next_look: Option<Duration>,
    looks: u32,
    /// True if pods of it have failed, and it goes on.
    is_failing: bool,
    /// True once an event has reported that.
    is_failure_reported: bool,
    /// The hindrance that needs a user.
    hindered: Option<Hindered>,
}

impl PodsMemory {
    /// Returns the memory of the pods of the run with this uid. That of any other is forgotten.
    pub fn for_run(&mut self, uid: &str) -> &mut Self {
        if self.uid != uid {
            *self = Self {
                uid: uid.to_owned(),
                ..Self::default()
            };
        }
        self
    }

    /// Records the answer of the pods to why the run failed. The last message stays if no pod is left to give one: a
    /// Job that fails may delete its pods. What kept them from starting is a cause only if the run was too late
    /// (`is_late`); the end of one of their containers is one in any case.
    pub fn record_cause(&mut self, said: Result<Option<Said>, String>, is_late: bool) -> PodsSaid {
        let is_cause = is_late || self.is_failure;
        let hindrance = self.hindrance.report().filter(|_| is_cause);
        let hindrance = hindrance.map(Said::of_last);
        let known = self.failure.clone().or(hindrance);
        match (said, known) {
            // A later message only shows how they were stopped.
            _ if self.failure.is_some() => {
                PodsSaid::Words(self.failure.clone().unwrap_or_default())
            }
            (Ok(Some(said)), _) => {
                self.failure = Some(said.clone());
                PodsSaid::Words(said)
            }
            (Ok(None) | Err(_), Some(known)) => PodsSaid::Words(known),
            (Ok(None), None) => PodsSaid::Nothing,
            (Err(why), None) => PodsSaid::Unasked(why),
        }
    }

    /// Records that pods run. If none does later, they are looked at as seldom as before: a large Job always has gaps.
    pub fn run(&mut self, now: Duration) {
        self.hindrance = Hindrance::Nothing;
        self.hindered = None;
        // There is nothing to look at, which counts as a look.
        if self.next_look.is_some_and(|next| next <= now) {
            self.put_off(now);
        }
    }

    /// Returns the time until the next look. The first one is some time after it was first known that none runs.
    pub fn until_look(&mut self, now: Duration) -> Duration {
        let next = *self.next_look.get_or_insert_with(|| now + PODS.delay(0));
        next.saturating_sub(now)
    }

    /// Records that a pod has failed: the first one brings the next look forward to now.
    pub fn note_failed_pod(&mut self, now: Duration) {
        if !self.is_failing {
            self.is_failing = true;
            self.next_look = Some(now);
        }
    }

    /// Records that this hindrance is over.
    pub fn clear_hindrance(&mut self, reason: RunReason) {
        if matches!(&self.hindrance, Hindrance::Said(before) if before.reason == Some(reason)) {
            self.hindrance = Hindrance::Nothing;
            self.hindered = None;
        }
    }

    /// Records that the pods may not be looked at: that may be granted, but hardly soon.
    pub fn record_refusal(&mut self, now: Duration) {
        self.hindrance = Hindrance::Nothing;
        self.hindered = None;
        self.next_look = Some(now + PODS.longest);
    }

    /// Returns the last message if it is that a Job has no pods.
    #[must_use]
    pub fn no_pod(&self) -> Option<Said> {
        let said = self.hindrance.report();
        said.filter(|it| it.reason == Some(RunReason::NoPodYet))
    }

    /// Records the result of a look. `is_failure` is true if it is the end of a container.
    pub fn record_look(&mut self, said: Hindrance, is_failure: bool, now: Duration) {
        self.hindrance = said;
        self.is_failure = is_failure;
        let reason = self.hindrance.report().and_then(|said| said.reason);
        let is_failing = self.is_failing && is_failure;
        let reason = reason.filter(|it| it.is_hindrance() || is_failing);
        self.hindered = reason.map(|reason| {
            let same = self.hindered.filter(|it| it.reason == reason);
            same.unwrap_or(Hindered {
                reason,
                // A failure needs no second look.
                since: if is_failing { Duration::ZERO } else { now },
                is_reported: self.is_failure_reported && is_failing,
            })
        });
        self.put_off(now);
    }

    /// Returns the message for an event about the hindrance, if one is to be published now: once for each hindrance.
    /// The call counts as publishing.
    pub fn to_tell(&mut self, now: Duration) -> Option<Said> {
        let hindered = self.hindered.as_mut()?;
        if hindered.is_reported || now < hindered.since.saturating_add(REPORTED_AFTER) {
            return None;
        }
        hindered.is_reported = true;
        self.is_failure_reported |= self.is_failing && self.is_failure;
        self.hindrance.report()
    }

    /// Returns the time until an event may be published about the hindrance, if one is to be.
    #[must_use]
    pub fn time_until_report(&self, now: Duration) -> Option<Duration> {
        let hindered = self.hindered.filter(|it| !it.is_reported)?;
        let left = (hindered.since + REPORTED_AFTER).saturating_sub(now);
        (!left.is_zero()).then_some(left)
    }

    fn put_off(&mut self, now: Duration) {
        self.next_look = Some(now + PODS.delay(self.looks));
        self.looks = self.looks.saturating_add(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Duration = Duration::from_secs(1_000);

    #[test]
    fn pods_that_do_not_run_are_looked_at_after_a_while_and_then_less_and_less_often() {
        let mut pods = PodsMemory::default();
        let mut now = NOW;
        let mut waits = Vec::new();
        for _ in 0..10 {
            let wait = pods.for_run("u").until_look(now);
            now += wait;
            assert!(pods.for_run("u").until_look(now).is_zero());
            pods.for_run("u")
                .record_look(Hindrance::Said("why".into()), false, now);
            waits.push(wait.as_secs());
        }
        assert!((24..=36).contains(&waits[0]), "{waits:?}");
        assert!(
            waits[9] >= 240 && waits.iter().all(|wait| *wait <= 360),
            "{waits:?}"
        );
    }

    #[test]
    fn a_run_whose_pods_run_is_looked_at_less_and_less_often_too() {
        let mut pods = PodsMemory::default();
        let (mut now, mut looks) = (NOW, 0);
        pods.for_run("u").until_look(now);
        while now < NOW + Duration::from_hours(1) {
            pods.for_run("u").run(now);
            now += pods
                .for_run("u")
                .until_look(now)
                .max(Duration::from_millis(50));
            looks += 1;
        }
        assert!(looks < 30, "{looks} looks in an hour");
    }

    #[test]
    fn however_long_pods_have_run_it_is_seen_within_six_minutes_that_none_does() {
        let mut pods = PodsMemory::default();
        let mut now = NOW;
        pods.for_run("u").until_look(now);
        for _ in 0..100 {
            pods.for_run("u").run(now);
            let wait = pods.for_run("u").until_look(now);
            assert!(wait <= PODS.latest(), "{wait:?}");
            now += wait;
        }
        assert_eq!(PODS.latest(), Duration::from_mins(6));
    }

    #[test]
    fn what_is_over_is_told_no_more_and_all_else_is() {
        let mut pods = PodsMemory::default();
        let said = Said::new("no pod yet", RunReason::NoPodYet);
        pods.record_look(Hindrance::Said(said), false, NOW);
        pods.clear_hindrance(RunReason::Unschedulable);
        assert_eq!(pods.hindrance.report().as_deref(), Some("no pod yet"));
        pods.clear_hindrance(RunReason::NoPodYet);
        assert_eq!(pods.hindrance, Hindrance::Nothing);
    }

    #[test]
    fn what_pods_said_of_a_failure_stays_when_they_are_gone() {
        let words = |said: &str| PodsSaid::Words(said.into());
        let silence = || [Ok(None), Err("forbidden".to_owned())];
        let mut pods = PodsMemory::default();
        let unasked = PodsSaid::Unasked("forbidden".to_owned());
        assert_eq!(
            silence().map(|said| pods.record_cause(said, true)),
            [PodsSaid::Nothing, unasked]
        );
        pods.record_look(Hindrance::Said("no node".into()), false, NOW);
        // An early hindrance is no reason for a later failure.
        assert_eq!(pods.record_cause(Ok(None), false), PodsSaid::Nothing);
        assert_eq!(
            silence().map(|said| pods.record_cause(said, true)),
            [words("no node"), words("no node")]
        );
        assert_eq!(
            pods.record_cause(Ok(Some("exited 3".into())), true),
            words("exited 3")
        );
        assert_eq!(
            silence().map(|said| pods.record_cause(said, true)),
            [words("exited 3"), words("exited 3")]
        );
    }

    #[test]
    fn another_run_and_one_that_went_on_begin_anew() {
        let mut pods = PodsMemory::default();
        pods.for_run("u")
            .record_look(Hindrance::Said("why".into()), false, NOW);
        pods.for_run("u").record_cause(Ok(Some("no".into())), true);
        assert_eq!(pods.for_run("other").hindrance, Hindrance::NotAsked);
        assert_eq!(
            pods.for_run("u").record_cause(Ok(None), true),
            PodsSaid::Nothing
        );
        pods.for_run("u")
            .record_look(Hindrance::Said("why".into()), false, NOW);
        let before = pods.for_run("u").until_look(NOW);
        pods.for_run("u").run(NOW);
        assert_eq!(pods.for_run("u").hindrance, Hindrance::Nothing);
        assert_eq!(pods.for_run("u").until_look(NOW), before);
    }

    #[test]
    fn how_a_container_ended_again_and_again_is_a_cause_once_its_pod_is_gone() {
        let mut pods = PodsMemory::default();
        pods.record_look(Hindrance::Said("exited 3".into()), true, NOW);
        let said = pods.record_cause(Err("they are gone".to_owned()), false);
        assert_eq!(said, PodsSaid::Words("exited 3".into()));
    }

    #[test]
    fn an_event_tells_once_what_has_hindered_a_run_for_two_looks() {
        let pulls = || Hindrance::Said(Said::new("no image", RunReason::ImagePullBackOff));
        let (soon, later) = (NOW + Duration::from_secs(5), NOW + REPORTED_AFTER);
        let mut pods = PodsMemory::default();
        pods.record_look(pulls(), false, NOW);
        assert_eq!(pods.to_tell(soon), None);
        pods.record_look(pulls(), false, later);
        let told = pods.to_tell(later).unwrap();
        assert_eq!(told.reason, Some(RunReason::ImagePullBackOff));
        assert_eq!(pods.to_tell(later), None, "once");
        pods.run(later);
        pods.record_look(pulls(), false, later);
        assert_eq!(pods.to_tell(later), None, "it begins anew");
        assert!(pods.to_tell(later + REPORTED_AFTER).is_some());
        // Another hindrance begins.
        let no_node = Said::new("no node", RunReason::Unschedulable);
        let again = later + REPORTED_AFTER;
        pods.record_look(Hindrance::Said(no_node), false, again);
        assert_eq!(pods.to_tell(again), None);
        let told = pods.to_tell(again + REPORTED_AFTER).unwrap();
        assert_eq!(told.reason, Some(RunReason::Unschedulable));
    }

    #[test]
    fn that_pods_have_failed_is_told_at_once_and_once() {
        let said = |reason| Hindrance::Said(Said::new("1 pod has failed", reason));
        let mut pods = PodsMemory::default();
        pods.for_run("u").until_look(NOW);
        pods.for_run("u").note_failed_pod(NOW);
        assert!(pods.for_run("u").until_look(NOW).is_zero());
        pods.record_look(said(RunReason::PodFailed), true, NOW);
        assert!(pods.to_tell(NOW).is_some());
        assert_eq!(pods.to_tell(NOW), None);
        // Another pod has failed, in another way.
        pods.note_failed_pod(NOW);
        assert!(!pods.until_look(NOW).is_zero());
        pods.record_look(said(RunReason::OOMKilled), true, NOW);
        assert_eq!(pods.to_tell(NOW), None);
    }

    #[test]
    fn the_last_failure_of_a_run_is_told_without_the_number_of_the_others() {
        let said = Said::new(
            "2 pods have failed; the last: exited 3",
            RunReason::PodFailed,
        );
        let mut pods = PodsMemory::default();
        pods.record_look(Hindrance::Said(said), true, NOW);
        let PodsSaid::Words(said) = pods.record_cause(Ok(None), false) else {
            panic!("it is silent");
        };
        assert_eq!(said.words, "exited 3");
    }

    #[test]
    fn how_a_container_ended_is_no_event_while_its_engine_tries_again() {
        let mut pods = PodsMemory::default();
        pods.record_look(Hindrance::Said("exited 3".into()), true, NOW);
        assert_eq!(pods.to_tell(NOW + REPORTED_AFTER), None);
    }
}
