//! A `ClusterRunProfile` in a file, as far as it can be read. The schema check reports the rest.

use cartouche_crds::{ClusterRunProfile, ClusterRunProfileSpec};
use cartouche_language::{Diagnostic, explained, syntax};
use cartouche_protocol::profiles::KnownProfile;
use serde_json::Value;

use crate::{
    finding::{Finding, Rule},
    source::Document,
    template_file::{self, PlacedTag},
};

/// Generation of a profile on a cluster before its first change.
const FIRST_GENERATION: i64 = 1;

/// Reads and compiles a profile.
pub(crate) fn compile(document: &Document) -> KnownProfile {
    let spec = ClusterRunProfileSpec {
        unknown_fields: Vec::new(),
        // It says nothing about runs.
        description: None,
        rules: document.field("rules"),
        pod_template: document.field("podTemplate"),
        patches: document.field("patches"),
        values: document.field("values"),
    };
    let mut profile = ClusterRunProfile::new(document.name(), spec);
    let metadata = |key: &str| document.value.get("metadata")?.get(key);
    let generation = metadata("generation").and_then(Value::as_i64);
    profile.metadata.generation = generation.or(Some(FIRST_GENERATION));
    profile.metadata.uid = metadata("uid").and_then(Value::as_str).map(str::to_owned);
    KnownProfile::new(&profile)
}

/// Returns the finding about a problem of the profile, at its place.
pub(crate) fn problem_finding(document: &Document, problem: &Diagnostic) -> Finding {
    let said = explained::explain(problem);
    let rule = match problem.tag {
        Some(_) => Rule::Tag,
        None => Rule::Profile,
    };
    let mut finding = Finding::error(rule, said.text)
        .at(template_file::place_of(document, problem))
        .maybe_help(said.help);
    if !said.label.is_empty() {
        finding = finding.label(said.label);
    }
    finding
}

/// Returns every tag of a profile.
pub(crate) fn tags(document: &Document) -> Vec<PlacedTag> {
    let parts = ["podTemplate", "patches"].into_iter();
    parts
        .flat_map(|part| template_file::tags_below_spec(document, part))
        .collect()
}

/// Returns the name of the value of a profile that a tag reads.
pub(crate) fn value_read(path: &str) -> Option<String> {
    let steps = syntax::steps(path);
    let below = syntax::below(&steps, &["profile", "values"])?;
    below.first()?.key().map(str::to_owned)
}

/// Returns the names of the values that a profile gives.
pub(crate) fn values(document: &Document) -> Vec<&str> {
    let values = document.value.pointer("/spec/values");
    let values = values.and_then(Value::as_object).into_iter().flatten();
    values.map(|(name, _)| name.as_str()).collect()
}
