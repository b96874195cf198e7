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

/// An answer of the API server.
#[derive(Clone, Copy)]
struct Answered {
    /// The second that it names.
    date: i64,
    /// When it came.
    at: Duration,
}

impl ServerClock {
    /// The date of the latest answer, and the time that has gone by since, in whole seconds. It is never ahead of
    /// what that server would say, as far as both clocks run alike. `None` before the first answer.
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

    /// Takes the time out of an answer.
    pub(super) fn read(&self, headers: &HeaderMap) {
        let date = headers
            .get(header::DATE)
            .and_then(|date| date.to_str().ok());
        if let Some(now) = date.and_then(|date| rfc2822::parse(date).ok()) {
            *lock(&self.0) = Some(Answered {
                date: now.timestamp().as_second(),
                at: boot_time(),
            });
        }
    }
}
