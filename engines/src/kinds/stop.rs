//! Requests to the API server that stop a run.

use cartouche_crds::{CANCEL_REQUEST_ANNOTATION, Cancellation, StopMethod};
use serde_json::{Map, Value, json};

use super::{Cancel, find_kind};

/// Maximum length of a template's patch, in bytes: it is sent with each run that is stopped.
const PATCH_BYTES: usize = 4096;

/// Returns true if a user has asked the run to stop, by the method of its kind. A deadline is no such sign,
/// because it may be the run's own.
#[must_use]
pub fn asked_to_stop(run: &Value) -> bool {
    let text = |field: &str| run.get(field).and_then(Value::as_str).unwrap_or_default();
    let Some(Cancel::Word { field, words }) =
        find_kind(text("apiVersion"), text("kind")).map(|known| known.cancel)
    else {
        return false;
    };
    let word = run.get("spec").and_then(|spec| spec.get(field));
    word.and_then(Value::as_str)
        .is_some_and(|word| words.contains(&word))
}

/// A request that stops a run.
#[derive(Clone, Debug, PartialEq)]
pub enum StopRequest {
    /// A JSON merge patch (RFC 7386) of the run's `spec`.
    Patch(Map<String, Value>),
    /// The deletion of the run.
    Delete,
}

/// Reason for which a template's `stop` cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StopMethodError {
    /// It sets both methods.
    #[error("has both mergePatch and delete")]
    Both,
    /// It sets neither method.
    #[error("has neither mergePatch nor delete")]
    Neither,
    /// It would change nothing.
    #[error("has a mergePatch that is not an object `spec` with at least one field")]
    Empty,
    /// It would change more than `spec`, such as the run's owner.
    #[error("has a mergePatch of more than `spec`")]
    Outside,
    /// It is too large.
    #[error("has a mergePatch of more than {PATCH_BYTES} bytes")]
    TooLarge,
    /// It has a tag, which would be sent unevaluated.
    #[error("has a tag in its mergePatch, where none is read")]
    Tag,
}

impl StopRequest {
    /// Returns the request for a run of this kind, or `None` if the kind does no work or is unknown.
    #[must_use]
    pub fn of_kind(api_version: &str, kind: &str) -> Option<Self> {
        let (field, value) = match find_kind(api_version, kind)?.cancel {
            Cancel::Word { field, words } => (field, json!(words.first()?)),
            Cancel::Deadline { seconds } => ("activeDeadlineSeconds", json!(seconds)),
            Cancel::NeverAtWork | Cancel::Unknown => return None,
        };
        Some(Self::Patch(Map::from_iter([(field.to_owned(), value)])))
    }

    /// Returns the request that a template defines.
    ///
    /// # Errors
    /// The reason for which it cannot be used.
    pub fn of_method(method: &StopMethod) -> Result<Self, StopMethodError> {
        let patch = match (&method.merge_patch, method.delete) {
            (Some(_), Some(_)) => return Err(StopMethodError::Both),
            (None, None) => return Err(StopMethodError::Neither),
            (None, Some(_)) => return Ok(Self::Delete),
            (Some(patch), None) => patch,
        };
        let fields = patch.as_object().ok_or(StopMethodError::Empty)?;
        if fields.keys().any(|field| field != "spec") {
            return Err(StopMethodError::Outside);
        }
        let spec = fields.get("spec").and_then(Value::as_object);
        let spec = spec.filter(|spec| !spec.is_empty());
        let spec = spec.ok_or(StopMethodError::Empty)?;
        let text = patch.to_string();
        if text.len() > PATCH_BYTES {
            return Err(StopMethodError::TooLarge);
        }
        if text.contains("$(") {
            return Err(StopMethodError::Tag);
        }
        Ok(Self::Patch(spec.clone()))
    }

    /// Returns the verbs of RBAC that the request needs.
    #[must_use]
    pub fn verbs(&self) -> &'static [&'static str] {
        match self {
            Self::Patch(_) => &["patch"],
            Self::Delete => &["delete"],
        }
    }

    /// Returns true if the run has already been asked.
    #[must_use]
    pub fn is_in(&self, run: &Value) -> bool {
        match self {
            Self::Patch(patch) => {
                let spec = run.get("spec").unwrap_or(&Value::Null);
                has(spec, patch)
            }
            Self::Delete => run.pointer("/metadata/deletionTimestamp").is_some(),
        }
    }

    /// Restores a run as it was before the request: the fields that the request changes get the values of the
    /// document that the run was made of. Returns `None` for a run that no patch has asked.
    #[must_use]
    pub fn taken_back(&self, run: &Value, document: &Value) -> Option<Value> {
        let Self::Patch(patch) = self else {
            return None;
        };
        if !self.is_in(run) {
            return None;
        }
        let mut before = run.clone();
        let spec = before.get_mut("spec").and_then(Value::as_object_mut);
        take_back(spec?, document.get("spec")?.as_object()?, patch);
        Some(before)
    }

    /// Returns the JSON merge patch, with the user's request as an annotation if there is one. It contains the uid
    /// of the run, so that another object with the same name is left alone. Returns `None` if there is nothing to
    /// patch.
    #[must_use]
    pub fn patch(&self, uid: Option<&str>, asked: Option<&Cancellation>) -> Option<Value> {
        let mut patch = Map::new();
        if let Self::Patch(spec) = self {
            patch.insert("spec".to_owned(), Value::Object(spec.clone()));
        } else {
            asked?;
        }
        let mut metadata = json!({ "uid": uid });
        if let Some(asked) = asked {
            metadata["annotations"] = json!({ CANCEL_REQUEST_ANNOTATION: asked.annotation() });
        }
        patch.insert("metadata".to_owned(), metadata);
        Some(Value::Object(patch))
    }
}

/// Returns true if a merge patch would change nothing. The patch is bounded in size, and so in depth.
fn has(value: &Value, patch: &Map<String, Value>) -> bool {
    patch
        .iter()
        .all(|(field, wanted)| match (value.get(field), wanted) {
            (found, Value::Null) => found.is_none(),
            (Some(found), Value::Object(wanted)) => found.is_object() && has(found, wanted),
            (found, wanted) => found == Some(wanted),
        })
}

/// Resets the fields of a merge patch to their values in a document. Fields that it lacks stay unchanged.
fn take_back(
    found: &mut Map<String, Value>,
    document: &Map<String, Value>,
    patch: &Map<String, Value>,
) {
    for (field, changed) in patch {
        let Some(made) = document.get(field) else {
            continue;
        };
        match (found.get_mut(field), made, changed) {
            (Some(Value::Object(found)), Value::Object(made), Value::Object(changed)) => {
                take_back(found, made, changed);
            }
            _ => {
                found.insert(field.clone(), made.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn method(method: Value) -> Result<StopRequest, StopMethodError> {
        StopRequest::of_method(&serde_json::from_value(method).unwrap())
    }

    fn merging(spec: &Value) -> StopRequest {
        method(json!({ "mergePatch": { "spec": spec } })).unwrap()
    }

    #[test]
    fn a_template_says_one_of_two_ways() {
        assert_eq!(
            merging(&json!({ "paused": true })).verbs(),
            ["patch"],
            "a patch of its spec"
        );
        assert_eq!(
            method(json!({ "delete": {} })).unwrap(),
            StopRequest::Delete
        );
        let wrong = [
            (json!({}), StopMethodError::Neither),
            (
                json!({ "delete": {}, "mergePatch": {} }),
                StopMethodError::Both,
            ),
            (json!({ "mergePatch": {} }), StopMethodError::Empty),
            (json!({ "mergePatch": [1] }), StopMethodError::Empty),
            (
                json!({ "mergePatch": { "spec": {} } }),
                StopMethodError::Empty,
            ),
            (
                json!({ "mergePatch": { "spec": { "a": 1 }, "metadata": { "ownerReferences": [] } } }),
                StopMethodError::Outside,
            ),
            (
                json!({ "mergePatch": { "status": { "a": 1 } } }),
                StopMethodError::Outside,
            ),
            (
                json!({ "mergePatch": { "spec": { "a": "$(runnable.metadata.name)$" } } }),
                StopMethodError::Tag,
            ),
            (
                json!({ "mergePatch": { "spec": { "a": "x".repeat(PATCH_BYTES) } } }),
                StopMethodError::TooLarge,
            ),
        ];
        for (given, why) in wrong {
            assert_eq!(method(given), Err(why));
        }
    }

    #[test]
    fn a_run_was_asked_if_the_patch_would_change_nothing() {
        let request = merging(&json!({ "a": { "b": 1 }, "gone": null }));
        let is_in = |spec: Value| request.is_in(&json!({ "spec": spec }));
        assert!(is_in(json!({ "a": { "b": 1, "c": 2 }, "d": 3 })));
        for spec in [
            json!({}),
            json!({ "a": { "b": 2 } }),
            json!({ "a": 1 }),
            json!({ "a": { "b": 1 }, "gone": 1 }),
            Value::Null,
        ] {
            assert!(!is_in(spec.clone()), "{spec}");
        }
        let going = json!({ "metadata": { "deletionTimestamp": "2026-01-01T00:00:00Z" } });
        assert!(StopRequest::Delete.is_in(&going) && !StopRequest::Delete.is_in(&json!({})));
    }

    #[test]
    fn what_a_patch_has_changed_in_a_run_is_taken_back_and_nothing_else_is() {
        let request = merging(&json!({ "a": { "b": 1 }, "gone": null, "new": true }));
        let document = json!({ "spec": { "a": { "b": 0, "c": 0 }, "gone": 5, "d": 0 } });
        let run = json!({ "spec": { "a": { "b": 1, "c": 2 }, "new": true, "d": 3 } });
        let before = json!({ "spec": { "a": { "b": 0, "c": 2 }, "gone": 5, "new": true, "d": 3 } });
        assert_eq!(request.taken_back(&run, &document), Some(before));
        let at_work = json!({ "spec": { "a": { "b": 0 } } });
        assert_eq!(request.taken_back(&at_work, &document), None);
        assert_eq!(StopRequest::Delete.taken_back(&run, &document), None);
    }

    #[test]
    fn only_a_person_leaves_a_name_on_the_run() {
        let asked = Cancellation::default();
        let request = StopRequest::of_kind("batch/v1", "Job").unwrap();
        let patch = request.patch(Some("u"), None).unwrap();
        let wanted = json!({ "metadata": { "uid": "u" }, "spec": { "activeDeadlineSeconds": 1 } });
        assert_eq!(patch, wanted);
        let by_person = request.patch(Some("u"), Some(&asked)).unwrap();
        assert!(by_person["metadata"]["annotations"].is_object());
        assert_eq!(StopRequest::Delete.patch(Some("u"), None), None);
        let marked = StopRequest::Delete.patch(Some("u"), Some(&asked)).unwrap();
        assert_eq!(marked.get("spec"), None);
        assert!(marked["metadata"]["annotations"].is_object());
    }
}
