//! Breaks a working Runnable in one way, examines it, and repairs it.

use std::{collections::BTreeMap, sync::Arc};

use anyhow::{Context, Result, ensure};
use cartouche_protocol::messages::format::without_tries;
use cartouche_tests::repository;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use tokio::{sync::Semaphore, task::JoinSet};

use crate::world::{TEST_OBJ, World, answers, condition, text};

/// Limits the cases that run at the same time, of all tables: with all of them at once, even quick ones take
/// long on a small machine.
static TURNS: Semaphore = Semaphore::const_new(6);

/// One way to break a working Runnable.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    pub what: String,
    /// Merged into the spec of the template.
    #[serde(default = "nothing")]
    pub template: Value,
    /// Merged into the spec of the Runnable.
    #[serde(default = "nothing")]
    pub runnable: Value,
    /// Replaces the tag that the template has at `spec.foo`.
    #[serde(default)]
    pub tag: Option<String>,
    /// Reason of the conditions `Ready` and `RunTemplateReady`, which are False, and of the Warning.
    pub reason: String,
    /// Part of the message of all three.
    pub says: String,
}

fn nothing() -> Value {
    json!({})
}

/// Reads the cases of a file in `cases/`.
pub fn file<T: DeserializeOwned>(name: &str) -> Result<Vec<T>> {
    let cases = repository().join("tests/tests/contract/bad_input/cases");
    let text = std::fs::read_to_string(cases.join(name))?;
    serde_saphyr::from_str(&text).with_context(|| name.to_owned())
}

pub const STAMP: &str = "TemplateStampFailure";
pub const REJECTED: &str = "StampedObjectRejectedByAPIServer";
pub const ACCOUNT: &str = "ServiceAccountError";

pub fn template(what: &str, template: Value, reason: &str, part: &str) -> Case {
    Case {
        what: what.to_owned(),
        template: json!({ "template": template }),
        runnable: json!({}),
        tag: None,
        reason: reason.to_owned(),
        says: part.to_owned(),
    }
}

pub fn tag(what: &str, tag: &str, part: &str) -> Case {
    template(what, json!({ "spec": { "foo": tag } }), STAMP, part)
}

pub fn spec(what: &str, template: Value, part: &str) -> Case {
    Case {
        what: what.to_owned(),
        template,
        runnable: json!({}),
        tag: None,
        reason: STAMP.to_owned(),
        says: part.to_owned(),
    }
}

pub fn runnable(what: &str, runnable: Value, reason: &str, part: &str) -> Case {
    Case {
        what: what.to_owned(),
        template: json!({}),
        runnable,
        tag: None,
        reason: reason.to_owned(),
        says: part.to_owned(),
    }
}

/// Examines all cases at the same time, and a Runnable beside them that must not notice. Returns the finding
/// of each case, by its description.
pub async fn each<C, Found, Looking, Look>(
    prefix: &str,
    cases: Vec<C>,
    look: Looking,
) -> Result<BTreeMap<String, Found>>
where
    C: Named + Send + 'static,
    Found: Send + 'static,
    Looking: Fn(World, usize, Arc<C>) -> Look,
    Look: Future<Output = Result<Found>> + Send + 'static,
{
    let world = World::new(prefix).await?;
    world.template(answers()).await?;
    for name in ["one-of-two", "other-of-two"] {
        let mut object = foreign(name);
        object["metadata"]["labels"] = json!({ "one-of": TWO });
        world.put(object).await?;
    }
    let bystander = world
        .runnable("bystander", json!({ "inputs": { "foo": 1 } }))
        .await?;
    bystander.answer(1, json!(1)).await?;
    let mut tasks = JoinSet::new();
    for (index, case) in cases.into_iter().enumerate() {
        let case = Arc::new(case);
        let what = case.what().to_owned();
        let looking = look(world.clone(), index, case);
        tasks.spawn(async move {
            let _turn = TURNS.acquire().await?;
            let found = looking.await;
            found.map(|found| (what.clone(), found)).context(what)
        });
    }
    let (mut all, mut failures) = (BTreeMap::new(), Vec::new());
    for outcome in tasks.join_all().await {
        match outcome {
            Ok((what, found)) => {
                ensure!(
                    all.insert(what.clone(), found).is_none(),
                    "two cases: {what}"
                );
            }
            Err(error) => failures.push(format!("{error:#}")),
        }
    }
    ensure!(failures.is_empty(), "{}", failures.join("\n\n"));
    bystander.input("foo", 2).await?;
    bystander.answer(2, json!(2)).await?;
    Ok(all)
}

/// Breaks Runnables in all these ways. `snapshots/` has the exact message of each.
pub async fn all(prefix: &str, cases: Vec<Case>) -> Result<()> {
    let told = each(prefix, cases, |world, index, case| async move {
        broken(&world, index, &case).await
    })
    .await?;
    insta::assert_yaml_snapshot!(prefix, told);
    Ok(())
}

/// The common text of the conditions `Ready` and `RunTemplateReady` and of the Warning, under one reason.
#[derive(Serialize)]
pub struct Told {
    reason: String,
    message: String,
}

/// A case with a description.
pub trait Named {
    fn what(&self) -> &str;
}

impl Named for Case {
    fn what(&self) -> &str {
        &self.what
    }
}

/// The value of a label that exactly two objects have.
pub const TWO: &str = "two";

pub fn foreign(name: &str) -> Value {
    json!({
        "apiVersion": "test.run/v1", "kind": "TestObj", "metadata": { "name": name }, "spec": { "mine": true },
    })
}

/// Breaks and repairs a Runnable with outputs of a first run and a second run on its way.
async fn broken(world: &World, index: usize, case: &Case) -> Result<Told> {
    let name = world
        .another_template(&index.to_string(), answers())
        .await?;
    let inputs =
        json!({ "foo": 1, "list": [1, 2], "nil": null, "obj": {}, "big": "", "text": "x" });
    if world.find(TEST_OBJ, "taken").await?.is_none() {
        world.put(foreign("taken")).await?;
    }
    let whole = json!({ "runTemplateRef": { "name": name }, "inputs": inputs });
    let subject = world.runnable(&format!("r{index}"), whole).await?;
    subject.answer(1, json!("kept")).await?;
    subject.input("foo", 2).await?;
    let running = subject.run(2).await?;
    let created = |object: &Value| object["status"]["currentRun"]["phase"] == "Created";
    subject
        .until("the second run to be confirmed", created)
        .await?;

    if case.runnable != json!({}) {
        subject
            .edit(|object| merge(&mut object["spec"], &case.runnable))
            .await?;
    }
    let mut spec = answers();
    merge(&mut spec, &case.template);
    if let Some(tag) = &case.tag {
        spec["template"]["spec"]["foo"] = tag.as_str().into();
    }
    world.template_named(&name, spec).await?;
    let said = subject.fails(&case.reason, &case.says).await?;
    ensure!(said.len() <= 2400, "{} bytes", said.len());
    let object = subject.object().await?;
    let told = Told {
        reason: case.reason.clone(),
        message: subject.anonymous(&object, &said),
    };
    let stamped = condition(&object, "StampedObjectCondition");
    let runs_known = stamped["status"].is_null() || stamped["status"] == "Unknown";
    ensure!(runs_known, "it speaks of a run: {stamped}");
    // A missing template that may still come has no Warning for a minute.
    if case.reason != "RunTemplateNotFound" {
        let event = subject.event("Warning", &case.reason, &case.says).await?;
        ensure!(tells(&event, &said), "condition: {said}\n{event}");
    }
    subject.outputs(json!({ "answer": "kept" })).await?;
    unharmed(&subject.status().await?, &running)?;
    let runs = subject.runs(2).await?;
    ensure!(
        runs[1]["metadata"]["resourceVersion"] == running["metadata"]["resourceVersion"],
        "the run was touched"
    );

    if case.reason == REJECTED {
        // The refused request is retried meanwhile.
        tokio::time::sleep(std::time::Duration::from_millis(2500)).await;
    }
    // After the repair it goes on. The template comes last: the earlier input must not be rendered again.
    subject
        .edit(|object| {
            let reference = json!({ "name": name });
            object["spec"] = json!({ "runTemplateRef": reference, "inputs": { "foo": 3 } });
        })
        .await?;
    world.template_named(&name, answers()).await?;
    subject.answer(3, json!("mended")).await?;
    Ok(told)
}

/// Returns true if an event has the message of a condition, as far as there is room for it.
pub fn tells(event: &Value, said: &str) -> bool {
    let told = without_tries(text(&event["message"]));
    let told = told.trim_end_matches('…');
    let whole = without_tries(said);
    whole.starts_with(told) && (told.len() > 500 || told.len() == whole.len())
}

/// Checks that the first run is remembered as a success, and the second as unfinished.
fn unharmed(status: &Value, running: &Value) -> Result<()> {
    let first = text(&status["history"][0]);
    ensure!(first.starts_with("1 Succeeded "), "{first}");
    let earlier = status["unfinishedRuns"].as_array().into_iter().flatten();
    let mut unfinished = earlier.chain([&status["currentRun"]]);
    let second = unfinished.find(|run| run["uid"] == running["metadata"]["uid"]);
    let second = second.context("the running run is forgotten, or has ended")?;
    ensure!(second["result"].is_null(), "{second}");
    ensure!(
        status["outputsFrom"]["sequence"] == 1,
        "{}",
        text(&status["outputsFrom"]["name"])
    );
    Ok(())
}

/// Applies a JSON merge patch.
fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = json!({});
    }
    for (key, value) in patch {
        if value.is_null() {
            if let Some(fields) = target.as_object_mut() {
                fields.remove(key);
            }
        } else {
            merge(&mut target[key], value);
        }
    }
}
