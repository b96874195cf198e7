//! Builders of facts to decide on: a ledger, what is rendered, and what was seen since.

use std::sync::Arc;

use cartouche_crds::{ClusterRunProfile, CurrentRun, PinnedProfile, RunnableStatus};
use cartouche_templating::Rendered;
use serde_json::{Value, json};

use crate::{
    category::Category,
    decide::{Step, decide},
    facts::{
        CreateOutcome, Facts, LedgerState, NameRead, Remembered, Rendering, RunnableFacts,
        WatchState,
    },
    ledger::{
        BreakerLimits, CachedRun, Cause, Change, FetchedRun, Ledger, OutputsDigest, RunIdentity,
        RunName, tests::sample::*,
    },
    messages::reconcile_error::{ReconcileError, Requeue},
    profiles::{KnownProfile, Profiles},
    status,
};

/// The time of the decision: long after all runs were.
pub(crate) const NOW: i64 = 100_000;

pub(crate) fn rendering(document: Rendered) -> Rendering {
    Rendering {
        context: std::sync::Arc::default(),
        needs_profile: false,
        consistent: false,
        document: Arc::new(document),
        rules_hash: Arc::from(RULES),
        has_outputs: true,
        has_health_rule: false,
        cause: Cause {
            generation: 1,
            template_uid: "template".to_owned(),
            template_generation: 1,
            ancestors: None,
        },
    }
}

/// The ledger that a controller wrote is lost, and its creates have settled.
pub(crate) const LOST: LedgerState = LedgerState::Lost {
    ours: false,
    settled: true,
};
/// The same, while creates that were sent for it may still land.
pub(crate) const LOST_JUST_NOW: LedgerState = LedgerState::Lost {
    ours: false,
    settled: false,
};

/// A Runnable with a ledger, whose template renders the input. Only the caches were read.
pub(crate) fn facts(ledger: Ledger, input: &str) -> Facts {
    let runnable = RunnableFacts {
        namespace: "default".to_owned(),
        name: "r".to_owned(),
        uid: RUNNABLE.to_owned(),
        generation: 4,
        template: "t".to_owned(),
        ..RunnableFacts::default()
    };
    let remembered = Remembered {
        ledger_state: match ledger.current {
            Some(_) => LedgerState::Present,
            None => LedgerState::NeverServed,
        },
        ..Remembered::default()
    };
    let limits = BreakerLimits { max_runs: 30 };
    Facts {
        now: Some(at(NOW)),
        ledger,
        rendering: Ok(rendering(document(input))),
        watch: WatchState::Synced,
        grace_over: true,
        resource: Some("builds.example.dev".to_owned()),
        ..Facts::first(runnable, Arc::default(), remembered, limits)
    }
    .stored_as_reported()
}

/// A new Runnable.
pub(crate) fn new_runnable(input: &str) -> Facts {
    Facts {
        stored: Arc::default(),
        ..facts(Ledger::default(), input)
    }
}

/// A Runnable with this current run and nothing else.
pub(crate) fn with(current: CurrentRun, input: &str) -> Facts {
    facts(ledger(current, vec![]), input)
}

/// A profile at a generation.
pub(crate) fn profile(name: &str, generation: i64, spec: Value) -> KnownProfile {
    let mut profile = ClusterRunProfile::new(name, serde_json::from_value(spec).unwrap());
    profile.metadata.generation = Some(generation);
    KnownProfile::new(&profile)
}

/// A profile for all Runnables.
pub(crate) fn for_all(name: &str) -> KnownProfile {
    profile(name, 1, json!({ "rules": [{}] }))
}

/// A profile for no Runnable.
pub(crate) fn for_none(name: &str) -> KnownProfile {
    profile(name, 1, json!({}))
}

/// A profile for the template, which outranks one for all.
pub(crate) fn for_template(name: &str) -> KnownProfile {
    profile(name, 1, json!({ "rules": [{ "templates": ["t"] }] }))
}

/// Pinned to this, by the choice that answered this request.
pub(crate) fn pin(name: &str, refresh_token: Option<&str>) -> PinnedProfile {
    PinnedProfile {
        name: name.to_owned(),
        refresh_token: refresh_token.map(str::to_owned),
        from_run: false,
        unknown_fields: cartouche_crds::UnknownFields::default(),
    }
}

impl Facts {
    /// Sets these profiles, and a namespace without labels.
    pub(crate) fn knowing(mut self, profiles: impl IntoIterator<Item = KnownProfile>) -> Self {
        let profiles = profiles.into_iter().map(Arc::new);
        self.profiles = Profiles {
            all: Arc::new(profiles.collect()),
            namespace_labels: Some(Arc::default()),
        };
        self
    }

    pub(crate) fn pinned_to(mut self, pinned: PinnedProfile) -> Self {
        self.ledger.profile = Some(Box::new(pinned));
        self.stored_as_reported()
    }

    pub(crate) fn asking_to_refresh(mut self, token: &str) -> Self {
        self.runnable.profile_refresh = Some(token.to_owned());
        self
    }

    /// Sets the status that would be reported now, as after a reconciliation that settled.
    pub(crate) fn stored_as_reported(mut self) -> Self {
        if self.ledger.current.is_some() {
            self.stored = Arc::new(status::status(&self, &self.ledger, None));
        }
        self
    }

    /// Marks template and selected object as read consistently.
    pub(crate) fn fresh(mut self) -> Self {
        if let Ok(rendering) = &mut self.rendering {
            rendering.consistent = true;
        }
        self
    }

    pub(crate) fn rendered_as(mut self, document: Rendered) -> Self {
        self.rendering = Ok(Rendering {
            document: Arc::new(document),
            ..self.rendering.unwrap()
        });
        self
    }

    pub(crate) fn asking(mut self, token: &str) -> Self {
        self.runnable.rerun_token = Some(token.to_owned());
        self
    }

    pub(crate) fn served_by_another(mut self) -> Self {
        self.stored = Arc::new(RunnableStatus {
            observed_generation: Some(1),
            ..RunnableStatus::default()
        });
        self.ledger_state = LOST;
        self
    }

    pub(crate) fn after(mut self, created: CreateOutcome) -> Self {
        self.created = Some(created);
        self
    }

    pub(crate) fn seeing(mut self, cached_run: CachedRun) -> Self {
        self.cached_runs.push(cached_run);
        self
    }

    /// Adds a read of the name that found this.
    pub(crate) fn reading_found(mut self, name: &str, fetched: FetchedRun) -> Self {
        self.reads
            .insert(run_name(name), NameRead::Found(Box::new(fetched)));
        self.read_now(name)
    }

    fn read_now(mut self, name: &str) -> Self {
        let now = self.now.expect("a time");
        self.read_since.insert(run_name(name), now);
        self
    }

    /// Adds a read of the name that found nothing.
    pub(crate) fn reading_absent(mut self, name: &str) -> Self {
        self.reads.insert(run_name(name), NameRead::Absent);
        self.read_now(name)
    }

    /// Adds a list of these runs; those whose uid is given contain what is rendered.
    pub(crate) fn listing(mut self, runs: Vec<FetchedRun>, matching: &[&str]) -> Self {
        let found = runs.into_iter().map(|fetched| FetchedRun {
            matches: matching.contains(&fetched.run.uid.as_str()),
            ..fetched
        });
        self.listed = Some(found.collect());
        self.listed_every_kind = matches!(self.ledger_state, LedgerState::Lost { .. });
        self
    }
}

pub(crate) fn run_name(name: &str) -> RunName {
    RunName {
        api_version: API_VERSION.to_owned(),
        kind: KIND.to_owned(),
        name: name.to_owned(),
    }
}

/// A run as the watch shows it, in the state that a read would find.
pub(crate) fn seen(fetched: &FetchedRun) -> CachedRun {
    CachedRun {
        run: fetched.run.clone(),
        deleted: false,
        health: fetched.health.clone(),
        pods_tell: fetched.pods_tell,
        outputs: OutputsDigest::from_read(&fetched.outputs),
        rules_hash: fetched.rules_hash.clone(),
        version: None,
        asked: fetched.asked,
        standing: fetched.standing,
    }
}

/// A run that the watch saw deleted in that state.
pub(crate) fn seen_to_go(fetched: &FetchedRun) -> CachedRun {
    CachedRun {
        deleted: true,
        ..seen(fetched)
    }
}

/// Another object than the one that the ledger knows.
pub(crate) fn other(run: RunIdentity) -> RunIdentity {
    RunIdentity {
        uid: "other".to_owned(),
        ..run
    }
}

pub(crate) fn owned_by_another(run: RunIdentity) -> RunIdentity {
    RunIdentity {
        owner_uid: Some("another".to_owned()),
        ..run
    }
}

pub(crate) fn problem(message: &str) -> ReconcileError {
    ReconcileError::new(
        Category::StampedObjectRejectedByAPIServer,
        Requeue::Backoff,
        message,
    )
}

/// Decides, and expects a ledger to be written for this reason.
pub(crate) fn written(facts: &Facts, change: Change) -> Ledger {
    match decide(facts) {
        Step::Write(ledger, why) if why == change => *ledger,
        step => panic!("expected {change:?}, decided {step:?}"),
    }
}

/// Decides, and expects to be stuck on this.
pub(crate) fn stuck(facts: &Facts, category: Category) -> ReconcileError {
    match decide(facts) {
        Step::Stuck(error) if error.category == category => error,
        step => panic!("expected {category}, decided {step:?}"),
    }
}

/// A run that was found again has the rules of that time.
pub(crate) fn found_again(current: CurrentRun) -> CurrentRun {
    CurrentRun {
        rules_hash: Some(RULES.to_owned()),
        ..current
    }
}

/// The number and the input hash of the run that is intended.
pub(crate) fn intended(facts: &Facts) -> (i64, String) {
    let current = written(facts, Change::Intent).current.unwrap();
    (current.sequence, current.input_hash)
}

/// Facts that lead to a run each, in every way in which one begins; none may have been made before.
pub(crate) fn making_a_run() -> Vec<Facts> {
    let gone = running(run(2, "A"));
    vec![
        new_runnable("A").fresh().listing(vec![], &[]),
        with(created(2, "A"), "B").fresh(),
        with(rejected(2, "A", false), "B").fresh(),
        with(created(2, "A"), "A").asking("again").fresh(),
        with(created(2, "A"), "A")
            .fresh()
            .seeing(seen_to_go(&gone))
            .reading_absent(&name(2)),
        with(rejected(2, "A", false), "A"),
    ]
}

/// Asserts that these facts lead to a run, so that a test shows what holds it back.
pub(crate) fn is_about_to_make_a_run(facts: &Facts) {
    let due = decide(facts);
    assert!(
        matches!(
            due,
            Step::Write(_, Change::Intent | Change::Attempt) | Step::Create
        ),
        "{due:?} makes no run anyway"
    );
}
