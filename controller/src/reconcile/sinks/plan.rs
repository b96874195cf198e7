//! Plans the requests that bring sinks up to date. I/O.

use std::collections::BTreeMap;

use cartouche_crds::{OutputsFrom, SinkKind};
use cartouche_engines::Sensitive;
use cartouche_protocol::{
    ledger::Ledger,
    sinks::{RunOutputs, SinkContent, SinkOwner, SinkProblem, SinkVerdict, Wanted, may_write},
};

use super::{SinkProgress, SinkRead, sensitive};
use crate::{lock::lock, reconcile::reconciliation::Reconciliation};

/// A planned write of a sink.
pub(super) struct SinkWrite<'a> {
    pub(super) read: SinkRead<'a>,
    pub(super) content: SinkContent,
    pub(super) sensitive: Sensitive,
    /// Number that the found sink has, if the ledger never gave it, or its run gave nothing.
    pub(super) put_back: Option<i64>,
    /// True if another client has changed it since this process left it.
    pub(super) was_changed: bool,
}

impl Reconciliation<'_> {
    /// Returns the writes that bring the sinks up to date with the outputs.
    pub(super) async fn plan_writes<'w>(
        &mut self,
        ledger: &Ledger,
        from: &OutputsFrom,
        reads: Vec<SinkRead<'w>>,
        progress: &mut SinkProgress,
    ) -> Vec<SinkWrite<'w>> {
        let mut of_run = None;
        let held = sensitive::collect_held(&progress.sinks, from, &reads);
        let nothing = BTreeMap::new();
        let open = ledger.outputs.as_ref().unwrap_or(&nothing);
        let declared = self.declared();
        let mut writes = Vec::new();
        for read in reads {
            // Without the template, the sensitive outputs of a Secret are unknown.
            if declared.is_none() && read.sink.kind == SinkKind::Secret {
                continue;
            }
            let Some((holder, wanted)) = self.wanted_of(ledger, from, &read, progress).await else {
                continue;
            };
            let known = self
                .sensitive_for(ledger, from, &read, &held, &mut of_run, &progress.sinks)
                .await;
            let sensitive = match known {
                Ok(sensitive) => sensitive,
                Err(problem) => {
                    progress.fail(&read.object, problem);
                    continue;
                }
            };
            let given = RunOutputs {
                open,
                sensitive: &sensitive,
                declared: declared.as_ref(),
            };
            let content = given.content(read.sink);
            let is_held = read.found.as_ref().is_some_and(|it| it.content == content);
            let was_changed = self.was_changed(&read);
            match may_write(holder, Wanted { is_held, ..wanted }) {
                SinkVerdict::Leave => {
                    progress.sinks.note(&read.object, from.sequence, false);
                    self.leave_sink(&read.object, from.sequence, &content, false);
                    if let Some(found) = read.found {
                        let place = (found.uid, sensitive);
                        progress.in_place.insert(read.object, place);
                    }
                }
                _ if was_changed && self.is_held_off(&read.object, from, &progress.sinks) => {
                    let problem = SinkProblem::Fought(read.object.clone());
                    progress.fail(&read.object, problem);
                }
                verdict => writes.push(SinkWrite {
                    read,
                    content,
                    sensitive,
                    put_back: match verdict {
                        SinkVerdict::Overwrite(has) => Some(has),
                        _ => None,
                    },
                    was_changed,
                }),
            }
        }
        writes
    }

    /// Returns who holds the name of a sink and what is wanted of it, if it may be written at all.
    async fn wanted_of(
        &self,
        ledger: &Ledger,
        from: &OutputsFrom,
        read: &SinkRead<'_>,
        progress: &mut SinkProgress,
    ) -> Option<(SinkOwner, Wanted)> {
        let found = read.found.as_ref();
        let holder = found.map_or(SinkOwner::Absent, |found| found.holder);
        let mut wanted = Wanted::new(ledger, from, false);
        let verdict = may_write(holder, wanted);
        wanted.is_waited_out = self.is_waited_out(ledger, &read.object, verdict).await;
        match may_write(holder, wanted) {
            SinkVerdict::NotOurs => {
                let whose = read.found.as_ref().map(|found| found.whose.clone());
                progress.sinks.note(&read.object, 0, true);
                lock(&self.memory).sinks.give_up(&read.object);
                let problem = SinkProblem::Anothers(read.object.clone(), whose.unwrap_or_default());
                progress.problems.push(problem);
                None
            }
            SinkVerdict::Newer(has) => {
                progress.sinks.note(&read.object, has, false);
                None
            }
            _ => Some((holder, wanted)),
        }
    }
}
