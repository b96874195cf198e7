//! S5: deletions.

use crate::past::{Past, entries};

/// Minimum age of a deleted run: ten minutes, plus or minus the changes of the API server's clock.
const MINIMUM_AGE_SECONDS: i64 = 600 - 120;

impl Past {
    /// Judges that retention deletes a run, unless the deletion is its stop. `second` is the time, if it is
    /// known.
    pub(crate) fn retired(&mut self, second: Option<i64>, index: usize) {
        let known = &self.runs[index];
        if known.run.result.is_none() && self.is_told(known) {
            return;
        }
        let served = self.runnables.get(&known.run.runnable);
        let status = served.map(|served| &*served.status);
        let age = second.zip(known.second).map(|(now, made)| now - made);
        let uid = Some(known.run.uid.as_str());
        let current = status.and_then(|status| status.current_run.as_ref());
        let is_current = current.is_some_and(|run| run.uid.as_deref() == uid);
        let source = status.and_then(|status| status.outputs_from.as_ref());
        let is_source = source.is_some_and(|from| Some(from.uid.as_str()) == uid);
        let is_known = status.is_some_and(|status| entries(status).any(|(_, _, it)| it == uid));
        // A ledger that was removed since, with or without its Runnable, decided on it.
        let taken_away = known.forgettable || served.is_none_or(|served| served.gone);
        let was_known = known.recorded && taken_away && current.is_none();
        let mut history = status.into_iter().flat_map(|status| status.history.iter());
        let is_told = history.any(|entry| entry.uid.as_deref() == uid && entry.result.is_some());
        let has_ended = known.run.result.is_some() || self.sight.is_partial() && is_told;
        if !has_ended || is_current || is_source || !(is_known || was_known) {
            let what = format!("{} was deleted, but had to stay", known.run.name);
            self.found.broken("S5", what);
        }
        if let Some(age) = age.filter(|age| *age < MINIMUM_AGE_SECONDS) {
            let what = format!(
                "{} was deleted after {age} seconds",
                self.runs[index].run.name
            );
            self.found.broken("S5", what);
        }
    }
}
