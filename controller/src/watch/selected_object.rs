//! An object that selectors may pick, as its watch delivers it: of its metadata only the fields that selectors use.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// Any object. The managed fields, which may be as large and as deep as all of it, are skipped.
#[derive(Clone, Debug)]
pub(super) struct SelectedObject {
    metadata: ObjectMeta,
}

/// Maximum bytes of labels that are read. A hundred objects come at once, and 1 MB of short labels takes 12 MB.
const MOST_LABELS: usize = 8 * 1024;

#[derive(Default, Deserialize)]
#[serde(default)]
struct OnlySelectedMetadata<'a> {
    #[serde(borrow)]
    metadata: SelectedMetadata<'a>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct SelectedMetadata<'a> {
    name: Option<String>,
    namespace: Option<String>,
    uid: Option<String>,
    resource_version: Option<String>,
    #[serde(borrow)]
    labels: Option<&'a RawValue>,
}

/// Parses the labels of an object, unless they are too many.
fn labels(text: &RawValue) -> Option<BTreeMap<String, String>> {
    let text = text.get();
    let is_read = text.len() <= MOST_LABELS;
    is_read.then(|| serde_json::from_str(text).ok()).flatten()
}

impl<'de> Deserialize<'de> for SelectedObject {
    /// Never fails because of the content of one object: the whole list would fail with it.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Box::<RawValue>::deserialize(deserializer)?;
        let OnlySelectedMetadata { metadata } =
            serde_json::from_str(text.get()).unwrap_or_default();
        Ok(Self {
            metadata: ObjectMeta {
                name: metadata.name,
                namespace: metadata.namespace,
                uid: metadata.uid,
                resource_version: metadata.resource_version,
                labels: metadata.labels.and_then(labels),
                ..ObjectMeta::default()
            },
        })
    }
}

// The API server sends only the metadata.
watched_object!(SelectedObject, only_metadata: true);

#[cfg(test)]
mod tests {
    use kube::{Resource, core::ObjectList};
    use serde_json::json;

    use super::*;

    #[test]
    fn an_object_whose_fields_lie_too_deep_spoils_no_list() {
        let deep = format!("{}1{}", r#"{"f:a":"#.repeat(140), "}".repeat(140));
        let item = |name: &str, fields: &str| {
            format!(
                r#"{{"metadata":{{"name":"{name}","uid":"{name}","labels":{{"a":"b"}},"managedFields":[{{"fieldsV1":{fields}}}]}}}}"#
            )
        };
        let list = format!(
            r#"{{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":{{}},"items":[{},{},{{"metadata":{{"name":7}}}}]}}"#,
            item("deep", &deep),
            item("plain", "{}")
        );
        let list: ObjectList<SelectedObject> = serde_json::from_str(&list).unwrap();
        assert_eq!(list.items.len(), 3);
        for object in &list.items[..2] {
            assert_eq!(object.meta().labels.as_ref().unwrap()["a"], "b");
            assert_eq!(object.meta().uid, object.meta().name);
        }
    }

    #[test]
    fn of_an_object_with_very_many_labels_its_name_alone_is_kept() {
        let object = |count: usize| -> SelectedObject {
            let labels = (0..count).map(|at| (format!("label-{at:04}"), String::new()));
            let labels: BTreeMap<_, _> = labels.collect();
            let text = json!({ "metadata": { "name": "a", "uid": "u", "labels": labels } });
            serde_json::from_str(&text.to_string()).unwrap()
        };
        assert_eq!(object(100).meta().labels.as_ref().unwrap().len(), 100);
        let many = object(1_000);
        assert_eq!(many.meta().labels, None);
        assert_eq!(many.meta().uid.as_deref(), Some("u"));
    }
}
