//! Objects that outputs are written to, as the Runnable's account. I/O.
//!
//! They are written before the status that refers to their content. A sink that cannot be written keeps no result or
//! output from being recorded: the status says that it is behind.

mod ahead;
mod fight;
mod plan;
mod requests;
mod sensitive;
#[cfg(test)]
mod tests;
mod when;

use std::collections::BTreeMap;

use cartouche_crds::{OutputSink, SinkKind};
use cartouche_engines::Sensitive;
use cartouche_protocol::{
    category::Category,
    ledger::{CREATES_SETTLE_IN, Ledger},
    messages::{diagnosis::Diagnosis, reconcile_error::Requeue},
    references::SourceObject,
    sinks::{self, FoundSink, SinkOwner, SinkProblem, Sinks},
};

use super::{
    make::LEDGER_FRESH_FOR,
    reconciliation::{End, Reconciliation},
    write::RunnableVersion,
};
use crate::{api::Requests, budget::HeldFor, clock::boot_time, lock::lock, memory::Operation};

/// Number of conflicts in a row after which a sink is reported as changing all the time.
const MOST_CONFLICTS: u8 = 4;

/// A sink that was read, and whose spec has no fault.
struct SinkRead<'a> {
    sink: &'a OutputSink,
    object: SourceObject,
    found: Option<FoundSink>,
}

/// State of the sinks so far.
#[derive(Default)]
struct SinkProgress {
    sinks: Sinks,
    problems: Vec<SinkProblem>,
    /// Secrets that are up to date: their uid, and the sensitive outputs that they have.
    in_place: BTreeMap<SourceObject, (String, Sensitive)>,
}

impl SinkProgress {
    /// Records that a sink could not be brought up to date.
    fn fail(&mut self, object: &SourceObject, problem: SinkProblem) {
        let written = self.sinks.written_to(object);
        let sequence = written.map_or(0, |written| written.sequence);
        self.sinks.note(object, sequence, true);
        self.problems.push(problem);
    }

    /// Records that the Runnable was read too long ago to send anything for a sink.
    fn fail_late(&mut self, object: &SourceObject) {
        let late = Diagnosis::NoAnswer("store the outputs");
        let problem = SinkProblem::Failed(object.clone(), late, Requeue::Backoff);
        self.fail(object, problem);
    }
}

impl Reconciliation<'_> {
    /// Brings the sinks up to date with the ledger as it stands.
    pub(super) async fn keep_sinks(&mut self) -> Result<(), End> {
        let ledger = self.facts.ledger.clone();
        self.write_sinks(&ledger).await
    }

    /// Brings the sinks up to date with this ledger, which may be about to be written.
    pub(super) async fn write_sinks(&mut self, ledger: &Ledger) -> Result<(), End> {
        let wanted = self.runnable.spec.write_outputs_to.clone();
        let wanted = wanted.unwrap_or_default();
        if self.facts.runnable.deleting || self.clear_unused_sinks(ledger.outputs_from.is_some()) {
            return Ok(());
        }
        let Some(account) = self.account.clone() else {
            return Ok(());
        };
        let what = self.looked_for(ledger, &wanted);
        self.name_sinks(&wanted);
        if let Some(known) = self.known_sinks(&what) {
            *self.facts.sinks = known;
            return Ok(());
        }
        let began = {
            let mut memory = lock(&self.memory);
            let is_wanted =
                |object: &SourceObject| wanted.iter().any(|it| sinks::identify(it) == *object);
            memory.sinks.retain_wanted(is_wanted);
            memory.sinks.look_for(&what);
            memory.changes
        };
        let mut progress = SinkProgress {
            sinks: Sinks {
                error: None,
                ..(*self.facts.sinks).clone()
            },
            ..SinkProgress::default()
        };
        let ended = self
            .bring_up_to_date(&account, ledger, &wanted, &mut progress)
            .await;
        self.budget.renew(HeldFor::Sinks);
        ended?;
        self.conclude(ledger, &wanted, progress).await;
        let mut memory = lock(&self.memory);
        memory.sinks.conflicts = 0;
        if memory.changes == began {
            memory
                .sinks
                .keep(what, (*self.facts.sinks).clone(), boot_time());
        }
        Ok(())
    }

    /// Returns true if there is nothing to write, and nothing was written. Outputs without a sink may still be an
    /// error.
    pub(super) fn clear_unused_sinks(&mut self, has_outputs: bool) -> bool {
        let wanted = self.runnable.spec.write_outputs_to.as_deref();
        let wanted = wanted.unwrap_or_default();
        if !wanted.is_empty() || !self.facts.sinks.written.is_empty() {
            return false;
        }
        let was_looked_at = lock(&self.memory).sinks.looked_at().is_some();
        if was_looked_at {
            lock(&self.memory).sinks.doubt();
            self.name_sinks(wanted);
        }
        if let Some(declared) = self.declared() {
            let unplaced = has_outputs.then(|| sinks::unplaced(wanted, &declared));
            let error = sinks::error(unplaced.flatten().into_iter().collect());
            *self.facts.sinks = Sinks {
                error,
                ..Sinks::default()
            };
        }
        true
    }

    async fn bring_up_to_date(
        &mut self,
        account: &Requests,
        ledger: &Ledger,
        wanted: &[OutputSink],
        progress: &mut SinkProgress,
    ) -> Result<(), End> {
        let reads = self.read_sinks(account, ledger, wanted, progress).await;
        let dropped = self.read_dropped(account, ledger, wanted, progress).await;
        let writes = match &ledger.outputs_from {
            Some(from) => self.plan_writes(ledger, from, reads, progress).await,
            None => Vec::new(),
        };
        if writes.is_empty() && dropped.is_empty() {
            return Ok(());
        }
        self.announce_sinks(wanted).await?;
        // Comes after reading the sinks: anything newer there than this ledger was written by another client.
        self.read_again(|found: &RunnableVersion| found.metadata.resource_version.as_str())
            .await?;
        let began = boot_time();
        let is_fresh = || boot_time().saturating_sub(began) <= LEDGER_FRESH_FOR;
        for write in writes {
            // A slow refusal must not keep the ledger, and the results in it, from being written.
            if is_fresh() {
                self.write_sink(account, ledger, write, progress).await?;
            } else {
                progress.fail_late(&write.read.object);
            }
        }
        for (object, found) in dropped {
            // By now the spec may want it again.
            if is_fresh() {
                self.delete_sink(account, &object, &found, progress).await?;
            } else {
                progress.fail_late(&object);
            }
        }
        Ok(())
    }

    /// Writes into the status which sinks there will be, unless it says so already: most often an earlier write did.
    async fn announce_sinks(&mut self, wanted: &[OutputSink]) -> Result<(), End> {
        let mut said = Sinks::from_status(&self.facts.stored);
        said.announce(wanted);
        if said.written == self.facts.stored.sinks {
            return Ok(());
        }
        let mut status = (*self.facts.stored).clone();
        status.sinks = said.written;
        status.dropped_lines = 0;
        self.put(status).await
    }

    /// Reads the sinks that may be written.
    async fn read_sinks<'w>(
        &self,
        account: &Requests,
        ledger: &Ledger,
        wanted: &'w [OutputSink],
        progress: &mut SinkProgress,
    ) -> Vec<SinkRead<'w>> {
        let declared = self.declared();
        let mut reads = Vec::new();
        for sink in wanted {
            let object = sinks::identify(sink);
            lock(&self.memory).sinks.clear_absent(&object);
            let faults = sinks::faults(sink, wanted, declared.as_ref());
            if !faults.is_empty() {
                lock(&self.memory).sinks.clear_ahead(&object);
                progress.fail(&object, SinkProblem::Faults(faults));
                continue;
            }
            // Before there are outputs, nothing is read.
            if ledger.outputs_from.is_none() && progress.sinks.is_unwritten(&object) {
                continue;
            }
            match self.hold_sink(account, &object, ledger).await {
                Ok(found) => reads.push(SinkRead {
                    sink,
                    object,
                    found,
                }),
                Err(problem) => {
                    lock(&self.memory).sinks.clear_ahead(&object);
                    progress.fail(&object, problem);
                }
            }
        }
        reads
    }

    /// Reads a sink that may be written, if there is room for its content.
    async fn hold_sink(
        &self,
        account: &Requests,
        object: &SourceObject,
        ledger: &Ledger,
    ) -> Result<Option<FoundSink>, SinkProblem> {
        let found = self.read_sink(account, object, ledger).await?;
        let weight = found.as_ref().map_or(0, FoundSink::weight);
        let held = self.budget.hold(HeldFor::Sinks, weight).await;
        held.map_err(|error| SinkProblem::TooHeavy(object.clone(), error.to_string()))?;
        Ok(found)
    }

    /// Reads the sinks that are no longer wanted, and returns those to delete.
    async fn read_dropped(
        &self,
        account: &Requests,
        ledger: &Ledger,
        wanted: &[OutputSink],
        progress: &mut SinkProgress,
    ) -> Vec<(SourceObject, FoundSink)> {
        let mut dropped = Vec::new();
        for written in progress.sinks.find_unwanted(wanted) {
            let object = sinks::identify_written(&written);
            let read = self.read_sink(account, &object, ledger).await;
            if !matches!(read, Ok(None)) {
                lock(&self.memory).sinks.clear_absent(&object);
            }
            match read {
                Ok(Some(found)) if matches!(found.holder, SinkOwner::Ours(_)) => {
                    dropped.push((object, found.without_content()));
                }
                // An object that another controller is about to create may still appear.
                Ok(None) => {
                    let now = boot_time();
                    let mut memory = lock(&self.memory);
                    if memory.sinks.note_absent(&object, CREATES_SETTLE_IN, now) {
                        progress.sinks.forget(&object);
                    }
                }
                Ok(Some(_)) => progress.sinks.forget(&object),
                Err(problem) => progress.fail(&object, problem),
            }
        }
        dropped
    }

    /// Sets the state of all sinks for the status.
    async fn conclude(&mut self, ledger: &Ledger, wanted: &[OutputSink], progress: SinkProgress) {
        let SinkProgress {
            mut sinks,
            mut problems,
            in_place,
        } = progress;
        if let Some(declared) = self.declared()
            && ledger.outputs_from.is_some()
        {
            problems.extend(sinks::unplaced(wanted, &declared));
        }
        sinks.sensitive = placed(wanted, &sinks, &in_place);
        if let Some(error) = sinks::error(problems) {
            let error = self.with_all_missing(error).await;
            lock(&self.memory).record_failure(Operation::Sinks, &error, boot_time());
            self.ctx.metrics.problem(Category::OutputSinkFailed);
            sinks.error = Some(error);
        } else {
            lock(&self.memory).clear_failure(&Operation::Sinks);
        }
        *self.facts.sinks = sinks;
    }

    /// Returns the template's outputs, each with whether it is sensitive, or `None` if they are unknown.
    fn declared(&self) -> Option<BTreeMap<&str, bool>> {
        let template = self.compiled.as_ref()?.template.as_ref().ok()?;
        Some(sinks::list_outputs(template))
    }
}

/// Returns where each sensitive output is: in the first Secret that has it. For a Secret that could not be written, the
/// former place stays.
fn placed(
    wanted: &[OutputSink],
    sinks: &Sinks,
    in_place: &BTreeMap<SourceObject, (String, Sensitive)>,
) -> BTreeMap<String, cartouche_crds::SensitiveOutput> {
    let mut placed = BTreeMap::new();
    for sink in wanted.iter().filter(|sink| sink.kind == SinkKind::Secret) {
        let object = sinks::identify(sink);
        let Some((uid, sensitive)) = in_place.get(&object) else {
            let before = sinks.sensitive.iter();
            let here = before.filter(|(_, it)| it.name == sink.name);
            let here = here.filter(|_| !sinks.is_unwritten(&object));
            for (name, it) in here {
                placed.entry(name.clone()).or_insert_with(|| it.clone());
            }
            continue;
        };
        for (name, it) in sinks::sensitive_in(sink, uid, sensitive) {
            placed.entry(name).or_insert(it);
        }
    }
    placed
}
