//! The content of the runs and its origin.

use std::collections::HashMap;

use cartouche_crds::{RunPhase, RunnableStatus};
use serde_json::Value;

use super::{Verdict, chain, input_hash, makes_a_run, number, owner, status, text, uid};
use crate::{
    chain::Chain,
    discovery::Resource,
    people::is_person,
    plan::Plan,
    store::{Change, Key, Store},
};

/// Returns the number of runs that had ended when they were confirmed, so that one write recorded both.
#[must_use]
pub fn spared(log: &[Change]) -> usize {
    let mut pending: HashMap<&Key, i64> = HashMap::new();
    let mut spared = 0;
    let of_runnables = |change: &&Change| change.key.resource == Resource::Runnables;
    for change in log.iter().filter(of_runnables) {
        let Some(current) = status(&change.object).current_run else {
            continue;
        };
        if current.phase == RunPhase::Pending {
            pending.insert(&change.key, current.sequence);
        } else if pending.remove(&change.key) == Some(current.sequence) {
            spared += usize::from(current.result.is_some());
        }
    }
    spared
}

/// Adds the breaches of S3 by making a run.
pub(super) fn judge(store: &Store, plan: &Plan, found: &mut Verdict) {
    for change in store.log().iter().filter(|change| makes_a_run(change)) {
        let sequence = number(&change.object).unwrap_or_default();
        strange_content(store, plan, change, sequence, found);
    }
}

/// Judges that a run is made of the state at its intent: the Runnable as the intent's write found it, the
/// template and the selected object as they were at some time since the Runnable had that version.
fn strange_content(store: &Store, plan: &Plan, run: &Change, sequence: i64, found: &mut Verdict) {
    let log = store.log();
    let mut seen = None;
    for at in intents(log, run, sequence) {
        let since = window(&log[..at], &log[at]);
        match seen_otherwise(log, plan.chain, run, &log[at], since) {
            None => return,
            otherwise => seen = otherwise,
        }
    }
    // The existence of an intent is for the shared oracle to judge.
    if let Some(what) = seen {
        found.broken("S3", format!("{} {what}", run.key.name));
    }
}

/// Returns the positions in the log where the number of a run was given to its hash: one, unless the status
/// was lost.
pub(super) fn intents<'a>(
    log: &'a [Change],
    run: &'a Change,
    sequence: i64,
) -> impl Iterator<Item = usize> + 'a {
    let intended = move |change: &Change| {
        status(&change.object).current_run.is_some_and(|current| {
            current.sequence == sequence && current.input_hash == input_hash(&run.object)
        })
    };
    let mut before = false;
    let before_run = log.partition_point(|change| change.version < run.version);
    (0..before_run).filter(move |at| {
        let change = &log[*at];
        if change.key.resource != Resource::Runnables || uid(&change.object) != owner(&run.object) {
            return false;
        }
        let now = intended(change);
        let was = std::mem::replace(&mut before, now);
        now && !was && !is_person(&change.actor)
    })
}

/// Returns the difference between the state at an intent and a run, if the run cannot be made of it.
pub(super) fn seen_otherwise(
    log: &[Change],
    chain: Option<Chain>,
    run: &Change,
    intent: &Change,
    since: u64,
) -> Option<String> {
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
    let of_chain = chain.and_then(|chain| {
        let role = chain.role_of(name)?;
        Some(chain::saw(
            log,
            chain,
            role,
            intent,
            since,
            text(spec, "/value"),
        ))
    });
    let good = of_chain.unwrap_or_else(|| text(spec, "/value") == value)
        && flavours.contains(&made)
        && (source == "none" || sources.contains(&source));
    (!good).then(|| {
        format!(
            "is made of {spec}, but its intent at {} saw {value}, one of {flavours:?} and one of {sources:?}",
            intent.version
        )
    })
}

/// Returns the version of the Runnable that an intent (or a write that links a run of the original) cannot
/// have been decided before: the last one that another actor wrote, or the previous intent. A pass may first
/// have rebuilt a ledger from the runs, or given way with the same document.
pub(super) fn window(before: &[Change], intent: &Change) -> u64 {
    let mut own: Vec<&Change> = before
        .iter()
        .filter(|change| change.key == intent.key)
        .collect();
    let hash = |status: &RunnableStatus| {
        let current = status.current_run.as_ref();
        current.map(|run| run.input_hash.clone())
    };
    let intended = hash(&status(&intent.object));
    while let [.., earlier, last] = own.as_slice() {
        let (earlier, now) = (status(&earlier.object), status(&last.object));
        let same_number = number_of(&earlier) == number_of(&now);
        let gave_way = hash(&now) == intended;
        if last.actor != intent.actor || !(same_number || gave_way || rebuilt(&now)) {
            break;
        }
        own.pop();
    }
    own.last().map_or(0, |change| change.version)
}

fn number_of(status: &RunnableStatus) -> Option<i64> {
    status.current_run.as_ref().map(|run| run.sequence)
}

/// Returns true if a ledger that has just got another number was rebuilt from existing runs.
fn rebuilt(status: &RunnableStatus) -> bool {
    let current = status.current_run.as_ref();
    current.is_some_and(|run| run.uid.is_some())
}

/// Returns the values of an object from one version to another.
pub(super) fn values<T>(
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
