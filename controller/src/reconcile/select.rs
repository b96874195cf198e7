//! The one object that a Runnable's selector picks, read as its account. I/O.

use std::{collections::BTreeMap, fmt::Write as _, sync::Arc};

use cartouche_crds::Selector;
use serde_json::Value;

use super::{facts::WatchState, pass::Pass};
use crate::{
    api::{ApiError, Requests},
    discovery::{DiscoveryError, Kind},
    memory::lock,
    problem::{Category, Cure, Problem},
    watch::{Purpose, Watched, selected::Selection},
};

impl Pass<'_> {
    /// The one object that the selector picks.
    pub(super) async fn selected(
        &self,
        account: &Requests,
        selector: &Selector,
        consistent: bool,
    ) -> Result<Arc<Value>, Problem> {
        let (api_version, kind) = (
            selector.resource.api_version.as_deref().unwrap_or_default(),
            selector.resource.kind.as_deref().unwrap_or_default(),
        );
        let labels = go_map(&selector.matching_labels);
        let unresolved = |cure, cause: String| {
            Problem::new(
                Category::TemplateStampFailure,
                cure,
                format!(
                    "unable to resolve selector [{labels}], apiVersion [{api_version}], kind [{kind}]: {cause}"
                ),
            )
        };
        let kind = self
            .own
            .kinds
            .find(api_version, kind)
            .await
            .map_err(|error| {
                let cure = if matches!(error, DiscoveryError::Unknown { .. }) {
                    Cure::Kind
                } else {
                    Cure::Retry
                };
                unresolved(
                    cure,
                    format!("failed to list server api resources: {error}"),
                )
            })?;
        let watched = Watched {
            purpose: Purpose::Selected,
            kind: kind.clone(),
        };
        let synced = self.own.watches.state(&watched) == WatchState::Synced;
        let kept = lock(&self.memory).selected.clone();
        if let (Some(kept), true, false) = (kept, synced, consistent) {
            return Ok(kept);
        }
        self.own.selections.put(
            &watched,
            &self.key,
            Selection {
                labels: selector.matching_labels.clone(),
                uid: None,
            },
        );
        let query = format!(
            "labelSelector={}",
            selector_query(&selector.matching_labels)
        );
        let mut found = account
            .list(&kind.path(&self.key.namespace), &query)
            .await
            .map_err(|error| unresolved(cure_of(&error), unlistable(&kind, &labels, &error)))?;
        let object = match (found.pop(), found.len()) {
            (Some(object), 0) => object,
            (None, _) => {
                return Err(unresolved(
                    Cure::Change,
                    "selector did not match any objects".to_owned(),
                ));
            }
            _ => {
                return Err(unresolved(
                    Cure::Change,
                    "selector matched multiple objects".to_owned(),
                ));
            }
        };
        let uid = object
            .pointer("/metadata/uid")
            .and_then(Value::as_str)
            .map(str::to_owned);
        self.own.selections.put(
            &watched,
            &self.key,
            Selection {
                labels: selector.matching_labels.clone(),
                uid,
            },
        );
        let object = Arc::new(object);
        lock(&self.memory).selected = Some(object.clone());
        Ok(object)
    }
}

fn selector_query(labels: &BTreeMap<String, String>) -> String {
    let pairs: Vec<String> = labels
        .iter()
        .map(|(key, value)| format!("{key}={value}"))
        .collect();
    escaped(&pairs.join(","))
}

/// Percent-encodes everything but letters, digits and `-._~`.
fn escaped(text: &str) -> String {
    text.bytes().fold(String::new(), |mut out, byte| {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            // Writing into a String cannot fail.
            let _ = write!(out, "%{byte:02X}");
        }
        out
    })
}

/// A map as Go prints it, which is what Cartographer's messages show.
fn go_map(map: &BTreeMap<String, String>) -> String {
    let pairs: Vec<String> = map
        .iter()
        .map(|(key, value)| format!("{key}:{value}"))
        .collect();
    format!("map[{}]", pairs.join(" "))
}

fn cure_of(error: &ApiError) -> Cure {
    if error.is_forbidden() {
        Cure::Right
    } else if error.is_not_found() {
        Cure::Kind
    } else {
        Cure::Retry
    }
}

fn unlistable(kind: &Kind, labels: &str, error: &ApiError) -> String {
    let place = if kind.namespaced {
        "in namespace"
    } else {
        "at cluster scope"
    };
    format!("failed to list objects {place} matching selector [{labels}]: {error}")
}
