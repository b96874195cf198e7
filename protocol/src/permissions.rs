//! What a `ServiceAccount` needs to be allowed, so that the controller can act as it for Runnables. Which
//! requests the controller makes as the account is told in docs/security.md.

use std::collections::{BTreeMap, BTreeSet};

use cartouche_crds::{InputSource, Selector};
use cartouche_templating::{Template, has_message_in_pods};

use crate::{policy::Policy, sourced_inputs::SourceObject};

/// What a need is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// `apiVersion` and kind.
    Kind(String, String),
    /// A tag decides which kind it is.
    Tagged,
}

/// Something that has to be allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Need {
    /// What it is about.
    pub target: Target,
    /// The names of the only objects that it is about; none where it is about all.
    pub names: Vec<String>,
    /// What has to be allowed.
    pub verbs: &'static [&'static str],
    /// What for.
    pub why: String,
    /// Whether runs are made, followed and read without it as well.
    pub optional: bool,
}

/// What runs of a template need. Of a kind that a tag decides nothing more is known.
#[must_use]
pub fn of_template(name: &str, template: &Template) -> Vec<Need> {
    let target = target(template);
    let need = |verbs, why: &str, optional| Need {
        target: target.clone(),
        names: Vec::new(),
        verbs,
        why: why.to_owned(),
        optional,
    };
    let mut needs = vec![
        need(
            &["list", "create"],
            &format!("to make and follow the runs of the template {name}"),
            false,
        ),
        need(&["get"], "to read one run without listing all", true),
        need(
            &["delete"],
            "to remove finished runs beyond spec.retentionPolicy",
            false,
        ),
    ];
    needs.extend(of_pods(name, template));
    needs
}

/// What is read of the pods of a run, where it is known which they are.
fn of_pods(name: &str, template: &Template) -> Vec<Need> {
    let has_pods = template
        .literal_kind()
        .is_some_and(|(api_version, kind)| has_message_in_pods(api_version, kind));
    if !has_pods {
        return Vec::new();
    }
    let need = |why: String, optional| Need {
        target: Target::Kind("v1".to_owned(), "Pod".to_owned()),
        names: Vec::new(),
        verbs: &["list"],
        why,
        optional,
    };
    let outputs = template.reads_termination_message().then(|| {
        let why = format!("to read .terminationMessage for the outputs of the template {name}");
        need(why, false)
    });
    let failure = "to tell in the status why a pod of a run failed or does not run".to_owned();
    outputs.into_iter().chain([need(failure, true)]).collect()
}

/// What it needs to stop runs, where they are stopped: those that work for longer than their timeout, and those that make
/// way for a later one.
#[must_use]
pub fn of_stop(name: &str, template: &Template, policy: &Policy) -> Option<Need> {
    if !policy.stops_runs() {
        return None;
    }
    let which = match policy.timeout {
        Some(_) => "that work for longer than their timeout",
        None => "that make way for later ones",
    };
    let kind = template.literal_kind();
    let request = match kind {
        Some(run) => policy.way_to_stop(run, kind)?,
        None => policy.stop.clone()?,
    };
    Some(Need {
        target: target(template),
        names: Vec::new(),
        verbs: request.verbs(),
        why: format!("to stop runs of the template {name} {which}"),
        optional: false,
    })
}

/// The kind of the runs of a template.
fn target(template: &Template) -> Target {
    match template.literal_kind() {
        Some((api_version, kind)) => Target::Kind(api_version.to_owned(), kind.to_owned()),
        None => Target::Tagged,
    }
}

/// What a selector needs.
#[must_use]
pub fn of_selector(runnable: &str, selector: &Selector) -> Need {
    let resource = &selector.resource;
    let text = |part: &Option<String>| part.clone().unwrap_or_default();
    Need {
        target: Target::Kind(text(&resource.api_version), text(&resource.kind)),
        names: Vec::new(),
        verbs: &["list"],
        why: format!("to find what the Runnable {runnable} selects"),
        optional: false,
    }
}

/// What the inputs from other objects need.
#[must_use]
pub fn of_sources(runnable: &str, sources: &[InputSource]) -> Vec<Need> {
    let mut by_kind: BTreeMap<(String, String), BTreeSet<String>> = BTreeMap::new();
    for object in sources.iter().filter_map(SourceObject::of) {
        let (version, kind) = object.type_meta();
        let kind = (version.to_owned(), kind.to_owned());
        by_kind.entry(kind).or_default().insert(object.name);
    }
    let needs = by_kind.into_iter().flat_map(|((version, kind), names)| {
        let read = Need {
            target: Target::Kind(version, kind.clone()),
            names: names.into_iter().collect(),
            verbs: &["get"],
            why: format!("to read inputs of the Runnable {runnable}"),
            optional: false,
        };
        // The controller watches ConfigMaps itself.
        let heard = (kind == "Secret").then(|| Need {
            verbs: &["watch"],
            why: format!("to hear of a change of them at once for the Runnable {runnable}"),
            optional: true,
            ..read.clone()
        });
        [read].into_iter().chain(heard)
    });
    needs.collect()
}
