//! The schemas of the kinds of Kubernetes itself. No file and no cluster is needed for them. The facts about runs of a
//! kind are in `cartouche_engines::kinds`; a test makes sure that every kind whose fields are known there has its
//! schema here.

use std::{any::TypeId, rc::Rc, sync::LazyLock};

use k8s_openapi::{
    ClusterResourceScope, Resource,
    api::{
        apps::v1 as apps, autoscaling::v1 as autoscaling1, autoscaling::v2 as autoscaling2,
        batch::v1 as batch, coordination::v1 as coordination, core::v1 as core,
        discovery::v1 as discovery, events::v1 as events, networking::v1 as networking,
        node::v1 as node, policy::v1 as policy, rbac::v1 as rbac, scheduling::v1 as scheduling,
        storage::v1 as storage,
    },
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::Value;

use super::{encoded::QUANTITY, kind_schema::KindSchema};

/// A built-in kind.
struct BuiltIn {
    api_version: &'static str,
    kind: &'static str,
    plural: &'static str,
    is_namespaced: fn() -> bool,
    schema: fn() -> Value,
}

const fn built_in<T: Resource + JsonSchema>() -> BuiltIn
where
    T::Scope: 'static,
{
    BuiltIn {
        api_version: T::API_VERSION,
        kind: T::KIND,
        plural: T::URL_PATH_SEGMENT,
        is_namespaced: || TypeId::of::<T::Scope>() != TypeId::of::<ClusterResourceScope>(),
        schema: schema_of::<T>,
    }
}

fn schema_of<T: JsonSchema>() -> Value {
    let mut schema = SchemaGenerator::default()
        .into_root_schema_for::<T>()
        .to_value();
    let quantity = "/$defs/io.k8s.apimachinery.pkg.api.resource.Quantity";
    if let Some(quantity) = schema.pointer_mut(quantity).and_then(Value::as_object_mut) {
        quantity.insert("format".to_owned(), QUANTITY.into());
    }
    schema
}

/// Every kind of the API versions that stand here.
const BUILT_IN: &[BuiltIn] = &[
    built_in::<core::Binding>(),
    built_in::<core::ConfigMap>(),
    built_in::<core::Endpoints>(),
    built_in::<core::Event>(),
    built_in::<core::LimitRange>(),
    built_in::<core::Namespace>(),
    built_in::<core::Node>(),
    built_in::<core::PersistentVolume>(),
    built_in::<core::PersistentVolumeClaim>(),
    built_in::<core::Pod>(),
    built_in::<core::PodTemplate>(),
    built_in::<core::ReplicationController>(),
    built_in::<core::ResourceQuota>(),
    built_in::<core::Secret>(),
    built_in::<core::Service>(),
    built_in::<core::ServiceAccount>(),
    built_in::<apps::ControllerRevision>(),
    built_in::<apps::DaemonSet>(),
    built_in::<apps::Deployment>(),
    built_in::<apps::ReplicaSet>(),
    built_in::<apps::StatefulSet>(),
    built_in::<batch::CronJob>(),
    built_in::<batch::Job>(),
    built_in::<autoscaling1::HorizontalPodAutoscaler>(),
    built_in::<autoscaling2::HorizontalPodAutoscaler>(),
    built_in::<coordination::Lease>(),
    built_in::<discovery::EndpointSlice>(),
    built_in::<events::Event>(),
    built_in::<networking::IPAddress>(),
    built_in::<networking::Ingress>(),
    built_in::<networking::IngressClass>(),
    built_in::<networking::NetworkPolicy>(),
    built_in::<networking::ServiceCIDR>(),
    built_in::<node::RuntimeClass>(),
    built_in::<policy::PodDisruptionBudget>(),
    built_in::<rbac::ClusterRole>(),
    built_in::<rbac::ClusterRoleBinding>(),
    built_in::<rbac::Role>(),
    built_in::<rbac::RoleBinding>(),
    built_in::<scheduling::PriorityClass>(),
    built_in::<storage::CSIDriver>(),
    built_in::<storage::CSINode>(),
    built_in::<storage::CSIStorageCapacity>(),
    built_in::<storage::StorageClass>(),
    built_in::<storage::VolumeAttachment>(),
];

/// Returns `apiVersion` and kind of every built-in kind.
pub(super) fn names() -> impl Iterator<Item = (&'static str, &'static str)> {
    BUILT_IN.iter().map(|known| (known.api_version, known.kind))
}

pub(super) fn kind(api_version: &str, kind: &str) -> Option<KindSchema> {
    let known = BUILT_IN
        .iter()
        .find(|known| known.api_version == api_version && known.kind == kind)?;
    Some(KindSchema {
        document: Rc::new((known.schema)()),
        pointer: String::new(),
        namespaced: Some((known.is_namespaced)()),
        plural: Some(known.plural.to_owned()),
        built_in: true,
    })
}

/// Returns the metadata that every object has, without references.
pub(super) fn object_meta() -> Value {
    static META: LazyLock<Value> = LazyLock::new(|| {
        let mut generator = SchemaGenerator::new(
            schemars::generate::SchemaSettings::default().with(|settings| {
                settings.inline_subschemas = true;
            }),
        );
        generator.root_schema_for::<ObjectMeta>().to_value()
    });
    META.clone()
}

#[cfg(test)]
mod tests {
    use cartouche_engines::kinds;

    use super::*;
    use crate::schema::{MemberSchema, catalog::Catalog};

    fn api_version(group: &str, version: &str) -> String {
        [group, version]
            .join("/")
            .trim_start_matches('/')
            .to_owned()
    }

    #[test]
    fn kinds_whose_fields_are_known_are_bundled() {
        for known in kinds::all() {
            // Kinds of Kubernetes itself.
            let own = !known.group.contains('.') || known.group.ends_with(".k8s.io");
            assert_eq!(known.version.is_some(), own, "{known:?}");
            let Some(version) = known.version else {
                continue;
            };
            let api_version = api_version(known.group, version);
            assert!(Catalog::is_complete(&api_version), "{known:?}");
            if let Some(name) = known.kind {
                assert!(kind(&api_version, name).is_some(), "{known:?}");
            }
        }
    }

    #[test]
    fn restart_policies_are_where_the_schema_has_them() {
        for known in kinds::all() {
            let (Some(version), Some(policy)) = (known.version, known.restart_policy) else {
                continue;
            };
            let found = kind(
                &api_version(known.group, version),
                known.kind.unwrap_or_default(),
            );
            let found = found.unwrap();
            let mut schema = found.schema().unwrap();
            for key in policy.pod_spec.iter().chain(&["restartPolicy"]) {
                let MemberSchema::Known(member) = schema.member(key) else {
                    panic!("{known:?}: there is no {key}");
                };
                schema = member;
            }
        }
    }
}
