//! Status of each of the controller's own kinds for an object that cannot be read.

use cartouche_crds::{ClusterRunProfile, ClusterRunTemplate};
use cartouche_protocol::{category::Category, messages::format::truncate, status};
use k8s_openapi::{apimachinery::pkg::apis::meta::v1::Condition, jiff::Timestamp};
use serde_json::{Value, json};

use crate::{
    cached_runnable::CachedRunnable,
    events::{Events, Occasion},
    metrics::Metrics,
    serve::guarded::{OwnKind, Unreadable},
    template_status,
};

/// A kind whose status can report that an object cannot be read.
pub(in crate::serve) trait ReportUnreadable: OwnKind {
    /// Returns the conditions of an object that cannot be read, including those that stay.
    fn conditions(
        unreadable: &Unreadable,
        generation: Option<i64>,
        now: Timestamp,
    ) -> Vec<Condition>;

    /// Returns the spec that the schema requires in a write of the status; the server ignores it.
    fn placeholder() -> Value;

    /// Reports a new problem beside the status.
    fn announce(self, _: (Category, String), _: &Events, _: &Metrics, _: Timestamp) {}
}

impl ReportUnreadable for CachedRunnable {
    fn conditions(
        unreadable: &Unreadable,
        generation: Option<i64>,
        now: Timestamp,
    ) -> Vec<Condition> {
        status::unreadable(
            &unreadable.stored,
            &message(&unreadable.why),
            generation,
            now,
        )
    }

    fn placeholder() -> Value {
        json!({ "runTemplateRef": { "name": "unread" } })
    }

    fn announce(
        self,
        (category, message): (Category, String),
        events: &Events,
        metrics: &Metrics,
        now: Timestamp,
    ) {
        metrics.problem(category);
        let occasion = Occasion::Warning {
            reason: category.to_string(),
            message,
        };
        events.publish(&self, &occasion, Some(now));
    }
}

impl ReportUnreadable for ClusterRunTemplate {
    fn conditions(
        unreadable: &Unreadable,
        generation: Option<i64>,
        now: Timestamp,
    ) -> Vec<Condition> {
        let why = without_place(&unreadable.why);
        let message = truncate(format!("the template cannot be read: {why}"));
        template_status::refusal_conditions(&unreadable.stored, &message, generation, now)
    }

    fn placeholder() -> Value {
        json!({ "template": {} })
    }
}

impl ReportUnreadable for ClusterRunProfile {
    fn conditions(
        unreadable: &Unreadable,
        generation: Option<i64>,
        now: Timestamp,
    ) -> Vec<Condition> {
        let why = without_place(&unreadable.why);
        let message = truncate(format!("the profile cannot be read: {why}"));
        template_status::refusal_conditions(&unreadable.stored, &message, generation, now)
    }

    fn placeholder() -> Value {
        json!({})
    }
}

pub(super) fn message(why: &str) -> String {
    let why = without_place(why);
    truncate(format!(
        "the Runnable cannot be read, so no run is created and none is followed: {why}"
    ))
}

/// Removes the line and column of an error. They mean nothing to users, since the text is the API server's. Any write
/// may move them, and the same problem would be reported anew.
fn without_place(why: &str) -> &str {
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let mut why = why;
    while let Some((what, place)) = why.rsplit_once(" at line ")
        && let Some((line, column)) = place.split_once(" column ")
        && is_number(line)
        && is_number(column)
    {
        why = what;
    }
    why
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::serve::guarded::Guarded;

    fn unreadable(labels: &serde_json::Value) -> Unreadable {
        let text = json!({
            "metadata": { "name": "a", "labels": labels },
            "spec": { "inputs": 5, "runTemplateRef": { "name": "t" } },
        });
        let guarded: Guarded<CachedRunnable> = serde_json::from_str(&text.to_string()).unwrap();
        guarded.object.unwrap_err()
    }

    #[test]
    fn what_is_wrong_is_said_once_whatever_else_is_written() {
        let now = Timestamp::UNIX_EPOCH;
        let first = unreadable(&json!({}));
        let mut second = unreadable(&json!({ "another": "label" }));
        assert_ne!(first.why, second.why, "the places differ");
        second.stored = CachedRunnable::conditions(&first, Some(1), now);
        let again = CachedRunnable::conditions(&second, Some(1), now);
        assert_eq!(again, second.stored);
    }

    #[test]
    fn only_the_place_at_the_end_is_left_out() {
        for (why, said) in [
            ("spec: no at line 1 column 20", "spec: no"),
            ("no at line 1 column 2 at line 1 column 90", "no"),
            ("it has 5 bytes", "it has 5 bytes"),
            ("no at line x column 2", "no at line x column 2"),
            (
                "\"at line 1 column 2\" is no number",
                "\"at line 1 column 2\" is no number",
            ),
        ] {
            assert_eq!(without_place(why), said);
        }
    }
}
