//! A worker's decisions, by the code of the controller.

use std::{collections::HashMap, sync::Arc};

use cartouche_crds::{Approval, ApprovalPolicy, PinnedProfile, RunPhase};
use cartouche_protocol::{
    category::Category,
    decide::{Step, decide, decide_without_rendering},
    evaluate::{digest_run, fetched_run},
    facts::{
        CreateOutcome, DryRun, Facts, LedgerState, LedgerWriter, NameRead, Remembered, Rendering,
        RunnableFacts, WatchState,
    },
    ledger::{self, BreakerLimits, CachedRun, Cause, FetchedRun, Ledger, RunIdentity, RunName},
    messages::reconcile_error::ReconcileError,
    policy::Policy,
    profiles::Profiles,
};

use super::{
    cast::{self, ApprovalId, Cast, OWNER, ObjectId},
    mutant::Mutant,
    world::{Answer, Approved, Change, Effect, Known, Profile, Rule, Run},
};
use crate::{
    cast::{NAMESPACE, NOW, RUNNABLE, TEMPLATE},
    pool::{get, hashed, keep},
};

/// The next step.
#[derive(Clone, Debug)]
pub(super) enum Next {
    /// Reads the template.
    Render,
    /// Lists runs.
    List,
    /// Reads a name, by its number.
    Read(u8),
    /// Reads the writer of the ledger.
    ReadWriter,
    /// Has this effect.
    Do(Effect),
    /// Cannot make a new run; true if the reason is that no profile can be used.
    Stuck(bool),
    /// Has nothing to do.
    Rest,
}

impl Cast {
    /// Returns the decision of a worker with this knowledge.
    pub(super) fn next(&self, known: &Known, mutant: Mutant) -> Next {
        let key = hashed(known);
        if let Some(decided) = get(&self.decided, key) {
            return (*decided).clone();
        }
        let next = self.decided_anew(known, mutant);
        keep(&self.decided, key, || next.clone());
        next
    }

    fn decided_anew(&self, known: &Known, mutant: Mutant) -> Next {
        let facts = self.facts(known, mutant);
        if known.is_stuck {
            let step = decide_without_rendering(&facts);
            return self.carried_out(known, step, &facts, mutant);
        }
        let early = (mutant == Mutant::RefreshedWhilePending)
            .then(|| refreshed_early(&facts))
            .flatten();
        let step = early.unwrap_or_else(|| decide(&facts));
        self.carried_out(known, step, &facts, mutant)
    }

    fn carried_out(&self, known: &Known, step: Step, facts: &Facts, mutant: Mutant) -> Next {
        match step {
            Step::RenderAgain => Next::Render,
            Step::ListRuns { .. } => Next::List,
            Step::ReadRun(name) => self.number(&name.name).map_or(Next::Rest, Next::Read),
            Step::ReadLedgerWriter => Next::ReadWriter,
            Step::Write(ledger, change) => {
                let ledger = written(*ledger, change, facts, mutant);
                let change = match change {
                    ledger::Change::Intent => Change::Intent,
                    ledger::Change::Refresh => Change::Refresh,
                    ledger::Change::Rebuild => Change::Rebuild,
                    _ => Change::Record,
                };
                Next::Do(Effect::Write(self.keep_ledger(&ledger), change))
            }
            Step::Create => match self.object(known, facts, mutant) {
                Ok(Some(object)) => Next::Do(Effect::Send(object)),
                Ok(None) => Next::Rest,
                Err(error) => stuck(&error),
            },
            Step::Stuck(error) => stuck(&error),
            Step::Wait(_)
            | Step::Settled
            | Step::AskServer(_)
            | Step::Probe
            | Step::AskPermissions(_)
            | Step::DryRun(_)
            | Step::Stop(_) => Next::Rest,
        }
    }

    /// Returns the object to send for the current entry.
    fn object(
        &self,
        known: &Known,
        facts: &Facts,
        mutant: Mutant,
    ) -> Result<Option<ObjectId>, ReconcileError> {
        let (Ok(rendering), Some(current)) = (&facts.rendering, &facts.ledger.current) else {
            return Ok(None);
        };
        let mut facts = facts.clone();
        facts.profiles = profiles(known, &facts.ledger, Mutant::None);
        if matches!(mutant, Mutant::ChosenAgain | Mutant::Unwritten) {
            facts.ledger.profile = chosen_anew(&facts).map(Box::new);
        }
        let made = facts.made_for(rendering, current)?;
        let pinned = facts.ledger.profile.as_deref();
        let profile = pinned.and_then(|pinned| facts.profiles.get(&pinned.name));
        let version = profile.map(|profile| profile.version.to_string());
        Ok(self.sent(&made, &facts.ledger, pinned, version.as_deref()))
    }

    fn facts(&self, known: &Known, mutant: Mutant) -> Facts {
        let ledger = self.ledger(known.own.ledger);
        let read = |run: &Run| fetched_run(&self.compiled, &ledger.history, &self.shown(*run));
        let reads = known.read.iter().map(|(number, run)| {
            let found = run.as_ref().and_then(read);
            let found = found.map_or(NameRead::Absent, |it| NameRead::Found(Box::new(it)));
            (self.run_name(*number), found)
        });
        let reads: HashMap<RunName, NameRead> = reads.collect();
        let listed = known.listed.as_ref();
        let remembered = Remembered {
            ledger_state: ledger_state(known, &ledger),
            ..Remembered::default()
        };
        let seen = known.seen.iter();
        let runnable = RunnableFacts {
            namespace: NAMESPACE.to_owned(),
            name: RUNNABLE.to_owned(),
            uid: OWNER.to_owned(),
            generation: i64::from(known.own.version),
            template: TEMPLATE.to_owned(),
            profile_refresh: cast::request(known.own.request),
            approved: known.own.approved.and_then(|it| self.approval(it)),
            ..RunnableFacts::default()
        };
        let is_compared = mutant != Mutant::ComparedOnce || !is_pending(&ledger);
        let mut policy = Policy::default();
        if self.is_guarded && is_compared {
            policy.approval = ApprovalPolicy::Manual;
        }
        Facts {
            now: Some(NOW),
            policy,
            dry_run: self.is_guarded.then_some(DryRun::Accepted),
            rendering: Ok(self.rendering(known, &ledger, mutant)),
            watch: WatchState::Synced,
            cached_runs: seen
                .filter_map(|it| self.cached_run(*it, &ledger))
                .collect(),
            ledger_writer: known.knows_writer.then_some(LedgerWriter::Ours),
            listed: listed.map(|runs| runs.iter().filter_map(read).collect::<Vec<FetchedRun>>()),
            listed_every_kind: known.listed.is_some(),
            read_since: reads.keys().map(|name| (name.clone(), NOW)).collect(),
            reads,
            profiles: profiles(known, &ledger, mutant),
            created: known.answer.as_ref().and_then(|answer| match answer {
                Answer::Made(run) => read(run).map(|it| CreateOutcome::Created(Box::new(it))),
                Answer::Exists => Some(CreateOutcome::AlreadyExists),
            }),
            only_attempt: known.has_written,
            ledger,
            ..Facts::first(
                runnable,
                Arc::default(),
                remembered,
                BreakerLimits { max_runs: 100 },
            )
        }
    }

    /// Returns the approvable part of the run that this knowledge would make: for a number that was given and
    /// has no run, or for the next one, if a change is pending.
    pub(super) fn approvable(&self, known: &Known) -> Option<(Approved, ApprovalId)> {
        let facts = self.facts(known, Mutant::None);
        let (ledger, rendering) = (&facts.ledger, facts.rendering.as_ref().ok()?);
        let current = ledger.current.as_ref();
        let (sequence, pinned, hash) = match current.filter(|_| is_pending(ledger)) {
            Some(current) => {
                let hash = facts.approvable_for(rendering, current).ok()?;
                (current.sequence, ledger.profile.as_deref().cloned(), hash)
            }
            None if current.is_some_and(|it| it.input_hash == rendering.document.input_hash()) => {
                return None;
            }
            None => {
                let pinned = facts.choose_profile(rendering, ledger).ok()?.pinned;
                let hash = facts.approvable_next(rendering, ledger, pinned.as_ref());
                (ledger.next_sequence(), pinned, hash.ok()?)
            }
        };
        let pin = pinned.and_then(|it| cast::pin(&it.name, it.refresh_token.as_deref()));
        let profile = pin.and_then(|pin| {
            let there = known.profiles[usize::from(pin.profile)]?;
            Some((pin.profile, there.generation))
        });
        let seen = Approved {
            number: u8::try_from(sequence).ok()?,
            input: known.own.input,
            profile,
        };
        let text = Approval { sequence, hash }.to_string();
        Some((seen, self.keep_approval(&text)))
    }

    fn rendering(&self, known: &Known, ledger: &Ledger, mutant: Mutant) -> Rendering {
        let mut value = known.own.input.to_string();
        if mutant == Mutant::InHash
            && let Some(pin) = cast::pin_of(ledger)
            && let Some(profile) = known.profiles[usize::from(pin.profile)]
        {
            value = format!("{value} {pin:?} {}", profile.generation);
        }
        let (context, rendered) = self.rendered(&value);
        Rendering {
            consistent: known.is_consistent,
            document: Arc::new(rendered),
            rules_hash: self.compiled.rules_hash.clone(),
            has_outputs: false,
            has_health_rule: false,
            cause: Cause {
                generation: i64::from(known.own.version),
                template_uid: self.compiled.uid.clone(),
                template_generation: 1,
                ancestors: None,
            },
            context: Arc::new(context),
            needs_profile: false,
        }
    }

    fn run_name(&self, number: u8) -> RunName {
        let (_, rendered) = self.rendered("");
        let sequence = i64::from(number);
        RunName {
            api_version: rendered.api_version().to_owned(),
            kind: rendered.kind().to_owned(),
            name: rendered.run_name(OWNER, sequence),
        }
    }

    fn cached_run(&self, run: Run, ledger: &Ledger) -> Option<CachedRun> {
        let object = self.shown(run);
        let identity = RunIdentity::from_object(&object)?;
        let compiled = Some(&*self.compiled);
        Some(digest_run(
            compiled,
            &ledger.history,
            identity,
            &object,
            false,
        ))
    }
}

fn stuck(error: &ReconcileError) -> Next {
    let by_profile = [
        Category::ProfileAmbiguous,
        Category::ProfileNotFound,
        Category::ProfileNotRefreshed,
        Category::ProfileDoesNotFit,
    ];
    Next::Stuck(by_profile.contains(&error.category))
}

fn ledger_state(known: &Known, ledger: &Ledger) -> LedgerState {
    match ledger.current {
        Some(_) => LedgerState::Present,
        None if !known.own.is_served => LedgerState::NeverServed,
        None => LedgerState::Lost {
            ours: false,
            settled: known.is_settled,
        },
    }
}

fn profiles(known: &Known, ledger: &Ledger, mutant: Mutant) -> Profiles {
    let there = known.profiles.iter().enumerate();
    let there = there.filter_map(|(number, profile)| Some((number, (*profile)?)));
    let mut there: Vec<_> = there.collect();
    if mutant == Mutant::TieIgnored && ledger.profile.is_none() {
        there.retain(|(_, profile)| profile.rule != Rule::Nobody);
        there.truncate(1);
    }
    if mutant == Mutant::NotLookedFor
        && let Some(pin) = cast::pin_of(ledger)
        && known.profiles[usize::from(pin.profile)].is_none()
        && is_pending(ledger)
    {
        // Decides as if the create could be sent.
        let generation = 0;
        let rule = Rule::Nobody;
        there.push((pin.profile.into(), Profile { generation, rule }));
    }
    let all = there.into_iter();
    let all = all.map(|(number, profile)| Arc::new(cast::profile(number, profile)));
    Profiles {
        all: Arc::new(all.collect()),
        namespace_labels: Some(Arc::default()),
    }
}

fn is_pending(ledger: &Ledger) -> bool {
    let current = ledger.current.as_ref();
    current.is_some_and(|current| current.phase == RunPhase::Pending)
}

/// Returns the profile that would be chosen for an unpinned Runnable.
fn chosen_anew(facts: &Facts) -> Option<PinnedProfile> {
    let rendering = facts.rendering.as_ref().ok()?;
    let unpinned = Ledger {
        profile: None,
        ..facts.ledger.clone()
    };
    facts.choose_profile(rendering, &unpinned).ok()?.pinned
}

fn refreshed_early(facts: &Facts) -> Option<Step> {
    let rendering = facts.rendering.as_ref().ok()?;
    if !is_pending(&facts.ledger) || !facts.is_refresh_asked(&facts.ledger) {
        return None;
    }
    let chosen = facts.choose_profile(rendering, &facts.ledger).ok()?;
    chosen.not_refreshed.is_none().then(|| {
        let next = facts.ledger.clone().with_profile(chosen.pinned);
        Step::Write(Box::new(next), ledger::Change::Refresh)
    })
}

/// Returns the ledger to write, with the mistake.
fn written(mut ledger: Ledger, change: ledger::Change, facts: &Facts, mutant: Mutant) -> Ledger {
    use ledger::Change::{Intent, Rebuild, Refresh};
    match (mutant, change) {
        (Mutant::Unwritten, Intent) => ledger.profile.clone_from(&facts.ledger.profile),
        (Mutant::NotRebuilt, Rebuild) => ledger.profile = None,
        (Mutant::Followed, Intent) => ledger.profile = chosen_anew(facts).map(Box::new),
        (Mutant::Believed, Rebuild) => {
            if let Some(pinned) = &mut ledger.profile {
                pinned.from_run = false;
            }
        }
        (Mutant::TokenForgotten, Intent | Refresh) => {
            if let Some(pinned) = &mut ledger.profile {
                pinned.refresh_token = None;
            }
        }
        _ => {}
    }
    ledger
}
