//! Facts about a Runnable that decisions need.

use cartouche_crds::{APPROVED_ANNOTATION, GROUP, REJECTED_ANNOTATION, Rejection, Runnable};
use k8s_openapi::jiff::Timestamp;

use crate::{
    profiles::{Labels, requested_refresh},
    rerun,
};

/// Fields of a Runnable that decisions need.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunnableFacts {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its uid.
    pub uid: String,
    /// Its generation.
    pub generation: i64,
    /// The name of its template.
    pub template: String,
    /// The name of its `ServiceAccount`.
    pub account: String,
    /// True if it is being deleted.
    pub deleting: bool,
    /// True if one of our finalizers keeps it. No release sets one yet.
    pub is_kept_by_us: bool,
    /// True if no new run is to be made for it.
    pub suspended: bool,
    /// Re-run request on it.
    pub rerun_token: Option<String>,
    /// Approved run, as the annotation names it.
    pub approved: Option<String>,
    /// Rejected run, with the reason.
    pub rejected: Option<Rejection>,
    /// Name of the profile that it asks for.
    pub profile_name: Option<String>,
    /// Request to refresh its profile.
    pub profile_refresh: Option<String>,
    /// Its labels, which the rules of profiles match.
    pub labels: Labels,
    /// Its creation time.
    pub created: Option<Timestamp>,
}

impl RunnableFacts {
    /// Extracts the facts from a Runnable.
    #[must_use]
    pub fn from_runnable(runnable: &Runnable) -> Self {
        let metadata = &runnable.metadata;
        let annotation = |name: &str| metadata.annotations.as_ref()?.get(name);
        Self {
            namespace: metadata.namespace.clone().unwrap_or_default(),
            name: metadata.name.clone().unwrap_or_default(),
            uid: metadata.uid.clone().unwrap_or_default(),
            generation: metadata.generation.unwrap_or_default(),
            template: runnable.spec.run_template_ref.name.clone(),
            account: runnable.spec.service_account().to_owned(),
            deleting: metadata.deletion_timestamp.is_some(),
            is_kept_by_us: metadata.finalizers.iter().flatten().any(|it| is_ours(it)),
            suspended: runnable.spec.suspend == Some(true),
            rerun_token: rerun::find_request(runnable),
            approved: annotation(APPROVED_ANNOTATION).cloned(),
            rejected: annotation(REJECTED_ANNOTATION).and_then(|text| Rejection::parse(text)),
            profile_name: runnable.spec.profile_name.clone(),
            profile_refresh: requested_refresh(runnable),
            labels: metadata.labels.clone().unwrap_or_default(),
            created: metadata.creation_timestamp.as_ref().map(|at| at.0),
        }
    }
}

/// Returns true if a finalizer belongs to Cartouche's API group.
fn is_ours(finalizer: &str) -> bool {
    finalizer
        .split_once('/')
        .is_some_and(|(group, _)| group == GROUP)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_finalizer_of_this_group_keeps_a_runnable_and_another_does_not() {
        let is_kept = |finalizers: &[&str]| {
            let runnable = json!({
                "metadata": { "name": "a", "finalizers": finalizers },
                "spec": { "runTemplateRef": { "name": "t" } },
            });
            RunnableFacts::from_runnable(&serde_json::from_value(runnable).unwrap()).is_kept_by_us
        };
        assert!(is_kept(&["foregroundDeletion", "carto.run/teardown"]));
        for others in [
            &["foregroundDeletion"][..],
            &["carto.run"],
            &["carto.run.example.com/a", "x/carto.run"],
            &[],
        ] {
            assert!(!is_kept(others), "{others:?}");
        }
    }
}
