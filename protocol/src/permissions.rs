//! Permissions that a `ServiceAccount` needs, so that the controller can act as it for Runnables.
//! `docs/concepts/security.md` lists the requests that the controller makes as the account.

use std::collections::{BTreeMap, BTreeSet};

use cartouche_crds::{InputSource, OutputSink, Selector};
use cartouche_engines::{has_message_in_pods, kinds::queue_of};
use cartouche_templating::Template;

use crate::{policy::Policy, references::SourceObject};

/// The objects of a need.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Target {
    /// `apiVersion` and kind.
    Kind(String, String),
    /// A kind that a tag decides.
    Tagged,
}

/// A permission that the account needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Need {
    /// The kind of the objects.
    pub target: Target,
    /// Their namespace, if it is not the Runnable's.
    pub namespace: Option<String>,
    /// The names of the only objects that it covers; empty if it covers all.
    pub names: Vec<String>,
    /// The verbs.
    pub verbs: &'static [&'static str],
    /// The purpose.
    pub why: String,
    /// True if runs are made, followed and read without it as well.
    pub optional: bool,
}

/// Returns the needs of a template's runs. Pods are only covered if no tag decides the kind.
#[must_use]
pub fn of_template(name: &str, template: &Template) -> Vec<Need> {
    let mut needs = of_runs(name, &target(template));
    needs.extend(of_pods(name, template));
    needs
}

/// Returns the needs of a template's runs of which only this kind is known, from a ledger.
#[must_use]
pub fn of_kind(name: &str, (api_version, kind): (&str, &str)) -> Vec<Need> {
    let target = Target::Kind(api_version.to_owned(), kind.to_owned());
    let mut needs = of_runs(name, &target);
    if has_message_in_pods(api_version, kind) {
        needs.push(to_tell_of_pods());
    }
    needs
}

/// Returns the needs of runs of any kind.
fn of_runs(name: &str, target: &Target) -> Vec<Need> {
    let need = |verbs, why: &str, optional| Need {
        target: target.clone(),
        namespace: None,
        names: Vec::new(),
        verbs,
        why: why.to_owned(),
        optional,
    };
    vec![
        need(
            &["list", "create"],
            &format!("to create and follow the runs of the template {name}"),
            false,
        ),
        need(&["get"], "to read one run without listing all", true),
        need(
            &["delete"],
            "to remove finished runs beyond spec.retentionPolicy",
            false,
        ),
    ]
}

/// Returns the needs to read the pods of a run, if its kind has pods that can be found.
fn of_pods(name: &str, template: &Template) -> Vec<Need> {
    let has_pods = template
        .literal_kind()
        .is_some_and(|(api_version, kind)| has_message_in_pods(api_version, kind));
    if !has_pods {
        return Vec::new();
    }
    let outputs = template.reads_termination_message().then(|| {
        let why = format!("to read .terminationMessage for the outputs of the template {name}");
        of_pod(why, false)
    });
    let outputs = outputs.into_iter();
    outputs.chain([to_tell_of_pods()]).collect()
}

fn to_tell_of_pods() -> Need {
    let why = "to report in the status why a pod of a run failed or does not run";
    of_pod(why.to_owned(), true)
}

fn of_pod(why: String, optional: bool) -> Need {
    Need {
        target: Target::Kind("v1".to_owned(), "Pod".to_owned()),
        namespace: None,
        names: Vec::new(),
        verbs: &["list"],
        why,
        optional,
    }
}

/// Returns the need to stop runs, if any are stopped: those that work for longer than their
/// timeout, and those that make way for a later one.
#[must_use]
pub fn of_stop(name: &str, template: &Template, policy: &Policy) -> Option<Need> {
    if !policy.stops_runs() {
        return None;
    }
    let which = match policy.timeout {
        Some(_) => "that exceed their timeout",
        None => "that later ones replace",
    };
    let kind = template.literal_kind();
    let request = match kind {
        Some(run) => policy.way_to_stop(run, kind)?,
        None => policy.stop.clone()?,
    };
    Some(Need {
        target: target(template),
        namespace: None,
        names: Vec::new(),
        verbs: match kind.and_then(|(api_version, kind)| queue_of(api_version, kind)) {
            Some(queue) if queue.may_ignore_stop => &["patch", "delete"],
            Some(_) | None => request.verbs(),
        },
        why: format!("to stop runs of the template {name} {which}"),
        optional: false,
    })
}

/// Returns the kind of a template's runs.
fn target(template: &Template) -> Target {
    match template.literal_kind() {
        Some((api_version, kind)) => Target::Kind(api_version.to_owned(), kind.to_owned()),
        None => Target::Tagged,
    }
}

/// Returns the need of a selector.
#[must_use]
pub fn of_selector(runnable: &str, selector: &Selector) -> Need {
    let resource = &selector.resource;
    let text = |part: &Option<String>| part.clone().unwrap_or_default();
    Need {
        target: Target::Kind(text(&resource.api_version), text(&resource.kind)),
        namespace: None,
        names: Vec::new(),
        verbs: &["list"],
        why: format!("to find what the Runnable {runnable} selects"),
        optional: false,
    }
}

/// Returns the needs of inputs from other objects, for a Runnable in this namespace.
#[must_use]
pub fn of_sources(own: &str, runnable: &str, sources: &[InputSource]) -> Vec<Need> {
    // By kind, namespace, and whether they are named: labels are looked for among all.
    let mut by_kind: BTreeMap<(Target, Option<String>, bool), BTreeSet<String>> = BTreeMap::new();
    for object in sources.iter().filter_map(SourceObject::from_source) {
        let (version, kind) = object.type_meta();
        let target = Target::Kind(version.to_owned(), kind.to_owned());
        let is_named = object.labels().is_none();
        let elsewhere = object.namespace.filter(|namespace| namespace != own);
        let all = by_kind.entry((target, elsewhere, is_named)).or_default();
        if is_named {
            all.insert(object.name);
        }
    }
    let needs = by_kind.into_iter();
    let needs = needs.flat_map(|((target, namespace, is_named), names)| {
        let is_secret = matches!(&target, Target::Kind(_, kind) if kind == "Secret");
        let read = Need {
            target,
            namespace,
            names: names.into_iter().collect(),
            verbs: if is_named { &["get"] } else { &["list"] },
            why: format!("to read inputs of the Runnable {runnable}"),
            optional: false,
        };
        // The controller watches ConfigMaps itself.
        let heard = is_secret.then(|| Need {
            verbs: &["watch"],
            why: format!("to notice their changes immediately for the Runnable {runnable}"),
            optional: true,
            ..read.clone()
        });
        [read].into_iter().chain(heard)
    });
    needs.collect()
}

/// Returns the needs of the objects that outputs are written to. A rule cannot allow a create by
/// name.
#[must_use]
pub fn of_sinks(runnable: &str, sinks: &[OutputSink]) -> Vec<Need> {
    let mut by_kind: BTreeMap<&'static str, BTreeSet<String>> = BTreeMap::new();
    for sink in sinks {
        let names = by_kind.entry(sink.kind.as_str()).or_default();
        names.insert(sink.name.clone());
    }
    let needs = by_kind.into_iter().flat_map(|(kind, names)| {
        let need = |names, verbs, why: String| Need {
            namespace: None,
            target: Target::Kind("v1".to_owned(), kind.to_owned()),
            names,
            verbs,
            why,
            optional: false,
        };
        [
            need(
                Vec::new(),
                &["create"],
                format!("to create the objects for outputs of the Runnable {runnable}"),
            ),
            need(
                names.into_iter().collect(),
                &["get", "update", "delete"],
                format!("to write outputs of the Runnable {runnable}"),
            ),
        ]
    });
    needs.collect()
}
