//! What the controller would create, without a controller.

pub(crate) mod explain;

use std::collections::BTreeMap;

use cartouche_crds::{RERUN_REQUEST_ANNOTATION, RERUN_TOKEN_ANNOTATION, RerunRequest};
use cartouche_protocol::rerun;
use cartouche_templating::{
    Context, Diagnostic, Diagnostics, Owner, Rendered, Sourced, Stamp, Template, stamp,
};
use serde_json::{Map, Value};

/// Stands for the uid that a Runnable gets from the API server.
pub(crate) const PLACEHOLDER_UID: &str = "00000000-0000-0000-0000-000000000000";
/// Another one, to find out whether anything depends on it.
const OTHER_UID: &str = "00000000-0000-0000-0000-000000000001";

/// What is rendered.
#[derive(Clone, Copy)]
pub(crate) struct Subject<'a> {
    pub(crate) template: &'a Template,
    pub(crate) template_name: &'a str,
    /// As [`prepared`] gives it, or live.
    pub(crate) runnable: &'a Value,
    pub(crate) selected: Option<&'a Value>,
    /// The inputs that come from other objects.
    pub(crate) sourced: &'a BTreeMap<String, Sourced>,
}

impl Subject<'_> {
    fn context(&self) -> Result<Context, Diagnostics> {
        Context::new(self.runnable, self.selected)?.with_sources(self.sourced)
    }
}

/// A run that was not made.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    /// The object that would be created.
    pub(crate) object: Value,
    pub(crate) rendered: Rendered,
    /// The request to run again that it would answer.
    pub(crate) rerun_token: Option<String>,
}

/// A Runnable out of a file, with what the API server would add.
pub(crate) fn prepared(runnable: &Value, namespace: &str) -> Value {
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

/// The first run of a Runnable.
pub(crate) fn run(subject: &Subject<'_>) -> Result<Run, Vec<Diagnostic>> {
    run_numbered(subject, 1)
}

/// A run with its number.
pub(crate) fn run_numbered(subject: &Subject<'_>, sequence: i64) -> Result<Run, Vec<Diagnostic>> {
    let rendered = rendered(subject).map_err(|problems| problems.to_vec())?;
    let text = |pointer: &str| {
        subject
            .runnable
            .pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let owner = Owner {
        name: text("/metadata/name"),
        namespace: text("/metadata/namespace"),
        uid: text("/metadata/uid"),
    };
    let annotations = subject.runnable.pointer("/metadata/annotations");
    let rerun_token = annotations
        .and_then(|annotations| annotations.get(RERUN_TOKEN_ANNOTATION))
        .and_then(Value::as_str)
        .filter(|token| !token.is_empty())
        .map(rerun::bounded);
    let request = rerun_token.as_deref().and_then(|token| {
        let annotation = annotations?.get(RERUN_REQUEST_ANNOTATION)?.as_str()?;
        Some(RerunRequest::of(annotation, token)?.annotation())
    });
    let object = stamp(
        &rendered,
        &Stamp {
            owner,
            template_name: subject.template_name,
            name: &rendered.run_name(owner.uid, sequence),
            sequence,
            input_hash: rendered.input_hash(),
            rerun_token: rerun_token.as_deref(),
            rerun_request: request.as_deref(),
            sources: None,
            profile: None,
            profile_refresh: None,
        },
    );
    match object {
        Ok(object) => Ok(Run {
            object,
            rendered,
            rerun_token,
        }),
        Err(error) => Err(vec![error.diagnostic()]),
    }
}

fn rendered(subject: &Subject<'_>) -> Result<Rendered, Diagnostics> {
    subject.template.render(&subject.context()?)
}

/// Whether the hash is another one for every Runnable that is made anew: then what is rendered from a
/// file says little about what a cluster renders.
pub(crate) fn depends_on_placeholders(subject: &Subject<'_>) -> bool {
    let other = with_metadata(
        subject.runnable,
        &[
            ("uid", OTHER_UID.into()),
            ("generation", 2.into()),
            ("creationTimestamp", "2000-01-01T00:00:01Z".into()),
        ],
        true,
    );
    let hash =
        |subject: &Subject<'_>| rendered(subject).map(|rendered| rendered.input_hash().to_owned());
    hash(subject)
        != hash(&Subject {
            runnable: &other,
            ..*subject
        })
}

/// The value of one path of a tag, if it has one.
pub(crate) fn value_of(path: &str, subject: &Subject<'_>) -> Option<Value> {
    let context = subject.context().ok()?;
    subject.template.complete(&context).ok()?.value(path)
}
