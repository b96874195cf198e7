//! Outputs that appear only in a Secret.

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use super::{ALL, CONFIG_MAP, SECRET, holds, to, world, writing, written};
use crate::world::{RUNNABLE, Subject, TEST_OBJ, World, answered, answers, succeeded};

/// A value that may only appear in its Secret, and in the run that gave it.
const PIN: &str = "7731-planted";

pub(super) async fn with_pin(prefix: &str) -> Result<World> {
    let world = world(prefix).await?;
    with_pin_again(&world).await?;
    Ok(world)
}

async fn with_pin_again(world: &World) -> Result<()> {
    let mut template = answers();
    template["outputs"]["pin"] = json!(".status.pin");
    template["sensitiveOutputs"] = json!(["pin"]);
    world.template(template).await
}

pub(super) async fn gives(
    world: &World,
    subject: &Subject,
    count: usize,
    answer: &str,
    pin: &str,
) -> Result<()> {
    let run = subject.run(count).await?;
    let mut status = answered(answer);
    status["pin"] = json!(pin);
    world.play(&run, status).await?;
    subject.outputs(json!({ "answer": answer })).await
}

async fn revision(subject: &Subject) -> Result<Value> {
    Ok(subject.status().await?["sensitiveOutputs"]["pin"]["revision"].take())
}

#[tokio::test]
async fn a_sensitive_output_stands_in_its_secret_and_nowhere_else() -> Result<()> {
    let world = with_pin("planted").await?;
    let mut keyed = to(SECRET, "db");
    keyed["keys"] = json!({ "pin": "PIN", "answer": "ANSWER" });
    let subject = writing(
        &world,
        json!([keyed, to(CONFIG_MAP, "db"), to(SECRET, "all")]),
    )
    .await?;
    gives(&world, &subject, 1, "one", PIN).await?;
    holds(&world, SECRET, "db", json!({ "PIN": PIN, "ANSWER": "one" })).await?;
    holds(
        &world,
        SECRET,
        "all",
        json!({ "pin": PIN, "answer": "one" }),
    )
    .await?;
    holds(&world, CONFIG_MAP, "db", json!({ "answer": "one" })).await?;
    let object = subject.ready("True").await?;
    let place = &object["status"]["sensitiveOutputs"]["pin"];
    assert_eq!(place["name"], "db");
    assert_eq!(place["key"], "PIN");
    // The Secret is refused once, so that there is a message, too.
    world.allow("default", &[]).await?;
    subject.input("foo", 2).await?;
    gives(&world, &subject, 2, "two", PIN).await?;
    subject.fails("OutputSinkFailed", "may not").await?;
    let mut seen: Vec<String> = Vec::new();
    for kind in [RUNNABLE, CONFIG_MAP] {
        let objects = world.list(kind, "").await?;
        seen.extend(objects.iter().map(Value::to_string));
    }
    for event in subject.events().await? {
        seen.push(event.to_string());
    }
    seen.push(world.controller.log()?);
    let encoded = serde_json::to_value(k8s_openapi::ByteString(PIN.into()))?;
    for text in seen {
        ensure!(!text.contains(PIN), "{text}");
        ensure!(
            !text.contains(encoded.as_str().unwrap_or_default()),
            "{text}"
        );
    }
    Ok(())
}

#[tokio::test]
async fn its_revision_is_that_of_the_value_in_this_very_secret() -> Result<()> {
    let world = with_pin("revision").await?;
    let subject = writing(&world, json!([to(SECRET, "db")])).await?;
    gives(&world, &subject, 1, "one", PIN).await?;
    let first = revision(&subject).await?;
    ensure!(first.as_str().is_some_and(|it| it.len() == 16), "{first}");
    subject.input("foo", 2).await?;
    gives(&world, &subject, 2, "two", PIN).await?;
    assert_eq!(revision(&subject).await?, first);
    subject.input("foo", 3).await?;
    gives(&world, &subject, 3, "three", "another").await?;
    ensure!(revision(&subject).await? != first);
    subject.stays_at(3).await
}

#[tokio::test]
async fn a_secret_that_is_deleted_has_the_value_again_while_the_run_is_there() -> Result<()> {
    let world = with_pin("deleted").await?;
    let subject = writing(&world, json!([to(SECRET, "db")])).await?;
    gives(&world, &subject, 1, "one", PIN).await?;
    let first = revision(&subject).await?;
    world.delete(SECRET, "db").await?;
    holds(&world, SECRET, "db", json!({ "answer": "one", "pin": PIN })).await?;
    let is_new = |object: &Value| object["status"]["sensitiveOutputs"]["pin"]["revision"] != first;
    subject.until("another revision", is_new).await?;
    let run = subject.run(1).await?;
    let name = run["metadata"]["name"].as_str().unwrap_or_default();
    // After changes by hand, the others are corrected without the run.
    world.delete(TEST_OBJ, name).await?;
    world.gone(TEST_OBJ, name).await?;
    for _ in 0..3 {
        // The second time it is corrected a little later.
        let patch = json!({ "data": { "answer": "dHdv" } });
        world.patch_of(SECRET, "db", patch).await?;
        holds(&world, SECRET, "db", json!({ "answer": "one", "pin": PIN })).await?;
    }
    world.delete(SECRET, "db").await?;
    let said = subject
        .fails(
            "OutputSinkFailed",
            "which gave its sensitive outputs, cannot be read any more",
        )
        .await?;
    ensure!(said.contains("cartouche rerun"), "{said}");
    ensure!(world.find(SECRET, "db").await?.is_none());
    assert_eq!(subject.status().await?["currentRun"]["sequence"], 1);
    Ok(())
}

#[tokio::test]
async fn a_secret_that_could_not_be_read_for_a_while_is_as_it_was_though_the_run_is_gone()
-> Result<()> {
    let world = with_pin("unread").await?;
    let subject = writing(&world, json!([to(SECRET, "db")])).await?;
    gives(&world, &subject, 1, "one", PIN).await?;
    let first = revision(&subject).await?;
    let run = subject.run(1).await?;
    let name = run["metadata"]["name"].as_str().unwrap_or_default();
    world.delete(TEST_OBJ, name).await?;
    world.gone(TEST_OBJ, name).await?;
    world.allow("default", &[]).await?;
    let sinks = json!([to(SECRET, "db"), to(CONFIG_MAP, "open")]);
    subject
        .edit(|it| it["spec"]["writeOutputsTo"] = sinks.clone())
        .await?;
    subject.fails("OutputSinkFailed", "may not").await?;
    let rights = [CONFIG_MAP.rights(ALL), SECRET.rights(ALL)];
    world.allow("default", &rights).await?;
    holds(&world, CONFIG_MAP, "open", json!({ "answer": "one" })).await?;
    written(&subject, &[(SECRET, "db"), (CONFIG_MAP, "open")], 1).await?;
    holds(&world, SECRET, "db", json!({ "answer": "one", "pin": PIN })).await?;
    assert_eq!(revision(&subject).await?, first);
    Ok(())
}

#[tokio::test]
async fn what_changes_in_the_run_that_is_current_is_written_as_a_whole() -> Result<()> {
    let world = with_pin("current").await?;
    let subject = writing(&world, json!([to(SECRET, "db")])).await?;
    gives(&world, &subject, 1, "one", PIN).await?;
    let run = subject.run(1).await?;
    let mut status = answered("two");
    status["pin"] = json!("second");
    world.play(&run, status).await?;
    holds(
        &world,
        SECRET,
        "db",
        json!({ "answer": "two", "pin": "second" }),
    )
    .await?;
    subject.stays_at(1).await
}

#[tokio::test]
async fn an_optional_output_that_the_run_did_not_give_breaks_nothing() -> Result<()> {
    let world = world("lacking").await?;
    let mut template = answers();
    template["outputs"]["pin"] = json!(".status.pin");
    template["outputs"]["token"] = json!(".status.token");
    template["sensitiveOutputs"] = json!(["pin", "token"]);
    template["optionalOutputs"] = json!(["token"]);
    world.template(template).await?;
    let subject = writing(&world, json!([to(SECRET, "db")])).await?;
    gives(&world, &subject, 1, "one", PIN).await?;
    holds(&world, SECRET, "db", json!({ "answer": "one", "pin": PIN })).await?;
    let run = subject.run(1).await?;
    let name = run["metadata"]["name"].as_str().unwrap_or_default();
    world.delete(TEST_OBJ, name).await?;
    world.gone(TEST_OBJ, name).await?;
    let patch = json!({ "data": { "answer": "dHdv" } });
    world.patch_of(SECRET, "db", patch).await?;
    holds(&world, SECRET, "db", json!({ "answer": "one", "pin": PIN })).await?;
    subject.ready("True").await.map(drop)
}

#[tokio::test]
async fn a_run_that_is_there_is_not_called_gone_since_the_template_takes_outputs_from_elsewhere()
-> Result<()> {
    let world = with_pin("withheld").await?;
    let subject = writing(&world, json!([to(SECRET, "db")])).await?;
    gives(&world, &subject, 1, "one", PIN).await?;
    subject.ready("True").await?;
    subject.input("foo", 2).await?;
    let run = subject.run(2).await?;
    world.play(&run, succeeded("False", "it broke")).await?;
    subject.ready("False").await?;
    let mut template = answers();
    template["outputs"]["pin"] = json!(".status.nowhere");
    template["sensitiveOutputs"] = json!(["pin"]);
    world.template(template).await?;
    world.delete(SECRET, "db").await?;
    let said = subject
        .says(
            "RunTemplateReady",
            "False",
            "OutputSinkFailed",
            "exists, but does not give them with the current template",
        )
        .await?;
    ensure!(!said.contains("any more"), "{said}");
    with_pin_again(&world).await?;
    holds(&world, SECRET, "db", json!({ "answer": "one", "pin": PIN })).await?;
    subject.stays_at(2).await
}

#[tokio::test]
async fn without_a_secret_it_is_nowhere_and_the_status_says_so() -> Result<()> {
    let world = with_pin("nowhere").await?;
    let subject = writing(&world, json!([to(CONFIG_MAP, "db")])).await?;
    gives(&world, &subject, 1, "one", PIN).await?;
    subject
        .fails(
            "OutputSinkFailed",
            "the sensitive outputs pin are stored nowhere",
        )
        .await?;
    holds(&world, CONFIG_MAP, "db", json!({ "answer": "one" })).await?;
    let status = subject.status().await?;
    assert_eq!(status["currentRun"]["result"], "Succeeded");
    assert_eq!(status.get("sensitiveOutputs"), None);
    subject
        .edit(|it| it["spec"]["writeOutputsTo"] = json!([to(SECRET, "db")]))
        .await?;
    holds(&world, SECRET, "db", json!({ "answer": "one", "pin": PIN })).await?;
    world.gone(CONFIG_MAP, "db").await?;
    subject.ready("True").await?;
    subject.stays_at(1).await
}

#[tokio::test]
async fn a_template_whose_sensitive_outputs_are_none_of_its_outputs_is_not_accepted() -> Result<()>
{
    let world = World::new("unknown").await?;
    let mut template = answers();
    template["sensitiveOutputs"] = json!(["pin"]);
    world.template(template).await?;
    let (status, _, message) = world.accepted(&world.template_name()).await?;
    assert_eq!(status, "False");
    ensure!(message.contains("sensitiveOutputs[0]"), "{message}");
    let mut shown = answers();
    shown["outputs"]["all"] = json!(".status");
    shown["sensitiveOutputs"] = json!(["answer"]);
    let name = world.another_template("shown", shown).await?;
    let (status, _, message) = world.accepted(&name).await?;
    assert_eq!(status, "False");
    ensure!(
        message.contains("it shows the sensitive output answer"),
        "{message}"
    );
    Ok(())
}

/// The value may appear in a run's own message, on each way into a status.
#[tokio::test]
async fn what_a_run_says_with_the_value_in_it_is_withheld() -> Result<()> {
    let world = world("withheld").await?;
    let mut template = answers();
    template["outputs"]["pin"] = json!(".status.pin");
    template["sensitiveOutputs"] = json!(["pin"]);
    template["failureOutputs"] = json!({ "log": ".status.log", "code": ".status.code" });
    world.template(template).await?;
    let subject = writing(&world, json!([to(SECRET, "db")])).await?;
    let run = subject.run(1).await?;
    let message = format!("with {PIN} it did not work");
    let mut failed = succeeded("False", &message);
    failed["pin"] = json!(PIN);
    failed["log"] = json!({ "url": format!("https://me:{PIN}@db") });
    failed["code"] = json!(3);
    world.play(&run, failed).await?;
    let withheld = "withheld: it contains the value of the sensitive output [pin]";
    subject
        .says(
            "StampedObjectCondition",
            "False",
            "SucceededCondition",
            withheld,
        )
        .await?;
    let status = subject.status().await?;
    assert_eq!(
        status["failure"]["outputs"],
        json!({ "log": withheld, "code": 3 })
    );

    subject.input("foo", 2).await?;
    let run = subject.run(2).await?;
    let mut shown = answered(format!("is {PIN}"));
    shown["pin"] = json!(PIN);
    world.play(&run, shown).await?;
    let part = "output [answer] is withheld, and all others with it";
    subject.fails("OutputPathNotSatisfied", part).await?;
    assert_eq!(subject.status().await?.get("outputs"), None);
    ensure!(world.find(SECRET, "db").await?.is_none());

    subject.input("foo", 3).await?;
    gives(&world, &subject, 3, "three", PIN).await?;
    holds(
        &world,
        SECRET,
        "db",
        json!({ "answer": "three", "pin": PIN }),
    )
    .await?;
    let mut seen = vec![subject.object().await?.to_string(), world.controller.log()?];
    for event in subject.events().await? {
        seen.push(event.to_string());
    }
    for text in seen {
        ensure!(!text.contains(PIN), "{text}");
    }
    Ok(())
}

#[tokio::test]
async fn a_rule_that_may_show_the_value_is_not_accepted_and_another_repeats_no_words() -> Result<()>
{
    let world = world("rules").await?;
    let ruled = |message: &str| {
        let mut template = answers();
        template["outputs"]["pin"] = json!(".status.pin");
        template["sensitiveOutputs"] = json!(["pin"]);
        template["healthRule"] = json!({ "multiMatch": {
            "healthy": { "matchFields": [
                { "key": ".status.answer", "operator": "Exists", "messagePath": message },
            ] },
            "unhealthy": { "matchFields": [{ "key": ".status.never", "operator": "Exists" }] },
        } });
        template
    };
    for (index, message) in [".status.pin", ".status['pin','x']", ".status", "..pin"]
        .into_iter()
        .enumerate()
    {
        let name = world
            .another_template(&format!("shown-{index}"), ruled(message))
            .await?;
        let (status, _, said) = world.accepted(&name).await?;
        assert_eq!(status, "False", "{message}");
        ensure!(
            said.contains("messagePath: it shows the sensitive output pin"),
            "{said}"
        );
    }
    world.template(ruled(".status.said")).await?;
    let subject = writing(&world, json!([to(SECRET, "db")])).await?;
    let run = subject.run(1).await?;
    // Too short to be found.
    let status = json!({ "answer": "one", "pin": "abc", "said": "it is abc" });
    world.play(&run, status).await?;
    let part = "is not shown, because its template has sensitive outputs";
    subject
        .says("StampedObjectCondition", "True", "MatchedField", part)
        .await?;
    holds(
        &world,
        SECRET,
        "db",
        json!({ "answer": "one", "pin": "abc" }),
    )
    .await?;
    Ok(())
}
