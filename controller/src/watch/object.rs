//! Objects of kinds that are known only at run time, in the types of the client library.

use kube::api::ApiResource;

use crate::discovery::Kind;

/// Implements `kube::Resource` of any kind for a type with a field `metadata`.
macro_rules! watched_object {
    ($object:ty, only_metadata: $only_metadata:literal) => {
        impl ::kube::Resource for $object {
            type DynamicType = ::kube::api::ApiResource;
            type Scope = ::kube::core::DynamicResourceScope;

            fn kind(resource: &Self::DynamicType) -> ::std::borrow::Cow<'_, str> {
                resource.kind.as_str().into()
            }
            fn group(resource: &Self::DynamicType) -> ::std::borrow::Cow<'_, str> {
                resource.group.as_str().into()
            }
            fn version(resource: &Self::DynamicType) -> ::std::borrow::Cow<'_, str> {
                resource.version.as_str().into()
            }
            fn api_version(resource: &Self::DynamicType) -> ::std::borrow::Cow<'_, str> {
                resource.api_version.as_str().into()
            }
            fn plural(resource: &Self::DynamicType) -> ::std::borrow::Cow<'_, str> {
                resource.plural.as_str().into()
            }
            fn meta(&self) -> &::kube::api::ObjectMeta {
                &self.metadata
            }
            fn meta_mut(&mut self) -> &mut ::kube::api::ObjectMeta {
                &mut self.metadata
            }
            fn metadata_api() -> bool {
                $only_metadata
            }
        }
    };
}

/// Converts a kind to the type of the client library.
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
