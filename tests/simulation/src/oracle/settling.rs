//! Where what is rendered has to stay the same for a while, no run is intended of what has just changed.

use std::time::Duration;

use cartouche_crds::{RunPhase, RunnableStatus};
use serde_json::Value;

use super::{Verdict, status, uid};
use crate::{
    discovery::Resource,
    people::is_person,
    plan::Plan,
    store::{Change, Store},
};

/// A controller counts from when it saw the change, and clocks here tick this coarsely.
const SLACK: Duration = Duration::from_millis(50);

/// What ran before it had settled.
pub(super) fn judge(store: &Store, plan: &Plan, found: &mut Verdict) {
    let Some(debounce) = plan.debounce else {
        return;
    };
    let log = store.log();
    for (at, change) in log.iter().enumerate() {
        if change.key.resource == Resource::Runnables && !is_person(&change.actor) {
            let of_it = |other: &&Change| uid(&other.object) == uid(&change.object);
            let before: Vec<&Change> = log[..at].iter().filter(of_it).collect();
            too_early(&before, change, debounce.pause(), found);
        }
    }
}

/// Only inputs are looked at, of which no two are the same: the write of an intent is refused if the controller has not seen the newest.
fn too_early(before: &[&Change], intent: &Change, pause: Duration, found: &mut Verdict) {
    let old = before.last().map(|change| status(&change.object));
    if !intends_another(&old.unwrap_or_default(), &status(&intent.object)) {
        return;
    }
    let inputs = inputs(intent);
    let is_other = |change: &&&Change| self::inputs(change) != inputs;
    let changed = before.iter().rposition(|change| is_other(&change));
    let same = &before[changed.map_or(0, |other| other + 1)..];
    let since = same.first().map_or(intent.at, |change| change.at);
    let last_intent = before.windows(2).rposition(|pair| {
        let [old, new] = [pair[0], pair[1]].map(|change| status(&change.object));
        intends_another(&old, &new)
    });
    let since_then = &before[last_intent.map_or(0, |at| at + 1)..];
    let mut others = since_then
        .windows(2)
        .filter(|pair| self::inputs(pair[0]) != self::inputs(pair[1]));
    let first = others.next().map_or(since, |pair| pair[1].at);
    let held_for = intent.at.saturating_sub(first);
    let same_for = intent.at.saturating_sub(since) + SLACK;
    if same_for < pause && held_for < pause * 10 {
        let name = &intent.key.name;
        let what = format!("{name} intends what was the same for {same_for:?} of {pause:?}");
        found.broken("debounce", what);
    }
}

/// Whether a write intends a run of another document than the last.
fn intends_another(old: &RunnableStatus, new: &RunnableStatus) -> bool {
    let (before, Some(after)) = (old.current_run.as_ref(), new.current_run.as_ref()) else {
        return false;
    };
    let is_new = before.is_none_or(|before| {
        before.sequence < after.sequence && before.input_hash != after.input_hash
    });
    is_new && after.phase == RunPhase::Pending && after.uid.is_none()
}

fn inputs(change: &Change) -> Option<&Value> {
    change.object.pointer("/spec/inputs")
}
