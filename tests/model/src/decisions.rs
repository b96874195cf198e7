//! The controller's own decisions on real facts. Only this module makes facts.

mod facts;

use std::{
    collections::HashMap,
    sync::{Arc, PoisonError, RwLock},
};

use cartouche_crds::{
    Approval, HistoryEntry, RetentionPolicy, RunTemplateRef, Runnable, RunnableSpec, RunnableStatus,
};
use cartouche_language::HashVersion;
use cartouche_protocol::{
    category::Category,
    decide::{Step, Waiting, decide, decide_without_rendering, may_report},
    evaluate::is_relevant,
    facts::{CreateOutcome, Facts, is_latest},
    ledger::{Change, Ledger, RunIdentity},
    messages::reconcile_error::{ReconcileError, Requeue},
    process_state::is_needed,
    retention::{retention, trim_history},
    status,
};
use k8s_openapi::jiff::SignedDuration;

use crate::{
    cast::{self, Cast, NOW, RUNNABLE, TEMPLATE, kind_number, owner_uid, run_of, token},
    configuration::Configuration,
    mutant::Mutant,
    pool::{NameId, Pool, ProblemId, StatusId, hashed},
    world::{Knowledge, Make, Shown, Uid},
};

/// The next move of a worker.
#[derive(Clone, Debug)]
pub enum Move {
    /// Reads template and selected object.
    RenderAgain,
    /// Lists runs.
    List {
        /// True for runs of all kinds.
        every_kind: bool,
    },
    /// Reads a name.
    Read(NameId),
    /// Reads the last writer of the ledger.
    ReadLedgerWriter,
    /// Probes the fate of an object like the run.
    Probe,
    /// Asks the server for its form of the document, and compares it with this run.
    Ask(NameId),
    /// Sends a create.
    Create(Make),
    /// Stops a run.
    Stop(Uid),
    /// Writes a status.
    Write(StatusId, Change),
    /// Waits.
    Rest,
    /// Waits for a report of another controller about the missing run.
    AwaitWord,
    /// Is stuck, but looks after the existing runs.
    LookAfter(ProblemId),
    /// Ends the pass.
    End(End),
}

/// End of a pass.
#[derive(Clone, Debug)]
pub struct End {
    /// Status that is still to be written, if it has anything new.
    pub tell: Option<StatusId>,
    /// Runs to delete.
    pub retire: Vec<Uid>,
    /// True if the worker looks again without an event.
    pub again: bool,
    /// True if nothing is left to do.
    pub settled: bool,
}

/// The controller's decisions about one configuration, each made once.
#[derive(Debug)]
pub struct Decisions {
    /// Documents and objects.
    pub cast: Cast,
    /// Statuses and names.
    pub pool: Pool,
    made: RwLock<HashMap<u64, Arc<Move>>>,
    mattering: RwLock<HashMap<(StatusId, Uid), bool>>,
}

impl Decisions {
    /// Returns an empty memory of decisions.
    #[must_use]
    pub fn new(cast: Cast) -> Self {
        Self {
            cast,
            pool: Pool::default(),
            made: RwLock::default(),
            mattering: RwLock::default(),
        }
    }

    /// Returns the controller's next move with this knowledge.
    pub fn next(&self, setup: &Configuration, knowledge: &Knowledge) -> Arc<Move> {
        let key = hashed(knowledge);
        let made = self.made.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(made) = made.get(&key) {
            return made.clone();
        }
        drop(made);
        let made = Arc::new(self.decide(setup, knowledge));
        self.made
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(key, made.clone());
        made
    }

    fn decide(&self, setup: &Configuration, knowledge: &Knowledge) -> Move {
        let facts = setup.mutant.bend_facts(self.facts(setup, knowledge));
        let stuck = knowledge.stuck.and_then(|problem| self.pool.met(problem));
        let step = match &stuck {
            None => decide(&facts),
            Some(_) => decide_without_rendering(&facts),
        };
        match setup.mutant.bend_step(&facts, step) {
            Step::RenderAgain => Move::RenderAgain,
            Step::ListRuns { every_kind } => Move::List { every_kind },
            Step::ReadRun(name) => Move::Read(self.pool.name(&name)),
            Step::ReadLedgerWriter => Move::ReadLedgerWriter,
            Step::Probe => Move::Probe,
            Step::AskServer(name) => Move::Ask(self.pool.name(&name)),
            Step::Stop(to) => run_of(&to.uid).map_or(Move::Rest, Move::Stop),
            Step::Create => self.create(setup, knowledge, &facts),
            Step::Write(ledger, change) => self.write(setup, knowledge, &facts, *ledger, change),
            Step::Settled | Step::Wait(_) | Step::Stuck(_) if let Some(problem) = stuck => {
                self.complain(&facts, &problem)
            }
            Step::Wait(Waiting::GracePeriod) => Move::AwaitWord,
            // The server's answer about the run that waits for approval is known.
            Step::DryRun(_) | Step::AskPermissions(_) | Step::Wait(_) => Move::Rest,
            Step::Stuck(problem) => Move::LookAfter(self.pool.problem(&problem)),
            Step::Settled => self.settle(setup, knowledge, &facts),
        }
    }

    /// Returns the annotation that approves this number of this document.
    #[must_use]
    pub fn approval(&self, approved: Option<(u16, u8)>) -> Option<String> {
        let (number, document) = approved?;
        let hash = self.cast.document(document).rendered.input_hash();
        Some(format!("{number}:{hash}"))
    }

    /// Returns the run that waits for approval according to a status.
    #[must_use]
    pub fn waiting(&self, setup: &Configuration, status: StatusId) -> Option<(u16, u8)> {
        let stored = self.pool.stored(status);
        let wanted = Approval::parse(stored.pending.as_ref()?.approval.as_deref()?)?;
        let mut documents = 0..=setup.last_document();
        let is_it =
            |document: &u8| self.cast.document(*document).rendered.input_hash() == wanted.hash;
        let document = documents.find(is_it)?;
        Some((u16::try_from(wanted.sequence).ok()?, document))
    }

    fn complain(&self, facts: &Facts, problem: &ReconcileError) -> Move {
        let status = status::status(facts, &facts.ledger, Some(problem));
        Move::End(End {
            tell: self.news(facts, &status),
            retire: Vec::new(),
            again: problem.requeue != Requeue::OnChange
                || problem.category == Category::OtherController,
            settled: false,
        })
    }

    fn create(&self, setup: &Configuration, knowledge: &Knowledge, facts: &Facts) -> Move {
        let Some(current) = &facts.ledger.current else {
            return Move::Rest;
        };
        let asked = current.rerun_token.is_some();
        let token = (1..=u8::MAX).find(|number| asked && token(*number) == current.rerun_token);
        Move::Create(Make {
            owner: knowledge.owner,
            number: u16::try_from(current.sequence).unwrap_or(u16::MAX),
            document: setup.document(knowledge.input),
            token: token.unwrap_or(0),
            name: self
                .pool
                .name(&cartouche_protocol::ledger::RunName::from_current(current)),
            rewritten: false,
            earlier_version: false,
            next_version: current.input_hash.starts_with(HashVersion::Next.prefix()),
            old: false,
            forged: false,
            early: false,
            bare: false,
            cancelled: false,
            told: false,
        })
    }

    /// Acts as `write.rs` around the request.
    fn write(
        &self,
        setup: &Configuration,
        knowledge: &Knowledge,
        facts: &Facts,
        ledger: Ledger,
        change: Change,
    ) -> Move {
        let ledger = trim_history(ledger, setup.policy(), facts.now, |entry, uid| {
            let complete = knowledge.complete >> kind_number(&entry.kind) & 1 == 1;
            complete && !exists(knowledge, uid)
        });
        let stuck = knowledge.stuck.and_then(|problem| self.pool.met(problem));
        let problem = match (&facts.created, change) {
            _ if stuck.is_some() => stuck.map(|problem| (*problem).clone()),
            (Some(CreateOutcome::Refused(problem)), Change::Reject) => Some(problem.clone()),
            (Some(CreateOutcome::AlreadyExists), Change::Reject) => named_conflict(facts),
            _ => None,
        };
        let mut status = status::status(facts, &ledger, problem.as_ref());
        if change == Change::Attempt {
            status.conditions.clone_from(&facts.stored.conditions);
        }
        Move::Write(self.pool.status(&status), change)
    }

    /// Acts as `reconciliation.rs` and `apply_retention.rs` at the end.
    fn settle(&self, setup: &Configuration, knowledge: &Knowledge, facts: &Facts) -> Move {
        let status = status::status(facts, &facts.ledger, None);
        let plan = setup.retires.then(|| {
            let ledger = setup.mutant.bend_retired(facts.ledger.clone());
            let later = SignedDuration::from_hours(i64::from(setup.mutant == Mutant::NoMinimumAge));
            retention(&ledger, setup.policy(), Some(NOW + later), |_, uid| {
                exists(knowledge, uid)
            })
        });
        let plan = plan.unwrap_or_default();
        let retire = plan.delete.iter().filter_map(uid_of).collect();
        Move::End(End {
            tell: self.news(facts, &status),
            retire,
            again: plan.again.is_some() || setup.polled,
            settled: true,
        })
    }

    fn news(&self, facts: &Facts, status: &RunnableStatus) -> Option<StatusId> {
        let is_told = status::differs(&facts.stored, status) && may_report(facts);
        is_told.then(|| self.pool.status(status))
    }

    /// Returns true if an event of a run is kept, with this status in the cache.
    pub fn matters(&self, status: StatusId, shown: &Shown) -> bool {
        let key = (status, shown.uid);
        let known = self
            .mattering
            .read()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known.get(&key) {
            return *known;
        }
        drop(known);
        let spec = RunnableSpec {
            unknown_fields: Vec::new(),
            profile_name: None,
            coherence: None,
            run_template_ref: RunTemplateRef {
                kind: None,
                name: TEMPLATE.to_owned(),
            },
            selector: None,
            inputs: None,
            inputs_from: None,
            write_outputs_to: None,
            service_account_name: None,
            suspend: None,
            retention_policy: RetentionPolicy::default(),
            retry: None,
            timeout: None,
            concurrency_policy: None,
            approval: None,
            start: None,
        };
        let mut runnable = Runnable::new(RUNNABLE, spec);
        runnable.status = Some((*self.pool.stored(status)).clone());
        let run = RunIdentity {
            uid: cast::run_uid(shown.uid),
            ..RunIdentity::default()
        };
        let answer = is_relevant(&runnable, &run);
        self.mattering
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(key, answer);
        answer
    }

    /// Returns true if a cached run is kept when a pass ends with this knowledge.
    pub fn needs(
        &self,
        mutant: Mutant,
        knowledge: &Knowledge,
        shown: &Shown,
        deleted: bool,
    ) -> bool {
        let is_latest = mutant == Mutant::AheadForgotten
            || is_latest(knowledge.ledger_writer, knowledge.listed_every_kind);
        let object = self
            .cast
            .object(&self.pool, shown.uid, &shown.make, shown.result);
        let ledger = Ledger::from_status(&self.pool.stored(knowledge.stored));
        let owner = owner_uid(knowledge.owner);
        RunIdentity::from_object(&object)
            .is_some_and(|run| is_needed(&ledger, is_latest, &owner, &run, deleted))
    }
}

/// Returns the problem that the next decision will name, for the write that comes before it.
fn named_conflict(facts: &Facts) -> Option<ReconcileError> {
    let mut facts = facts.clone();
    if let Some(current) = &mut facts.ledger.current {
        current.phase = cartouche_crds::RunPhase::Rejected;
    }
    match decide(&facts) {
        Step::Stuck(problem) => Some(problem),
        _ => None,
    }
}

fn exists(knowledge: &Knowledge, uid: &str) -> bool {
    run_of(uid).is_some_and(|uid| knowledge.existing.contains(&uid))
}

fn uid_of(entry: &HistoryEntry) -> Option<Uid> {
    run_of(entry.uid.as_deref()?)
}
