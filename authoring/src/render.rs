//! Renders the object that the controller would create, without a controller.

pub mod explain;
pub mod placeholders;
pub mod profiles;

use std::collections::BTreeMap;

use cartouche_crds::{RERUN_REQUEST_ANNOTATION, RERUN_TOKEN_ANNOTATION, RerunRequest};
use cartouche_language::{Diagnostic, Diagnostics, Owner, RunFacts};
use cartouche_protocol::{
    facts::{approvable, made_with},
    rerun,
};
use cartouche_templating::{Context, Rendered, Sourced, Stamp, StampError, Template};
use serde_json::{Map, Value};

use profiles::With;

/// Stands for the uid that a Runnable gets from the API server.
pub const PLACEHOLDER_UID: &str = "00000000-0000-0000-0000-000000000000";

/// Subject of a rendering.
#[derive(Clone, Copy)]
pub struct RenderSubject<'a> {
    /// Compiled template.
    pub template: &'a Template,
    /// Name of the template, for the labels of the run.
    pub template_name: &'a str,
    /// As [`prepare`] gives it, or live.
    pub runnable: &'a Value,
    /// Object that the Runnable selects.
    pub selected: Option<&'a Value>,
    /// The inputs that come from other objects.
    pub sourced: &'a BTreeMap<String, Sourced>,
    /// The profile that the run is made with, if any.
    pub with: Option<With<'a>>,
}

impl RenderSubject<'_> {
    fn context(&self) -> Result<Context, Diagnostics> {
        Context::new(self.runnable, self.selected)?.with_sources(self.sourced)
    }
}

/// A run that was not made.
#[derive(Clone, Debug)]
pub struct DraftRun {
    /// The object that would be created.
    pub object: Value,
    /// The document that is rendered, with its open tags.
    pub rendering: Rendered,
    /// The same filled in, where a profile is applied to that.
    pub filled: Option<Value>,
    /// The rendering that the run is made of: the open tags filled in, and the profile applied.
    pub rendered: Rendered,
    /// Number of the run.
    pub sequence: i64,
    /// The hash that a person approves.
    pub approvable: String,
    /// The request to run again that it would answer.
    pub rerun_token: Option<String>,
}

impl DraftRun {
    /// Returns the facts of the run that open tags read.
    #[must_use]
    pub fn facts(&self) -> RunFacts<'_> {
        let name = self.object.pointer("/metadata/name");
        RunFacts {
            name: name.and_then(Value::as_str).unwrap_or_default(),
            sequence: self.sequence,
            input_hash: self.rendered.input_hash(),
            rerun_token: self.rerun_token.as_deref(),
        }
    }
}

/// Returns a Runnable of a file with the fields that the API server would add.
#[must_use]
pub fn prepare(runnable: &Value, namespace: &str) -> Value {
    with_metadata(
        runnable,
        &[
            ("namespace", namespace.into()),
            ("uid", PLACEHOLDER_UID.into()),
            ("generation", 1.into()),
            ("creationTimestamp", "2000-01-01T00:00:00Z".into()),
        ],
        false,
    )
}

fn with_metadata(runnable: &Value, fields: &[(&str, Value)], replace: bool) -> Value {
    let mut runnable = runnable.clone();
    if let Some(object) = runnable.as_object_mut() {
        let metadata = object
            .entry("metadata")
            .or_insert_with(|| Value::Object(Map::new()));
        if let Some(metadata) = metadata.as_object_mut() {
            for (key, value) in fields {
                if replace || metadata.get(*key).is_none_or(Value::is_null) {
                    metadata.insert((*key).to_owned(), value.clone());
                }
            }
        }
    }
    runnable
}

/// Renders the first run of a Runnable.
pub fn run(subject: &RenderSubject<'_>) -> Result<DraftRun, Vec<Diagnostic>> {
    let token = rerun_token(subject.runnable);
    run_numbered(subject, 1, token.as_deref())
}

/// Renders a run with its number, and with the re-run request that it answers, as it is sent.
pub fn run_numbered(
    subject: &RenderSubject<'_>,
    sequence: i64,
    rerun_token: Option<&str>,
) -> Result<DraftRun, Vec<Diagnostic>> {
    render_run(subject, sequence, rerun_token).map_err(|problems| problems.to_vec())
}

/// Returns the hash of what is rendered, before the profile is applied.
pub fn input_hash(subject: &RenderSubject<'_>) -> Result<String, Vec<Diagnostic>> {
    let rendered = rendered(subject).map_err(|problems| problems.to_vec())?;
    Ok(rendered.input_hash().to_owned())
}

fn render_run(
    subject: &RenderSubject<'_>,
    sequence: i64,
    rerun_token: Option<&str>,
) -> Result<DraftRun, Diagnostics> {
    let template = subject.template;
    let (rendered, context) = template.render_and_keep(subject.context()?)?;
    let text = |pointer: &str| {
        let value = subject.runnable.pointer(pointer).and_then(Value::as_str);
        value.unwrap_or_default()
    };
    let owner = Owner {
        name: text("/metadata/name"),
        namespace: text("/metadata/namespace"),
        uid: text("/metadata/uid"),
    };
    let request = rerun_token.and_then(|token| rerun_request(subject.runnable, token));
    let facts = RunFacts {
        name: &rendered.run_name(owner.uid, sequence),
        sequence,
        input_hash: rendered.input_hash(),
        rerun_token,
    };
    let profile = subject.with.map(|with| with.profile);
    let made = made_with(&rendered, &context, profile, &facts)?.into_owned();
    let filled = profile.map(|profile| rendered.fill(&facts, Some(profile.values())));
    let filled = filled.transpose()?.map(|it| it.document().clone());
    let known = subject
        .with
        .map(|with| (with.version.name.as_str(), with.uid));
    let approvable = approvable(
        (&rendered, &context),
        known,
        (owner.uid, rerun_token),
        |run| made_with(&rendered, &context, profile, run),
    )?;
    let version = subject.with.map(|with| with.version.to_string());
    let stamp = Stamp {
        owner,
        template_name: subject.template_name,
        name: facts.name,
        sequence,
        input_hash: facts.input_hash,
        rerun_token: facts.rerun_token,
        rerun_request: request.as_deref(),
        sources: None,
        profile: version.as_deref(),
        profile_refresh: subject.with.and_then(|with| with.refresh_token),
    };
    let object = cartouche_templating::stamp(&made, &stamp);
    let object = object.map_err(StampError::diagnostic)?;
    Ok(DraftRun {
        object,
        filled,
        rendered: made,
        sequence,
        approvable,
        rerun_token: rerun_token.map(str::to_owned),
        rendering: rendered,
    })
}

fn annotation<'a>(runnable: &'a Value, name: &str) -> Option<&'a str> {
    let annotations = runnable.pointer("/metadata/annotations")?;
    annotations.get(name)?.as_str()
}

/// Returns the token of the re-run request of a Runnable.
fn rerun_token(runnable: &Value) -> Option<String> {
    let token = annotation(runnable, RERUN_TOKEN_ANNOTATION);
    token
        .filter(|token| !token.is_empty())
        .map(rerun::bound_token)
}

/// Returns the author and the reason of this request.
fn rerun_request(runnable: &Value, token: &str) -> Option<String> {
    let request = annotation(runnable, RERUN_REQUEST_ANNOTATION)?;
    Some(RerunRequest::parse(request, token)?.annotation())
}

fn rendered(subject: &RenderSubject<'_>) -> Result<Rendered, Diagnostics> {
    subject.template.render(&subject.context()?)
}

/// Returns the value of one path of a tag, if it has one.
pub(crate) fn value_of(path: &str, subject: &RenderSubject<'_>, run: &DraftRun) -> Option<Value> {
    let values = subject.with.map(|with| with.profile.values());
    if let Some(value) = run.facts().value(path, values) {
        return Some(value);
    }
    let context = subject.context().ok()?;
    subject.template.complete(&context).ok()?.value(path)
}
