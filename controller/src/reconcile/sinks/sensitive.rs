//! Sources of the values of sensitive outputs: the run, or a Secret that has them already. I/O.

use std::collections::BTreeMap;

use cartouche_crds::{OutputsFrom, SinkKind};
use cartouche_engines::Sensitive;
use cartouche_protocol::{
    ledger::{FetchedRun, Ledger, OutputsRead, RunName},
    messages::{diagnosis::Diagnosis, reconcile_error::Requeue},
    sinks::{SinkProblem, Sinks, key_of, revision},
};
use serde_json::Value;

use super::SinkRead;
use crate::{lock::lock, reconcile::reconciliation::Reconciliation};

/// Result of reading the sensitive outputs of a run.
pub(super) enum OfRun {
    /// The run's sensitive outputs.
    Given(Sensitive),
    /// The run exists, and gives none by the present template.
    Withheld,
    /// The run is gone.
    Gone,
    /// The outcome is unknown.
    Failed(Box<SinkProblem>),
}

/// Sensitive outputs of a run that Secrets hold unchanged.
pub(super) struct HeldOutputs {
    /// Those of Secrets that are up to date.
    current: Sensitive,
    /// Those also of Secrets that could not be written since: at most the path of the outputs has changed.
    kept: Sensitive,
}

/// Returns what Secrets hold of the run that gave the outputs.
pub(super) fn collect_held(
    sinks: &Sinks,
    from: &OutputsFrom,
    reads: &[SinkRead<'_>],
) -> HeldOutputs {
    let (mut current, mut kept) = (BTreeMap::new(), BTreeMap::new());
    for (name, place) in &sinks.sensitive {
        let mut secrets = reads
            .iter()
            .filter(|read| read.sink.kind == SinkKind::Secret);
        let secret = secrets.find(|read| read.object.name == place.name);
        let Some((read, found)) = secret.and_then(|read| Some((read, read.found.as_ref()?))) else {
            continue;
        };
        if !sinks.has_those_of(&read.object, from) {
            continue;
        }
        if let Some(value) = found.content.get(&place.key)
            && revision(&found.uid, &place.key, value) == place.revision
            && let Ok(text) = std::str::from_utf8(value)
        {
            kept.insert(name.clone(), Value::from(text));
            if !sinks.is_due(&read.object, from) {
                current.insert(name.clone(), Value::from(text));
            }
        }
    }
    HeldOutputs {
        current: Sensitive::new(current),
        kept: Sensitive::new(kept),
    }
}

impl Reconciliation<'_> {
    /// Returns the sensitive outputs that a sink is to have.
    pub(super) async fn sensitive_for(
        &self,
        ledger: &Ledger,
        from: &OutputsFrom,
        read: &SinkRead<'_>,
        held: &HeldOutputs,
        of_run: &mut Option<OfRun>,
        sinks: &Sinks,
    ) -> Result<Sensitive, SinkProblem> {
        if read.sink.kind != SinkKind::Secret {
            return Ok(Sensitive::default());
        }
        // A read in this reconciliation is newer than any Secret: the template may take outputs from elsewhere by now.
        if let Some(known) = self.at_hand(from) {
            return Ok(known.sensitive.clone());
        }
        let declared = self.declared().unwrap_or_default();
        let has = |all: &Sensitive, name: &str| {
            key_of(read.sink, name).is_none() || all.reveal(name).is_some()
        };
        let mut needed = declared.iter().filter(|(_, sensitive)| **sensitive);
        if needed.all(|(name, _)| has(&held.current, name)) {
            return Ok(held.current.clone());
        }
        // An output may be missing because it became sensitive or wanted after the run was read, or because the run did
        // not give it.
        let is_of_run = sinks.has_those_of(&read.object, from);
        let has_all_in =
            |all: &Sensitive| is_of_run && sinks.sensitive.keys().all(|name| has(all, name));
        let is_whole = has_all_in(&held.current);
        let asked = (from.uid.clone(), self.template_looked_for());
        if is_whole && lock(&self.memory).sinks.read_whole.as_ref() == Some(&asked) {
            return Ok(held.current.clone());
        }
        if of_run.is_none() {
            let read = self.sensitive_of_run(ledger, from, read).await;
            if matches!(read, OfRun::Given(_)) {
                lock(&self.memory).sinks.read_whole = Some(asked);
            }
            *of_run = Some(read);
        }
        let object = read.object.clone();
        match of_run {
            Some(OfRun::Given(sensitive)) => Ok(sensitive.clone()),
            Some(OfRun::Failed(_)) if is_whole => Ok(held.current.clone()),
            Some(OfRun::Failed(problem)) => Err(SinkProblem::clone(problem)),
            _ if has_all_in(&held.kept) => Ok(held.kept.clone()),
            Some(OfRun::Withheld) => Err(SinkProblem::Withheld(object, from.sequence)),
            Some(OfRun::Gone) | None => Err(SinkProblem::Lost(object, from.sequence)),
        }
    }

    /// Returns the run that gave the outputs, if it was read or created just now, by the present template.
    fn at_hand(&self, from: &OutputsFrom) -> Option<&FetchedRun> {
        let known = self.facts.fetched_run(&from.uid);
        let known = known.or_else(|| self.facts.created_run(&from.uid));
        known.filter(|it| has_given(it) && *it.rules_hash == *from.rules_hash)
    }

    /// Reads the sensitive outputs in the run that gave the outputs.
    async fn sensitive_of_run(
        &self,
        ledger: &Ledger,
        from: &OutputsFrom,
        read: &SinkRead<'_>,
    ) -> OfRun {
        let Some(name) = name_of(ledger, &from.uid) else {
            return OfRun::Gone;
        };
        let failed = |cause, requeue| {
            OfRun::Failed(SinkProblem::Failed(read.object.clone(), cause, requeue).into())
        };
        if !self.is_kind_known(&name).await {
            return failed(Diagnosis::NoAnswer("show the run"), Requeue::Backoff);
        }
        let object = match self.read_object(&name, None).await {
            Ok(Some(object)) => object,
            Ok(None) => return OfRun::Gone,
            Err(error) => return OfRun::Failed(self.sink_failed(&read.object, &error).into()),
        };
        let Some(mut found) = self.fetched(&self.facts.earlier_runs(), &object) else {
            return OfRun::Withheld;
        };
        if found.run.uid != from.uid {
            return OfRun::Gone;
        }
        if let Err(error) = self.ask_pods(&mut found, object).await {
            let cause = error.diagnosis.map(|it| *it);
            let cause = cause.unwrap_or(Diagnosis::NoAnswer("show the run"));
            return failed(cause, error.requeue);
        }
        if has_given(&found) {
            OfRun::Given(found.sensitive.clone())
        } else {
            OfRun::Withheld
        }
    }
}

fn has_given(run: &FetchedRun) -> bool {
    matches!(run.outputs, OutputsRead::Values(_))
}

/// Returns the name of the run with this uid.
fn name_of(ledger: &Ledger, uid: &str) -> Option<RunName> {
    let current = ledger.current.as_ref();
    let current = current.filter(|run| run.uid.as_deref() == Some(uid));
    current.map(RunName::from_current).or_else(|| {
        let mut history = ledger.history.iter();
        let entry = history.find(|entry| entry.uid.as_deref() == Some(uid));
        entry.map(RunName::from_history)
    })
}
