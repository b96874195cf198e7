//! A run as the watch delivers it: plain JSON, and of its metadata only what a watch needs.

use std::{borrow::Cow, fmt};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::{Resource, api::ApiResource};
use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, MapAccess, Visitor},
};
use serde_json::{Map, Value};

use crate::discovery::Kind;

/// Any object.
#[derive(Clone, Debug)]
pub(super) struct RunObject {
    pub(super) value: Value,
    metadata: ObjectMeta,
}

impl<'de> Deserialize<'de> for RunObject {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = deserializer.deserialize_map(Object)?;
        let text = |key: &str| {
            value
                .get("metadata")
                .and_then(|metadata| metadata.get(key))
                .and_then(Value::as_str)
                .map(str::to_owned)
        };
        let metadata = ObjectMeta {
            name: text("name"),
            namespace: text("namespace"),
            uid: text("uid"),
            resource_version: text("resourceVersion"),
            ..ObjectMeta::default()
        };
        Ok(Self { value, metadata })
    }
}

/// Reads an object without its `managedFields`, which nobody looks at and which are as large as
/// the rest of most runs.
struct Object;

impl<'de> Visitor<'de> for Object {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(key) = fields.next_key::<String>()? {
            let value = if key == "metadata" {
                fields.next_value::<Metadata>()?.0
            } else {
                fields.next_value()?
            };
            object.insert(key, value);
        }
        Ok(Value::Object(object))
    }
}

struct Metadata(Value);

impl<'de> Deserialize<'de> for Metadata {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Fields;

        impl<'de> Visitor<'de> for Fields {
            type Value = Metadata;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the metadata of an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Metadata, A::Error> {
                let mut metadata = Map::new();
                while let Some(key) = fields.next_key::<String>()? {
                    if key == "managedFields" {
                        fields.next_value::<IgnoredAny>()?;
                    } else {
                        metadata.insert(key, fields.next_value()?);
                    }
                }
                Ok(Metadata(Value::Object(metadata)))
            }
        }

        deserializer.deserialize_map(Fields)
    }
}

impl Resource for RunObject {
    type DynamicType = ApiResource;
    type Scope = kube::core::DynamicResourceScope;

    fn kind(resource: &ApiResource) -> Cow<'_, str> {
        resource.kind.as_str().into()
    }
    fn group(resource: &ApiResource) -> Cow<'_, str> {
        resource.group.as_str().into()
    }
    fn version(resource: &ApiResource) -> Cow<'_, str> {
        resource.version.as_str().into()
    }
    fn api_version(resource: &ApiResource) -> Cow<'_, str> {
        resource.api_version.as_str().into()
    }
    fn plural(resource: &ApiResource) -> Cow<'_, str> {
        resource.plural.as_str().into()
    }
    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }
    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

/// A kind, as the client library wants it.
pub(super) fn api_resource(kind: &Kind) -> ApiResource {
    let (group, version) = kind
        .api_version
        .split_once('/')
        .unwrap_or(("", &kind.api_version));
    ApiResource {
        group: group.to_owned(),
        version: version.to_owned(),
        api_version: kind.api_version.clone(),
        kind: kind.kind.clone(),
        plural: kind.plural.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::RunObject;

    #[test]
    fn a_run_is_read_whole_but_for_who_wrote_which_field() {
        let object = json!({
            "kind": "Job",
            "metadata": { "name": "a", "uid": "u", "labels": { "managedFields": "b" }, "managedFields": [{ "manager": "c" }] },
            "status": { "managedFields": [1] },
        });
        let run: RunObject = serde_json::from_value(object).unwrap();
        assert_eq!(
            run.value,
            json!({
                "kind": "Job",
                "metadata": { "name": "a", "uid": "u", "labels": { "managedFields": "b" } },
                "status": { "managedFields": [1] },
            })
        );
        assert_eq!(run.metadata.uid.as_deref(), Some("u"));
    }
}
