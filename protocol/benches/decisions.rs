//! Cost of a decision and of a report, by the length of the ledger's history: at most 200 entries. Neither may grow
//! faster than the history.
//!
//! `cargo bench --package cartouche-protocol`

use std::sync::Arc;

use cartouche_crds::{ClusterRunTemplateSpec, RunnableStatus};
use cartouche_protocol::{
    decide::decide,
    facts::{Facts, Remembered, Rendering, RunnableFacts, WatchState},
    ledger::{BreakerLimits, Cause},
    status,
};
use cartouche_templating::{Context, Rendered, Template};
use divan::{Bencher, black_box};
use serde_json::{Value, json};

const ENTRIES: [usize; 4] = [0, 10, 50, 200];

fn main() {
    divan::main();
}

/// A benchmark that cannot begin is broken.
fn fail<T>(error: &dyn std::fmt::Display) -> T {
    eprintln!("error: {error}");
    std::process::exit(1)
}

fn rendered() -> Rendered {
    let spec: ClusterRunTemplateSpec = serde_json::from_value(json!({
        "template": { "apiVersion": "example.com/v1", "kind": "Build", "metadata": { "generateName": "build-" }, "spec": {} },
    }))
    .unwrap_or_else(|error| fail(&error));
    let runnable = json!({
        "metadata": { "name": "hello", "namespace": "default" },
        "spec": { "runTemplateRef": { "name": "build" } },
    });
    let context = Context::new(&runnable, None).unwrap_or_else(|error| fail(&error));
    let template = Template::compile(&spec).unwrap_or_else(|error| fail(&error));
    template
        .render(&context)
        .unwrap_or_else(|error| fail(&error))
}

fn run(sequence: usize, hash: &str) -> Value {
    json!({
        "sequence": sequence, "inputHash": hash, "apiVersion": "example.com/v1", "kind": "Build",
        "name": format!("build-{sequence}"), "uid": format!("uid-{sequence}"), "result": "Succeeded",
        "startedAt": "2026-01-01T00:00:00Z", "finishedAt": "2026-01-01T00:00:01Z",
    })
}

/// A Runnable whose last run has succeeded, with so many runs before it.
fn settled(entries: usize, hash: Option<&str>) -> Facts {
    let document = rendered();
    let times = "2026-01-01T00:00:00Z 2026-01-01T00:00:01Z";
    let history: Vec<String> = (1..=entries)
        .map(|number| {
            format!(
                "{number} Succeeded example.com/v1/Build/build-{number} uid-{number} {times} v1:0"
            )
        })
        .collect();
    let mut current = run(entries + 1, hash.unwrap_or(document.input_hash()));
    current["phase"] = "Created".into();
    let status: RunnableStatus = serde_json::from_value(json!({
        "observedGeneration": 1, "currentRun": current, "history": history,
    }))
    .unwrap_or_else(|error| fail(&error));
    let runnable = RunnableFacts {
        namespace: "default".to_owned(),
        name: "hello".to_owned(),
        uid: "0b8f".to_owned(),
        generation: 1,
        template: "build".to_owned(),
        ..RunnableFacts::default()
    };
    let limits = BreakerLimits { max_runs: 30 };
    Facts {
        now: "2026-01-01T00:10:00Z".parse().ok(),
        rendering: Ok(Rendering {
            context: std::sync::Arc::default(),
            needs_profile: false,
            consistent: true,
            document: Arc::new(document),
            rules_hash: "rules".into(),
            has_outputs: false,
            has_health_rule: false,
            cause: Cause {
                generation: 1,
                template_uid: "t".to_owned(),
                template_generation: 1,
                ancestors: None,
            },
        }),
        watch: WatchState::Synced,
        grace_over: true,
        ..Facts::first(runnable, Arc::new(status), Remembered::default(), limits)
    }
}

/// Nothing has changed.
#[divan::bench(args = ENTRIES)]
fn decide_nothing(bencher: Bencher, entries: usize) {
    let facts = settled(entries, None);
    bencher.bench_local(|| decide(black_box(&facts)));
}

/// The rendering has changed: the intent of a new run.
#[divan::bench(args = ENTRIES)]
fn decide_intent(bencher: Bencher, entries: usize) {
    let facts = settled(entries, Some("v1:1"));
    bencher.bench_local(|| decide(black_box(&facts)));
}

#[divan::bench(args = ENTRIES)]
fn report_status(bencher: Bencher, entries: usize) {
    let facts = settled(entries, None);
    bencher.bench_local(|| status::status(black_box(&facts), &facts.ledger, None));
}
