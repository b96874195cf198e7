//! Permissions that an account lacks.

use std::time::Duration;

use cartouche_protocol::messages::diagnosis::Denied;

/// Time between two requests, answered or not: a Runnable may be reconciled many times in between.
const KEPT_FOR: Duration = Duration::from_secs(5);

/// Time for which an answer is reported while there is no new one, so that the message does not flap.
const REPORTED_FOR: Duration = Duration::from_mins(1);

/// Subject of an answer: generation of the Runnable, uid and generation of its template.
pub type About = (i64, String, i64);

/// Permissions that an account lacked at the last request. Times are by the clock that goes on while the machine
/// sleeps.
#[derive(Clone, Debug)]
pub struct MissingPermissions {
    about: About,
    /// Time of the last request, unless something may have been granted since.
    asked_at: Option<Duration>,
    /// The last answer, and its time.
    answer: Option<(Duration, Vec<Denied>)>,
}

impl MissingPermissions {
    /// Creates the state before the first request.
    #[must_use]
    pub fn new(about: About) -> Self {
        Self {
            about,
            asked_at: None,
            answer: None,
        }
    }

    /// Returns true if it is about this.
    #[must_use]
    pub fn is_about(&self, about: &About) -> bool {
        self.about == *about
    }

    /// Returns true if it is time for a request.
    #[must_use]
    pub fn is_due(&self, now: Duration) -> bool {
        self.asked_at
            .is_none_or(|asked| now.saturating_sub(asked) >= KEPT_FOR)
    }

    /// Records a request; `None` if it has no answer, which another one at once would not have either.
    pub fn record_answer(&mut self, answer: Option<Vec<Denied>>, now: Duration) {
        self.asked_at = Some(now);
        if let Some(missing) = answer {
            self.answer = Some((now, missing));
        }
    }

    /// Allows a request at once, since something may have been granted. The last answer is reported until then.
    pub fn ask_again(&mut self) {
        self.asked_at = None;
    }

    /// Returns the missing permissions of the last answer, none if that is too old.
    #[must_use]
    pub fn fresh_answer(&self, now: Duration) -> Vec<Denied> {
        let answer = self.answer.as_ref();
        let answer = answer.filter(|(at, _)| now.saturating_sub(*at) < REPORTED_FOR);
        answer.map_or_else(Vec::new, |(_, missing)| missing.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Duration = Duration::from_hours(1);

    fn asked(answer: Option<Vec<Denied>>) -> MissingPermissions {
        let mut missing = MissingPermissions::new((1, "t".to_owned(), 1));
        assert!(missing.is_due(NOW));
        missing.record_answer(answer, NOW);
        missing
    }

    fn jobs() -> Vec<Denied> {
        vec![Denied::one("create", "jobs.batch")]
    }

    #[test]
    fn nobody_asks_again_at_once_whether_or_not_there_was_an_answer() {
        for answer in [Some(jobs()), None] {
            let missing = asked(answer);
            assert!(!missing.is_due(NOW + KEPT_FOR / 2));
            assert!(missing.is_due(NOW + KEPT_FOR));
        }
    }

    #[test]
    fn an_answer_is_told_a_while_longer_where_no_other_can_be_had() {
        let mut missing = asked(Some(jobs()));
        let mut now = NOW;
        while now < NOW + REPORTED_FOR {
            assert_eq!(missing.fresh_answer(now), jobs());
            missing.record_answer(None, now);
            now += KEPT_FOR;
        }
        assert_eq!(missing.fresh_answer(now), []);
    }

    #[test]
    fn what_was_granted_is_asked_at_once_and_what_was_known_is_told_until_then() {
        let mut missing = asked(Some(jobs()));
        missing.ask_again();
        assert!(missing.is_due(NOW));
        missing.record_answer(None, NOW);
        assert_eq!(missing.fresh_answer(NOW), jobs());
        assert_eq!(missing.fresh_answer(NOW + REPORTED_FOR), []);
    }

    #[test]
    fn a_newer_answer_takes_the_place_of_the_last() {
        let mut missing = asked(Some(jobs()));
        missing.record_answer(Some(Vec::new()), NOW + KEPT_FOR);
        assert_eq!(missing.fresh_answer(NOW + KEPT_FOR), []);
    }
}
