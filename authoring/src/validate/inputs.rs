//! Checks the inputs that a template declares against those that its tags read and that a Runnable gives.

use std::slice;

use cartouche_language::{
    Diagnostic, DiagnosticKind, Root,
    explained::unescaped_dots,
    suggestion,
    syntax::{self, PathStep, To},
};
use cartouche_protocol::messages::diagnosis::Fault;
use cartouche_templating::Draft;
use serde_json::Value;

use super::{secrets, shape};
use crate::{
    finding::{Finding, Rule, Severity},
    input_schema,
    inputs_from::{is_of_secret, place_of_input, source_of},
    schema::{
        MemberSchema, Schema,
        walk::{Impossible, ImpossibleStep, walk},
    },
    source::{self, Document, Segment, SourceSpan},
    template_file::{self, PlacedTag},
};

/// Number of steps from the Runnable to its inputs.
const TO_INPUTS: usize = 2;
/// Cure if nothing better is known.
const CORRECT: &str = "correct it in the Runnable, or inputSchema in the template";

/// Finds an input of a Runnable that does not fit.
pub(super) fn misfit(
    template: &Document,
    runnable: &Document,
    problem: &Diagnostic,
) -> Option<Finding> {
    let (Root::Context, Some((Segment::Key(_), steps))) = (problem.root, problem.at.split_first())
    else {
        return None;
    };
    let inputs = steps.get(TO_INPUTS..)?;
    let kind = &problem.kind;
    let unknown = matches!(kind, DiagnosticKind::UnknownInput { .. });
    let message = match (kind.to_string(), inputs.last()) {
        (_, Some(Segment::Key(key))) if unknown => format!("there is no input '{key}'"),
        (what, _) => match what.strip_prefix("it ") {
            Some(rest) => format!("{} {rest}", source::field_path(steps)),
            None => what,
        },
    };
    let message = format!("Runnable {}: {message}", runnable.name());
    let place = place_of_input(runnable, steps)
        .unwrap_or_else(|| shape::place(runnable, &runnable.root, steps, unknown));
    let finding = Finding::error(Rule::Input, message)
        .at(place)
        .label(match kind {
            DiagnosticKind::MissingInput { key, .. } => format!("'{key}' is missing here"),
            DiagnosticKind::UnknownInput { .. } => "not declared by the template".to_owned(),
            _ => "does not fit".to_owned(),
        })
        .help(misfit_help(problem, steps, runnable));
    let (declared_at, label) = match inputs.split_last() {
        Some((_, parent)) if unknown => (parent, "the inputs are declared here"),
        _ if unknown => (inputs, "the inputs are declared here"),
        _ => (inputs, "declared here"),
    };
    Some(
        match input_schema::find_declaration(template, declared_at) {
            Some(node) => finding.with_related(declared_place(template, node, declared_at), label),
            None => finding,
        },
    )
}

/// Returns the cure of an input that does not fit, at the end of these steps of the Runnable.
fn misfit_help(problem: &Diagnostic, steps: &[Segment], runnable: &Document) -> String {
    let kind = &problem.kind;
    let is_of_value = matches!(
        kind,
        DiagnosticKind::NotAllowed { .. } | DiagnosticKind::Other { .. }
    );
    match (kind, steps.last()) {
        (DiagnosticKind::UnknownInput { .. }, _) => unknown_help(kind, steps),
        _ if is_of_secret(runnable, steps) => secrets::DECLARE.to_owned(),
        _ if is_of_value && source_of(runnable, steps).is_some() => {
            sourced_help(problem, steps, runnable).unwrap_or_else(|| CORRECT.to_owned())
        }
        (DiagnosticKind::MissingInput { key, .. }, _) => {
            let more = kind.cure().map(|cure| format!("; {cure}"));
            format!(
                "give it under {} of the Runnable, {key}: ...{}",
                source::field_path(steps),
                more.unwrap_or_default()
            )
        }
        (DiagnosticKind::NotAllowed { allowed }, _) => {
            let given = Segment::value_at(steps, &runnable.value).and_then(Value::as_str);
            let allowed = allowed.iter().filter_map(Value::as_str);
            match given.and_then(|given| suggestion::nearest(given, allowed)) {
                Some(meant) => format!("did you mean '{meant}'?"),
                None => CORRECT.to_owned(),
            }
        }
        _ => kind.cure().unwrap_or_else(|| CORRECT.to_owned()),
    }
}

/// Returns the cure of an input that another object gives, in the words of the controller.
fn sourced_help(problem: &Diagnostic, steps: &[Segment], runnable: &Document) -> Option<String> {
    let source = source_of(runnable, steps)?;
    let faults = Fault::all_with(slice::from_ref(problem), &[source]);
    faults.into_iter().find_map(|fault| fault.cure)
}

/// Returns the cure of an input that the template does not take.
fn unknown_help(kind: &DiagnosticKind, steps: &[Segment]) -> String {
    let hint = match (kind, steps.last()) {
        (DiagnosticKind::UnknownInput { known }, Some(Segment::Key(key))) => {
            suggestion::hint(key, "the inputs are", known.iter().map(String::as_str))
        }
        _ => None,
    };
    hint.unwrap_or_else(|| "remove it from the Runnable, or declare it in inputSchema".to_owned())
}

/// Returns the place of the declaration: the key of a property says more than the first line below it.
fn declared_place(template: &Document, node: &source::Node, inputs: &[Segment]) -> SourceSpan {
    let key = match inputs.last() {
        None => template
            .root
            .get("spec")
            .and_then(|spec| spec.entry("inputSchema")),
        Some(Segment::Key(key)) => {
            let parent = inputs.split_last().map_or(&[][..], |(_, parent)| parent);
            input_schema::find_declaration(template, parent)
                .and_then(|node| node.get("properties"))
                .and_then(|properties| properties.entry(key))
        }
        Some(Segment::Index(_)) => None,
    };
    template.place(key.map_or(&node.span, |entry| &entry.key_span))
}

fn is_of_schema(diagnostic: &Diagnostic) -> bool {
    let of_schema = |step: &Segment| matches!(step, Segment::Key(key) if key == "inputSchema");
    diagnostic.root == Root::Spec && diagnostic.at.first().is_some_and(of_schema)
}

/// Finds tags that read an input which is not declared, or which a Runnable may leave out.
pub(super) fn check(template: &Document, draft: &Draft) -> Vec<Finding> {
    let Some(schema) = input_schema::find_schema(template) else {
        return Vec::new();
    };
    let mut of_schema = draft
        .problems()
        .iter()
        .filter(|problem| is_of_schema(problem));
    // With a wrong keyword, the file hardly says what is required or declared.
    let is_sound = of_schema.clone().next().is_none();
    let is_misread = of_schema.any(|problem| {
        matches!(problem.kind, DiagnosticKind::UnknownKeyword { .. })
            || matches!(problem.at.last(), Some(Segment::Key(keyword)) if keyword == "properties")
    });
    if is_misread {
        return Vec::new();
    }
    let tags = template_file::tags(template);
    let findings = tags.iter().filter_map(|tag| check_tag(schema, tag));
    findings
        .filter(|finding| is_sound || finding.severity == Severity::Error)
        .collect()
}

fn check_tag(schema: Schema<'_>, tag: &PlacedTag) -> Option<Finding> {
    let steps = syntax::steps(&tag.tag.path);
    let inputs = input_schema::below_inputs(&steps)?;
    if let Err(impossible) = walk(schema, inputs) {
        return Some(undeclared(tag, inputs, &impossible));
    }
    let (step, key) = optional(schema, inputs)?;
    let message = format!(
        "the tag $({})$ reads the input '{key}', which a Runnable may leave out: then nothing can be rendered",
        tag.tag.path
    );
    let help = format!("list '{key}' under required in inputSchema, or give it a default");
    let finding = Finding::warning(Rule::Surprise, message).at(tag.place_of(Some(step)));
    Some(finding.label("may be missing").help(help))
}

/// Returns the first input on the way that is neither required nor has a default.
fn optional<'a>(schema: Schema<'_>, steps: &'a [PathStep]) -> Option<(&'a PathStep, &'a str)> {
    let mut schema = schema;
    for step in steps {
        match &step.to {
            To::Key(key) => {
                let MemberSchema::Known(member) = schema.member(key) else {
                    return None;
                };
                let listed = schema.member_names().any(|name| name == key);
                let given = schema.required().any(|name| name == key);
                if listed && !given && member.get("default").is_none() {
                    return Some((step, key));
                }
                schema = member;
            }
            To::Index(_) | To::Elements => schema = schema.items()?,
        }
    }
    None
}

fn undeclared(tag: &PlacedTag, inputs: &[PathStep], impossible: &Impossible<'_>) -> Finding {
    let step = inputs.get(impossible.step);
    let place = tag.place_of(step);
    let what = format!("the tag $({})$", tag.tag.path);
    let ImpossibleStep::NoMember { of } = &impossible.reason else {
        return super::tags::describe(Rule::Tag, &what, "inputSchema", step, &impossible.reason)
            .at(place)
            .maybe_help(unescaped_dots(&tag.tag.path, step));
    };
    let key = step.and_then(PathStep::key).unwrap_or_default();
    let message = format!("{what} reads the input '{key}', which inputSchema does not declare");
    let closed = of.get("additionalProperties") == Some(&serde_json::Value::Bool(false));
    let finding = if closed {
        Finding::error(Rule::Tag, format!("{message} and no Runnable may give"))
    } else {
        Finding::warning(Rule::Surprise, message)
    };
    finding.at(place).label("not declared").maybe_help(
        unescaped_dots(&tag.tag.path, step)
            .or_else(|| suggestion::hint(key, "declared are", of.member_names())),
    )
}
