//! Deliberate mistakes that the check must catch.
//!
//! A mistake in a decision bends the input or the result of the decision; a mistake in the loop around it is
//! in `worker` and `server`.

mod approval;
mod overlap;
mod releases;
mod retries;
mod stops;

use std::{sync::Arc, time::Duration};

use cartouche_crds::{OutputsFrom, RunPhase, RunResult};
use cartouche_engines::{Health, PodsTell, Verdict};
use cartouche_protocol::{
    category::Category,
    decide::Step,
    facts::{CreateOutcome, Facts, LedgerState, LedgerWriter, NameRead},
    ledger::{Asked, CachedRun, Change, Ledger, OutputsDigest, OutputsRead, RunIdentity, RunName},
    messages::reconcile_error::{ReconcileError, Requeue},
    process_state::{ProcessState, StoredStatus},
};
use k8s_openapi::{apimachinery::pkg::apis::meta::v1::Time, jiff::SignedDuration};

use crate::{cast::NOW, process::CLOCK};

/// One mistake, or none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mutant {
    /// The unmodified code.
    #[default]
    None,
    /// The status is written without a resourceVersion.
    NoPrecondition,
    /// Finished runs are deleted at any age.
    NoMinimumAge,
    /// The name of a run derives from its hash.
    NameOfHash,
    /// Runs have a prefix and a random ending, as the original's.
    GenerateName,
    /// The create is sent before anything is written.
    NoIntent,
    /// The intent is written for a template out of the cache.
    StaleTemplate,
    /// Any object with the name counts as our run.
    AdoptUnchecked,
    /// Outputs are those of the run that finished last.
    OutputsByTime,
    /// A create without an answer is repeated later, without a look at the ledger.
    CreateRetried,
    /// A taken name is a permanent error.
    TakenIsTheEnd,
    /// The intent counts as the confirmation.
    ConfirmSkipped,
    /// A finished run that was deleted is made again.
    FinishedRunAgain,
    /// A run that vanished unseen is made again.
    LostRunAgain,
    /// Unfinished runs are deleted, too.
    UnfinishedRetired,
    /// A superseded entry without an answer is dropped without a look at its name.
    UnansweredDropped,
    /// A lost ledger is begun anew.
    NoRebuild,
    /// A rebuilt ledger gives the outputs of the oldest run.
    OldestOutputs,
    /// The worker does not wait until the creates of an earlier controller have ended.
    NoQuietPeriod,
    /// A ledger that is behind reality is believed.
    NoCatchUp,
    /// Claims to be ahead are forgotten before the worker has asked who wrote the ledger, and marks of others
    /// are not read.
    AheadForgotten,
    /// All claims to be ahead of the ledger are believed.
    AheadIsTrue,
    /// An object with owner, number, hash and name of a run counts as one, regardless of its age and origin.
    AgeUnchecked,
    /// `spec.suspend` is not read.
    SuspensionIgnored,
    /// A ledger that is missing for a moment counts as one that is missing for long.
    SettledAtOnce,
    /// Any status without a ledger counts as one that this process wrote.
    ReportTakenForOwn,
    /// The worker ignores the writer of the status.
    WritersIgnored,
    /// A note of writers is remembered while another write may leave the same one.
    NotedAtOnce,
    /// The number that this process gave last is not remembered.
    NumberForgotten,
    /// An object that claimed to be ahead of the ledger is not remembered.
    UnknownForgotten,
    /// Our own write is no news, even if a pass waits until it arrives.
    EchoUnheard,
    /// A missing run is not remembered: each time the worker waits anew for another controller's report.
    GraceEndless,
    /// A run that no watch has shown is never looked for.
    UnobservedForever,
    /// Nothing that a watch shows of a run that this process made is news.
    SightsIgnored,
    /// A failed run is retried under its number.
    RetrySameNumber,
    /// A failed run is retried although no ledger has a time for it.
    RetryUnplanned,
    /// Attempts are not counted.
    AttemptsUncounted,
    /// A cancellation by a user is not read.
    CancelIgnored,
    /// A change waits until the next attempt is due.
    ChangeWaitsForRetry,
    /// A run is stopped before the ledger records it.
    StopUnwritten,
    /// A run that was stopped and is gone is made again.
    StoppedRunAgain,
    /// A run that was stopped and is gone counts as lost.
    StoppedRunLost,
    /// The stop of a run is not kept.
    StopForgotten,
    /// A run is stopped once in its life.
    StopAskedOnce,
    /// A change that waits for another run counts as one that has run.
    WaitingChangeForgotten,
    /// An unseen run is not at work.
    UnseenNotAtWork,
    /// An unseen run counts as given up, and no ledger records it.
    WithdrawnUnwritten,
    /// A run that a user deleted is at work for ever.
    DeletedAtWork,
    /// A run that was stopped is at work no more.
    ReplacedAtOnce,
    /// A run that was replaced by another document is over, even if it is wanted again.
    ReplacedForGood,
    /// A rendering that changes again and again runs at once.
    DebounceIgnored,
    /// A number that another release has given is given up at once.
    OtherReleaseSuperseded,
    /// A number that another release has given is given up when its intent is old, though creates may still
    /// be sent for it.
    OtherReleaseOld,
    /// An approval counts for each run of its document.
    ApprovedByHash,
    /// An approval counts for any run under its number.
    ApprovedByNumber,
    /// No approval is needed once there was one.
    ApprovedOnce,
}

impl Mutant {
    /// Bends the facts of a decision.
    pub(crate) fn bend_facts(self, mut facts: Facts) -> Facts {
        match self {
            Self::AdoptUnchecked => adopt_anything(&mut facts),
            Self::TakenIsTheEnd if facts.created == Some(CreateOutcome::AlreadyExists) => {
                facts.created = Some(CreateOutcome::Unknown(taken()));
            }
            Self::FinishedRunAgain => forget_result(&mut facts),
            Self::LostRunAgain => invent_end(&mut facts),
            Self::NoRebuild if facts.ledger.current.is_none() => facts.listed = Some(Vec::new()),
            Self::NoCatchUp if facts.ledger.current.is_some() => facts.listed = Some(Vec::new()),
            Self::NoQuietPeriod => {
                if let LedgerState::Lost { settled, .. } = &mut facts.ledger_state {
                    *settled = true;
                }
            }
            Self::AheadForgotten => facts.other_writer = false,
            Self::AheadIsTrue => believe_what_is_ahead(&mut facts),
            Self::AgeUnchecked => look_the_same(&mut facts),
            Self::SuspensionIgnored => facts.runnable.suspended = false,
            Self::RetryUnplanned => retries::plan(&mut facts),
            Self::CancelIgnored => retries::forget_cancels(&mut facts),
            Self::StoppedRunAgain => stops::forget(&mut facts.ledger),
            Self::UnseenNotAtWork => overlap::forget_unseen(&mut facts),
            Self::WithdrawnUnwritten => overlap::give_up_unseen(&mut facts),
            Self::ReplacedAtOnce => overlap::forget_stopped(&mut facts),
            Self::DebounceIgnored => facts.policy.debounce = None,
            Self::ApprovedByHash => {
                approval::count_if(&mut facts, |given, wanted| given.hash == wanted.hash);
            }
            Self::ApprovedByNumber => {
                approval::count_if(&mut facts, |given, wanted| {
                    given.sequence == wanted.sequence
                });
            }
            Self::ApprovedOnce => approval::count_if(&mut facts, |_, _| true),
            Self::StopAskedOnce => stops::count_as_asked(&mut facts),
            _ => {}
        }
        facts
    }

    /// Bends the result of a decision.
    pub(crate) fn bend_step(self, facts: &Facts, step: Step) -> Step {
        match (self, step) {
            (Self::OtherReleaseSuperseded, step) => releases::superseded_at_once(facts, step),
            (Self::OtherReleaseOld, step) => releases::superseded_when_old(facts, step),
            (Self::ChangeWaitsForRetry, Step::Write(_, Change::Intent))
                if retries::is_ahead(facts) =>
            {
                Step::Settled
            }
            (Self::StopUnwritten, Step::Write(ledger, Change::Stop)) => stops::told(facts, &ledger),
            (Self::WaitingChangeForgotten, Step::Stuck(problem))
                if problem.category == Category::RunAtWork =>
            {
                overlap::count_as_run(facts)
            }
            (Self::DeletedAtWork, Step::Write(_, Change::Intent))
                if overlap::follows_a_deletion(facts) =>
            {
                Step::Settled
            }
            (Self::ReplacedForGood, Step::Write(_, Change::Intent))
                if overlap::follows_what_made_way(facts) =>
            {
                Step::Settled
            }
            (mutant, Step::Write(mut ledger, change)) => {
                mutant.bend_ledger(facts, &mut ledger, change);
                Step::Write(ledger, change)
            }
            (_, step) => step,
        }
    }

    fn bend_ledger(self, facts: &Facts, ledger: &mut Ledger, change: Change) {
        match self {
            Self::NameOfHash if matches!(change, Change::Intent | Change::Renumber) => {
                if let Some(current) = &mut ledger.current {
                    let end = current.input_hash.len().min(13);
                    current.name = format!("run-{}", &current.input_hash[3..end]);
                }
            }
            Self::ConfirmSkipped if change == Change::Intent => {
                if let Some(current) = &mut ledger.current {
                    current.phase = RunPhase::Created;
                }
            }
            Self::UnansweredDropped if change == Change::Intent => {
                let before = facts.ledger.current.as_ref();
                let unanswered = before
                    .filter(|before| before.uid.is_none())
                    .map(|before| before.sequence);
                ledger
                    .history_mut()
                    .retain(|entry| Some(entry.sequence) != unanswered);
            }
            Self::RetrySameNumber if change == Change::Intent => {
                retries::keep_number(facts, ledger);
            }
            Self::AttemptsUncounted if change == Change::Intent => {
                if let Some(current) = &mut ledger.current {
                    current.attempt = 1;
                }
            }
            Self::StopForgotten if change != Change::Stop => stops::forget(ledger),
            Self::StoppedRunLost => stops::lose(ledger),
            Self::OutputsByTime => take_latest_outputs(facts, ledger),
            Self::OldestOutputs if change == Change::Rebuild => take_oldest_outputs(facts, ledger),
            _ => {}
        }
    }

    /// Bends the memory of a process, after one of its functions has changed it.
    pub(crate) fn bend_state(self, state: &mut ProcessState) {
        match self {
            Self::SettledAtOnce => {
                let without_ledger = state.without_ledger.iter_mut();
                without_ledger.for_each(|(since, _)| *since = Duration::ZERO);
            }
            Self::NumberForgotten => state.reached_sequence = 0,
            Self::UnknownForgotten => state.unknown_runs.clear(),
            Self::EchoUnheard => state.waits_for_cache = false,
            Self::GraceEndless => state.missing = None,
            Self::UnobservedForever => {
                let unobserved = state.unobserved_run.iter_mut();
                unobserved.for_each(|(_, since)| *since = CLOCK);
            }
            _ => {}
        }
    }

    /// Bends the status that a process begins with.
    pub(crate) fn bend_stored<'a>(
        self,
        state: &mut ProcessState,
        stored: StoredStatus<'a>,
    ) -> StoredStatus<'a> {
        match self {
            Self::ReportTakenForOwn => {
                state.last_reported = Some(Arc::new(stored.status.clone()));
                stored
            }
            Self::WritersIgnored => StoredStatus {
                managed_fields: &[],
                ..stored
            },
            _ => stored,
        }
    }

    /// Bends the ledger for retention.
    pub(crate) fn bend_retired(self, mut ledger: Ledger) -> Ledger {
        if self == Self::UnfinishedRetired {
            let unfinished = ledger.history_mut().iter_mut();
            for entry in unfinished.filter(|entry| entry.result.is_none()) {
                entry.result = Some(RunResult::Succeeded);
                entry.finished_at = Some(Time(NOW - SignedDuration::from_hours(1)));
            }
        }
        ledger
    }
}

fn taken() -> ReconcileError {
    ReconcileError::new(
        Category::NameConflict,
        Requeue::OnChange,
        "it exists already",
    )
}

fn adopt_anything(facts: &mut Facts) {
    let (Some(current), Some(CreateOutcome::AlreadyExists)) =
        (&facts.ledger.current, &facts.created)
    else {
        return;
    };
    if let Some(NameRead::Found(found)) = facts.reads.get_mut(&RunName::from_current(current)) {
        let run = &mut found.run;
        run.owner_uid = Some(facts.runnable.uid.clone());
        run.sequence = Some(current.sequence);
        run.input_hash = Some(current.input_hash.clone());
        run.created = current.intent_at.as_ref().map(|at| at.0);
        run.made_with_status = false;
    }
}

fn believe_what_is_ahead(facts: &mut Facts) {
    facts.ledger_writer = Some(LedgerWriter::Another);
    for found in facts.listed.iter_mut().flatten() {
        found.run.made_with_status = false;
    }
}

fn look_the_same(facts: &mut Facts) {
    let Some(current) = &facts.ledger.current else {
        return;
    };
    if let Some(NameRead::Found(found)) = facts.reads.get_mut(&RunName::from_current(current)) {
        let run = &mut found.run;
        run.created = current.intent_at.as_ref().map(|at| at.0);
        run.made_with_status = false;
    }
}

fn unknown() -> Health {
    Health {
        verdict: Verdict::Unknown,
        reason: "Unknown".to_owned(),
        message: String::new(),
        cause: String::new(),
        pods: None,
        discreet: None,
    }
}

fn forget_result(facts: &mut Facts) {
    let Some(current) = &mut facts.ledger.current else {
        return;
    };
    let ended = facts.cached_runs.iter_mut();
    for cached_run in ended.filter(|cached_run| cached_run.deleted) {
        if current.uid.as_ref() == Some(&cached_run.run.uid) {
            current.result = None;
            cached_run.health = unknown();
        }
    }
}

fn invent_end(facts: &mut Facts) {
    let Some(current) = &facts.ledger.current else {
        return;
    };
    let Some(uid) = &current.uid else { return };
    let gone = facts.reads.get(&RunName::from_current(current)) == Some(&NameRead::Absent);
    if !gone
        || facts
            .cached_runs
            .iter()
            .any(|cached_run| cached_run.run.uid == *uid)
    {
        return;
    }
    let Ok(rendering) = &facts.rendering else {
        return;
    };
    facts.cached_runs.push(CachedRun {
        run: RunIdentity {
            uid: uid.clone(),
            ..RunIdentity::default()
        },
        deleted: true,
        health: unknown(),
        pods_tell: PodsTell::Nothing,
        asked: Asked::No,
        standing: cartouche_engines::kinds::Standing::FREE,
        outputs: OutputsDigest::None,
        rules_hash: rendering.rules_hash.clone(),
        version: None,
    });
}

fn take_latest_outputs(facts: &Facts, ledger: &mut Ledger) {
    let had_ended = |sequence| {
        let mut before = facts.ledger.history.iter();
        before.any(|entry| entry.sequence == sequence && entry.result.is_some())
    };
    let mut ended = ledger
        .history
        .iter()
        .filter(|entry| entry.result == Some(RunResult::Succeeded) && !had_ended(entry.sequence));
    let uid = ended.next_back().and_then(|entry| entry.uid.clone());
    take_outputs_of(uid, facts, ledger);
}

fn take_oldest_outputs(facts: &Facts, ledger: &mut Ledger) {
    let mut earlier = ledger.history.iter();
    let oldest = earlier.find(|entry| entry.result == Some(RunResult::Succeeded));
    let uid = oldest.and_then(|entry| entry.uid.clone());
    take_outputs_of(uid, facts, ledger);
}

fn take_outputs_of(uid: Option<String>, facts: &Facts, ledger: &mut Ledger) {
    let Some(fetched) = uid.and_then(|uid| facts.fetched_run(&uid)) else {
        return;
    };
    let OutputsRead::Values(values) = &fetched.outputs else {
        return;
    };
    ledger.outputs = Some(values.clone());
    ledger.outputs_from = Some(OutputsFrom {
        sources: None,
        sequence: fetched.run.sequence.unwrap_or_default(),
        name: fetched.run.name.clone(),
        uid: fetched.run.uid.clone(),
        rules_hash: fetched.rules_hash.to_string(),
        unknown_fields: cartouche_crds::UnknownFields::default(),
    });
}
