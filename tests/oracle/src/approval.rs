//! S8: where each run needs approval, only the approved one is intended: with this number, and with all of
//! its content.

use cartouche_crds::{Approval, CurrentRun, RunnableStatus};

use crate::{
    numbers::intended,
    past::Past,
    retries::{asks, is_due_retry},
};

impl Past {
    /// Returns a past in which each run needs approval.
    #[must_use]
    pub fn with_approval(mut self) -> Self {
        self.needs_approval = true;
        self
    }

    /// Judges that no run is intended without approval. A run that a rebuild finds again was intended before.
    /// A further attempt, a repetition after a deletion, and a renumbering because of a taken name need no
    /// other approval, as long as they have the approved content.
    pub(crate) fn judge_approval(
        &mut self,
        runnable: &str,
        (old, new): (&RunnableStatus, &RunnableStatus),
        approved: Option<&str>,
        second: Option<i64>,
    ) {
        let after = intended(old, new).or_else(|| remade(old, new));
        let Some(after) = after.filter(|_| self.needs_approval) else {
            return;
        };
        let is_approved = approved.and_then(Approval::parse).is_some_and(|given| {
            (given.sequence, given.hash.as_str()) == (after.sequence, approved_hash(after))
        });
        let is_same = |before: &&CurrentRun| {
            before.input_hash == after.input_hash
                && approved_hash(before) == approved_hash(after)
                && !asks(after, old.last_answered())
        };
        let before = old.current_run.as_ref().filter(is_same);
        let goes_on = before.is_some_and(|before| self.goes_on(runnable, before, after, second));
        if !goes_on && !is_approved {
            let what = format!(
                "run {} of {runnable} begins, and {} is approved",
                after.sequence,
                approved.unwrap_or("nothing")
            );
            self.found.broken("S8", what);
        }
    }

    fn goes_on(
        &self,
        runnable: &str,
        before: &CurrentRun,
        after: &CurrentRun,
        second: Option<i64>,
    ) -> bool {
        let run = before.uid.as_deref().and_then(|uid| self.run(uid));
        is_due_retry(before, after, second)
            || run.is_some_and(|run| run.cut_short)
            || self.is_taken(runnable, before)
    }
}

/// Returns the run of the same number, if a write records other content than before for it.
fn remade<'a>(old: &RunnableStatus, new: &'a RunnableStatus) -> Option<&'a CurrentRun> {
    let (before, after) = (old.current_run.as_ref()?, new.current_run.as_ref()?);
    let is_it = before.sequence == after.sequence && before.input_hash == after.input_hash;
    let is_other = after.approved.is_some() && before.approved != after.approved;
    (is_it && is_other).then_some(after)
}

fn approved_hash(run: &CurrentRun) -> &str {
    run.approved.as_deref().unwrap_or(&run.input_hash)
}
