//! A worker's knowledge, as the facts of the controller's decisions.

use std::time::Duration;

use cartouche_engines::kinds::StopRequest;
use cartouche_protocol::{
    category::Category,
    evaluate::{contains_rendered, digest_run, fetched_run},
    facts::{
        CreateOutcome, DryRun, Facts, NameRead, PolicyFrom, Probe, Remembered, Rendering,
        RunnableFacts, Settling, StopOutcome, WatchState,
    },
    ledger::{BreakerLimits, CachedRun, Cause, FetchedRun, Ledger, RunIdentity},
    messages::reconcile_error::{ReconcileError, Requeue},
    policy::Policy,
};
use k8s_openapi::jiff::SignedDuration;
use serde_json::{Map, Value};

use super::Decisions;
use crate::{
    cast::{self, Document, NAMESPACE, NOW, RUNNABLE, TEMPLATE, owner_uid, token},
    configuration::{Configuration, Release},
    world::{Knowledge, Outcome, Shown},
};

impl Decisions {
    pub(super) fn facts(&self, setup: &Configuration, knowledge: &Knowledge) -> Facts {
        let stored = self.pool.stored(knowledge.stored);
        let ledger = Ledger::from_status(&stored);
        let reader = Reader {
            decisions: self,
            document: self.cast.document(setup.document(knowledge.input)),
            release: knowledge.release,
            ledger: &ledger,
        };
        let limits = BreakerLimits {
            max_runs: setup.runaway_runs,
        };
        let cached_runs = knowledge.cached_runs.iter();
        let listed = knowledge.listed.as_ref();
        let reads = knowledge.reads.iter();
        let told = knowledge.told.iter();
        Facts {
            now: Some(NOW),
            policy: policy(setup, knowledge),
            policy_from: if knowledge.consistent {
                PolicyFrom::Read
            } else {
                PolicyFrom::Cache
            },
            stops: told
                .map(|run| (cast::run_uid(*run), StopOutcome::Sent))
                .collect(),
            rendering: if knowledge.mistyped {
                Err(not_found())
            } else {
                Ok(rendering(setup, knowledge, reader.document))
            },
            watch: watch_state(setup, knowledge),
            cached_runs: cached_runs
                .filter_map(|(shown, deleted)| reader.cached_run(shown, *deleted))
                .collect(),
            unobserved_run: knowledge.unobserved_run.map(cast::run_uid),
            grace_over: knowledge.grace_over,
            ledger_writer: knowledge.ledger_writer,
            // No webhook of the model adds or removes anything.
            probe: knowledge.probed.then_some(Probe {
                marked: true,
                with_status: false,
            }),
            listed: listed.map(|it| it.iter().filter_map(|it| reader.found(it)).collect()),
            listed_every_kind: knowledge.listed_every_kind,
            reads: reads
                .map(|(name, shown)| {
                    let name = (*self.pool.named(*name)).clone();
                    (name, reader.read(shown.as_ref()))
                })
                .collect(),
            // No time passes during a step of a worker.
            read_since: knowledge
                .reads
                .iter()
                .map(|(name, _)| ((*self.pool.named(*name)).clone(), NOW))
                .collect(),
            server_agrees: knowledge.server_agrees,
            settling: settling(knowledge),
            dry_run: setup.approval.then_some(DryRun::Accepted),
            resource: Some("tasks.example.dev".to_owned()),
            only_attempt: knowledge.only_attempt,
            ..Facts::first(
                runnable_facts(self, setup, knowledge),
                stored,
                reader.remembered(knowledge),
                limits,
            )
        }
    }
}

/// Returns the policy of the Runnable. The clock stands still, so the timeout moves.
fn policy(setup: &Configuration, knowledge: &Knowledge) -> Policy {
    let mut policy = setup.asked();
    if setup.left.timeouts > 0 {
        let hours = if knowledge.overdue { -24 } else { 24 };
        policy.timeout = Some(SignedDuration::from_hours(hours));
    }
    if setup.stops() {
        policy.stop = Some(if setup.stop_deletes {
            StopRequest::Delete
        } else {
            StopRequest::Patch(Map::new())
        });
    }
    policy
}

/// Reads objects by a document and a ledger.
struct Reader<'a> {
    decisions: &'a Decisions,
    document: &'a Document,
    release: Release,
    ledger: &'a Ledger,
}

impl Reader<'_> {
    fn object(&self, shown: &Shown) -> Value {
        let Decisions { cast, pool, .. } = self.decisions;
        cast.object(pool, shown.uid, &shown.make, shown.result)
    }

    fn found(&self, shown: &Shown) -> Option<FetchedRun> {
        let object = self.object(shown);
        let matches = contains_rendered(self.ledger, self.document.by(self.release), &object);
        let fetched = fetched_run(&self.document.compiled, &self.ledger.history, &object)?;
        Some(FetchedRun { matches, ..fetched })
    }

    fn read(&self, shown: Option<&Shown>) -> NameRead {
        let found = shown.and_then(|shown| self.found(shown));
        found.map_or(NameRead::Absent, |found| NameRead::Found(Box::new(found)))
    }

    fn remembered(&self, knowledge: &Knowledge) -> Remembered {
        let read = |shown: &Shown| self.found(shown);
        let unknown_runs = knowledge.unknown_runs.iter();
        Remembered {
            ledger_state: knowledge.ledger_state,
            created: knowledge.created.map(|outcome| created(&outcome, read)),
            reached_sequence: knowledge.reached_sequence,
            other_writer: knowledge.other_writer,
            unknown_runs: unknown_runs.map(|run| cast::run_uid(*run)).collect(),
        }
    }

    fn cached_run(&self, shown: &Shown, deleted: bool) -> Option<CachedRun> {
        let object = self.object(shown);
        let run = RunIdentity::from_object(&object)?;
        let compiled = Some(&*self.document.compiled);
        Some(digest_run(
            compiled,
            &self.ledger.history,
            run,
            &object,
            deleted,
        ))
    }
}

fn rendering(setup: &Configuration, knowledge: &Knowledge, document: &Document) -> Rendering {
    Rendering {
        context: std::sync::Arc::default(),
        needs_profile: false,
        consistent: knowledge.consistent,
        document: document.by(knowledge.release).clone(),
        rules_hash: document.compiled.rules_hash.clone(),
        has_outputs: true,
        has_health_rule: false,
        cause: Cause {
            generation: i64::from(setup.generation(knowledge.spec)),
            template_uid: document.compiled.uid.clone(),
            template_generation: i64::from(setup.template_generation(knowledge.input)),
            ancestors: None,
        },
    }
}

fn watch_state(setup: &Configuration, knowledge: &Knowledge) -> WatchState {
    if setup.polled {
        WatchState::Polled
    } else if knowledge.watched {
        WatchState::Synced
    } else {
        WatchState::Starting
    }
}

/// Returns the outcome of a create, with the content that `read` finds in the object.
fn created(outcome: &Outcome, read: impl Fn(&Shown) -> Option<FetchedRun>) -> CreateOutcome {
    let no_object =
        || CreateOutcome::Unknown(refusal("the answer is not an object", Requeue::Backoff));
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

fn settling(knowledge: &Knowledge) -> Settling {
    let same_for = Duration::from_secs(if knowledge.settled { 10 } else { 0 });
    Settling {
        same_for,
        held_for: same_for,
    }
}

fn runnable_facts(
    decisions: &Decisions,
    setup: &Configuration,
    knowledge: &Knowledge,
) -> RunnableFacts {
    RunnableFacts {
        labels: std::collections::BTreeMap::new(),
        profile_name: None,
        profile_refresh: None,
        account: "default".to_owned(),
        namespace: NAMESPACE.to_owned(),
        name: RUNNABLE.to_owned(),
        uid: owner_uid(knowledge.owner),
        generation: i64::from(setup.generation(knowledge.spec)),
        template: TEMPLATE.to_owned(),
        deleting: false,
        is_kept_by_us: false,
        suspended: knowledge.suspended,
        rerun_token: token(setup.token(knowledge.spec)),
        approved: decisions.approval(knowledge.approved),
        rejected: None,
        created: None,
    }
}

fn refusal(text: &str, requeue: Requeue) -> ReconcileError {
    ReconcileError::new(Category::StampedObjectRejectedByAPIServer, requeue, text)
}

/// Returns the error for a Runnable that names no existing template.
fn not_found() -> ReconcileError {
    ReconcileError::new(
        Category::RunTemplateNotFound,
        Requeue::OnChange,
        "unable to get run template",
    )
}
