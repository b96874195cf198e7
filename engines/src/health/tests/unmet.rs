//! Rules that no run of a kind can meet.

use cartouche_language::Consequence;

use super::*;
use crate::health::unmet;

const TASK_RUN: (&str, &str) = ("tekton.dev/v1", "TaskRun");
const PIPELINE_RUN: (&str, &str) = ("tekton.dev/v1beta1", "PipelineRun");
const WORKFLOW: (&str, &str) = ("argoproj.io/v1alpha1", "Workflow");
const JOB: (&str, &str) = ("batch/v1", "Job");
const POD: (&str, &str) = ("v1", "Pod");
const CONFIG_MAP: (&str, &str) = ("v1", "ConfigMap");
const BACKUP: (&str, &str) = ("example.com/v1", "Backup");

fn told(rule: &Value, kind: (&str, &str)) -> Vec<String> {
    let rule: HealthRule = serde_json::from_value(rule.clone()).unwrap();
    let warnings = unmet(Some(&rule), kind, &json!({}));
    warnings.iter().map(ToString::to_string).collect()
}

fn single(condition: &str) -> Value {
    json!({ "singleConditionType": condition })
}

/// Returns a rule whose success depends on one condition or field.
fn success(list: &str, item: Value) -> Value {
    let failure = json!({ "key": ".spec.broken", "operator": "Exists" });
    json!({ "multiMatch": { "healthy": { list: [item] }, "unhealthy": { "matchFields": [failure] } } })
}

fn field(key: &str, operator: &str, values: &[&str]) -> Value {
    success(
        "matchFields",
        json!({ "key": key, "operator": operator, "values": values }),
    )
}

#[test]
fn what_no_run_of_a_known_kind_ever_shows_is_told() {
    let ready = || json!({ "type": "Ready", "status": "True" });
    for (kind, rule, what) in [
        (TASK_RUN, single("Ready"), "never has the condition 'Ready'"),
        (PIPELINE_RUN, single("Completed"), "never has the condition"),
        (JOB, single("Completed"), "never has the condition"),
        (POD, single("Complete"), "never has the condition"),
        (WORKFLOW, single("Succeeded"), "never has the condition"),
        (CONFIG_MAP, single("Ready"), "never has the condition"),
        (
            TASK_RUN,
            success("matchConditions", ready()),
            "never has the condition 'Ready'",
        ),
        (
            JOB,
            success(
                "matchConditions",
                json!({ "type": "Failed", "status": "False" }),
            ),
            "the condition 'Failed' of a Job is never \"False\"",
        ),
        (
            TASK_RUN,
            field(".status.phase", "In", &["Succeeded"]),
            "the status of a TaskRun never has 'phase'",
        ),
        (
            JOB,
            field("{.status.phase}", "Exists", &[]),
            "the status of a Job never has 'phase'",
        ),
        (
            POD,
            field(".status.phase", "In", &["Completed", "Done"]),
            "the phase of a Pod is never Completed or Done",
        ),
        (
            WORKFLOW,
            field("status.phase", "In", &["Complete"]),
            "the phase of a Workflow is never Complete",
        ),
        (
            CONFIG_MAP,
            field(".status.phase", "NotIn", &["x"]),
            "a ConfigMap has no status",
        ),
        (
            TASK_RUN,
            field(
                r#".status.conditions[?(@.type=="Ready")].status"#,
                "In",
                &["True"],
            ),
            "never has the condition 'Ready'",
        ),
    ] {
        let told = told(&rule, kind);
        assert_eq!(told.len(), 1, "{rule}: {told:?}");
        let so = "so that its Runnables never become ready: ";
        assert!(told[0].contains(what) && told[0].contains(so), "{told:?}");
    }
}

#[test]
fn what_a_run_may_show_is_not_told() {
    for (kind, rule) in [
        (TASK_RUN, single("Succeeded")),
        (JOB, single("SuccessCriteriaMet")),
        (WORKFLOW, single("Completed")),
        (POD, single("example.com/ready")),
        (BACKUP, single("Ready")),
        (JOB, json!({ "alwaysHealthy": {} })),
        (
            POD,
            field(".status.phase", "In", &["Completed", "Succeeded"]),
        ),
        (POD, field(".status.phase", "DoesNotExist", &[])),
        (POD, field(".status.whatever", "Exists", &[])),
        (TASK_RUN, field(".status.completionTime", "Exists", &[])),
        (TASK_RUN, field(".status.phase", "DoesNotExist", &[])),
        (TASK_RUN, field(".spec.params", "Exists", &[])),
        (CONFIG_MAP, field(".data.done", "Exists", &[])),
        (
            TASK_RUN,
            field(
                r#".status.conditions[?(@.type=="Succeeded")].status"#,
                "In",
                &["True"],
            ),
        ),
    ] {
        assert_eq!(told(&rule, kind), Vec::<String>::new(), "{rule}");
    }
    let rule: HealthRule = serde_json::from_value(single("gate")).unwrap();
    let gated = json!({ "spec": { "readinessGates": [{ "conditionType": "gate" }] } });
    assert_eq!(unmet(Some(&rule), POD, &gated), []);
}

#[test]
fn a_failure_that_never_matches_does_not_keep_a_run_from_success() {
    let rule = json!({ "multiMatch": {
        "healthy": { "matchConditions": [{ "type": "Succeeded", "status": "True" }] },
        "unhealthy": { "matchConditions": [{ "type": "Failed", "status": "True" }] },
    } });
    let rule: HealthRule = serde_json::from_value(rule).unwrap();
    let found = unmet(Some(&rule), TASK_RUN, &json!({}));
    let [cartouche_language::WarningKind::Unmet(only)] = [found[0].kind.clone()] else {
        panic!("{found:?}");
    };
    assert_eq!((found.len(), only.so), (1, Consequence::NeverMatches));
}

#[test]
fn without_a_rule_nothing_says_when_a_kind_of_kubernetes_has_succeeded() {
    let told = |api_version, kind| unmet(None, (api_version, kind), &json!({})).len();
    assert_eq!(told("apps/v1", "Deployment"), 1);
    assert_eq!(told("v1", "PersistentVolumeClaim"), 1);
    for (api_version, kind) in [JOB, POD, TASK_RUN, CONFIG_MAP, BACKUP] {
        assert_eq!(told(api_version, kind), 0, "{kind}");
    }
}

#[test]
fn a_run_that_has_ended_without_what_the_rule_looks_for_says_so() {
    let said = |rule: Value, kind: (&str, &str), status: Value| {
        let health = health(Some(&self::rule(rule)), &run(kind.0, kind.1, status));
        assert_eq!(health.verdict, Unknown);
        health.message
    };
    let ended = said(
        single("Ready"),
        TASK_RUN,
        condition("Succeeded", "True", ""),
    );
    assert_eq!(
        ended,
        "the TaskRun has ended, and by the healthRule of its template it has neither succeeded nor failed: condition Ready has not \
         appeared, only Succeeded; to do: correct healthRule, or remove it: a TaskRun is judged by its condition Succeeded"
    );
    let by_phase = field(".status.phase", "In", &["Completed"]);
    let ended = said(by_phase, POD, json!({ "phase": "Failed" }));
    assert!(ended.starts_with("the Pod has ended"), "{ended}");
    assert!(ended.contains("field .status.phase"), "{ended}");
    // It is running, or its engine reports more, or its state is unknown.
    let undecided = "the run has no Ready condition yet";
    let at_work = condition("Succeeded", "Unknown", "");
    assert_eq!(said(single("Ready"), TASK_RUN, at_work), undecided);
    let unknown = condition("Succeeded", "True", "");
    assert_eq!(said(single("Ready"), BACKUP, unknown), undecided);
    assert_eq!(said(single("Ready"), CONFIG_MAP, json!({})), undecided);
}
