//! State of one reconciliation, and its possible ends.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex},
    time::Duration,
};

use cartouche_crds::Runnable;
use cartouche_protocol::{
    compiled::Compiled,
    decide::{Step, Waiting},
    facts::{Facts, RunnableFacts},
    ledger::Change,
    messages::reconcile_error::ReconcileError,
    process_state::StoredStatus,
    status,
    trace::SourceKey,
};
use kube::ResourceExt;

use super::{context::ControllerContext, made_of::RenderSources};
use crate::{
    api::Requests,
    budget::Budget,
    cached_runnable::WholeRunnable,
    clock::boot_time,
    events::Occasion,
    lock::lock,
    memory::{Memory, Operation, digest},
    runnable_key::RunnableKey,
};

/// Maximum age of the noted time for a write that has to follow at once.
const CLOCK_FRESH_FOR: Duration = Duration::from_secs(5);
/// Pause after a conflict. The watch brings the change; this is for the case that it does not.
pub(super) const CONFLICT_PAUSE: Duration = Duration::from_secs(2);
/// Maximum time between look-ups of a missing selected object or source, in case its event never comes.
pub(super) const LOOKED_UP_AFTER: Duration = Duration::from_mins(5);

/// Resolution of times in conditions.
pub(super) const SECOND: Duration = Duration::from_secs(1);

/// End of a reconciliation.
#[derive(Debug)]
pub(super) enum End {
    /// Nothing is left to do.
    Settled,
    /// Another event must happen first.
    Waiting(Waiting),
    /// Something is wrong; retried after the time, if any.
    Stuck(ReconcileError, Option<Duration>),
    /// Another client wrote: the watch brings the change.
    Conflict,
    /// The ledger can be neither read nor written now; retried after the time.
    Refused(Duration),
    /// The Runnable no longer exists.
    Gone,
    /// The run is created, and confirmed a little later.
    PutOff,
}

/// One reconciliation of one Runnable.
pub(super) struct Reconciliation<'a> {
    pub(super) ctx: &'a ControllerContext,
    pub(super) runnable: Arc<Runnable>,
    /// Weight of its inputs. If they are too heavy, `runnable` lacks them.
    pub(super) inputs_weigh: usize,
    /// Room for objects that others wrote.
    pub(super) budget: Arc<Budget>,
    pub(super) key: RunnableKey,
    pub(super) memory: Arc<Mutex<Memory>>,
    pub(super) facts: Facts,
    /// Version of the Runnable that was read; a write must carry it.
    pub(super) resource_version: String,
    /// Time at which the ledger was read, on the clock that counts sleep.
    pub(super) read_at: Duration,
    /// Requests as the Runnable's ServiceAccount, once it is known to exist.
    pub(super) account: Option<Requests>,
    /// Sources of the present rendering.
    pub(super) sources: Option<RenderSources>,
    /// The template, if it can be used.
    pub(super) compiled: Option<Arc<Compiled>>,
    /// Error that this reconciliation is stuck on, while it looks after existing runs.
    pub(super) stuck_on: Option<ReconcileError>,
    /// True if the selector does not pick exactly one object.
    pub(super) has_unpicked: bool,
    /// Kinds of runs, with their `apiVersion`, that discovery failed to find.
    pub(super) unfound: BTreeSet<(String, String)>,
    /// Uids of runs whose stop request met a conflict once.
    pub(super) changed_meanwhile: BTreeSet<String>,
    /// Time at which the Runnable reached the cache, as [`crate::clock::moment`] counts.
    pub(super) arrived: u64,
    /// True if this reconciliation has written the status, so that what it read was no stale cache.
    pub(super) has_written: bool,
    /// Time until the ledger is rewritten at the latest, if another release has stored a different form of it.
    pub(super) contested_after: Option<Duration>,
    /// True if the template is missing, and may still come.
    pub(super) waits_for_template: bool,
    /// Runnables that its inputs derive from, if these hold back a pending run.
    pub(super) family: Vec<SourceKey>,
}

impl<'a> Reconciliation<'a> {
    /// Begins with the cached Runnable. Returns `None` if the cache is older than this controller's last write: the
    /// event that brings it enqueues the Runnable.
    pub(super) fn begin(
        ctx: &'a ControllerContext,
        whole: impl Into<WholeRunnable>,
        arrived: u64,
    ) -> Option<Box<Self>> {
        let whole = whole.into();
        let key = RunnableKey::from_runnable(&whole.runnable);
        let uid = whole.runnable.uid().unwrap_or_default();
        let memory = ctx.memories.get_or_create(&key, &uid);
        let (whole, arrived) = up_to_date(ctx, &memory, whole, arrived)?;
        let WholeRunnable {
            runnable,
            weight: inputs_weigh,
            place,
        } = whole;
        let resource_version = runnable.resource_version().unwrap_or_default();
        let stored = Arc::new(runnable.status.clone().unwrap_or_default());
        let began = StoredStatus {
            status: &stored,
            resource_version: &resource_version,
            managed_fields: runnable.managed_fields(),
        };
        let (remembered, looked_for) = {
            let mut memory = lock(&memory);
            let now = boot_time();
            let looked_for = memory.looked_for.lately(ctx.poll, now);
            if std::mem::take(&mut memory.of_edited_template) {
                memory.asks_permissions_anew();
            }
            // A move that was postponed is decided anew, or is no longer pending.
            memory.telling.puts_nothing_off();
            (memory.state.begin(began, now), looked_for)
        };
        let facts = RunnableFacts::from_runnable(&runnable);
        let mut facts = Facts {
            now: ctx.identity.connection().now(),
            chance: fastrand::u64(..),
            looked_for,
            definitions: ctx.definitions.outdated_error(),
            profiles: ctx
                .profiles
                .for_runnable(&key.namespace, ctx.without_namespaces().is_some()),
            ..Facts::first(facts, stored, remembered, ctx.limits)
        };
        facts.sinks.announce(
            runnable
                .spec
                .write_outputs_to
                .as_deref()
                .unwrap_or_default(),
        );
        Some(Box::new(Self {
            ctx,
            runnable,
            inputs_weigh,
            budget: Arc::new(Budget::new(
                ctx.identity.connection().heavy().clone(),
                place,
            )),
            key,
            memory,
            facts,
            resource_version,
            read_at: boot_time(),
            account: None,
            sources: None,
            compiled: None,
            stuck_on: None,
            has_unpicked: false,
            unfound: BTreeSet::new(),
            changed_meanwhile: BTreeSet::new(),
            arrived,
            has_written: false,
            contested_after: None,
            waits_for_template: false,
            family: Vec::new(),
        }))
    }

    /// Notes the API server's time, as derived from its latest answer.
    pub(super) fn look_at_the_clock(&mut self) {
        self.facts.now = self.ctx.identity.connection().now();
    }

    /// Returns true if the process was paused since the time was noted for decisions. A write with a deadline is then
    /// decided anew.
    pub(super) fn is_clock_stale(&self) -> bool {
        let now = self.ctx.identity.connection().now();
        let passed = now
            .zip(self.facts.now)
            .map(|(now, then)| now.duration_since(then));
        passed.is_some_and(|passed| passed.unsigned_abs() > CLOCK_FRESH_FOR)
    }

    /// Returns the error and remaining backoff of a step that failed a moment ago.
    pub(super) fn in_backoff(&self, step: &Step) -> Option<(ReconcileError, Duration)> {
        let makes = matches!(
            step,
            Step::Create | Step::Probe | Step::Write(_, Change::Intent | Change::Attempt)
        );
        let making = makes.then(|| self.making()).flatten();
        let memory = lock(&self.memory);
        let held = [self.what(step), making].into_iter().flatten();
        let held = held.filter_map(|what| memory.in_backoff(&what, boot_time()));
        let longest = held.max_by_key(|(_, left)| *left);
        longest.map(|(error, left)| (error.clone(), left))
    }

    /// Returns the operation whose backoff holds back a step.
    pub(super) fn what(&self, step: &Step) -> Option<Operation> {
        match step {
            Step::ListRuns { .. } => Some(Operation::List),
            Step::AskPermissions(_) => Some(Operation::AskPermissions),
            Step::Write(_, Change::Renumber) => Some(Operation::Renumber),
            Step::ReadRun(name) | Step::AskServer(name) => Some(Operation::Read(name.name.clone())),
            Step::DryRun(sequence) => Some(Operation::Create(*sequence)),
            // The attempt is recorded only just before the create.
            Step::Create | Step::Probe | Step::Write(_, Change::Attempt) => self
                .facts
                .ledger
                .current
                .as_ref()
                .map(|current| Operation::Create(current.sequence)),
            _ => None,
        }
    }

    /// Returns the operation of making a run, which stays the same until a user changes something.
    pub(super) fn making(&self) -> Option<Operation> {
        let cause = &self.facts.rendering.as_ref().ok()?.cause;
        let of_people = (
            cause.generation,
            &cause.template_uid,
            cause.template_generation,
            &self.facts.runnable.rerun_token,
            &self.facts.runnable.profile_refresh,
            &self.facts.runnable.approved,
        );
        Some(Operation::Make(digest(of_people)))
    }

    /// Ends with a failed step, and starts its backoff.
    pub(super) fn fail(&self, what: Operation, error: ReconcileError) -> End {
        let wait = lock(&self.memory).record_failure(what, &error, boot_time());
        End::Stuck(error, Some(wait))
    }

    /// Publishes an event about the Runnable.
    pub(super) fn publish(&self, occasion: &Occasion) {
        let events = &self.ctx.events;
        let at = status::statement_time(self.facts.now, self.facts.runnable.created);
        events.publish(&self.runnable, occasion, at);
    }

    /// Publishes a Warning event about the Runnable.
    pub(super) fn publish_warning(&self, reason: &str, message: String) {
        self.publish(&Occasion::Warning {
            reason: reason.to_owned(),
            message,
        });
    }
}

/// Returns the Runnable, unless the cache is behind this controller's last write.
fn up_to_date(
    ctx: &ControllerContext,
    memory: &Mutex<Memory>,
    whole: WholeRunnable,
    arrived: u64,
) -> Option<(WholeRunnable, u64)> {
    let behind = |runnable: &Runnable| {
        lock(memory)
            .state
            .detect_stale_cache(runnable.metadata.resource_version.as_deref())
    };
    if !behind(&whole.runnable) {
        return Some((whole, arrived));
    }
    // A newer event may have arrived a moment ago and was taken for an echo.
    let newer = RunnableKey::from_runnable(&whole.runnable).find(&ctx.runnables);
    let newer = newer.filter(|newer| newer.uid() == whole.runnable.uid() && !behind(newer))?;
    let place = whole.place;
    let whole = newer.whole().ok()?;
    Some((WholeRunnable { place, ..whole }, newer.arrival_moment()))
}
