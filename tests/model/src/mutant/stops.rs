//! Mistakes in stopping runs.

use cartouche_crds::RunResult;
use cartouche_engines::kinds::StopRequest;
use cartouche_protocol::{
    decide::{Step, ToStop},
    facts::{Facts, StopOutcome},
    ledger::Ledger,
};

/// Removes all stops from the ledger.
pub(super) fn forget(ledger: &mut Ledger) {
    if let Some(current) = &mut ledger.current {
        current.stop = None;
    }
    ledger
        .history_mut()
        .iter_mut()
        .for_each(|entry| entry.stop = None);
}

/// Counts every recorded stop as sent.
pub(super) fn count_as_asked(facts: &mut Facts) {
    let at_work = facts.ledger.at_work().filter(|run| run.stop.is_some());
    let told = at_work.map(|run| (run.uid.to_owned(), StopOutcome::Sent));
    facts.stops = told.collect();
}

/// Returns the step that stops a run as this ledger demands, although nothing is written.
pub(super) fn told(facts: &Facts, ledger: &Ledger) -> Step {
    let mut at_work = ledger.at_work();
    let new = at_work.find(|run| run.stop.is_some() && !facts.stops.contains_key(run.uid));
    new.map_or(Step::Settled, |run| {
        Step::Stop(Box::new(ToStop {
            name: run.name.clone(),
            uid: run.uid.to_owned(),
            request: StopRequest::Delete,
            version: None,
        }))
    })
}

/// Counts a run that failed after its stop as lost.
pub(super) fn lose(ledger: &mut Ledger) {
    if let Some(current) = &mut ledger.current
        && current.stop.is_some()
        && current.result == Some(RunResult::Failed)
    {
        current.result = Some(RunResult::Lost);
    }
}
