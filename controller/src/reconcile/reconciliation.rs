//! The state of one reconciliation, and how it ends.

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
    process_state::StoredStatus,
    reconcile_error::ReconcileError,
    status,
    trace::SourceKey,
};
use kube::ResourceExt;

use super::{context::ControllerContext, made_of::Sources};
use crate::{
    api::Requests,
    budget::Budget,
    cached_runnable::Whole,
    clock::boot_time,
    events::Occasion,
    lock::lock,
    memory::{Memory, Operation, digest},
    runnable_key::RunnableKey,
};

/// How long the time that was taken down may be used for what is to be written at once.
const CLOCK_FRESH_FOR: Duration = Duration::from_secs(5);
/// After a conflict the watch brings what changed; this is for the case that it does not.
pub(super) const CONFLICT_PAUSE: Duration = Duration::from_secs(2);
/// What a selector picks, or an input comes from, is looked up after this time at the latest while it is not there, should
/// the event that tells of it never come.
pub(super) const LOOKED_UP_AFTER: Duration = Duration::from_mins(5);

/// Conditions bear whole seconds.
pub(super) const SECOND: Duration = Duration::from_secs(1);

/// How a reconciliation ends.
#[derive(Debug)]
pub(super) enum End {
    /// Nothing is left to do.
    Settled,
    /// Something else must happen first.
    Waiting(Waiting),
    /// Something is wrong; tried again after the time, if any.
    Stuck(ReconcileError, Option<Duration>),
    /// Somebody else wrote: the watch brings it.
    Conflict,
    /// The ledger can be neither read nor written now; tried again after the time.
    Refused(Duration),
    /// The Runnable is not there any more.
    Gone,
    /// The run is made, and confirmed a little later.
    PutOff,
}

/// One reconciliation of one Runnable.
pub(super) struct Reconciliation<'a> {
    pub(super) ctx: &'a ControllerContext,
    pub(super) runnable: Arc<Runnable>,
    /// What its inputs weigh, which it lacks if they are too heavy.
    pub(super) inputs_weigh: usize,
    /// What is held of what others wrote.
    pub(super) budget: Arc<Budget>,
    pub(super) key: RunnableKey,
    pub(super) memory: Arc<Mutex<Memory>>,
    pub(super) facts: Facts,
    /// Of what was read; a write must carry it.
    pub(super) resource_version: String,
    /// When the ledger was read, on the clock that counts sleep.
    pub(super) read_at: Duration,
    /// Requests as the Runnable's ServiceAccount, once it is known to exist.
    pub(super) account: Option<Requests>,
    /// What the present rendering was made of.
    pub(super) sources: Option<Sources>,
    /// The template, if it can be used.
    pub(super) compiled: Option<Arc<Compiled>>,
    /// What this reconciliation is stuck on, while it looks after the runs that exist.
    pub(super) stuck_on: Option<ReconcileError>,
    /// The selector does not pick one object.
    pub(super) has_unpicked: bool,
    /// Kinds of runs, with their `apiVersion`, of which discovery did not say where their objects are.
    pub(super) unfound: BTreeSet<(String, String)>,
    /// Runs, by uid, that had changed when they were told to stop.
    pub(super) changed_meanwhile: BTreeSet<String>,
    /// When the Runnable reached the cache, as [`crate::clock::moment`] counts.
    pub(super) arrived: u64,
    /// This reconciliation has written the status, so that what it read was no stale cache.
    pub(super) has_written: bool,
    /// The ledger says what another release has put otherwise in the stored one. It is written anew after this time at the latest.
    pub(super) contested_after: Option<Duration>,
    /// The template is missing, and may still come.
    pub(super) waits_for_template: bool,
    /// The Runnables that its inputs stem from, where these hold a run back that is due.
    pub(super) family: Vec<SourceKey>,
}

impl<'a> Reconciliation<'a> {
    /// Begins with the Runnable out of the cache. `None` when the cache is older than our own last
    /// write: the event that brings it enqueues the Runnable.
    pub(super) fn begin(
        ctx: &'a ControllerContext,
        whole: impl Into<Whole>,
        arrived: u64,
    ) -> Option<Box<Self>> {
        let whole = whole.into();
        let key = RunnableKey::of(&whole.runnable);
        let uid = whole.runnable.uid().unwrap_or_default();
        let memory = ctx.memories.of(&key, &uid);
        let (whole, arrived) = up_to_date(ctx, &memory, whole, arrived)?;
        let Whole {
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
            // Whether anything is put off is decided anew, or nothing is.
            memory.telling.puts_nothing_off();
            (memory.state.begin(began, now), looked_for)
        };
        let facts = RunnableFacts::of(&runnable);
        let mut facts = Facts {
            now: ctx.identity.connection().now(),
            chance: fastrand::u64(..),
            looked_for,
            definitions: ctx.definitions.outdated(),
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

    /// Takes down the API server's time, as its latest answer tells it.
    pub(super) fn look_at_the_clock(&mut self) {
        self.facts.now = self.ctx.identity.connection().now();
    }

    /// Whether the process was paused since the time was taken down that decisions went by: what has to be written soon
    /// after that is decided anew.
    pub(super) fn is_clock_stale(&self) -> bool {
        let now = self.ctx.identity.connection().now();
        let passed = now
            .zip(self.facts.now)
            .map(|(now, then)| now.duration_since(then));
        passed.is_some_and(|passed| passed.unsigned_abs() > CLOCK_FRESH_FOR)
    }

    /// Whether the same step failed a moment ago.
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

    /// What a step is called when it is held back.
    pub(super) fn what(&self, step: &Step) -> Option<Operation> {
        match step {
            Step::ListRuns { .. } => Some(Operation::List),
            Step::AskPermissions(_) => Some(Operation::AskPermissions),
            Step::Write(_, Change::Renumber) => Some(Operation::Renumber),
            Step::ReadRun(name) | Step::AskServer(name) => Some(Operation::Read(name.name.clone())),
            Step::DryRun(sequence) => Some(Operation::Create(*sequence)),
            // The attempt is put down only when it is going to be made.
            Step::Create | Step::Probe | Step::Write(_, Change::Attempt) => self
                .facts
                .ledger
                .current
                .as_ref()
                .map(|current| Operation::Create(current.sequence)),
            _ => None,
        }
    }

    /// The operation of making a run, while no person changes anything.
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

    /// A step failed: how long it is left alone.
    pub(super) fn fail(&self, what: Operation, error: ReconcileError) -> End {
        let wait = lock(&self.memory).failed(what, &error, boot_time());
        End::Stuck(error, Some(wait))
    }

    /// Hands in an event about the Runnable.
    pub(super) fn publish(&self, occasion: &Occasion) {
        let events = &self.ctx.events;
        let at = status::told_at(self.facts.now, self.facts.runnable.created);
        events.publish(&self.runnable, occasion, at);
    }

    /// The same of something that is wrong.
    pub(super) fn publish_warning(&self, reason: &str, message: String) {
        self.publish(&Occasion::Warning {
            reason: reason.to_owned(),
            message,
        });
    }
}

/// The Runnable, unless the cache is behind our own last write.
fn up_to_date(
    ctx: &ControllerContext,
    memory: &Mutex<Memory>,
    whole: Whole,
    arrived: u64,
) -> Option<(Whole, u64)> {
    let behind = |runnable: &Runnable| {
        lock(memory)
            .state
            .is_behind(runnable.metadata.resource_version.as_deref())
    };
    if !behind(&whole.runnable) {
        return Some((whole, arrived));
    }
    // The event may have come a moment ago, and was taken for an echo.
    let newer = RunnableKey::of(&whole.runnable).find(&ctx.runnables);
    let newer = newer.filter(|newer| newer.uid() == whole.runnable.uid() && !behind(newer))?;
    let place = whole.place;
    let whole = newer.whole().ok()?;
    Some((Whole { place, ..whole }, newer.arrived()))
}
