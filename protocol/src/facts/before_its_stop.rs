//! A run as it was before it was asked to stop.

use std::borrow::Cow;

use serde_json::Value;

use super::Facts;
use crate::evaluate::is_asked_to_stop;

impl Facts {
    /// A run as it was before it was asked to stop, to compare it with a document: the patch that asks may change what was
    /// rendered, as `activeDeadlineSeconds` of a Job. One that only looks so, and was never asked, stays as it is.
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
        let way = self
            .policy
            .way_to_stop((text("apiVersion"), text("kind")), literal);
        let before = way.and_then(|way| way.taken_back(run, document));
        before.map_or(Cow::Borrowed(run), Cow::Owned)
    }
}
