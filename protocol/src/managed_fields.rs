//! The part of an object's `managedFields` that is kept: a sign of who made the object.

use cartouche_crds::RUNNABLE_NAME_LABEL;
use serde::{Deserialize, Deserializer, Serialize, de::IgnoredAny};
use serde_json::{Value, json, value::RawValue};

/// A flag that is true if one manager owns both the label of a run and its status. The API server
/// records the manager of each field. Unreadable entries count as no evidence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Writers {
    made_with_status: bool,
}

#[derive(Deserialize)]
struct Writer {
    #[serde(rename = "fieldsV1", default)]
    owns: Owned,
}

#[derive(Default, Deserialize)]
struct Owned {
    #[serde(rename = "f:metadata", default)]
    metadata: OwnedMetadata,
    #[serde(rename = "f:status")]
    status: Option<IgnoredAny>,
}

#[derive(Default, Deserialize)]
struct OwnedMetadata {
    #[serde(rename = "f:labels", default)]
    labels: OwnedLabels,
}

#[derive(Default, Deserialize)]
struct OwnedLabels {
    #[serde(rename = "f:carto.run/runnable-name")]
    runnable_name: Option<IgnoredAny>,
}

impl Writer {
    fn made_with_status(&self) -> bool {
        self.owns.metadata.labels.runnable_name.is_some() && self.owns.status.is_some()
    }
}

impl Writers {
    /// Parses `managedFields`.
    #[must_use]
    pub fn from_managed_fields(managed_fields: &Value) -> Self {
        Self::among(Vec::deserialize(managed_fields))
    }

    fn among<E>(writers: Result<Vec<Writer>, E>) -> Self {
        let writers = writers.unwrap_or_default();
        Self {
            made_with_status: writers.iter().any(Writer::made_with_status),
        }
    }

    /// Returns the same in the form of the API server, shortened to what this module reads, or
    /// `None` if the flag is false.
    #[must_use]
    pub fn shorten(self) -> Option<Value> {
        let label = format!("f:{RUNNABLE_NAME_LABEL}");
        let owns = json!({ "f:metadata": { "f:labels": { label: {} } }, "f:status": {} });
        self.made_with_status.then(|| json!([{ "fieldsV1": owns }]))
    }

    /// Returns true if the object was made without a status.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        !self.made_with_status
    }
}

impl<'de> Deserialize<'de> for Writers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Box::<RawValue>::deserialize(deserializer)?;
        Ok(Self::among(serde_json::from_str(text.get())))
    }
}

impl Serialize for Writers {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.shorten().serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Writers;
    use crate::ledger::RunIdentity;

    fn read(writers: &serde_json::Value) -> Writers {
        serde_json::from_str(&writers.to_string()).unwrap()
    }

    #[test]
    fn who_writes_labels_and_status_at_once_has_made_a_finished_run() {
        let labels = json!({ "f:labels": { "f:carto.run/runnable-name": {}, "f:carto.run/run-sequence": {} } });
        let whole = json!({ "manager": "kubectl", "fieldsV1": { "f:metadata": labels, "f:status": { "f:a": {} } } });
        let maker =
            json!({ "manager": "cartouche", "fieldsV1": { "f:metadata": labels, "f:spec": {} } });
        let engine =
            json!({ "manager": "engine", "fieldsV1": { "f:metadata": {}, "f:status": {} } });
        let forged = read(&json!([whole, engine]));
        assert!(!forged.is_plain());
        assert!(read(&json!([maker, engine])).is_plain());
        for odd in [
            json!(null),
            json!([null, 5]),
            json!({}),
            json!("x"),
            json!([{ "fieldsV1": 7 }]),
        ] {
            assert!(
                read(&odd).is_plain() && Writers::from_managed_fields(&odd).is_plain(),
                "{odd}"
            );
        }
        // The shortened form reads the same.
        let metadata =
            |writers| json!({ "metadata": { "name": "a", "uid": "b", "managedFields": writers } });
        let kept = RunIdentity::from_object(&metadata(forged.shorten())).unwrap();
        assert!(kept.made_with_status);
        assert!(
            RunIdentity::from_object(&metadata(Some(json!([whole]))))
                .unwrap()
                .made_with_status
        );
        assert!(
            !RunIdentity::from_object(&metadata(Some(json!([maker, engine]))))
                .unwrap()
                .made_with_status
        );
    }
}
