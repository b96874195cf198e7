//! The rules that judge runs, and the parts that runs do not meet.

use super::*;
use crate::health::{Judged, choose_rule};

const BACKUP: (&str, &str) = ("example.com/v1", "Backup");

fn missing(rule: Value, status: Value) -> Judged {
    let run = run(BACKUP.0, BACKUP.1, status);
    choose_rule(Some(&self::rule(rule)), BACKUP, &run, false)
}

fn healthy(healthy: Value) -> Value {
    let unhealthy = json!({ "matchFields": [{ "key": ".status.broken", "operator": "Exists" }] });
    json!({ "multiMatch": { "healthy": healthy, "unhealthy": unhealthy } })
}

#[test]
fn a_condition_that_never_comes_is_named_beside_those_that_have() {
    let rule = json!({ "singleConditionType": "Done" });
    let none = missing(rule.clone(), json!({}));
    assert_eq!(none.by, "healthRule.singleConditionType");
    assert_eq!(none.missing, ["condition Done has not appeared"]);
    let other = missing(rule.clone(), condition("Ready", "True", ""));
    assert_eq!(
        other.missing,
        ["condition Done has not appeared, only Ready"]
    );
    let undecided = missing(rule, condition("Done", "Unknown", ""));
    assert_eq!(
        undecided.missing,
        ["condition Done is Unknown, neither True nor False"]
    );
}

#[test]
fn of_several_matches_only_those_are_told_that_are_missing() {
    let rule = healthy(json!({
        "matchConditions": [
            { "type": "Ready", "status": "True" },
            { "type": "Complete", "status": "True" },
        ],
        "matchFields": [
            { "key": ".status.phase", "operator": "In", "values": ["Done", "Over"] },
            { "key": ".status.faze", "operator": "Exists" },
            { "key": ".status.conditions", "operator": "DoesNotExist" },
        ],
    }));
    let mut status = condition("Ready", "True", "");
    status["phase"] = json!("done");
    let told = missing(rule.clone(), status);
    assert_eq!(told.by, "healthRule.multiMatch");
    assert_eq!(
        told.missing,
        [
            "condition Complete has not appeared, only Ready",
            "field .status.phase is \"done\", none of Done, Over",
            "field .status.faze is not there",
            "field .status.conditions is there",
        ]
    );
    let other = missing(rule, condition("Ready", "False", ""));
    assert_eq!(other.missing[0], "condition Ready is False, not True");
}

#[test]
fn a_name_with_dots_is_told_how_it_is_written() {
    let rule = healthy(json!({ "matchFields": [{ "key": ".data.a.b", "operator": "Exists" }] }));
    let told = missing(rule, json!({}));
    assert!(
        told.missing[0].ends_with(r"within a name it is written \.: .data.a\.b"),
        "{told:?}"
    );
}

#[test]
fn without_a_rule_it_is_the_kind_that_says_by_what() {
    let by = |kind: (&str, &str)| choose_rule(None, kind, &run(kind.0, kind.1, json!({})), false);
    let unknown = by(BACKUP);
    assert_eq!(
        unknown.by,
        "the condition Succeeded, as the template has no healthRule"
    );
    assert_eq!(unknown.missing, ["condition Succeeded has not appeared"]);
    let job = by(("batch/v1", "Job"));
    assert_eq!(job.by, "the conditions that a Job ends with");
    assert_eq!(job.missing, [""; 0]);
    assert_eq!(by(("v1", "Pod")).by, "the phase of the Pod");
}

#[test]
fn what_a_secret_holds_is_not_told() {
    let rule = healthy(json!({
        "matchFields": [{ "key": ".data.word", "operator": "In", "values": ["no"] }],
    }));
    let secret = json!({ "apiVersion": "v1", "kind": "Secret", "data": { "word": "hush" } });
    let told = choose_rule(Some(&self::rule(rule)), ("v1", "Secret"), &secret, false);
    assert_eq!(told.missing, ["field .data.word is there, none of no"]);
}
