//! Tests of outputs read from a Job and its pods, and of reports when their message is gone.

use std::collections::BTreeMap;

use cartouche_crds::{ClusterRunTemplate, HistoryEntry};
use cartouche_engines::{EndedPods, Sensitive};
use serde_json::{Value, json};

use super::{by_template, failure_with_pods, fetched_run, outputs, outputs_with_pods};
use crate::{compiled::Compiled, ledger::OutputsRead};

/// A template whose runs give their outputs in their termination message.
fn template(outputs: &Value, optional: &[&str]) -> Compiled {
    let object = json!({
        "metadata": { "name": "t" },
        "spec": {
            "template": {
                "apiVersion": "batch/v1", "kind": "Job", "metadata": { "generateName": "a-" },
            },
            "outputs": outputs, "optionalOutputs": optional,
        },
    });
    let object: ClusterRunTemplate = serde_json::from_value(object).unwrap();
    Compiled::new(&object)
}

fn job(succeeded: u64) -> Value {
    json!({
        "apiVersion": "batch/v1", "kind": "Job", "metadata": { "uid": "j" },
        "status": { "succeeded": succeeded, "conditions": [{ "type": "Complete", "status": "True" }] },
    })
}

fn pod(phase: &str, message: &str) -> Value {
    let ended = json!({ "finishedAt": "2026-01-01T00:00:00Z", "message": message });
    json!({
        "metadata": {
            "labels": { "batch.kubernetes.io/controller-uid": "j" },
            "ownerReferences": [{ "apiVersion": "batch/v1", "kind": "Job", "uid": "j", "controller": true }],
        },
        "status": { "phase": phase, "containerStatuses": [{ "state": { "terminated": ended } }] },
    })
}

/// The reason why a Job gives no outputs, and its cure.
fn unsatisfied(read: OutputsRead) -> (String, String) {
    match read {
        OutputsRead::Unsatisfied { why, faults } => {
            let cures = faults.into_iter().filter_map(|fault| fault.cure);
            (why, cures.collect())
        }
        read => panic!("{read:?}"),
    }
}

#[test]
fn a_path_that_begins_as_in_other_languages_is_told_with_what_was_meant() {
    for path in ["$.status.rows", " .status.rows"] {
        let template = template(&json!({ "rows": path }), &[]);
        let (_, cure) = unsatisfied(outputs(template.template.as_ref().unwrap(), &job(1)));
        assert_eq!(
            cure,
            "a path begins with a dot, without blanks or $: write .status.rows"
        );
    }
}

#[test]
fn a_name_with_dots_is_told_how_it_is_written() {
    let template = template(&json!({ "app": ".data.app.properties" }), &[]);
    let (_, cure) = unsatisfied(outputs(template.template.as_ref().unwrap(), &job(1)));
    assert_eq!(
        cure,
        r"a dot ends a name, in brackets too; within a name it is written \.: .data.app\.properties"
    );
}

fn heard(job: &Value, pods: &[Value]) -> EndedPods {
    let mut heard = EndedPods::from_job(job);
    for pod in pods {
        heard.hear(pod);
    }
    heard
}

fn given(compiled: &Compiled, job: Value, pods: &[Value]) -> (OutputsRead, Sensitive) {
    let pods = heard(&job, pods);
    outputs_with_pods(compiled, job, pods)
}

fn failure_given(
    compiled: &Compiled,
    job: Value,
    pods: &[Value],
) -> Option<BTreeMap<String, Value>> {
    let pods = heard(&job, pods);
    failure_with_pods(compiled, job, pods)
}

#[test]
fn a_job_gives_what_its_pod_said() {
    let template = template(&json!({ "a": ".terminationMessage.a" }), &["a"]);
    let pods = [pod("Failed", ""), pod("Succeeded", r#"{ "a": 1 }"#)];
    let (read, _) = given(&template, job(1), &pods);
    let expected = [("a".to_owned(), json!(1))].into();
    assert_eq!(read, OutputsRead::Values(expected));
}

#[test]
fn of_more_pods_than_the_job_counts_none_gives_outputs_and_that_is_said() {
    let template = template(&json!({ "a": ".terminationMessage.a" }), &["a"]);
    let both = [r#"{ "a": 1 }"#, r#"{ "a": "forged" }"#].map(|said| pod("Succeeded", said));
    let (why, cure) = unsatisfied(given(&template, job(1), &both).0);
    assert!(
        why.starts_with("2 pods that name it as their Job have succeeded"),
        "{why}"
    );
    assert!(cure.starts_with("check who may create pods"), "{cure}");
    let (read, _) = given(&template, job(2), &both);
    assert!(matches!(read, OutputsRead::Values(_)), "{read:?}");
}

#[test]
fn an_output_is_not_missing_where_the_pod_that_said_it_is_gone() {
    let template = template(&json!({ "a": ".terminationMessage.a" }), &["a"]);
    for left in [vec![], vec![pod("Failed", "no")]] {
        let (why, cure) = unsatisfied(given(&template, job(1), &left).0);
        assert!(why.contains("are gone"), "{why}");
        assert!(cure.starts_with("keep pods of Jobs"), "{cure}");
    }
}

#[test]
fn a_pod_that_is_gone_is_told_of_an_output_that_no_run_may_lack_too() {
    let template = template(&json!({ "a": ".terminationMessage.a" }), &[]);
    let (why, cure) = unsatisfied(given(&template, job(1), &[]).0);
    assert!(why.contains("are gone"), "{why}");
    assert!(cure.starts_with("keep pods of Jobs"), "{cure}");
}

#[test]
fn a_pod_that_said_nothing_is_not_gone() {
    let template = template(&json!({ "a": ".terminationMessage.a" }), &[]);
    let pods = [pod("Succeeded", "")];
    let (_, cure) = unsatisfied(given(&template, job(1), &pods).0);
    assert!(cure.starts_with("let a container"), "{cure}");
}

#[test]
fn a_job_that_needed_no_pod_has_none_that_is_gone() {
    let template = template(&json!({ "a": ".terminationMessage.a" }), &["a"]);
    let mut none = job(0);
    for status in [none["status"].clone(), json!({})] {
        none["status"] = status;
        let (read, _) = given(&template, none.clone(), &[]);
        assert_eq!(read, OutputsRead::Values([].into()));
    }
}

#[test]
fn pods_that_no_output_reads_may_go() {
    let template = template(&json!({ "n": ".status.succeeded" }), &[]);
    let (read, _) = given(&template, job(1), &[]);
    let expected = [("n".to_owned(), json!(1))].into();
    assert_eq!(read, OutputsRead::Values(expected));
}

const WITHHELD: &str = "withheld: it contains the value of the sensitive output [password]";

fn sensitive(api_version: &str, kind: &str, path: &str) -> Compiled {
    let object = json!({
        "metadata": { "name": "t" },
        "spec": {
            "template": { "apiVersion": api_version, "kind": kind, "metadata": { "generateName": "a-" } },
            "outputs": { "password": path }, "sensitiveOutputs": ["password"],
            "failureOutputs": { "why": ".status.why" },
        },
    });
    let object: ClusterRunTemplate = serde_json::from_value(object).unwrap();
    Compiled::new(&object)
}

/// The value is in the message of the pod, and the Job shows it.
#[test]
fn what_a_job_shows_of_a_sensitive_value_that_its_pod_said_is_withheld() {
    let compiled = sensitive("batch/v1", "Job", ".terminationMessage.password");
    let mut job = job(0);
    job["status"]["why"] = json!("hunter22 was refused");
    let said = pod("Failed", "{\"password\":\"hunter22\"}");
    let given = failure_given(&compiled, job.clone(), &[said]).unwrap();
    assert_eq!(given["why"], WITHHELD);
    let given = failure_given(&compiled, job, &[pod("Failed", "no")]).unwrap();
    assert_eq!(given["why"], "hunter22 was refused");
}

/// An edited template decides by its present rules which values are not shown.
#[test]
fn a_run_of_other_rules_shows_no_sensitive_value_either() {
    let compiled = sensitive("example.com/v1", "Trial", ".status.password");
    let condition =
        json!({ "type": "Succeeded", "status": "False", "message": "hunter22 was refused" });
    let run = json!({
        "apiVersion": "example.com/v1", "kind": "Trial", "metadata": { "name": "r", "uid": "u" },
        "status": { "password": "hunter22", "conditions": [condition] },
    });
    for made_under in [json!(null), json!("other")] {
        let entry = json!({
            "sequence": 1, "inputHash": "v1:x", "apiVersion": "example.com/v1", "kind": "Trial", "name": "r", "uid": "u",
            "rulesHash": made_under,
        });
        let entry: HistoryEntry = serde_json::from_value(entry).unwrap();
        let found = fetched_run(&compiled, &[entry], &run).unwrap();
        assert_eq!(found.health.message, WITHHELD);
    }
}

#[test]
fn of_a_template_that_cannot_be_used_the_words_of_a_run_are_shown_only_without_sensitive_outputs() {
    let condition = json!({ "type": "Succeeded", "status": "False", "reason": "Bad", "message": "hunter22 was refused" });
    let run = json!({
        "apiVersion": "example.com/v1", "kind": "Trial", "metadata": { "name": "r", "uid": "u" },
        "status": { "password": "hunter22", "conditions": [condition] },
    });
    let broken = |sensitive: Value| {
        let object = json!({
            "metadata": { "name": "t" },
            "spec": { "template": {}, "outputs": { "password": "..[" }, "sensitiveOutputs": sensitive },
        });
        let object: ClusterRunTemplate = serde_json::from_value(object).unwrap();
        let compiled = Compiled::new(&object);
        assert!(compiled.template.is_err());
        fetched_run(&compiled, &[], &run).unwrap().health
    };
    assert_eq!(broken(json!(null)).message, "hunter22 was refused");
    let hidden = broken(json!(["password"]));
    assert!(!hidden.message.contains("hunter22"), "{hidden:?}");
    assert_eq!(hidden.cause, "");
}

#[test]
fn a_run_that_was_asked_to_change_nothing_gives_no_outputs() {
    let said = template(&json!({ "rows": ".terminationMessage.rows" }), &[]);
    let own = template(&json!({ "rows": ".status.succeeded" }), &[]);
    for (context, of_pods, of_itself) in [
        (r#"{"dryRun":true}"#, OutputsRead::None, None),
        (
            r#"{"dryRun":false}"#,
            OutputsRead::Elsewhere,
            Some(json!(1)),
        ),
        ("no context", OutputsRead::Elsewhere, Some(json!(1))),
    ] {
        let mut job = job(1);
        job["spec"] = json!({ "template": { "metadata": { "annotations": { "carto.run/runner-context": context } } } });
        let read = |compiled: &Compiled| by_template(compiled.template.as_ref().unwrap(), &job).1;
        assert_eq!(read(&said), of_pods, "{context}");
        let values = of_itself.map(|rows| BTreeMap::from([("rows".to_owned(), rows)]));
        let of_itself = values.map_or(OutputsRead::None, OutputsRead::Values);
        assert_eq!(read(&own), of_itself, "{context}");
    }
}

#[test]
fn a_message_that_was_cut_is_none_or_is_a_text_is_told_as_that() {
    let compiled = template(&json!({ "words": ".terminationMessage.words" }), &[]);
    let cure = |message: &str| {
        let job = job(1);
        unsatisfied(given(&compiled, job, &[pod("Succeeded", message)]).0).1
    };
    let cut = format!("{{\"words\":\"{}", "x".repeat(4_086));
    assert_eq!(cut.len(), 4_096);
    assert!(cure(&cut).contains("this one was cut"), "{}", cure(&cut));
    assert!(cure("no JSON").contains("write a JSON object"));
    let nothing = cure("");
    let written = "let a container of the run write its termination message (/dev/termination-log)";
    assert_eq!(nothing, written);
}

#[test]
fn a_field_that_is_like_the_one_in_the_path_is_told_and_no_other() {
    let compiled = template(&json!({ "words": ".terminationMessage.wrods" }), &[]);
    let cure = |message: &str| {
        let job = job(1);
        unsatisfied(given(&compiled, job, &[pod("Succeeded", message)]).0).1
    };
    let meant = cure(r#"{"words":1,"s3cret":2}"#);
    assert!(
        meant.starts_with("did you mean 'words' instead of 'wrods'?"),
        "{meant}"
    );
    let other = cure(r#"{"s3cret":2}"#);
    assert!(
        !other.contains("s3cret") && other.starts_with("correct the path"),
        "{other}"
    );
    for path in [
        ".status.terminationMessage.words",
        "status.terminationMessage.words",
        "{.status.terminationMessage.words}",
        ".status['terminationMessage'].words",
    ] {
        let in_status = template(&json!({ "words": path }), &[]);
        let cure = unsatisfied(given(&in_status, job(1), &[]).0).1;
        assert!(cure.contains("write .terminationMessage.words;"), "{cure}");
    }
    let path = ".status.terminationMessage.words";
    let custom = json!({ "apiVersion": "example.dev/v1", "kind": "Build" });
    assert_eq!(super::outside_status(path, &custom), None);
    let of_status = template(&json!({ "pods": ".status.succeded" }), &[]);
    let cure = unsatisfied(given(&of_status, job(1), &[]).0).1;
    let wanted = "did you mean 'succeeded' instead of 'succeded'?";
    assert!(cure.starts_with(wanted), "{cure}");
}
