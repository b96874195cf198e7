//! The profile of the next run.

use std::borrow::Cow;

use cartouche_crds::PinnedProfile;
use cartouche_templating::Rendered;

use super::{Step, Waiting};
use crate::{
    category::Category,
    facts::{Facts, Rendering, Unknown, explain_hold},
    ledger::{Change, Ledger},
    messages::{
        diagnosis::{Diagnosis, NotRefreshed},
        reconcile_error::{ReconcileError, Requeue},
    },
};

/// The content of the next run.
pub(super) struct Fitting<'a> {
    /// The profile that it is made with.
    pub pinned: Option<PinnedProfile>,
    /// The document that is sent then.
    pub made: Cow<'a, Rendered>,
}

/// Returns the content of the next run. Otherwise returns the error that no profile can be used, or
/// that it does not fit, before a number is given.
pub(super) fn fitting<'a>(
    facts: &Facts,
    rendering: &'a Rendering,
    ledger: &Ledger,
) -> Result<Fitting<'a>, Step> {
    let chosen = facts
        .choose_profile(rendering, ledger)
        .map_err(|why| match why {
            Unknown::Namespace => Step::Wait(Waiting::FirstList),
            Unknown::Held(why) => Step::Stuck(explain_hold(why)),
        })?;
    let made = facts.made_next(rendering, ledger, chosen.pinned.as_ref());
    Ok(Fitting {
        made: made.map_err(Step::Stuck)?,
        pinned: chosen.pinned,
    })
}

/// Handles a request to choose the profile again while no change is pending: the pin is written, or
/// the reason why it stays is reported.
pub(super) fn refresh(facts: &Facts, rendering: &Rendering) -> Option<Step> {
    let ledger = &facts.ledger;
    if !facts.is_refresh_asked(ledger) {
        return None;
    }
    match facts.choose_profile(rendering, ledger) {
        Err(Unknown::Namespace) => Some(Step::Wait(Waiting::FirstList)),
        Err(Unknown::Held(why)) => Some(Step::Stuck(explain_hold(why))),
        Ok(chosen) => Some(if let Some(why) = chosen.not_refreshed {
            Step::Stuck(not_refreshed(why))
        } else {
            let next = ledger.clone().with_profile(chosen.pinned);
            Step::Write(Box::new(next), Change::Refresh)
        }),
    }
}

fn not_refreshed(why: NotRefreshed) -> ReconcileError {
    let cause = Diagnosis::ProfileNotRefreshed(why);
    ReconcileError::from_diagnosis(
        Category::ProfileNotRefreshed,
        Requeue::OnChange,
        cause,
        None,
    )
}
