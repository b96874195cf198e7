//! Asks, as the account of a run's pods, for the permissions that the template says they need. I/O.

use cartouche_protocol::{
    category::Category,
    facts::Permitted,
    messages::reconcile_error::{ReconcileError, Requeue},
};
use cartouche_templating::Needed;

use super::reconciliation::{End, Reconciliation};
use crate::{
    api::{ApiError, Requests},
    lock::lock,
    memory::Operation,
    reviews::Asking,
};

/// Number of missing permissions after which no more are asked for: they suffice to explain the problem.
const ENOUGH: usize = 8;

impl Reconciliation<'_> {
    /// Asks for the permissions of the pods' account. A missing answer is a failure, and is retried.
    pub(super) async fn ask_permissions(&mut self, needed: Needed) -> Result<(), End> {
        let namespace = self.key.namespace.clone();
        let account = self
            .ctx
            .identity
            .requests_as(&namespace, &needed.account)
            .await;
        // A problem with the pods' account is no problem of the Runnable's account.
        let of_pods = |error| ReconcileError {
            category: Category::PermissionMissing,
            requeue: Requeue::OnRbac,
            ..error
        };
        let account =
            account.map_err(|error| self.fail(Operation::AskPermissions, of_pods(error)))?;
        let denied = self.denied_of(&needed, &account).await;
        let denied =
            denied.map_err(|error| self.fail(Operation::AskPermissions, self.unasked(&error)))?;
        self.look_at_the_clock();
        if denied.is_empty() {
            lock(&self.memory).clear_failure(&Operation::AskPermissions);
        }
        self.facts.permissions = Some(Permitted::new(needed, &denied));
        Ok(())
    }

    /// Returns the first denied verbs, each with the index of its permission.
    async fn denied_of(
        &self,
        needed: &Needed,
        account: &Requests,
    ) -> Result<Vec<(usize, String)>, ApiError> {
        let asking = Asking {
            namespace: &self.key.namespace,
            name: &needed.account,
            requests: account,
        };
        let mut denied = Vec::new();
        for (index, permission) in needed.permissions.iter().enumerate() {
            for verb in &permission.verbs {
                if denied.len() >= ENOUGH {
                    return Ok(denied);
                }
                if !self.ctx.reviews.may(asking, permission, verb).await? {
                    denied.push((index, verb.clone()));
                }
            }
        }
        Ok(denied)
    }

    fn unasked(&self, error: &ApiError) -> ReconcileError {
        let cause = self.cause_of(error, "review the permissions of the pods");
        ReconcileError::from_diagnosis(
            Category::PermissionMissing,
            error.requeue(),
            cause,
            Some(self.redact_error(error)),
        )
    }
}
