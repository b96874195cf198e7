//! What a Runnable and its template ask for beside what is run: by the same function as the controller.

use cartouche_crds::Retry;
use cartouche_protocol::{diagnosis::Fault, policy::Policy};
use serde_json::Value;

use crate::{
    finding::{Finding, Rule, Severity},
    source::{Content, Document, Node, SourceSpan},
};

/// Where it is in a Runnable, and in a template.
const AT: [&str; 2] = ["spec", "retry"];

/// What one of them asks for, and nobody can give. What its schema says already is told once.
pub(super) fn check(document: &Document, is_template: bool) -> Vec<Finding> {
    let Some(retry) = retry(document) else {
        return without_unit(document);
    };
    let (own, general) = if is_template {
        (None, Some(&retry))
    } else {
        (Some(&retry), None)
    };
    let faults = Policy::of(own, general).err().unwrap_or_default();
    let findings = faults.into_iter().map(|fault| finding(document, fault));
    findings.chain(twice(document)).collect()
}

/// Adds what is told here to what the schema says, and takes away what that says of the same value: a pattern says
/// less than a sentence.
pub(super) fn added_to(mut shape: Vec<Finding>, policy: Vec<Finding>) -> Vec<Finding> {
    let span = |finding: &Finding| finding.place.as_ref().map(|place| place.span.clone());
    let told: Vec<_> = policy.iter().map(span).collect();
    shape.retain(|finding| finding.rule != Rule::FieldType || !told.contains(&span(finding)));
    shape.extend(policy);
    shape
}

/// What cannot go with a name that is the same for all runs.
pub(super) fn check_name(
    runnable: Option<&Document>,
    template: &Document,
    rendered: &Value,
) -> Option<Finding> {
    let name = rendered.pointer("/metadata/name").and_then(Value::as_str);
    let name = name.filter(|name| !name.is_empty())?;
    let own = runnable.and_then(retry);
    let policy = Policy::of(own.as_ref(), retry(template).as_ref()).ok()?;
    let fault = policy.check_name(Some(name)).err()?.into_iter().next()?;
    let at_name = template.place_of(&["spec", "template", "metadata", "name"]);
    let mut asks = [Some(template), runnable].into_iter().flatten();
    let asks = asks.find(|document| retry(document).is_some())?;
    let finding = finding(asks, fault).related(at_name, "each run gets this name");
    Some(match runnable {
        // A Runnable may do without.
        None => Finding {
            severity: Severity::Warning,
            ..finding
        },
        Some(runnable) => Finding {
            message: format!("Runnable {}: {}", runnable.name(), finding.message),
            ..finding
        },
    })
}

/// Durations that are numbers: in quotes they were no durations either.
fn without_unit(document: &Document) -> Vec<Finding> {
    let finding = |field: &str| {
        let node = document.root.at(&["spec", "retry", "backoff", field])?;
        let Content::Scalar(Value::Number(number)) = &node.content else {
            return None;
        };
        let message =
            format!("spec.retry.backoff.{field} has to be a duration, and is a number {number}");
        let finding = Finding::error(Rule::FieldType, message)
            .at(document.place(&node.span))
            .label("this has no unit");
        Some(finding.help("write a duration such as \"5s\" or \"1m30s\""))
    };
    ["initial", "max"].into_iter().filter_map(finding).collect()
}

/// The API server takes each end once.
fn twice(document: &Document) -> Option<Finding> {
    let list = document.root.at(&["spec", "retry", "retryOn"])?;
    let mut ends = list.items().iter().enumerate();
    let (_, end) = ends.find(|(index, end)| {
        let before = list.items().iter().take(*index);
        end.text().is_some() && before.map(Node::text).any(|text| text == end.text())
    })?;
    let name = end.text().unwrap_or_default();
    let finding = Finding::error(
        Rule::FieldType,
        format!("spec.retry.retryOn has {name} twice"),
    )
    .at(document.place(&end.span))
    .label("it is there already")
    .help("take one of the two out");
    Some(finding)
}

/// As far as it can be read: its schema says what cannot be.
fn retry(document: &Document) -> Option<Retry> {
    let retry = document.value.pointer("/spec/retry")?;
    serde_json::from_value(retry.clone()).ok()
}

fn finding(document: &Document, fault: Fault) -> Finding {
    let place = place(document, &fault.what);
    Finding::error(Rule::FieldType, fault.what)
        .at(place)
        .label("this is not allowed")
        .maybe_help(fault.cure)
}

/// The field that a fault names, if it names one.
fn place(document: &Document, what: &str) -> SourceSpan {
    const PATHS: [&[&str]; 4] = [
        &["backoff", "initial"],
        &["backoff", "factor"],
        &["backoff", "max"],
        &["limit"],
    ];
    let named = PATHS.iter().find(|path| {
        let path = format!("spec.retry.{} ", path.join("."));
        what.contains(&path)
    });
    match named {
        Some(path) => document.place_of(&[&AT[..], path].concat()),
        None => document.place_of_key(&AT),
    }
}
