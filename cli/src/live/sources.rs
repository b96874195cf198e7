//! What the inputs of a Runnable come from: what has changed of it between runs and since, and who is waited for.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::Arc,
};

use cartouche_crds::{Coherence, InputSource, Runnable, SOURCES_ANNOTATION};
use cartouche_protocol::{
    category::Category,
    diagnosis::{NotReady, named, why_not_ready},
    references,
    sources::{Known, Seen, settle},
    trace::SourceKey,
};
use kube::ResourceExt as _;
use serde::Serialize;
use serde_json::Value;

use crate::{cluster::Cluster, live::runs::LedgerRun};

/// So many Runnables are looked up, at most.
const MOST_LOOKED_UP: usize = 64;

/// What something was made from, as a status has it.
pub(crate) type Sources = BTreeMap<String, String>;

/// A source, or an ancestor of one, that has another revision than before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SourceChange {
    /// As `status.currentRun.sources` has it.
    pub(crate) source: String,
    /// The inputs that come from it; none of an ancestor.
    pub(crate) inputs: Vec<String>,
    /// The revision before; nothing where it was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) before: Option<String>,
    /// The revision after; nothing where it is none any more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) after: Option<String>,
}

/// Somebody who is waited for, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Awaited {
    pub(crate) source: String,
    pub(crate) why: String,
}

/// How what its inputs come from stands now.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Standing {
    /// What has changed since the present run was made.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) changed_since: Vec<SourceChange>,
    /// Who a run that is due waits for, and who that one does in turn.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) waits_for: Vec<Awaited>,
    /// The Runnables among what it stems from that the user may not read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) not_visible: Vec<String>,
}

impl SourceChange {
    /// `input digest comes from Runnable shop/base, which has changed: 5c1d… was …`, for people.
    pub(crate) fn shown(&self) -> String {
        let who = named(&SourceKey::read(&self.source));
        let how = match (&self.before, &self.after) {
            (Some(before), Some(after)) => format!("{before} became {after}"),
            (None, Some(after)) => format!("it is new: {after}"),
            (Some(before), None) => format!("it was {before}, and is not there any more"),
            (None, None) => String::new(),
        };
        match self.inputs.as_slice() {
            [] => format!("{who}: {how}"),
            [input] => format!("{who}, which gives the input {input}: {how}"),
            several => format!(
                "{who}, which gives the inputs {}: {how}",
                several.join(", ")
            ),
        }
    }
}

/// How the key of a Secret's key begins.
const OF_SECRET: &str = "Secret/";

/// What was made from others between two runs: that inputs come from, or else, where none of it is another one, what they stem
/// from. What stands on their objects is what they were made from then; a status may
/// have moved on since.
pub(crate) fn between(
    runnable: &Runnable,
    (earlier, its): (&LedgerRun, Option<&Value>),
    (current, own): (&LedgerRun, Option<&Value>),
) -> Vec<SourceChange> {
    let before = its
        .and_then(on_object)
        .or_else(|| in_status(runnable, earlier));
    let after = own
        .and_then(on_object)
        .or_else(|| in_status(runnable, current));
    before.zip(after).map_or_else(Vec::new, |(before, after)| {
        let all = changes(runnable, &before, &after);
        let direct: Vec<SourceChange> = (all.iter())
            .filter(|it| !it.inputs.is_empty())
            .cloned()
            .collect();
        if direct.is_empty() { all } else { direct }
    })
}

/// What people are told on the object of a run.
fn on_object(object: &Value) -> Option<Sources> {
    let annotations = object.pointer("/metadata/annotations")?;
    let text = annotations.get(SOURCES_ANNOTATION)?.as_str()?;
    serde_json::from_str(text).ok()
}

fn in_status(runnable: &Runnable, run: &LedgerRun) -> Option<Sources> {
    let status = runnable.status.as_ref()?;
    if let Some(current) = status.current_run.as_ref().filter(|_| run.current) {
        return current.sources.clone();
    }
    let entries = status.history.iter();
    let of_entry = entries
        .filter(|entry| (entry.sequence, &entry.input_hash) == (run.sequence, &run.input_hash))
        .find_map(|entry| entry.sources.clone());
    let outputs = status.outputs_from.as_ref();
    let of_outputs = outputs.filter(|from| Some(&from.uid) == run.uid.as_ref());
    of_entry.or_else(|| of_outputs?.sources.clone())
}

/// The inputs of each of these sources.
fn inputs_by_source(runnable: &Runnable, sources: &Sources) -> BTreeMap<String, Vec<String>> {
    let own = runnable.namespace().unwrap_or_default();
    let mut all: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for source in runnable.spec.inputs_from.iter().flatten() {
        if let Some(key) = found_key(&own, source, sources) {
            all.entry(key).or_default().push(source.name.clone());
        }
    }
    all
}

/// Which of these sources an input comes from. Of an object that labels find, or that may be in no namespace, the reference
/// says less than what was found: then it is the only one of its kind, and by its path, that it may be.
fn found_key(own: &str, source: &InputSource, sources: &Sources) -> Option<String> {
    let key = references::source_key(own, source)?.to_string();
    let object = source
        .object_ref
        .as_ref()
        .filter(|_| !sources.contains_key(&key));
    let (Some(object), Some((kind, _))) = (object, key.split_once('/')) else {
        return Some(key);
    };
    let path = SourceKey::of_path(object.revision_path.as_deref()?);
    let namespace = object.namespace.as_deref().unwrap_or(own);
    let may_be = |other: &&String| {
        let of_kind = other.strip_prefix(kind).and_then(|it| it.strip_prefix('/'));
        let of_path = of_kind.and_then(|it| it.strip_suffix(&path));
        let place = of_path.and_then(|it| it.split_once('/'));
        place.is_some_and(|(of, name)| {
            let is_there = of == namespace || of.is_empty();
            is_there && object.name.as_deref().is_none_or(|it| it == name)
        })
    };
    let mut found = sources.keys().filter(may_be);
    found.next().filter(|_| found.next().is_none()).cloned()
}

/// What differs of what it stems from, with the inputs that come from it.
fn changes(runnable: &Runnable, before: &Sources, after: &Sources) -> Vec<SourceChange> {
    let mut inputs = inputs_by_source(runnable, before);
    inputs.extend(inputs_by_source(runnable, after));
    let keys: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    // Where inputs need not be coherent, what has two states in play is traced only if it is a Runnable that is read itself: what else
    // stands on one side alone may have been read before.
    let is_ignored = runnable.spec.coherence == Some(Coherence::Ignored);
    let is_traced = |key: &str| {
        let is_read = inputs.contains_key(key) && SourceKey::read(key).as_runnable().is_some();
        !is_ignored || is_read || before.contains_key(key) && after.contains_key(key)
    };
    let all = keys
        .into_iter()
        .filter(|key| before.get(*key) != after.get(*key) && is_traced(key));
    all.map(|key| SourceChange {
        source: key.clone(),
        inputs: inputs.get(key).cloned().unwrap_or_default(),
        before: before.get(key).cloned(),
        after: after.get(key).cloned(),
    })
    .collect()
}

/// The Secrets that inputs come from and that are not what the present run was made from, for people. The document of a run shows
/// nothing of them.
pub(crate) fn changed_secrets(runnable: &Runnable, now: &Sources) -> Vec<String> {
    let status = runnable.status.as_ref();
    let current = status.and_then(|status| status.current_run.as_ref());
    let made_from = current.and_then(|run| run.sources.as_ref());
    let changed = made_from.map(|before| changes(runnable, before, now));
    let changed = changed.into_iter().flatten();
    let secrets = changed.filter(|it| {
        let is_known = it.after.is_some() && !it.inputs.is_empty();
        is_known && it.source.starts_with(OF_SECRET)
    });
    secrets.map(|it| it.shown()).collect()
}

impl Standing {
    /// As the user can see it. Who reads no Runnable costs no request. `revisions` are those of what else inputs come from, as far as
    /// they are known.
    pub(crate) async fn of(
        runnable: &Runnable,
        revisions: Sources,
        cluster: &Cluster,
    ) -> anyhow::Result<Self> {
        let own = Arc::new(Seen::of(runnable));
        let (known, not_visible) = look_up(&own, cluster).await?;
        let not_visible = not_visible.iter().map(ToString::to_string).collect();
        Ok(Self {
            not_visible,
            ..Self::seen(runnable, own, known, revisions)
        })
    }

    fn seen(runnable: &Runnable, own: Arc<Seen>, mut known: Known, mut now: Sources) -> Self {
        let status = runnable.status.as_ref();
        let current = status.and_then(|status| status.current_run.as_ref());
        let made_from = current.and_then(|run| run.sources.as_ref());
        for key in made_from.into_iter().flatten().map(|(key, _)| key) {
            let seen = known.get(&SourceKey::read(key));
            let revision = seen.and_then(|seen| seen.revision.as_ref());
            now.extend(revision.map(|it| (key.clone(), it.to_string())));
        }
        let changed = made_from.map(|before| changes(runnable, before, &now));
        // What is not known now is not gone, and what is no input of its own others tell.
        let changed_since = changed.into_iter().flatten();
        let changed_since = changed_since.filter(|it| it.after.is_some() && !it.inputs.is_empty());
        let changed_since = changed_since.collect();
        let namespace = runnable.namespace().unwrap_or_default();
        let of = SourceKey::runnable(&namespace, &runnable.name_any());
        known.insert(of.clone(), own);
        let waits = status.and_then(|status| status.pending.as_ref());
        let waits = waits.is_some_and(|it| it.reason == Category::DependencyNotReady.as_str());
        let chain = if waits {
            settle::chain(&of, &known)
        } else {
            Vec::new()
        };
        Self {
            changed_since,
            waits_for: chain.into_iter().map(awaited).collect(),
            not_visible: Vec::new(),
        }
    }
}

fn awaited((key, why): (SourceKey, NotReady)) -> Awaited {
    Awaited {
        why: why_not_ready(&key, &why),
        source: key.to_string(),
    }
}

/// The Runnables that it stems from, the nearest first, and those that may not be read.
async fn look_up(own: &Seen, cluster: &Cluster) -> anyhow::Result<(Known, BTreeSet<SourceKey>)> {
    let (mut known, mut hidden) = (Known::new(), BTreeSet::new());
    let mut next: VecDeque<SourceKey> = own.reads.keys().cloned().collect();
    let mut met: BTreeSet<SourceKey> = next.iter().cloned().collect();
    while let Some(key) = next.pop_front() {
        if known.len() + hidden.len() == MOST_LOOKED_UP {
            break;
        }
        let Some((namespace, name)) = key.as_runnable() else {
            continue;
        };
        match cluster.visible_runnable(namespace, name).await? {
            Some(Some(found)) => {
                let seen = Seen::of(&found);
                let further = seen.reads.keys().filter(|it| met.insert((*it).clone()));
                next.extend(further.cloned());
                known.insert(key, Arc::new(seen));
            }
            Some(None) => {}
            None => drop(hidden.insert(key)),
        }
    }
    Ok((known, hidden))
}

#[cfg(test)]
mod tests;
