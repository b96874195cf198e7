//! Outputs of runs: when they appear, stay, and follow.

mod optional;

use anyhow::Result;
use kube::api::PostParams;
use serde_json::{Value, json};

use crate::world::{
    CONFIG_MAP, JOB, TEMPLATE, TEST_OBJ, UNWATCHED_OBJ, World, answered, answers, document,
    name_of, specless, succeeded, text,
};

#[tokio::test]
async fn outputs_keep_their_types() -> Result<()> {
    let values = json!({
        "object": { "a": { "b": [1, null] } }, "list": [1, "two", false], "int": 9_223_372_036_854_775_807_i64, "big": 9_007_199_254_740_993_i64,
        "float": 1.5, "bool": false, "null": null, "text": "", "more": "x\ny",
    });
    let mut spec = answers();
    let names = values
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, _)| name);
    let paths = names.map(|name| (name.clone(), json!(format!(".status.values.{name}"))));
    spec["outputs"] = Value::Object(paths.collect());
    let (world, subject) = World::with("types", spec).await?;
    let mut status = succeeded("True", "");
    status["values"] = values.clone();
    let run = subject.run(1).await?;
    // A merge patch would take nulls for deletions.
    let mut run = world.get(TEST_OBJ, name_of(&run)).await?;
    run["status"] = status;
    let put = world.api(TEST_OBJ);
    let object = serde_json::from_value(run.clone())?;
    put.replace_status(name_of(&run), &PostParams::default(), &object)
        .await?;
    subject.outputs(values).await
}

#[tokio::test]
async fn outputs_appear_on_success_stay_without_it_and_follow_while_current() -> Result<()> {
    let mut spec = answers();
    spec["template"]["metadata"] = json!({ "name": "my-run" });
    spec["outputs"] = json!({ "condition": ".status.conditions[?(@.type==\"Succeeded\")]" });
    let (world, subject) = World::with("follow", spec).await?;
    let run = subject.run(1).await?;
    let first = succeeded("True", "first");
    world.play(&run, first.clone()).await?;
    subject
        .outputs(json!({ "condition": first["conditions"][0] }))
        .await?;
    subject.ready("True").await?;

    world.play(&run, succeeded("False", "no more")).await?;
    subject
        .says("Ready", "False", "SucceededCondition", "no more")
        .await?;
    subject
        .outputs(json!({ "condition": first["conditions"][0] }))
        .await?;

    let second = succeeded("True", "second");
    world.play(&run, second.clone()).await?;
    subject
        .outputs(json!({ "condition": second["conditions"][0] }))
        .await?;
    subject.ready("True").await?;
    subject.stays_at(1).await
}

#[tokio::test]
async fn an_unfinished_run_gives_no_outputs() -> Result<()> {
    let (world, subject) = World::with("unfinished", answers()).await?;
    let run = subject.run(1).await?;
    for status in ["Unknown", "False"] {
        let mut played = answered(42);
        played["conditions"][0]["status"] = status.into();
        played["conditions"][0]["message"] = "so far".into();
        world.play(&run, played).await?;
        subject
            .says(
                "StampedObjectCondition",
                status,
                "SucceededCondition",
                "so far",
            )
            .await?;
        assert_eq!(subject.status().await?["outputs"], Value::Null);
    }
    Ok(())
}

#[tokio::test]
async fn outputs_stay_while_the_next_run_goes_on_or_fails() -> Result<()> {
    let (world, subject) = World::with("stay", answers()).await?;
    subject.answer(1, json!("good")).await?;
    subject.input("foo", 2).await?;
    let run = subject.run(2).await?;
    subject.ready("Unknown").await?;
    subject.outputs(json!({ "answer": "good" })).await?;
    let mut failed = answered("bad");
    failed["conditions"][0]["status"] = "False".into();
    world.play(&run, failed).await?;
    subject.ready("False").await?;
    subject.outputs(json!({ "answer": "good" })).await?;
    subject.input("foo", 3).await?;
    subject.answer(3, json!("better")).await
}

#[tokio::test]
async fn outputs_never_go_back_to_an_older_run() -> Result<()> {
    let (world, subject) = World::with("older", answers()).await?;
    subject.run(1).await?;
    subject.input("foo", 2).await?;
    subject.run(2).await?;
    subject.input("foo", 3).await?;
    let runs = subject.runs(3).await?;
    world.play(&runs[1], answered("second")).await?;
    subject.outputs(json!({ "answer": "second" })).await?;
    world.play(&runs[0], answered("first")).await?;
    let first = |object: &Value| text(&object["status"]["history"][0]).starts_with("1 Succeeded ");
    subject
        .until("the first run to be known to have succeeded", first)
        .await?;
    subject.outputs(json!({ "answer": "second" })).await?;
    world.play(&runs[2], answered("third")).await?;
    subject.outputs(json!({ "answer": "third" })).await?;
    assert_eq!(
        subject.status().await?["outputsFrom"]["name"],
        name_of(&runs[2])
    );
    Ok(())
}

#[tokio::test]
async fn an_output_that_is_missing_leaves_all_of_them_as_they_were() -> Result<()> {
    let mut spec = answers();
    spec["outputs"] = json!({ "answer": ".status.answer", "question": ".status.question" });
    let (world, subject) = World::with("missing", spec).await?;
    let mut full = answered(42);
    full["question"] = "6x7".into();
    let run = subject.run(1).await?;
    world.play(&run, full.clone()).await?;
    let outputs = json!({ "answer": 42, "question": "6x7" });
    subject.outputs(outputs.clone()).await?;
    subject.input("foo", 2).await?;
    let run = subject.run(2).await?;
    world.play(&run, answered(43)).await?;
    let said = subject.fails_in_full("OutputPathNotSatisfied", "").await?;
    let (namespace, name, template) = (&world.namespace, name_of(&run), world.template_name());
    let wanted = format!(
        "waiting to read value from resource [testobjs.test.run/{name}] in namespace [{namespace}]: unable to retrieve outputs from stamped \
         object [{namespace}/{name}] of type [testobjs.test.run] for run template [{template}]: failed to evaluate path [.status.question]: \
         jsonpath returned empty list: .status.question"
    );
    assert!(said.starts_with(&wanted), "{said}\nwanted {wanted}");
    subject
        .event("Warning", "OutputPathNotSatisfied", &wanted)
        .await?;
    subject
        .says("StampedObjectCondition", "True", "SucceededCondition", "")
        .await?;
    subject.outputs(outputs).await?;
    full["question"] = "again".into();
    world.play(&run, full).await?;
    subject
        .outputs(json!({ "answer": 42, "question": "again" }))
        .await?;
    subject.ready("True").await?;
    Ok(())
}

#[tokio::test]
async fn edited_outputs_read_the_current_run_again_and_make_no_run() -> Result<()> {
    let (world, subject) = World::with("edited", answers()).await?;
    let run = subject.run(1).await?;
    let mut status = answered(42);
    status["other"] = "value".into();
    world.play(&run, status).await?;
    subject.outputs(json!({ "answer": 42 })).await?;
    let mut spec = answers();
    spec["outputs"] = json!({ "renamed": ".status.other", "foo": ".spec.foo" });
    world.template(spec).await?;
    subject
        .outputs(json!({ "renamed": "value", "foo": 1 }))
        .await?;
    subject.stays_at(1).await
}

#[tokio::test]
async fn edited_outputs_are_never_read_from_a_run_of_an_older_rendering() -> Result<()> {
    let (world, subject) = World::with("older-rule", answers()).await?;
    subject.answer(1, json!(42)).await?;
    let mut spec = answers();
    spec["template"]["spec"]["more"] = true.into();
    spec["outputs"] = json!({ "foo": ".spec.foo" });
    world.template(spec).await?;
    let run = subject.run(2).await?;
    subject.stays_at(2).await?;
    subject.outputs(json!({ "answer": 42 })).await?;
    world.play(&run, succeeded("True", "")).await?;
    subject.outputs(json!({ "foo": 1 })).await
}

#[tokio::test]
async fn outputs_outlive_their_declaration() -> Result<()> {
    let (world, subject) = World::with("outlive", answers()).await?;
    subject.answer(1, json!(42)).await?;
    let mut spec = answers();
    spec["outputs"].take();
    world
        .template(json!({ "template": spec["template"] }))
        .await?;
    subject.stays_at(1).await?;
    subject.outputs(json!({ "answer": 42 })).await?;
    subject.ready("True").await?;
    Ok(())
}

#[tokio::test]
async fn an_output_that_is_too_large_leaves_the_old_ones() -> Result<()> {
    let (world, subject) = World::with("large", answers()).await?;
    subject.answer(1, json!("x".repeat(60 * 1024))).await?;
    let kept = subject.status().await?["outputs"].take();
    subject.input("foo", 2).await?;
    let run = subject.run(2).await?;
    world.play(&run, answered("x".repeat(65 * 1024))).await?;
    let wanted = "output [answer] is larger than 65536 bytes";
    let said = subject.fails("OutputPathNotSatisfied", wanted).await?;
    assert!(said.len() <= 2400, "{said}");
    subject.outputs(kept).await
}

#[tokio::test]
async fn outputs_that_are_too_large_together_leave_the_old_ones() -> Result<()> {
    let mut spec = answers();
    let outputs =
        ["a", "b", "c", "d", "e"].map(|name| (name.to_owned(), json!(format!(".status.{name}"))));
    spec["outputs"] = Value::Object(outputs.into_iter().collect());
    let (world, subject) = World::with("together", spec).await?;
    let run = subject.run(1).await?;
    let mut status = succeeded("True", "");
    for name in ["a", "b", "c", "d", "e"] {
        status[name] = "x".repeat(60_000).into();
    }
    world.play(&run, status).await?;
    let wanted = "the outputs are together larger than 262144 bytes: output [e], of 60002 bytes, is the first that does not fit";
    subject.fails("OutputPathNotSatisfied", wanted).await?;
    assert_eq!(subject.status().await?["outputs"], Value::Null);
    Ok(())
}

#[tokio::test]
async fn more_than_64_outputs_are_not_accepted() -> Result<()> {
    let many = |count: usize| {
        let paths = (0..count).map(|index| (format!("o{index:02}"), json!(".spec.foo")));
        let mut spec = answers();
        spec["outputs"] = Value::Object(paths.collect());
        spec
    };
    let (world, subject) = World::with("many", many(65)).await?;
    subject
        .fails(
            "TemplateStampFailure",
            "outputs: there are 65, more than 64",
        )
        .await?;
    world.template(many(64)).await?;
    let run = subject.run(1).await?;
    world.play(&run, succeeded("True", "")).await?;
    let full = |object: &Value| {
        object["status"]["outputs"]
            .as_object()
            .is_some_and(|outputs| outputs.len() == 64)
    };
    subject.until("64 outputs", full).await?;
    Ok(())
}

#[tokio::test]
async fn a_kind_that_is_done_at_once_gives_its_outputs_at_once() -> Result<()> {
    let world = World::new("at-once").await?;
    let data = json!({ "greeting": "hello $(runnable.metadata.name)$" });
    let document = specless(CONFIG_MAP, "data", data);
    world
        .template(json!({ "template": document, "outputs": { "said": ".data.greeting" } }))
        .await?;
    let subject = world.runnable("r", json!({})).await?;
    subject.outputs(json!({ "said": "hello r" })).await?;
    subject.ready("True").await?;
    subject.stays_at_of(CONFIG_MAP, 1).await
}

#[tokio::test]
async fn runs_that_the_controller_may_not_watch_are_polled_as_the_account() -> Result<()> {
    let mut spec = answers();
    spec["template"] = document(
        UNWATCHED_OBJ,
        json!({ "foo": "$(runnable.spec.inputs.foo)$" }),
    );
    let (world, subject) = World::with("polled", spec).await?;
    for count in [1, 2] {
        let run = subject
            .runs_of(UNWATCHED_OBJ, count)
            .await?
            .pop()
            .unwrap_or_default();
        world.play(&run, answered(count)).await?;
        subject.outputs(json!({ "answer": count })).await?;
        subject.ready("True").await?;
        subject.input("foo", count + 1).await?;
    }
    subject.runs_of(UNWATCHED_OBJ, 3).await?;
    Ok(())
}

#[tokio::test]
async fn outputs_stay_when_the_template_goes() -> Result<()> {
    let (world, subject) = World::with("template-gone", answers()).await?;
    subject.answer(1, json!(42)).await?;
    world.delete(TEMPLATE, &world.template_name()).await?;
    subject.fails("RunTemplateNotFound", "").await?;
    subject.outputs(json!({ "answer": 42 })).await?;
    world.template(answers()).await?;
    subject.ready("True").await?;
    subject.stays_at(1).await
}

#[tokio::test]
async fn a_run_that_ends_while_the_next_cannot_be_made_still_gives_its_outputs() -> Result<()> {
    let (world, subject) = World::with("stuck", answers()).await?;
    let run = subject.run(1).await?;
    let none = |object: &mut Value| object["spec"]["inputs"] = json!({});
    subject.edit(none).await?;
    subject
        .fails("TemplateStampFailure", "jsonpath returned empty list")
        .await?;
    world.play(&run, answered("late")).await?;
    subject.outputs(json!({ "answer": "late" })).await?;
    subject
        .fails("TemplateStampFailure", "jsonpath returned empty list")
        .await?;
    Ok(())
}

#[tokio::test]
async fn a_job_gives_what_its_pod_said_at_its_end() -> Result<()> {
    let world = World::new("last-words").await?;
    let words = json!({ "digest": "sha256:1", "size": 3 });
    let annotations = json!({ "play.carto.run/message": words.to_string() });
    let container = json!({ "name": "work", "image": "busybox" });
    let pod = json!({ "restartPolicy": "Never", "containers": [container] });
    let template = json!({ "metadata": { "annotations": annotations }, "spec": pod });
    world
        .template(json!({
            "template": document(JOB, json!({ "backoffLimit": 0, "template": template })),
            "outputs": { "digest": ".terminationMessage.digest", "all": ".terminationMessage" },
        }))
        .await?;
    let subject = world.runnable("r", json!({})).await?;
    subject
        .outputs(json!({ "digest": "sha256:1", "all": words }))
        .await?;
    subject.stays_at_of(JOB, 1).await
}
