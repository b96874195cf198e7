//! Runs that never end, or never begin, as they are written: the API server takes them all.

use cartouche_templating::{
    Template,
    kinds::{self, HealthFrom},
    suggestion,
};

use crate::{
    finding::{Finding, Rule},
    source::{Document, Node},
    template_file,
};

const ALWAYS: &str = "Always";
/// A Job with this label is let go on by Kueue.
const QUEUE: &str = "kueue.x-k8s.io/queue-name";

pub(super) fn check(document: &Document, template: &Template) -> Vec<Finding> {
    let Some(body) = template_file::body(document) else {
        return Vec::new();
    };
    let found = [
        restarted(document, template, body),
        suspended(document, template, body),
        removed_at_once(document, template, body),
        beside_one_that_stays(document, template, body),
    ];
    found.into_iter().flatten().collect()
}

/// A Pod whose containers are started again whenever they end, which is what happens where nothing is said.
fn restarted(document: &Document, template: &Template, body: &Node) -> Option<Finding> {
    const FIELD: &str = "restartPolicy";
    let (api_version, kind) = template.literal_kind()?;
    let rule = kinds::known_fields(api_version, kind)?.restart_policy?;
    let has_rule = document.root.at(&["spec", "healthRule"]).is_some();
    if has_rule || !rule.allowed.contains(&ALWAYS) {
        return None;
    }
    let pod = body.at(rule.pod_spec)?;
    let path = [&["spec", "template"], rule.pod_spec].concat();
    let place = match pod.get(FIELD) {
        Some(policy) if policy.text() == Some(ALWAYS) => document.place(&policy.span),
        Some(_) => return None,
        // A misspelt one is an unknown field.
        None => {
            let mut keys = pod.entries().iter().map(|entry| entry.key.as_str());
            if keys.any(|key| suggestion::nearest(key, [FIELD]).is_some()) {
                return None;
            }
            document.place_of_key(&path)
        }
    };
    let message = format!(
        "a {kind} with {FIELD}: {ALWAYS} never ends; that is what it has if nothing is said"
    );
    let finding = Finding::warning(Rule::Surprise, message)
        .at(place)
        .label("its Runnables never become ready")
        .help(format!("write {FIELD}: Never, or OnFailure"));
    Some(finding)
}

/// A Job that waits until somebody lets it go on.
fn suspended(document: &Document, template: &Template, body: &Node) -> Option<Finding> {
    let (api_version, kind) = template.literal_kind()?;
    let HealthFrom::Conditions { decisive, .. } = kinds::known_fields(api_version, kind)?.health
    else {
        return None;
    };
    let is_suspendable = decisive.iter().any(|(name, _)| *name == "Suspended");
    let suspend = body.at(&["spec", "suspend"])?;
    let is_queued = body.at(&["metadata", "labels", QUEUE]).is_some();
    if !is_suspendable || is_queued || suspend.to_value() != serde_json::Value::Bool(true) {
        return None;
    }
    let message = format!("a {kind} that is suspended does not begin");
    let finding = Finding::warning(Rule::Surprise, message)
        .at(document.place(&suspend.span))
        .label("it waits until somebody sets this to false")
        .help("take this line out, unless a queue is to let the runs go on");
    Some(finding)
}

/// A container that only follows a file or waits, beside one that ends: the pod ends when all of them have.
fn beside_one_that_stays(document: &Document, template: &Template, body: &Node) -> Option<Finding> {
    let (api_version, kind) = template.literal_kind()?;
    let rule = kinds::known_fields(api_version, kind)?.restart_policy?;
    let has_rule = document.root.at(&["spec", "healthRule"]).is_some();
    let pod = body.at(rule.pod_spec)?;
    // A process of another container may end it.
    let is_shared = pod.get("shareProcessNamespace").is_some();
    let containers = pod.get("containers").map(Node::items)?;
    let stays = |container: &&Node| never_ends(&words(container));
    let staying = containers.iter().find(stays)?;
    if has_rule || is_shared || containers.iter().all(|it| stays(&it)) {
        return None;
    }
    let name = staying.get("name").and_then(Node::text).unwrap_or_default();
    let message = format!(
        "the container '{name}' never ends, so this {kind} does not end either when its other containers have ended"
    );
    let command = staying.get("command")?;
    let finding = Finding::warning(Rule::Surprise, message)
        .at(document.place(command.first_key().unwrap_or(&command.span)))
        .label("this goes on for ever");
    Some(finding.help("move it to initContainers with restartPolicy: Always: it is stopped when the others have ended"))
}

fn words(container: &Node) -> Vec<&str> {
    let lists = ["command", "args"].into_iter();
    let words = lists.filter_map(|list| container.get(list));
    let words: Vec<&str> = words.flat_map(Node::items).filter_map(Node::text).collect();
    match words.as_slice() {
        ["sh" | "/bin/sh" | "bash" | "/bin/bash", "-c", script]
            if !script.contains([';', '&', '|', '\n']) =>
        {
            script.split_whitespace().collect()
        }
        _ => words,
    }
}

fn never_ends(words: &[&str]) -> bool {
    let follows = |word: &&str| {
        let short = word.strip_prefix('-').filter(|it| !it.starts_with('-'));
        let is_follow = word.starts_with("--follow") || *word == "--retry";
        is_follow || short.is_some_and(|it| it.contains(['f', 'F']))
    };
    match words {
        ["sleep", "infinity" | "inf"] => true,
        ["tail", options @ ..] => {
            options.iter().any(follows) && !options.iter().any(|it| it.starts_with("--pid"))
        }
        _ => false,
    }
}

/// A Job that is removed before its end is seen.
fn removed_at_once(document: &Document, template: &Template, body: &Node) -> Option<Finding> {
    let (api_version, kind) = template.literal_kind()?;
    let ttl = body.at(&["spec", "ttlSecondsAfterFinished"])?;
    if !kinds::is_job(api_version, kind) || ttl.to_value().as_i64() != Some(0) {
        return None;
    }
    let message = "a Job that is removed as soon as it ends may be gone before its end and its outputs are seen: its run is Lost then";
    let finding = Finding::warning(Rule::Surprise, message)
        .at(document.place(&ttl.span))
        .label("no time is left to look at it");
    Some(finding.help(
        "write some minutes, such as 600, or take it out: spec.retentionPolicy of the Runnable deletes old runs",
    ))
}
