//! Problems of a Runnable arrive as Events, though other tenants flood them; and no process sends too many.

use std::{collections::BTreeMap, time::Duration};

use cartouche_crds::conditions::READY;
use cartouche_protocol::messages::format;
use serde_json::Value;

use super::{Verdict, status, uid};
use crate::{
    discovery::Resource,
    faults::Counts,
    flood::{FLOOD, QUIET, RATE},
    people::is_person,
    plan::{Deed, Plan},
    store::{Change, Happened, Key, Store},
    strangers::TENANTS,
};

/// Maximum time until it arrives.
const SOON: Duration = Duration::from_secs(20);
/// Time after the calm until all waiting Events are sent.
const BACKLOG: Duration = Duration::from_mins(1);
/// Events per second where there is no flood.
const USUAL_RATE: u32 = 10;
/// Seconds of that rate that a process may send at once.
const BURST: u64 = 5;

/// A status that a controller wrote of a Runnable, and that is a Warning.
struct Warned<'a> {
    at: Duration,
    key: &'a Key,
    uid: &'a str,
    reason: String,
}

pub(super) fn judge(store: &Store, plan: &Plan, found: &mut Verdict) {
    for warned in to_be_heard(store, plan) {
        if !is_heard(store, &warned) {
            let Warned {
                at, key, reason, ..
            } = warned;
            let (namespace, name) = (&key.namespace, &key.name);
            found.broken(
                "events",
                format!("{reason} of {namespace}/{name} at {at:?} has not arrived in {SOON:?}"),
            );
        }
    }
    let rate = u64::from(if plan.tenants { RATE } else { USUAL_RATE });
    let mut sent: BTreeMap<&str, u64> = BTreeMap::new();
    for event in store.events().arrived() {
        *sent.entry(&event.host).or_default() += 1;
    }
    let starts = |deed: &Deed| matches!(deed, Deed::Start(_) | Deed::Calm);
    let starts = plan.deeds.iter().filter(|(_, deed)| starts(deed)).count();
    let processes = u64::try_from(starts).unwrap_or(u64::MAX) + 1;
    let most = rate * (store.elapsed.as_secs() + 1 + BURST * processes);
    for (host, sent) in sent.into_iter().filter(|(_, sent)| *sent > most) {
        let what = format!("{host} sends {sent} events, and {most} are allowed");
        found.broken("events", what);
    }
    if store.events().are_too_many() {
        found.broken("events", "no more of them are kept".to_owned());
    }
}

/// Returns the number of required Warnings that arrived, and of those of a flood that were not sent.
#[must_use]
pub fn counts(store: &Store, plan: &Plan) -> Counts {
    let heard = to_be_heard(store, plan).filter(|warned| warned.key.namespace == QUIET);
    let heard = heard.filter(|warned| is_heard(store, warned)).count();
    let of_flood = |namespace: &str| namespace == FLOOD;
    let flood = warnings(store.log()).filter(|warned| of_flood(&warned.key.namespace));
    let arrived = store.events().arrived().iter();
    let arrived = arrived.filter(|event| of_flood(&event.namespace)).count();
    let unsent = flood.count().saturating_sub(arrived);
    Counts::from([
        ("WarningsHeard".to_owned(), heard),
        ("UnsentOfAFlood".to_owned(), unsent),
    ])
}

/// Returns the Warnings without an excuse: the faults have stopped, and there is time enough.
fn to_be_heard<'a>(store: &'a Store, plan: &Plan) -> impl Iterator<Item = Warned<'a>> {
    let mut deeds = plan.deeds.iter();
    let calm = deeds.find(|(_, deed)| *deed == Deed::Calm);
    let from = calm.map_or(Duration::MAX, |(at, _)| *at + BACKLOG);
    let until = store.elapsed.saturating_sub(SOON);
    let floods = |key: &Key| [FLOOD, TENANTS].contains(&key.namespace.as_str());
    warnings(store.log())
        .filter(move |warned| (from..until).contains(&warned.at) && !floods(warned.key))
}

fn is_heard(store: &Store, warned: &Warned<'_>) -> bool {
    let in_time = warned.at..=warned.at + SOON;
    store.events().arrived().iter().any(|event| {
        in_time.contains(&event.at) && event.uid == warned.uid && event.reason == warned.reason
    })
}

/// Returns all Warnings that controllers wrote: conditions that are False and differ from the previous ones.
fn warnings(log: &[Change]) -> impl Iterator<Item = Warned<'_>> {
    let mut latest: BTreeMap<&Key, &Value> = BTreeMap::new();
    let runnables = log
        .iter()
        .filter(|change| change.key.resource == Resource::Runnables);
    runnables.flat_map(move |change| {
        let before = latest.insert(&change.key, &change.object);
        let is_written = change.happened == Happened::Changed && !is_person(&change.actor);
        let before =
            before.filter(|before| is_written && before["status"] != change.object["status"]);
        let reasons = before.map(|before| new_reasons(before, &change.object));
        reasons.into_iter().flatten().map(|reason| Warned {
            at: change.at,
            key: &change.key,
            uid: uid(&change.object),
            reason,
        })
    })
}

fn new_reasons(before: &Value, after: &Value) -> Vec<String> {
    let before = status(before).conditions;
    let words = |message: &str| format::without_tries(message);
    let mut after = status(after).conditions;
    after.retain(|it| {
        let is_known = before.iter().any(|known| {
            (&known.type_, &known.status, &known.reason) == (&it.type_, &it.status, &it.reason)
                && words(&known.message) == words(&it.message)
        });
        it.status == "False" && it.type_ != READY && !is_known
    });
    after.into_iter().map(|it| it.reason).collect()
}
