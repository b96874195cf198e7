//! Objects that outputs are written to: the rules of `docs/how-to/write-outputs.md`, with the names of
//! `docs/internals/testing.md`.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use cartouche_crds::{RunnableStatus, SINK_OF_ANNOTATION, SINK_SEQUENCE_ANNOTATION, SinkStatus};
use serde_json::Value;

use super::{Verdict, number, owner, runs::values, status, text, uid};
use crate::{
    discovery::Resource,
    engine::COLLECTOR,
    faults::Counts,
    people::{is_person, runnable},
    plan::Plan,
    sinks::Sink,
    store::{Change, Happened, Store},
};

/// Time that a sink that is ahead is left alone.
const WAITED_OUT: Duration = Duration::from_secs(30);
/// Maximum time between a read and the arrival of the request that derives from it: it is sent within ten
/// seconds, and may be late and held.
const UNDER_WAY: Duration = Duration::from_secs(25);

/// Adds the forbidden changes of sinks.
pub(super) fn judge(store: &Store, plan: &Plan, found: &mut Verdict) {
    let log = store.log();
    for sink in &plan.sinks {
        let history = history(log, *sink);
        for at in 0..history.len() {
            touched(log, *sink, &history[..=at], found);
            back(log, *sink, &history[..=at], found);
        }
        told(log, *sink, &history, found);
    }
}

/// Returns all changes of a sink.
fn history(log: &[Change], sink: Sink) -> Vec<&Change> {
    let key = sink.key();
    log.iter().filter(|change| change.key == key).collect()
}

fn is_controllers(change: &Change) -> bool {
    !is_person(&change.actor) && change.actor != COLLECTOR
}

/// Returns the Runnable whose outputs an object claims to have, if it belongs to it.
fn holder(object: &Value) -> Option<&str> {
    let of = object["metadata"]["annotations"][SINK_OF_ANNOTATION].as_str()?;
    let owners = object["metadata"]["ownerReferences"].as_array()?;
    owners.iter().any(|it| it["uid"] == of).then_some(of)
}

/// Returns the number of the run whose outputs it has.
fn sequence(object: &Value) -> i64 {
    let number = object["metadata"]["annotations"][SINK_SEQUENCE_ANNOTATION].as_str();
    number.and_then(|it| it.parse().ok()).unwrap_or_default()
}

fn data(object: &Value) -> BTreeMap<String, String> {
    let data = object["data"].as_object().into_iter().flatten();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    data.map(|(key, it)| (key.clone(), text(it))).collect()
}

/// Returns the version from which on a write saw its input, if it saw nothing before `version`.
fn since(log: &[Change], write: &Change, version: u64) -> u64 {
    let earlier = log.partition_point(|change| change.at + UNDER_WAY < write.at);
    let earlier = earlier.checked_sub(1).map_or(0, |at| log[at].version);
    version.max(earlier)
}

/// Judges that a foreign object is never touched, and that a deleted one was no longer wanted.
fn touched(log: &[Change], sink: Sink, history: &[&Change], found: &mut Verdict) {
    let [.., before, write] = history else { return };
    if !is_controllers(write) || write.happened == Happened::Created {
        return;
    }
    let (key, version) = (&write.key.name, write.version);
    let Some(of) = holder(&before.object) else {
        let what = format!("{key} is another's, and is touched at {version}");
        return found.broken("another's", what);
    };
    if holder(&write.object) != Some(of) {
        let what = format!("{key} changes hands at {version}");
        found.broken("another's", what);
    }
    let name = runnable(sink.runnable).name;
    let since = since(log, write, before.version);
    let wanted = values(log, since, version, Resource::Runnables, &name, |object| {
        sink.is_wanted(object)
    });
    if write.happened == Happened::Deleted && !wanted.contains(&false) {
        let what = format!("{key} is deleted at {version}, and is wanted");
        found.broken("wanted", what);
    }
}

/// Judges that the outputs of an older run never come after those of a newer one, with two named exceptions.
fn back(log: &[Change], sink: Sink, history: &[&Change], found: &mut Verdict) {
    let Some((has, gets)) = goes_back(history) else {
        return;
    };
    let [earlier @ .., write] = history else {
        return;
    };
    if !was_never_given(log, sink, earlier, write, has) && !was_waited_out(log, earlier, write, has)
    {
        let what = format!(
            "{} goes back from {has} to {gets} at {}",
            write.key.name, write.version
        );
        found.broken("back", what);
    }
}

/// Returns the numbers before and after, if the last change is a controller's that makes the number of an
/// object smaller.
fn goes_back(history: &[&Change]) -> Option<(i64, i64)> {
    let [.., before, write] = history else {
        return None;
    };
    let (has, gets) = (sequence(&before.object), sequence(&write.object));
    let is_written = write.happened == Happened::Changed && is_controllers(write);
    (is_written && gets < has).then_some((has, gets))
}

/// Returns true if the status, as it was read after the sink, has never given this number.
fn was_never_given(
    log: &[Change],
    sink: Sink,
    earlier: &[&Change],
    write: &Change,
    has: i64,
) -> bool {
    let since = since(log, write, earlier.last().map_or(0, |it| it.version));
    let name = runnable(sink.runnable).name;
    let of = holder(&write.object);
    let known = values(
        log,
        since,
        write.version,
        Resource::Runnables,
        &name,
        |object| (Some(uid(object)) == of).then(|| highest(&status(object))),
    );
    known.into_iter().flatten().any(|highest| highest < has)
}

/// Returns the highest number that a status has given.
fn highest(status: &RunnableStatus) -> i64 {
    let current = status.current_run.iter().map(|run| run.sequence);
    let history = status.history.iter().map(|run| run.sequence);
    let outputs = status.outputs_from.iter().map(|from| from.sequence);
    let all = current.chain(history).chain(outputs);
    all.max().unwrap_or_default()
}

/// Returns true if it has had this number for half a minute, and the run of that number is gone or has given
/// nothing.
fn was_waited_out(log: &[Change], earlier: &[&Change], write: &Change, has: i64) -> bool {
    let with_it = |it: &&&Change| {
        sequence(&it.object) == has
            && uid(&it.object) == uid(&write.object)
            && it.happened != Happened::Deleted
    };
    let first = earlier.iter().rev().take_while(with_it).last();
    let is_long = first.is_some_and(|first| first.at + WAITED_OUT <= write.at);
    let since = since(log, write, earlier.last().map_or(0, |it| it.version));
    let of = holder(&write.object).unwrap_or_default();
    let is_gone = |run: &Change| {
        let mut later = log.iter();
        later.any(|it| {
            it.key == run.key
                && it.happened == Happened::Deleted
                && it.version <= write.version
                && uid(&it.object) == uid(&run.object)
        })
    };
    let mut given = runs(log, of, has).filter(|run| run.version <= since && has_succeeded(run));
    is_long && given.all(is_gone)
}

/// Returns the changes of the runs of a Runnable that have this number.
fn runs<'a>(log: &'a [Change], of: &'a str, has: i64) -> impl Iterator<Item = &'a Change> {
    log.iter().filter(move |change| {
        change.key.resource.is_run()
            && owner(&change.object) == of
            && number(&change.object) == Some(has)
    })
}

fn has_succeeded(run: &Change) -> bool {
    text(&run.object, "/status/conditions/0/status") == "True"
}

/// Judges that the object has what the status records, because it is written first.
fn told(log: &[Change], sink: Sink, history: &[&Change], found: &mut Verdict) {
    let key = runnable(sink.runnable);
    let mut known = BTreeSet::new();
    for change in log.iter().filter(|change| change.key == key) {
        let stored = status(&change.object);
        let said = said_of(&stored, sink).filter(|said| !said.behind);
        let Some(said) = said.filter(|_| is_controllers(change)) else {
            continue;
        };
        let of = uid(&change.object);
        let is_new = known.insert((of.to_owned(), said.sequence));
        if !is_new || is_forged(history, change.version, of, said.sequence) {
            continue;
        }
        let contents: BTreeSet<BTreeMap<String, String>> = given(log, of, said.sequence)
            .iter()
            .map(|outputs| sink.content(outputs))
            .collect();
        let before = history.iter().filter(|it| it.version < change.version);
        let had = before
            .filter(|it| it.happened != Happened::Deleted)
            .any(|it| {
                holder(&it.object) == Some(of)
                    && sequence(&it.object) == said.sequence
                    && contents.contains(&data(&it.object))
            });
        if !had {
            let what = format!(
                "{} is said at {} to have the outputs of run {}, and never had",
                said.name, change.version, said.sequence
            );
            found.broken("told", what);
        }
    }
}

/// Returns true if a user has given the object this number, with any content.
fn is_forged(history: &[&Change], until: u64, of: &str, number: i64) -> bool {
    let mut pairs = history.windows(2).filter(|pair| pair[1].version < until);
    pairs.any(|pair| {
        let now = &pair[1].object;
        is_person(&pair[1].actor)
            && holder(now) == Some(of)
            && sequence(now) == number
            && sequence(&pair[0].object) != number
    })
}

fn said_of(stored: &RunnableStatus, sink: Sink) -> Option<&SinkStatus> {
    let name = sink.key().name;
    stored.sinks.iter().find(|it| it.name == name)
}

/// Returns the outputs of the runs of a Runnable that have this number. Runs of the original have none, but
/// the status records those that it counts for it.
fn given(log: &[Change], of: &str, has: i64) -> Vec<BTreeMap<String, Value>> {
    let outputs = |run: &Change| {
        let fields = run.object["status"].as_object().into_iter().flatten();
        let texts = fields.filter(|(_, value)| value.is_string());
        texts.map(|(name, it)| (name.clone(), it.clone())).collect()
    };
    let by_runs = runs(log, of, has)
        .filter(|run| has_succeeded(run))
        .map(outputs);
    let ledgers = log
        .iter()
        .filter(|change| change.key.resource == Resource::Runnables && uid(&change.object) == of);
    let by_ledgers = ledgers.filter_map(|change| {
        let stored = status(&change.object);
        let from = stored.outputs_from.as_ref()?;
        (from.sequence == has).then(|| stored.outputs.unwrap_or_default())
    });
    by_runs.chain(by_ledgers).collect()
}

/// Adds what the sinks lack in the end.
pub(super) fn unsettled(store: &Store, plan: &Plan, found: &mut Verdict) {
    for sink in &plan.sinks {
        if let Some(object) = store.get(&runnable(sink.runnable))
            && let Err(what) = follows(store, *sink, &object)
        {
            found.broken("follows", format!("{}: {what}", sink.key().name));
        }
    }
}

fn follows(store: &Store, sink: Sink, object: &Value) -> Result<(), String> {
    let stored = status(object);
    let there = store.get(&sink.key());
    let own = there
        .as_deref()
        .filter(|it| holder(it) == Some(uid(object)));
    let said = said_of(&stored, sink);
    if !sink.is_wanted(object) {
        return match (own, said) {
            (_, Some(_)) => Err("nobody wants it, and it is told of".to_owned()),
            (Some(_), None) if !is_forgotten(store.log(), sink, uid(object)) => {
                Err("nobody wants it, and it is there".to_owned())
            }
            _ => Ok(()),
        };
    }
    let Some(from) = &stored.outputs_from else {
        return Ok(());
    };
    let Some(own) = own else {
        if there.is_none() {
            return Err("it is not there".to_owned());
        }
        // A Runnable that is suspended, or waits for others, reports that.
        let is_held = object["spec"]["suspend"] == true || stored.pending.is_some();
        let is_told = (is_held || says_whose(&stored, sink)) && said.is_some_and(|it| it.behind);
        return if is_told {
            Ok(())
        } else {
            Err("it is another's, and the status does not say so".to_owned())
        };
    };
    let wanted = sink.content(&stored.outputs.clone().unwrap_or_default());
    let (has, of) = (data(own), sequence(own));
    if has != wanted || of != from.sequence {
        return Err(format!(
            "it has {has:?} of {of}, and not {wanted:?} of {}",
            from.sequence
        ));
    }
    if said.is_none_or(|it| it.behind || it.sequence != from.sequence) {
        return Err(format!("{said:?} is said of it"));
    }
    Ok(())
}

/// Returns true if the status reports that a foreign object has the name of this sink.
fn says_whose(stored: &RunnableStatus, sink: Sink) -> bool {
    let name = sink.key().name;
    let mut conditions = stored.conditions.iter();
    conditions.any(|it| it.reason == "OutputSinkFailed" && it.message.contains(&name))
}

/// Returns true if the status that named it was removed, and none has named it since.
fn is_forgotten(log: &[Change], sink: Sink, of: &str) -> bool {
    let key = runnable(sink.runnable);
    let own = log
        .iter()
        .filter(|it| it.key == key && uid(&it.object) == of);
    let mut own = own.rev().peekable();
    let mut next = None;
    while let Some(change) = own.next_if(|it| said_of(&status(&it.object), sink).is_none()) {
        next = Some(change);
    }
    own.peek().is_some() && next.is_some_and(|it| is_person(&it.actor))
}

/// Adds the writes to sinks where all has been at rest for a while.
pub(super) fn restless(store: &Store, plan: &Plan, since: Duration, found: &mut Verdict) {
    for sink in &plan.sinks {
        let history = history(store.log(), *sink);
        let late = history.into_iter();
        for change in late.filter(|it| it.at > since && is_controllers(it)) {
            let (name, version) = (&change.key.name, change.version);
            let what = format!("{name} is written at {version}, and nothing is due");
            found.broken("rest", what);
        }
    }
}

/// Returns the number of writes and deletions of sinks, by actor, and of permitted steps back.
#[must_use]
pub fn counts(log: &[Change], plan: &Plan) -> Counts {
    let mut counts = Counts::new();
    let mut add = |what: &str| *counts.entry(what.to_owned()).or_default() += 1;
    for sink in &plan.sinks {
        let history = history(log, *sink);
        for (at, change) in history.iter().enumerate() {
            match (is_controllers(change), change.happened) {
                (true, Happened::Deleted) => add("SinksDeleted"),
                (true, _) => add("SinksWritten"),
                (false, Happened::Changed) => add("SinksChangedByOthers"),
                (false, Happened::Deleted) => add("SinksDeletedByOthers"),
                (false, Happened::Created) => add("SinksOfOthers"),
            }
            if goes_back(&history[..=at]).is_some() {
                add("SinksPutBack");
            }
        }
    }
    counts
}

#[cfg(test)]
mod tests;
