//! Runs as they were before they were asked to stop.

use std::borrow::Cow;

use cartouche_engines::kinds::StopRequest;
use serde_json::Value;

use super::Facts;
use crate::evaluate::is_asked_to_stop;

impl Facts {
    /// Returns the run as it was before it was asked to stop, for comparison with a document. The patch that asks
    /// may change rendered fields, such as `activeDeadlineSeconds` of a Job. A run that only looks stopped, and was
    /// never asked, stays as it is.
    #[must_use]
    pub fn before_its_stop<'a>(&self, run: &'a Value, document: &Value) -> Cow<'a, Value> {
        let uid = run.pointer("/metadata/uid").and_then(Value::as_str);
        let by_controller = uid.is_some_and(|uid| self.ledger.stop_of(uid).is_some());
        if !by_controller && !is_asked_to_stop(run) {
            return Cow::Borrowed(run);
        }
        let text = |field: &str| run.get(field).and_then(Value::as_str).unwrap_or_default();
        let literal = self.literal_kind.as_ref();
        let literal = literal.map(|(api_version, kind)| (api_version.as_str(), kind.as_str()));
        let of_run = (text("apiVersion"), text("kind"));
        // A person who may not read the template cancels by the request of the kind.
        let ways = [
            self.policy.way_to_stop(of_run, literal),
            StopRequest::of_kind(of_run.0, of_run.1),
        ];
        ways.into_iter()
            .flatten()
            .fold(Cow::Borrowed(run), |run, way| {
                way.taken_back(&run, document).map_or(run, Cow::Owned)
            })
    }
}

#[cfg(test)]
mod tests {
    use cartouche_crds::{CANCEL_REQUEST_ANNOTATION, Cancellation};
    use serde_json::json;

    use super::*;
    use crate::{
        decide::tests::scene::with,
        ledger::tests::sample::{created, uid},
    };

    #[test]
    fn what_template_and_person_have_asked_for_is_taken_back_together() {
        let mut facts = with(created(2, "A"), "A").fresh();
        let suspending = json!({ "suspend": true }).as_object().cloned();
        facts.policy.stop = suspending.map(StopRequest::Patch);
        facts.literal_kind = Some(("batch/v1".to_owned(), "Job".to_owned()));
        let job = |annotations: Value, suspend: bool, seconds: i64| {
            json!({
                "apiVersion": "batch/v1", "kind": "Job",
                "metadata": { "uid": uid(2), "annotations": annotations },
                "spec": { "suspend": suspend, "activeDeadlineSeconds": seconds },
            })
        };
        let document = job(Value::Null, false, 600);
        let asked = json!({ CANCEL_REQUEST_ANNOTATION: Cancellation::default().annotation() });
        let spec = |run: Value| facts.before_its_stop(&run, &document)["spec"].clone();
        for (suspend, seconds) in [(true, 1), (true, 600), (false, 1)] {
            assert_eq!(spec(job(asked.clone(), suspend, seconds)), document["spec"]);
        }
        assert_eq!(spec(job(asked, false, 5))["activeDeadlineSeconds"], 5);
        assert_eq!(spec(job(json!({}), true, 1))["suspend"], true, "not asked");
    }
}
