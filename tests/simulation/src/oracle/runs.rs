//! What the runs themselves show: S1, S2 and where their content came from.

use std::collections::{BTreeMap, HashMap};

use serde_json::Value;

use super::{Violation, input_hash, makes_a_run, number, owner, status, text, uid};
use crate::{
    discovery::Resource,
    store::{Change, Happened, Key, Store},
};

/// What broke S1, S2 or S3 by making a run.
pub(super) fn judged(store: &Store) -> Vec<Violation> {
    let mut found = Vec::new();
    let mut first: BTreeMap<(String, i64), &Change> = BTreeMap::new();
    let mut content: HashMap<(String, String), String> = HashMap::new();
    for change in store.log().iter().filter(|change| makes_a_run(change)) {
        let run = &*change.object;
        let sequence = number(run).unwrap_or_default();
        let key = (owner(run).to_owned(), sequence);
        if let Some(other) = first.get(&key) {
            if outlived_its_runnable(store, change) {
                continue;
            }
            found.push(Violation::new(
                "S1",
                format!(
                    "run {sequence} was made at {} and again at {}: {} and {}",
                    other.version, change.version, other.key.name, change.key.name
                ),
            ));
            continue;
        }
        first.insert(key, change);
        let made_of = format!("{} {}", change.key.resource.kind(), run["spec"]);
        let before = content
            .entry((owner(run).to_owned(), input_hash(run).to_owned()))
            .or_insert_with(|| made_of.clone());
        if *before != made_of {
            found.push(Violation::new(
                "S2",
                format!(
                    "{} has the hash of {before}, but is {made_of}",
                    change.key.name
                ),
            ));
        }
        found.extend(strange_content(store, change, sequence));
    }
    found
}

/// The known limit of a create that is under way while its Runnable, and with it the run that it
/// made before, is deleted: the API server carries it out, and garbage collection takes what it made.
fn outlived_its_runnable(store: &Store, run: &Change) -> bool {
    store.log().iter().any(|change| {
        change.key.resource == Resource::Runnables
            && change.happened == Happened::Deleted
            && change.version < run.version
            && uid(&change.object) == owner(&run.object)
    })
}

/// A run is made of what was there at its intent: the Runnable as the intent's write found it, the
/// template and the selected object as they were at some time since the Runnable had that version.
fn strange_content(store: &Store, run: &Change, sequence: i64) -> Option<Violation> {
    let log = store.log();
    let intends = |change: &Change| {
        change.key.resource == Resource::Runnables
            && uid(&change.object) == owner(&run.object)
            && status(&change.object)
                .current_run
                .is_some_and(|current| current.sequence == sequence)
    };
    let Some(at) = log.iter().position(intends) else {
        return Some(Violation::new(
            "S3",
            format!("{} was made without an intent", run.key.name),
        ));
    };
    let intent = &log[at];
    let since = window(&log[..at], intent);
    let spec = &run.object["spec"];
    let template = text(&intent.object, "/spec/runTemplateRef/name").to_owned();
    let flavours = values(
        log,
        since,
        intent.version,
        Resource::Templates,
        &template,
        |object| {
            (
                text(object, "/spec/template/kind").to_owned(),
                text(object, "/spec/template/spec/flavour").to_owned(),
            )
        },
    );
    let made = (
        run.key.resource.kind().to_owned(),
        text(spec, "/flavour").to_owned(),
    );
    let name = &intent.key.name;
    let sources = values(
        log,
        since,
        intent.version,
        Resource::Sources,
        name,
        |object| text(object, "/spec/revision").to_owned(),
    );
    let source = text(spec, "/source").to_owned();
    let value = text(&intent.object, "/spec/inputs/value");
    let good = text(spec, "/value") == value
        && flavours.contains(&made)
        && (source == "none" || sources.contains(&source));
    (!good).then(|| {
        Violation::new(
            "S3",
            format!(
                "{} is made of {spec}, but its intent at {} saw {value}, one of {flavours:?} and one of {sources:?}",
                run.key.name, intent.version
            ),
        )
    })
}

/// The version of the Runnable that an intent cannot have been decided before: the one that somebody
/// else wrote last, or the intent before it.
fn window(before: &[Change], intent: &Change) -> u64 {
    let sequence = |change: &Change| status(&change.object).current_run.map(|run| run.sequence);
    let mut own: Vec<&Change> = before
        .iter()
        .filter(|change| change.key == intent.key)
        .collect();
    while let [.., earlier, last] = own.as_slice() {
        if last.actor != intent.actor || sequence(earlier) != sequence(last) {
            break;
        }
        own.pop();
    }
    own.last().map_or(0, |change| change.version)
}

/// What an object said from one version to another.
fn values<T>(
    log: &[Change],
    since: u64,
    until: u64,
    resource: Resource,
    name: &str,
    read: impl Fn(&Value) -> T,
) -> Vec<T> {
    let named = |key: &Key| key.resource == resource && key.name == name;
    let changes: Vec<&Change> = log
        .iter()
        .filter(|change| named(&change.key) && change.version <= until)
        .collect();
    let from = changes.partition_point(|change| change.version <= since);
    changes[from.saturating_sub(1)..]
        .iter()
        .map(|change| read(&change.object))
        .collect()
}
