//! The content of a sink.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use cartouche_crds::{
    MAX_SINKS, OutputSink, SensitiveOutput, SinkKind, UnknownFields, is_config_map_key,
    is_dns_subdomain,
};
use cartouche_engines::Sensitive;
use cartouche_language::suggestion;
use cartouche_templating::Template;
use serde_json::Value;

use super::{identify, revision};
use crate::{messages::diagnosis::Fault, references::SourceObject};

/// Keys and values of a sink. Its `Debug` form shows only the keys.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct SinkContent(BTreeMap<String, Vec<u8>>);

impl SinkContent {
    /// Returns a content of these keys and values.
    #[must_use]
    pub fn new(values: BTreeMap<String, Vec<u8>>) -> Self {
        Self(values)
    }

    /// Iterates over keys and values, in the order of the keys.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &[u8])> {
        let values = self.0.iter();
        values.map(|(key, value)| (key.as_str(), value.as_slice()))
    }

    /// Returns the value of a key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&[u8]> {
        self.0.get(key).map(Vec::as_slice)
    }
}

impl fmt::Debug for SinkContent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

/// Outputs of a run.
#[derive(Clone, Copy, Debug)]
pub struct RunOutputs<'a> {
    /// Outputs that any reader of the status may see.
    pub open: &'a BTreeMap<String, Value>,
    /// Outputs that may be stored in Secrets only.
    pub sensitive: &'a Sensitive,
    /// The outputs of the present template, each true if sensitive; `None` if the template is not
    /// known. An output that became sensitive may still be among the open ones, until its run is
    /// read again.
    pub declared: Option<&'a BTreeMap<&'a str, bool>>,
}

impl<'a> RunOutputs<'a> {
    /// Returns the content for a kind of sink: strings as they are, other values as compact JSON.
    /// Outputs that the run lacks are left out.
    #[must_use]
    pub fn content(&self, sink: &OutputSink) -> SinkContent {
        let values = self.named(sink.kind).into_iter();
        let values = values.filter_map(|(name, value)| {
            let key = key_of(sink, name)?;
            let text = match value {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            Some((key.to_owned(), text.into_bytes()))
        });
        SinkContent(values.collect())
    }

    fn named(&self, kind: SinkKind) -> BTreeMap<&'a str, &'a Value> {
        let is_secret = kind == SinkKind::Secret;
        let open = self.open.iter();
        let open = open.map(|(name, value)| (name.as_str(), value));
        let open = open.filter(|(name, _)| is_secret || !self.is_sensitive(name));
        let sensitive = self.sensitive.names().filter(|_| is_secret);
        let sensitive = sensitive.filter_map(|name| Some((name, self.sensitive.reveal(name)?)));
        open.chain(sensitive).collect()
    }

    fn is_sensitive(&self, name: &str) -> bool {
        self.declared.and_then(|all| all.get(name)) == Some(&true)
    }
}

/// Returns the outputs of a template, each true if sensitive.
#[must_use]
pub fn list_outputs(template: &Template) -> BTreeMap<&str, bool> {
    let sensitive: BTreeSet<&str> = template.sensitive_outputs().collect();
    let names = template.output_names();
    names.map(|name| (name, sensitive.contains(name))).collect()
}

/// Returns the key of an output in a sink, or `None` if it does not go there.
#[must_use]
pub fn key_of<'a>(sink: &'a OutputSink, output: &'a str) -> Option<&'a str> {
    match &sink.keys {
        Some(keys) => keys.get(output).map(String::as_str),
        None => Some(output),
    }
}

/// Returns the status of the sensitive outputs in a Secret with this uid.
#[must_use]
pub fn sensitive_in(
    sink: &OutputSink,
    uid: &str,
    sensitive: &Sensitive,
) -> Vec<(String, SensitiveOutput)> {
    let nothing = BTreeMap::new();
    let given = RunOutputs {
        open: &nothing,
        sensitive,
        declared: None,
    };
    let content = given.content(sink);
    let said = sensitive.names().filter_map(|name| {
        let key = key_of(sink, name)?;
        let revision = revision(uid, key, content.get(key)?);
        let place = SensitiveOutput {
            name: sink.name.clone(),
            key: key.to_owned(),
            revision,
            unknown_fields: UnknownFields::default(),
        };
        Some((name.to_owned(), place))
    });
    said.collect()
}

/// Returns the faults of a sink that hold for any run: with these it is not written. `declared` are
/// the template's outputs, each true if sensitive; `None` if the template is not known.
#[must_use]
pub fn faults(
    sink: &OutputSink,
    all: &[OutputSink],
    declared: Option<&BTreeMap<&str, bool>>,
) -> Vec<Fault> {
    let object = identify(sink);
    let mut faults = Vec::new();
    let mut add = |what: String, cure: &str| faults.push(Fault::new(what, Some(cure.to_owned())));
    if all.len() > MAX_SINKS {
        add(
            format!(
                "spec.writeOutputsTo has {} entries, more than {MAX_SINKS}",
                all.len()
            ),
            "remove some of them",
        );
    }
    if all.iter().filter(|it| identify(it) == object).count() > 1 {
        add(
            format!("{object} occurs twice in spec.writeOutputsTo"),
            "remove one of them, and give the other one all keys",
        );
    }
    if !is_dns_subdomain(&sink.name) {
        add(
            format!(
                "outputs go to {:?}, which is not a valid name of a {}",
                sink.name,
                object.type_meta().1
            ),
            "give a lower-case DNS name",
        );
    }
    faults.extend(wrong_keys(sink, &object, declared));
    faults
}

fn wrong_keys(
    sink: &OutputSink,
    object: &SourceObject,
    declared: Option<&BTreeMap<&str, bool>>,
) -> Vec<Fault> {
    let mut faults = Vec::new();
    let mut add = |what: String, cure: &str| faults.push(Fault::new(what, Some(cure.to_owned())));
    for (name, key) in sink.keys.iter().flatten() {
        match declared.map(|declared| declared.get(name.as_str())) {
            Some(None) => add(
                format!(
                    "output {name:?} cannot be written to {object}: the template declares no such output"
                ),
                &undeclared_cure(name, key, declared),
            ),
            Some(Some(true)) if sink.kind == SinkKind::ConfigMap => add(
                format!("output {name} is sensitive, and cannot be written to {object}"),
                "write it to a Secret, or remove it from sensitiveOutputs of the template",
            ),
            _ => {}
        }
    }
    let mut taken = BTreeSet::new();
    for (name, key) in pairs(sink, declared) {
        if !is_config_map_key(key) {
            let cure = if sink.keys.is_some() {
                "give a key of letters, digits, -, _ and ."
            } else {
                "give it a key in keys, of letters, digits, -, _ and ."
            };
            add(
                format!(
                    "output {name:?} cannot be key {key:?} of {object}: no object can have this key"
                ),
                cure,
            );
        } else if !taken.insert(key) {
            add(
                format!("key {key} of {object} is given to two outputs"),
                "give each of them a key of its own",
            );
        }
    }
    faults
}

/// Returns the cure for an output that the template does not declare.
fn undeclared_cure(name: &str, key: &str, declared: Option<&BTreeMap<&str, bool>>) -> String {
    let known = || declared.into_iter().flatten().map(|(name, _)| *name);
    if known().any(|known| known == key) {
        return format!("write {key}: {name}: the output comes first, then its key");
    }
    match suggestion::nearest(name, known()) {
        Some(meant) => format!("did you mean '{meant}'?"),
        None => "correct its name, or declare it in outputs of the template".to_owned(),
    }
}

/// Returns outputs and their keys, as far as they are known.
fn pairs<'a>(
    sink: &'a OutputSink,
    declared: Option<&BTreeMap<&'a str, bool>>,
) -> Vec<(&'a str, &'a str)> {
    if let Some(keys) = &sink.keys {
        let keys = keys.iter();
        return keys
            .map(|(name, key)| (name.as_str(), key.as_str()))
            .collect();
    }
    let declared = declared.into_iter().flatten();
    let here = declared.filter(|(_, sensitive)| !**sensitive || sink.kind == SinkKind::Secret);
    here.map(|(name, _)| (*name, *name)).collect()
}
