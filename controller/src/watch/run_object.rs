//! A run as the watch delivers it: text, of which only a head is read at first. Most objects with the label are no runs
//! that still matter, and a tree takes many times the memory of its text.

use std::{borrow::Cow, collections::BTreeMap, fmt};

use cartouche_protocol::{managed_fields::Writers, object::Object};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::{
    Deserialize, Deserializer, Serialize,
    de::{IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use serde_json::{Value, value::RawValue};

use crate::discovery::Kind;

/// Prefix of the project's own labels and annotations.
const OURS: &str = "carto.run/";
/// Kind of the owner of a run.
const RUNNABLE: &str = "Runnable";

/// Any object.
#[derive(Clone, Debug)]
pub(super) struct RunObject {
    head: RunHead,
    metadata: ObjectMeta,
    /// Text of the object; `None` if no Runnable controls it.
    text: Option<Box<RawValue>>,
    /// Error of the head, if it cannot be read.
    unreadable: Option<String>,
}

/// Head of an object: the fields that make it the run of a Runnable.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
struct RunHead {
    api_version: Option<String>,
    kind: Option<String>,
    metadata: RunHeadMeta,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
struct RunHeadMeta {
    name: Option<String>,
    namespace: Option<String>,
    uid: Option<String>,
    #[serde(skip_serializing)]
    resource_version: Option<String>,
    creation_timestamp: Option<String>,
    labels: Ours,
    annotations: Ours,
    owner_references: Controllers,
    #[serde(skip_serializing_if = "Writers::is_plain")]
    managed_fields: Writers,
}

/// The project's own labels or annotations.
#[derive(Clone, Debug, Default, Serialize)]
struct Ours(BTreeMap<String, String>);

/// Owner references that control; there is one at most.
#[derive(Clone, Debug, Default, Serialize)]
struct Controllers(Vec<OwnerReference>);

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct OwnerReference {
    #[serde(default)]
    api_version: String,
    #[serde(default)]
    kind: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    uid: String,
    #[serde(default)]
    controller: bool,
}

impl RunObject {
    /// Returns the head as an object; the watched kind fills in for a missing one.
    pub(super) fn head(&self, watched: &Kind) -> Value {
        let mut head = self.head.clone();
        head.api_version
            .get_or_insert_with(|| watched.api_version.clone());
        head.kind.get_or_insert_with(|| watched.kind.clone());
        serde_json::to_value(head).unwrap_or_default()
    }

    /// Returns the whole object, if a Runnable controls it.
    pub(super) fn read(&self, watched: &Kind) -> Option<Value> {
        let Object(mut object) = serde_json::from_str(self.text()?).ok()?;
        if let Value::Object(fields) = &mut object {
            fields
                .entry("apiVersion")
                .or_insert_with(|| watched.api_version.as_str().into());
            fields
                .entry("kind")
                .or_insert_with(|| watched.kind.as_str().into());
        }
        Some(object)
    }

    /// Returns the text that the API server sent, if a Runnable controls the object.
    pub(super) fn text(&self) -> Option<&str> {
        self.text.as_deref().map(RawValue::get)
    }

    /// Returns the error of an object that cannot be read at all.
    pub(super) fn unreadable(&self) -> Option<&str> {
        self.unreadable.as_deref()
    }
}

impl<'de> Deserialize<'de> for RunObject {
    /// Never fails because of the content of one object: the whole list would fail with it.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Box::<RawValue>::deserialize(deserializer)?;
        let (head, unreadable) = match serde_json::from_str::<RunHead>(text.get()) {
            Ok(head) => (head, None),
            Err(error) => (RunHead::default(), Some(error.to_string())),
        };
        let metadata = ObjectMeta {
            name: head.metadata.name.clone(),
            namespace: head.metadata.namespace.clone(),
            uid: head.metadata.uid.clone(),
            resource_version: head.metadata.resource_version.clone(),
            ..ObjectMeta::default()
        };
        let mut controllers = head.metadata.owner_references.0.iter();
        let ours = controllers.any(|owner| owner.kind == RUNNABLE);
        Ok(Self {
            text: ours.then_some(text),
            head,
            metadata,
            unreadable,
        })
    }
}

impl<'de> Deserialize<'de> for Ours {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OursVisitor;

        impl<'de> Visitor<'de> for OursVisitor {
            type Value = Ours;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("labels or annotations")
            }

            fn visit_unit<E>(self) -> Result<Ours, E> {
                Ok(Ours::default())
            }

            fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Ours, A::Error> {
                let mut ours = BTreeMap::new();
                while let Some(key) = fields.next_key::<Cow<'_, str>>()? {
                    if key.starts_with(OURS) {
                        ours.insert(key.into_owned(), fields.next_value()?);
                    } else {
                        fields.next_value::<IgnoredAny>()?;
                    }
                }
                Ok(Ours(ours))
            }
        }

        deserializer.deserialize_any(OursVisitor)
    }
}

impl<'de> Deserialize<'de> for Controllers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Items;

        impl<'de> Visitor<'de> for Items {
            type Value = Controllers;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("owner references")
            }

            fn visit_unit<E>(self) -> Result<Controllers, E> {
                Ok(Controllers::default())
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Controllers, A::Error> {
                let mut controllers = Vec::new();
                while let Some(owner) = items.next_element::<OwnerReference>()? {
                    if owner.controller {
                        controllers.push(owner);
                    }
                }
                Ok(Controllers(controllers))
            }
        }

        deserializer.deserialize_any(Items)
    }
}

watched_object!(RunObject, only_metadata: false);

#[cfg(test)]
mod tests {
    use kube::{Resource, core::ObjectList};
    use serde_json::{Value, json};

    use super::RunObject;
    use crate::discovery::Kind;

    fn jobs() -> Kind {
        Kind {
            api_version: "batch/v1".to_owned(),
            kind: "Job".to_owned(),
            plural: "jobs".to_owned(),
            namespaced: true,
        }
    }

    fn object(owner: &str, inputs: &str) -> String {
        format!(
            r#"{{"metadata":{{"name":"a","uid":"u","labels":{{"x":"y","carto.run/runnable-name":"r"}},"managedFields":[{{}}],"ownerReferences":[{owner}]}},"spec":{inputs}}}"#
        )
    }

    const OWNER: &str =
        r#"{"apiVersion":"carto.run/v1alpha1","kind":"Runnable","name":"r","controller":true}"#;

    #[test]
    fn of_a_run_all_can_be_read_that_was_not_written_by_the_api_server_for_itself() {
        let run: RunObject = serde_json::from_str(&object(OWNER, "[1]")).unwrap();
        assert_eq!(run.meta().uid.as_deref(), Some("u"));
        let whole = run.read(&jobs()).unwrap();
        assert_eq!(whole["kind"], "Job");
        assert_eq!(whole["spec"], json!([1]));
        assert_eq!(whole["metadata"]["managedFields"], Value::Null);
        assert_eq!(
            run.head(&jobs())["metadata"]["labels"],
            json!({ "carto.run/runnable-name": "r" })
        );
    }

    #[test]
    fn no_object_spoils_a_list_and_of_strangers_nothing_is_kept() {
        let deep = format!("{}{}", "[".repeat(140), "]".repeat(140));
        let list = format!(
            r#"{{"metadata":{{}},"items":[{},{},{{"metadata":{{"name":5}}}}]}}"#,
            object("", &deep),
            object(OWNER, &deep)
        );
        let list: ObjectList<RunObject> = serde_json::from_str(&list).unwrap();
        let [stranger, ours, broken] = &list.items[..] else {
            unreachable!()
        };
        assert!(stranger.text().is_none());
        assert_eq!(stranger.head(&jobs())["metadata"]["name"], "a");
        assert_eq!(ours.read(&jobs()).unwrap()["metadata"]["name"], "a");
        assert!(broken.unreadable().is_some());
    }
}
