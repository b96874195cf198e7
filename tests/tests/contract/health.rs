//! Success and failure of runs of any kind, on real objects.

use anyhow::Result;
use serde_json::{Value, json};

use crate::world::{
    CONFIG_MAP, JOB, POD, Subject, World, answered, answers, document, specless, succeeded,
};

/// Makes a Runnable whose template has this healthRule, and its run.
async fn ruled(prefix: &str, rule: Value) -> Result<(World, Subject, Value)> {
    let mut spec = answers();
    spec["healthRule"] = rule;
    let (world, subject) = World::with(prefix, spec).await?;
    let run = subject.run(1).await?;
    Ok((world, subject, run))
}

fn job(annotations: Value) -> Value {
    let container = json!({ "name": "work", "image": "busybox" });
    let pod = json!({ "restartPolicy": "Never", "containers": [container] });
    let template = json!({ "metadata": { "annotations": annotations }, "spec": pod });
    json!({ "template": document(JOB, json!({ "backoffLimit": 0, "template": template })) })
}

#[tokio::test]
async fn a_job_that_completes_has_succeeded() -> Result<()> {
    let world = World::new("job").await?;
    let mut spec = job(json!({}));
    spec["outputs"] = json!({ "succeeded": ".status.succeeded" });
    world.template(spec).await?;
    let subject = world.runnable("r", json!({})).await?;
    subject.outputs(json!({ "succeeded": 1 })).await?;
    subject
        .says("StampedObjectCondition", "True", "JobCondition", "")
        .await?;
    subject.ready("True").await?;
    subject.stays_at_of(JOB, 1).await
}

#[tokio::test]
async fn a_job_that_fails_is_not_ready_in_the_words_of_kubernetes() -> Result<()> {
    let world = World::new("failing").await?;
    world
        .template(job(json!({ "play.carto.run/outcome": "fail" })))
        .await?;
    let subject = world.runnable("r", json!({})).await?;
    subject
        .says("Ready", "False", "BackoffLimitExceeded", "backoff limit")
        .await?;
    subject
        .event("Warning", "JobCondition", "backoff limit")
        .await?;
    subject.stays_at_of(JOB, 1).await
}

#[tokio::test]
async fn a_job_that_has_ended_without_what_its_rule_asks_for_says_so() -> Result<()> {
    let world = World::new("unmet").await?;
    let mut spec = job(json!({}));
    spec["healthRule"] = json!({ "singleConditionType": "Ready" });
    world.template(spec).await?;
    let (status, reason, said) = world.accepted(&world.template_name()).await?;
    assert_eq!(
        (status.as_str(), reason.as_str()),
        ("True", "AcceptedWithWarnings")
    );
    assert!(
        said.contains("a Job never has the condition 'Ready'"),
        "{said}"
    );
    let subject = world.runnable("r", json!({})).await?;
    let ended = "the Job has ended, and by the healthRule of its template";
    subject
        .says("Ready", "Unknown", "RunInProgress", ended)
        .await?;
    subject.stays_at_of(JOB, 1).await
}

#[tokio::test]
async fn a_pod_has_succeeded_or_failed_by_its_phase() -> Result<()> {
    let world = World::new("pod").await?;
    let template = |outcome: &str| {
        let container = json!({ "name": "work", "image": "busybox" });
        let mut pod = document(
            POD,
            json!({ "restartPolicy": "Never", "containers": [container] }),
        );
        pod["metadata"]["annotations"] = json!({ "play.carto.run/outcome": outcome });
        json!({ "template": pod, "outputs": { "phase": ".status.phase" } })
    };
    world.template(template("succeed")).await?;
    let subject = world.runnable("r", json!({})).await?;
    subject
        .says("StampedObjectCondition", "True", "PodPhase", "")
        .await?;
    subject.outputs(json!({ "phase": "Succeeded" })).await?;
    world.template(template("fail")).await?;
    subject.says("Ready", "False", "PodPhase", "").await?;
    subject.outputs(json!({ "phase": "Succeeded" })).await
}

#[tokio::test]
async fn a_config_map_has_succeeded_once_it_is_there() -> Result<()> {
    let world = World::new("map").await?;
    let template = specless(CONFIG_MAP, "data", json!({ "a": "b" }));
    world.template(json!({ "template": template })).await?;
    let subject = world.runnable("r", json!({})).await?;
    subject
        .says("StampedObjectCondition", "True", "AlwaysHealthy", "")
        .await?;
    let ready = subject.ready("True").await?;
    assert_eq!(ready["status"]["currentRun"]["result"], "Succeeded");
    Ok(())
}

#[tokio::test]
async fn a_kind_that_never_says_succeeded_is_unknown_and_told_of_the_health_rule() -> Result<()> {
    let (_, subject) = World::with("silent", answers()).await?;
    let said = subject
        .says("StampedObjectCondition", "Unknown", "Unknown", "healthRule")
        .await?;
    let wanted = "the run has no Succeeded condition; if TestObj never has one, give the ClusterRunTemplate a healthRule that says when it has succeeded";
    assert_eq!(said, wanted);
    subject.ready("Unknown").await?;
    Ok(())
}

/// Returns the reason of Ready for a run with this one.
fn of_ready<'a>(status: &str, of_run: &'a str) -> &'a str {
    if status == "Unknown" {
        "RunInProgress"
    } else {
        of_run
    }
}

#[tokio::test]
async fn a_succeeded_condition_is_repeated_with_its_status_and_message() -> Result<()> {
    let (world, subject) = World::with("condition", answers()).await?;
    let run = subject.run(1).await?;
    for (status, message) in [
        ("Unknown", "pulling"),
        ("False", "it burned"),
        ("Unknown", "again"),
        ("True", "done"),
    ] {
        let mut played = succeeded(status, message);
        played["conditions"][0]["reason"] = "OfTheEngine".into();
        played["answer"] = 1.into();
        world.play(&run, played).await?;
        let said = subject
            .says(
                "StampedObjectCondition",
                status,
                "SucceededCondition",
                message,
            )
            .await?;
        assert_eq!(said, message);
        if status != "True" {
            let reason = of_ready(status, "SucceededCondition");
            subject.says("Ready", status, reason, message).await?;
        }
    }
    let ready = subject.says("Ready", "True", "Ready", "").await?;
    assert_eq!(ready, "");
    Ok(())
}

#[tokio::test]
async fn two_succeeded_conditions_say_nothing() -> Result<()> {
    let (world, subject) = World::with("twice", answers()).await?;
    let run = subject.run(1).await?;
    let mut status = answered(1);
    status["conditions"] = json!([
        { "type": "Succeeded", "status": "True" }, { "type": "Succeeded", "status": "False" },
    ]);
    world.play(&run, status).await?;
    subject
        .says(
            "StampedObjectCondition",
            "Unknown",
            "SucceededCondition",
            "more than one",
        )
        .await?;
    assert_eq!(subject.status().await?["outputs"], Value::Null);
    Ok(())
}

#[tokio::test]
async fn always_healthy_succeeds_at_once() -> Result<()> {
    let mut spec = answers();
    spec["healthRule"] = json!({ "alwaysHealthy": {} });
    spec["outputs"] = json!({ "foo": ".spec.foo" });
    let (_, subject) = World::with("always", spec).await?;
    subject.outputs(json!({ "foo": 1 })).await?;
    subject
        .says("StampedObjectCondition", "True", "AlwaysHealthy", "")
        .await?;
    subject.ready("True").await?;
    Ok(())
}

#[tokio::test]
async fn a_single_condition_type_decides_and_beats_succeeded() -> Result<()> {
    let rule = json!({ "singleConditionType": "Done" });
    let (world, subject, run) = ruled("single", rule).await?;
    let done = |status: &str| {
        json!({ "answer": 7, "conditions": [
            { "type": "Succeeded", "status": "True", "message": "not asked" },
            { "type": "Done", "status": status, "message": format!("done is {status}") },
        ]})
    };
    world.play(&run, answered(6)).await?;
    subject
        .says(
            "StampedObjectCondition",
            "Unknown",
            "Unknown",
            "no Done condition yet",
        )
        .await?;
    for status in ["Unknown", "False"] {
        world.play(&run, done(status)).await?;
        let message = format!("done is {status}");
        subject
            .says("StampedObjectCondition", status, "DoneCondition", &message)
            .await?;
        let reason = of_ready(status, "DoneCondition");
        subject.says("Ready", status, reason, &message).await?;
    }
    assert_eq!(subject.status().await?["outputs"], Value::Null);
    world.play(&run, done("True")).await?;
    subject.outputs(json!({ "answer": 7 })).await?;
    subject.ready("True").await?;
    Ok(())
}

#[tokio::test]
async fn several_matches_decide_and_unhealthy_wins() -> Result<()> {
    let rule = json!({ "multiMatch": {
        "healthy": {
            "matchConditions": [{ "type": "Ready", "status": "True" }],
            "matchFields": [{ "key": ".status.phase", "operator": "In", "values": ["Done", "Skipped"] }],
        },
        "unhealthy": {
            "matchConditions": [{ "type": "Broken", "status": "True" }],
            "matchFields": [{ "key": ".status.error", "operator": "Exists", "messagePath": ".status.error.text" }],
        },
    }});
    let (world, subject, run) = ruled("multi", rule).await?;
    let ready = json!([{ "type": "Ready", "status": "True", "message": "it is ready" }]);
    let broken = json!([
        { "type": "Broken", "status": "True", "message": "it broke" }, { "type": "Ready", "status": "True" },
    ]);
    for (status, (verdict, reason, message)) in [
        (json!({ "conditions": ready }), ("Unknown", "Unknown", "")),
        (
            json!({ "phase": "Done", "answer": 1 }),
            ("True", "MatchedCondition", "it is ready"),
        ),
        (
            json!({ "error": { "text": "too hot" } }),
            ("False", "MatchedField", "too hot"),
        ),
        (
            json!({ "error": null, "conditions": broken }),
            ("False", "MatchedCondition", "it broke"),
        ),
    ] {
        world.play(&run, status).await?;
        let said = subject
            .says("StampedObjectCondition", verdict, reason, message)
            .await?;
        assert_eq!(said, message);
    }
    subject.outputs(json!({ "answer": 1 })).await
}

#[tokio::test]
async fn every_operator_of_a_field_does_what_it_says() -> Result<()> {
    let field = |key: &str, operator: &str, values: Value| json!({ "key": key, "operator": operator, "values": values });
    let rule = json!({ "multiMatch": {
        "healthy": { "matchFields": [
            field(".status.count", "In", json!(["3"])),
            field(".status.phase", "NotIn", json!(["Running", "Pending"])),
            field(".status.when", "Exists", json!([])),
            field(".status.problem", "DoesNotExist", json!([])),
        ]},
        "unhealthy": { "matchFields": [field(".status.phase", "In", json!(["Failed"]))] },
    }});
    let (world, subject, run) = ruled("operators", rule).await?;
    let good = json!({ "count": 3, "phase": "Done", "when": "now", "problem": null, "answer": 1 });
    for (field, bad) in [
        ("count", json!(4)),
        ("phase", json!("Running")),
        ("when", json!(null)),
        ("problem", json!("x")),
    ] {
        let mut status = good.clone();
        status[field] = bad;
        status["seen"] = field.into();
        world.play(&run, status).await?;
        tokio::time::sleep(std::time::Duration::from_millis(300)).await;
        subject
            .says("StampedObjectCondition", "Unknown", "Unknown", "")
            .await?;
        assert_eq!(subject.status().await?["outputs"], Value::Null, "{field}");
    }
    world.play(&run, good).await?;
    subject
        .says("StampedObjectCondition", "True", "MatchedField", "")
        .await?;
    subject.outputs(json!({ "answer": 1 })).await
}

#[tokio::test]
async fn an_edited_health_rule_judges_the_current_run_again_and_makes_no_run() -> Result<()> {
    let rule = json!({ "singleConditionType": "Done" });
    let (world, subject, run) = ruled("edited", rule).await?;
    world.play(&run, answered(42)).await?;
    subject
        .says(
            "StampedObjectCondition",
            "Unknown",
            "Unknown",
            "no Done condition yet",
        )
        .await?;
    world.template(answers()).await?;
    subject.outputs(json!({ "answer": 42 })).await?;
    subject.ready("True").await?;
    let mut spec = answers();
    spec["healthRule"] = json!({ "multiMatch": {
        "healthy": { "matchFields": [{ "key": ".status.answer", "operator": "In", "values": ["43"] }] },
        "unhealthy": { "matchFields": [{ "key": ".status.answer", "operator": "In", "values": ["42"] }] },
    }});
    world.template(spec).await?;
    subject.says("Ready", "False", "MatchedField", "").await?;
    subject.outputs(json!({ "answer": 42 })).await?;
    subject.stays_at(1).await
}
