//! Evaluation of a run's object by the rules of its template. Pure.

use std::{borrow::Cow, collections::BTreeMap, sync::Arc};

use cartouche_crds::{CANCEL_REQUEST_ANNOTATION, Cancellation, HistoryEntry, Runnable};
use cartouche_engines::{
    EndedPods, Health, OutputError, OutputPathError, PodsTell, Sensitive, Verdict, add_message_of,
    add_message_of_failed, add_own_message, built_in_health, is_job, is_message_gone,
    kinds::{self, asked_to_stop, standing},
    strangers_among,
};
use cartouche_language::{
    TERMINATION_MESSAGE,
    bounds::{MAX_WEIGHT, takes},
    explained, suggestion, syntax,
};
use cartouche_templating::{Rendered, Template, contains};
use serde_json::Value;

use crate::{
    compiled::Compiled,
    ledger::{
        Asked, CachedRun, FetchedRun, Ledger, OutputsDigest, OutputsRead, PodsSaid, RunIdentity,
    },
    messages::{
        diagnosis::{Fault, controller},
        format::truncate,
    },
    object::{MAX_DEPTH, is_shortened, too_heavy},
};

/// Least length in bytes of a termination message that Kubernetes has cut; a line end may be missing.
const CUT_BYTES: usize = 4_095;
/// Maximum number of field names that are compared for a suggestion.
const COMPARED: usize = 256;

/// Reads health and outputs. `None` for an object without a name and a uid. The template judges an unfinished run
/// in the history only as long as its rules are those that the run was made under.
#[must_use]
pub fn fetched_run(
    compiled: &Compiled,
    history: &[HistoryEntry],
    object: &Value,
) -> Option<FetchedRun> {
    let run = RunIdentity::from_object(object)?;
    let by = judge(Some(compiled), history, &run);
    let (health, outputs, rules_hash) = judged(Some(compiled), by, object);
    let by = by.and_then(|compiled| compiled.template.as_ref().ok());
    let given = matches!(outputs, OutputsRead::Values(_));
    Some(FetchedRun {
        sensitive: by
            .filter(|_| given)
            .map(|template| template.sensitive(&spoken(template, object)))
            .unwrap_or_default(),
        failure: by.and_then(|template| failure(template, &health, object)),
        run,
        pods_tell: PodsTell::choose(object, &health),
        pods_said: PodsSaid::Nothing,
        controller: controller(object),
        stopped: stopped(object),
        asked: asked(object),
        standing: standing(object),
        version: version(object),
        health,
        outputs,
        rules_hash,
        matches: false,
    })
}

fn stopped(object: &Value) -> Option<Cancellation> {
    let annotations = object.pointer("/metadata/annotations")?;
    Cancellation::parse(annotations.get(CANCEL_REQUEST_ANNOTATION)?.as_str()?)
}

/// Returns true if the object itself says that it was asked to stop, by a person or in the form of its kind.
pub(crate) fn is_asked_to_stop(object: &Value) -> bool {
    asked(object) != Asked::No
}

fn asked(object: &Value) -> Asked {
    if stopped(object).is_some() {
        Asked::ByPerson
    } else if asked_to_stop(object) {
        Asked::InItsWay
    } else {
        Asked::No
    }
}

/// Returns true if a run contains what is rendered. False if the hash of the current run decides that already.
#[must_use]
pub fn contains_rendered(ledger: &Ledger, rendered: &Rendered, object: &Value) -> bool {
    is_comparable(ledger, rendered) && contains(object, rendered)
}

/// Returns true if runs are compared with what is rendered, because the hash of the current run does not show if it
/// is of that.
#[must_use]
pub fn is_comparable(ledger: &Ledger, rendered: &Rendered) -> bool {
    let current = ledger.current.as_ref();
    current.is_none_or(|current| rendered.hashes().like(&current.input_hash).is_none())
}

/// Reads the failure outputs of a failed run. The termination messages of a Job's pods are not read here.
fn failure(
    template: &Template,
    health: &Health,
    object: &Value,
) -> Option<BTreeMap<String, Value>> {
    let is_asked = health.verdict == Verdict::Failed && template.has_failure_outputs();
    is_asked.then(|| template.failure_outputs(&spoken(template, object)))
}

/// Reads the failure outputs of a Job with the pods that were read beside it.
#[must_use]
pub fn failure_with_pods(
    compiled: &Compiled,
    mut job: Value,
    pods: EndedPods,
) -> Option<BTreeMap<String, Value>> {
    add_message_of_failed(&mut job, pods);
    let template = compiled.template.as_ref().ok()?;
    Some(template.failure_outputs(&job))
}

/// Reads the outputs of a Job, and the sensitive ones, with the pods that were read beside it.
#[must_use]
pub fn outputs_with_pods(
    compiled: &Compiled,
    job: Value,
    pods: EndedPods,
) -> (OutputsRead, Sensitive) {
    let Ok(template) = &compiled.template else {
        return (OutputsRead::Elsewhere, Sensitive::default());
    };
    let mut spoken = job;
    let outputs = outputs_of_job(template, &mut spoken, pods);
    let given = matches!(outputs, OutputsRead::Values(_));
    let sensitive = given.then(|| template.sensitive(&spoken));
    (outputs, sensitive.unwrap_or_default())
}

fn outputs_of_job(template: &Template, job: &mut Value, pods: EndedPods) -> OutputsRead {
    // This check comes first: else a path that finds nothing would be blamed for an output that needs the message.
    if template.reads_termination_message() && is_message_gone(job, &pods) {
        let what = "its pods that succeeded are gone, and with them its termination message";
        let cure = "keep pods of Jobs until they are read; `cartouche rerun` runs it again";
        return OutputsRead::Unsatisfied {
            why: what.to_owned(),
            faults: vec![Fault::new(what, Some(cure.to_owned()))],
        };
    }
    if template.reads_termination_message()
        && let Some((found, counted)) = strangers_among(&pods, job)
    {
        let what = format!(
            "{found} pods that name it as their Job have succeeded, but the Job counts {counted}: another client may have created one of them"
        );
        let cure = "check who may create pods in this namespace, and delete those that are not the Job's; `cartouche rerun` runs it again";
        return OutputsRead::Unsatisfied {
            why: what.clone(),
            faults: vec![Fault::new(what, Some(cure.to_owned()))],
        };
    }
    add_message_of(job, pods);
    outputs(template, job)
}

/// Returns a run as a watch may keep it; without the template it is judged by its kind.
#[must_use]
pub fn digest_run(
    compiled: Option<&Compiled>,
    history: &[HistoryEntry],
    run: RunIdentity,
    object: &Value,
    deleted: bool,
) -> CachedRun {
    let by = judge(compiled, history, &run);
    let (health, outputs, rules_hash) = judged(compiled, by, object);
    CachedRun {
        run,
        deleted,
        pods_tell: PodsTell::choose(object, &health),
        asked: asked(object),
        standing: standing(object),
        health,
        outputs: OutputsDigest::from_read(&outputs),
        rules_hash,
        version: version(object),
    }
}

fn version(object: &Value) -> Option<u64> {
    let version = object.pointer("/metadata/resourceVersion")?;
    version.as_str()?.parse().ok()
}

/// Returns the template, unless the run was made under other rules.
fn judge<'a>(
    compiled: Option<&'a Compiled>,
    history: &[HistoryEntry],
    run: &RunIdentity,
) -> Option<&'a Compiled> {
    let mut history = history.iter();
    let entry = history.find(|entry| entry.uid.as_ref() == Some(&run.uid) || run.is_of(entry));
    compiled.filter(|compiled| entry.is_none_or(|entry| applies(&compiled.rules_hash, entry)))
}

/// Returns true if these rules are those that an earlier run was made under, or if those are unknown.
#[must_use]
pub fn applies(rules_hash: &str, entry: &HistoryEntry) -> bool {
    entry
        .rules_hash
        .as_deref()
        .is_none_or(|made_under| made_under == rules_hash)
}

/// Judges a run by the template that it was made under, or else by its kind. The present template still decides
/// which words are not shown.
fn judged(
    present: Option<&Compiled>,
    compiled: Option<&Compiled>,
    object: &Value,
) -> (Health, OutputsRead, Arc<str>) {
    let Some(compiled) = compiled else {
        let health = match present {
            Some(present) => by_kind_discreetly(present, object),
            None => by_kind(object),
        };
        return (health, OutputsRead::None, "".into());
    };
    let rules = compiled.rules_hash.clone();
    let Ok(template) = &compiled.template else {
        let health = by_kind_discreetly(compiled, object);
        return (health, OutputsRead::None, rules);
    };
    let (health, outputs) = by_template(template, object);
    (health, outputs, rules)
}

/// Returns the health by kind, without words that may be a sensitive output of a template. A template that cannot
/// be used does not say where its sensitive outputs are, so all words are dropped.
fn by_kind_discreetly(compiled: &Compiled, object: &Value) -> Health {
    let health = by_kind(object);
    match &compiled.template {
        Ok(template) => template.hide_sensitive(health, object),
        Err(_) if compiled.has_sensitive_outputs => health.wordless(),
        Err(_) => health,
    }
}

/// Returns the health by kind. An engine's message has any length and is bounded.
fn by_kind(object: &Value) -> Health {
    let health = built_in_health(object);
    Health {
        message: truncate(health.message),
        ..health
    }
}

/// Returns the health and the outputs of a run by a template. Outputs of a Job that are in its pods are
/// [`OutputsRead::Elsewhere`]. A dry run gives none: a reader of its outputs would use something that was not made.
#[must_use]
pub fn by_template(template: &Template, object: &Value) -> (Health, OutputsRead) {
    let mut health = template.health(object);
    // An engine's message has any length.
    health.message = truncate(health.message);
    let outputs = match health.verdict {
        Verdict::Succeeded if template.is_dry_run(object) => OutputsRead::None,
        Verdict::Succeeded if template.reads_termination_message() && is_job(object) => {
            OutputsRead::Elsewhere
        }
        Verdict::Succeeded => outputs(template, &spoken(template, object)),
        Verdict::Failed | Verdict::Unknown => OutputsRead::None,
    };
    (health, outputs)
}

/// Returns a Pod with its own termination message, if the template reads it.
fn spoken<'a>(template: &Template, object: &'a Value) -> Cow<'a, Value> {
    if !template.reads_termination_message() && !template.failure_reads_termination_message() {
        return Cow::Borrowed(object);
    }
    let mut object = object.clone();
    add_own_message(&mut object);
    Cow::Owned(object)
}

/// Reads the outputs of a run, to which the termination messages of its pods were added.
#[must_use]
pub fn outputs(template: &Template, object: &Value) -> OutputsRead {
    if is_shortened(object) && template.has_outputs() {
        let why = match too_heavy(object) {
            Some(weight) => format!("it {}", takes(weight, MAX_WEIGHT)),
            None => format!("it is nested deeper than {MAX_DEPTH} levels"),
        };
        let why = format!("{why}, so not all of it can be read");
        let faults = vec![Fault::new(why.clone(), None)];
        return OutputsRead::Unsatisfied { why, faults };
    }
    match template.outputs(object) {
        Ok(Some(values)) => OutputsRead::Values(values),
        Ok(None) => OutputsRead::None,
        Err(error) => OutputsRead::Unsatisfied {
            why: error.to_string(),
            faults: faults(&error, object),
        },
    }
}

/// Returns the reasons why outputs could not be taken, one for each path.
fn faults(error: &OutputError, object: &Value) -> Vec<Fault> {
    let OutputError::Paths(paths) = error else {
        let cure = match error {
            OutputError::ShowsSensitive { .. } => {
                "change its path, make it sensitive as well, or let the run give a value that occurs in no other output"
            }
            OutputError::Secret => {
                "remove outputs from the template: Cartouche does not publish values of a Secret"
            }
            _ => "let the run give smaller outputs, or others",
        };
        return vec![Fault::new(error.to_string(), Some(cure.to_owned()))];
    };
    let fault = |path: &OutputPathError| Fault {
        what: format!(
            "output {:?} has no value at {}: {}",
            path.name, path.path, path.reason
        ),
        place: String::new(),
        cure: Some(
            without_marker(&path.path)
                .or_else(|| outside_status(&path.path, object))
                .or_else(|| explained::unescaped_dots(&path.path, None))
                .or_else(|| meant(path, object))
                .unwrap_or_else(|| output_cure(path, object).to_owned()),
        ),
    };
    paths.iter().map(fault).collect()
}

/// Returns the cure for a path that begins with the root of other path languages, or with a blank. Such a path is
/// valid: it reads as a step to a member without a name.
fn without_marker(path: &str) -> Option<String> {
    let meant = path.trim_start_matches(['$', ' ']);
    let is_other = meant != path && meant.starts_with('.');
    is_other.then(|| format!("a path begins with a dot, without blanks or $: write {meant}"))
}

/// Returns the cure for a termination message read in a status, where engines have none. A status of another kind
/// may have such a field.
fn outside_status(path: &str, object: &Value) -> Option<String> {
    let known = kinds::known_fields_of(object)?;
    if !known.outputs.has_termination_message() {
        return None;
    }
    let cure = explained::beside_status(path)?;
    Some(format!(
        "{cure}; the controller then reads the same run again"
    ))
}

/// Returns the field that was probably meant by a path that finds nothing. It only suggests a name similar to the
/// one in the template.
fn meant(path: &OutputPathError, object: &Value) -> Option<String> {
    let mut value = object;
    for step in syntax::steps(&path.path) {
        let key = step.key()?;
        let members = value.as_object()?;
        if let Some(next) = members.get(key) {
            value = next;
            continue;
        }
        let names = members.keys().map(String::as_str).take(COMPARED);
        let meant = suggestion::nearest(key, names)?;
        return Some(format!(
            "did you mean '{meant}' instead of '{key}'? The controller reads a corrected path in the same run"
        ));
    }
    None
}

fn output_cure(path: &OutputPathError, object: &Value) -> &'static str {
    let reads_words = path
        .path
        .trim_start_matches(['{', '.'])
        .starts_with(TERMINATION_MESSAGE);
    match object.get(TERMINATION_MESSAGE) {
        None if reads_words => {
            "let a container of the run write its termination message (/dev/termination-log)"
        }
        Some(Value::String(words)) if reads_words && words.len() >= CUT_BYTES => {
            "let the container write less: Kubernetes keeps only the last 4,096 bytes of a termination message, so this one was cut; let it name the place of the rest"
        }
        Some(Value::String(_)) if reads_words => {
            "let the container write a JSON object as its termination message, which is a string here, or read .terminationMessage as a whole"
        }
        _ if path.missing => {
            "correct the path in outputs of the template, or name the output in its optionalOutputs if runs may lack it; the controller then reads the same run again"
        }
        _ => {
            "correct the path in outputs of the template; the controller then reads the same run again"
        }
    }
}

/// Returns the number of the current run; 0 without one.
#[must_use]
pub fn current_sequence(runnable: &Runnable) -> i64 {
    let status = runnable.status.as_ref();
    let current = status.and_then(|status| status.current_run.as_ref());
    current.map_or(0, |current| current.sequence)
}

/// Returns true if a run may still change its Runnable's status: it is current, unfinished, or not in the ledger at
/// all. Most runs are none of these, and nothing of them is kept.
#[must_use]
pub fn is_relevant(runnable: &Runnable, run: &RunIdentity) -> bool {
    let Some(status) = &runnable.status else {
        return true;
    };
    let settled = |uid: &str| {
        status
            .history
            .iter()
            .any(|entry| entry.uid.as_deref() == Some(uid) && entry.result.is_some())
    };
    let current = status
        .current_run
        .as_ref()
        .is_some_and(|current| current.uid.as_deref() == Some(&run.uid));
    current || !settled(&run.uid)
}

#[cfg(test)]
mod tests;
