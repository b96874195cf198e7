//! Maps answers of the API server to a [`Diagnosis`] of the Runnable.

use std::collections::BTreeMap;

use cartouche_language::{Diagnostics, is_label_value};
use cartouche_protocol::messages::diagnosis::{Denied, Diagnosis, Fault, Who, add_place};
use serde_json::Value;

use super::reconciliation::Reconciliation;
use crate::{
    api::{ApiError, DeniedRequest},
    discovery::DiscoveryError,
};

/// Maximum number of invalid labels that a message names.
const MOST_LABELS: usize = 5;
/// Longest label key that is named, in bytes: a DNS prefix, a slash and 63 bytes are 317 at most.
const LONGEST_LABEL: usize = 317;

impl Reconciliation<'_> {
    /// Returns why a request failed. `tried` is what the API server did not do.
    pub(super) fn cause_of(&self, error: &ApiError, tried: &'static str) -> Diagnosis {
        match error.missing_permission() {
            Some(denied) => self.forbidden(&denied),
            None if error.is_refusal() => Diagnosis::Refused(tried, self.redact_error(error)),
            None => Diagnosis::NoAnswer(tried),
        }
    }

    /// Returns why the create of a run failed.
    pub(super) fn cause_of_refusal(&self, error: &ApiError) -> Diagnosis {
        let rendering = self.facts.rendering.as_ref().ok();
        let (api_version, kind) = rendering
            .map(|it| (it.document.api_version(), it.document.kind()))
            .unwrap_or_default();
        let is_gone = error.is_not_found() && error.to_string().starts_with("namespaces ");
        if is_gone || error.is_namespace_terminating() {
            Diagnosis::NamespaceEnds(self.key.namespace.clone())
        } else if error.is_not_found() {
            Diagnosis::KindMissing(api_version.to_owned(), kind.to_owned(), None)
        } else if error.is_not_admitted() {
            Diagnosis::NotAdmitted(self.redact_error(error))
        } else if error.is_silent_webhook() {
            Diagnosis::WebhookSilent(self.redact_error(error))
        } else if error.is_invalid() {
            Diagnosis::Invalid {
                kind: kind.to_owned(),
                why: self.with_place(self.with_labels(self.redact_error(error))),
                namespace: self.key.namespace.clone(),
                runnable: self.key.name.clone(),
            }
        } else if error.is_forbidden() && error.missing_permission().is_none() {
            Diagnosis::NotAdmitted(self.redact_error(error))
        } else {
            self.cause_of(error, "create the run")
        }
    }

    /// Returns why a look-up of a kind, or a list of its objects, failed.
    pub(super) fn cause_of_discovery(
        &self,
        error: &DiscoveryError,
        tried: &'static str,
    ) -> Diagnosis {
        match error {
            DiscoveryError::Unknown {
                api_version,
                kind,
                hint,
            } => Diagnosis::KindMissing(api_version.clone(), kind.clone(), hint.clone()),
            DiscoveryError::Api(error) => self.cause_of(error, tried),
        }
    }

    /// Returns the text of an error, without anything that may be part of a Secret.
    pub(super) fn redact_error(&self, error: &ApiError) -> String {
        if self.has_secrets() {
            error.without_values()
        } else {
            error.to_string()
        }
    }

    /// Adds the place of a value of the wrong type to a message of the API server, which names none. It is found in the
    /// lists of what was sent, profile and runner included.
    fn with_place(&self, said: String) -> String {
        let current = self.facts.ledger.current.as_ref();
        let sequence = current.map_or(1, |current| current.sequence);
        let sent = || Some(self.stamp(sequence, None, None).ok()?.1);
        add_place(&said, sent).unwrap_or(said)
    }

    /// Adds the invalid labels of the run to a message of the API server, which names none.
    fn with_labels(&self, said: String) -> String {
        let rendering = self.facts.rendering.as_ref().ok();
        let labels = rendering.and_then(|it| it.document.document().pointer("/metadata/labels"));
        let labels = labels.filter(|_| said.contains("metadata.labels: "));
        let wrong = labels.map(|labels| wrong_labels(labels, self.runnable.spec.inputs.as_ref()));
        match wrong {
            Some(wrong) if !wrong.is_empty() => format!("{said}; it means the label {wrong}"),
            _ => said,
        }
    }

    fn forbidden(&self, denied: &DeniedRequest) -> Diagnosis {
        let (namespace, account) = (&self.key.namespace, self.runnable.spec.service_account());
        let who = if denied.user == format!("system:serviceaccount:{namespace}:{account}") {
            Who::Account(namespace.clone(), account.to_owned(), self.key.name.clone())
        } else {
            Who::Controller(denied.user.clone())
        };
        Diagnosis::Forbidden(who, vec![Denied::one(&denied.verb, &denied.resource)])
    }

    /// Returns what is wrong with the template, or with its inputs.
    pub(super) fn render_error(&self, diagnostics: &Diagnostics) -> Diagnosis {
        let template = self.facts.runnable.template.clone();
        let sources = self.runnable.spec.inputs_from.as_deref();
        let faults = Fault::all_with(diagnostics, sources.unwrap_or_default());
        Diagnosis::Unrendered(template, faults)
    }
}

/// Returns the labels with invalid values, and the inputs that gave them.
fn wrong_labels(labels: &Value, inputs: Option<&BTreeMap<String, Value>>) -> String {
    let wrong = labels.as_object().into_iter().flatten();
    let wrong = wrong.filter(|(key, _)| key.len() <= LONGEST_LABEL);
    let wrong = wrong.filter_map(|(key, value)| {
        let value = value.as_str().filter(|it| !is_label_value(it))?;
        let mut given = inputs.into_iter().flatten();
        let given = given.find(|(_, given)| given.as_str() == Some(value));
        let from = given.filter(|(name, _)| name.len() <= LONGEST_LABEL);
        let from = from.map(|(name, _)| format!(" (input {name})"));
        Some(format!("{key}{}", from.unwrap_or_default()))
    });
    let wrong: Vec<String> = wrong.take(MOST_LABELS).collect();
    wrong.join(", ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_labels_that_are_none_are_named_with_the_inputs_that_gave_them() {
        let long = "k".repeat(LONGEST_LABEL + 1);
        let labels = json!({ "app": "shop", "branch": "feature/x", "note": "a b", long: "a b" });
        let inputs = BTreeMap::from([("ref".to_owned(), json!("feature/x"))]);
        assert_eq!(
            wrong_labels(&labels, Some(&inputs)),
            "branch (input ref), note"
        );
        assert_eq!(wrong_labels(&json!({ "app": "shop" }), Some(&inputs)), "");
    }
}
