//! Finds the one object that a Runnable's selector picks, read as its account. I/O.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use cartouche_crds::Selector;
use cartouche_language::{
    bounds::{MAX_CONTEXT_BYTES, json_bytes_within},
    wrong_label,
};
use cartouche_protocol::{
    category::Category,
    facts::WatchState,
    messages::{
        diagnosis::Diagnosis,
        reconcile_error::{ReconcileError, Requeue},
    },
};
use serde_json::Value;

use super::reconciliation::{LOOKED_UP_AFTER, Reconciliation};
use crate::{
    api::{ApiError, Requests, label_query},
    backoff::FIFTH,
    discovery::{DiscoveryError, Kind},
    lock::lock,
    picked::Picked,
    watched_kind::{Purpose, Watched},
};

/// Reason why a selector picks nothing.
struct SelectError {
    requeue: Requeue,
    cause: Box<Diagnosis>,
    text: String,
}

impl Reconciliation<'_> {
    /// Returns the time until the next list of selected objects, while exactly one is not found.
    pub(super) fn next_list(&self) -> Option<Duration> {
        self.has_unpicked.then(|| FIFTH.over(LOOKED_UP_AFTER))
    }

    /// Drops the selected object, if there was any. The watch may go on for inputs.
    pub(super) fn pick_nothing(&self) {
        let picked = lock(&self.memory).picked.take();
        if picked.is_some() {
            let watched = lock(&self.memory).watched.clone();
            for watched in watched.iter().filter(|it| it.purpose == Purpose::Selected) {
                self.ctx.selections.unpick(watched, &self.key);
            }
        }
    }

    /// Returns the selected object, from memory while no event says that it may have changed.
    pub(super) async fn select(
        &self,
        account: &Requests,
        selector: &Selector,
        consistent: bool,
    ) -> Result<Arc<Value>, ReconcileError> {
        self.resolve(account, selector, consistent)
            .await
            .map_err(|error| {
                let resource = &selector.resource;
                let text = format!(
                    "unable to resolve selector [{}], apiVersion [{}], kind [{}]: {}",
                    go_map(&selector.matching_labels),
                    resource.api_version.as_deref().unwrap_or_default(),
                    resource.kind.as_deref().unwrap_or_default(),
                    error.text
                );
                ReconcileError::from_diagnosis(
                    Category::TemplateStampFailure,
                    error.requeue,
                    *error.cause,
                    Some(text),
                )
            })
    }

    async fn resolve(
        &self,
        account: &Requests,
        selector: &Selector,
        consistent: bool,
    ) -> Result<Arc<Value>, SelectError> {
        check_labels(&selector.matching_labels)?;
        let resource = &selector.resource;
        let api_version = resource.api_version.as_deref().unwrap_or_default();
        let kind = resource.kind.as_deref().unwrap_or_default();
        let kinds = &self.ctx.kinds;
        let kind = match kinds.find(api_version, kind).await {
            Ok(kind) => kind,
            Err(error) => return Err(self.unserved(&kinds.with_hint(error))),
        };
        let watched = Watched {
            purpose: Purpose::Selected,
            kind,
        };
        let kept = lock(&self.memory).picked.clone();
        let kept = kept.filter(|picked| picked.selector == *selector);
        if let (Some(kept), WatchState::Synced, false) =
            (kept, self.ctx.watches.state(&watched), consistent)
        {
            return Ok(kept.object.value());
        }
        // An event during the list may make its answer stale.
        let began = lock(&self.memory).changes;
        let object = self.list_one(account, &watched, selector).await?;
        Ok(self.keep(selector, Arc::new(object), began))
    }

    /// Lists the objects that the selector matches, and registers them with the watch.
    async fn list_one(
        &self,
        account: &Requests,
        watched: &Watched,
        selector: &Selector,
    ) -> Result<Value, SelectError> {
        let (selections, labels) = (&self.ctx.selections, &selector.matching_labels);
        selections.ask(watched, &self.key, labels);
        let listed = list_two(account, &watched.kind, &self.key.namespace, labels).await;
        let listed = listed.map_err(|error| self.unlistable(&watched.kind, labels, &error));
        let uids = listed.iter().flatten().filter_map(uid).collect();
        if selections.answer(watched, &self.key, uids) {
            lock(&self.memory).changes += 1;
            self.ctx.enqueuer.enqueue(&self.key);
        }
        only(listed?, &watched.kind.kind, labels)
    }

    /// Remembers the object, unless it may have changed since that many `changes`.
    fn keep(&self, selector: &Selector, object: Arc<Value>, changes: u64) -> Arc<Value> {
        // An object too large for any template is not kept.
        let kept = json_bytes_within(&object, MAX_CONTEXT_BYTES)
            .and_then(|_| self.ctx.picked.keep(&object));
        let mut memory = lock(&self.memory);
        if memory.changes != changes {
            return object;
        }
        let shared = kept.as_ref().map(|kept| kept.value());
        let picked = kept.map(|object| Picked {
            selector: selector.clone(),
            object,
        });
        let before = std::mem::replace(&mut memory.picked, picked);
        drop(memory);
        drop(before);
        shared.unwrap_or(object)
    }
}

fn uid(object: &Value) -> Option<String> {
    Some(object.pointer("/metadata/uid")?.as_str()?.to_owned())
}

/// Lists up to two objects: exactly one must match, and two show that it does not.
async fn list_two(
    account: &Requests,
    kind: &Kind,
    namespace: &str,
    labels: &BTreeMap<String, String>,
) -> Result<Vec<Value>, ApiError> {
    let query = label_query(labels.iter().map(|(key, value)| (&**key, &**value)));
    account.list_some(&kind.path(namespace), &query, 2).await
}

/// Returns the only object, without `managedFields`, which no template sees.
fn only(
    mut found: Vec<Value>,
    kind: &str,
    labels: &BTreeMap<String, String>,
) -> Result<Value, SelectError> {
    let labels: Vec<String> = labels
        .iter()
        .map(|(key, value)| format!("{key}={value}"))
        .collect();
    let (kind, labels) = (kind.to_owned(), labels.join(","));
    let change = |cause, text: &str| SelectError {
        requeue: Requeue::OnChange,
        cause: Box::new(cause),
        text: text.to_owned(),
    };
    if found.len() > 1 {
        let names = found.iter().map(|object| {
            let name = object.pointer("/metadata/name").and_then(Value::as_str);
            name.unwrap_or_default().to_owned()
        });
        let cause = Diagnosis::SeveralSelected(kind, labels, names.collect());
        return Err(change(cause, "selector matched multiple objects"));
    }
    let Some(mut object) = found.pop() else {
        let cause = Diagnosis::NothingSelected(kind, labels);
        return Err(change(cause, "selector did not match any objects"));
    };
    if let Some(Value::Object(metadata)) = object.get_mut("metadata") {
        metadata.remove("managedFields");
    }
    Ok(object)
}

/// Refuses labels that could be read as more than one requirement.
fn check_labels(labels: &BTreeMap<String, String>) -> Result<(), SelectError> {
    let Some(wrong) = wrong_label(labels) else {
        return Ok(());
    };
    Err(SelectError {
        requeue: Requeue::OnChange,
        cause: Box::new(Diagnosis::Selector(wrong.clone())),
        text: wrong,
    })
}

/// Formats a map as Go does, as in Cartographer's messages.
fn go_map(map: &BTreeMap<String, String>) -> String {
    let pairs: Vec<String> = map
        .iter()
        .map(|(key, value)| format!("{key}:{value}"))
        .collect();
    format!("map[{}]", pairs.join(" "))
}

impl Reconciliation<'_> {
    fn unserved(&self, error: &DiscoveryError) -> SelectError {
        SelectError {
            requeue: error.requeue(),
            cause: Box::new(self.cause_of_discovery(error, "show the selected kind")),
            text: format!("failed to list server api resources: {error}"),
        }
    }

    fn unlistable(
        &self,
        kind: &Kind,
        labels: &BTreeMap<String, String>,
        error: &ApiError,
    ) -> SelectError {
        let requeue = if error.is_not_found() {
            Requeue::OnKind
        } else {
            error.requeue()
        };
        let place = if kind.namespaced {
            "in namespace"
        } else {
            "at cluster scope"
        };
        SelectError {
            requeue,
            cause: Box::new(self.cause_of(error, "list the selected objects")),
            text: format!(
                "failed to list objects {place} matching selector [{}]: {error}",
                go_map(labels)
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::check_labels;

    fn accepts(key: &str, value: &str) -> bool {
        check_labels(&[(key.to_owned(), value.to_owned())].into()).is_ok()
    }

    #[test]
    fn a_label_is_never_read_as_more_than_a_key_and_a_value() {
        for (key, value) in [
            ("a", ""),
            ("a", "b"),
            ("example.com/a_b", "x.y-z"),
            ("A1", "1"),
        ] {
            assert!(accepts(key, value), "{key} {value}");
        }
        for (key, value) in [
            ("a", "x,b=y"),
            ("!a", "x"),
            ("a in (b),c", "x"),
            ("", "x"),
            ("a/", "x"),
            ("/a", "-x"),
            ("a", "x b"),
        ] {
            assert!(!accepts(key, value), "{key} {value}");
        }
    }
}
