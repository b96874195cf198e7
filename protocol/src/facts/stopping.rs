//! Requests that stop a run at work.

use cartouche_engines::kinds::StopRequest;

use super::Facts;
use crate::ledger::AtWork;

/// Returns true if the run with this uid is at work and is stopped by deletion in its current standing.
pub(crate) fn is_deleted_to_stop(facts: &Facts, uid: &str) -> bool {
    let mut at_work = facts.ledger.at_work();
    let run = at_work.find(|run| run.uid == uid);
    run.and_then(|run| way_to_stop(facts, &run)) == Some(StopRequest::Delete)
}

/// Returns the request that stops a run at work in its current standing.
pub(crate) fn way_to_stop(facts: &Facts, run: &AtWork<'_>) -> Option<StopRequest> {
    let literal = facts.literal_kind.as_ref();
    let literal = literal.map(|(api_version, kind)| (api_version.as_str(), kind.as_str()));
    let of_run = (run.name.api_version.as_str(), run.name.kind.as_str());
    let standing = facts.standing(run.uid).unwrap_or_default();
    facts.policy.way_to_stop_now(of_run, literal, standing)
}
