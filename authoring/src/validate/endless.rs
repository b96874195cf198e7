//! Runs that never end, or never begin, as they are written: the API server takes them all.

use cartouche_engines::kinds::{self, HealthFrom};
use cartouche_language::suggestion;
use cartouche_templating::Template;

use serde_json::Value;

use super::pod_spec::{SHELLS, base};
use crate::{
    finding::{Finding, Rule},
    source::{Document, Node},
    template_file,
};

const ALWAYS: &str = "Always";
/// Label of the Jobs that Kueue resumes.
const QUEUE: &str = "kueue.x-k8s.io/queue-name";

pub(super) fn check(document: &Document, template: &Template) -> Vec<Finding> {
    let Some(body) = template_file::body(document) else {
        return Vec::new();
    };
    let restarted = restarted(document, template, body);
    let found = [
        restarted.or_else(|| staying(document, template, body)),
        suspended(document, template, body),
        removed_at_once(document, template, body),
    ];
    found.into_iter().flatten().collect()
}

/// Finds a Pod whose containers are started again whenever they end, which is the default.
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
    let message = format!("a {kind} with {FIELD}: {ALWAYS} never ends; that is the default");
    let finding = Finding::warning(Rule::Surprise, message)
        .at(place)
        .label("its Runnables never become ready")
        .help(format!("write {FIELD}: Never, or OnFailure"));
    Some(finding)
}

/// Finds a Job that waits until it is resumed.
fn suspended(document: &Document, template: &Template, body: &Node) -> Option<Finding> {
    let (api_version, kind) = template.literal_kind()?;
    let HealthFrom::Conditions { decisive, .. } = kinds::known_fields(api_version, kind)?.health
    else {
        return None;
    };
    let is_suspendable = decisive.iter().any(|(name, _)| *name == "Suspended");
    let suspend = body.at(&["spec", "suspend"])?;
    let is_queued = body.at(&["metadata", "labels", QUEUE]).is_some();
    if !is_suspendable || is_queued || suspend.to_value() != Value::Bool(true) {
        return None;
    }
    let message = format!("a suspended {kind} does not start");
    let finding = Finding::warning(Rule::Surprise, message)
        .at(document.place(&suspend.span))
        .label("it waits until this is set to false")
        .help("remove this line, unless a queue starts the runs");
    Some(finding)
}

/// Finds a container that only follows a file or waits: no other begins after it, or the pod does not end.
fn staying(document: &Document, template: &Template, body: &Node) -> Option<Finding> {
    let (api_version, kind) = template.literal_kind()?;
    let rule = kinds::known_fields(api_version, kind)?.restart_policy?;
    let has_rule = document.root.at(&["spec", "healthRule"]).is_some();
    let pod = body.at(rule.pod_spec)?;
    // A process of another container may end it.
    let is_shared = pod.get("shareProcessNamespace");
    let is_shared = is_shared.is_some_and(|it| it.to_value() == Value::Bool(true));
    if has_rule || is_shared {
        return None;
    }
    let of_list = |list| pod.get(list).map(Node::items).unwrap_or_default();
    let is_sidecar = |it: &&Node| {
        it.get("restartPolicy")
            .is_some_and(|it| it.text() == Some(ALWAYS))
    };
    let stays = |it: &&Node| never_ends(&words(it));
    let mut before = of_list("initContainers").iter();
    let before = before.find(|it| !is_sidecar(it) && stays(it));
    let containers = of_list("containers");
    let container = before.or_else(|| containers.iter().find(stays))?;
    let (so, help) = if before.is_some() {
        (
            "no other container starts before it has ended".to_owned(),
            "give it restartPolicy: Always: it runs beside the others, and is stopped when they have ended",
        )
    } else {
        let help = if containers.iter().all(|it| stays(&it)) {
            "run a command that ends"
        } else {
            "move it to initContainers with restartPolicy: Always: it is stopped when the others have ended"
        };
        let so = format!("a {kind} succeeds only when all its containers have ended");
        (so, help)
    };
    let name = container
        .get("name")
        .and_then(Node::text)
        .unwrap_or_default();
    let message = format!("the container '{name}' never ends by itself, and {so}");
    let mut lists = ["command", "args"].into_iter();
    let command = lists.find_map(|list| container.get(list))?;
    let finding = Finding::warning(Rule::Surprise, message)
        .at(document.place(command.first_key().unwrap_or(&command.span)))
        .label("this runs forever");
    Some(finding.help(help))
}

fn words(container: &Node) -> Vec<&str> {
    let lists = ["command", "args"].into_iter();
    let words = lists.filter_map(|list| container.get(list));
    let words: Vec<&str> = words.flat_map(Node::items).filter_map(Node::text).collect();
    match words.as_slice() {
        [shell, option, script] if SHELLS.contains(&base(shell)) && is_of_script(option) => {
            let script = script.trim();
            let script = script.strip_prefix("exec ").unwrap_or(script);
            // A script of several lines is not analysed.
            let line = if script.contains('\n') { "" } else { script };
            line.split_whitespace().collect()
        }
        _ => words,
    }
}

/// Returns true for `-c`, and for others like `-ec`.
fn is_of_script(option: &str) -> bool {
    let letters = option.strip_prefix('-').unwrap_or_default();
    !letters.starts_with('-') && letters.ends_with('c')
}

fn never_ends(words: &[&str]) -> bool {
    let follows = |word: &&str| {
        let short = word.strip_prefix('-').filter(|it| !it.starts_with('-'));
        word.starts_with("--follow") || short.is_some_and(|it| it.contains(['f', 'F']))
    };
    let is_one = |words: &[&str]| {
        !words
            .iter()
            .any(|it| it.contains([';', '&', '|', '(', '`']))
    };
    match words {
        ["while", "true;" | ":;", "do", "sleep", _, "done"] => true,
        [program, "infinity" | "inf"] => base(program) == "sleep",
        [program, options @ ..] if base(program) == "tail" && is_one(options) => {
            options.iter().any(follows) && !options.iter().any(|it| it.starts_with("--pid"))
        }
        _ => false,
    }
}

/// Finds a Job that is removed before the controller sees its end.
fn removed_at_once(document: &Document, template: &Template, body: &Node) -> Option<Finding> {
    let (api_version, kind) = template.literal_kind()?;
    let ttl = body.at(&["spec", "ttlSecondsAfterFinished"])?;
    if !kinds::is_job(api_version, kind) || ttl.to_value().as_i64() != Some(0) {
        return None;
    }
    let message = "a Job that is removed as soon as it ends may be gone before the controller sees its end and its outputs: its run is then Lost";
    let finding = Finding::warning(Rule::Surprise, message)
        .at(document.place(&ttl.span))
        .label("this leaves no time to read it");
    Some(finding.help(
        "write some minutes, such as 600, or remove it: spec.retentionPolicy of the Runnable deletes old runs",
    ))
}
