use cartouche_engines::kinds::{self, Cancel};
use clap::Args as _;
use serde_json::{Value, json};

use super::*;

#[test]
fn each_engine_is_asked_in_its_own_way() {
    let cases = [
        (
            "tekton.dev/v1",
            "TaskRun",
            json!({ "status": "TaskRunCancelled" }),
        ),
        (
            "tekton.dev/v1beta1",
            "PipelineRun",
            json!({ "status": "Cancelled" }),
        ),
        (
            "argoproj.io/v1alpha1",
            "Workflow",
            json!({ "shutdown": "Terminate" }),
        ),
        ("batch/v1", "Job", json!({ "activeDeadlineSeconds": 1 })),
        ("v1", "Pod", json!({ "activeDeadlineSeconds": 1 })),
    ];
    for (api_version, kind, asked) in cases {
        let request = StopRequest::of_kind(api_version, kind).unwrap();
        let patch = request.patch(Some("u"), None).unwrap();
        assert_eq!(patch["spec"], asked, "{kind}");
        assert!(request.is_in(&patch), "{kind}");
        assert!(!request.is_in(&json!({ "spec": {} })), "{kind}");
    }
    for (api_version, kind) in [("v1", "ConfigMap"), ("example.dev/v1", "Job")] {
        assert_eq!(StopRequest::of_kind(api_version, kind), None, "{kind}");
    }
}

fn cancel(run: Option<i64>) -> CancelAction {
    CancelAction {
        run,
        asked: Cancellation::default(),
        templates: CancelTemplates::Known(Vec::new()),
        place: Place::default(),
    }
}

#[test]
fn an_earlier_run_that_is_at_work_is_named_and_stopped_by_its_number() {
    let job = |more: Value| {
        let mut run =
            json!({ "inputHash": "v1:a", "apiVersion": "batch/v1", "kind": "Job", "uid": "u" });
        run.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        run
    };
    let current = json!({ "sequence": 3, "name": "c", "phase": "Created", "result": "Succeeded" });
    let runnable: Runnable = serde_json::from_value(json!({
        "apiVersion": "carto.run/v1alpha1", "kind": "Runnable", "metadata": { "name": "hello" },
        "spec": { "runTemplateRef": { "name": "job" } },
        "status": {
            "currentRun": job(current),
            "unfinishedRuns": [job(json!({ "sequence": 2, "name": "b" }))],
        },
    }))
    .unwrap();
    let said = |run| match cancel(run).plan(&runnable) {
        Plan::Due => "due".to_owned(),
        Plan::Nothing(text) => text,
        Plan::Impossible(error) => error.to_string(),
    };
    let present = "run 3 of hello has already ended: Succeeded";
    let other = "; run 2 is still running: `cartouche cancel hello --run 2` stops it";
    assert_eq!(said(None), format!("{present}{other}\n"));
    assert_eq!(said(Some(3)), format!("{present}\n"));
    assert_eq!(said(Some(2)), "due");
    assert_eq!(cancel(Some(2)).meant(&runnable).unwrap().name, "b");
    assert!(
        said(Some(7)).starts_with("hello has no run 7\n"),
        "{}",
        said(Some(7))
    );
}

#[test]
fn a_run_that_is_going_to_be_tried_again_is_not_said_to_be_over() {
    let runnable = serde_json::from_value(json!({
        "apiVersion": "carto.run/v1alpha1", "kind": "Runnable", "metadata": { "name": "hello" },
        "spec": { "runTemplateRef": { "name": "job" } },
        "status": {
            "currentRun": {
                "sequence": 1, "name": "r", "inputHash": "v1:a", "apiVersion": "batch/v1", "kind": "Job",
                "phase": "Created", "uid": "u", "result": "Failed", "retryAt": "2026-01-01T00:00:10Z",
            },
            "conditions": [{
                "type": "Reconciling", "status": "True", "reason": "RetryScheduled",
                "message": "attempt 2 of 4 begins at 2026-01-01T00:00:10Z, after: it burned",
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            }],
        },
    }));
    let Plan::Impossible(error) = cancel(None).plan(&runnable.unwrap()) else {
        panic!("it is not over");
    };
    let error = error.to_string();
    for told in [
        "attempt 2 of 4",
        "cartouche suspend hello",
        "spec.retry.limit: 0",
    ] {
        assert!(error.contains(told), "{error}");
    }
}

/// Returns the way to stop a run of this kind, whose template has this spec.
fn way(kind: (&str, &str), template: &Value, templates_are_known: bool) -> String {
    let runnable: Runnable = serde_json::from_value(json!({
        "apiVersion": "carto.run/v1alpha1", "kind": "Runnable", "metadata": { "name": "hello" },
        "spec": { "runTemplateRef": { "name": "greet" } },
        "status": { "currentRun": {
            "sequence": 1, "name": "r", "inputHash": "v1:a", "apiVersion": kind.0, "kind": kind.1,
            "phase": "Created", "uid": "u",
        } },
    }))
    .unwrap();
    let template = serde_json::from_value(json!({
        "apiVersion": "carto.run/v1alpha1", "kind": "ClusterRunTemplate", "metadata": { "name": "greet" },
        "spec": template,
    }));
    let templates = if templates_are_known {
        CancelTemplates::Known(vec![template.unwrap()])
    } else {
        CancelTemplates::Unread("forbidden".to_owned())
    };
    let run = cancel(None).meant(&runnable).unwrap();
    match templates.request(&runnable, &run, "cartouche suspend hello") {
        Ok(StopRequest::Patch(spec)) => json!(spec).to_string(),
        Ok(StopRequest::Delete) => "delete".to_owned(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn a_run_is_stopped_as_its_template_says_and_else_in_the_way_of_its_kind() {
    let (job, build) = (("batch/v1", "Job"), ("example.dev/v1", "Build"));
    let making = |(api_version, kind): (&str, &str), stop: Value| {
        let metadata = json!({ "generateName": "r-" });
        let template = json!({ "apiVersion": api_version, "kind": kind, "metadata": metadata });
        json!({ "template": template, "stop": stop })
    };
    let paused = json!({ "mergePatch": { "spec": { "paused": true } } });
    let deadline = r#"{"activeDeadlineSeconds":1}"#;
    assert_eq!(way(job, &making(job, Value::Null), true), deadline);
    let ours = r#"{"paused":true}"#;
    assert_eq!(way(job, &making(job, paused.clone()), true), ours);
    assert_eq!(way(build, &making(build, paused.clone()), true), ours);
    let deleted = making(build, json!({ "delete": {} }));
    assert_eq!(way(build, &deleted, true), "delete");
    // The template makes another kind by now.
    assert_eq!(way(job, &making(build, paused.clone()), true), deadline);
    let tagged = ("example.dev/v1", "$(runnable.spec.inputs.kind)$");
    assert_eq!(way(build, &making(tagged, paused.clone()), true), ours);
    assert_eq!(way(job, &making(job, paused.clone()), false), deadline);
    let mut unreadable = making(build, paused.clone());
    unreadable["template"]["metadata"]["generateName"] = "$(runnable.".into();
    assert_eq!(way(job, &unreadable, true), deadline);
    let unknown = way(build, &making(build, Value::Null), true);
    assert!(
        unknown.contains("hint: set spec.stop in the template"),
        "{unknown}"
    );
    let unread = way(build, &making(build, paused), false);
    assert!(unread.contains("cannot be read: forbidden"), "{unread}");
}

/// Returns the rest of the message of `cancel` for a Job with this `spec`, stopped in this way.
fn left(spec: &Value, request: Option<StopRequest>) -> String {
    let runnable: Runnable = serde_json::from_value(json!({
        "apiVersion": "carto.run/v1alpha1", "kind": "Runnable", "metadata": { "name": "hello" },
        "spec": { "runTemplateRef": { "name": "greet" } },
        "status": { "currentRun": {
            "sequence": 1, "name": "r", "inputHash": "v1:a", "apiVersion": "batch/v1", "kind": "Job",
            "phase": "Created", "uid": "u",
        } },
    }))
    .unwrap();
    let job = json!({ "apiVersion": "batch/v1", "kind": "Job", "spec": spec });
    let request = request.or_else(|| StopRequest::of_kind("batch/v1", "Job"));
    left_to_controller(
        &cancel(None).meant(&runnable).unwrap(),
        &request.unwrap(),
        standing(&job),
    )
}

#[test]
fn of_a_run_that_does_not_heed_its_stop_it_is_said_who_deletes_it() {
    let queued = json!({ "suspend": true });
    let said = left(&queued, None);
    assert!(said.starts_with(": it is queued (spec.suspend is true)"));
    assert!(said.ends_with("the controller deletes it in about a minute"));
    assert_eq!(left(&queued, Some(StopRequest::Delete)), "");
    assert_eq!(left(&json!({}), None), "");
    let elsewhere = json!({ "managedBy": "kueue.x-k8s.io/multikueue" });
    assert!(left(&elsewhere, None).contains("ignores that in its present state"));
    // The template knows how to stop that kind.
    let patch = StopRequest::Patch(json!({ "paused": true }).as_object().unwrap().clone());
    assert_eq!(left(&elsewhere, Some(patch.clone())), "");
    assert!(left(&queued, Some(patch)).contains("it is queued"));
}

#[test]
fn the_help_names_each_kind_that_can_be_stopped() {
    let command = CancelArgs::augment_args(clap::Command::new("cancel"));
    let help = command.get_after_help().unwrap().to_string();
    for known in kinds::all() {
        if let (Some(kind), Cancel::Word { .. } | Cancel::Deadline { .. }) =
            (known.kind, known.cancel)
        {
            assert!(help.contains(kind), "{kind}");
        }
    }
}
