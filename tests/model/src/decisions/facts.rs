//! What a worker knows, as the facts that the controller decides by.

use cartouche_protocol::{
    evaluate::{contains_rendered, digested, fetched_run},
    facts::{
        CachedRun, CreateOutcome, Facts, NameRead, Probe, Rendering, RunnableFacts, WatchState,
    },
    ledger::{BreakerLimits, Cause, FetchedRun, Ledger, RunIdentity},
    process_state::Remembered,
    reconcile_error::{Category, ReconcileError, Requeue},
};

use super::Decisions;
use crate::{
    cast::{self, NAMESPACE, NOW, RUNNABLE, TEMPLATE, owner_uid, token},
    configuration::Configuration,
    world::{Knowledge, Outcome, Shown},
};

impl Decisions {
    pub(super) fn facts(&self, setup: &Configuration, knowledge: &Knowledge) -> Facts {
        let stored = self.pool.stored(knowledge.stored);
        let document = self.cast.document(setup.document(knowledge.input));
        let ledger = Ledger::of(&stored);
        let object = |shown: &Shown| {
            self.cast
                .object(&self.pool, shown.uid, &shown.make, shown.result)
        };
        let found = |shown: &Shown| {
            let object = object(shown);
            let matches = contains_rendered(&ledger, &document.rendered, &object);
            let fetched = fetched_run(&document.compiled, &ledger.history, &object)?;
            Some(FetchedRun { matches, ..fetched })
        };
        let cached_run = |(shown, deleted): &(Shown, bool)| -> Option<CachedRun> {
            let object = object(shown);
            let run = RunIdentity::of(&object)?;
            let compiled = Some(&*document.compiled);
            Some(digested(compiled, &ledger.history, run, &object, *deleted))
        };
        let reads = knowledge.reads.iter().map(|(name, shown)| {
            let read = shown.as_ref().and_then(found);
            let read = read.map_or(NameRead::Absent, |found| NameRead::Found(Box::new(found)));
            ((*self.pool.named(*name)).clone(), read)
        });
        let created = knowledge.created.map(|outcome| created(&outcome, found));
        let rendering = Rendering {
            consistent: knowledge.consistent,
            document: document.rendered.clone(),
            rules_hash: document.compiled.rules_hash.clone(),
            has_outputs: true,
            has_health_rule: false,
            cause: Cause {
                generation: i64::from(setup.generation(knowledge.spec)),
                template_uid: document.compiled.uid.clone(),
                template_generation: i64::from(setup.template_generation(knowledge.input)),
            },
        };
        let remembered = Remembered {
            ledger_state: knowledge.ledger_state,
            created,
            last_written_sequence: knowledge.last_written_sequence,
            other_writer: knowledge.other_writer,
            ..Remembered::default()
        };
        let limits = BreakerLimits {
            max_runs: setup.runaway_runs,
        };
        Facts {
            now: Some(NOW),
            rendering: if knowledge.mistyped {
                Err(not_found())
            } else {
                Ok(rendering)
            },
            watch: if setup.polled {
                WatchState::Polled
            } else if knowledge.watched {
                WatchState::Synced
            } else {
                WatchState::Starting
            },
            cached_runs: knowledge
                .cached_runs
                .iter()
                .filter_map(cached_run)
                .collect(),
            unobserved_run: knowledge.unobserved_run.map(cast::run_uid),
            // To wait for another controller's word only takes time: here all of it has passed.
            grace_over: true,
            ledger_writer: knowledge.ledger_writer,
            // No webhook of the model takes or gives anything.
            probe: knowledge.probed.then_some(Probe {
                marked: true,
                with_status: false,
            }),
            listed: knowledge
                .listed
                .as_ref()
                .map(|listed| listed.iter().filter_map(found).collect()),
            listed_every_kind: knowledge.listed_every_kind,
            reads: reads.collect(),
            server_agrees: knowledge.server_agrees,
            resource: Some("tasks.example.dev".to_owned()),
            only_attempt: knowledge.only_attempt,
            ..Facts::first(runnable_facts(setup, knowledge), stored, remembered, limits)
        }
    }
}

/// What became of a create, with what is read in the object.
fn created(outcome: &Outcome, read: impl Fn(&Shown) -> Option<FetchedRun>) -> CreateOutcome {
    let no_object = || CreateOutcome::Unknown(refusal("the answer is no object", Requeue::Backoff));
    match outcome {
        Outcome::Created(shown) => read(shown).map_or_else(no_object, |fetched| {
            CreateOutcome::Created(Box::new(fetched))
        }),
        Outcome::MadeBefore(shown) => read(shown).map_or_else(no_object, |fetched| {
            CreateOutcome::MadeBefore(Box::new(fetched))
        }),
        Outcome::Exists => CreateOutcome::AlreadyExists,
        Outcome::Refused => CreateOutcome::Refused(refusal("forbidden", Requeue::OnRbac)),
        Outcome::Unknown => CreateOutcome::Unknown(refusal("no answer", Requeue::Backoff)),
    }
}

fn runnable_facts(setup: &Configuration, knowledge: &Knowledge) -> RunnableFacts {
    RunnableFacts {
        namespace: NAMESPACE.to_owned(),
        name: RUNNABLE.to_owned(),
        uid: owner_uid(knowledge.owner),
        generation: i64::from(setup.generation(knowledge.spec)),
        template: TEMPLATE.to_owned(),
        deleting: false,
        suspended: knowledge.suspended,
        rerun_token: token(setup.token(knowledge.spec)),
    }
}

fn refusal(text: &str, requeue: Requeue) -> ReconcileError {
    ReconcileError::new(Category::StampedObjectRejectedByAPIServer, requeue, text)
}

/// The Runnable names no template that there is.
fn not_found() -> ReconcileError {
    ReconcileError::new(
        Category::RunTemplateNotFound,
        Requeue::OnChange,
        "unable to get run template",
    )
}
