//! Builders of histories, and of their parts.

use std::sync::Arc;

use cartouche_crds::{CurrentRun, HistoryEntry, OutputsFrom, RunPhase, RunnableStatus};
use cartouche_oracle::{
    Actor::{self, Controller, Person},
    Event, Excuse, Object, Past, Run, Runnable, Sight, Verb, Verdict,
};
use k8s_openapi::{apimachinery::pkg::apis::meta::v1::Time, jiff::Timestamp};
use serde_json::json;

/// A history in the making: each event is a second after the previous one.
pub struct History {
    pub past: Past,
    pub now: u64,
    pub approved: Option<String>,
    pub refresh: Option<String>,
}

impl History {
    pub fn new(sight: Sight) -> Self {
        Self {
            past: Past::new(sight),
            now: 0,
            approved: None,
            refresh: None,
        }
    }

    /// Returns a Runnable whose first run was made, recorded, and has succeeded.
    pub fn begun() -> Self {
        let created = intent(1, "v1:a");
        Self::new(Sight::Whole)
            .write(intent(1, "v1:a"))
            .make(run(1, "v1:a", "one"))
            .write(current(created, "one"))
            .end("one", true)
    }

    pub fn tell(mut self, actor: Actor, verb: Verb, object: Object) -> Self {
        self.now += 1;
        self.past.tell(Event {
            at: self.now,
            second: Some(self.now.cast_signed()),
            actor,
            verb,
            object,
        });
        self
    }

    pub fn later(mut self, seconds: u64) -> Self {
        self.now += seconds;
        self
    }

    pub fn status(self, actor: Actor, verb: Verb, status: RunnableStatus) -> Self {
        let runnable = Runnable {
            uid: "app".to_owned(),
            approved: self.approved.clone(),
            refresh: self.refresh.clone(),
            status: Arc::new(status),
        };
        self.tell(actor, verb, Object::Runnable(runnable))
    }

    pub fn write(self, status: RunnableStatus) -> Self {
        self.status(Controller, Verb::Changed, status)
    }

    pub fn edit(self, status: RunnableStatus) -> Self {
        self.status(Person, Verb::Changed, status)
    }

    pub fn make(self, run: Run) -> Self {
        self.tell(Controller, Verb::Created, Object::Run(run))
    }

    pub fn see(self, run: Run) -> Self {
        self.tell(Controller, Verb::Changed, Object::Run(run))
    }

    pub fn give_up(self, run: Run) -> Self {
        let asked = Run {
            uid: String::new(),
            ..run
        };
        self.tell(Controller, Verb::GivenUp, Object::Run(asked))
    }

    pub fn end(self, uid: &str, succeeded: bool) -> Self {
        let ended = Run {
            result: Some(succeeded),
            ..run(0, "", uid)
        };
        self.tell(Person, Verb::Changed, Object::Run(ended))
    }

    pub fn delete(self, actor: Actor, uid: &str) -> Self {
        self.tell(actor, Verb::Deleted, Object::Run(run(0, "", uid)))
    }

    pub fn ask_to_stop(mut self, uid: &str) -> Self {
        self.past.tell_stop(uid);
        self
    }

    pub fn asking_to_refresh(mut self, token: &str) -> Self {
        self.refresh = Some(token.to_owned());
        self
    }

    pub fn template(self, kind: &str) -> Self {
        let (name, kind) = ("t".to_owned(), kind.to_owned());
        self.tell(Person, Verb::Changed, Object::Template { name, kind })
    }

    pub fn found(self) -> (Vec<&'static str>, Vec<Excuse>) {
        told(self.past.verdict())
    }
}

pub fn told(verdict: Verdict) -> (Vec<&'static str>, Vec<Excuse>) {
    let violations = verdict.violations.iter().map(|it| it.property);
    (violations.collect(), verdict.excused.into_keys().collect())
}

#[track_caller]
pub fn breaks(property: &str, history: History) {
    let verdict = history.past.verdict();
    let all: Vec<_> = verdict.violations.iter().map(|it| it.property).collect();
    assert_eq!(all, [property], "{verdict:#?}");
}

#[track_caller]
pub fn holds(history: History) {
    assert_eq!(history.found(), (vec![], vec![]));
}

#[track_caller]
pub fn is_excused(history: History, excuse: Excuse) {
    assert_eq!(history.found(), (vec![], vec![excuse]));
}

pub fn run(number: i64, hash: &str, uid: &str) -> Run {
    Run {
        uid: uid.to_owned(),
        runnable: "app".to_owned(),
        kind: "Task".to_owned(),
        name: format!("app-{number}"),
        number: Some(number),
        hash: hash.to_owned(),
        content: Some(hash.to_owned()),
        created: Some(0),
        ..Run::default()
    }
}

/// Returns a ledger with a run that was not made yet.
pub fn intent(number: i64, hash: &str) -> RunnableStatus {
    let current = CurrentRun {
        sources: None,
        sequence: number,
        input_hash: hash.to_owned(),
        approved: None,
        rerun_token: None,
        phase: RunPhase::Pending,
        attempted: false,
        api_version: "test/v1".to_owned(),
        kind: "Task".to_owned(),
        name: format!("app-{number}"),
        uid: None,
        intent_at: Timestamp::from_second(100).ok().map(Time),
        started_at: None,
        finished_at: None,
        result: None,
        rules_hash: None,
        attempt: 1,
        stop: None,
        retry_at: None,
        unknown_fields: cartouche_crds::UnknownFields::default(),
    };
    RunnableStatus {
        current_run: Some(current),
        observed_generation: Some(1),
        ..RunnableStatus::default()
    }
}

/// Confirms the current run.
pub fn current(mut status: RunnableStatus, uid: &str) -> RunnableStatus {
    if let Some(run) = &mut status.current_run {
        run.uid = Some(uid.to_owned());
        run.phase = RunPhase::Created;
    }
    status
}

pub fn earlier(mut status: RunnableStatus, number: i64, hash: &str, uid: &str) -> RunnableStatus {
    let entry = json!({
        "sequence": number, "inputHash": hash, "apiVersion": "test/v1", "kind": "Task",
        "name": format!("app-{number}"), "uid": uid,
    });
    let entry: HistoryEntry = serde_json::from_value(entry).unwrap();
    status.history_mut().push(entry);
    status
}

pub fn gives(mut status: RunnableStatus, number: i64, uid: &str) -> RunnableStatus {
    status.outputs = serde_json::from_value(json!({ "answer": uid })).unwrap();
    status.outputs_from = Some(OutputsFrom {
        sources: None,
        sequence: number,
        name: format!("app-{number}"),
        uid: uid.to_owned(),
        rules_hash: String::new(),
        unknown_fields: cartouche_crds::UnknownFields::default(),
    });
    status
}

/// Returns a ledger whose first run has succeeded, and whose second is intended.
pub fn second() -> RunnableStatus {
    earlier(intent(2, "v1:b"), 1, "v1:a", "one")
}

pub fn empty() -> RunnableStatus {
    RunnableStatus::default()
}
