//! The objects that inputs come from. Pure.

use std::{collections::BTreeMap, fmt, sync::Arc};

use cartouche_crds::{API_VERSION, InputSource, ObjectRef, WaitFor, WaitForObject};

use crate::trace::SourceKey;

/// A kind of object that inputs come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SourceKind {
    /// Anybody may see it who may see the run.
    ConfigMap,
    /// Its values are seen by nobody.
    Secret,
    /// Its outputs are inputs of others.
    Runnable,
    /// Whatever kind the reference names.
    Any,
}

impl SourceKind {
    /// The field of an element of `inputsFrom` that names such an object.
    #[must_use]
    pub fn field(self) -> &'static str {
        match self {
            Self::ConfigMap => "configMapKeyRef",
            Self::Secret => "secretKeyRef",
            Self::Runnable => "runnableRef",
            Self::Any => "objectRef",
        }
    }

    /// What an input names of it.
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
    /// The labels that it is found by; none if it is named.
    pub labels: BTreeMap<String, String>,
}

/// An object that inputs come from.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SourceObject {
    /// Its kind.
    pub kind: SourceKind,
    /// Its namespace, if another is named than that of the Runnable which reads it.
    pub namespace: Option<String>,
    /// Its name; empty if it is found by labels.
    pub name: String,
    /// What it is, if its kind is [`SourceKind::Any`].
    pub any: Option<Arc<AnyObject>>,
}

impl SourceObject {
    /// One of a kind that is known, in the namespace of the Runnable.
    #[must_use]
    pub fn known(kind: SourceKind, name: &str) -> Self {
        Self {
            kind,
            namespace: None,
            name: name.to_owned(),
            any: None,
        }
    }

    /// The object that an input comes from, as it is written; none where nothing says from which.
    #[must_use]
    pub fn of(source: &InputSource) -> Option<Self> {
        let InputSource {
            config_map_key_ref: map,
            secret_key_ref: secret,
            runnable_ref: runnable,
            object_ref: object,
            ..
        } = source;
        let object = match (map, secret, runnable, object) {
            (Some(of), None, None, None) => Self::known(SourceKind::ConfigMap, &of.name),
            (None, Some(of), None, None) => Self::known(SourceKind::Secret, &of.name),
            (None, None, Some(of), None) => Self {
                namespace: of.namespace.clone(),
                ..Self::known(SourceKind::Runnable, &of.name)
            },
            (None, None, None, Some(of)) => Self::any(of),
            _ => return None,
        };
        Some(object)
    }

    /// The same, as a Runnable of this namespace reads it: to name its own namespace is to name none, so that one object is
    /// read once.
    #[must_use]
    pub fn read_in(own: &str, source: &InputSource) -> Option<Self> {
        let mut object = Self::of(source)?;
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
            ..Self::known(SourceKind::Any, of.name.as_deref().unwrap_or_default())
        }
    }

    /// Its `apiVersion` and its kind, as manifests have them.
    #[must_use]
    pub fn type_meta(&self) -> (&str, &str) {
        match (self.kind, &self.any) {
            (SourceKind::ConfigMap, _) => ("v1", "ConfigMap"),
            (SourceKind::Secret, _) => ("v1", "Secret"),
            (SourceKind::Runnable, _) | (SourceKind::Any, None) => (API_VERSION, "Runnable"),
            (SourceKind::Any, Some(any)) => (&any.api_version, &any.kind),
        }
    }

    /// The labels that it is found by, if it is not named.
    #[must_use]
    pub fn labels(&self) -> Option<&BTreeMap<String, String>> {
        let labels = self.any.as_ref().map(|any| &any.labels);
        labels.filter(|labels| !labels.is_empty())
    }

    /// The same as a label selector has them: `a=b,c=d`.
    #[must_use]
    pub fn selector(&self) -> Option<String> {
        let labels = self.labels()?.iter();
        let all: Vec<String> = labels
            .map(|(key, value)| format!("{key}={value}"))
            .collect();
        Some(all.join(","))
    }

    /// Whether it is a Runnable, however it is referred to.
    #[must_use]
    pub fn is_runnable(&self) -> bool {
        let (api_version, kind) = self.type_meta();
        (group(api_version), kind) == (group(API_VERSION), "Runnable")
    }

    /// Whether it is a Secret, in whatever version.
    #[must_use]
    pub fn is_secret(&self) -> bool {
        let (api_version, kind) = self.type_meta();
        (group(api_version), kind) == ("", "Secret")
    }

    /// Its namespace, where the Runnable that reads it is in this one.
    #[must_use]
    pub fn namespace_in<'a>(&'a self, own: &'a str) -> &'a str {
        self.namespace.as_deref().unwrap_or(own)
    }

    /// Which object it is as a whole, whatever is read of it or written to it, where a Runnable of this namespace names it and it is of a
    /// kind that outputs are written to: one that a Runnable writes and another one reads makes the second stem from the first.
    #[must_use]
    pub fn as_sink(&self, own: &str) -> Option<SourceKey> {
        let (api_version, kind) = self.type_meta();
        let is_sink = group(api_version).is_empty() && matches!(kind, "ConfigMap" | "Secret");
        let namespace = self.namespace_in(own);
        (is_sink && !self.name.is_empty())
            .then(|| SourceKey::object((kind, ""), namespace, &self.name, ""))
    }

    /// Which source it is to a Runnable of this namespace: with the key of a `ConfigMap` or Secret, and with the path of the
    /// revision of any other object. Of a Runnable all outputs are one source.
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

/// For what is waited, as far as it is a Runnable: whatever else is read of one takes no part in what is traced.
pub(crate) fn wait_for(source: &InputSource, object: &SourceObject) -> WaitFor {
    let runnable = source.runnable_ref.as_ref();
    let asked = runnable.and_then(|it| it.wait_for).unwrap_or_default();
    let is_other = object.kind == SourceKind::Any && object.is_runnable();
    if is_other { WaitFor::Nothing } else { asked }
}

/// Whether it is waited until the object says that it is ready.
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
