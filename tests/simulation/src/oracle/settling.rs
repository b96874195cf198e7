//! With a debounce, no run is intended of a rendering that has just changed.

use std::time::Duration;

use cartouche_crds::{RunPhase, RunnableStatus};
use serde_json::Value;

use super::{Verdict, status, uid};
use crate::{
    discovery::Resource,
    people::{NAMESPACE, is_person},
    plan::Plan,
    store::{Change, Store},
};

/// A controller counts from when it saw the change, and clocks here tick this coarsely.
const SLACK: Duration = Duration::from_millis(50);

/// Maximum time until a change is seen: a lost answer is awaited and requested again.
const UNSEEN: Duration = Duration::from_secs(15);

/// Adds the runs of renderings that had not settled.
pub(super) fn judge(store: &Store, plan: &Plan, found: &mut Verdict) {
    let Some(debounce) = plan.debounce else {
        return;
    };
    let log = store.log();
    for (at, change) in log.iter().enumerate() {
        if change.key.resource == Resource::Runnables
            && change.key.namespace == NAMESPACE
            && !is_person(&change.actor)
        {
            let of_it = |other: &&Change| uid(&other.object) == uid(&change.object);
            let before: Vec<&Change> = log[..at].iter().filter(of_it).collect();
            too_early(&before, change, debounce.pause(), found);
        }
    }
}

/// Judges an intent. Only inputs count: the write of an intent is refused if the controller has not seen the
/// newest.
fn too_early(before: &[&Change], intent: &Change, pause: Duration, found: &mut Verdict) {
    let old = before.last().map(|change| status(&change.object));
    if !intends_another(&old.unwrap_or_default(), &status(&intent.object)) {
        return;
    }
    let last_intent = before.windows(2).rposition(|pair| {
        let [old, new] = [pair[0], pair[1]].map(|change| status(&change.object));
        intends_another(&old, &new)
    });
    let spells = spells(&before[last_intent.map_or(0, |at| at + 1)..]);
    let since = same_since(&spells).unwrap_or(intent.at);
    let same_for = intent.at.saturating_sub(since) + SLACK;
    // An input that stayed the same for longer had settled.
    let mut first = since;
    for (_, at) in spells.iter().rev() {
        if first.saturating_sub(*at) >= pause + UNSEEN {
            break;
        }
        first = first.min(*at);
    }
    let held_for = intent.at.saturating_sub(first);
    if same_for < pause && held_for < pause * 10 {
        let name = &intent.key.name;
        let what = format!("{name} intends what was the same for {same_for:?} of {pause:?}");
        found.broken("debounce", what);
    }
}

/// Returns the inputs one after the other, each with the time since when it was given.
fn spells<'a>(changes: &[&'a Change]) -> Vec<(Option<&'a Value>, Duration)> {
    let mut spells: Vec<(Option<&Value>, Duration)> = Vec::new();
    for change in changes {
        let inputs = change.object.pointer("/spec/inputs");
        if spells.last().is_none_or(|(last, _)| *last != inputs) {
            spells.push((inputs, change.at));
        }
    }
    spells
}

/// Returns the time since when the last inputs are the same, as far as a controller must have seen: a change
/// for a moment may have gone unseen.
fn same_since(spells: &[(Option<&Value>, Duration)]) -> Option<Duration> {
    let (mut last, mut before) = spells.split_last()?;
    while let Some(same) = before.iter().rposition(|spell| spell.0 == last.0)
        && let Some(other) = before.get(same + 1)
        && last.1.saturating_sub(other.1) < UNSEEN
    {
        (last, before) = (&before[same], &before[..same]);
    }
    Some(last.1)
}

/// Returns true if a write intends a run of another document than the last.
fn intends_another(old: &RunnableStatus, new: &RunnableStatus) -> bool {
    let (before, Some(after)) = (old.current_run.as_ref(), new.current_run.as_ref()) else {
        return false;
    };
    let is_new = before.is_none_or(|before| {
        before.sequence < after.sequence && before.input_hash != after.input_hash
    });
    is_new && after.phase == RunPhase::Pending && after.uid.is_none()
}
