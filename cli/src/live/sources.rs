//! The sources of a Runnable's inputs: their changes between runs and since, and the Runnables that are waited for.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::Arc,
};

use cartouche_crds::{Coherence, InputSource, Runnable, SOURCES_ANNOTATION};
use cartouche_protocol::{
    category::Category,
    messages::diagnosis::{NotReady, format_name, why_not_ready},
    references,
    sources::{KnownRunnables, Seen, settle},
    trace::SourceKey,
};
use kube::ResourceExt as _;
use serde::Serialize;
use serde_json::Value;

use crate::{cluster::Cluster, live::runs::LedgerRun};

/// Most Runnables that are looked up.
const MOST_LOOKED_UP: usize = 64;

/// Revisions by source, as in a status.
pub(crate) type KnownRevisions = BTreeMap<String, String>;

/// Source, or an ancestor of one, whose revision has changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SourceChange {
    /// Key, as in `status.currentRun.sources`.
    pub(crate) source: String,
    /// Inputs that come from it; none for an ancestor.
    pub(crate) inputs: Vec<String>,
    /// Revision before; `None` if there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) before: Option<String>,
    /// Revision after; `None` if there is none any more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) after: Option<String>,
}

/// Source that is waited for, and the reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct AwaitedSource {
    pub(crate) source: String,
    pub(crate) why: String,
}

/// State of the sources of the inputs.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SourcesState {
    /// Changes since the current run was made.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) changed_since: Vec<SourceChange>,
    /// Source that a pending run waits for, followed by the source that this one waits for, and so on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) waits_for: Vec<AwaitedSource>,
    /// Runnables among the ancestors that the user may not read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) not_visible: Vec<String>,
}

impl SourceChange {
    /// Describes the change for people, such as `Runnable shop/base, which gives the input digest: a became c`.
    pub(crate) fn describe(&self) -> String {
        let who = format_name(&SourceKey::read(&self.source));
        let how = match (&self.before, &self.after) {
            (Some(before), Some(after)) => format!("{before} became {after}"),
            (None, Some(after)) => format!("it is new: {after}"),
            (Some(before), None) => format!("it was {before}, and no longer exists"),
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

/// Prefix of the source key of a Secret.
const OF_SECRET: &str = "Secret/";

/// Returns the sources that changed between two runs: direct ones, or else, if none of these differs, ancestors. The
/// annotation of a run's object has the revisions at that time; a status may have changed since.
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

/// Returns the sources in the annotation of a run's object.
fn on_object(object: &Value) -> Option<KnownRevisions> {
    let annotations = object.pointer("/metadata/annotations")?;
    let text = annotations.get(SOURCES_ANNOTATION)?.as_str()?;
    serde_json::from_str(text).ok()
}

fn in_status(runnable: &Runnable, run: &LedgerRun) -> Option<KnownRevisions> {
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

/// Returns the inputs of each of these sources.
fn inputs_by_source(
    runnable: &Runnable,
    sources: &KnownRevisions,
) -> BTreeMap<String, Vec<String>> {
    let own = runnable.namespace().unwrap_or_default();
    let mut all: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for source in runnable.spec.inputs_from.iter().flatten() {
        if let Some(key) = found_key(&own, source, sources) {
            all.entry(key).or_default().push(source.name.clone());
        }
    }
    all
}

/// Returns the source that an input comes from. For an object found by labels, or possibly in no namespace, the
/// reference alone does not identify it. It is then the only source of its kind and path that fits.
fn found_key(own: &str, source: &InputSource, sources: &KnownRevisions) -> Option<String> {
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

/// Returns the sources whose revisions differ, with the inputs that come from them.
fn changes(
    runnable: &Runnable,
    before: &KnownRevisions,
    after: &KnownRevisions,
) -> Vec<SourceChange> {
    let mut inputs = inputs_by_source(runnable, before);
    inputs.extend(inputs_by_source(runnable, after));
    let keys: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    // If inputs need not be coherent, an object in two states is traced only if it is a Runnable that is read
    // directly. Anything else found on one side alone may have been read before.
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

/// Returns descriptions of the Secrets of the inputs that have changed since the current run was made. The document
/// of a run shows nothing of them.
pub(crate) fn changed_secrets(runnable: &Runnable, now: &KnownRevisions) -> Vec<String> {
    let status = runnable.status.as_ref();
    let current = status.and_then(|status| status.current_run.as_ref());
    let made_from = current.and_then(|run| run.sources.as_ref());
    let changed = made_from.map(|before| changes(runnable, before, now));
    let changed = changed.into_iter().flatten();
    let secrets = changed.filter(|it| {
        let is_known = it.after.is_some() && !it.inputs.is_empty();
        is_known && it.source.starts_with(OF_SECRET)
    });
    secrets.map(|it| it.describe()).collect()
}

impl SourcesState {
    /// Reads the state, as far as the user can see it. A Runnable that reads no other one costs no request.
    /// `revisions` are those of the other sources, as far as they are known.
    pub(crate) async fn fetch(
        runnable: &Runnable,
        revisions: KnownRevisions,
        cluster: &Cluster,
    ) -> anyhow::Result<Self> {
        let own = Arc::new(Seen::from_runnable(runnable));
        let (known, not_visible) = look_up(&own, cluster).await?;
        let not_visible = not_visible.iter().map(ToString::to_string).collect();
        Ok(Self {
            not_visible,
            ..Self::seen(runnable, own, known, revisions)
        })
    }

    fn seen(
        runnable: &Runnable,
        own: Arc<Seen>,
        mut known: KnownRunnables,
        mut now: KnownRevisions,
    ) -> Self {
        let status = runnable.status.as_ref();
        let current = status.and_then(|status| status.current_run.as_ref());
        let made_from = current.and_then(|run| run.sources.as_ref());
        for key in made_from.into_iter().flatten().map(|(key, _)| key) {
            let seen = known.get(&SourceKey::read(key));
            let revision = seen.and_then(|seen| seen.revision.as_ref());
            now.extend(revision.map(|it| (key.clone(), it.to_string())));
        }
        let changed = made_from.map(|before| changes(runnable, before, &now));
        // A source that is unknown now is not gone. Changes of ancestors are reported by the Runnables that read
        // them.
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

fn awaited((key, why): (SourceKey, NotReady)) -> AwaitedSource {
    AwaitedSource {
        why: why_not_ready(&key, &why),
        source: key.to_string(),
    }
}

/// Returns the Runnables among the ancestors, the nearest first, and those that the user may not read.
async fn look_up(
    own: &Seen,
    cluster: &Cluster,
) -> anyhow::Result<(KnownRunnables, BTreeSet<SourceKey>)> {
    let (mut known, mut hidden) = (KnownRunnables::new(), BTreeSet::new());
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
                let seen = Seen::from_runnable(&found);
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
