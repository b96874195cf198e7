//! An object that selectors may pick, as its watch delivers it: of its metadata what selectors ask for.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// Any object. Who wrote which field of it, which may be as large and as deep as all of it, is passed over.
#[derive(Clone, Debug)]
pub(super) struct SelectedObject {
    metadata: ObjectMeta,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct OnlySelectedMetadata {
    metadata: SelectedMetadata,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct SelectedMetadata {
    name: Option<String>,
    namespace: Option<String>,
    uid: Option<String>,
    resource_version: Option<String>,
    labels: Option<BTreeMap<String, String>>,
}

impl<'de> Deserialize<'de> for SelectedObject {
    /// Never fails for what one object says: the list would fail with it.
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
                labels: metadata.labels,
                ..ObjectMeta::default()
            },
        })
    }
}

// The API server sends no more than the metadata.
watched_object!(SelectedObject, only_metadata: true);

#[cfg(test)]
mod tests {
    use kube::{Resource, core::ObjectList};

    use super::SelectedObject;

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
}
