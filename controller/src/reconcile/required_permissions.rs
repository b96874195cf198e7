//! Asks, as the account of a run's pods, whether it may do what the template says that they need. I/O.

use cartouche_crds::RequiredPermission;
use cartouche_protocol::{
    facts::Permitted,
    reconcile_error::{Category, ReconcileError, Requeue},
};
use cartouche_templating::Needed;
use serde::Deserialize;
use serde_json::json;

use super::reconciliation::{End, Reconciliation};
use crate::{
    api::{ApiError, CreateMode, Requests, ResourcePath},
    lock::lock,
    memory::{Operation, digest},
};

/// The answer to a `SelfSubjectAccessReview`, as far as it is read.
#[derive(Deserialize)]
struct Review {
    status: Status,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Status {
    allowed: bool,
    #[serde(default)]
    evaluation_error: String,
}

impl Reconciliation<'_> {
    /// One question for each verb. No answer is none: it is asked again later.
    pub(super) async fn ask_permissions(&mut self, needed: Needed) -> Result<(), End> {
        let namespace = self.key.namespace.clone();
        let account = self.ctx.identity.of(&namespace, &needed.account).await;
        let asked = || Operation::AskPermissions(digest(&needed));
        // Whatever is wrong with that account, nothing is with the Runnable's.
        let of_pods = |error| ReconcileError {
            category: Category::PermissionMissing,
            requeue: Requeue::OnRbac,
            ..error
        };
        let account = account.map_err(|error| self.fail(asked(), of_pods(error)))?;
        let mut denied = Vec::new();
        for (index, permission) in needed.permissions.iter().enumerate() {
            for verb in &permission.verbs {
                match may(&account, permission, verb, &namespace).await {
                    Ok(true) => {}
                    Ok(false) => denied.push((index, verb.clone())),
                    Err(error) => {
                        return Err(self.fail(asked(), self.unasked(&error)));
                    }
                }
            }
        }
        self.look_at_the_clock();
        if denied.is_empty() {
            lock(&self.memory).succeeded(&asked());
        }
        self.facts.permissions = Some(Permitted::new(needed, &denied));
        Ok(())
    }

    /// What was asked in this reconciliation.
    pub(super) fn asked_permissions(&self) -> Operation {
        let permissions = self.facts.permissions.as_ref();
        permissions.map_or(Operation::AskPermissions(0), |it| {
            Operation::AskPermissions(digest(&it.needed))
        })
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
    let Status {
        allowed,
        evaluation_error,
    } = review.status;
    // An authorizer that could not be asked has not said no.
    if !allowed && !evaluation_error.is_empty() {
        return Err(ApiError::Unanswered(evaluation_error));
    }
    Ok(allowed)
}
