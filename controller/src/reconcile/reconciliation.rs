//! The state of one reconciliation, and how it ends.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex},
    time::Duration,
};

use cartouche_crds::{Runnable, RunnableStatus};
use cartouche_protocol::{
    category::Category,
    compiled::Compiled,
    conditions,
    decide::{Step, Waiting, may_report},
    facts::{Facts, RunnableFacts},
    ledger::{Change, RunName},
    pace::{self, Due},
    process_state::StoredStatus,
    reconcile_error::{ReconcileError, Requeue},
    status,
    trace::SourceKey,
};
use cartouche_templating::RunReason;
use kube::ResourceExt;

use super::{CONFLICT_PAUSE, ControllerContext, log, observe::Sources, patience};
use crate::{
    api::Requests,
    backoff::HALF,
    budget::Budget,
    cached_runnable::Whole,
    clock::boot_time,
    events::Occasion,
    lock::lock,
    memory::{Memory, Operation, digest},
    mutants,
    runnable_key::RunnableKey,
};

/// How long the time that was taken down may be used for what is to be written at once.
const CLOCK_FRESH_FOR: Duration = Duration::from_secs(5);
/// How often it is reported that another controller writes the same status.
const OTHER_PAUSE: Duration = Duration::from_secs(10);

/// Conditions bear whole seconds.
pub(super) const SECOND: Duration = Duration::from_secs(1);

/// When a run that was made is confirmed at the latest, unless others have their turn first. An engine that is quick
/// has finished it by then, which saves a write, and lets nobody wait for outputs that are there.
const PUT_OFF: Duration = Duration::from_millis(100);

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

    /// Writes what is left to say, cleans up, and says when to reconcile again.
    pub(super) async fn finish(mut self: Box<Self>, mut end: End) -> Option<Duration> {
        let has_outputs = self.facts.ledger.outputs_from.is_some();
        if matches!(end, End::Settled | End::Stuck(..))
            && may_report(&self.facts)
            && !self.has_no_sinks(has_outputs)
            && let Err(instead) = Box::pin(self.keep_sinks()).await
        {
            end = instead;
        }
        let settled = matches!(end, End::Settled);
        let waits = matches!(&end, End::Stuck(error, _) if error.category.waits_beside_inputs());
        {
            let mut memory = lock(&self.memory);
            (memory.is_unsettled, memory.waits_beside_inputs) = (!settled, waits);
        }
        if !waits {
            // What was read before the wait was over may have changed since.
            self.ctx.enqueuer.hasten(&self.key);
        }
        // It was decided by what profiles said before, and whoever tells of the change did not find it waiting yet.
        let namespace = &self.key.namespace;
        if !settled
            && self
                .ctx
                .profiles
                .have_changed(&self.facts.profiles, namespace)
        {
            self.ctx.enqueuer.enqueue(&self.key);
        }
        // What was just made was in no watch before.
        self.take_in_work();
        // By the clock of the last decision: to write the status moves it, and what is due since then nobody has decided.
        let times = [self.next_attempt(settled), self.next_stop()];
        let mut pods = None;
        if matches!(end, End::Settled | End::Stuck(..)) {
            pods = self.look_for_hindrance().await;
        }
        let again = match end {
            End::Gone => return None,
            End::PutOff => return Some(PUT_OFF),
            End::Conflict => return Some(HALF.over(CONFLICT_PAUSE)),
            End::Refused(wait) => return Some(wait),
            End::Settled => self.finish_ok().await,
            End::Waiting(waiting) => {
                // A controller's silence is no news: nothing is written while it waits.
                let put_off = [self.contested_after, self.moves_on_after()];
                let again = patience(waiting, &self.memory).into_iter();
                return again.chain(put_off.into_iter().flatten()).min();
            }
            End::Stuck(error, wait) => self.finish_err(error, wait).await,
        };
        self.prune();
        self.report_unstopped();
        let [grace, unobserved] = self.waits();
        let others = [
            self.contested_after,
            self.polling(),
            unobserved,
            self.denied(),
            self.unpicked(),
            self.sources_again(),
            self.moves_on_after(),
            self.sinks_again(),
            self.asks_again(),
            self.follows_again(),
            self.is_out_of_sight().then_some(self.ctx.poll),
            grace,
            pods,
        ];
        let waits = others.into_iter().chain(times).flatten();
        again.into_iter().chain(waits).min()
    }

    async fn finish_ok(&mut self) -> Option<Duration> {
        if self.facts.runnable.deleting {
            return None;
        }
        let status = status::status(&self.facts, &self.facts.ledger, None);
        let patience = self.image_patience(&status);
        let put_off = match self.report(mutants::said(status)).await {
            Ok(put_off) => put_off,
            Err(wait) => return Some(wait),
        };
        {
            let mut memory = lock(&self.memory);
            memory.is_well();
            // Where it follows a change of an ancestor, it looks again when that one moves.
            memory.telling.is_free();
            if conditions::follows_upstream(&self.facts.stored) {
                memory.telling.decide();
            }
        }
        if self.facts.listed_every_kind {
            lock(&self.memory).state.compared(&self.facts.ledger);
        }
        let again = self.apply_retention().await;
        again.into_iter().chain(put_off).chain(patience).min()
    }

    async fn finish_err(
        &mut self,
        error: ReconcileError,
        wait: Option<Duration>,
    ) -> Option<Duration> {
        let error = self.with_hindrance(error);
        log(&self.key, &error);
        self.ctx.metrics.problem(error.category);
        let wait = wait.or_else(|| self.pause(&error));
        if let Some(outdated) = self.facts.definitions.clone()
            && matches!(
                error.category,
                Category::DefinitionsOutdated | Category::OtherController
            )
        {
            // A status would say it for as long as a controller of the former release makes the run all the same.
            self.tell_of_release(&outdated);
            return wait;
        }
        if error.category == Category::OtherController
            && let Some(left) = self.reported_other()
        {
            return wait.into_iter().chain([left]).min();
        }
        if error.category == Category::Debouncing && status::waits_for_more(&self.facts) {
            return wait;
        }
        if let Some(left) = self.not_yet_told(&error) {
            return wait.into_iter().chain([left]).min();
        }
        let patience = status::awaited_for(&self.facts, &error).map(|left| left + SECOND);
        self.waits_for_template =
            error.category == Category::RunTemplateNotFound && patience.is_some();
        let wait = wait.into_iter().chain(patience).min();
        let status = status::status(&self.facts, &self.facts.ledger, Some(&error));
        let wait = wait.into_iter().chain(self.image_patience(&status)).min();
        let sooner = match self.report(mutants::said(status)).await {
            Ok(put_off) => put_off,
            Err(sooner) => Some(sooner),
        };
        // What holds nothing back keeps no run that is needed no more, either.
        let again = if error.category.is_remark() {
            self.apply_retention().await
        } else {
            None
        };
        wait.into_iter().chain(sooner).chain(again).min()
    }

    /// The same, where a run that cannot go on is waited for.
    fn with_hindrance(&self, error: ReconcileError) -> ReconcileError {
        let said = self.facts.hindrance.said();
        let said = said.filter(|it| it.reason.is_some_and(RunReason::is_hindrance));
        match (said, &self.facts.ledger.current) {
            (Some(said), Some(current)) => {
                let run = RunName::of(current).object(&self.key.namespace);
                error.with_hindrance(&run, &said.words)
            }
            _ => error,
        }
    }

    /// The time until a run whose image cannot be pulled is Stalled.
    fn image_patience(&self, status: &RunnableStatus) -> Option<Duration> {
        let ready = conditions::find(status, conditions::READY)?;
        let left = status::image_awaited_for(&self.facts, &ready.status, &ready.reason);
        left.map(|left| left + SECOND)
    }

    /// The other controller may answer at once each time it is reported: how long until it is reported
    /// again.
    fn reported_other(&self) -> Option<Duration> {
        let now = boot_time();
        let mut memory = lock(&self.memory);
        let left = memory
            .reported_other
            .map(|reported| (reported + OTHER_PAUSE).saturating_sub(now))
            .filter(|left| !left.is_zero());
        if left.is_none() {
            memory.reported_other = Some(now);
        }
        left
    }

    /// How long an error that no single step was held back for is left alone.
    pub(super) fn pause(&self, error: &ReconcileError) -> Option<Duration> {
        if error.category == Category::OtherController {
            return patience(Waiting::CreatesSettle, &self.memory);
        }
        let now = boot_time();
        let mut memory = lock(&self.memory);
        // The step that met it was put down already.
        let left = memory
            .backoffs
            .iter()
            .filter(|backoff| backoff.error == *error)
            .map(|backoff| backoff.until.saturating_sub(now))
            .find(|left| !left.is_zero());
        let generation = self.facts.runnable.generation;
        let wait = left.unwrap_or_else(|| memory.failed(Operation::Render(generation), error, now));
        (error.requeue != Requeue::OnChange).then_some(wait)
    }

    /// The difference between the stored status and this one. A ledger whose write is put off is no difference.
    pub(super) fn change_to(&self, status: &RunnableStatus) -> pace::Change {
        let stored = match self.contested_after {
            Some(_) => &with_ledger_of(&self.facts.stored, status),
            None => &*self.facts.stored,
        };
        pace::Change::of_runnable(stored, status)
    }

    /// Writes the status if it says anything new, or says how long that is put off. `Err`: when to try again.
    async fn report(&mut self, mut status: RunnableStatus) -> Result<Option<Duration>, Duration> {
        if !may_report(&self.facts) {
            self.say_put_back(&status);
            return Ok(None);
        }
        let mut change = self.change_to(&status);
        let held = lock(&self.memory).pace.holds_sinks(&change, boot_time());
        if held.is_some() {
            status = pace::with_sinks_of(status, &self.facts.stored);
            change = self.change_to(&status);
        }
        let due = lock(&self.memory).pace.due(&change, boot_time());
        match mutants::due(due) {
            Due::Never => return Ok(held),
            Due::After(left) => return Ok(held.into_iter().chain([left]).min()),
            Due::Now => {}
        }
        match Box::pin(self.put(status)).await {
            Ok(()) => {
                self.contested_after = None;
                Ok(held)
            }
            Err(End::Gone) => Ok(None),
            Err(End::Refused(wait)) => Err(wait),
            Err(_) => Err(HALF.over(CONFLICT_PAUSE)),
        }
    }
}

/// A stored status with the ledger of another one. What is said of the objects that outputs are written to is none of it.
fn with_ledger_of(stored: &RunnableStatus, next: &RunnableStatus) -> RunnableStatus {
    let with_ledger = RunnableStatus {
        observed_generation: stored.observed_generation,
        conditions: stored.conditions.clone(),
        pending: stored.pending.clone(),
        ..next.clone()
    };
    pace::with_sinks_of(with_ledger, stored)
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
