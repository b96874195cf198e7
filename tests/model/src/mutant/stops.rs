//! Mistakes in telling runs to stop.

use cartouche_crds::RunResult;
use cartouche_protocol::{
    decide::{Step, ToStop},
    facts::{Facts, StopOutcome},
    ledger::Ledger,
};
use cartouche_templating::kinds::StopRequest;

/// No ledger says that anything was told to stop.
pub(super) fn forget(ledger: &mut Ledger) {
    if let Some(current) = &mut ledger.current {
        current.stop = None;
    }
    ledger
        .history_mut()
        .iter_mut()
        .for_each(|entry| entry.stop = None);
}

/// Whatever the ledger says is to stop was told so.
pub(super) fn count_as_told(facts: &mut Facts) {
    let at_work = facts.ledger.at_work().filter(|run| run.stop.is_some());
    let told = at_work.map(|run| (run.uid.to_owned(), StopOutcome::Sent));
    facts.stops = told.collect();
}

/// The run that this ledger says is to stop is told so, and nothing is written.
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

/// What failed after it was told to stop is lost.
pub(super) fn lose(ledger: &mut Ledger) {
    if let Some(current) = &mut ledger.current
        && current.stop.is_some()
        && current.result == Some(RunResult::Failed)
    {
        current.result = Some(RunResult::Lost);
    }
}
