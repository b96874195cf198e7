//! Objects of which only the name is read: the rest may be a page of trees, which take a dozen times the memory of its
//! text.

use std::{borrow::Cow, marker::PhantomData};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use serde::{Deserialize, Deserializer};

/// An object of this kind. The API server sends only its metadata.
#[derive(Clone, Debug)]
pub(super) struct NamedObject<K> {
    pub(super) metadata: ObjectMeta,
    kind: PhantomData<fn() -> K>,
}

#[derive(Deserialize)]
struct OnlyNames {
    metadata: NameFields,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct NameFields {
    name: Option<String>,
    namespace: Option<String>,
    resource_version: Option<String>,
}

impl<'de, K> Deserialize<'de> for NamedObject<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let OnlyNames { metadata } = OnlyNames::deserialize(deserializer)?;
        let metadata = ObjectMeta {
            name: metadata.name,
            namespace: metadata.namespace,
            resource_version: metadata.resource_version,
            ..ObjectMeta::default()
        };
        Ok(Self {
            metadata,
            kind: PhantomData,
        })
    }
}

impl<K: Resource<DynamicType = ()>> Resource for NamedObject<K> {
    type DynamicType = ();
    type Scope = K::Scope;

    fn kind((): &()) -> Cow<'_, str> {
        K::kind(&())
    }
    fn group((): &()) -> Cow<'_, str> {
        K::group(&())
    }
    fn version((): &()) -> Cow<'_, str> {
        K::version(&())
    }
    fn plural((): &()) -> Cow<'_, str> {
        K::plural(&())
    }
    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }
    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
    fn metadata_api() -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ServiceAccount;
    use kube::core::ObjectList;

    use super::NamedObject;

    #[test]
    fn only_names_and_versions_are_kept() {
        let list = r#"{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"9"},"items":[
            {"metadata":{"name":"a","namespace":"n","resourceVersion":"7","labels":{"a":"b"},"annotations":{"a":"b"},
             "managedFields":[{"manager":"m","fieldsV1":{"f:metadata":{}}}]}}]}"#;
        let list: ObjectList<NamedObject<ServiceAccount>> = serde_json::from_str(list).unwrap();
        let [account] = &list.items[..] else {
            panic!("{list:?}");
        };
        let metadata = &account.metadata;
        assert_eq!(metadata.name.as_deref(), Some("a"));
        assert_eq!(metadata.namespace.as_deref(), Some("n"));
        assert_eq!(metadata.resource_version.as_deref(), Some("7"));
        assert!(metadata.labels.is_none() && metadata.annotations.is_none());
        assert!(metadata.managed_fields.is_none());
    }
}
