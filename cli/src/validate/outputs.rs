//! Whether outputs and health rules can find anything in a run.

use cartouche_templating::{
    Draft, Root, TERMINATION_MESSAGE, Verdict, kinds,
    syntax::{self, PathStep, To},
};
use serde_json::json;

use super::{message::unescaped_dots, tags::describe};
use crate::{
    finding::{Finding, Rule},
    schema::{catalog::KindSchema, walk::walk},
    source::{Document, Node, Segment},
    template_file,
};

/// Output paths and fields of the healthRule that no run can have.
pub(super) fn check(document: &Document, kind: &KindSchema) -> Vec<Finding> {
    let mut findings = Vec::new();
    let draft = template_file::draft(document);
    let refused: Vec<&[Segment]> = draft
        .iter()
        .flat_map(Draft::problems)
        .filter(|problem| problem.root == Root::Spec)
        .map(|problem| problem.at.as_slice())
        .collect();
    for entry in document
        .root
        .at(&["spec", "outputs"])
        .map(Node::entries)
        .unwrap_or_default()
    {
        // What is no path at all is said already.
        if refused.contains(
            &["outputs", &entry.key]
                .map(|key| Segment::Key(key.to_owned()))
                .as_slice(),
        ) {
            continue;
        }
        findings.extend(check_path(
            document,
            &entry.value,
            kind,
            Rule::Output,
            &format!("the output '{}'", entry.key),
        ));
    }
    for side in ["healthy", "unhealthy"] {
        let fields = document
            .root
            .at(&["spec", "healthRule", "multiMatch", side, "matchFields"]);
        for field in fields.map(Node::items).unwrap_or_default() {
            for key in ["key", "messagePath"] {
                if let Some(node) = field.get(key) {
                    findings.extend(check_path(
                        document,
                        node,
                        kind,
                        Rule::HealthRule,
                        &format!("{side}: {key}"),
                    ));
                }
            }
        }
    }
    findings
}

/// Whether a path begins with the termination message, which Cartouche adds to the Jobs and Pods that it reads.
fn reads_last_words(document: &Document, steps: &[PathStep]) -> bool {
    let first = steps.first().map(|step| &step.to);
    first == Some(&To::Key(TERMINATION_MESSAGE.to_owned()))
        && has_termination_message(document) == Some(true)
}

fn has_termination_message(document: &Document) -> Option<bool> {
    let text = |key: &str| template_file::body(document)?.get(key)?.text();
    let known = kinds::known_fields(text("apiVersion")?, text("kind")?)?;
    Some(known.outputs.has_termination_message())
}

fn check_path(
    document: &Document,
    node: &Node,
    kind: &KindSchema,
    rule: Rule,
    what: &str,
) -> Option<Finding> {
    let path = node.text()?;
    let steps = syntax::steps(path);
    if rule == Rule::Output && reads_last_words(document, &steps) {
        return None;
    }
    let impossible = walk(kind.schema()?, &steps).err()?;
    let step = steps.get(impossible.step);
    let finding = describe(
        rule,
        &format!("{what} ('{path}')"),
        "such a run",
        step,
        &impossible.reason,
    );
    // A path in quotes or over several lines need not stand in the file as it is read.
    let place = document.place(&node.span);
    let place = match (place.text().find(path), step) {
        (Some(offset), Some(step)) => {
            template_file::part(&place, offset + step.span.start..offset + step.span.end)
        }
        _ => place,
    };
    Some(finding.at(place).maybe_help(unescaped_dots(path, step)))
}

/// A template of a built-in kind of which nothing says when it has succeeded.
pub(super) fn check_success(document: &Document, kind: &KindSchema) -> Option<Finding> {
    if !kind.built_in || document.root.at(&["spec", "healthRule"]).is_some() {
        return None;
    }
    let draft = template_file::draft(document)?;
    let template = draft.template();
    let (api_version, kind) = template.literal_kind()?;
    let health = template.health(&json!({ "apiVersion": api_version, "kind": kind }));
    if health.verdict != Verdict::Unknown || health.message.is_empty() {
        return None;
    }
    let node = template_file::body(document)?.get("kind")?;
    let message = format!(
        "nothing says when a {kind} has succeeded, so that its Runnables never become ready"
    );
    Some(
        Finding::warning(Rule::HealthRule, message)
            .at(document.place(&node.span))
            .label("has no condition Succeeded, and no rule is built in for it")
            .help("add spec.healthRule; alwaysHealthy: {} is for objects that are done once they exist"),
    )
}
