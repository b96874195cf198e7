//! Writes of statuses of templates and profiles: their pace, and the retry of refused ones. I/O.

use std::{
    borrow::Borrow,
    collections::HashMap,
    hash::Hash,
    sync::{Arc, Mutex},
    time::Duration,
};

use cartouche_protocol::pace::{News, REPEATED_AFTER, StatusChange, StatusPace, WriteTime};
use kube::{Resource, ResourceExt, runtime::controller::Action};
use serde::{Serialize, de::IgnoredAny};
use serde_json::Value;

use crate::{
    api::{ApiError, Requests},
    backoff::{FIFTH, STEPS},
    clock::boot_time,
    definitions::Definitions,
    lock::lock,
};

/// Pause after a conflict, and until the API server's time is known.
pub(crate) const PAUSE: Duration = Duration::from_secs(5);
/// Time after a failed write from which on the next failure counts as the first one.
const FORGOTTEN_AFTER: Duration = Duration::from_mins(15);

/// State of the writes of statuses of templates or profiles.
pub struct StatusWrites {
    refusals: Refusals,
    paces: Paces,
    definitions: Arc<Definitions>,
}

impl StatusWrites {
    /// Creates the state before the first write. Fields that the API server drops are reported to `definitions`.
    #[must_use]
    pub fn new(definitions: Arc<Definitions>) -> Self {
        Self {
            refusals: Refusals::default(),
            paces: Paces::default(),
            definitions,
        }
    }

    /// Returns `None` if a status is to be written now, and else the action to take instead.
    pub(crate) fn due(&self, name: &str, change: &StatusChange) -> Option<Action> {
        match self.paces.due(name, change, boot_time()) {
            WriteTime::Now => None,
            WriteTime::After(left) => Some(Action::requeue(left)),
            WriteTime::Never => {
                self.refusals.remove(name);
                Some(Action::await_change())
            }
        }
    }
}

/// Pace of the writes of each status, by the key of its object.
pub(crate) struct Paces<K = String>(Mutex<HashMap<K, StatusPace>>);

impl<K> Default for Paces<K> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Eq + Hash> Paces<K> {
    /// Returns the time at which a change is to be written.
    pub(crate) fn due<Q>(&self, of: &Q, change: &StatusChange, now: Duration) -> WriteTime
    where
        K: Borrow<Q>,
        Q: ToOwned<Owned = K> + Eq + Hash + ?Sized,
    {
        if change.news == News::Nothing {
            if let Some(pace) = lock(&self.0).get_mut(of) {
                pace.due(change, now);
            }
            return WriteTime::Never;
        }
        lock(&self.0)
            .entry(of.to_owned())
            .or_default()
            .due(change, now)
    }

    /// Records a write.
    pub(crate) fn record_write(&self, of: K, change: &StatusChange, now: Duration) {
        let mut all = lock(&self.0);
        let is_of_use =
            |pace: &StatusPace| pace.last().is_some_and(|at| at + 2 * REPEATED_AFTER > now);
        all.retain(|_, pace| is_of_use(pace));
        all.entry(of).or_default().record_write(change, now);
    }
}

/// Templates or profiles whose status could not be written: the number of failures in a row, and the time of the last
/// one.
#[derive(Default)]
struct Refusals(Mutex<HashMap<String, (u32, Duration)>>);

impl Refusals {
    /// Records a refusal. Returns the pause before the next try.
    fn add(&self, template: &str, now: Duration) -> Duration {
        let mut all = lock(&self.0);
        all.retain(|_, (_, last)| *last + FORGOTTEN_AFTER > now);
        let (attempts, last) = all.entry(template.to_owned()).or_default();
        let pause = STEPS.delay(*attempts);
        (*attempts, *last) = (*attempts + 1, now);
        pause
    }

    /// Forgets the refusals: the status was written, or there is nothing to write.
    fn remove(&self, template: &str) {
        lock(&self.0).remove(template);
    }
}

/// Writes the status of a template or profile. Returns the action that leads to the next try.
pub(crate) async fn write<K, S>(
    requests: &Requests,
    writes: &StatusWrites,
    object: &K,
    spec: Value,
    (status, change): (&S, &StatusChange),
) -> Action
where
    K: Resource<DynamicType = ()>,
    S: Serialize,
{
    let name = object.name_any();
    let version = object.resource_version().unwrap_or_default();
    // The content of the answer is not read: a template may be large.
    let written = requests
        .replace_status::<IgnoredAny, _>(object, &version, (spec, status), false)
        .await;
    match written {
        Err(error) if error.is_conflict() => Action::requeue(FIFTH.over(PAUSE)),
        // Definitions that drop fields of a status may drop those of a spec as well.
        Err(ApiError::Dropped(fields)) => {
            Action::requeue(writes.definitions.drop_fields(&fields, boot_time()))
        }
        Err(error) if !error.is_not_found() => {
            tracing::debug!(kind = %K::kind(&()), name, %error, "a status was not written");
            Action::requeue(writes.refusals.add(&name, boot_time()))
        }
        Ok(_) | Err(_) => {
            writes.refusals.remove(&name);
            writes.paces.record_write(name, change, boot_time());
            Action::await_change()
        }
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::jiff::Timestamp;

    use super::*;
    use crate::template_status;

    #[test]
    fn a_template_whose_status_is_refused_is_tried_later_each_time() {
        let refusals = Refusals::default();
        let mut now = Duration::from_secs(1);
        let first = refusals.add("a", now);
        assert!(first < Duration::from_secs(2), "{first:?}");
        let mut pause = first;
        for _ in 0..12 {
            now += pause;
            pause = refusals.add("a", now);
        }
        assert!(pause >= Duration::from_mins(4), "{pause:?}");
        let other = refusals.add("b", now);
        assert!(other < Duration::from_secs(2), "each for itself: {other:?}");
        refusals.remove("a");
        assert!(refusals.add("a", now) < Duration::from_secs(2));
    }

    #[test]
    fn of_templates_that_are_gone_nothing_is_kept() {
        let refusals = Refusals::default();
        refusals.add("gone", Duration::ZERO);
        refusals.add("a", FORGOTTEN_AFTER);
        assert_eq!(lock(&refusals.0).len(), 1);
        let paces = Paces::default();
        let ours = template_status::refusal_conditions(&[], "a", Some(1), Timestamp::UNIX_EPOCH);
        let change = StatusChange::of_conditions(&[], &ours);
        paces.record_write("gone".to_owned(), &change, Duration::ZERO);
        paces.record_write("a".to_owned(), &change, 2 * REPEATED_AFTER);
        assert_eq!(lock(&paces.0).len(), 1);
    }
}
