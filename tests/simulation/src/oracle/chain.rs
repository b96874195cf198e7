//! Runnables that read each other: C1, C2 and C4 of `docs/internals/testing.md`; nothing runs twice for one change;
//! and nothing runs beside a source that is at work. The content of the runs reveals their provenance.

mod provenance;

use std::{collections::HashMap, time::Duration};

use cartouche_crds::{RUNNABLE_NAME_LABEL, RunnableStatus};
use serde_json::Value;

use super::{
    Excuse, Verdict, makes_a_run, number,
    runs::{intents, values, window},
    status, text,
};
use crate::{
    chain::{Chain, Role, is_tied, own, parts, sizes, states},
    discovery::Resource,
    faults::Counts,
    people::{is_person, template},
    plan::{Deed, Plan},
    store::{Change, Key, Store},
};

/// Adds the breaches of C1 to C4.
pub(super) fn judge(store: &Store, plan: &Plan, found: &mut Verdict) {
    let Some(chain) = plan.chain else { return };
    let log = store.log();
    let lag = lag(plan);
    for run in log.iter().filter(|change| makes_a_run(change)) {
        if let Some(role) = role_of_run(chain, run) {
            let intents: Vec<usize> =
                intents(log, run, number(&run.object).unwrap_or_default()).collect();
            coherent(log, chain, (run, role), &intents, found);
            settled(log, chain, (run, role), &intents, lag, found);
            on_no_cycle(log, chain, (run, role), &intents, lag, found);
        }
    }
    provenance::judge(log, chain, found);
    once(log, chain, found);
}

fn role_of_run(chain: Chain, run: &Change) -> Option<Role> {
    let name = run.object["metadata"]["labels"].get(RUNNABLE_NAME_LABEL)?;
    chain.role_of(name.as_str()?)
}

/// Returns true if the intent of a run saw each of the values that it is made of. A source without a value
/// gives none, which is C2.
pub(super) fn saw(
    log: &[Change],
    chain: Chain,
    role: Role,
    intent: &Change,
    since: u64,
    value: &str,
) -> bool {
    let parts = parts(value);
    let reads = role.reads();
    let wanted = reads.len() + 1 + usize::from(chain.is_sized(role));
    if parts.len() != wanted
        || parts[reads.len()] != own(role, text(&intent.object, "/spec/inputs/value"))
    {
        return false;
    }
    let given = |key: &Key, pointer: &str| {
        values(
            log,
            since,
            intent.version,
            key.resource,
            &key.name,
            |object| text(object, pointer).to_owned(),
        )
    };
    let are_given = reads.iter().zip(&parts).all(|((of, output), part)| {
        let values = given(&chain.key(*of), &format!("/status/outputs/{output}"));
        values.iter().any(|it| it == part)
    });
    let size = parts.last().filter(|_| chain.is_sized(role));
    let is_size = |part: &&str| given(&sizes(), "/data/small").iter().any(|it| it == part);
    are_given && size.is_none_or(is_size)
}

/// C1: judges that a run derives from one state of each ancestor.
fn coherent(
    log: &[Change],
    chain: Chain,
    (run, role): (&Change, Role),
    intents: &[usize],
    found: &mut Verdict,
) {
    let value = text(&run.object["spec"], "/value");
    let Some(words) = of_several_states(chain, role, value) else {
        return;
    };
    let was = |at: &usize, of: Role, read: &dyn Fn(&Value) -> bool| {
        let (intent, since) = (&log[*at], window(&log[..*at], &log[*at]));
        let (name, until) = (chain.key(of).name, intent.version);
        let known = values(log, since, until, Resource::Runnables, &name, read);
        known.contains(&true)
    };
    let ancestors = chain.ancestors(role);
    let is_untraced = |at: &usize| {
        let untraced = |of: Role| move |object: &Value| gives_untraced(chain, of, &status(object));
        ancestors.iter().any(|of| was(at, *of, &untraced(*of)))
    };
    // Without coherence a run waits for a branch that is about to follow, but not where the object is read
    // here as well.
    let stayed_behind = |at: &usize| ancestors.iter().any(|of| was(at, *of, &stays_behind));
    let is_ignored = role == Role::D && chain.ignored;
    let is_read_here = || chain.is_sized(role) && words.iter().all(|word| word.starts_with('s'));
    if is_ignored && (is_read_here() || intents.iter().any(stayed_behind)) {
        // As docs/internals/chains.md says of `coherence: Ignored`.
    } else if intents.iter().any(is_untraced) {
        found.excuse(Excuse::Untraced);
    } else {
        let what = format!("{} is made of {words:?}: {value}", run.key.name);
        found.broken("C1", what);
    }
}

/// Returns words of more than one state, if the coherent part of a run of this value has them.
fn of_several_states(chain: Chain, role: Role, value: &str) -> Option<Vec<String>> {
    let states = states(&chain.traced(role, value));
    states.into_values().find(|words| words.len() > 1)
}

/// Returns true if a member gives nothing for the present state, and will not by itself: it is suspended, its
/// run has ended without outputs, or only a change helps it.
fn stays_behind(object: &Value) -> bool {
    let stored = status(object);
    let current = stored.current_run.as_ref();
    let gave_nothing = current.is_some_and(|run| {
        let from = stored.outputs_from.as_ref();
        run.result.is_some() && from.is_none_or(|from| from.sequence != run.sequence)
    });
    let mut conditions = stored.conditions.iter();
    let is_stalled = conditions.any(|it| it.type_ == "Stalled" && it.status == "True");
    object["spec"]["suspend"] == true || gave_nothing || is_stalled
}

/// Returns true if its outputs have no provenance.
fn gives_untraced(chain: Chain, role: Role, status: &RunnableStatus) -> bool {
    let has_sources = !role.reads().is_empty() || chain.is_sized(role);
    let from = status.outputs_from.as_ref();
    has_sources && status.outputs.is_some() && from.is_none_or(|from| from.sources.is_none())
}

/// Judges that nothing is intended beside a source that is at work, or has not observed its own spec. Direct
/// sources are read at the intent. Those further up come from a cache, which may be as old as `lag`.
fn settled(
    log: &[Change],
    chain: Chain,
    (run, role): (&Change, Role),
    intents: &[usize],
    lag: Duration,
    found: &mut Verdict,
) {
    let was_settled = |at: usize, of: Role| {
        let intent = &log[at];
        let mut since = window(&log[..at], intent);
        if !role.reads().iter().any(|(read, _)| *read == of) {
            let earlier = log.partition_point(|change| change.at + lag < intent.at);
            since = since.min(log.get(earlier).map_or(since, |change| change.version));
        }
        let name = chain.key(of).name;
        let busy = values(
            log,
            since,
            intent.version,
            Resource::Runnables,
            &name,
            is_busy,
        );
        busy.contains(&false)
    };
    let ancestors = chain.ancestors(role);
    let beside = ancestors
        .iter()
        .find(|of| !intents.is_empty() && !intents.iter().any(|at| was_settled(*at, **of)));
    if let Some(of) = beside {
        let what = format!("{} was intended while {of:?} was at work", run.key.name);
        found.broken("held", what);
    }
}

fn is_busy(object: &Value) -> bool {
    let stored = status(object);
    let current = stored.current_run.as_ref();
    let is_at_work = current.is_some_and(|run| run.result.is_none() || run.retry_at.is_some());
    let generation = object["metadata"]["generation"].as_i64();
    let has_looked = stored.observed_generation == generation;
    object["spec"]["suspend"] != true && (is_at_work || !has_looked)
}

/// C3: judges that none is intended while A reads D, as far as it knows: its own spec at the write, that of A
/// if it reads it, or else a cache that may be as old as `lag`.
fn on_no_cycle(
    log: &[Change],
    chain: Chain,
    (run, role): (&Change, Role),
    intents: &[usize],
    lag: Duration,
    found: &mut Verdict,
) {
    let was_tied = |at: &usize| {
        let intent = &log[*at];
        let mut since = window(&log[..*at], intent);
        if role == Role::A {
            return is_tied(&intent.object);
        }
        if role == Role::D {
            let earlier = log.partition_point(|change| change.at + lag < intent.at);
            since = since.min(log.get(earlier).map_or(since, |change| change.version));
        }
        let (name, until) = (chain.key(Role::A).name, intent.version);
        let tied = values(log, since, until, Resource::Runnables, &name, is_tied);
        !tied.contains(&false)
    };
    if !intents.is_empty() && intents.iter().all(was_tied) {
        let what = format!("{} was intended while it stemmed from itself", run.key.name);
        found.broken("C3", what);
    }
}

/// Returns the maximum age of a cache, given watches that stall or are cut off.
fn lag(plan: &Plan) -> Duration {
    let is_trouble = |deed: &Deed| {
        matches!(
            deed,
            Deed::Partition(_) | Deed::Hold(_) | Deed::StopServer | Deed::Compact
        )
    };
    let quiet = plan.chance == 0.0 && !plan.deeds.iter().any(|(_, deed)| is_trouble(deed));
    Duration::from_secs(if quiet { 1 } else { 120 })
}

/// Returns the number of runs of D, of reports that a member waits for others, and of moves of ledgers.
#[must_use]
pub fn counts(log: &[Change], chain: Chain) -> Counts {
    let (mut runs, mut waits, mut moves) = (0, 0, 0);
    let (mut several, mut cycles) = (0, 0);
    let mut before: HashMap<&Key, RunnableStatus> = HashMap::new();
    for change in log {
        if makes_a_run(change) {
            let is_last = role_of_run(chain, change) == Some(Role::D);
            runs += usize::from(is_last);
            let words = states(text(&change.object, "/spec/value"));
            several += usize::from(is_last && words.values().any(|words| words.len() > 1));
        }
        if change.key.resource != Resource::Runnables || chain.role_of(&change.key.name).is_none() {
            continue;
        }
        let now = status(&change.object);
        let known = before.insert(&change.key, now.clone()).unwrap_or_default();
        let reason = |status: &RunnableStatus| {
            let reason = status.pending.as_ref().map(|it| it.reason.clone());
            reason.filter(|it| it.starts_with("Dependency"))
        };
        waits += usize::from(reason(&now).is_some() && reason(&now) != reason(&known));
        let is_on_cycle = |status: &RunnableStatus| {
            let mut conditions = status.conditions.iter();
            conditions.any(|it| it.reason == "DependencyCycle")
        };
        cycles += usize::from(is_on_cycle(&now) && !is_on_cycle(&known));
        let run = |status: &RunnableStatus| {
            let current = status.current_run.as_ref()?;
            Some((
                current.sequence,
                current.input_hash.clone(),
                current.uid.clone(),
            ))
        };
        let sources = |status: &RunnableStatus| status.current_run.as_ref()?.sources.clone();
        let is_same = run(&now).is_some() && run(&now) == run(&known);
        moves += usize::from(is_same && sources(&now) != sources(&known));
    }
    let counts = [
        ("RunsOfD", runs),
        ("WaitedForOthers", waits),
        ("MovedOn", moves),
        ("OfSeveralStates", several),
        ("OnACycle", cycles),
    ];
    counts.map(|(of, times)| (of.to_owned(), times)).into()
}

/// Judges that D has at most as many new runs as there were changes that could reach it. Where it does not
/// wait for both ways of a change of A, each of the branches brings it one.
fn once(log: &[Change], chain: Chain, found: &mut Verdict) {
    let key = chain.key(Role::D);
    let own_template = template(Chain::template(Role::D));
    let members = Role::ALL.map(|role| chain.key(role));
    let (mut runs, mut causes) = (0usize, 1usize);
    let mut before: HashMap<&Key, &Value> = HashMap::new();
    for change in log {
        let known = before.insert(&change.key, &change.object);
        let differs = |pointer: &str| {
            known.is_none_or(|known| known.pointer(pointer) != change.object.pointer(pointer))
        };
        let is_member = members.contains(&change.key);
        let of_status = is_member && is_person(&change.actor) && differs("/status");
        let of_inputs = is_member && (differs("/spec/inputs") || differs("/metadata/uid"));
        let roots = if chain.is_loose() { 1..3 } else { 0..1 };
        let of_root = members[roots].contains(&change.key) && differs("/status/outputs");
        let of_template = change.key == own_template && differs("/spec/template");
        let of_sizes = change.key == sizes() && differs("/data/small");
        let all = [of_status, of_inputs, of_root, of_template, of_sizes];
        causes += all.iter().filter(|it| **it).count();
        if change.key == key && !is_person(&change.actor) {
            let hash = |object: &Value| Some(status(object).current_run?.input_hash);
            let now = hash(&change.object);
            runs += usize::from(now.is_some() && now != known.and_then(hash));
        }
    }
    if runs > causes {
        let what = format!("D has run {runs} times for {causes} changes");
        found.broken("once", what);
    }
}
