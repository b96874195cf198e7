//! S4: outputs come from runs that the ledger knows, and never go back.

use cartouche_crds::{OutputsFrom, RunnableStatus};

use crate::{
    history::Actor,
    past::{Known, Past, entries},
    verdict::Excuse,
};

impl Past {
    /// Judges the outputs of a status that a controller writes in place of another.
    pub(crate) fn judge_outputs(
        &mut self,
        runnable: &str,
        old: &RunnableStatus,
        new: &RunnableStatus,
    ) {
        let mut broken = |what: &str| {
            let what = format!("the outputs of {runnable} {what}");
            self.found.broken("S4", what);
        };
        let Some(from) = &new.outputs_from else {
            if old.outputs_from.is_some() {
                broken("are said to be from nowhere");
            }
            // The original's stay until a run of ours gives others.
            if old.outputs != new.outputs && (old.outputs.is_some() || new.outputs.is_some()) {
                broken("were taken away, or are from nowhere");
            }
            return;
        };
        if new.outputs.is_none() {
            broken("are not there, but are said to be from somewhere");
        }
        let before = old.outputs_from.as_ref();
        if let Some(before) = before.filter(|before| before.sequence > from.sequence) {
            broken(&format!(
                "went back from run {} to {}",
                before.sequence, from.sequence
            ));
        }
        let source = Some(from.uid.as_str());
        let known =
            entries(new).any(|(sequence, _, uid)| (sequence, uid) == (from.sequence, source));
        let kept = before == Some(from);
        if !(known || kept) || !self.gives(runnable, from, new) {
            let what = format!("are not those of run {}, {}", from.sequence, from.uid);
            self.found
                .broken("S4", format!("the outputs of {runnable} {what}"));
        }
        if !kept {
            self.judge_source(runnable, from, new);
        }
    }

    /// Judges the source of outputs after a loss. The controller must read the existing runs before it gives
    /// any outputs. So these do not come from a run that is older than one that had succeeded by then.
    fn judge_source(&mut self, runnable: &str, from: &OutputsFrom, new: &RunnableStatus) {
        let number = |it: &Known| {
            let uid = Some(it.run.uid.as_str());
            let mut known = entries(new).filter(|(.., known)| *known == uid);
            known.next().map(|(number, ..)| number).or(it.run.number)
        };
        let newer = self.runs.of(runnable).filter(|it| {
            it.is_there()
                && it.had_succeeded
                && it.is_of(runnable)
                && number(it) > Some(from.sequence)
        });
        let kind = new.current_run.as_ref().map_or("", |run| &*run.kind);
        let newer = newer.map(|it| (it, self.is_lost_with_its_kind(it, kind)));
        // All of them must be excused.
        let Some((newer, is_lost)) = newer.min_by_key(|(_, is_lost)| *is_lost) else {
            return;
        };
        if is_lost {
            self.found.excuse(Excuse::LostWithItsKind);
        } else {
            let what = format!(
                "the outputs of {runnable} are said to be from run {}, but {} had succeeded",
                from.sequence, newer.run.name
            );
            self.found.broken("S4", what);
        }
    }

    /// Returns true if the recorded source of outputs gives them.
    fn gives(&self, runnable: &str, from: &OutputsFrom, status: &RunnableStatus) -> bool {
        let Some(known) = self.run(&from.uid) else {
            return self.sight.is_partial();
        };
        let answer = status.outputs.as_ref().and_then(|it| it.get("answer"));
        let is_ours = known.run.runnable == runnable && known.maker != Actor::Stranger;
        let has_ended = known.run.result == Some(true) || self.sight.is_partial();
        (is_ours || known.overtaken)
            && has_ended
            && (known.run.answer.is_none() || known.run.answer.as_ref() == answer)
    }
}
