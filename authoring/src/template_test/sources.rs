//! The inputs of a case that come from other objects: only those in its file exist.

use std::{collections::BTreeMap, slice};

use anyhow::{Context as _, anyhow, bail};
use cartouche_crds::{API_VERSION, InputSource};
use cartouche_protocol::{
    references::{self, SourceObject},
    sourced_inputs::{self, NoInputs, SourceRead},
};
use cartouche_templating::Sourced;
use serde_json::Value;

use super::Case;
use crate::{
    inputs_from::object::{self, Unusable},
    manifests,
    source::Document,
};

/// Returns the inputs by name, or the reason why the Runnable cannot have them, in the words of its status.
pub(super) fn inputs(
    case: &Case,
    runnable: &Value,
) -> anyhow::Result<Result<BTreeMap<String, Sourced>, String>> {
    let sources = sources(runnable)?;
    if sources.is_empty() {
        return Ok(Ok(BTreeMap::new()));
    }
    let given = runnable.pointer("/spec/inputs").cloned();
    let given = given.and_then(|it| serde_json::from_value::<BTreeMap<String, Value>>(it).ok());
    if let Err(wrong) = sourced_inputs::check(given.as_ref(), &sources) {
        return Ok(Err(lines(wrong)));
    }
    let documents = documents(case, &sources)?;
    let namespace = runnable.pointer("/metadata/namespace");
    let namespace = namespace.and_then(Value::as_str).unwrap_or_default();
    let mut read = BTreeMap::new();
    let read_in = |source| SourceObject::read_in(namespace, source);
    for wanted in sources.iter().filter_map(read_in) {
        let found = read_one(&documents, namespace, &wanted, &sources)?;
        read.insert(wanted, found);
    }
    let values = sourced_inputs::values(namespace, &sources, |wanted| read.get(wanted));
    Ok(values.map_err(lines))
}

fn sources(runnable: &Value) -> anyhow::Result<Vec<InputSource>> {
    let sources = runnable.pointer("/spec/inputsFrom");
    let Some(sources) = sources.filter(|it| !it.is_null()) else {
        return Ok(Vec::new());
    };
    serde_json::from_value(sources.clone()).context(
        "spec.inputsFrom of the Runnable cannot be read\nhint: cartouche validate says why",
    )
}

/// Returns true if an input comes from an object of this kind.
fn is_named(object: &Document, sources: &[InputSource]) -> bool {
    let named = sources.iter().filter_map(SourceObject::from_source);
    let own = (object.api_version(), object.kind());
    named.into_iter().any(|it| it.type_meta() == own)
}

fn documents(case: &Case, sources: &[InputSource]) -> anyhow::Result<Vec<Document>> {
    let Some(path) = &case.sources else {
        return Ok(Vec::new());
    };
    let loaded = manifests::load(slice::from_ref(path))?;
    if let Some(unreadable) = loaded.findings.first() {
        return Err(unreadable.as_error());
    }
    let is_read = |it: &&Document| object::is_source(it) || is_named(it, sources);
    match loaded.documents.iter().find(|it| !is_read(it)) {
        Some(other) => bail!(
            "{} holds a {} of {}, and inputs come from ConfigMaps and Secrets of v1, and Runnables of {API_VERSION}",
            path.display(),
            other.kind(),
            other.api_version()
        ),
        None => Ok(loaded.documents),
    }
}

fn read_one(
    documents: &[Document],
    namespace: &str,
    wanted: &SourceObject,
    sources: &[InputSource],
) -> anyhow::Result<SourceRead> {
    match object::find(documents, namespace, wanted).as_slice() {
        [] => Ok(SourceRead::Absent),
        [one] => {
            let keys = references::keys(namespace, sources, wanted);
            let read = object::read(one, wanted.kind, &keys);
            read.map_err(|unusable| unread(one, wanted, unusable))
        }
        several => bail!("there are {} of {wanted} for this case", several.len()),
    }
}

fn unread(document: &Document, wanted: &SourceObject, unusable: Unusable) -> anyhow::Error {
    let (what, cure) = unusable.explain();
    anyhow!(
        "{}: {wanted} has a value {what}\nhint: {cure}",
        document.source.name
    )
}

fn lines(wrong: NoInputs) -> String {
    let all = wrong.faults.into_iter().chain(wrong.missing);
    let mut lines: Vec<String> = all.map(|fault| fault.what).collect();
    lines.push(String::new());
    lines.join("\n")
}
