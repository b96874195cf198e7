//! Asks, as the account of a run's pods, whether it may do what the template says that they need. I/O.

use cartouche_crds::RequiredPermission;
use cartouche_protocol::{
    facts::Permitted,
    reconcile_error::{Category, ReconcileError},
};
use cartouche_templating::Needed;
use serde::Deserialize;
use serde_json::json;

use super::reconciliation::{End, Reconciliation};
use crate::{
    api::{ApiError, CreateMode, Requests, ResourcePath},
    lock::lock,
    memory::Operation,
};

/// The answer to a `SelfSubjectAccessReview`, as far as it is read.
#[derive(Deserialize)]
struct Review {
    status: Status,
}

#[derive(Deserialize)]
struct Status {
    allowed: bool,
}

impl Reconciliation<'_> {
    /// One question for each verb. No answer is none: it is asked again later.
    pub(super) async fn ask_permissions(&mut self, needed: Needed) -> Result<(), End> {
        let namespace = self.key.namespace.clone();
        let account = self.ctx.identity.of(&namespace, &needed.account).await;
        let account = account.map_err(|error| self.fail(Operation::AskPermissions, error))?;
        let mut denied = Vec::new();
        for (index, permission) in needed.permissions.iter().enumerate() {
            for verb in &permission.verbs {
                match may(&account, permission, verb, &namespace).await {
                    Ok(true) => {}
                    Ok(false) => denied.push((index, verb.clone())),
                    Err(error) => {
                        return Err(self.fail(Operation::AskPermissions, self.unasked(&error)));
                    }
                }
            }
        }
        self.look_at_the_clock();
        if denied.is_empty() {
            lock(&self.memory).succeeded(&Operation::AskPermissions);
        }
        self.facts.permissions = Some(Permitted::new(needed, &denied));
        Ok(())
    }

    fn unasked(&self, error: &ApiError) -> ReconcileError {
        let cause = self.cause_of(error, "say what the pods of the run may do");
        ReconcileError::caused(
            Category::PermissionMissing,
            error.requeue(),
            cause,
            Some(self.told(error)),
        )
    }
}

async fn may(
    account: &Requests,
    permission: &RequiredPermission,
    verb: &str,
    own_namespace: &str,
) -> Result<bool, ApiError> {
    let (resource, subresource) = match permission.resource.split_once('/') {
        Some((resource, subresource)) => (resource, subresource),
        None => (permission.resource.as_str(), ""),
    };
    let body = json!({
        "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
        "spec": { "resourceAttributes": {
            "group": permission.api_group, "resource": resource, "subresource": subresource, "verb": verb,
            "namespace": permission.namespace.as_deref().unwrap_or(own_namespace),
            "name": permission.name.as_deref().unwrap_or_default(),
        } },
    });
    let path = ResourcePath::new("authorization.k8s.io/v1", "selfsubjectaccessreviews", None);
    let review: Review = account.create(&path, &body, CreateMode::Real).await?;
    Ok(review.status.allowed)
}
