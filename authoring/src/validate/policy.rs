//! Policies that a Runnable and its template ask for, checked by the function of the controller.

use cartouche_crds::{Backoff, Retry, Start, duration};
use cartouche_engines::kinds::{self, Cancel};
use cartouche_protocol::{
    messages::diagnosis::Fault,
    policy::{Asks, Policy},
};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{
    finding::{Finding, Rule, Severity},
    source::{Content, Document, Node, SourceSpan},
};

/// Paths of durations in a Runnable and in a template.
const DURATIONS: [&[&str]; 4] = [
    &["spec", "retry", "backoff", "initial"],
    &["spec", "retry", "backoff", "max"],
    &["spec", "timeout"],
    &["spec", "start", "debounce"],
];

/// Returns the findings about policies in one of them that cannot be met. Faults that its schema reports are not
/// repeated.
pub(super) fn check(document: &Document, is_template: bool) -> Vec<Finding> {
    let (own, general) = if is_template {
        (Asks::default(), asks(document))
    } else {
        (asks(document), Asks::default())
    };
    let faults = Policy::merge(&own, &general).err().unwrap_or_default();
    let findings = faults.into_iter().map(|fault| finding(document, fault));
    let others = without_unit(document).into_iter().chain(twice(document));
    let others = others.chain(never_longer(document));
    findings.chain(others).collect()
}

/// Adds these findings, or those about sources, to those of the schema, and removes the type errors of the schema at
/// the same places, which say less.
pub(super) fn added_to(mut shape: Vec<Finding>, added: Vec<Finding>) -> Vec<Finding> {
    let span = |finding: &Finding| finding.place.as_ref().map(|place| place.span.clone());
    let spans: Vec<_> = added.iter().map(span).collect();
    shape.retain(|finding| finding.rule != Rule::FieldType || !spans.contains(&span(finding)));
    shape.extend(added);
    shape
}

/// Returns the finding about a policy that is not possible with a fixed name for all runs.
pub(super) fn check_name(
    runnable: Option<&Document>,
    template: &Document,
    rendered: &Value,
) -> Option<Finding> {
    let name = rendered.pointer("/metadata/name").and_then(Value::as_str);
    let name = name.filter(|name| !name.is_empty())?;
    let own = runnable.map(asks).unwrap_or_default();
    let policy = Policy::merge(&own, &asks(template)).ok()?;
    let fault = policy.check_name(Some(name)).err()?.into_iter().next()?;
    let at_name = template.place_of(&["spec", "template", "metadata", "name"]);
    let mut both = [Some(template), runnable].into_iter().flatten();
    let asking = both.find(|document| asks(document).retry.is_some())?;
    let finding = finding(asking, fault).with_related(at_name, "each run gets this name");
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

/// Finds a timeout, or a replacement of runs, if runs of the kind cannot be stopped. `body` is the object that the
/// template makes.
pub(super) fn check_stop(
    runnable: Option<&Document>,
    template: &Document,
    body: &Value,
) -> Option<Finding> {
    let own = runnable.map(asks).unwrap_or_default();
    let policy = Policy::as_far_as_usable(&own, &asks(template));
    if !policy.stops_runs() {
        return None;
    }
    let text = |field: &str| body.get(field).and_then(Value::as_str);
    let (api_version, kind) = (text("apiVersion")?, text("kind")?);
    let is_tagged = api_version.contains("$(") || kind.contains("$(");
    let works =
        kinds::find_kind(api_version, kind).is_none_or(|it| it.cancel != Cancel::NeverAtWork);
    let of_run = (api_version, kind);
    if is_tagged || !works || policy.way_to_stop(of_run, Some(of_run)).is_some() {
        return None;
    }
    // Reported once: for the template, if it asks for it itself.
    let (path, what): (&[&str], _) = match policy.timeout {
        Some(_) => (&["spec", "timeout"], "runs have a timeout"),
        None => (&["spec", "concurrencyPolicy"], "runs are to be replaced"),
    };
    let is_asking = |document: &&Document| document.root.at(path).is_some();
    let asking = match runnable {
        None => template,
        Some(_) if is_asking(&template) => return None,
        Some(runnable) => runnable,
    };
    let message =
        format!("{what}, but Cartouche does not know how to stop a {kind} of {api_version}");
    let finding = Finding::warning(Rule::FieldType, message)
        .at(asking.place_of(path))
        .label("nothing enforces it");
    Some(finding.help("set spec.stop in the template, which says how its runs are stopped"))
}

/// Finds attempts after a timeout alone, if no run has one.
pub(super) fn check_retry_on(runnable: &Document, template: &Document) -> Option<Finding> {
    let policy = Policy::as_far_as_usable(&asks(runnable), &asks(template));
    let asking = [runnable, template].into_iter().find_map(|document| {
        let list = document.root.at(&["spec", "retry", "retryOn"])?;
        Some((document, list))
    });
    let (document, list) = asking?;
    let mut ends = list.items().iter().map(Node::text);
    let is_alone = list.items().len() == 1 && ends.all(|end| end == Some("TimedOut"));
    if !is_alone || policy.timeout.is_some() {
        return None;
    }
    let message = format!(
        "Runnable {}: only runs that timed out are retried, and no run has a timeout: nothing is ever retried",
        runnable.name()
    );
    let finding = Finding::warning(Rule::Surprise, message)
        .at(document.place_of_key(&["spec", "retry", "retryOn"]))
        .label("this never happens");
    Some(finding.help("give spec.timeout a duration such as 30m, or add Failed"))
}

/// Durations that are numbers: in quotes they were no durations either.
fn without_unit(document: &Document) -> Vec<Finding> {
    let finding = |path: &[&str]| {
        let node = document.root.at(path)?;
        let Content::Scalar(Value::Number(number)) = &node.content else {
            return None;
        };
        let message = format!(
            "{} has to be a duration, and is a number {number}",
            path.join(".")
        );
        let finding = Finding::error(Rule::FieldType, message)
            .at(document.place(&node.span))
            .label("this has no unit");
        Some(finding.help("write a duration such as \"5s\" or \"1m30s\""))
    };
    DURATIONS.into_iter().filter_map(finding).collect()
}

/// Finds a first pause that is longer than the longest one: it is cut to it, and so is each that follows.
fn never_longer(document: &Document) -> Option<Finding> {
    let pause = |field: &str| {
        let node = document.root.at(&["spec", "retry", "backoff", field])?;
        Some((node, node.text()?, duration(node.text()?)?))
    };
    let ((node, initial, first), (_, max, longest)) = (pause("initial")?, pause("max")?);
    (longest < first).then(|| {
        let message = format!(
            "spec.retry.backoff.initial is {initial}, and max is {max}: each pause is {max}"
        );
        Finding::warning(Rule::Surprise, message)
            .at(document.place(&node.span))
            .label("this is longer than the longest pause")
            .help("make max longer than initial, or remove one of them")
    })
}

/// Finds an end of a run that is listed twice: the API server refuses that.
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
    .help("remove one of the two");
    Some(finding)
}

/// Reads the policies as far as possible. The schema check reports the rest.
#[must_use]
pub fn asks(document: &Document) -> Asks {
    Asks {
        retry: retry(document),
        timeout: document.field("timeout"),
        concurrency: document.field("concurrencyPolicy"),
        approval: document.field("approval"),
        debounce: document
            .field("start")
            .and_then(|start: Start| start.debounce),
        stop: document.field("stop"),
    }
}

/// Reads field by field: the schema check reports a mistake in one of them, and the others are still used.
fn retry(document: &Document) -> Option<Retry> {
    fn field<T: DeserializeOwned>(of: &Value, name: &str) -> Option<T> {
        serde_json::from_value(of.get(name)?.clone()).ok()
    }
    let retry: Value = document.field("retry")?;
    let backoff = retry.get("backoff").map(|backoff| Backoff {
        initial: field(backoff, "initial"),
        factor: field(backoff, "factor"),
        max: field(backoff, "max"),
    });
    retry.is_object().then(|| Retry {
        limit: field(&retry, "limit"),
        retry_on: field(&retry, "retryOn"),
        backoff,
    })
}

fn finding(document: &Document, fault: Fault) -> Finding {
    let place = place(document, &fault.what);
    Finding::error(Rule::FieldType, fault.what)
        .at(place)
        .label("this is not allowed")
        .maybe_help(fault.cure)
}

/// Returns the field that a fault names, if it names one.
fn place(document: &Document, what: &str) -> SourceSpan {
    const PATHS: [&[&str]; 7] = [
        &["spec", "retry", "backoff", "initial"],
        &["spec", "retry", "backoff", "factor"],
        &["spec", "retry", "backoff", "max"],
        &["spec", "retry", "limit"],
        &["spec", "timeout"],
        &["spec", "start", "debounce"],
        &["spec", "stop"],
    ];
    let named = PATHS
        .iter()
        .find(|path| what.contains(&format!("{} ", path.join("."))));
    match named {
        Some(path) => document.place_of(path),
        None => document.place_of_key(&["spec", "retry"]),
    }
}
