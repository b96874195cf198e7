//! Objects of the controller's own kinds: one that cannot be read fails no other.

mod metadata;

use cartouche_crds::{
    ClusterRunProfile, ClusterRunProfileSpec, ClusterRunProfileStatus, ClusterRunTemplate,
    ClusterRunTemplateSpec, ClusterRunTemplateStatus, FIELD_MANAGER, RunTemplateRef, Runnable,
    RunnableSpec, RunnableStatus, needs_of_status,
};
use cartouche_protocol::object::MAX_DEPTH;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta};
use kube::Resource;
use serde::{Deserialize, Deserializer, de::DeserializeOwned};
use serde_json::{Value, value::RawValue};

use crate::{
    budget::check_weight,
    cached_runnable::{CachedRunnable, check_beside_inputs, kind_of, without_inputs},
};
use metadata::ReadMeta;

/// Maximum text of an object: slightly more than a template can see, so that one just too large is followed, and
/// refused by the renderer. The parts that the API server and the controller write do not count.
const MAX_BYTES: usize = 1024 * 1024 + 64 * 1024;

/// Maximum number of other status writers that are kept. The API server keeps about ten of those that do not apply.
const MOST_WRITERS: usize = 20;

/// An object, or why it cannot be read. Unlike [`kube::core::DeserializeGuard`] it reads the text once: that one builds
/// a tree first, at four times the cost.
#[derive(Clone, Debug)]
pub(super) struct Guarded<K> {
    pub(super) object: Result<K, Unreadable>,
    /// Metadata of an object that cannot be read.
    pub(super) metadata: ObjectMeta,
}

/// An object that cannot be read.
#[derive(Clone, Debug)]
pub(super) struct Unreadable {
    /// Error, as a text for users.
    pub(super) why: String,
    /// Conditions of its status, which mostly can still be read.
    pub(super) stored: Vec<Condition>,
    /// Features in its status that a release must know to do anything for it.
    pub(super) needs: Vec<String>,
    /// True if it may have a value of a newer release: it is neither too large nor too deep.
    pub(super) may_be_newer: bool,
}

/// One of the controller's own watched kinds.
pub(super) trait OwnKind: Resource<DynamicType = ()> + Sized {
    /// Type of the spec, which users write.
    type Spec: DeserializeOwned;
    /// Type of the status, which the controller writes.
    type Status: DeserializeOwned;

    /// Builds an object from its parts.
    fn from_parts(metadata: ObjectMeta, spec: Self::Spec, status: Option<Self::Status>) -> Self;

    /// Returns a spec for an object of which only the metadata is known.
    fn blank() -> Self::Spec;

    /// Checks that an object does not take too much memory as a tree of values.
    fn check(text: &str) -> serde_json::Result<()> {
        check_weight(text)
    }

    /// Reads an object in the form that is kept.
    fn read(text: &str) -> serde_json::Result<Self> {
        serde_json::from_str(text).map(ReadParts::whole)
    }
}

impl OwnKind for CachedRunnable {
    type Spec = RunnableSpec;
    type Status = RunnableStatus;

    /// Keeps other writers of the status: the ledger may have been put back. The controller's own writes are kept only
    /// without a ledger, where they set a Runnable that was never served apart from one whose ledger was removed.
    fn from_parts(
        mut metadata: ObjectMeta,
        spec: RunnableSpec,
        status: Option<RunnableStatus>,
    ) -> Self {
        let ledger = status
            .as_ref()
            .and_then(|status| status.current_run.as_ref());
        if let Some(entries) = &mut metadata.managed_fields {
            if ledger.is_some() {
                entries.retain(|entry| entry.manager.as_deref() != Some(FIELD_MANAGER));
            }
            // The latest come last.
            entries.drain(..entries.len().saturating_sub(MOST_WRITERS));
        }
        metadata
            .managed_fields
            .take_if(|entries| entries.is_empty());
        // No decision and no template reads it.
        if let Some(annotations) = &mut metadata.annotations {
            annotations.remove("kubectl.kubernetes.io/last-applied-configuration");
        }
        Self::from(Runnable {
            metadata,
            spec,
            status,
        })
    }

    fn check(text: &str) -> serde_json::Result<()> {
        check_beside_inputs(text)
    }

    fn read(text: &str) -> serde_json::Result<Self> {
        let (rest, inputs) = without_inputs(text)?;
        let read: Self = serde_json::from_str(&rest).map(ReadParts::whole)?;
        Ok(read.with(inputs))
    }

    fn blank() -> RunnableSpec {
        RunnableSpec {
            unknown_fields: Vec::new(),
            profile_name: None,
            coherence: None,
            run_template_ref: RunTemplateRef::default(),
            selector: None,
            inputs: None,
            inputs_from: None,
            write_outputs_to: None,
            service_account_name: None,
            suspend: None,
            retention_policy: cartouche_crds::RetentionPolicy::default(),
            retry: None,
            timeout: None,
            concurrency_policy: None,
            approval: None,
            start: None,
        }
    }
}

impl OwnKind for ClusterRunTemplate {
    type Spec = ClusterRunTemplateSpec;
    type Status = ClusterRunTemplateStatus;

    fn from_parts(
        mut metadata: ObjectMeta,
        spec: ClusterRunTemplateSpec,
        status: Option<ClusterRunTemplateStatus>,
    ) -> Self {
        metadata.managed_fields = None;
        Self {
            metadata,
            spec,
            status,
        }
    }

    fn blank() -> ClusterRunTemplateSpec {
        ClusterRunTemplateSpec {
            unknown_fields: Vec::new(),
            profile: None,
            runner: None,
            requires: None,
            template: Value::Null,
            input_schema: None,
            outputs: None,
            optional_outputs: None,
            sensitive_outputs: None,
            failure_outputs: None,
            health_rule: None,
            retry: None,
            timeout: None,
            concurrency_policy: None,
            approval: None,
            start: None,
            stop: None,
        }
    }
}

impl OwnKind for ClusterRunProfile {
    type Spec = ClusterRunProfileSpec;
    type Status = ClusterRunProfileStatus;

    fn from_parts(
        mut metadata: ObjectMeta,
        spec: ClusterRunProfileSpec,
        status: Option<ClusterRunProfileStatus>,
    ) -> Self {
        metadata.managed_fields = None;
        Self {
            metadata,
            spec,
            status,
        }
    }

    fn blank() -> ClusterRunProfileSpec {
        ClusterRunProfileSpec::default()
    }
}

#[derive(Deserialize)]
#[serde(bound = "")]
struct ReadParts<K: OwnKind> {
    metadata: ReadMeta,
    spec: K::Spec,
    status: Option<K::Status>,
}

impl<K: OwnKind> ReadParts<K> {
    fn whole(self) -> K {
        K::from_parts(self.metadata.into(), self.spec, self.status)
    }
}

#[derive(Deserialize)]
struct OnlyMetadata {
    metadata: ReadMeta,
}

/// Parts of an object as raw text.
#[derive(Deserialize)]
struct Outline<'a> {
    #[serde(borrow)]
    metadata: Option<&'a RawValue>,
    #[serde(borrow)]
    spec: Option<&'a RawValue>,
    #[serde(borrow)]
    status: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OnlyManagedFields<'a> {
    #[serde(borrow)]
    managed_fields: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
struct OnlyConditions {
    #[serde(default)]
    conditions: Vec<Condition>,
}

impl Outline<'_> {
    /// Returns the number of bytes that users wrote.
    fn bytes(&self) -> usize {
        let size = |part: Option<&RawValue>| part.map_or(0, |part| part.get().len());
        let fields = self
            .metadata
            .and_then(|metadata| serde_json::from_str::<OnlyManagedFields<'_>>(metadata.get()).ok())
            .and_then(|only| only.managed_fields);
        size(self.spec) + size(self.metadata).saturating_sub(size(fields))
    }
}

/// Reads an object, unless it is too large or malformed.
fn whole<K: OwnKind>(text: &str) -> Result<K, Unreadable> {
    let mut may_be_newer = false;
    let why = if text.len() > MAX_BYTES
        && let Ok(outline) = serde_json::from_str::<Outline<'_>>(text)
        && outline.bytes() > MAX_BYTES
    {
        let bytes = outline.bytes();
        format!("it has {bytes} bytes, and {MAX_BYTES} are read at most")
    } else {
        let read = K::check(text).map(|()| K::read(text));
        may_be_newer = matches!(&read, Ok(Err(error)) if error.is_data());
        match read.flatten() {
            Ok(object) => return Ok(object),
            Err(error) => reason::<K>(text, &error),
        }
    };
    let stored = serde_json::from_str::<Outline<'_>>(text).ok();
    let stored = stored.and_then(|outline| outline.status);
    let needs = stored.map_or_else(Vec::new, |status| needs_of_status(status.get()));
    let stored: OnlyConditions = stored
        .and_then(|status| serde_json::from_str(status.get()).ok())
        .unwrap_or_default();
    Err(Unreadable {
        why,
        stored: stored.conditions,
        needs,
        may_be_newer,
    })
}

/// Returns why an object cannot be read, and which part of it.
fn reason<K: OwnKind>(text: &str, error: &serde_json::Error) -> String {
    let outline = serde_json::from_str::<Outline<'_>>(text).ok();
    let fails = |part: Option<&RawValue>, read: fn(&str) -> serde_json::Result<()>| {
        part.is_some_and(|part| read(part.get()).is_err())
    };
    let part = match outline {
        Some(outline)
            if fails(outline.spec, |text| {
                check_weight(text)?;
                serde_json::from_str::<K::Spec>(text).map(drop)
            }) =>
        {
            "spec: "
        }
        Some(outline)
            if fails(outline.status, |text| {
                serde_json::from_str::<K::Status>(text).map(drop)
            }) =>
        {
            "status: "
        }
        _ => "",
    };
    let error = error.to_string();
    match error.strip_prefix("recursion limit exceeded") {
        Some(place) => format!("{part}it is nested deeper than {MAX_DEPTH} levels{place}"),
        None => format!("{part}{error}"),
    }
}

impl<'de, K: OwnKind> Deserialize<'de> for Guarded<K> {
    /// Never fails for one bad object: the whole list would fail.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Box::<RawValue>::deserialize(deserializer)?;
        let object = whole(text.get());
        let metadata = match &object {
            Ok(_) => ObjectMeta::default(),
            // User-written fields are dropped: many objects of a page may have too much of them.
            Err(_) => ObjectMeta {
                labels: None,
                annotations: None,
                owner_references: None,
                finalizers: None,
                ..serde_json::from_str::<OnlyMetadata>(text.get())
                    .map(|only| only.metadata.into())
                    .unwrap_or_default()
            },
        };
        Ok(Self { object, metadata })
    }
}

impl<K: Resource<DynamicType = ()>> Resource for Guarded<K> {
    kind_of!(K);

    fn meta(&self) -> &ObjectMeta {
        match &self.object {
            Ok(object) => object.meta(),
            Err(_) => &self.metadata,
        }
    }
    fn meta_mut(&mut self) -> &mut ObjectMeta {
        match &mut self.object {
            Ok(object) => object.meta_mut(),
            Err(_) => &mut self.metadata,
        }
    }
}

#[cfg(test)]
mod tests;
