//! The runs of the original controller: no run repeats its work, and none of its runs counts as another one.

use cartouche_crds::{CurrentRun, RunnableStatus};
use cartouche_protocol::ledger::{UNKNOWN_HASH, is_of_another_document};
use serde_json::Value;

use super::{
    Excuse, Verdict, makes_a_run, number, owner,
    runs::{seen_otherwise, window},
    status, text, uid,
};
use crate::{
    discovery::Resource,
    original::ORIGINAL,
    people::is_person,
    store::{Change, Happened, Store},
};

/// Adds the breaches of S2 and S3 by takeovers.
pub(super) fn judge(store: &Store, found: &mut Verdict) {
    let log = store.log();
    for (at, change) in log.iter().enumerate() {
        if change.key.resource == Resource::Runnables {
            taken_for_another(log, at, found);
        } else if makes_a_run(change)
            && let Some(original) = original_before(log, change)
        {
            repeats(log, change, original, found);
        }
    }
}

/// Judges the hashes of the original's runs: a run gets the hash of the present rendering only if it has that
/// content. While its end is awaited, the ledger records that it is of another one.
fn taken_for_another(log: &[Change], at: usize, found: &mut Verdict) {
    let change = &log[at];
    // A backup may be of other inputs than those that it is restored beside.
    if is_person(&change.actor) {
        return;
    }
    let linked = |status: RunnableStatus| {
        let current = status.current_run;
        let current = current.filter(|run| !is_of_another_document(&run.input_hash));
        current.filter(|run| run.input_hash != UNKNOWN_HASH && run.uid.is_some())
    };
    let Some(current) = linked(status(&change.object)) else {
        return;
    };
    let mut earlier = log[..at].iter().rev();
    let before = earlier.find(|other| other.key == change.key);
    let same =
        |other: &CurrentRun| (&other.uid, &other.input_hash) == (&current.uid, &current.input_hash);
    if before.is_some_and(|before| linked(status(&before.object)).as_ref().is_some_and(same)) {
        return;
    }
    let of_it = |other: &&Change| Some(uid(&other.object)) == current.uid.as_deref();
    let Some(run) = log[..at].iter().rev().find(of_it) else {
        return;
    };
    if number(&run.object).is_some() {
        return;
    }
    if let Some(what) = seen_otherwise(log, None, run, change, window(&log[..at], change)) {
        if run.happened == Happened::Deleted {
            found.excuse(Excuse::DeletedUncompared);
        } else {
            found.broken("S2", format!("{} was adopted, but {what}", run.key.name));
        }
    }
}

/// Returns the run of the original that was current when this one was intended.
fn original_before<'a>(log: &'a [Change], run: &Change) -> Option<&'a Change> {
    let until = log.partition_point(|change| change.version < run.version);
    let mut ledgers = log[..until].iter().rev().filter(|change| {
        change.key.resource == Resource::Runnables && uid(&change.object) == owner(&run.object)
    });
    let before = ledgers.find_map(|change| {
        let current = status(&change.object).current_run?;
        (Some(current.sequence) < number(&run.object)).then_some(current)
    })?;
    if before.input_hash != UNKNOWN_HASH {
        return None;
    }
    let mut all = log.iter();
    all.find(|change| Some(uid(&change.object)) == before.uid.as_deref())
}

/// Judges whether a run has the content of the original's newest, of which there may be several in one
/// second.
fn repeats(log: &[Change], run: &Change, original: &Change, found: &mut Verdict) {
    let content = |change: &Change| -> (Resource, Value) {
        (change.key.resource, change.object["spec"].clone())
    };
    let moment = |change: &Change| text(&change.object, "/metadata/creationTimestamp").to_owned();
    let tied = log.iter().filter(|change| {
        change.happened == Happened::Created
            && change.actor == ORIGINAL
            && owner(&change.object) == owner(&original.object)
            && moment(change) == moment(original)
    });
    for same in tied.filter(|other| content(other) == content(run)) {
        let reworded = run.object["spec"].get("amount").is_some();
        let tied = same.version != original.version;
        let taken_with = taken_over_with(log, original);
        if tied && reworded {
            found.excuse(Excuse::TiedAndReworded);
        } else if tied && taken_with.is_some() && taken_with == inputs_of(original) {
            // The rendering decides which of both counts as the newer, so that the inputs of the other are a
            // change.
        } else if tied
            && taken_with
                .is_some_and(|inputs| ![same, original].map(inputs_of).contains(&Some(inputs)))
        {
            found.excuse(Excuse::TiedAndChanged);
        } else {
            let what = format!("{} repeats {} of the original", run.key.name, same.key.name);
            found.broken("S3", what);
        }
    }
}

/// Returns the inputs with which a run of the original was taken for the newest.
fn taken_over_with<'a>(log: &'a [Change], original: &Change) -> Option<&'a Value> {
    let mut ledgers = log
        .iter()
        .filter(|change| change.key.resource == Resource::Runnables && !is_person(&change.actor));
    let taken = ledgers.find(|change| {
        let current = status(&change.object).current_run;
        current.is_some_and(|run| run.uid.as_deref() == Some(uid(&original.object)))
    })?;
    taken.object.pointer("/spec/inputs/value")
}

fn inputs_of(run: &Change) -> Option<&Value> {
    run.object.pointer("/spec/value")
}
