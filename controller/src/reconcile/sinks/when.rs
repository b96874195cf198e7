//! Schedule of looks at sinks: `ConfigMaps` are watched, Secrets are not. I/O.

use std::time::Duration;

use cartouche_crds::{OutputSink, SinkKind};
use cartouche_protocol::{
    facts::WatchState,
    ledger::{CREATES_SETTLE_IN, Ledger},
    messages::reconcile_error::Requeue,
    sinks::Sinks,
};

use crate::{
    backoff::TENTH,
    clock::boot_time,
    lock::lock,
    memory::{LookedForSinks, Operation, digest},
    reconcile::reconciliation::{Reconciliation, SECOND},
    watched_kind::Watched,
};

/// Margin after which a time has surely passed.
const JUST_AFTER: Duration = Duration::from_millis(50);

impl Reconciliation<'_> {
    pub(super) fn looked_for(&self, ledger: &Ledger, wanted: &[OutputSink]) -> LookedForSinks {
        let outputs = ledger.outputs.iter().flatten();
        let outputs = outputs.map(|(name, value)| (name, value.to_string()));
        LookedForSinks {
            sinks: wanted.to_vec(),
            from: ledger.outputs_from.clone(),
            outputs: digest(outputs.collect::<Vec<_>>()),
            template: self.template_looked_for(),
        }
    }

    /// Returns the uid and generation of the template by whose rules sinks are looked at.
    pub(super) fn template_looked_for(&self) -> (String, i64) {
        let compiled = self.compiled.as_ref();
        let template = compiled.map(|it| (it.uid.clone(), it.generation));
        template.unwrap_or_default()
    }

    /// Tells the watch of `ConfigMaps` which of them concern this Runnable.
    pub(super) fn name_sinks(&self, wanted: &[OutputSink]) {
        let names = wanted.iter().filter(|it| it.kind == SinkKind::ConfigMap);
        let names = names.map(|sink| sink.name.clone()).collect();
        let watched = Watched::config_maps();
        self.ctx.selections.name_sinks(&watched, &self.key, names);
    }

    /// Returns the kind to watch for sinks, if any.
    pub(in crate::reconcile) fn watched_sinks(&self) -> Option<Watched> {
        let mut wanted = self.runnable.spec.write_outputs_to.iter().flatten();
        let is_watched = wanted.any(|sink| sink.kind == SinkKind::ConfigMap);
        is_watched.then(Watched::config_maps)
    }

    /// Returns what was found the last time, if no new look is needed.
    pub(super) fn known_sinks(&self, what: &LookedForSinks) -> Option<Sinks> {
        let polled = (!self.are_watched(&what.sinks)).then(|| self.polled_after());
        let memory = lock(&self.memory);
        let now = boot_time();
        // A sink that was just created or deleted, or that is ahead, is looked at once more.
        let waiting = memory.sinks.is_waiting().then_some(CREATES_SETTLE_IN);
        let pause = polled.into_iter().chain(waiting).min();
        let known = memory.sinks.lately(what, waiting, now)?;
        let is_held_back = memory.in_backoff(&Operation::Sinks, now).is_some()
            || memory.sinks.held_off_for(now).is_some();
        let is_known = match &known.error {
            Some(_) if is_held_back => true,
            Some(error) if error.requeue != Requeue::OnChange => false,
            _ => memory.sinks.lately(what, pause, now).is_some(),
        };
        is_known.then(|| known.clone())
    }

    /// Returns true if a watch reports all changes of the sinks.
    fn are_watched(&self, wanted: &[OutputSink]) -> bool {
        let is_map = |sink: &OutputSink| sink.kind == SinkKind::ConfigMap;
        wanted.iter().all(is_map)
            && self.ctx.watches.state(&Watched::config_maps()) == WatchState::Synced
    }

    /// Returns the time until the next look, for unwatched sinks and for those that could not be written.
    pub(in crate::reconcile) fn sinks_again(&self) -> Option<Duration> {
        let wanted = self.runnable.spec.write_outputs_to.as_deref();
        let wanted = wanted.unwrap_or_default();
        let has_none = wanted.is_empty() && self.facts.sinks.written.is_empty();
        if has_none || self.facts.runnable.deleting {
            return None;
        }
        let are_watched = self.are_watched(wanted);
        let memory = lock(&self.memory);
        let (poll, now) = (self.ctx.poll, boot_time());
        let failed = memory.in_backoff(&Operation::Sinks, now);
        let failed = failed.filter(|(error, _)| error.requeue != Requeue::OnChange);
        let failed = failed.map(|(_, left)| left + SECOND);
        let polled = (!are_watched && self.facts.ledger.outputs_from.is_some()).then(|| {
            let looked_at = memory.sinks.looked_at();
            let left = looked_at.map(|at| (at + poll).saturating_sub(now));
            TENTH.over(left.filter(|left| !left.is_zero()).unwrap_or(poll))
        });
        let waiting = memory.sinks.is_waiting();
        let waiting = waiting.then(|| CREATES_SETTLE_IN + SECOND);
        let held_off = memory.sinks.held_off_for(now).map(|left| left + JUST_AFTER);
        let all = [failed, polled, waiting, held_off];
        all.into_iter().flatten().min()
    }
}
