//! Outputs and health rules that find nothing in any run.

use cartouche_engines::kinds;
use cartouche_language::{
    Diagnostic, Root, TERMINATION_MESSAGE,
    explained::{beside_status, unescaped_dots},
    suggestion, syntax,
};
use cartouche_templating::{Draft, Template};

use super::tags::describe;
use crate::{
    finding::{Finding, Rule},
    schema::{kind_schema::KindSchema, walk::walk},
    source::{Document, MapEntry, Node, Segment},
    template_file,
};

/// Finds output paths and fields of the healthRule that no run can have.
pub(super) fn check(document: &Document, draft: &Draft, kind: &KindSchema) -> Vec<Finding> {
    let refused = draft.problems().iter();
    let refused: Vec<&[Segment]> = refused
        .filter(|problem| problem.root == Root::Spec)
        .map(|problem| problem.at.as_slice())
        .collect();
    let mut findings = Vec::new();
    let outputs = document.root.at(&["spec", "outputs"]);
    for entry in outputs.map(Node::entries).unwrap_or_default() {
        // An invalid path is reported already, and the termination message is not in the run as it is read here.
        let is_refused = refused.contains(&&*Segment::keys(["outputs", &entry.key]));
        if !is_refused && !reads_termination_message(draft.template(), &entry.value) {
            let what = format!("the output '{}'", entry.key);
            let finding = check_path(document, &entry.value, kind, Rule::Output, &what);
            let meant = meant_last_words(draft.template(), &entry.value);
            findings.extend(finding.map(|finding| match meant {
                Some(meant) => finding.help(meant),
                None => finding,
            }));
        }
    }
    for side in ["healthy", "unhealthy"] {
        let keys = ["spec", "healthRule", "multiMatch", side, "matchFields"];
        let fields = document.root.at(&keys).map(Node::items);
        for field in fields.unwrap_or_default() {
            let paths = ["key", "messagePath"].map(|key| Some((key, field.get(key)?)));
            findings.extend(paths.into_iter().flatten().filter_map(|(key, path)| {
                let what = format!("{side}: {key}");
                check_path(document, path, kind, Rule::HealthRule, &what)
            }));
        }
    }
    findings
}

/// Finds output paths that can be read, and lead nowhere in any run because of how they begin.
pub(super) fn check_beginnings(document: &Document, draft: &Draft) -> Vec<Finding> {
    let outputs = document.root.at(&["spec", "outputs"]);
    let finding = |entry: &MapEntry| {
        let path = entry.value.text()?;
        let is_said = |problem: &Diagnostic| {
            problem.root == Root::Spec && *problem.at == *Segment::keys(["outputs", &entry.key])
        };
        if draft.problems().iter().any(is_said) {
            return None;
        }
        let (with, meant) = match path.strip_prefix('$') {
            Some(rest) => ("$", rest),
            None => ("a blank", path.trim_start()),
        };
        (meant != path).then(|| {
            let message = format!("the output '{}' ('{path}') begins with {with}", entry.key);
            Finding::error(Rule::Output, message)
                .at(document.place(&entry.value.span))
                .label("this leads to no value in any run")
                .help(format!("write {}", meant.trim_start()))
        })
    };
    let entries = outputs.map(Node::entries).unwrap_or_default();
    entries.iter().filter_map(finding).collect()
}

/// Finds a status that `matchConditions` asks for and that no condition of Kubernetes has.
pub(super) fn check_statuses(document: &Document) -> Vec<Finding> {
    const STATUSES: [&str; 3] = ["True", "False", "Unknown"];
    let rules = ["healthy", "unhealthy"].into_iter().filter_map(|rule| {
        let at = ["spec", "healthRule", "multiMatch", rule, "matchConditions"];
        document.root.at(&at)
    });
    let statuses = rules
        .flat_map(Node::items)
        .filter_map(|it| it.get("status"));
    let unknown = statuses.filter_map(|node| {
        let status = node.text().filter(|status| !STATUSES.contains(status))?;
        let message =
            format!("a condition has the status True, False or Unknown, never {status:?}");
        let finding = Finding::warning(Rule::HealthRule, message)
            .at(document.place(&node.span))
            .label("this never matches");
        Some(finding.maybe_help(suggestion::hint(status, "write one of", STATUSES)))
    });
    unknown.collect()
}

/// Returns true if a path begins with the termination message, which Cartouche adds to the Jobs and Pods that it reads.
fn reads_termination_message(template: &Template, path: &Node) -> bool {
    let steps = syntax::steps(path.text().unwrap_or_default());
    syntax::below(&steps, &[TERMINATION_MESSAGE]).is_some() && has_last_words(template)
}

/// Returns the cure of a path whose beginning is close to the termination message, which no schema has.
fn meant_last_words(template: &Template, path: &Node) -> Option<String> {
    let text = path.text().filter(|_| has_last_words(template))?;
    beside_status(text).or_else(|| {
        let steps = syntax::steps(text);
        suggestion::nearest(steps.first()?.key()?, [TERMINATION_MESSAGE])?;
        Some(format!("did you mean '{TERMINATION_MESSAGE}'?"))
    })
}

fn has_last_words(template: &Template) -> bool {
    let (api_version, kind) = template.literal_kind().unwrap_or_default();
    let known = kinds::known_fields(api_version, kind);
    known.is_some_and(|known| known.outputs.has_termination_message())
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
