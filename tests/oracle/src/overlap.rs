//! S6: where no two runs may be at work at once, none is intended while another is. And the cause of a run
//! that was replaced by another document and is wanted again.

use cartouche_crds::{CurrentRun, RunResult, RunnableStatus, StopReason};

use crate::{
    history::Actor,
    numbers::intended,
    past::{Known, Past},
    verdict::Excuse,
};

/// Returns true if a run was to be replaced by another document, and did not do its work.
pub(crate) fn made_way(before: &CurrentRun) -> bool {
    let reason = before.stop.as_ref().map(|stop| &stop.reason);
    match reason {
        Some(StopReason::Replaced) => before.result == Some(RunResult::Failed),
        Some(StopReason::Withdrawn) => before.uid.is_none(),
        _ => false,
    }
}

impl Past {
    /// Returns a past in which no two runs of a Runnable may be at work at once.
    #[must_use]
    pub fn without_overlap(mut self) -> Self {
        self.is_without_overlap = true;
        self
    }

    /// Judges that no run is intended while another one is at work. A run that a rebuild finds again was
    /// intended before.
    pub(crate) fn judge_overlap(
        &mut self,
        runnable: &str,
        old: &RunnableStatus,
        new: &RunnableStatus,
    ) {
        let Some(after) = intended(old, new).filter(|_| self.is_without_overlap) else {
            return;
        };
        let at_work = self
            .runs
            .of(runnable)
            .filter(|it| it.is_of(runnable) && it.is_there() && it.run.result.is_none());
        let judged: Vec<_> = at_work
            .map(|other| {
                let lost = self.is_lost_with_its_kind(other, &after.kind);
                let excuse = if lost {
                    Some(Excuse::LostWithItsKind)
                } else {
                    let late = self.is_late_of_the_original(other, runnable);
                    late.then_some(Excuse::OriginalWentOn)
                };
                (other.run.name.clone(), excuse)
            })
            .collect();
        for (other, excuse) in judged {
            if let Some(excuse) = excuse {
                self.found.excuse(excuse);
                continue;
            }
            let what = format!(
                "run {} of {runnable} begins while {other} is at work",
                after.sequence
            );
            self.found.broken("S6", what);
        }
    }

    /// Returns true if the original made a run when the Runnable had a ledger already, if no ledger has named
    /// it, and if no loss since could have led to a rebuild with it.
    fn is_late_of_the_original(&self, run: &Known, runnable: &str) -> bool {
        let Some(served) = self.runnables.get(runnable) else {
            return false;
        };
        let first = served.intents.values().map(|(at, _)| *at).min();
        let is_late = first.is_some_and(|first| first < run.at);
        let is_lost_since = served.losses.iter().any(|loss| loss.at >= run.at);
        run.maker == Actor::Original && !run.recorded && is_late && !is_lost_since
    }
}
