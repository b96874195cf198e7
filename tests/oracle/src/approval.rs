//! S8: where a person has to approve each run, none is intended but the one that was approved: this number of this document,
//! made with this profile.

use cartouche_crds::{Approval, CurrentRun, RunnableStatus};

use crate::{
    numbers::intended,
    past::Past,
    retries::{asks, is_due_retry},
};

impl Past {
    /// In which a person has to approve each run.
    #[must_use]
    pub fn with_approval(mut self) -> Self {
        self.needs_approval = true;
        self
    }

    /// Whether a run is intended that nobody has approved. What is found again was intended before; a further attempt, what
    /// is made again because somebody deleted it, and what is renumbered because its name is taken need no other approval.
    pub(crate) fn judge_approval(
        &mut self,
        runnable: &str,
        (old, new): (&RunnableStatus, &RunnableStatus),
        approved: Option<&str>,
        second: Option<i64>,
    ) {
        let Some(after) = intended(old, new).filter(|_| self.needs_approval) else {
            return;
        };
        // Of its profile the status has the name only.
        let profile = new.profile.as_ref().map(|pinned| pinned.name.as_str());
        let is_approved = approved.and_then(Approval::of).is_some_and(|given| {
            let its = given.profile.as_ref().map(|it| it.name.as_str());
            (given.sequence, given.input_hash.as_str(), its)
                == (after.sequence, after.input_hash.as_str(), profile)
        });
        let is_same = |before: &&CurrentRun| {
            before.input_hash == after.input_hash && !asks(after, old.last_answered())
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
