//! One reconciliation of a Runnable: observe, decide, act, report.

pub mod act;
mod ask;
pub mod observe;

mod announce;
mod apply_retention;
mod context;
mod dependencies;
mod diagnoses;
mod finish;
mod made_of;
mod make;
mod missing_permissions;
mod pods;
mod prune;
mod reconciliation;
mod refuse;
mod required_permissions;
mod select;
mod sinks;
mod sources;
mod stop;
mod stored;
mod unknown_runs;
mod watched;
mod watched_secrets;
mod write;

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use cartouche_crds::Runnable;
use cartouche_protocol::{
    category::Category,
    decide::{MOST_RENUMBERED, Step, Waiting, decide, decide_without_rendering},
    messages::reconcile_error::ReconcileError,
    newer_release,
    rerun::retry_now,
};
use futures::FutureExt;
use kube::ResourceExt;
use tokio::task::AbortHandle;

use crate::{
    cached_runnable::WholeRunnable,
    clock::boot_time,
    lock::lock,
    memory::{Leaving, Memory, Operation},
    mutants,
    runnable_key::RunnableKey,
    watch::{Progress, runs::RunWatch, selected::SelectedWatch, supervised},
    watched_kind::{Purpose, Watched},
};
pub use context::ControllerContext;
use reconciliation::{End, Reconciliation};

/// Maximum number of steps of one reconciliation; more would be a loop.
const MAX_STEPS: usize = 400;
impl ControllerContext {
    /// Reconciles a Runnable that reached the cache at `arrived`, as [`crate::clock::moment`] counts. Never fails as a
    /// whole: a problem becomes a condition. Returns the time after which to reconcile again.
    pub async fn reconcile(
        &self,
        runnable: impl Into<WholeRunnable>,
        arrived: u64,
    ) -> Option<Duration> {
        let began = Instant::now();
        let Some(mut reconciliation) = Reconciliation::begin(self, runnable.into(), arrived) else {
            self.metrics
                .reconcile("stale", began.elapsed().as_secs_f64());
            return None;
        };
        // Comes before any request or write, as the controller or as the account.
        if let Some(newer) = newer_release::leaves_alone(reconciliation.runnable.status.as_ref()) {
            reconciliation.leave_alone(&newer);
            self.metrics
                .reconcile("left-alone", began.elapsed().as_secs_f64());
            return None;
        }
        let (key, memory) = (reconciliation.key.clone(), reconciliation.memory.clone());
        self.enqueuer.begins(&key);
        let (uid, budget) = (
            reconciliation.facts.runnable.uid.clone(),
            reconciliation.budget.clone(),
        );
        reconciliation.note_change();
        lock(&memory).retry_asked(retry_now(&reconciliation.runnable));
        let end = self.run(&mut reconciliation).await;
        if matches!(end, End::Settled | End::Stuck(..)) {
            lock(&memory).changed.clear();
        }
        let outcome = match &end {
            End::Settled => "settled",
            End::Waiting(_) => "waiting",
            End::Stuck(..) => "problem",
            End::Conflict => "conflict",
            End::Refused(_) => "refused",
            End::Gone => "gone",
            End::PutOff => "put-off",
        };
        let again = reconciliation.finish(end).await;
        if budget.was_heavy() {
            lock(&memory).heavy_at = Some(boot_time());
        }
        self.leave_late(&key, &uid, &memory);
        self.metrics
            .reconcile(outcome, began.elapsed().as_secs_f64());
        again
    }

    async fn run(&self, reconciliation: &mut Reconciliation<'_>) -> End {
        if let Some(left) = reconciliation.refused_backoff() {
            return End::Refused(left);
        }
        reconciliation.say_unreadable_history();
        reconciliation.observe().await;
        for _ in 0..MAX_STEPS {
            reconciliation.note_what_is_due();
            let step = mutants::change_step(decide(&reconciliation.facts), &reconciliation.facts);
            if let Some((error, left)) = reconciliation.in_backoff(&step) {
                return self.stuck(reconciliation, error, Some(left)).await;
            }
            match carry_out(reconciliation, step).await {
                Ok(()) => {}
                Err(End::Stuck(error, wait)) => {
                    return self.stuck(reconciliation, error, wait).await;
                }
                Err(end) => return end,
            }
        }
        tracing::error!(
            namespace = reconciliation.key.namespace,
            runnable = reconciliation.key.name,
            "gave up on a reconciliation of {MAX_STEPS} steps"
        );
        End::Conflict
    }

    /// Ends a reconciliation that is stuck. Runs that exist may still end, so their results are recorded.
    async fn stuck(
        &self,
        reconciliation: &mut Reconciliation<'_>,
        error: ReconcileError,
        wait: Option<Duration>,
    ) -> End {
        let wait = wait.or_else(|| reconciliation.pause(&error));
        let error = reconciliation.with_all_missing(error).await;
        if reconciliation.compiled.is_some() {
            reconciliation.stuck_on = Some(error.clone());
        }
        match look_after(reconciliation).await {
            Ok(other) => End::Stuck(error, wait.into_iter().chain(other).min()),
            Err(end) => end,
        }
    }

    /// Watches exactly these kinds for a Runnable.
    fn serve(&self, key: &RunnableKey, before: &BTreeSet<Watched>, now: &BTreeSet<Watched>) {
        let start = |watched: &Watched, progress| self.start(watched, progress);
        let closed = self.watches.want(key, before, now, start);
        self.close(&closed);
    }

    /// Starts a watch.
    fn start(&self, watched: &Watched, progress: Arc<Progress>) -> AbortHandle {
        let (client, kind) = (self.identity.own().client(), watched.clone());
        let on_restart = {
            let (registry, enqueuer) = (self.watches.clone(), self.enqueuer.clone());
            let kind = kind.clone();
            move || registry.reset(&kind, &enqueuer)
        };
        let (what, metrics) = (kind.kind.resource(), self.metrics.clone());
        let runs = RunWatch {
            runs: self.runs.clone(),
            runnables: self.runnables.clone(),
            templates: self.templates.clone(),
            memories: self.memories.clone(),
            enqueuer: self.enqueuer.clone(),
            watches: self.watches.clone(),
            metrics: self.metrics.clone(),
        };
        let selected = SelectedWatch {
            selections: self.selections.clone(),
            memories: self.memories.clone(),
            enqueuer: self.enqueuer.clone(),
            watches: self.watches.clone(),
        };
        let run = move || {
            let (client, kind, progress) = (client.clone(), kind.clone(), progress.clone());
            match kind.purpose {
                Purpose::Runs => runs.clone().watch(client, kind, progress).boxed(),
                Purpose::Selected => selected.clone().watch(client, kind, progress).boxed(),
            }
        };
        tokio::spawn(supervised(what, metrics, run, on_restart)).abort_handle()
    }

    /// Drops what closed watches of runs have shown.
    fn close(&self, closed: &[Watched]) {
        let of_runs = |watched: &&Watched| watched.purpose == Purpose::Runs;
        for watched in closed.iter().filter(of_runs) {
            self.runs.close(watched);
        }
    }

    /// Drops all that is kept for Runnables that no longer exist.
    pub fn sweep(&self, exists: impl Fn(&RunnableKey) -> bool) {
        self.sources_swept(&exists);
        for (key, uid) in self.memories.sweep(&exists) {
            self.leave(&key, &uid);
        }
    }

    /// Drops all that is kept for a Runnable that is gone.
    pub fn forget(&self, runnable: &Runnable) {
        let key = RunnableKey::from_runnable(runnable);
        // One that cannot be read names no template, which the definition requires of all others.
        let how = if runnable.spec.run_template_ref.name.is_empty() {
            Leaving::Unreadable
        } else {
            Leaving::Deleted
        };
        if let Some(uid) = self.memories.remove(&key, how) {
            self.leave(&key, &uid);
        }
    }

    fn leave(&self, key: &RunnableKey, uid: &str) {
        self.runs.forget(uid);
        self.unwatch(key);
    }

    /// Drops what a reconciliation has stored for a Runnable that was deleted while it ran.
    fn leave_late(&self, key: &RunnableKey, uid: &str, memory: &Arc<Mutex<Memory>>) {
        let known = self.memories.get(key);
        if known
            .as_ref()
            .is_some_and(|known| Arc::ptr_eq(known, memory))
        {
            return;
        }
        let back = key.find(&self.runnables);
        // One that is back, because it can be read again, has its runs shown already.
        if back.is_none_or(|back| back.uid().as_deref() != Some(uid)) {
            self.runs.forget(uid);
        }
        self.unwatch(key);
        for watched in &lock(memory).watched {
            self.selections.remove(watched, key);
        }
        // A new Runnable of the same name is reconciled after this. Its watches were just removed, so its memory must
        // not list any.
        if let Some(newcomer) = known {
            lock(&newcomer).watched.clear();
            self.enqueuer.enqueue(key);
        }
    }

    /// Stops all watches for a Runnable.
    fn unwatch(&self, key: &RunnableKey) {
        self.secrets.forget(key);
        let unused = |watched: &Watched| self.selections.remove(watched, key);
        let start = |watched: &Watched, progress| self.start(watched, progress);
        let closed = self.watches.forget(key, unused, start);
        self.close(&closed);
    }
}

/// Looks after the runs that exist, while no new one can be decided. Records their results, and asks those beyond their
/// timeout to stop. Returns the time until something is retried. `Err` ends the whole reconciliation.
async fn look_after(reconciliation: &mut Reconciliation<'_>) -> Result<Option<Duration>, End> {
    if reconciliation.compiled.is_none() {
        return Ok(None);
    }
    for _ in 0..MAX_STEPS {
        let step = mutants::change_step(
            decide_without_rendering(&reconciliation.facts),
            &reconciliation.facts,
        );
        if let Some((_, left)) = reconciliation.in_backoff(&step) {
            return Ok(Some(left));
        }
        match carry_out(reconciliation, step).await {
            Ok(()) => {}
            Err(end @ (End::Conflict | End::Gone | End::Refused(_))) => return Err(end),
            // There may be no event that triggers a retry.
            Err(End::Stuck(_, wait)) => return Ok(wait),
            Err(End::Settled | End::Waiting(_) | End::PutOff) => break,
        }
    }
    Ok(None)
}

/// Carries out one step. Returns `Err` if it was the last.
async fn carry_out(reconciliation: &mut Reconciliation<'_>, step: Step) -> Result<(), End> {
    match step {
        Step::Settled => Err(End::Settled),
        Step::Wait(waiting) => {
            if waiting == Waiting::FirstList
                && let Some(error) = reconciliation.discovery_error()
            {
                return Err(End::Stuck(error, None));
            }
            if waiting == Waiting::FirstList
                && let Some(error) = reconciliation.without_namespaces()
            {
                return Err(End::Stuck(error, None));
            }
            if waiting == Waiting::GracePeriod {
                reconciliation.note_missing();
            }
            Err(End::Waiting(waiting))
        }
        // The controller's own writes enqueue the Runnable: without this backoff it would renumber again at once.
        Step::Stuck(error) if reconciliation.facts.renumbered >= MOST_RENUMBERED => {
            Err(reconciliation.fail(Operation::Renumber, error))
        }
        // The API server is asked again after a growing backoff, and once permissions change.
        Step::Stuck(error) if error.category == Category::PermissionMissing => {
            Err(reconciliation.fail(Operation::AskPermissions, error))
        }
        Step::Stuck(error) => Err(End::Stuck(error, None)),
        Step::RenderAgain => reconciliation.render_again().await,
        Step::ListRuns { every_kind } => reconciliation.list_runs(every_kind).await,
        Step::ReadRun(name) => reconciliation.read_run(name).await,
        Step::AskServer(name) => reconciliation.ask_server(name).await,
        Step::ReadLedgerWriter => reconciliation.read_ledger_writer().await,
        Step::Probe => reconciliation.probe().await,
        Step::AskPermissions(needed) => reconciliation.ask_permissions(*needed).await,
        Step::DryRun(sequence) => reconciliation.dry_run(sequence).await,
        Step::Create => reconciliation.create().await,
        Step::Stop(to) => reconciliation.stop(*to).await,
        Step::Write(ledger, change) => reconciliation.write(*ledger, change).await,
    }
}

#[cfg(test)]
mod tests;
