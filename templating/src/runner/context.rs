//! The context: the facts that a container needs about its run, in the form of Capact's runners.

use cartouche_crds::{
    LONGEST_DURATION, RUNNER_CONTEXT_ANNOTATION, Runner, SHORTEST_DURATION, duration, plain_json,
};
use cartouche_engines::kinds;
use cartouche_language::{
    Diagnostic, DiagnosticKind, OpenPlace, Segment, json_text, open::TagHolder, owner_reference,
    syntax,
};
use serde_json::{Value, json};

use super::{FileContent, annotations, field, render, wrong};
use crate::{body::Body, context::Context};

/// The duration of no timeout, in the notation of Go.
const NO_TIMEOUT: &str = "0s";
/// The run's name, which is unknown before the run is made.
const RUN_NAME: &str = "$(run.name)$";
const ACCOUNT: &str = "/platform/serviceAccountName";

#[derive(Clone, Debug)]
pub(super) struct ContextParts {
    dry_run: Body,
    timeout: Body,
    /// True if the template sets no timeout.
    is_endless: bool,
}

impl ContextParts {
    /// Compiles the context, or returns `None` if the template does not ask for one.
    pub(super) fn compile(runner: &Runner, problems: &mut Vec<Diagnostic>) -> Option<Self> {
        let dry_run = runner.dry_run.clone().unwrap_or(Value::Bool(false));
        let timeout = runner.timeout.as_deref().unwrap_or(NO_TIMEOUT);
        let parts = Self {
            dry_run: Body::compile(&dry_run, TagHolder::Runner, &field("dryRun"), problems),
            timeout: Body::compile(
                &timeout.into(),
                TagHolder::Runner,
                &field("timeout"),
                problems,
            ),
            is_endless: runner.timeout.is_none(),
        };
        if runner.context == Some(true) {
            return Some(parts);
        }
        let given = [
            ("dryRun", runner.dry_run.is_some()),
            ("timeout", runner.timeout.is_some()),
        ];
        for (name, _) in given.into_iter().filter(|(_, is_given)| *is_given) {
            problems.push(wrong(
                field(name),
                "it is part of the context: set context to true",
            ));
        }
        None
    }

    /// Returns true if runners get no timeout.
    pub(super) fn is_endless(&self) -> bool {
        self.is_endless
    }

    pub(super) fn bodies(&self) -> impl Iterator<Item = &Body> {
        [&self.dry_run, &self.timeout].into_iter()
    }

    /// Returns the content of the file for a run.
    pub(super) fn content(
        &self,
        document: &Value,
        context: &Context,
        problems: &mut Vec<Diagnostic>,
    ) -> Option<FileContent> {
        let mut read = |body: &Body, name: &str, check: fn(&Value) -> Option<DiagnosticKind>| {
            let at = field(name);
            let found = match render(body, &at, context) {
                Ok((_, open)) if !open.is_empty() => {
                    vec![wrong(
                        at,
                        "it has to be known before the run is created: read runnable or selected",
                    )]
                }
                Ok((value, _)) => match check(&value) {
                    None => return Some(value),
                    Some(kind) => vec![wrong(at, kind)],
                },
                Err(found) => found,
            };
            problems.extend(found);
            None
        };
        let dry_run = read(&self.dry_run, "dryRun", wrong_flag);
        let timeout = read(&self.timeout, "timeout", wrong_timeout);
        let owner = context.owner();
        let document = json!({
            "name": RUN_NAME,
            "dryRun": dry_run?,
            "timeout": timeout?,
            "platform": {
                "namespace": owner.namespace,
                "serviceAccountName": account(document),
                "ownerRef": owner_reference(&owner),
            },
        });
        let name = OpenPlace {
            at: Segment::keys(["name"]),
            tags: syntax::tags(RUN_NAME),
            json: None,
        };
        Some(FileContent::json(document, vec![name]))
    }
}

fn wrong_flag(value: &Value) -> Option<DiagnosticKind> {
    (!value.is_boolean()).then(|| "it is not true or false".into())
}

fn wrong_timeout(value: &Value) -> Option<DiagnosticKind> {
    let text = value.as_str().unwrap_or_default();
    let is_right = text == NO_TIMEOUT || duration(text).is_some();
    (!is_right).then(|| {
        DiagnosticKind::plain(format!(
            "it is neither a duration from {SHORTEST_DURATION} to {LONGEST_DURATION}, such as 10m, nor {NO_TIMEOUT}"
        ))
    })
}

/// Returns the account of a run's pod. Only runs with pods have files.
fn account(document: &Value) -> &str {
    kinds::pods_account(document).unwrap_or_default()
}

/// Updates the context of a run whose pod has another account than before.
pub(crate) fn tell_account(before: &Value, document: &mut Value) {
    let account = account(document).to_owned();
    if account == self::account(before) {
        return;
    }
    let context =
        annotations(document).and_then(|all| all.get(RUNNER_CONTEXT_ANNOTATION)?.as_str());
    let Some(mut context) = context.and_then(|text| plain_json(text).ok()) else {
        return;
    };
    if let Some(place) = context.pointer_mut(ACCOUNT) {
        *place = account.into();
        let text = json_text::json(&context, json_text::float);
        if let Some(annotations) = super::annotations_mut(document) {
            annotations.insert(RUNNER_CONTEXT_ANNOTATION.to_owned(), text.into());
        }
    }
}
