//! P2: a Runnable stays with its profile until a user requests to choose anew. P3: a run is made with the
//! profile that its entry was written with.

use cartouche_crds::{CurrentRun, RunnableStatus};

use crate::{
    numbers::intended,
    past::{Known, Past},
};

impl Past {
    /// P2: judges the pin of a Runnable. It is first written with an intent, or with a rebuilt ledger. From
    /// then on it changes only by a request on the Runnable, and never goes.
    pub(crate) fn judge_pin(
        &mut self,
        runnable: &str,
        (old, new): (&RunnableStatus, &RunnableStatus),
        refresh: Option<&str>,
    ) {
        let (before, after) = (old.profile.as_deref(), new.profile.as_deref());
        if before == after {
            return;
        }
        // An unlogged write may lie between: its request is unknown.
        let is_asked =
            |token: Option<&str>| token.is_some() && (self.sight.is_partial() || token == refresh);
        let is_right = match (before, after) {
            (_, None) => false,
            (None, Some(_)) => is_of_another_run(old, new),
            (Some(before), Some(after)) => {
                let is_same = before.name == after.name;
                let is_answered = before.refresh_token != after.refresh_token;
                // A pin that only a run named is as any other once a run is made with it.
                let is_kept = is_same && !is_answered && is_of_another_run(old, new);
                !after.from_run
                    && (is_kept || is_answered && is_asked(after.refresh_token.as_deref()))
            }
        };
        if !is_right {
            let told = |pin: Option<&cartouche_crds::PinnedProfile>| {
                pin.map_or("nothing", |pin| pin.name.as_str()).to_owned()
            };
            let what = format!(
                "{runnable} was pinned to {}, and is to {}, which nobody has asked for",
                told(before),
                told(after)
            );
            self.found.broken("P2", what);
        }
    }

    /// Records the profile of the run that a write intends.
    pub(crate) fn note_pin(&mut self, runnable: &str, old: &RunnableStatus, new: &RunnableStatus) {
        let Some(intended) = intended(old, new) else {
            return;
        };
        let entry = (intended.sequence, intended.name.clone());
        let profile = new.profile.as_ref().map(|pinned| pinned.name.clone());
        let pins = &mut self.served(runnable).pins;
        pins.entry(entry).or_default().insert(profile);
    }

    /// Judges P3 of a run of ours that was just made. Where a status was lost, its number may have been given
    /// twice.
    pub(crate) fn judge_made_with(&mut self, index: usize) {
        let Known { run, .. } = &self.runs[index];
        let Some(pins) = self.runnables.get(&run.runnable).map(|it| &it.pins) else {
            return;
        };
        let entry = (run.number.unwrap_or_default(), run.name.clone());
        let Some(pins) = pins.get(&entry) else {
            return;
        };
        if !pins.contains(&run.profile) {
            let told = |profile: &Option<String>| profile.clone().unwrap_or("nothing".to_owned());
            let pins: Vec<String> = pins.iter().map(told).collect();
            let (name, made) = (&run.name, told(&run.profile));
            let what = format!(
                "{name} is made with {made}, and not with {}",
                pins.join(", ")
            );
            self.found.broken("P3", what);
        }
    }
}

/// Returns true if a write gives a number, or finds another run.
fn is_of_another_run(old: &RunnableStatus, new: &RunnableStatus) -> bool {
    let run = |current: &CurrentRun| (current.sequence, current.uid.clone());
    let (before, after) = (old.current_run.as_ref(), new.current_run.as_ref());
    match (before.map(run), after.map(run)) {
        (Some((before, None)), Some((after, _))) => before != after,
        (before, after) => before != after,
    }
}
