//! Checks that the pods of a run may do what its template requires.

use cartouche_templating::Rendered;

use super::Step;
use crate::{
    category::Category,
    facts::Facts,
    messages::{
        diagnosis::Diagnosis,
        reconcile_error::{ReconcileError, Requeue},
    },
};

/// Checks right before a number is given. A missing permission is named, and no run is made that
/// would fail for lack of it.
pub(super) fn check(facts: &Facts, made: &Rendered) -> Result<(), Step> {
    let needed = made.needed().map_err(|problems| {
        let error = facts.unrendered_error(&problems);
        Step::Stuck(error)
    })?;
    let Some(needed) = needed else {
        return Ok(());
    };
    match facts.permissions.as_ref().filter(|it| it.needed == needed) {
        None => Err(Step::AskPermissions(Box::new(needed))),
        Some(permitted) if permitted.missing.is_empty() => Ok(()),
        Some(permitted) => {
            let cause = Diagnosis::PermissionMissing(
                needed.account,
                facts.runnable.template.clone(),
                permitted.missing.clone(),
            );
            let category = Category::PermissionMissing;
            let error = ReconcileError::from_diagnosis(category, Requeue::OnRbac, cause, None);
            Err(Step::Stuck(error))
        }
    }
}
