//! With which profile the next run is made.

use cartouche_crds::{PinnedProfile, ProfileVersion, RunPhase};

use super::{Change, Step, Waiting};
use crate::{
    diagnosis::Diagnosis,
    facts::{Facts, Rendering, Unknown, held},
    ledger::Ledger,
    profiles::NotRefreshed,
    reconcile_error::{ReconcileError, Requeue},
};

/// The profile that the next number is given with; or that none can be used, or that it does not fit: that is said before a number
/// is given.
pub(super) fn fitting(
    facts: &Facts,
    rendering: &Rendering,
    ledger: &Ledger,
) -> Result<Option<PinnedProfile>, Step> {
    let chosen = facts.chosen(rendering, ledger).map_err(|why| match why {
        Unknown::Namespace => Step::Wait(Waiting::FirstList),
        Unknown::Held(why) => Step::Stuck(held(why)),
    })?;
    let made = facts.made_next(rendering, ledger, chosen.pinned.as_ref());
    made.map_err(Step::Stuck)?;
    Ok(chosen.pinned)
}

/// The profile as it is now, as a person approves it.
pub(super) fn version(facts: &Facts, pinned: Option<&PinnedProfile>) -> Option<ProfileVersion> {
    let known = facts.profiles.named(&pinned?.name)?;
    Some(known.version.clone())
}

/// What a request to choose anew comes to while nothing is due: the pin is written, or it is said why it stays.
pub(super) fn refreshed(facts: &Facts, rendering: &Rendering) -> Option<Step> {
    let ledger = &facts.ledger;
    let is_made = ledger.current.as_ref();
    let is_made = is_made.is_some_and(|current| current.phase == RunPhase::Created);
    if !is_made || !facts.is_refresh_asked(ledger) {
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
    let category = why.category();
    let cause = Diagnosis::ProfileNotRefreshed(why);
    ReconcileError::caused(category, Requeue::OnChange, cause, None)
}
