//! The objects that inputs come from. Pure.

use std::{collections::BTreeMap, fmt, sync::Arc};

use cartouche_crds::{API_VERSION, InputSource, ObjectRef, WaitFor, WaitForObject};

use crate::trace::SourceKey;

/// A kind of object that inputs come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SourceKind {
    /// A `ConfigMap`: every user who may see the run may see it.
    ConfigMap,
    /// A Secret: its values are never shown.
    Secret,
    /// A Runnable: its outputs are inputs of others.
    Runnable,
    /// The kind that the reference names.
    Any,
}

impl SourceKind {
    /// Returns the field of an element of `inputsFrom` that names such an object.
    #[must_use]
    pub fn field(self) -> &'static str {
        match self {
            Self::ConfigMap => "configMapKeyRef",
            Self::Secret => "secretKeyRef",
            Self::Runnable => "runnableRef",
            Self::Any => "objectRef",
        }
    }

    /// Returns the word for the part that an input names.
    #[must_use]
    pub fn part(self) -> &'static str {
        match self {
            Self::ConfigMap | Self::Secret => "key",
            Self::Runnable => "output",
            Self::Any => "path",
        }
    }
}

/// An object of a kind that the reference names.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AnyObject {
    /// Its `apiVersion`.
    pub api_version: String,
    /// Its kind.
    pub kind: String,
    /// The labels that select it; empty if it is named.
    pub labels: BTreeMap<String, String>,
}

/// An object that inputs come from.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SourceObject {
    /// Its kind.
    pub kind: SourceKind,
    /// Its namespace, if the reference names another one than that of the reading Runnable.
    pub namespace: Option<String>,
    /// Its name; empty if labels select it.
    pub name: String,
    /// The kind and labels, if `kind` is [`SourceKind::Any`].
    pub any: Option<Arc<AnyObject>>,
}

impl SourceObject {
    /// Returns an object of a fixed kind, in the namespace of the Runnable.
    #[must_use]
    pub fn in_own_namespace(kind: SourceKind, name: &str) -> Self {
        Self {
            kind,
            namespace: None,
            name: name.to_owned(),
            any: None,
        }
    }

    /// Returns the object that an input comes from, as the reference has it, or `None` if the
    /// reference is not to exactly one.
    #[must_use]
    pub fn from_source(source: &InputSource) -> Option<Self> {
        let InputSource {
            config_map_key_ref: map,
            secret_key_ref: secret,
            runnable_ref: runnable,
            object_ref: object,
            ..
        } = source;
        let object = match (map, secret, runnable, object) {
            (Some(of), None, None, None) => Self::in_own_namespace(SourceKind::ConfigMap, &of.name),
            (None, Some(of), None, None) => Self::in_own_namespace(SourceKind::Secret, &of.name),
            (None, None, Some(of), None) => Self {
                namespace: of.namespace.clone(),
                ..Self::in_own_namespace(SourceKind::Runnable, &of.name)
            },
            (None, None, None, Some(of)) => Self::any(of),
            _ => return None,
        };
        Some(object)
    }

    /// Returns the same, as a Runnable of this namespace reads it. The Runnable's own namespace
    /// becomes none, so that one object is read once.
    #[must_use]
    pub fn read_in(own: &str, source: &InputSource) -> Option<Self> {
        let mut object = Self::from_source(source)?;
        object.namespace = object.namespace.filter(|it| it != own);
        Some(object)
    }

    fn any(of: &ObjectRef) -> Self {
        let any = AnyObject {
            api_version: of.api_version.clone(),
            kind: of.kind.clone(),
            labels: of.matching_labels.clone().unwrap_or_default(),
        };
        Self {
            namespace: of.namespace.clone(),
            any: Some(Arc::new(any)),
            ..Self::in_own_namespace(SourceKind::Any, of.name.as_deref().unwrap_or_default())
        }
    }

    /// Returns its `apiVersion` and its kind, as in manifests.
    #[must_use]
    pub fn type_meta(&self) -> (&str, &str) {
        match (self.kind, &self.any) {
            (SourceKind::ConfigMap, _) => ("v1", "ConfigMap"),
            (SourceKind::Secret, _) => ("v1", "Secret"),
            (SourceKind::Runnable, _) | (SourceKind::Any, None) => (API_VERSION, "Runnable"),
            (SourceKind::Any, Some(any)) => (&any.api_version, &any.kind),
        }
    }

    /// Returns the labels that select it, or `None` if it is named.
    #[must_use]
    pub fn labels(&self) -> Option<&BTreeMap<String, String>> {
        let labels = self.any.as_ref().map(|any| &any.labels);
        labels.filter(|labels| !labels.is_empty())
    }

    /// Returns the same as a label selector: `a=b,c=d`.
    #[must_use]
    pub fn selector(&self) -> Option<String> {
        let labels = self.labels()?.iter();
        let all: Vec<String> = labels
            .map(|(key, value)| format!("{key}={value}"))
            .collect();
        Some(all.join(","))
    }

    /// Returns true if it is a Runnable, by any kind of reference.
    #[must_use]
    pub fn is_runnable(&self) -> bool {
        let (api_version, kind) = self.type_meta();
        (group(api_version), kind) == (group(API_VERSION), "Runnable")
    }

    /// Returns true if it is a Secret, in any version.
    #[must_use]
    pub fn is_secret(&self) -> bool {
        let (api_version, kind) = self.type_meta();
        (group(api_version), kind) == ("", "Secret")
    }

    /// Returns its namespace, for a reading Runnable in this one.
    #[must_use]
    pub fn namespace_in<'a>(&'a self, own: &'a str) -> &'a str {
        self.namespace.as_deref().unwrap_or(own)
    }

    /// Returns the key of the whole object, or `None` unless a Runnable of this namespace names it
    /// and outputs can be written to its kind. If one Runnable writes it and another reads it, the
    /// second derives from the first.
    #[must_use]
    pub fn as_sink(&self, own: &str) -> Option<SourceKey> {
        let (api_version, kind) = self.type_meta();
        let is_sink = group(api_version).is_empty() && matches!(kind, "ConfigMap" | "Secret");
        let namespace = self.namespace_in(own);
        (is_sink && !self.name.is_empty())
            .then(|| SourceKey::object((kind, ""), namespace, &self.name, ""))
    }

    /// Returns its key as a source of a Runnable of this namespace: with the key of a `ConfigMap`
    /// or Secret, and with the revision path of any other object. All outputs of a Runnable are one
    /// source.
    #[must_use]
    pub fn source_key(&self, own: &str, key: &str) -> SourceKey {
        let namespace = self.namespace_in(own);
        let (api_version, kind) = self.type_meta();
        match self.kind {
            SourceKind::ConfigMap => SourceKey::config_map(namespace, &self.name, key),
            SourceKind::Secret => SourceKey::secret(namespace, &self.name, key),
            SourceKind::Any if !self.is_runnable() => {
                let selector = self.selector();
                let name = selector.as_ref().unwrap_or(&self.name);
                SourceKey::object((kind, group(api_version)), namespace, name, key)
            }
            SourceKind::Runnable | SourceKind::Any => SourceKey::runnable(namespace, &self.name),
        }
    }
}

/// Returns the `waitFor` of a Runnable source. Any other read of a Runnable takes no part in
/// tracing.
pub(crate) fn wait_for(source: &InputSource, object: &SourceObject) -> WaitFor {
    let runnable = source.runnable_ref.as_ref();
    let asked = runnable.and_then(|it| it.wait_for).unwrap_or_default();
    let is_other = object.kind == SourceKind::Any && object.is_runnable();
    if is_other { WaitFor::Nothing } else { asked }
}

/// Returns true if the run waits until the object is ready.
pub(crate) fn waits_until_ready(source: &InputSource) -> bool {
    let object = source.object_ref.as_ref();
    object.is_some_and(|of| of.wait_for.unwrap_or_default() == WaitForObject::Ready)
}

fn group(api_version: &str) -> &str {
    api_version.split_once('/').map_or("", |(group, _)| group)
}

impl fmt::Display for SourceObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (_, kind) = self.type_meta();
        write!(f, "{kind} ")?;
        if let Some(namespace) = &self.namespace {
            write!(f, "{namespace}/")?;
        }
        match self.selector() {
            Some(selector) => write!(f, "with the labels {selector}"),
            None => f.write_str(&self.name),
        }
    }
}
