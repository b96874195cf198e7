//! Checks references to other objects, whatever these contain. Pure.

use std::collections::BTreeMap;

use cartouche_crds::{
    InputSource, MAX_LABELS, MAX_SOURCES, is_config_map_key, is_dns_label, is_dns_subdomain,
};
use cartouche_language::wrong_label;
use cartouche_templating::{given_twice, wrong_path};
use serde_json::Value;

use super::{NoInputs, fault};
use crate::{
    messages::diagnosis::Fault,
    references::{SourceKind, SourceObject, key, revision_path},
};

/// Returns the faults of the references. With any of them no object is read.
pub fn check(
    inputs: Option<&BTreeMap<String, Value>>,
    sources: &[InputSource],
) -> Result<(), NoInputs> {
    let mut faults: Vec<Fault> = Vec::new();
    if sources.len() > MAX_SOURCES {
        let what = format!(
            "spec.inputsFrom has {} entries, more than {MAX_SOURCES}",
            sources.len()
        );
        faults.push(fault(what, "remove some of them"));
    }
    let twice = given_twice(inputs, sources).into_iter().map(|name| {
        let what = format!("input {name} is given twice, in spec.inputs or spec.inputsFrom");
        fault(what, "remove one of them, or rename it")
    });
    faults.extend(twice.chain(sources.iter().filter_map(wrong_reference)));
    NoInputs {
        faults,
        ..NoInputs::default()
    }
    .check()
}

/// Returns the fault of a reference that can name no object.
fn wrong_reference(source: &InputSource) -> Option<Fault> {
    let input = &source.name;
    let Some(object) = SourceObject::from_source(source) else {
        let what = format!("input {input} has no kind of source, or more than one");
        return Some(fault(
            what,
            "give it one of configMapKeyRef, secretKeyRef, runnableRef and objectRef",
        ));
    };
    let (_, kind) = object.type_meta();
    if let Some(namespace) = object.namespace.as_ref().filter(|it| !is_dns_label(it)) {
        let what =
            format!("input {input} names the namespace {namespace:?}, which is not a valid name");
        return Some(fault(
            what,
            "give the name of one, or leave it out for the Runnable's own",
        ));
    }
    if object.kind == SourceKind::Any {
        return wrong_object(source, &object);
    }
    if !is_dns_subdomain(&object.name) {
        let what = format!(
            "input {input} names {:?}, which is not a valid name of a {kind}",
            object.name
        );
        return Some(fault(
            what,
            "give the name of one, which is a lower-case DNS name",
        ));
    }
    let key = key(source);
    if object.kind == SourceKind::Runnable {
        let what = || format!("input {input} names no output of {object}");
        return key
            .is_empty()
            .then(|| fault(what(), "give the name of one"));
    }
    if !is_config_map_key(key) {
        let what =
            format!("input {input} names the key {key:?}, which is not a valid key of a {kind}");
        return Some(fault(what, "give a key of letters, digits, -, _ and ."));
    }
    None
}

/// Returns the same for a reference to an object of any kind. Names need not be DNS names there.
fn wrong_object(source: &InputSource, object: &SourceObject) -> Option<Fault> {
    let (input, (version, kind)) = (&source.name, object.type_meta());
    if object.is_secret() {
        let what = format!("input {input} reads a Secret by objectRef, which would show its value");
        return Some(fault(
            what,
            "use secretKeyRef, which gives the template a reference",
        ));
    }
    let is_version = version.split('/').count() <= 2 && version.split('/').all(is_dns_subdomain);
    if !is_version || kind.is_empty() || !kind.chars().all(|c| c.is_ascii_alphanumeric()) {
        let what = format!(
            "input {input} names the kind {kind:?} in version {version:?}, which cannot exist"
        );
        return Some(fault(
            what,
            "give apiVersion and kind as the object's own manifest has them",
        ));
    }
    if let Some(labels) = object.labels() {
        if !object.name.is_empty() {
            let what = format!("input {input} gives a name and labels");
            return Some(fault(what, "give one of name and matchingLabels"));
        }
        let too_many = || format!("{} labels are more than {MAX_LABELS}", labels.len());
        let too_many = (labels.len() > MAX_LABELS).then(too_many);
        if let Some(wrong) = too_many.or_else(|| wrong_label(labels)) {
            return Some(fault(
                format!("input {input}: {wrong}"),
                "correct matchingLabels",
            ));
        }
    } else if matches!(object.name.as_str(), "" | "." | "..")
        || object.name.len() > 253
        || object.name.contains(['/', '%'])
    {
        let what = format!(
            "input {input} names {:?}, which is not a valid name of a {kind}",
            object.name
        );
        return Some(fault(what, "give the name of one, or matchingLabels"));
    }
    let paths = [Some(key(source)), revision_path(source)];
    let mut wrong = paths
        .into_iter()
        .flatten()
        .filter_map(|path| Some((path, wrong_path(path)?)));
    let (path, why) = wrong.next()?;
    Some(fault(
        format!("input {input} has the path {path:?}, which is not valid: {why}"),
        "give one such as .status.artifact.digest",
    ))
}

/// Returns the faults of references to other namespaces, if these are forbidden.
pub fn check_namespaces(own: &str, sources: &[InputSource]) -> Result<(), NoInputs> {
    let others = sources.iter().filter_map(|source| {
        let namespace = SourceObject::read_in(own, source)?.namespace?;
        let what = format!("input {} comes from the namespace {namespace}, but the controller allows only the Runnable's own", source.name);
        Some(fault(what, "read it from an object of this namespace, or ask for a controller without --no-cross-namespace-refs"))
    });
    NoInputs {
        faults: others.collect(),
        ..NoInputs::default()
    }
    .check()
}
