//! What is written to stop a run.

use cartouche_crds::{CANCEL_REQUEST_ANNOTATION, Cancellation};
use serde_json::{Value, json};

use super::{Cancel, known};

/// Whether somebody has written into a run that it is to stop, in the way of its kind. A deadline says nothing of
/// that: it may be the run's own.
#[must_use]
pub fn asked_to_stop(run: &Value) -> bool {
    let text = |field: &str| run.get(field).and_then(Value::as_str).unwrap_or_default();
    let Some(Cancel::Word { field, words }) =
        known(text("apiVersion"), text("kind")).map(|known| known.cancel)
    else {
        return false;
    };
    let word = run.get("spec").and_then(|spec| spec.get(field));
    word.and_then(Value::as_str)
        .is_some_and(|word| words.contains(&word))
}

/// What asks a run to stop, in the way of its kind.
#[derive(Clone, Debug, PartialEq)]
pub struct CancelRequest {
    field: &'static str,
    value: Value,
}

impl CancelRequest {
    /// The request for a run of this kind; `None` where it does no work, or nothing is known.
    #[must_use]
    pub fn of(api_version: &str, kind: &str) -> Option<Self> {
        let (field, value) = match known(api_version, kind)?.cancel {
            Cancel::Word { field, words } => (field, json!(words.first()?)),
            Cancel::Deadline { seconds } => ("activeDeadlineSeconds", json!(seconds)),
            Cancel::NeverAtWork | Cancel::Unknown => return None,
        };
        Some(Self { field, value })
    }

    /// Whether the run has been asked already.
    #[must_use]
    pub fn is_in(&self, run: &Value) -> bool {
        let spec = run.get("spec").unwrap_or(&Value::Null);
        spec.get(self.field) == Some(&self.value)
    }

    /// A JSON merge patch, which also says on the run who asked. With the uid of the run, an object that took its
    /// name meanwhile is left alone.
    #[must_use]
    pub fn patch(&self, uid: Option<&str>, asked: &Cancellation) -> Value {
        let annotations = json!({ CANCEL_REQUEST_ANNOTATION: asked.annotation() });
        json!({
            "metadata": { "uid": uid, "annotations": annotations },
            "spec": { self.field: self.value },
        })
    }
}
