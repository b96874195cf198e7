//! Runnables that read each other: C1, C2 and C4 of `docs/reliability.md`, that nothing runs twice for one change, and that
//! nothing runs beside a source that is at work. By what the runs are made of, which tells from what they stem.

use std::{
    collections::{BTreeMap, HashMap},
    time::Duration,
};

use cartouche_crds::{RUNNABLE_NAME_LABEL, RunnableStatus};
use cartouche_protocol::sources::{Revision, SourceKey};
use serde_json::Value;

use super::{
    Excuse, Verdict, makes_a_run, number,
    runs::{intents, values, window},
    status, text, uid,
};
use crate::{
    chain::{Chain, Role, own, parts, sizes, states},
    discovery::Resource,
    faults::Counts,
    people::{NAMESPACE, is_person, template},
    plan::{Deed, Plan},
    store::{Change, Key, Store},
};

/// What broke C1 to C4.
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
        }
    }
    provenance(log, chain, found);
    once(log, chain, found);
}

fn role_of_run(chain: Chain, run: &Change) -> Option<Role> {
    let name = run.object["metadata"]["labels"].get(RUNNABLE_NAME_LABEL)?;
    chain.role_of(name.as_str()?)
}

/// Whether the intent of a run saw each of the values that it is made of. A source that has none gives none, which is C2.
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

/// C1: a run stems from one state of each ancestor.
fn coherent(
    log: &[Change],
    chain: Chain,
    (run, role): (&Change, Role),
    intents: &[usize],
    found: &mut Verdict,
) {
    let value = text(&run.object["spec"], "/value");
    let states = states(value);
    let Some((_, words)) = states.iter().find(|(_, words)| words.len() > 1) else {
        return;
    };
    let is_untraced = |at: &usize| {
        let (intent, since) = (&log[*at], window(&log[..*at], &log[*at]));
        role.ancestors().iter().any(|of| {
            let name = chain.key(*of).name;
            let known = values(
                log,
                since,
                intent.version,
                Resource::Runnables,
                &name,
                |object| gives_untraced(chain, *of, &status(object)),
            );
            known.contains(&true)
        })
    };
    if intents.iter().any(is_untraced) {
        found.excuse(Excuse::Untraced);
    } else {
        let what = format!("{} is made of {words:?}: {value}", run.key.name);
        found.broken("C1", what);
    }
}

/// Whether its outputs do not say what they were made from.
fn gives_untraced(chain: Chain, role: Role, status: &RunnableStatus) -> bool {
    let has_sources = !role.reads().is_empty() || chain.is_sized(role);
    let from = status.outputs_from.as_ref();
    has_sources && status.outputs.is_some() && from.is_none_or(|from| from.sources.is_none())
}

/// Nothing is intended beside a source that is at work, or has not looked at its own spec. Those that are read are read when it is
/// intended; of those further up a cache is asked, which may be as old as `lag`.
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
    let ancestors = role.ancestors();
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

/// How old a cache may be: of watches that stall or are cut off, at most so much.
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

/// C4: what a ledger says that a run was made from is what it is made of.
fn provenance(log: &[Change], chain: Chain, found: &mut Verdict) {
    let made: HashMap<&str, &str> = log
        .iter()
        .filter(|change| change.key.resource.is_run())
        .map(|change| (uid(&change.object), text(&change.object, "/spec/value")))
        .collect();
    let outputs = all_outputs(log, chain);
    let mut before: HashMap<Key, Value> = HashMap::new();
    for change in log {
        let Some(role) = chain.role_of(&change.key.name) else {
            continue;
        };
        if change.key.resource != Resource::Runnables {
            continue;
        }
        let known = before.insert(change.key.clone(), change.object["status"].clone());
        if is_person(&change.actor) || known.as_ref() == Some(&change.object["status"]) {
            continue;
        }
        let stored = status(&change.object);
        let current = stored.current_run.as_ref();
        let current = current.and_then(|run| Some((run.uid.as_deref()?, run.sources.as_ref()?)));
        let from = stored.outputs_from.as_ref();
        let from = from.and_then(|from| Some((from.uid.as_str(), from.sources.as_ref()?)));
        for (uid, sources) in current.into_iter().chain(from) {
            let wrong = made
                .get(uid)
                .and_then(|value| said_wrongly(chain, role, value, sources, &outputs));
            if let Some(what) = wrong {
                let at = (change.version, &change.key.name);
                found.broken("C4", format!("{at:?} says of {uid} that {what}"));
            }
        }
    }
}

type Outputs = BTreeMap<String, Value>;

/// All outputs that the members ever had, by their revision.
fn all_outputs(log: &[Change], chain: Chain) -> HashMap<(Role, String), Outputs> {
    let mut all = HashMap::new();
    for change in log
        .iter()
        .filter(|it| it.key.resource == Resource::Runnables)
    {
        let Some(role) = chain.role_of(&change.key.name) else {
            continue;
        };
        if let Some(outputs) = status(&change.object).outputs {
            let revision = Revision::of_outputs(&outputs, &BTreeMap::new());
            all.insert((role, revision.to_string()), outputs);
        }
    }
    all
}

/// What of these sources is not what a run of this value is made of.
fn said_wrongly(
    chain: Chain,
    role: Role,
    value: &str,
    sources: &BTreeMap<String, String>,
    outputs: &HashMap<(Role, String), Outputs>,
) -> Option<String> {
    let mut left: BTreeMap<&str, &str> = sources
        .iter()
        .map(|(key, revision)| (key.as_str(), revision.as_str()))
        .collect();
    for of in role.ancestors() {
        let key = SourceKey::runnable(NAMESPACE, &chain.key(*of).name);
        let Some(revision) = left.remove(key.as_str()) else {
            return Some(format!("it is made of nothing of {of:?}"));
        };
        let Some(given) = outputs.get(&(*of, revision.to_owned())) else {
            return Some(format!(
                "it is made of {revision} of {of:?}, which never was"
            ));
        };
        let readers = role.ancestors().iter().chain([&role]);
        let read = readers.flat_map(|reader| reader.reads());
        let mut read = read.filter(|(read, _)| read == of);
        let is_in = |output: &str| {
            let text = given.get(output).and_then(Value::as_str);
            text.is_some_and(|text| value.contains(text))
        };
        if !read.all(|(_, output)| is_in(output)) {
            return Some(format!(
                "it is made of {given:?}, but it is made of {value}"
            ));
        }
    }
    let key = SourceKey::config_map(NAMESPACE, "sizes", "small");
    let said = left.remove(key.as_str());
    let sizes = states(value).remove(&'s');
    let of_sizes = sizes.and_then(|words| Some(Revision::of_text(words.first()?)));
    if said != of_sizes.as_ref().map(Revision::as_str) {
        return Some(format!(
            "the ConfigMap was of {said:?}, but it is made of {value}"
        ));
    }
    (!left.is_empty()).then(|| format!("it is made of {left:?}"))
}

/// Where all is at rest since a while, nobody writes anything of Runnables that read each other.
#[must_use]
pub fn restless(store: &Store, plan: &Plan, since: Duration) -> Verdict {
    let mut found = Verdict::default();
    let Some(chain) = plan.chain else {
        return found;
    };
    let late = store.log().iter().filter(|change| {
        let is_member =
            change.key.resource == Resource::Runnables && chain.role_of(&change.key.name).is_some();
        is_member && change.at > since && !is_person(&change.actor)
    });
    for change in late {
        let (name, version) = (&change.key.name, change.version);
        found.broken(
            "rest",
            format!("{name} is written at {version}, and nothing is due"),
        );
    }
    found
}

/// How many runs of D there were, how often it was told that a member waits for others, and how often a ledger moved on.
#[must_use]
pub fn counts(log: &[Change], chain: Chain) -> Counts {
    let (mut runs, mut waits, mut moves) = (0, 0, 0);
    let mut before: HashMap<&Key, RunnableStatus> = HashMap::new();
    for change in log {
        if makes_a_run(change) {
            runs += usize::from(role_of_run(chain, change) == Some(Role::D));
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
    ];
    counts.map(|(of, times)| (of.to_owned(), times)).into()
}

/// D has as many runs of something new as there were changes that could reach it.
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
        let of_a = change.key == members[0] && differs("/status/outputs");
        let of_template = change.key == own_template && differs("/spec/template");
        let of_sizes = change.key == sizes() && differs("/data/small");
        let all = [of_status, of_inputs, of_a, of_template, of_sizes];
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
