//! Hints for a missing key or output: the names that the object has. Pure.

use cartouche_crds::{
    RunnableStatus,
    conditions::{READY, TRUE, find},
};
use cartouche_language::suggestion;
use serde_json::Value;

use super::{RunnableRead, SourceRead, Wrong, absent, fault};
use crate::sources::settle::busy;

/// Maximum number of names of an object that are kept, to be compared and shown.
const KEPT: usize = 64;
/// Longest name that is shown, in bytes.
const LONGEST: usize = 64;

/// Returns the names that are short enough, up to a bound.
pub(super) fn bound_names<'a>(names: impl Iterator<Item = &'a String>) -> Vec<String> {
    let short = names.filter(|name| name.len() <= LONGEST);
    short.take(KEPT).cloned().collect()
}

/// Returns true if an object that lacks the value is about to change by itself.
pub(super) fn is_on_its_way(read: &SourceRead) -> bool {
    match read {
        SourceRead::Runnable(of) => !of.newest.reacts() || busy(&of.newest).is_some(),
        SourceRead::Object(of) => !of.is_ready,
        _ => false,
    }
}

/// Returns the keys of a `ConfigMap` that may be meant, as far as they were read.
pub(super) fn key_hint(map: &Value, key: &str) -> Option<String> {
    let kept = map.get("keys").and_then(Value::as_array);
    let kept = kept.into_iter().flatten().filter_map(Value::as_str);
    let data = map.get("data").and_then(Value::as_object);
    let own = data.into_iter().flatten().map(|(name, _)| name.as_str());
    let own = own.filter(|name| name.len() <= LONGEST).take(KEPT);
    let mut all: Vec<&str> = kept.chain(own).collect();
    all.sort_unstable();
    all.dedup();
    suggestion::hint(key, "it has the keys", all)
}

pub(super) fn no_key(from: &str, hint: Option<String>) -> Wrong {
    let what = format!("{from}, which has no such key");
    match hint {
        None => absent(what),
        Some(hint) => Wrong::Missing(fault(
            what,
            &format!(
                "correct the key ({hint}), create it, or set optional if the template can do without it"
            ),
        )),
    }
}

pub(super) fn no_output(from: &str, output: &str, of: &RunnableRead) -> Wrong {
    let not_ready = not_ready(&of.newest.status);
    let is_ready = find(&of.newest.status, READY).is_some_and(|it| it.status == TRUE);
    let hint = suggestion::hint(
        output,
        "it has the outputs",
        of.others.iter().map(String::as_str),
    );
    let hint = hint.map_or(String::new(), |hint| format!(" ({hint})"));
    let (why, cure) = match (&of.seen.revision, not_ready) {
        (None, None) if is_ready => (
            "which gives no output".to_owned(),
            "let that Runnable's template give it, or set optional if this one can do without it"
                .to_owned(),
        ),
        (None, None) => (
            "which has given none yet".to_owned(),
            "make sure that it runs, or set optional if the template can do without it".to_owned(),
        ),
        (None, Some(reason)) => (
            format!("which has given none yet, and is not ready itself ({reason})"),
            "run `cartouche why` on that Runnable: it shows why".to_owned(),
        ),
        (Some(_), None) => (
            "which gives no such output".to_owned(),
            format!(
                "correct its name{hint}, let that Runnable's template give it, or set optional if this one can do without it"
            ),
        ),
        (Some(_), Some(reason)) => (
            format!("which gives no such output yet, and is not ready itself ({reason})"),
            format!(
                "run `cartouche why` on that Runnable, and fix it: its next run brings outputs that its template has gained; or correct the name{hint}"
            ),
        ),
    };
    Wrong::Missing(fault(format!("{from}, {why}"), &cure))
}

/// Returns the reason why a Runnable is not ready, in one word, or `None` if its status has none.
fn not_ready(status: &RunnableStatus) -> Option<&str> {
    let ready = find(status, READY).filter(|ready| ready.status != TRUE)?;
    Some(&ready.reason)
}
