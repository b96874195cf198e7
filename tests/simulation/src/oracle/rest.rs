//! At rest no status is written. Where others change something all the time, or controllers see different
//! states, few are.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use cartouche_crds::conditions::STALLED;
use cartouche_protocol::category::Category;
use serde_json::Value;

use super::{Verdict, status};
use crate::{
    discovery::Resource,
    flood::{FLOOD, QUIET},
    people::{NAMESPACE, is_person},
    plan::Plan,
    store::{Happened, Store},
    strangers::TENANTS,
};

/// Writes of a controller to a Runnable whose watch fails for one of two controllers: that it fails, or that
/// it works, and one more.
const WORDS: usize = 2;
/// Seconds between writes of one controller about a Runnable whose sources change all the time.
const WORDS_APART: u64 = 10;
/// Writes per refused create that changes all the time: an intent and its end, by any of the controllers.
const LEDGER: usize = 2;
/// Writes of a hash by the older of two releases that does not know it. It writes after a pause, and the next
/// release leaves it.
const REHASH: usize = 1;

pub(super) fn judge(store: &Store, plan: &Plan, since: Duration, found: &mut Verdict) {
    let (mut writes, mut unseen) = (BTreeMap::<_, usize>::new(), BTreeMap::new());
    let mut edits = BTreeMap::<_, usize>::new();
    let mut stalled = BTreeSet::new();
    for change in store.log() {
        if change.key.resource != Resource::Runnables {
            continue;
        }
        let now = unseen_runs(&change.object);
        let before = unseen.insert(&change.key, now).unwrap_or_default();
        let is_late = change.happened == Happened::Changed && change.at > since;
        let is_written = is_late && !is_person(&change.actor);
        *edits.entry(&change.key).or_default() += usize::from(is_late && !is_written);
        // An input that is missing since the last run ended is Stalled a minute later. The end of that is a
        // write like any other.
        let is_stalled = lacks_input_for_long(&change.object);
        let has_stalled = is_stalled && stalled.insert(&change.key);
        if !is_stalled {
            stalled.remove(&change.key);
        }
        // An unseen run stays in the history for ten minutes.
        if is_written && now >= before && !has_stalled {
            *writes.entry(&change.key).or_default() += 1;
        }
    }
    let seconds = store.elapsed.saturating_sub(since).as_secs();
    let in_that_time = usize::try_from(seconds / WORDS_APART).unwrap_or_default() + WORDS;
    for (key, writes) in writes {
        let most = match key.namespace.as_str() {
            TENANTS => (plan.controllers + LEDGER) * in_that_time,
            FLOOD | QUIET => edits.get(key).copied().unwrap_or_default() + WORDS,
            NAMESPACE if plan.tenants => plan.controllers * WORDS,
            NAMESPACE if plan.next_release => REHASH,
            _ => 0,
        };
        if writes > most {
            let name = &key.name;
            found.broken(
                "rest",
                format!("{name} is written {writes} times in {seconds} s, and {most} are allowed"),
            );
        }
    }
}

fn lacks_input_for_long(runnable: &Value) -> bool {
    let mut conditions = status(runnable).conditions.into_iter();
    let reason = Category::DependencyNotReady.as_str();
    conditions.any(|it| it.type_ == STALLED && it.reason == reason)
}

/// Returns the number of runs in the history that were never seen.
fn unseen_runs(runnable: &Value) -> usize {
    let history = status(runnable).history;
    history.iter().filter(|entry| entry.uid.is_none()).count()
}
