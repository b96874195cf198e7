//! Metadata of the controller's own kinds, reduced to what is used.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{
    ManagedFieldsEntry, ObjectMeta, OwnerReference, Time,
};
use serde::{Deserialize, Deserializer};

const STATUS: &str = "status";

/// Metadata without most `managedFields`, which cost more to read than all the rest.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ReadMeta {
    annotations: Option<BTreeMap<String, String>>,
    creation_timestamp: Option<Time>,
    deletion_grace_period_seconds: Option<i64>,
    deletion_timestamp: Option<Time>,
    finalizers: Option<Vec<String>>,
    generate_name: Option<String>,
    generation: Option<i64>,
    labels: Option<BTreeMap<String, String>>,
    #[serde(default, deserialize_with = "of_status")]
    managed_fields: Option<Vec<ManagedFieldsEntry>>,
    name: Option<String>,
    namespace: Option<String>,
    owner_references: Option<Vec<OwnerReference>>,
    resource_version: Option<String>,
    self_link: Option<String>,
    uid: Option<String>,
}

impl From<ReadMeta> for ObjectMeta {
    fn from(read: ReadMeta) -> Self {
        Self {
            annotations: read.annotations,
            creation_timestamp: read.creation_timestamp,
            deletion_grace_period_seconds: read.deletion_grace_period_seconds,
            deletion_timestamp: read.deletion_timestamp,
            finalizers: read.finalizers,
            generate_name: read.generate_name,
            generation: read.generation,
            labels: read.labels,
            managed_fields: read.managed_fields,
            name: read.name,
            namespace: read.namespace,
            owner_references: read.owner_references,
            resource_version: read.resource_version,
            self_link: read.self_link,
            uid: read.uid,
        }
    }
}

/// Reads who wrote the status and when, without the fields.
fn of_status<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Vec<ManagedFieldsEntry>>, D::Error> {
    #[derive(Deserialize)]
    struct StatusEntry {
        manager: Option<String>,
        subresource: Option<String>,
        time: Option<Time>,
    }

    let entries = Option::<Vec<StatusEntry>>::deserialize(deserializer)?;
    let entries = entries.into_iter().flatten();
    let entries: Vec<ManagedFieldsEntry> = entries
        .filter(|entry| entry.subresource.as_deref() == Some(STATUS))
        .map(|entry| ManagedFieldsEntry {
            manager: entry.manager,
            subresource: entry.subresource,
            time: entry.time,
            ..ManagedFieldsEntry::default()
        })
        .collect();
    Ok((!entries.is_empty()).then_some(entries))
}
