//! `ClusterRunTemplate.status`: whether a template is acceptable, and all that is wrong with it.

use std::{sync::Arc, time::Duration};

use cartouche_crds::{API_VERSION, ClusterRunTemplate, ClusterRunTemplateStatus};
use k8s_openapi::{
    apimachinery::pkg::apis::meta::v1::{Condition, Time},
    jiff::Timestamp,
};
use kube::{ResourceExt, runtime::controller::Action};
use serde_json::{Value, json};

use crate::{
    api::{Connection, Requests, ResourcePath},
    problem::bounded,
    reconcile::report::STALLED,
    templates::{Compiled, Templates},
};

/// Whether Runnables can use the template.
const ACCEPTED: &str = "Accepted";
/// Pause after a write that failed.
const PAUSE: Duration = Duration::from_secs(5);
/// The same if it was refused for another reason than that somebody else has written.
const LONG_PAUSE: Duration = Duration::from_mins(1);

/// Writes the status of templates.
pub struct Acceptance {
    /// The templates, compiled.
    pub templates: Arc<Templates>,
    /// The controller's own requests.
    pub requests: Requests,
    /// For the API server's clock.
    pub connection: Connection,
}

impl Acceptance {
    /// One look at a template.
    pub async fn reconcile(&self, template: Arc<ClusterRunTemplate>) -> Action {
        let compiled = self.templates.compile(&template);
        let stored = template.status.clone().unwrap_or_default();
        let Some(now) = self.connection.now() else {
            return Action::requeue(PAUSE);
        };
        let status = status(&compiled, &stored, now);
        if status == stored || template.metadata.deletion_timestamp.is_some() {
            return Action::await_change();
        }
        let body = json!({
            "apiVersion": API_VERSION,
            "kind": "ClusterRunTemplate",
            "metadata": { "name": template.name_any(), "uid": template.uid(), "resourceVersion": template.resource_version() },
            "spec": template.spec,
            "status": status,
        });
        let path = ResourcePath::new(API_VERSION, "clusterruntemplates", None);
        match self
            .requests
            .replace_status::<Value>(&path, &template.name_any(), &body)
            .await
        {
            Ok(_) => Action::await_change(),
            Err(error) if error.is_not_found() => Action::await_change(),
            Err(error) => {
                tracing::debug!(template = template.name_any(), %error, "the status of a template was not written");
                let pause = if error.is_conflict() {
                    PAUSE
                } else {
                    LONG_PAUSE
                };
                Action::requeue(pause.mul_f64(0.8 + 0.4 * fastrand::f64()))
            }
        }
    }
}

fn status(
    compiled: &Compiled,
    stored: &ClusterRunTemplateStatus,
    now: Timestamp,
) -> ClusterRunTemplateStatus {
    let (status, reason, message) = match &compiled.template {
        Ok(template) if template.warnings().is_empty() => ("True", "Accepted", String::new()),
        Ok(template) => (
            "True",
            "AcceptedWithWarnings",
            template.warnings().join("; "),
        ),
        Err(problems) => ("False", "Invalid", problems.to_string()),
    };
    let word = (status, reason, bounded(message));
    let conditions = conditions(&stored.conditions, &word, Some(compiled.generation), now);
    ClusterRunTemplateStatus {
        observed_generation: Some(compiled.generation),
        conditions,
    }
}

/// The conditions of a template that no Runnable can use.
#[must_use]
pub fn refused(
    stored: &[Condition],
    message: &str,
    generation: Option<i64>,
    now: Timestamp,
) -> Vec<Condition> {
    let word = ("False", "Invalid", message.to_owned());
    conditions(stored, &word, generation, now)
}

fn conditions(
    stored: &[Condition],
    (status, reason, message): &(&str, &str, String),
    generation: Option<i64>,
    now: Timestamp,
) -> Vec<Condition> {
    let condition = |name: &str, status: &str| {
        let kept = stored
            .iter()
            .find(|condition| condition.type_ == name && condition.status == status);
        Condition {
            type_: name.to_owned(),
            status: status.to_owned(),
            reason: (*reason).to_owned(),
            message: message.clone(),
            last_transition_time: kept.map_or(Time(now), |condition| {
                condition.last_transition_time.clone()
            }),
            observed_generation: generation,
        }
    };
    let mut conditions = vec![condition(ACCEPTED, status)];
    if *status == "False" {
        // Tools that know no Accepted take this for what it is: only a change helps.
        conditions.push(condition(STALLED, "True"));
    }
    conditions
}
