//! Sinks that have the number of a newer run than the one whose outputs the ledger has. I/O.

use cartouche_crds::RunResult;
use cartouche_protocol::{
    ledger::{CREATES_SETTLE_IN, Ledger, OutputsRead, RunName},
    references::SourceObject,
    sinks::SinkVerdict,
};

use crate::{clock::boot_time, lock::lock, reconcile::reconciliation::Reconciliation};

impl Reconciliation<'_> {
    /// Returns true if a sink has been ahead so long that no controller will record its content, and the run of that
    /// number has given no outputs. The run is read for that, since a watch may be stale.
    pub(super) async fn is_waited_out(
        &self,
        ledger: &Ledger,
        object: &SourceObject,
        verdict: SinkVerdict,
    ) -> bool {
        let SinkVerdict::Newer(has) = verdict else {
            lock(&self.memory).sinks.clear_ahead(object);
            return false;
        };
        let is_over = {
            let mut memory = lock(&self.memory);
            let now = boot_time();
            memory.sinks.note_ahead(object, CREATES_SETTLE_IN, now)
        };
        if !is_over {
            return false;
        }
        let Some(name) = may_still_give(ledger, has) else {
            return true;
        };
        // If its outputs cannot be determined, it may have some.
        if self.declared().is_none() || !self.is_kind_known(&name).await {
            return false;
        }
        match self.read_object(&name, None).await {
            Ok(Some(run)) => {
                let found = self.fetched(&self.facts.earlier_runs(), &run);
                let gives =
                    |outputs| matches!(outputs, OutputsRead::Values(_) | OutputsRead::Elsewhere);
                found.is_some_and(|found| !gives(found.outputs))
            }
            Ok(None) => true,
            Err(_) => false,
        }
    }
}

/// Returns the run of this number, if its outputs may still be recorded.
fn may_still_give(ledger: &Ledger, number: i64) -> Option<RunName> {
    let current = ledger.current.as_ref();
    // A lost run is gone, whatever is known of its kind.
    let current =
        current.filter(|run| run.sequence == number && run.result != Some(RunResult::Lost));
    current.map(RunName::from_current).or_else(|| {
        let mut history = ledger.history.iter();
        let entry = history.find(|entry| entry.sequence == number && entry.result.is_none());
        entry.map(RunName::from_history)
    })
}
