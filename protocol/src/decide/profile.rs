//! With which profile the next run is made.

use std::borrow::Cow;

use cartouche_crds::PinnedProfile;
use cartouche_templating::Rendered;

use super::{Step, Waiting};
use crate::{
    category::Category,
    diagnosis::{Diagnosis, NotRefreshed},
    facts::{Facts, Rendering, Unknown, held},
    ledger::{Change, Ledger},
    reconcile_error::{ReconcileError, Requeue},
};

/// What the next number is given to.
pub(super) struct Fitting<'a> {
    /// The profile that it is made with.
    pub pinned: Option<PinnedProfile>,
    /// What is sent then.
    pub made: Cow<'a, Rendered>,
}

/// What the next number is given to; or that no profile can be used, or that it does not fit: that is said before a number is
/// given.
pub(super) fn fitting<'a>(
    facts: &Facts,
    rendering: &'a Rendering,
    ledger: &Ledger,
) -> Result<Fitting<'a>, Step> {
    let chosen = facts.chosen(rendering, ledger).map_err(|why| match why {
        Unknown::Namespace => Step::Wait(Waiting::FirstList),
        Unknown::Held(why) => Step::Stuck(held(why)),
    })?;
    let made = facts.made_next(rendering, ledger, chosen.pinned.as_ref());
    Ok(Fitting {
        made: made.map_err(Step::Stuck)?,
        pinned: chosen.pinned,
    })
}

/// What a request to choose anew comes to while nothing is due: the pin is written, or it is said why it stays.
pub(super) fn refreshed(facts: &Facts, rendering: &Rendering) -> Option<Step> {
    let ledger = &facts.ledger;
    if !facts.is_refresh_asked(ledger) {
        return None;
    }
    match facts.chosen(rendering, ledger) {
        Err(Unknown::Namespace) => Some(Step::Wait(Waiting::FirstList)),
        Err(Unknown::Held(why)) => Some(Step::Stuck(held(why))),
        Ok(chosen) => Some(if let Some(why) = chosen.not_refreshed {
            Step::Stuck(not_refreshed(why))
        } else {
            let next = ledger.clone().pinned(chosen.pinned);
            Step::Write(Box::new(next), Change::Refresh)
        }),
    }
}

fn not_refreshed(why: NotRefreshed) -> ReconcileError {
    let cause = Diagnosis::ProfileNotRefreshed(why);
    ReconcileError::caused(
        Category::ProfileNotRefreshed,
        Requeue::OnChange,
        cause,
        None,
    )
}
