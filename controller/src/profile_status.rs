//! `ClusterRunProfile.status`: the condition that a profile can be used, with all errors.

use std::sync::Arc;

use cartouche_crds::{
    ClusterRunProfile, ClusterRunProfileStatus,
    conditions::{FALSE, TRUE},
};
use cartouche_protocol::{
    messages::{
        diagnosis::{Diagnosis, Fault},
        format::truncate,
    },
    newer_release,
    pace::StatusChange,
    profiles::KnownProfile,
    status::ConditionValue,
};
use k8s_openapi::jiff::Timestamp;
use kube::{ResourceExt, runtime::controller::Action};
use serde_json::json;

use crate::{
    api::{Connection, Requests},
    profiles::ClusterProfiles,
    status_writes::{PAUSE, StatusWrites, write},
    template_status::{choose_reason, conditions},
};

/// Writer of the status of profiles.
pub struct ProfileAcceptance {
    /// The profiles, compiled.
    pub profiles: Arc<ClusterProfiles>,
    /// The controller's own requests.
    pub requests: Requests,
    /// Connection with the API server's clock.
    pub connection: Connection,
    /// Pace and refusals of the writes.
    pub writes: StatusWrites,
}

impl ProfileAcceptance {
    /// Reconciles one profile.
    pub async fn reconcile(&self, profile: Arc<ClusterRunProfile>) -> Action {
        let stored = profile.status.clone().unwrap_or_default();
        let Some(now) = self.connection.clock().now_for(&profile.metadata) else {
            return Action::requeue(PAUSE);
        };
        let status = status(&self.profiles.compile(&profile), &stored, now);
        let change = StatusChange::of_conditions(&stored.conditions, &status.conditions);
        if profile.metadata.deletion_timestamp.is_some() {
            return Action::await_change();
        }
        if let Some(action) = self.writes.due(&profile.name_any(), &change) {
            return action;
        }
        let spec = json!(profile.spec);
        let status = (&status, &change);
        write(&self.requests, &self.writes, &*profile, spec, status).await
    }
}

fn status(
    profile: &KnownProfile,
    stored: &ClusterRunProfileStatus,
    now: Timestamp,
) -> ClusterRunProfileStatus {
    let known = newer_release::known_profile(profile).err();
    let (status, reason, message) = match (known, &profile.compiled) {
        (Some(newer), _) => (FALSE, newer.category.as_str(), newer.message),
        (None, Ok(profile)) => {
            let warnings = profile.warnings().iter().map(ToString::to_string);
            let warnings: Vec<String> = warnings.collect();
            (
                TRUE,
                choose_reason(&warnings),
                truncate(warnings.join("; ")),
            )
        }
        (None, Err(diagnostics)) => {
            let diagnosis = Diagnosis::UnusableProfile(Fault::all(diagnostics));
            let in_full = truncate(diagnostics.to_string());
            (FALSE, "Invalid", diagnosis.message(Some(&in_full)))
        }
    };
    let value = ConditionValue {
        status,
        reason: reason.to_owned(),
        message,
    };
    let generation = profile.version.generation;
    ClusterRunProfileStatus {
        observed_generation: Some(generation),
        conditions: conditions(&stored.conditions, value, Some(generation), now),
        unknown_fields: stored.unknown_fields.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(spec: &serde_json::Value) -> (String, String) {
        let object = json!({ "metadata": { "name": "p", "generation": 2 }, "spec": spec });
        let object: ClusterRunProfile = serde_json::from_value(object).unwrap();
        let stored = ClusterRunProfileStatus::default();
        let status = status(&KnownProfile::new(&object), &stored, Timestamp::UNIX_EPOCH);
        assert_eq!(status.observed_generation, Some(2));
        let accepted = &status.conditions[0];
        assert_eq!(
            status.conditions.len(),
            if accepted.status == TRUE { 1 } else { 2 }
        );
        (accepted.status.clone(), accepted.message.clone())
    }

    #[test]
    fn a_profile_is_accepted_unless_something_is_wrong_whatever_the_run() {
        assert_eq!(told(&json!({})), ("True".to_owned(), String::new()));
    }

    #[test]
    fn a_tag_of_a_profile_that_is_not_closed_is_a_warning() {
        let node = json!({ "spec": { "nodeName": "$(runnable.metadata.name)" } });
        let (status, message) = told(&json!({ "podTemplate": node }));
        assert_eq!(status, "True");
        assert!(
            message.contains("podTemplate.spec.nodeName: a tag is not closed"),
            "{message}"
        );
    }

    #[test]
    fn a_profile_with_a_field_of_a_newer_release_is_not_accepted() {
        let (status, message) = told(&json!({ "rules": [{ "clusters": ["b"] }] }));
        assert_eq!(status, "False");
        assert!(message.contains("rules.0.clusters"), "{message}");
    }

    #[test]
    fn all_that_is_wrong_with_a_profile_is_said_by_path() {
        let (status, message) = told(&json!({
            "podTemplate": { "spec": { "containers": [{ "image": "a" }], "nodeName": "$(selected.x)$" } },
        }));
        assert_eq!(status, "False");
        for part in [
            "podTemplate.spec.containers[0]",
            "podTemplate.spec.nodeName",
        ] {
            assert!(message.contains(part), "{message}");
        }
    }
}
