//! S3 of retries: at the planned time, at most as often as permitted, and with correct counts.

use cartouche_crds::{CurrentRun, RunResult, RunnableStatus};

use crate::{content::CLOCKS_SECONDS, overlap::made_way, past::Past, stops::is_ours};

/// Returns true if an entry is for a re-run request that was not answered before.
pub(crate) fn asks(after: &CurrentRun, answered: Option<&str>) -> bool {
    let token = after.rerun_token.as_deref();
    token.is_some() && token != answered
}

/// Returns true if an entry is the next attempt after the failure of the previous entry, and its time had
/// come. The caller checks that it answers no request.
pub(crate) fn is_due_retry(before: &CurrentRun, after: &CurrentRun, second: Option<i64>) -> bool {
    let failed = before
        .result
        .is_some_and(|result| result != RunResult::Succeeded);
    let Some(retry_at) = before.retry_at.as_ref().filter(|_| failed) else {
        return false;
    };
    let due = retry_at.0.as_second() - CLOCKS_SECONDS;
    before.input_hash == after.input_hash
        && after.attempt == before.attempt + 1
        && second.is_none_or(|now| now >= due)
}

impl Past {
    /// Returns a past with this maximum of attempts, including the first one. Without it any number is
    /// permitted.
    #[must_use]
    pub fn with_most_attempts(mut self, most: i64) -> Self {
        self.most_attempts = Some(most);
        self
    }

    /// Judges the attempts in a ledger, and the plan of the next one.
    pub(crate) fn judge_retries(
        &mut self,
        runnable: &str,
        old: &RunnableStatus,
        new: &RunnableStatus,
    ) {
        let Some(after) = &new.current_run else {
            return;
        };
        let attempt = after.attempt;
        if self.most_attempts.is_some_and(|most| attempt > most) {
            let what = format!("run {} of {runnable} is attempt {attempt}", after.sequence);
            self.found.broken("S3", what);
        }
        let before = old.current_run.as_ref();
        if !self.sight.is_partial() && !self.counts_on(runnable, old, after) {
            let what = format!(
                "run {} of {runnable} is said to be attempt {attempt}",
                after.sequence
            );
            self.found.broken("S3", what);
        }
        let is_planned = |run: &CurrentRun| run.retry_at.is_some();
        let newly = is_planned(after)
            && before.is_none_or(|it| it.sequence != after.sequence || !is_planned(it));
        let run = after.uid.as_deref().and_then(|uid| self.run(uid));
        // One that vanished unseen bears no mark any more (docs/internals/lifecycle.md, "Retry").
        let is_gone = run.is_none_or(|run| run.gone.is_some());
        let is_lost = after.result == Some(RunResult::Lost) && is_gone;
        let is_ours = is_ours(after.stop.as_ref());
        if newly && !is_lost && !is_ours && run.is_some_and(|run| run.cancelled) {
            let what = format!("{} was cancelled, and is to be tried again", after.name);
            self.found.broken("S3", what);
        }
    }

    /// Returns true if the number of an attempt follows from the previous entry. It stays the same for the
    /// run, and for its repetition after others ended it; a retry adds one; anything else begins at one, as a
    /// run that a rebuild finds again does.
    fn counts_on(&self, runnable: &str, old: &RunnableStatus, after: &CurrentRun) -> bool {
        let is_found_again = after.attempt == 1 && after.uid.is_some();
        let Some(before) = &old.current_run else {
            return after.attempt == 1;
        };
        if after.sequence == before.sequence {
            return after.attempt == before.attempt || is_found_again;
        }
        let is_same = before.input_hash == after.input_hash && !asks(after, old.last_answered());
        if !is_same {
            return after.attempt == 1;
        }
        let served = self.runnables.get(runnable);
        // A controller that continues above runs that a ledger had lost does not know their attempts.
        let restored = served.is_some_and(|served| served.restored) && after.attempt == 1;
        if before.retry_at.is_some() {
            return after.attempt == before.attempt + 1 || restored;
        }
        // It was cut short, or a foreign object had its name, or it had been replaced.
        made_way(before) && after.attempt == 1
            || after.attempt == before.attempt
            || restored
            || is_found_again
    }
}
