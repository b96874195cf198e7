//! Clock of the API server.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use cartouche_crds::GROUP;
use cartouche_protocol::status::statement_time;
use http::{HeaderMap, header};
use k8s_openapi::{
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
    jiff::{Timestamp, fmt::rfc2822},
};

use crate::{clock::boot_time, lock::lock};

/// The API server's clock, by its latest answer. Clones share one clock.
#[derive(Clone, Default)]
pub struct ServerClock(Arc<Mutex<ClockAnswers>>);

/// Maximum duration of a request whose answer may set the time. The moment of the answer is unknown: the process may
/// have been stopped before it read it, and the time would lag by that.
const PROMPT: Duration = Duration::from_secs(2);
/// Difference from the known time, in seconds, above which an answer indicates a jump. Another answer has to confirm
/// it: runs are stopped by this time, which cannot be undone.
const JUMP: i64 = 30;
/// Path of a request that confirms a jump. The API server itself serves it.
pub(super) const CONFIRMED_AT: &str = "/version";

/// Answers that determine the time.
#[derive(Default)]
struct ClockAnswers {
    /// Answer that the time derives from.
    answered: Option<Answered>,
    /// Later answer that indicates a jump, until another one confirms or refutes it.
    doubted: Option<Answered>,
}

/// An answer of the API server.
#[derive(Clone, Copy)]
struct Answered {
    /// Its date, in seconds.
    date: i64,
    /// Time at which it came.
    at: Duration,
    /// Time that it took after its request.
    after: Duration,
}

impl Answered {
    /// Returns true if a later answer is of another clock, or of one that was set meanwhile. The date of each may be
    /// older than its arrival, by at most the duration of its request.
    fn is_set_by(self, later: Self) -> bool {
        let seconds = |time: Duration| i64::try_from(time.as_secs()).unwrap_or(i64::MAX);
        let passed = seconds(later.at.saturating_sub(self.at));
        let ahead = later.date.saturating_sub(self.date).saturating_sub(passed);
        let most = JUMP.saturating_add(seconds(self.after));
        let least = JUMP.saturating_add(seconds(later.after));
        ahead > most || ahead < least.saturating_neg()
    }
}

/// Returns true if the API server itself is known to answer requests of this path: the core group, and Cartouche's own.
/// Another group may be that of an aggregated API server with a clock of its own.
#[must_use]
pub(super) fn is_of_main(path: &str) -> bool {
    let group = path.strip_prefix("/apis/");
    let group = group.and_then(|path| path.split('/').next());
    path.starts_with("/api/v1/") || group == Some(GROUP) || path == CONFIRMED_AT
}

impl ServerClock {
    /// Returns the date of the latest prompt answer, plus the time since, in whole seconds. It is never ahead of the
    /// server's clock, as far as both run alike, and at most three seconds behind after a prompt answer. `None` before
    /// the first answer.
    #[must_use]
    pub fn now(&self) -> Option<Timestamp> {
        let answered = lock(&self.0).answered?;
        let since = boot_time().saturating_sub(answered.at).as_secs();
        let now = answered.date.saturating_add(i64::try_from(since).ok()?);
        Timestamp::from_second(now).ok()
    }

    /// Returns the time for the status of an object, never before its creation.
    #[must_use]
    pub fn now_for(&self, object: &ObjectMeta) -> Option<Timestamp> {
        let created = object.creation_timestamp.as_ref().map(|at| at.0);
        statement_time(self.now(), created)
    }

    /// Takes the time from an answer of the API server itself to a request that was sent at `sent`, by [`boot_time`].
    /// Returns true if it indicates a jump that another request should confirm. Until then, the known time continues.
    #[must_use]
    pub(super) fn read(&self, headers: &HeaderMap, sent: Duration) -> bool {
        let date = headers
            .get(header::DATE)
            .and_then(|date| date.to_str().ok());
        let Some(date) = date.and_then(|date| rfc2822::parse(date).ok()) else {
            return false;
        };
        let at = boot_time();
        let answer = Answered {
            date: date.timestamp().as_second(),
            at,
            after: at.saturating_sub(sent),
        };
        lock(&self.0).take_in(answer, sent)
    }
}

impl ClockAnswers {
    fn take_in(&mut self, answer: Answered, sent: Duration) -> bool {
        if let Some(known) = self.answered {
            if answer.after > known.after.max(PROMPT) {
                return false;
            }
            let is_jump = known.is_set_by(answer);
            let doubted = self.doubted.filter(|it| is_jump && !it.is_set_by(answer));
            match doubted {
                None if is_jump => {
                    self.doubted = Some(answer);
                    return true;
                }
                // It was sent before the doubted answer came, and may be of the same moment.
                Some(doubted) if sent < doubted.at => return false,
                _ => {}
            }
        }
        *self = Self {
            answered: Some(answer),
            doubted: None,
        };
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(clock: &ServerClock, date: &'static str, late: u64) -> Option<String> {
        let mut headers = HeaderMap::new();
        headers.insert(header::DATE, date.parse().unwrap());
        let sent = boot_time().saturating_sub(Duration::from_secs(late));
        let _ = clock.read(&headers, sent);
        clock.now().map(|now| now.to_string())
    }

    /// Does the same a moment earlier, so that the next request is a later one.
    fn told_before(clock: &ServerClock, date: &'static str) -> Option<String> {
        let told = told(clock, date, 0);
        std::thread::sleep(Duration::from_millis(2));
        told
    }

    #[test]
    fn an_answer_that_was_long_under_way_tells_no_time_if_another_came_sooner() {
        let clock = ServerClock::default();
        let first = told(&clock, "Thu, 01 Jan 2026 00:00:10 GMT", 70);
        assert_eq!(first.as_deref(), Some("2026-01-01T00:00:10Z"));
        let sooner = told(&clock, "Thu, 01 Jan 2026 00:01:30 GMT", 0);
        assert_eq!(sooner.as_deref(), Some("2026-01-01T00:01:30Z"));
        let late = told(&clock, "Thu, 01 Jan 2026 00:00:20 GMT", 70);
        assert_eq!(late.as_deref(), Some("2026-01-01T00:01:30Z"));
        let next = told(&clock, "Thu, 01 Jan 2026 00:02:00 GMT", 1);
        assert_eq!(next.as_deref(), Some("2026-01-01T00:02:00Z"));
    }

    #[test]
    fn a_jump_is_believed_when_a_later_answer_confirms_it() {
        for (jumped, again) in [
            (
                "Fri, 02 Jan 2026 00:00:00 GMT",
                "Fri, 02 Jan 2026 00:00:01 GMT",
            ),
            (
                "Wed, 31 Dec 2025 00:00:00 GMT",
                "Wed, 31 Dec 2025 00:00:01 GMT",
            ),
        ] {
            let clock = ServerClock::default();
            let first = told_before(&clock, "Thu, 01 Jan 2026 00:00:00 GMT");
            assert_eq!(told_before(&clock, jumped), first);
            // A request that was sent before the first answer may have met the same server with the same error.
            assert_eq!(told(&clock, again, 1), first);
            assert_ne!(told(&clock, again, 0), first);
        }
    }

    #[test]
    fn a_jump_that_the_next_answer_denies_has_not_been() {
        let clock = ServerClock::default();
        let first = told_before(&clock, "Thu, 01 Jan 2026 00:00:00 GMT");
        for _ in 0..3 {
            assert_eq!(told_before(&clock, "Fri, 02 Jan 2026 00:00:00 GMT"), first);
            assert_eq!(told_before(&clock, "Thu, 01 Jan 2026 00:00:00 GMT"), first);
        }
        // Two different jumps do not confirm each other either.
        assert_eq!(told_before(&clock, "Fri, 02 Jan 2026 00:00:00 GMT"), first);
        assert_eq!(told_before(&clock, "Sat, 03 Jan 2026 00:00:00 GMT"), first);
    }

    #[test]
    fn a_clock_that_is_a_little_off_is_believed_at_once() {
        let clock = ServerClock::default();
        told(&clock, "Thu, 01 Jan 2026 00:01:00 GMT", 0);
        let ahead = told(&clock, "Thu, 01 Jan 2026 00:01:29 GMT", 0);
        assert_eq!(ahead.as_deref(), Some("2026-01-01T00:01:29Z"));
        let behind = told(&clock, "Thu, 01 Jan 2026 00:01:04 GMT", 0);
        assert_eq!(behind.as_deref(), Some("2026-01-01T00:01:04Z"));
    }

    #[test]
    fn only_what_the_api_server_itself_answers_tells_the_time() {
        for path in [
            "/api/v1/namespaces/a/pods",
            "/apis/carto.run/v1alpha1/namespaces/a/runnables/b/status",
            "/version",
        ] {
            assert!(is_of_main(path), "{path}");
        }
        for path in [
            "/apis/metrics.k8s.io/v1beta1/namespaces/a/pods",
            "/apis/carto.run.example.com/v1/x",
            "/apis/batch/v1/namespaces/a/jobs",
            "/api/v2/x",
            "/apis",
            "/versions",
        ] {
            assert!(!is_of_main(path), "{path}");
        }
    }
}
