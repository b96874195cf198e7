//! Checks a Runnable together with its template.

use cartouche_language::{
    Diagnostic, Root, explained, suggestion,
    syntax::{self, PathStep, To},
};
use std::collections::HashSet;

use cartouche_templating::{Attempt, Context, list_of_argo};
use serde_json::Value;

use super::{
    breaks, chained, inputs, knowledge::Knowledge, names, not_a_text, part_of, pod_spec, policy,
    problem, secrets, selection, shape, subject, tekton,
};
use crate::{
    finding::{Finding, Rule},
    input_schema,
    inputs_from::Given,
    objects::{self, Objects, namespace_of},
    profile_file, render,
    schema::{check, partial::Partial},
    source::{Content, Document, Segment},
    template_file,
};

/// Renders the template of a Runnable as far as possible, and checks the outcome. Faults of the template alone are not
/// repeated.
pub(super) fn check(
    objects: &Objects,
    runnable: &Document,
    given: &Given,
    knowledge: &Knowledge,
) -> Vec<Finding> {
    let Some(document) = objects.template_of(runnable) else {
        // A reference of the wrong shape is reported as such.
        let refers_to_files = objects.is_whole()
            && !objects.templates.is_empty()
            && !objects::template_name(runnable).is_empty();
        return Vec::from_iter(refers_to_files.then(|| objects.missing_template(runnable)));
    };
    let Some(draft) = template_file::draft(document) else {
        return Vec::new();
    };
    let (selected, mut findings) = selection::select(objects, runnable);
    let absent = given.absent.iter();
    let read = absent.filter(|absent| draft.template().reads_input(&absent.input));
    findings.extend(read.filter_map(|absent| absent.unchecked_finding(runnable)));
    let prepared = render::prepare(&runnable.value, namespace_of(runnable));
    let context = Context::new(&prepared, selected.map(|selected| &selected.value));
    let context = context.and_then(|context| context.with_sources(&given.known_values()));
    let runnable = &given.complete(runnable);
    let context = match context {
        Ok(context) => context,
        Err(problems) => {
            findings.extend(
                problems
                    .iter()
                    .map(|problem| problem_finding(document, runnable, problem)),
            );
            return findings;
        }
    };
    let attempt = draft.attempt(&context, &given.unknown_names());
    let asked = runnable.root.at(&["spec", "selector"]).is_some();
    let unfinished = selected.filter(|chosen| chained::is_unfinished(chosen));
    let has_no_inputs = part_of::inputs_are_unread(runnable);
    let is_unknown = |problem: &Diagnostic| {
        (has_no_inputs && chained::reads(problem, &["runnable", "spec", "inputs"]))
            || (asked && selected.is_none() && chained::reads(problem, &["selected"]))
            || (unfinished.is_some() && chained::reads_status(problem))
    };
    let known = attempt
        .problems
        .iter()
        .filter(|problem| !is_unknown(problem));
    findings.extend(known.map(|problem| problem_finding(document, runnable, problem)));
    if let Some(chosen) = unfinished {
        let problems = &attempt.problems;
        findings.extend(chained::check(
            objects, document, runnable, chosen, problems,
        ));
    }
    findings.extend(check_run(objects, document, runnable, &attempt, knowledge));
    if attempt.problems.is_empty()
        && given.unknown_names().is_empty()
        && (selected.is_some() || !asked)
        && unfinished.is_none()
    {
        findings.extend(files(document, runnable, &context));
    }
    findings.extend(secrets::check(document, runnable));
    if let Ok(completed) = draft.template().complete(&context) {
        findings.extend(breaks::check(document, runnable, &completed));
    }
    let (asking, made) = (Some(runnable), &attempt.document);
    findings.extend(policy::check_name(asking, document, made));
    findings.extend(policy::check_stop(asking, document, made));
    findings.extend(policy::check_retry_on(runnable, document));
    findings
}

/// Returns the finding about a problem in the run of this Runnable: in its template, or in the profile that it is made
/// with.
#[must_use]
pub fn made_finding(
    document: &Document,
    profile: Option<&Document>,
    runnable: &Document,
    problem: &Diagnostic,
) -> Finding {
    let Some(profile) = profile else {
        return problem_finding(document, runnable, problem);
    };
    if let Some(missing) = missing_value(document, profile, runnable, problem) {
        return missing;
    }
    if problem.root != Root::Profile {
        return problem_finding(document, runnable, problem);
    }
    let finding = profile_file::problem_finding(profile, problem);
    Finding {
        message: format!(
            "ClusterRunProfile {} does not fit Runnable {}: {}",
            profile.name(),
            runnable.name(),
            finding.message
        ),
        ..finding
    }
    .with_related(subject::place(runnable, &[]), "for this Runnable")
}

/// Returns the finding about a value that the template reads, and the profile does not give.
fn missing_value(
    document: &Document,
    profile: &Document,
    runnable: &Document,
    problem: &Diagnostic,
) -> Option<Finding> {
    let tag = problem.tag.as_deref();
    let tag = tag.filter(|_| problem.root == Root::Template && explained::has_no_value(problem))?;
    let key = profile_file::value_read(tag)?;
    let (name, of) = (profile.name(), runnable.name());
    let values = profile_file::values(profile);
    let message = format!(
        "Runnable {of}: ClusterRunProfile {name} gives no value for $({tag})$, which the template reads"
    );
    let is_there = values.iter().any(|value| **value == key);
    let hint = suggestion::hint(&key, "its values are", values);
    let finding = Finding::error(Rule::Profile, message)
        .at(template_file::place_of(document, problem))
        .label("has no value")
        .with_related(profile.place_of(&["metadata", "name"]), "in this profile")
        .help(format!(
            "give it under spec.values of the profile: {key}: ..."
        ));
    Some(finding.maybe_help(hint.filter(|_| !is_there)))
}

/// Returns the finding about a tag that has no value for this Runnable.
pub(super) fn problem_finding(
    document: &Document,
    runnable: &Document,
    problem: &Diagnostic,
) -> Finding {
    if let Some(misfit) = inputs::misfit(document, runnable, problem) {
        return misfit;
    }
    if let Some(finding) = not_a_text::finding(document, runnable, problem) {
        return finding;
    }
    let missing = problem
        .tag
        .as_deref()
        .filter(|_| explained::has_no_value(problem))
        .and_then(|tag| missing_input(runnable, tag));
    if let Some(missing) = missing {
        return missing_finding(document, runnable, problem, &missing);
    }
    let mut finding = problem::problem_finding(document, problem);
    if explained::has_no_value(problem) && reads_selected_status(problem) {
        finding = finding.help(FILE_LACKS_STATUS);
    }
    Finding {
        rule: Rule::Value,
        message: format!("Runnable {}: {}", runnable.name(), finding.message),
        ..finding
    }
    .with_related(subject::place(runnable, &[]), "for this Runnable")
}

/// Cure if an object of a file lacks the status. The controller, which has no file, reports something else.
const FILE_LACKS_STATUS: &str = "check the names in the path; if the file lacks the status, give the object as it is on a cluster: kubectl get -o yaml";

fn reads_selected_status(problem: &Diagnostic) -> bool {
    let steps = problem.tag.as_deref().map(syntax::steps);
    steps.is_some_and(|steps| syntax::below(&steps, &["selected", "status"]).is_some())
}

fn missing_finding(
    document: &Document,
    runnable: &Document,
    problem: &Diagnostic,
    missing: &Missing,
) -> Finding {
    let (key, name) = (&missing.key, runnable.name());
    let (what, label, add) = if missing.above == Segment::keys(TO_INPUTS) {
        (
            format!("the input '{key}'"),
            format!("no input '{key}' here"),
            Some(format!(
                "give it under spec.inputs of the Runnable: {key}: ..."
            )),
        )
    } else {
        let what = format!("'{key}' in its inputs");
        (what, format!("no '{key}' here"), None)
    };
    let dots = || explained::unescaped_dots(problem.tag.as_deref()?, Some(&missing.step));
    let known = missing.known.iter().map(String::as_str);
    let message = format!("Runnable {name} does not give {what}, which the template reads");
    Finding::error(Rule::Value, message)
        .at(template_file::place_of(document, problem))
        .label("has no value")
        .with_related(subject::place(runnable, &missing.above), label)
        .maybe_help(
            dots()
                .or_else(|| part_of::cure(runnable, &missing.above, &missing.step))
                .or_else(|| {
                    let is_input = missing.above == Segment::keys(TO_INPUTS);
                    let inputs = runnable.value.pointer("/spec/inputs");
                    let list = list_of_argo(inputs.filter(|_| is_input)?, key);
                    list.map(str::to_owned)
                })
                .or_else(|| suggestion::hint(key, "it gives", known))
                .or(add)
                .or_else(|| explained::explain(problem).help),
        )
}

/// Path to the inputs of a Runnable.
const TO_INPUTS: [&str; 2] = ["spec", "inputs"];

struct Missing {
    key: String,
    known: Vec<String>,
    /// The keys above it that are there.
    above: Vec<Segment>,
    /// The step to it.
    step: PathStep,
}

/// Returns the missing part of a path below the inputs.
fn missing_input(runnable: &Document, path: &str) -> Option<Missing> {
    let steps = syntax::steps(path);
    let mut above = Segment::keys(TO_INPUTS);
    let mut value = Segment::value_at(&above, &runnable.value).unwrap_or_default();
    for step in input_schema::below_inputs(&steps)? {
        let To::Key(key) = &step.to else {
            return None;
        };
        let Some(below) = value.get(key) else {
            let known = value.as_object().into_iter().flatten();
            return Some(Missing {
                known: known.map(|(key, _)| key.clone()).collect(),
                key: key.clone(),
                above,
                step: step.clone(),
            });
        };
        value = below;
        above.push(Segment::Key(key.clone()));
    }
    None
}

/// Returns the findings about the files of containers, once all else can be rendered.
fn files(document: &Document, runnable: &Document, context: &Context) -> Vec<Finding> {
    let has_files = document.root.at(&["spec", "runner"]).is_some();
    let template = template_file::compile(document).filter(|_| has_files);
    let Some(Ok(template)) = template else {
        return Vec::new();
    };
    let problems = template.render(context).err();
    let problems = problems.iter().flat_map(|problems| problems.iter());
    let of_files = problems.filter(|problem| problem.root == Root::Spec);
    of_files
        .map(|problem| problem_finding(document, runnable, problem))
        .collect()
}

/// Returns the findings about a rendered run that the API server would refuse, as far as the inputs decide it.
fn check_run(
    objects: &Objects,
    document: &Document,
    runnable: &Document,
    attempt: &Attempt,
    knowledge: &Knowledge,
) -> Vec<Finding> {
    let run = &attempt.document;
    let Some(body) = template_file::body(document) else {
        return Vec::new();
    };
    let tagged = tagged(document);
    let is_open = |at: &[Segment]| {
        let open = |open: &Vec<Segment>| at.starts_with(open) || open.starts_with(at);
        attempt.open.iter().any(open)
    };
    let from_a_tag = |at: &[Segment]| tagged(at) && !is_open(at);
    let mut findings = Vec::new();
    let text = |key: &str| run.get(key).and_then(Value::as_str).unwrap_or_default();
    let known = knowledge.catalog.get(text("apiVersion"), text("kind"));
    if let Some(schema) = known.as_ref().and_then(|known| known.schema()) {
        let mismatches = check::check(schema, &Partial::from(run));
        let ours = mismatches
            .iter()
            .filter(|mismatch| from_a_tag(&mismatch.at));
        findings.extend(ours.map(|mismatch| {
            let finding = shape::finding(document, body, mismatch);
            finding.maybe_help(secrets::help(document, runnable, &mismatch.at))
        }));
    }
    let refused = names::check(run);
    let refused = refused.iter().filter(|refused| from_a_tag(&refused.at));
    findings.extend(refused.map(|refused| refused.finding(document, body)));
    findings.extend(pod_spec::in_run(
        objects, document, runnable, run, from_a_tag,
    ));
    for finding in &mut findings {
        finding.message = format!("Runnable {}: {}", runnable.name(), finding.message);
        finding.related.push((
            subject::place(runnable, &[]),
            "for this Runnable".to_owned(),
        ));
    }
    findings.extend(tekton::in_run(document, runnable, run, from_a_tag));
    findings
}

/// Returns a function that is true for a part of the run that a tag yields, and below it.
fn tagged(document: &Document) -> impl Fn(&[Segment]) -> bool {
    let tagged: HashSet<Vec<Segment>> = template_file::tags(document)
        .into_iter()
        .map(|tag| tag.at)
        .collect();
    let body = template_file::body(document).cloned();
    move |at: &[Segment]| {
        let Some(body) = &body else {
            return false;
        };
        let (node, _, taken) = body.follow(at);
        matches!(node.content, Content::Scalar(_))
            && tagged.contains(at.get(..taken).unwrap_or_default())
    }
}
