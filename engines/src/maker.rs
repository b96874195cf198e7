//! The run that an engine created a pod for, by the pod's controller reference and labels.
//!
//! A stranger who may create pods may give them the labels of a run and an owner reference to it. The engine
//! counts fewer: those whose *controller* is the run, and for a Job those that also have its uid as a label. No
//! others speak for it.

use cartouche_language::object::{group, text};
use serde_json::Value;

use crate::kinds;

/// An object that controls others.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Maker {
    /// The `apiVersion` of the object; only its group counts.
    pub api_version: String,
    /// The kind of the object.
    pub kind: String,
    /// The uid of the object.
    pub uid: String,
}

impl Maker {
    /// Creates the maker of this kind with this uid.
    #[must_use]
    pub fn new(api_version: &str, kind: &str, uid: &str) -> Self {
        Self {
            api_version: api_version.to_owned(),
            kind: kind.to_owned(),
            uid: uid.to_owned(),
        }
    }

    /// Returns a run as the maker of its pods, or `None` if it has no uid.
    #[must_use]
    pub fn from_run(run: &Value) -> Option<Self> {
        let uid = run.pointer("/metadata/uid").and_then(Value::as_str)?;
        Some(Self::new(text(run, "apiVersion"), text(run, "kind"), uid))
    }

    /// Returns true if the engine counts an object, such as a pod, as created for the run.
    #[must_use]
    pub fn has_created(&self, object: &Value) -> bool {
        self.controls(object) && self.has_label_on(object)
    }

    fn controls(&self, object: &Value) -> bool {
        let owners = object.pointer("/metadata/ownerReferences");
        let mut owners = owners.and_then(Value::as_array).into_iter().flatten();
        !self.uid.is_empty()
            && owners.any(|owner| {
                owner.get("controller") == Some(&Value::Bool(true))
                    && text(owner, "uid") == self.uid
                    && text(owner, "kind") == self.kind
                    && group(text(owner, "apiVersion")) == group(&self.api_version)
            })
    }

    /// Returns true if the object has the uid as a label, or if the engine sets no such label.
    fn has_label_on(&self, object: &Value) -> bool {
        let known = kinds::find_kind(&self.api_version, &self.kind);
        let labels = known.map_or(&[][..], |known| known.pod_uid_labels);
        let set = object.pointer("/metadata/labels");
        let has = |label: &&str| set.is_some_and(|set| text(set, label) == self.uid);
        labels.is_empty() || labels.iter().any(has)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::Maker;

    fn job() -> Maker {
        Maker::new("batch/v1", "Job", "j")
    }

    /// Returns a pod of the Job with one change.
    fn pod(change: impl FnOnce(&mut Value)) -> Value {
        let mut pod = json!({ "metadata": {
            "labels": { "batch.kubernetes.io/controller-uid": "j" },
            "ownerReferences": [{ "apiVersion": "batch/v1", "kind": "Job", "name": "n", "uid": "j", "controller": true }],
        } });
        change(&mut pod["metadata"]);
        pod
    }

    #[test]
    fn a_job_has_made_the_pods_that_it_controls_and_that_have_its_uid() {
        assert!(job().has_created(&pod(|_| {})));
        let legacy = |it: &mut Value| it["labels"] = json!({ "controller-uid": "j" });
        assert!(job().has_created(&pod(legacy)));
    }

    #[test]
    fn a_pod_that_lacks_any_of_it_is_a_strangers() {
        let owner = |field: &'static str, value: Value| {
            move |it: &mut Value| it["ownerReferences"][0][field] = value
        };
        for (what, stranger) in [
            ("no controller", pod(owner("controller", json!(null)))),
            ("an owner", pod(owner("controller", json!(false)))),
            ("a word", pod(owner("controller", json!("true")))),
            ("another uid", pod(owner("uid", json!("k")))),
            ("another kind", pod(owner("kind", json!("CronJob")))),
            ("another group", pod(owner("apiVersion", json!("x.io/v1")))),
            ("no group", pod(owner("apiVersion", json!("v1")))),
            ("no labels", pod(|it| it["labels"] = json!(null))),
            (
                "the name alone",
                pod(|it| it["labels"] = json!({ "batch.kubernetes.io/job-name": "n" })),
            ),
            (
                "another's label",
                pod(|it| it["labels"]["batch.kubernetes.io/controller-uid"] = json!("k")),
            ),
            ("no owner", pod(|it| it["ownerReferences"] = json!([]))),
        ] {
            assert!(!job().has_created(&stranger), "{what}");
        }
    }

    #[test]
    fn other_engines_control_their_pods_and_set_no_uid() {
        let owner = json!({ "apiVersion": "tekton.dev/v1beta1", "kind": "TaskRun", "uid": "t", "controller": true });
        let pod = json!({ "metadata": { "ownerReferences": [owner] } });
        assert!(Maker::new("tekton.dev/v1", "TaskRun", "t").has_created(&pod));
        assert!(!Maker::new("tekton.dev/v1", "PipelineRun", "t").has_created(&pod));
    }

    #[test]
    fn nothing_is_made_by_what_has_no_uid() {
        assert_eq!(Maker::from_run(&json!({ "metadata": {} })), None);
        let stranger = pod(|it| {
            it["ownerReferences"][0]["uid"] = json!("");
            it["labels"] = json!({ "controller-uid": "" });
        });
        assert!(!Maker::new("batch/v1", "Job", "").has_created(&stranger));
    }
}
