//! Runs and ledger entries for tests. A run's content is named by its input: "A", "B" ...

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use cartouche_crds::{
    ClusterRunTemplateSpec, CurrentRun, HistoryEntry, OutputsFrom, RunPhase, RunResult,
};
use cartouche_engines::{Health, PodsTell, Verdict};
use cartouche_language::{HashVersion, Hashing, name_suffix};
use cartouche_templating::{Context, Rendered, Sourced, Template, secret_mark};
use k8s_openapi::{
    apimachinery::pkg::apis::meta::v1::Time,
    jiff::{SignedDuration, Timestamp},
};
use serde_json::{Value, json};

use crate::ledger::{Asked, FetchedRun, Intent, Ledger, OutputsRead, PodsSaid, RunIdentity};
use crate::messages::diagnosis::Fault;

pub(crate) const RUNNABLE: &str = "0f5c9f62-2b0e-4c8e-a2d4-7a2a1f6a3c10";
pub(crate) const API_VERSION: &str = "example.dev/v1";
pub(crate) const KIND: &str = "Build";
pub(crate) const RULES: &str = "rules";

/// Returns the time so many seconds after a fixed beginning.
pub(crate) fn at(seconds: i64) -> Timestamp {
    let beginning: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
    beginning + SignedDuration::from_secs(seconds)
}

#[expect(
    clippy::unnecessary_wraps,
    reason = "all times in a ledger are optional"
)]
pub(crate) fn time(seconds: i64) -> Option<Time> {
    Some(Time(at(seconds)))
}

/// The rendered document for an input.
pub(crate) fn document(input: &str) -> Rendered {
    static KNOWN: Mutex<BTreeMap<String, Rendered>> = Mutex::new(BTreeMap::new());
    let mut known = KNOWN.lock().unwrap();
    let render = || rendered(&json!({ "generateName": "build-" }), input);
    known.entry(input.to_owned()).or_insert_with(render).clone()
}

/// The same under a template that gives its runs a fixed name.
pub(crate) fn document_with_fixed_name(input: &str) -> Rendered {
    rendered(&json!({ "name": "only" }), input)
}

/// The rendered document for an input, as the next release hashes it.
pub(crate) fn document_of_next(input: &str) -> Rendered {
    let next = Hashing {
        own: HashVersion::Next,
        former: Some(HashVersion::V1),
    };
    hashed(&json!({ "generateName": "build-" }), input, next)
}

fn rendered(metadata: &Value, input: &str) -> Rendered {
    hashed(metadata, input, Hashing::default())
}

fn hashed(metadata: &Value, input: &str, hashing: Hashing) -> Rendered {
    let spec = ClusterRunTemplateSpec {
        unknown_fields: Vec::new(),
        profile: None,
        runner: None,
        requires: None,
        template: json!({
            "apiVersion": API_VERSION, "kind": KIND, "metadata": metadata, "spec": { "input": input },
        }),
        outputs: None,
        input_schema: None,
        optional_outputs: None,
        sensitive_outputs: None,
        failure_outputs: None,
        health_rule: None,
        retry: None,
        timeout: None,
        concurrency_policy: None,
        approval: None,
        start: None,
        stop: None,
    };
    let runnable = json!({ "metadata": { "name": "r", "namespace": "default" }, "spec": {} });
    let template = Template::compile(&spec).unwrap();
    let context = Context::new(&runnable, None).unwrap().with_hashing(hashing);
    template.render(&context).unwrap()
}

/// A document that refers to a value of a Secret.
pub(crate) fn document_with_secret() -> Rendered {
    let spec = json!({ "template": {
        "apiVersion": API_VERSION, "kind": KIND, "metadata": { "generateName": "build-" },
        "spec": { "input": "$(runnable.spec.inputs.password)$" },
    } });
    let spec: ClusterRunTemplateSpec = serde_json::from_value(spec).unwrap();
    let runnable = json!({
        "metadata": { "name": "r", "namespace": "default" },
        "spec": { "inputsFrom": [{ "name": "password" }] },
    });
    let secret = Sourced::secret("db", "password", secret_mark("u", "password", b"1234"));
    let sourced = [("password".to_owned(), secret)].into();
    let context = Context::new(&runnable, None).unwrap();
    let context = context.with_sources(&sourced).unwrap();
    Template::compile(&spec).unwrap().render(&context).unwrap()
}

pub(crate) fn hash(input: &str) -> String {
    document(input).input_hash().to_owned()
}

pub(crate) fn intent(input: &str) -> Intent {
    Intent {
        profile: None,
        input_hash: hash(input),
        approved: None,
        rerun_token: None,
        api_version: API_VERSION.to_owned(),
        kind: KIND.to_owned(),
        rules_hash: RULES.to_owned(),
        attempt: 1,
    }
}

pub(crate) fn name(sequence: i64) -> String {
    format!("build-{}", name_suffix(RUNNABLE, sequence))
}

pub(crate) fn uid(sequence: i64) -> String {
    format!("uid-{sequence}")
}

/// A current run whose object exists and runs.
pub(crate) fn created(sequence: i64, input: &str) -> CurrentRun {
    CurrentRun {
        sources: None,
        sequence,
        input_hash: hash(input),
        approved: None,
        rerun_token: None,
        phase: RunPhase::Created,
        attempted: true,
        api_version: API_VERSION.to_owned(),
        kind: KIND.to_owned(),
        name: name(sequence),
        uid: Some(uid(sequence)),
        intent_at: None,
        started_at: time(sequence),
        finished_at: None,
        result: None,
        rules_hash: None,
        attempt: 1,
        retry_at: None,
        stop: None,
        unknown_fields: cartouche_crds::UnknownFields::default(),
    }
}

/// A current run that has ended.
pub(crate) fn ended(sequence: i64, input: &str, result: RunResult) -> CurrentRun {
    CurrentRun {
        result: Some(result),
        finished_at: time(sequence),
        ..created(sequence, input)
    }
}

/// A current run whose create may have been sent.
pub(crate) fn pending(sequence: i64, input: &str) -> CurrentRun {
    CurrentRun {
        phase: RunPhase::Pending,
        uid: None,
        intent_at: time(sequence),
        started_at: None,
        ..created(sequence, input)
    }
}

/// A current run that was refused; `attempted` if an earlier create may still land.
pub(crate) fn rejected(sequence: i64, input: &str, attempted: bool) -> CurrentRun {
    CurrentRun {
        phase: RunPhase::Rejected,
        attempted,
        ..pending(sequence, input)
    }
}

/// An earlier run that has not ended.
pub(crate) fn unfinished(sequence: i64, input: &str) -> HistoryEntry {
    HistoryEntry {
        sources: None,
        sequence,
        input_hash: hash(input),
        api_version: API_VERSION.to_owned(),
        kind: KIND.to_owned(),
        name: name(sequence),
        uid: Some(uid(sequence)),
        result: None,
        started_at: time(sequence),
        intent_at: None,
        taken_by: None,
        finished_at: None,
        message: String::new(),
        rules_hash: None,
        rerun_token: None,
        unknown: Vec::new(),
        attempt: 1,
        stop: None,
        unknown_fields: cartouche_crds::UnknownFields::default(),
    }
}

/// An earlier run that has ended.
pub(crate) fn finished(sequence: i64, result: RunResult) -> HistoryEntry {
    HistoryEntry {
        result: Some(result),
        finished_at: time(sequence),
        ..unfinished(sequence, "old")
    }
}

/// An earlier run whose create had an unknown outcome.
pub(crate) fn unseen(sequence: i64, input: &str) -> HistoryEntry {
    HistoryEntry {
        uid: None,
        ..unfinished(sequence, input)
    }
}

pub(crate) fn ledger(current: CurrentRun, history: Vec<HistoryEntry>) -> Ledger {
    Ledger {
        current: Some(current),
        history: history.into(),
        ..Ledger::default()
    }
}

pub(crate) fn outputs_from(sequence: i64) -> OutputsFrom {
    OutputsFrom {
        sources: None,
        sequence,
        name: name(sequence),
        uid: uid(sequence),
        rules_hash: RULES.to_owned(),
        unknown_fields: cartouche_crds::UnknownFields::default(),
    }
}

/// The identity of the object of a sequence.
pub(crate) fn run(sequence: i64, input: &str) -> RunIdentity {
    RunIdentity {
        profile: None,
        api_version: API_VERSION.to_owned(),
        kind: KIND.to_owned(),
        name: name(sequence),
        uid: uid(sequence),
        owner_uid: Some(RUNNABLE.to_owned()),
        sequence: Some(sequence),
        input_hash: Some(hash(input)),
        rerun_token: None,
        created: Some(at(sequence)),
        made_with_status: false,
    }
}

/// A run that Cartographer made.
pub(crate) fn unlabelled(name: &str, created: i64) -> RunIdentity {
    RunIdentity {
        name: name.to_owned(),
        uid: format!("uid-{name}"),
        sequence: None,
        input_hash: None,
        created: Some(at(created)),
        ..run(1, "old")
    }
}

pub(crate) fn health(verdict: Verdict) -> Health {
    Health {
        verdict,
        reason: "SucceededCondition".to_owned(),
        message: format!("{verdict:?}"),
        cause: String::new(),
        pods: None,
        discreet: None,
    }
}

pub(crate) fn fetched(run: RunIdentity, verdict: Verdict, outputs: OutputsRead) -> FetchedRun {
    FetchedRun {
        run,
        health: health(verdict),
        outputs,
        sensitive: cartouche_engines::Sensitive::default(),
        failure: None,
        rules_hash: Arc::from(RULES),
        matches: false,
        pods_tell: PodsTell::Nothing,
        pods_said: PodsSaid::Nothing,
        controller: None,
        stopped: None,
        asked: Asked::No,
        standing: cartouche_engines::kinds::Standing::FREE,
        version: None,
    }
}

pub(crate) fn running(run: RunIdentity) -> FetchedRun {
    fetched(run, Verdict::Unknown, OutputsRead::None)
}

pub(crate) fn failed(run: RunIdentity) -> FetchedRun {
    fetched(run, Verdict::Failed, OutputsRead::None)
}

/// A run that succeeded with one output of this value.
pub(crate) fn succeeded(run: RunIdentity, value: &str) -> FetchedRun {
    fetched(run, Verdict::Succeeded, OutputsRead::Values(values(value)))
}

/// A run that succeeded without the output that its template declares.
pub(crate) fn lacking(run: RunIdentity) -> FetchedRun {
    fetched(
        run,
        Verdict::Succeeded,
        OutputsRead::Unsatisfied {
            why: "no such path".to_owned(),
            faults: vec![Fault {
                what: "no path".to_owned(),
                place: String::new(),
                cure: Some("correct it".to_owned()),
            }],
        },
    )
}

pub(crate) fn values(value: &str) -> BTreeMap<String, Value> {
    BTreeMap::from([("out".to_owned(), json!(value))])
}
