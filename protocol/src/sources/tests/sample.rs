//! Runnables to test with, each named by a letter. A text names their outputs.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use cartouche_crds::{
    CurrentRun, HistoryEntry, OutputsFrom, RunResult, RunnableStatus,
    conditions::{READY, STALLED, TRUE},
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use serde_json::json;

use crate::{
    ledger::tests::sample::{at, ended, outputs_from, values},
    sources::{
        Coherence, Edges, KnownRunnables, Provenance, Question, Readiness, Seen, Source, Value,
        WaitFor, readiness,
    },
    status::{ConditionValue, condition},
    trace::{Revision, SourceKey, Sources},
};

/// The account of all of them.
pub(super) const ACCOUNT: &str = "space/default";

pub(super) fn key(name: &str) -> SourceKey {
    SourceKey::runnable("space", name)
}

pub(super) fn file(name: &str) -> SourceKey {
    SourceKey::config_map("space", name, "key")
}

pub(super) fn revision(text: &str) -> Revision {
    Revision::from_text(text)
}

/// `[("a", "1")]`: Runnable a at revision 1.
pub(super) fn sources<const N: usize>(all: [(SourceKey, &str); N]) -> Sources {
    all.into_iter()
        .map(|(key, text)| (key, revision(text)))
        .collect()
}

pub(super) fn ready(status: &'static str) -> Condition {
    let value = ConditionValue {
        status,
        reason: "Test".to_owned(),
        message: String::new(),
    };
    condition(&[], READY, value, Some(1), at(0))
}

/// A Runnable whose only run was made from `looked_at`, succeeded, and gave outputs of this revision.
pub(super) fn gave(text: &str, looked_at: &Sources) -> Seen {
    let current = ended(2, "A", RunResult::Succeeded);
    let run = (current.sequence, current.input_hash.clone());
    Seen {
        generation: 1,
        suspended: false,
        deleting: false,
        coherence: Coherence::Required,
        rerun_token: None,
        has_sources: true,
        status: Arc::new(RunnableStatus {
            observed_generation: Some(1),
            conditions: vec![ready(TRUE)],
            outputs: Some(values(text)),
            outputs_from: Some(outputs_from(2)),
            current_run: Some(current),
            ..RunnableStatus::default()
        }),
        provenance: Provenance::new([(run, looked_at.clone())], Some(looked_at.clone())),
        revision: Some(revision(text)),
        behind: BTreeSet::new(),
        reads: BTreeMap::new(),
        objects: BTreeSet::new(),
        account: ACCOUNT.to_owned(),
    }
}

/// The same after another run, made from `looked_at`, that ended without outputs: the former
/// outputs stay.
pub(super) fn failed(text: &str, gave_from: &Sources, looked_at: &Sources) -> Seen {
    let before = gave(text, gave_from);
    let current = ended(3, "B", RunResult::Failed);
    let run = (current.sequence, current.input_hash.clone());
    let provenance = Provenance::new([(run, looked_at.clone())], Some(gave_from.clone()));
    let failed = Seen {
        provenance,
        ..with_current(before, current)
    };
    with_status(failed, |status| status.conditions = vec![ready("False")])
}

pub(super) fn with_status(mut seen: Seen, change: impl FnOnce(&mut RunnableStatus)) -> Seen {
    change(Arc::make_mut(&mut seen.status));
    seen
}

pub(super) fn with_current(seen: Seen, current: CurrentRun) -> Seen {
    with_status(seen, |status| status.current_run = Some(current))
}

pub(super) fn with_history(seen: Seen, entry: HistoryEntry) -> Seen {
    with_status(seen, |status| status.history = Arc::new(vec![entry]))
}

pub(super) fn suspended(seen: Seen) -> Seen {
    Seen {
        suspended: true,
        ..seen
    }
}

pub(super) fn deleting(seen: Seen) -> Seen {
    Seen {
        deleting: true,
        ..seen
    }
}

/// The same with this condition in its status.
pub(super) fn with_condition(seen: Seen, kind: &str, reason: &str) -> Seen {
    let told = Condition {
        reason: reason.to_owned(),
        type_: kind.to_owned(),
        ..ready(TRUE)
    };
    with_status(seen, |status| status.conditions.push(told))
}

/// The same, Stalled for this reason.
pub(super) fn stalled(seen: Seen, reason: &str) -> Seen {
    with_condition(seen, STALLED, reason)
}

/// The same, with reads of these.
pub(super) fn reading<const N: usize>(seen: Seen, names: [&str; N]) -> Seen {
    let reads = names.map(|name| (key(name), WaitFor::Settled));
    Seen {
        reads: reads.into(),
        ..seen
    }
}

pub(super) fn known<const N: usize>(all: [(&str, Seen); N]) -> KnownRunnables {
    all.map(|(name, seen)| (key(name), seen.into())).into()
}

/// A source that gives a value.
pub(super) fn source(name: &str, wait_for: WaitFor, known: &KnownRunnables) -> Source {
    let seen = known.get(&key(name));
    Source {
        key: key(name),
        wait_for,
        value: Value::Given,
        revision: seen.and_then(|seen| seen.revision.clone()),
    }
}

/// The answer for `x`, which reads these and waits until they are settled.
pub(super) fn asked<const N: usize>(names: [&str; N], known: &KnownRunnables) -> Readiness {
    let sources = names.map(|name| source(name, WaitFor::Settled, known));
    answer(&sources, known)
}

pub(super) fn answer(sources: &[Source], known: &KnownRunnables) -> Readiness {
    readiness(&Question {
        of: &key("x"),
        account: ACCOUNT,
        sources,
        known,
        through_sinks: &Edges::new(),
        coherence: Coherence::Required,
    })
}

pub(super) fn outputs_of(sequence: i64, uid: &str) -> OutputsFrom {
    OutputsFrom {
        uid: uid.to_owned(),
        ..outputs_from(sequence)
    }
}

pub(super) fn plain(value: &serde_json::Value) -> BTreeMap<String, serde_json::Value> {
    BTreeMap::from([("digest".to_owned(), json!(value))])
}
