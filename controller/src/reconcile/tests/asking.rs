//! Tests of requests for runs and their pods, and of their number.

mod events;

use std::sync::{Arc, Mutex};

use cartouche_crds::{
    ClusterRunTemplate, INPUT_HASH_ANNOTATION, RUN_SEQUENCE_LABEL, RUNNABLE_NAME_LABEL, Runnable,
};
use cartouche_protocol::{
    category::Category,
    compiled::Compiled,
    facts::{NameRead, Rendering},
    ledger::{Cause, PodsSaid, RunName},
    messages::{
        diagnosis::{Denied, Diagnosis, Who},
        reconcile_error::{ReconcileError, Requeue},
    },
};
use cartouche_templating::Context;
use http::{Method, Request, StatusCode};
use kube::client::Body;
use serde_json::{Value, json};

use super::super::{ControllerContext, reconciliation::Reconciliation};
use super::{kinds, serving};
use crate::clock::{boot_time, moment};

type Answer = (StatusCode, Value);

/// Requests, as method and path.
type Asked = Arc<Mutex<Vec<String>>>;

fn compiled() -> Compiled {
    let template: ClusterRunTemplate = serde_json::from_value(json!({
        "metadata": { "name": "t", "uid": "t" },
        "spec": { "template": {
            "apiVersion": "batch/v1", "kind": "Job", "metadata": { "generateName": "app-" },
            "spec": { "branch": "$(runnable.spec.inputs.branch)$" },
        } },
    }))
    .unwrap();
    Compiled::new(&template)
}

/// Renders the template for a branch.
fn rendering(branch: &str) -> Rendering {
    let compiled = compiled();
    let runnable = json!({ "metadata": { "name": "app", "namespace": "ns" }, "spec": { "inputs": { "branch": branch } } });
    let context = Context::new(&runnable, None).unwrap();
    let document = compiled.template.unwrap().render(&context).unwrap();
    Rendering {
        context: std::sync::Arc::default(),
        needs_profile: false,
        consistent: true,
        document: Arc::new(document),
        rules_hash: compiled.rules_hash,
        has_outputs: false,
        has_health_rule: false,
        cause: Cause {
            generation: 1,
            template_uid: "t".to_owned(),
            template_generation: 1,
            ancestors: None,
        },
    }
}

fn hash(branch: &str) -> String {
    rendering(branch).document.input_hash().to_owned()
}

fn runnable(status: &Value) -> Runnable {
    let object = json!({
        "metadata": { "namespace": "ns", "name": "app", "uid": "r", "resourceVersion": "1" },
        "spec": { "runTemplateRef": { "name": "t" } },
        "status": status,
    });
    serde_json::from_value(object).unwrap()
}

/// Ledger entry of the second run in a phase.
fn entry(phase: &str) -> Value {
    let mut entry = json!({
        "sequence": 2, "inputHash": hash("main"), "phase": phase, "apiVersion": "batch/v1", "kind": "Job", "name": "app-2",
    });
    if phase == "Created" {
        entry["uid"] = "run-2".into();
    }
    entry
}

/// A reconciliation that has rendered a branch.
fn reconciling<'a>(
    ctx: &'a ControllerContext,
    status: &Value,
    branch: &str,
) -> Box<Reconciliation<'a>> {
    let mut begun = Reconciliation::begin(ctx, Arc::new(runnable(status)), moment()).unwrap();
    begun.account = Some(ctx.identity.own().clone());
    begun.compiled = Some(Arc::new(compiled()));
    begun.facts.rendering = Ok(rendering(branch));
    begun
}

fn job(sequence: i64) -> RunName {
    RunName {
        api_version: "batch/v1".to_owned(),
        kind: "Job".to_owned(),
        name: format!("app-{sequence}"),
    }
}

/// Answers of an API server on which the second run, a Job or a Pod, has failed, and its pod says why.
fn failed(request: &Request<Body>) -> Answer {
    let ended = json!({ "exitCode": 3, "message": "boom" });
    let of_pod = json!({ "phase": "Failed", "containerStatuses": [{ "name": "c", "state": { "terminated": ended } }] });
    let of_job = json!({ "conditions": [{ "type": "Failed", "status": "True", "reason": "BackoffLimitExceeded" }] });
    let run = |api_version: &str, kind: &str, status: &Value| {
        json!({
            "apiVersion": api_version, "kind": kind,
            "metadata": {
                "namespace": "ns", "name": "app-2", "uid": "run-2",
                "labels": { RUNNABLE_NAME_LABEL: "app", RUN_SEQUENCE_LABEL: "2" },
                "annotations": { INPUT_HASH_ANNOTATION: hash("main") },
            },
            "status": status,
        })
    };
    let pod = json!({
        "metadata": {
            "name": "p", "labels": { "batch.kubernetes.io/controller-uid": "run-2" },
            "ownerReferences": [{ "apiVersion": "batch/v1", "kind": "Job", "uid": "run-2", "controller": true }],
        },
        "status": of_pod,
    });
    let body = match request.uri().path() {
        "/apis/batch/v1" => kinds("batch/v1", "Job", "jobs"),
        "/apis/batch/v1/namespaces/ns/jobs/app-2" => run("batch/v1", "Job", &of_job),
        "/api/v1" => kinds("v1", "Pod", "pods"),
        "/api/v1/namespaces/ns/pods/app-2" => run("v1", "Pod", &of_pod),
        "/api/v1/namespaces/ns/pods" => json!({ "metadata": {}, "items": [pod] }),
        _ => return (StatusCode::NOT_FOUND, json!({})),
    };
    (StatusCode::OK, body)
}

/// Returns the message of the second run's pods after a read of the run.
async fn learnt(status: &Value, branch: &str) -> String {
    match said(failed, status, branch).await {
        PodsSaid::Words(said) => said.words,
        silence => panic!("{silence:?}"),
    }
}

async fn said(server: fn(&Request<Body>) -> Answer, status: &Value, branch: &str) -> PodsSaid {
    let ctx = serving(server);
    let mut reading = reconciling(&ctx, status, branch);
    reading.read_run(job(2)).await.unwrap();
    let read = reading.facts.fetched_run("run-2").unwrap();
    read.pods_said.clone()
}

#[tokio::test]
async fn a_run_that_failed_before_it_was_confirmed_says_its_last_words_like_any_other() {
    for phase in ["Created", "Pending", "Rejected"] {
        let said = learnt(&json!({ "currentRun": entry(phase) }), "main").await;
        assert_eq!(said, "container c of pod p exited 3: boom", "{phase}");
    }
}

#[tokio::test]
async fn what_is_said_before_it_is_confirmed_is_kept_for_when_its_pods_are_gone() {
    let ctx = serving(failed);
    let status = json!({ "currentRun": entry("Pending") });
    let mut reading = reconciling(&ctx, &status, "main");
    reading.read_run(job(2)).await.unwrap();
    let said = reading
        .memory
        .lock()
        .unwrap()
        .pods
        .for_run("run-2")
        .record_cause(Ok(None), false);
    assert_eq!(
        said,
        PodsSaid::Words("container c of pod p exited 3: boom".into())
    );
}

/// Answers as after an eviction: the pod is deleted before the Job has failed.
fn without_pods(request: &Request<Body>) -> Answer {
    let (code, mut body) = failed(request);
    match request.uri().path() {
        "/api/v1/namespaces/ns/pods" => body["items"] = json!([]),
        "/apis/batch/v1/namespaces/ns/jobs/app-2" => body["status"]["failed"] = 1.into(),
        _ => {}
    }
    (code, body)
}

#[tokio::test]
async fn that_the_pods_of_a_failed_job_are_gone_is_said_and_is_no_reason() {
    let status = json!({ "currentRun": entry("Created") });
    let said = said(without_pods, &status, "main").await;
    assert!(
        matches!(&said, PodsSaid::Unasked(why) if why.contains("are gone")),
        "{said:?}"
    );
}

/// The selector of the earlier run may have been another one.
#[tokio::test]
async fn a_run_of_something_else_than_what_is_rendered_now_may_hold_a_secret() {
    let mut superseded = entry("Created");
    superseded.as_object_mut().unwrap().remove("phase");
    let next = json!({
        "sequence": 3, "inputHash": hash("other"), "phase": "Pending", "apiVersion": "batch/v1", "kind": "Job", "name": "app-3",
    });
    let earlier = json!({ "currentRun": next, "unfinishedRuns": [superseded] });
    let statuses = [
        (json!({ "currentRun": entry("Created") }), "other"),
        (json!({ "currentRun": entry("Pending") }), "other"),
        (earlier.clone(), "other"),
        (earlier, "main"),
    ];
    assert_eq!(runnable(&statuses[2].0).status.unwrap().history.len(), 1);
    for (status, branch) in statuses {
        let said = learnt(&status, branch).await;
        assert_eq!(said, "container c of pod p exited 3", "{status}");
    }
}

/// Returns the message of a Pod that is the second run itself.
async fn said_by_pod(branch: &str, selected: &str) -> String {
    let ctx = serving(failed);
    let mut current = entry("Created");
    (current["apiVersion"], current["kind"]) = ("v1".into(), "Pod".into());
    let mut reading = reconciling(&ctx, &json!({ "currentRun": current }), branch);
    let selector = json!({ "resource": { "apiVersion": "v1", "kind": selected }, "matchingLabels": { "a": "b" } });
    Arc::make_mut(&mut reading.runnable).spec.selector = serde_json::from_value(selector).unwrap();
    let name = RunName {
        api_version: "v1".to_owned(),
        kind: "Pod".to_owned(),
        ..job(2)
    };
    reading.read_run(name).await.unwrap();
    let found = reading.facts.fetched_run("run-2").unwrap();
    found.health.message.clone()
}

#[tokio::test]
async fn a_pod_that_is_a_run_does_not_repeat_a_secret_either() {
    let discreet = "container c of pod app-2 exited 3";
    assert_eq!(
        said_by_pod("main", "ConfigMap").await,
        format!("{discreet}: boom")
    );
    assert_eq!(said_by_pod("main", "Secret").await, discreet);
    assert_eq!(said_by_pod("other", "ConfigMap").await, discreet);
}

#[tokio::test]
async fn a_run_that_may_not_be_read_is_looked_for_once_in_a_while() {
    let ctx = serving(|request| match request.uri().path() {
        "/apis/batch/v1" => (StatusCode::OK, kinds("batch/v1", "Job", "jobs")),
        _ => (StatusCode::FORBIDDEN, json!({})),
    });
    let earlier = json!({
        "sequence": 1, "inputHash": "v1:A", "apiVersion": "batch/v1", "kind": "Job", "name": "app-1", "uid": "run-1",
    });
    let status = json!({ "currentRun": entry("Created"), "unfinishedRuns": [earlier] });
    let mut reading = reconciling(&ctx, &status, "main");
    assert!(reading.facts.looked_for.is_empty());
    reading.read_run(job(1)).await.unwrap();
    assert_eq!(reading.facts.reads.get(&job(1)), Some(&NameRead::Denied));
    let next = reconciling(&ctx, &status, "main");
    assert_eq!(next.facts.looked_for, ["run-1".to_owned()].into());
    let mut memory = next.memory.lock().unwrap();
    let later = memory.looked_for.lately(ctx.poll, boot_time() + ctx.poll);
    assert!(later.is_empty());
}

#[tokio::test]
async fn an_account_whose_permissions_nobody_tells_is_not_asked_for_them_again_at_once() {
    let asked = Asked::default();
    for answer in [
        (StatusCode::INTERNAL_SERVER_ERROR, json!({})),
        (
            StatusCode::CREATED,
            json!({ "status": { "incomplete": true } }),
        ),
    ] {
        let (heard, answer) = (asked.clone(), answer.clone());
        let ctx = serving(move |request| {
            if request.method() == Method::POST {
                heard.lock().unwrap().push(request.uri().path().to_owned());
            }
            answer.clone()
        });
        let stuck = reconciling(&ctx, &json!({}), "main");
        let who = Who::Account("ns".to_owned(), "default".to_owned(), "app".to_owned());
        let denied = vec![Denied::one("create", "jobs.batch")];
        let error = ReconcileError::from_diagnosis(
            Category::StampedObjectRejectedByAPIServer,
            Requeue::OnRbac,
            Diagnosis::Forbidden(who, denied),
            None,
        );
        for _ in 0..3 {
            let told = stuck.with_all_missing(error.clone()).await;
            assert_eq!(told, error);
        }
    }
    let review = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews";
    assert_eq!(*asked.lock().unwrap(), [review, review], "once each");
}

#[tokio::test]
async fn where_outputs_cannot_be_read_all_that_is_missing_is_asked_for_too() {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let heard = asked.clone();
    let ctx = serving(move |request| {
        if request.method() == Method::POST {
            heard.lock().unwrap().push(request.uri().path().to_owned());
        }
        (StatusCode::INTERNAL_SERVER_ERROR, json!({}))
    });
    let stuck = reconciling(&ctx, &json!({}), "main");
    let who = Who::Account("ns".to_owned(), "default".to_owned(), "app".to_owned());
    let denied = Diagnosis::Forbidden(who, vec![Denied::one("list", "pods")]);
    let cause = Diagnosis::OutputsUnread("app-1".to_owned(), Box::new(denied));
    let category = Category::OutputPathNotSatisfied;
    let error = ReconcileError::from_diagnosis(category, Requeue::OnRbac, cause, None);
    stuck.with_all_missing(error).await;
    assert_eq!(asked.lock().unwrap().len(), 1);
}
