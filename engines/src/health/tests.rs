#![allow(
    clippy::needless_pass_by_value,
    reason = "values are written in the calls"
)]

use Verdict::{Failed, Succeeded, Unknown};
use cartouche_crds::HealthRule;
use serde_json::{Value, json};

mod judged;
mod unmet;

use cartouche_language::Diagnostic;

use super::*;

fn rule(rule: Value) -> CompiledRule {
    let rule: HealthRule = serde_json::from_value(rule).unwrap();
    let mut problems = Vec::new();
    let compiled = CompiledRule::compile(&rule, &mut problems);
    assert_eq!(problems, []);
    compiled.unwrap()
}

fn problems(rule: Value) -> Vec<String> {
    let rule: HealthRule = serde_json::from_value(rule).unwrap();
    let mut problems = Vec::new();
    CompiledRule::compile(&rule, &mut problems);
    problems.iter().map(Diagnostic::to_string).collect()
}

fn run(api_version: &str, kind: &str, status: Value) -> Value {
    json!({ "apiVersion": api_version, "kind": kind, "status": status })
}

fn health(rule: Option<&CompiledRule>, run: &Value) -> Health {
    let text = |field: &str| run.get(field).and_then(Value::as_str).unwrap_or_default();
    super::health(rule, (text("apiVersion"), text("kind")), run)
}

fn condition(kind: &str, status: &str, message: &str) -> Value {
    json!({ "conditions": [{ "type": kind, "status": status, "message": message }] })
}

fn said(health: &Health) -> (Verdict, &str, &str) {
    (health.verdict, &health.reason, &health.message)
}

#[test]
fn a_succeeded_condition_decides_for_every_kind() {
    for (status, verdict) in [("True", Succeeded), ("False", Failed), ("Unknown", Unknown)] {
        for kind in ["TaskRun", "Job", "Anything"] {
            let run = run(
                "batch/v1",
                kind,
                condition("Succeeded", status, "its words"),
            );
            let health = health(None, &run);
            assert_eq!(
                said(&health),
                (verdict, "SucceededCondition", "its words"),
                "{kind}"
            );
        }
    }
}

#[test]
fn two_succeeded_conditions_decide_nothing() {
    let run = run(
        "v1",
        "X",
        json!({ "conditions": [
        { "type": "Succeeded", "status": "True" }, { "type": "Succeeded", "status": "False" },
    ] }),
    );
    assert_eq!(
        said(&health(None, &run)),
        (
            Unknown,
            "SucceededCondition",
            "the run has more than one condition of type Succeeded"
        )
    );
}

#[test]
fn malformed_statuses_are_unknown() {
    for status in [
        json!(null),
        json!("text"),
        json!([]),
        json!({ "conditions": {} }),
        json!({ "conditions": [null, 3, "x", [], {}, { "type": 3 }] }),
        json!({ "conditions": [{ "type": "Succeeded" }] }),
        json!({ "conditions": [{ "type": "Succeeded", "status": true, "message": [] }] }),
        json!({ "phase": { "is": "Succeeded" } }),
    ] {
        for (api_version, kind) in [
            ("batch/v1", "Job"),
            ("v1", "Pod"),
            ("argoproj.io/v1alpha1", "Workflow"),
            ("x", "X"),
        ] {
            let health = health(None, &run(api_version, kind, status.clone()));
            assert_eq!(health.verdict, Unknown, "{kind} {status}");
        }
    }
    assert_eq!(health(None, &json!([])).verdict, Unknown);
}

#[test]
fn a_job_ends_by_complete_or_failed() {
    let job = |status: Value| health(None, &run("batch/v1", "Job", status));
    for (kind, verdict) in [
        ("Complete", Succeeded),
        ("Failed", Failed),
        ("FailureTarget", Unknown),
        ("Suspended", Unknown),
    ] {
        let health = job(condition(kind, "True", "m"));
        assert_eq!(said(&health), (verdict, "JobCondition", "m"), "{kind}");
        assert_eq!(
            said(&job(condition(kind, "False", "m"))),
            (Unknown, "Unknown", ""),
            "{kind}"
        );
    }
    assert_eq!(said(&job(json!({ "active": 1 }))), (Unknown, "Unknown", ""));
}

#[test]
fn a_pod_ends_by_its_phase() {
    for (phase, verdict) in [
        ("Succeeded", Succeeded),
        ("Failed", Failed),
        ("Running", Unknown),
        ("Pending", Unknown),
    ] {
        let run = run("v1", "Pod", json!({ "phase": phase, "message": "m" }));
        assert_eq!(
            said(&health(None, &run)),
            (verdict, "PodPhase", "m"),
            "{phase}"
        );
    }
    assert_eq!(
        said(&health(None, &run("v1", "Pod", json!({})))),
        (Unknown, "Unknown", "")
    );
}

#[test]
fn an_argo_workflow_ends_by_its_phase() {
    for (phase, verdict) in [
        ("Succeeded", Succeeded),
        ("Failed", Failed),
        ("Error", Failed),
        ("Running", Unknown),
    ] {
        let run = run(
            "argoproj.io/v1alpha1",
            "Workflow",
            json!({ "phase": phase }),
        );
        assert_eq!(
            said(&health(None, &run)),
            (verdict, "WorkflowPhase", ""),
            "{phase}"
        );
    }
}

#[test]
fn kinds_that_do_nothing_have_succeeded_once_created() {
    for (api_version, kind) in [
        ("v1", "ConfigMap"),
        ("v1", "Secret"),
        ("rbac.authorization.k8s.io/v1", "Role"),
        ("rbac.authorization.k8s.io/v1", "RoleBinding"),
    ] {
        let health = health(None, &run(api_version, kind, json!(null)));
        assert_eq!(said(&health), (Succeeded, "AlwaysHealthy", ""), "{kind}");
    }
}

#[test]
fn any_other_kind_is_unknown_and_told_of_the_health_rule() {
    let health = health(
        None,
        &run("example.com/v1", "Build", json!({ "phase": "Succeeded" })),
    );
    assert_eq!(
        (health.verdict, health.reason.as_str()),
        (Unknown, "Unknown")
    );
    assert!(health.message.contains("Build") && health.message.contains("healthRule"));
}

#[test]
fn a_tekton_run_that_has_just_begun_needs_no_rule() {
    let health = health(None, &run("tekton.dev/v1", "TaskRun", json!({})));
    assert_eq!(said(&health), (Unknown, "Unknown", ""));
}

#[test]
fn a_rule_beats_a_succeeded_condition() {
    let run = run("v1", "X", condition("Succeeded", "False", "m"));
    let always = rule(json!({ "alwaysHealthy": {} }));
    assert_eq!(
        said(&health(Some(&always), &run)),
        (Succeeded, "AlwaysHealthy", "")
    );
    let single = rule(json!({ "singleConditionType": "Ready" }));
    assert_eq!(
        said(&health(Some(&single), &run)),
        (Unknown, "Unknown", "the run has no Ready condition yet")
    );
}

#[test]
fn a_single_condition_type_decides_and_gives_the_reason() {
    for (kind, reason) in [
        ("Ready", "ReadyCondition"),
        ("example.com/Is-Done.2", "IsDone2Condition"),
        ("1/2-x", "xCondition"),
    ] {
        let single = rule(json!({ "singleConditionType": kind }));
        for (status, verdict) in [("True", Succeeded), ("False", Failed), ("Else", Unknown)] {
            let health = health(Some(&single), &run("v1", "X", condition(kind, status, "m")));
            assert_eq!(said(&health), (verdict, reason, "m"));
        }
    }
}

fn multi_match() -> CompiledRule {
    rule(json!({ "multiMatch": {
        "healthy": {
            "matchConditions": [
                { "type": "Built", "status": "True" }, { "type": "Pushed", "status": "True" },
            ],
            "matchFields": [{ "key": ".status.phase", "operator": "In", "values": ["Done", "3"] }],
        },
        "unhealthy": {
            "matchConditions": [{ "type": "Built", "status": "False" }],
            "matchFields": [{
                "key": "status.error", "operator": "Exists", "messagePath": ".status.error.text",
            }],
        },
    } }))
}

fn built_and_pushed(built: &str, pushed: &str, more: Value) -> Value {
    let mut status = json!({ "conditions": [
        { "type": "Built", "status": built, "message": "b" },
        { "type": "Pushed", "status": pushed, "message": "p" },
    ] });
    status
        .as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    run("v1", "X", status)
}

#[test]
fn success_needs_every_match() {
    let rule = multi_match();
    let judge = |run: &Value| health(Some(&rule), run);
    let done = built_and_pushed("True", "True", json!({ "phase": "Done" }));
    assert_eq!(said(&judge(&done)), (Succeeded, "MatchedCondition", "b"));
    let number = built_and_pushed("True", "True", json!({ "phase": 3 }));
    assert_eq!(judge(&number).verdict, Succeeded);
    for run in [
        built_and_pushed("True", "Unknown", json!({ "phase": "Done" })),
        built_and_pushed("True", "True", json!({ "phase": "Going" })),
        built_and_pushed("True", "True", json!({})),
    ] {
        assert_eq!(said(&judge(&run)), (Unknown, "Unknown", ""));
    }
}

#[test]
fn failure_needs_one_match_and_wins() {
    let rule = multi_match();
    let judge = |run: &Value| health(Some(&rule), run);
    let broken = built_and_pushed("False", "True", json!({ "phase": "Done" }));
    assert_eq!(said(&judge(&broken)), (Failed, "MatchedCondition", "b"));
    let error = json!({ "phase": "Done", "error": { "text": "why", "code": 3 } });
    let error = built_and_pushed("True", "True", error);
    assert_eq!(said(&judge(&error)), (Failed, "MatchedField", "why"));
    let silent = built_and_pushed("True", "True", json!({ "phase": "Done", "error": null }));
    assert_eq!(said(&judge(&silent)), (Failed, "MatchedField", ""));
}

#[test]
fn success_by_fields_alone_takes_its_message_from_the_first() {
    let rule = rule(json!({ "multiMatch": {
        "healthy": { "matchFields": [
            { "key": "status.phase", "operator": "Exists", "messagePath": "status.detail" },
        ] },
        "unhealthy": { "matchFields": [{ "key": "status.no", "operator": "Exists" }] },
    } }));
    let run = run("v1", "X", json!({ "phase": "x", "detail": { "n": [1] } }));
    let health = health(Some(&rule), &run);
    assert_eq!(said(&health), (Succeeded, "MatchedField", r#"{"n":[1]}"#));
}

#[test]
fn fields_compare_as_their_operator_says() {
    let verdict = |operator: &str, status: Value| {
        let values = matches!(operator, "In" | "NotIn").then(|| json!(["a", "true", "[1]"]));
        let rule = rule(json!({ "multiMatch": {
            "healthy": { "matchFields": [
                { "key": "status.f", "operator": operator, "values": values },
            ] },
            "unhealthy": { "matchConditions": [{ "type": "No", "status": "True" }] },
        } }));
        health(Some(&rule), &run("v1", "X", status)).verdict == Succeeded
    };
    for (operator, listed, other, null, missing) in [
        ("In", true, false, false, false),
        ("NotIn", false, true, true, false),
        ("Exists", true, true, true, false),
        ("DoesNotExist", false, false, false, true),
    ] {
        for value in [json!("a"), json!(true), json!([1])] {
            assert_eq!(
                verdict(operator, json!({ "f": value })),
                listed,
                "{operator} {value}"
            );
        }
        assert_eq!(
            verdict(operator, json!({ "f": "b" })),
            other,
            "{operator} other"
        );
        assert_eq!(
            verdict(operator, json!({ "f": null })),
            null,
            "{operator} null"
        );
        assert_eq!(verdict(operator, json!({})), missing, "{operator} missing");
    }
}

#[test]
fn a_rule_that_says_nothing_or_too_much_is_refused() {
    let one =
        "healthRule: exactly one of alwaysHealthy, singleConditionType and multiMatch must be set";
    assert_eq!(problems(json!({})), [one]);
    assert_eq!(
        problems(json!({ "alwaysHealthy": {}, "singleConditionType": "Ready" })),
        [one]
    );
    assert_eq!(
        problems(json!({ "singleConditionType": "" })),
        ["healthRule.singleConditionType: it is empty"]
    );
    assert_eq!(
        problems(json!({ "multiMatch": {
            "healthy": {},
            "unhealthy": { "matchFields": [
                { "key": "a[", "operator": "In", "messagePath": "" },
            ] },
        } })),
        [
            "healthRule.multiMatch.healthy: at least one of matchConditions and matchFields must \
             be given",
            "healthRule.multiMatch.unhealthy.matchFields[0].values: In needs at least one value",
            "healthRule.multiMatch.unhealthy.matchFields[0].key: failed to evaluate path [a[]: \
             evaluate: failed to parse jsonpath '{.a[}': unterminated array",
            "healthRule.multiMatch.unhealthy.matchFields[0].messagePath: failed to evaluate path \
             []: empty jsonpath not allowed",
        ]
    );
}
