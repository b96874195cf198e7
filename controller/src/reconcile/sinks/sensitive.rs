//! Where the values of sensitive outputs come from: the run, or a Secret that has them already. I/O.

use std::collections::BTreeMap;

use cartouche_crds::{OutputsFrom, SinkKind};
use cartouche_protocol::{
    facts::RunName,
    ledger::{FetchedRun, Ledger, OutputsRead},
    sinks::{SinkProblem, Sinks, key_of, revision},
};
use cartouche_templating::Sensitive;
use serde_json::Value;

use super::Read;
use crate::{api::ApiError, lock::lock, reconcile::reconciliation::Reconciliation};

/// What reading the run for its sensitive outputs gave: nothing if it is gone.
pub(super) type OfRun = Result<Option<Sensitive>, SinkProblem>;

/// The sensitive outputs of a run that Secrets have, and that are still what was written.
pub(super) fn held(sinks: &Sinks, from: &OutputsFrom, reads: &[Read<'_>]) -> Sensitive {
    let mut held = BTreeMap::new();
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
            held.insert(name.clone(), Value::from(text));
        }
    }
    Sensitive::new(held)
}

impl Reconciliation<'_> {
    /// The sensitive outputs that a sink is to have.
    pub(super) async fn sensitive_for(
        &self,
        ledger: &Ledger,
        from: &OutputsFrom,
        read: &Read<'_>,
        held: &Sensitive,
        of_run: &mut Option<OfRun>,
        sinks: &Sinks,
    ) -> Result<Sensitive, SinkProblem> {
        if read.sink.kind != SinkKind::Secret {
            return Ok(Sensitive::default());
        }
        // They may have changed in the run, which is looked at for as long as it is the current one.
        if let Some(known) = self.at_hand(from) {
            return Ok(known.sensitive.clone());
        }
        let declared = self.declared().unwrap_or_default();
        let is_held = |name: &str| key_of(read.sink, name).is_none() || held.reveal(name).is_some();
        let mut needed = declared.iter().filter(|(_, sensitive)| **sensitive);
        if needed.all(|(name, _)| is_held(name)) {
            return Ok(held.clone());
        }
        // What is missing may have become sensitive, or be wanted, since the run was read; or that run did not give it.
        let has_all_it_had = sinks.has_those_of(&read.object, from)
            && sinks.sensitive.keys().all(|name| is_held(name));
        let rules = (from.uid.clone(), self.template_looked_for());
        if has_all_it_had && lock(&self.memory).sinks.read_whole.as_ref() == Some(&rules) {
            return Ok(held.clone());
        }
        if of_run.is_none() {
            let read = self.sensitive_of_run(ledger, from, read).await;
            if matches!(read, Ok(Some(_))) {
                lock(&self.memory).sinks.read_whole = Some(rules);
            }
            *of_run = Some(read);
        }
        match of_run {
            Some(Ok(Some(sensitive))) => Ok(sensitive.clone()),
            _ if has_all_it_had => Ok(held.clone()),
            Some(Err(problem)) => Err(problem.clone()),
            Some(Ok(None)) | None => Err(SinkProblem::Lost(read.object.clone(), from.sequence)),
        }
    }

    /// The run that gave the outputs, if it was read just now, by the rules that they were read by.
    pub(super) fn at_hand(&self, from: &OutputsFrom) -> Option<&FetchedRun> {
        let known = self.facts.fetched_run(&from.uid);
        let known = known.or_else(|| self.facts.created_run(&from.uid));
        known.filter(|it| has_given(it) && *it.rules_hash == *from.rules_hash)
    }

    /// Reads them in the run that gave the outputs.
    async fn sensitive_of_run(
        &self,
        ledger: &Ledger,
        from: &OutputsFrom,
        read: &Read<'_>,
    ) -> OfRun {
        let Some(name) = name_of(ledger, &from.uid) else {
            return Ok(None);
        };
        let failed = |error: &ApiError| self.sink_failed(&read.object, error);
        let object = self
            .read_object(&name, None)
            .await
            .map_err(|it| failed(&it))?;
        let Some(object) = object else {
            return Ok(None);
        };
        let Some(mut found) = self.fetched(&self.facts.earlier_runs(), &object) else {
            return Ok(None);
        };
        if found.run.uid != from.uid {
            return Ok(None);
        }
        if let Err(error) = self.ask_pods(&mut found, object).await {
            let cause = error.diagnosis.map(|it| *it);
            let cause = cause.unwrap_or(cartouche_protocol::diagnosis::Diagnosis::NoAnswer(
                "show the run",
            ));
            return Err(SinkProblem::Failed(
                read.object.clone(),
                cause,
                error.requeue,
            ));
        }
        Ok(has_given(&found).then(|| found.sensitive.clone()))
    }
}

fn has_given(run: &FetchedRun) -> bool {
    matches!(run.outputs, OutputsRead::Values(_))
}

/// How the run with this uid is asked for.
fn name_of(ledger: &Ledger, uid: &str) -> Option<RunName> {
    let current = ledger.current.as_ref();
    let current = current.filter(|run| run.uid.as_deref() == Some(uid));
    current.map(RunName::of).or_else(|| {
        let mut history = ledger.history.iter();
        let entry = history.find(|entry| entry.uid.as_deref() == Some(uid));
        entry.map(RunName::past)
    })
}
