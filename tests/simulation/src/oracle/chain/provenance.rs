//! C4: the recorded provenance of runs and outputs.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use cartouche_protocol::trace::{Revision, SourceKey};
use serde_json::Value;

use super::{Verdict, status, text};
use crate::{
    chain::{self, Chain, Role, is_tied, parts, states},
    discovery::Resource,
    oracle::uid,
    people::{NAMESPACE, is_person},
    store::{Change, Key},
};

/// C4: judges that the recorded provenance of a run matches its content.
pub(super) fn judge(log: &[Change], chain: Chain, found: &mut Verdict) {
    let made: HashMap<&str, &str> = log
        .iter()
        .filter(|change| change.key.resource.is_run())
        .map(|change| (uid(&change.object), text(&change.object, "/spec/value")))
        .collect();
    let given = all_given(log, chain);
    let mut last: HashMap<Key, &Value> = HashMap::new();
    let mut was_tied = false;
    for change in log {
        was_tied |= change.key == chain.key(Role::A) && is_tied(&change.object);
        let Some(role) = chain.role_of(&change.key.name) else {
            continue;
        };
        if change.key.resource != Resource::Runnables {
            continue;
        }
        let known = last.insert(change.key.clone(), &change.object);
        let is_told = known.is_none_or(|known| known["status"] != change.object["status"]);
        if is_person(&change.actor) || !is_told {
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
                .and_then(|value| said_wrongly(chain, role, value, sources, &given, was_tied));
            if let Some(what) = wrong {
                let at = (change.version, &change.key.name);
                found.broken("C4", format!("{at:?} says of {uid} that {what}"));
            }
        }
    }
    after_cycles(&last, chain, &made, &given, found);
}

/// Judges that in the end no ready Runnable names those of a broken cycle, if all have looked since.
fn after_cycles(
    last: &HashMap<Key, &Value>,
    chain: Chain,
    made: &HashMap<&str, &str>,
    given: &Given,
    found: &mut Verdict,
) {
    let has_looked = |role: Role| {
        let object = last.get(&chain.key(role)).copied();
        object.is_some_and(|object| {
            let mut conditions = status(object).conditions.into_iter();
            let is_ready = conditions.any(|it| it.type_ == "Ready" && it.status == "True");
            is_ready && !is_tied(object) && object["spec"]["suspend"] != true
        })
    };
    for role in Role::ALL {
        let of = chain.ancestors(role);
        let object = last.get(&chain.key(role));
        let (Some(object), true) = (object, of.into_iter().chain([role]).all(has_looked)) else {
            continue;
        };
        let current = status(object).current_run;
        let current = current.and_then(|run| Some((run.uid?, run.sources?)));
        let wrong = current.and_then(|(uid, sources)| {
            let value = made.get(uid.as_str())?;
            said_wrongly(chain, role, value, &sources, given, false)
        });
        if let Some(what) = wrong {
            found.broken("C4", format!("in the end {role:?} says that {what}"));
        }
    }
}

type Outputs = BTreeMap<String, Value>;

/// Everything that the members ever gave, and its recorded provenance.
#[derive(Default)]
struct Given {
    /// By its revision.
    outputs: HashMap<(Role, String), Outputs>,
    /// The revisions of A, by the answer that was made of them; `None` where that was not recorded.
    of_a: HashMap<(Role, String), BTreeSet<Option<String>>>,
    /// All revisions of the key of the `ConfigMap`.
    sizes: BTreeSet<String>,
}

fn all_given(log: &[Change], chain: Chain) -> Given {
    let mut all = Given::default();
    let of_a = SourceKey::runnable(NAMESPACE, &chain.key(Role::A).name);
    let of_sizes = log.iter().filter(|it| it.key == chain::sizes());
    let revision = |change: &Change| Revision::of_text(text(&change.object, "/data/small"));
    all.sizes = of_sizes.map(|it| revision(it).to_string()).collect();
    for change in log
        .iter()
        .filter(|it| it.key.resource == Resource::Runnables)
    {
        let Some(role) = chain.role_of(&change.key.name) else {
            continue;
        };
        let stored = status(&change.object);
        if let Some(outputs) = stored.outputs {
            let revision = Revision::of_outputs(&outputs, &BTreeMap::new());
            let answer = outputs.get("answer").and_then(Value::as_str);
            let answer = answer.unwrap_or_default().to_owned();
            let sources = stored.outputs_from.and_then(|from| from.sources);
            let of_a = sources.and_then(|sources| sources.get(of_a.as_str()).cloned());
            all.of_a.entry((role, answer)).or_default().insert(of_a);
            all.outputs.insert((role, revision.to_string()), outputs);
        }
    }
    all
}

/// Returns the part of these sources that does not match the content of a run of this value.
fn said_wrongly(
    chain: Chain,
    role: Role,
    value: &str,
    sources: &BTreeMap<String, String>,
    all: &Given,
    was_tied: bool,
) -> Option<String> {
    let value = chain.traced(role, value);
    let mut left: BTreeMap<&str, &str> = sources
        .iter()
        .map(|(key, revision)| (key.as_str(), revision.as_str()))
        .collect();
    let ancestors = chain.ancestors(role);
    for of in &ancestors {
        let key = SourceKey::runnable(NAMESPACE, &chain.key(*of).name);
        let Some(revision) = left.remove(key.as_str()) else {
            if role == Role::D && *of == Role::A && is_disputed(chain, &value, all) {
                continue;
            }
            return Some(format!("it is made of nothing of {of:?}"));
        };
        let Some(given) = all.outputs.get(&(*of, revision.to_owned())) else {
            return Some(format!(
                "it is made of {revision} of {of:?}, which never was"
            ));
        };
        let readers = ancestors.iter().chain([&role]);
        let read = readers.flat_map(|reader| chain.awaits(*reader));
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
    let sizes = states(&value).remove(&'s');
    // Neither of two revisions is true.
    let of_one = sizes
        .as_ref()
        .filter(|words| words.len() == 1 || !chain.ignored);
    let of_sizes = of_one.and_then(|words| Some(Revision::of_text(words.first()?)));
    // On a cycle each derives from all, including itself. A Runnable that read it then may record so until it
    // has looked again.
    let of_others = sizes.is_none() && was_tied && said.is_some_and(|it| all.sizes.contains(it));
    if said != of_sizes.as_ref().map(Revision::as_str) && !of_others {
        return Some(format!(
            "the ConfigMap was of {said:?}, but it is made of {value}"
        ));
    }
    let is_member = |key: &str, revision: &str| {
        let key_of = |of: Role| SourceKey::runnable(NAMESPACE, &chain.key(of).name);
        let of = Role::ALL.into_iter().find(|of| key_of(*of).as_str() == key);
        of.is_some_and(|of| all.outputs.contains_key(&(of, revision.to_owned())))
    };
    left.retain(|key, revision| !(was_tied && is_member(key, revision)));
    (!left.is_empty()).then(|| format!("it is made of {left:?}"))
}

/// Returns true if the branches of a run of D may have named different revisions of A. Then none is true of
/// it, and without coherence none is named.
fn is_disputed(chain: Chain, value: &str, all: &Given) -> bool {
    let read = chain.awaits(Role::D).zip(parts(value));
    let named = read.filter_map(|((of, _), part)| all.of_a.get(&(*of, part.to_owned())));
    let named: BTreeSet<&Option<String>> = named.flatten().collect();
    chain.ignored && named.len() > 1
}
