//! Recording of what happened to runs: results, outputs, and runs that showed up late or went away.

use cartouche_crds::{
    CurrentRun, HistoryEntry, OutputsFrom, RunFailure, RunPhase, RunResult, Stop, UnknownFields,
    short_message,
};
use k8s_openapi::{apimachinery::pkg::apis::meta::v1::Time, jiff::Timestamp};

use super::{
    Asked, FetchedRun, Ledger, OutputsRead, RunIdentity, explanation::explanation, is_ours,
    started, stop::note_cancel,
};

/// Message in the history for an unfinished run whose template now has other rules than those it was made under.
pub const JUDGED_BY_ITS_KIND: &str = "the template's rules have changed since this run was made: it has not ended by its Succeeded condition, nor by what is known of its kind";

impl Ledger {
    /// Records what was read in a run that the ledger knows by uid. The current run is followed as long as it is
    /// current; a superseded run is final at its first result. Outputs are taken only from a sequence that is not
    /// older than the one they came from.
    #[must_use]
    pub fn record(mut self, fetched: &FetchedRun, now: Option<Timestamp>) -> Self {
        let uid = fetched.run.uid.as_str();
        let cancelled = self.is_cancelled(uid, fetched.asked);
        let sequence = if let Some(current) = self
            .current
            .as_mut()
            .filter(|current| current.uid.as_deref() == Some(uid))
        {
            if current.result != fetched.result() {
                current.result = fetched.result();
                current.finished_at = current.result.and(now).map(Time);
                note_cancel(&mut current.stop, current.result, cancelled, now);
                if current.result.is_none() {
                    // The note of the cancellation came with the failure, and goes with it.
                    current.stop = current.stop.take().filter(is_ours);
                }
            }
            // An unknown hash, as in entries of earlier releases, stays unknown.
            let known = current
                .rules_hash
                .take()
                .filter(|_| current.result.is_none());
            // A run judged by its kind keeps the rules that it was made under.
            current.rules_hash = known.map(|made_under| match &*fetched.rules_hash {
                "" => made_under,
                rules => rules.to_owned(),
            });
            current.sequence
        } else if let Some(entry) = self.unfinished(uid) {
            if let Some(result) = fetched.result() {
                let message = explanation(fetched, entry.stop.as_ref());
                end(entry, (result, cancelled), &message, now);
            } else if fetched.rules_hash.is_empty() && entry.message != JUDGED_BY_ITS_KIND {
                JUDGED_BY_ITS_KIND.clone_into(&mut entry.message);
            }
            if entry.taken_by.is_some() {
                return self;
            }
            entry.sequence
        } else {
            return self;
        };
        self.take_outputs(sequence, fetched);
        self.take_failure(sequence, fetched);
        self
    }

    /// Takes the failure outputs of a run. They stay until a later run succeeds, or fails and gives others: the
    /// next attempt need not know less than the one before.
    fn take_failure(&mut self, sequence: i64, fetched: &FetchedRun) {
        let known = self.failure.as_ref().map(|failure| failure.sequence);
        match (fetched.result(), &fetched.failure) {
            (Some(RunResult::Failed), Some(outputs)) if known.is_none_or(|it| it <= sequence) => {
                let stop = self.stop_of(&fetched.run.uid).cloned();
                let before = self.failure.take();
                let same = before.filter(|failure| failure.uid == fetched.run.uid);
                self.failure = Some(Box::new(RunFailure {
                    sequence,
                    name: fetched.run.name.clone(),
                    uid: fetched.run.uid.clone(),
                    message: short_message(&explanation(fetched, stop.as_ref())),
                    outputs: outputs.clone(),
                    unknown_fields: same
                        .map(|failure| failure.unknown_fields)
                        .unwrap_or_default(),
                }));
            }
            // The run has not failed after all, or a newer one has succeeded.
            (Some(RunResult::Succeeded), _) if known.is_some_and(|it| it <= sequence) => {
                self.failure = None;
            }
            (None, _) if known == Some(sequence) => self.failure = None,
            _ => {}
        }
    }

    pub(super) fn unfinished(&mut self, uid: &str) -> Option<&mut HistoryEntry> {
        let unfinished =
            |entry: &HistoryEntry| entry.uid.as_deref() == Some(uid) && entry.result.is_none();
        let at = self.history.iter().position(unfinished)?;
        self.history_mut().get_mut(at)
    }

    fn take_outputs(&mut self, sequence: i64, fetched: &FetchedRun) {
        let OutputsRead::Values(values) = &fetched.outputs else {
            return;
        };
        let newer_gave = self
            .outputs_from
            .as_ref()
            .is_some_and(|from| from.sequence > sequence);
        if fetched.result() != Some(RunResult::Succeeded)
            || newer_gave
            || self.succeeded_since(sequence)
        {
            return;
        }
        let before = self.outputs_from.take();
        let same = before.filter(|from| from.uid == fetched.run.uid);
        self.outputs = Some(values.clone());
        self.outputs_from = Some(OutputsFrom {
            sequence,
            name: fetched.run.name.clone(),
            uid: fetched.run.uid.clone(),
            rules_hash: fetched.rules_hash.to_string(),
            unknown_fields: same
                .as_ref()
                .map(|from| from.unknown_fields.clone())
                .unwrap_or_default(),
            sources: same.and_then(|from| from.sources),
        });
    }

    /// Returns true if a newer run has succeeded: if that one lacks an output, no older run stands in for it.
    fn succeeded_since(&self, sequence: i64) -> bool {
        let mut runs = self.runs();
        runs.any(|(newer, _, result)| newer > sequence && result == Some(RunResult::Succeeded))
    }

    /// Records that the object of the current entry was seen before it went away, or that its recorded uid gave way
    /// to a late create of the same sequence and hash: its uid, and its result if it had one. Its outputs can no
    /// longer be read. `asked` is the sign on it that it was asked to stop.
    #[must_use]
    pub fn record_sighting(
        mut self,
        run: &RunIdentity,
        result: Option<RunResult>,
        asked: Asked,
        now: Option<Timestamp>,
    ) -> Self {
        let cancelled = self.is_cancelled(&run.uid, asked);
        if let Some(current) = self.current.as_mut().filter(|current| {
            current.uid.as_deref() == Some(run.uid.as_str()) || run.answers(current)
        }) {
            current.phase = RunPhase::Created;
            current.attempted = true;
            // The recorded stop was for the object that this one replaces.
            let is_the_same = current.uid.as_deref() == Some(run.uid.as_str());
            current.stop = current.stop.take().filter(|_| is_the_same);
            current.uid = Some(run.uid.clone());
            started(current, run);
            current.result = result;
            current.finished_at = result.and(now).map(Time);
            current.rules_hash = current.rules_hash.take().filter(|_| result.is_none());
            note_cancel(&mut current.stop, result, cancelled, now);
        }
        self
    }

    /// Records that the current run is gone and was not seen to go: it has failed if it was asked to stop, else it
    /// is lost.
    #[must_use]
    pub fn record_loss(mut self, now: Option<Timestamp>) -> Self {
        if let Some(current) = self.current.as_mut() {
            current.result = Some(result_of_gone(current.stop.as_ref()));
            current.finished_at = now.map(Time);
            current.rules_hash = None;
        }
        self
    }

    /// Records that an earlier run ended with its deletion. `asked` is the sign on it that it was asked to stop.
    #[must_use]
    pub fn record_end(
        mut self,
        uid: &str,
        result: RunResult,
        asked: Asked,
        message: &str,
        now: Option<Timestamp>,
    ) -> Self {
        let cancelled = self.is_cancelled(uid, asked);
        if let Some(entry) = self.unfinished(uid) {
            end(entry, (result, cancelled), message, now);
        }
        self
    }

    /// Records as lost an earlier entry whose create had an unknown outcome and cannot be looked for.
    #[must_use]
    pub fn give_up(mut self, sequence: i64, message: &str, now: Option<Timestamp>) -> Self {
        let entry = self.history_mut().iter_mut().find(|entry| {
            entry.sequence == sequence && entry.uid.is_none() && entry.result.is_none()
        });
        if let Some(entry) = entry {
            end(entry, (RunResult::Lost, false), message, now);
        }
        self
    }

    /// Records that the run of an earlier entry, whose create had an unknown outcome, has shown up, even after it
    /// was given up.
    #[must_use]
    pub fn shown_up(mut self, run: &RunIdentity) -> Self {
        let Some(at) = self.history.iter().position(|entry| run.is_of(entry)) else {
            return self;
        };
        let (sequence, asked) = (
            self.history[at].sequence,
            self.history[at].rerun_token.clone(),
        );
        // The last answered request may be the only record of what newer runs answered.
        let newer_exists = self
            .runs()
            .any(|(number, uid, _)| number > sequence && uid.is_some());
        if asked.is_some() && (self.answered_token.is_none() || !newer_exists) {
            // The history keeps a shortened token; a longer one asks once more.
            self.answered_token = asked;
        }
        if let Some(entry) = self.history_mut().get_mut(at) {
            entry.uid = Some(run.uid.clone());
            entry.started_at = run.created.map(Time);
            (entry.intent_at, entry.result, entry.finished_at) = (None, None, None);
            entry.stop = None;
            entry.message.clear();
            entry.take_unknown_fields_from_line();
        }
        self
    }

    /// Removes earlier entries from the ledger. The caller knows that their objects are gone.
    #[must_use]
    pub fn forget(mut self, gone: impl Fn(&HistoryEntry) -> bool) -> Self {
        if self.history.iter().any(&gone) {
            self.history_mut().retain(|entry| !gone(entry));
        }
        self
    }
}

/// Returns the history entry of a run that is no longer current.
pub(crate) fn to_history(run: CurrentRun, at: Option<Timestamp>) -> HistoryEntry {
    let started_at = match run.uid {
        Some(_) => run.started_at.or(run.intent_at),
        // The last attempt was no later than this: once this is written, no create for it is sent.
        None => at.map(Time),
    };
    let entry = HistoryEntry {
        sequence: run.sequence,
        input_hash: run.input_hash,
        api_version: run.api_version,
        kind: run.kind,
        name: run.name,
        uid: run.uid,
        result: run.result,
        started_at,
        intent_at: None,
        finished_at: run.finished_at,
        message: String::new(),
        rules_hash: run.rules_hash.filter(|_| run.result.is_none()),
        taken_by: None,
        attempt: run.attempt,
        rerun_token: run.rerun_token.as_deref().map(short_message),
        sources: run.sources.filter(|_| run.result.is_none()),
        stop: run.stop,
        unknown: Vec::new(),
        unknown_fields: UnknownFields::default(),
    };
    entry.with_unknown_fields(run.unknown_fields)
}

/// Returns the result of a run of which only its absence is known.
#[must_use]
pub fn result_of_gone(stop: Option<&Stop>) -> RunResult {
    match stop {
        Some(_) => RunResult::Failed,
        None => RunResult::Lost,
    }
}

/// Ends an entry with this result, and notes the cancellation if a person has cancelled the run.
fn end(
    entry: &mut HistoryEntry,
    (result, cancelled): (RunResult, bool),
    message: &str,
    now: Option<Timestamp>,
) {
    entry.result = Some(result);
    note_cancel(&mut entry.stop, entry.result, cancelled, now);
    entry.finished_at = now.map(Time);
    entry.message = short_message(message);
    entry.rules_hash = None;
    entry.put_unknown_fields_into_line();
}
