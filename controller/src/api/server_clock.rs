//! What time it is for the API server.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use cartouche_protocol::status::told_at;
use http::{HeaderMap, header};
use k8s_openapi::{
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
    jiff::{Timestamp, fmt::rfc2822},
};

use crate::{clock::boot_time, lock::lock};

/// The API server's clock, by its latest answer. Clones are one clock.
#[derive(Clone, Default)]
pub struct ServerClock(Arc<Mutex<Option<Answered>>>);

/// So long an answer may be under way that tells the time. When it was given nobody knows: the process may have been stopped
/// before it came to read it, and the time would be behind by that.
const PROMPT: Duration = Duration::from_secs(2);

/// An answer of the API server.
#[derive(Clone, Copy)]
struct Answered {
    /// The second that it names.
    date: i64,
    /// When it came.
    at: Duration,
    /// How long after its request.
    after: Duration,
}

impl ServerClock {
    /// The date of the latest answer that came soon, and the time that has gone by since, in whole seconds. It is never ahead
    /// of what that server would say, as far as both clocks run alike, and behind by three seconds at most once one came
    /// soon. `None` before the first answer.
    #[must_use]
    pub fn now(&self) -> Option<Timestamp> {
        let answered = (*lock(&self.0))?;
        let since = boot_time().saturating_sub(answered.at).as_secs();
        let now = answered.date.saturating_add(i64::try_from(since).ok()?);
        Timestamp::from_second(now).ok()
    }

    /// The same, for what is said of an object.
    #[must_use]
    pub fn now_for(&self, object: &ObjectMeta) -> Option<Timestamp> {
        let created = object.creation_timestamp.as_ref().map(|at| at.0);
        told_at(self.now(), created)
    }

    /// Takes the time out of an answer to a request that was sent then, by [`boot_time`].
    pub(super) fn read(&self, headers: &HeaderMap, sent: Duration) {
        let date = headers
            .get(header::DATE)
            .and_then(|date| date.to_str().ok());
        if let Some(now) = date.and_then(|date| rfc2822::parse(date).ok()) {
            let at = boot_time();
            let after = at.saturating_sub(sent);
            let mut known = lock(&self.0);
            if known.is_none_or(|known| after <= known.after.max(PROMPT)) {
                *known = Some(Answered {
                    date: now.timestamp().as_second(),
                    at,
                    after,
                });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(clock: &ServerClock, date: &'static str, late: u64) -> Option<String> {
        let mut headers = HeaderMap::new();
        headers.insert(header::DATE, date.parse().unwrap());
        clock.read(
            &headers,
            boot_time().saturating_sub(Duration::from_secs(late)),
        );
        clock.now().map(|now| now.to_string())
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
}
