//! Stops of runs: never too early, and in the end for every run that works for too long.

use cartouche_crds::{RunResult, RunnableStatus, Stop, StopReason, duration};
use serde_json::Value;

use super::{
    Verdict, makes_a_run, owner,
    runs::{values, window},
    status, text, uid,
};
use crate::{
    discovery::Resource,
    people::is_person,
    plan::{Deed, Plan},
    stops::HANGS,
    store::{BEGINNING, Change, Happened, Store, Told},
};

/// Seconds after the write of a stop in which a second create for the number of the run may arrive: no name
/// is freed before.
const LANDED_BY_SECONDS: i64 = 60;

/// Adds the breaches of S7 by its time, and runs that were left at work.
pub(super) fn judge(store: &Store, plan: &Plan, found: &mut Verdict) {
    if plan.stops.is_none() {
        return;
    }
    let slack = slack(plan);
    for (at, change) in store.log().iter().enumerate() {
        let of_controller = change.key.resource == Resource::Runnables && !is_person(&change.actor);
        if of_controller && change.happened == Happened::Changed {
            too_early(store.log(), at, slack, found);
        } else if makes_a_run(change) {
            left_at_work(store, change, found);
        }
    }
    for told in store.told().iter().filter(|told| told.is_delete) {
        deleted_too_early(store, told, slack, found);
    }
}

/// Returns the number of seconds that a controller may believe the server's clock to be ahead.
fn slack(plan: &Plan) -> i64 {
    let set_back = plan.deeds.iter().map(|(_, deed)| match deed {
        Deed::Clock(seconds) => -seconds,
        _ => 0,
    });
    1 + set_back.max().unwrap_or_default().max(0)
}

/// The record of one run in a status.
struct Entry<'a> {
    uid: &'a str,
    result: Option<RunResult>,
    stop: Option<&'a Stop>,
}

fn entries(status: &RunnableStatus) -> impl Iterator<Item = Entry<'_>> {
    let current = status.current_run.iter();
    let current = current.map(|run| (run.uid.as_deref(), run.result, run.stop.as_ref()));
    let earlier = status.history.iter();
    let earlier = earlier.map(|run| (run.uid.as_deref(), run.result, run.stop.as_ref()));
    let all = current.chain(earlier);
    all.filter_map(|(uid, result, stop)| {
        let uid = uid?;
        Some(Entry { uid, result, stop })
    })
}

/// Judges that a ledger records a stop of a run at work only when its timeout has expired, by the Runnable
/// and template of that time.
fn too_early(log: &[Change], at: usize, slack: i64, found: &mut Verdict) {
    let (change, mut before) = (&log[at], log[..at].iter().rev());
    let new = status(&change.object);
    let old = before.find(|it| uid(&it.object) == uid(&change.object));
    let old = old.map(|old| status(&old.object)).unwrap_or_default();
    let was_told = |uid: &str| entries(&old).any(|it| it.uid == uid && it.stop.is_some());
    // A run that is replaced by a later one, or was cancelled by then, is stopped at any time.
    let is_late = |stop: &Stop| stop.reason == StopReason::TimedOut;
    let told = entries(&new).filter(|it| it.stop.is_some_and(is_late) && it.result.is_none());
    for entry in told.filter(|entry| !was_told(entry.uid)) {
        let run = log[..at].iter().find(|it| uid(&it.object) == entry.uid);
        let Some(run) = run else { continue };
        let age = change.clock - created(run);
        let timeout = shortest_timeout(log, at);
        if timeout.is_none_or(|timeout| age + slack < timeout) {
            let what = format!(
                "{} is told to stop after {age} seconds, not {timeout:?}",
                run.key.name
            );
            found.broken("S7", what);
        }
    }
}

/// Returns the creation time of a run, by the server's clock. Runs of the original are older than the
/// simulation.
fn created(run: &Change) -> i64 {
    let created = text(&run.object, "/metadata/creationTimestamp").parse();
    created.map_or(BEGINNING, k8s_openapi::jiff::Timestamp::as_second)
}

/// Returns the shortest timeout, in seconds, by which a write can have been decided.
fn shortest_timeout(log: &[Change], at: usize) -> Option<i64> {
    let (change, since) = (&log[at], window(&log[..at], &log[at]));
    let seconds = |spec: &Value| {
        let timeout = duration(spec["timeout"].as_str()?)?;
        Some(timeout.as_secs().cast_signed())
    };
    let template = text(&change.object, "/spec/runTemplateRef/name");
    let templates = Resource::Templates;
    let of_templates = values(log, since, change.version, templates, template, |it| {
        seconds(&it["spec"])
    });
    let own = seconds(&change.object["spec"]);
    of_templates.into_iter().chain([own]).flatten().min()
}

fn deleted_too_early(store: &Store, told: &Told, slack: i64, found: &mut Verdict) {
    let mut broken = |what: &str| found.broken("S7", format!("{} is deleted {what}", told.uid));
    if told.had_ended {
        broken("to stop it after its end");
    }
    let until = store.log().partition_point(|it| it.version <= told.version);
    // The record may have been removed since, and written anew, while a controller acts on the first one.
    let said = store.log()[..until].iter().find_map(|change| {
        let said = status(&change.object);
        let mut told = entries(&said).filter(|it| it.uid == told.uid);
        told.find_map(|it| Some(it.stop?.at.0.as_second()))
    });
    if let Some(age) = said.map(|at| told.clock - at)
        && age + slack < LANDED_BY_SECONDS
    {
        broken(&format!("{age} seconds after that was written"));
    }
}

/// Judges that a run that hangs is stopped, as long as the ledger knows it and the template defines a way.
fn left_at_work(store: &Store, made: &Change, found: &mut Verdict) {
    let (log, run) = (store.log(), uid(&made.object));
    let ended = |it: &&Change| uid(&it.object) == run && super::has_ended(&it.object);
    let Some(end) = log
        .iter()
        .find(ended)
        .filter(|end| end.at >= made.at + HANGS)
    else {
        return;
    };
    let until = log.partition_point(|it| it.version < end.version);
    let mut before = log[..until].iter().rev();
    let Some(ledger) = before.find(|it| uid(&it.object) == owner(&made.object)) else {
        return;
    };
    let known = status(&ledger.object);
    // L2 judges whether a ledger must know it.
    let Some(entry) = entries(&known).find(|it| it.uid == run) else {
        return;
    };
    let template = text(&ledger.object, "/spec/runTemplateRef/name");
    let mut templates = log.iter().rev().filter(|it| it.key.name == template);
    let kind = templates
        .next()
        .map(|it| text(&it.object, "/spec/template/kind"));
    let has_way = kind == Some(made.key.resource.kind());
    let is_told = store.told().iter().any(|told| told.uid == run);
    if entry.stop.is_none() || has_way && !is_told {
        found.broken("L1", format!("{} was left at work", made.key.name));
    }
}
