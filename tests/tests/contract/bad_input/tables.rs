//! The cases that are data: `cases/*.yaml`.

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use serde_json::{Value, json};

use super::case::{Named, all, each, file, tells};
use crate::world::{Subject, condition, stamps, text};

#[tokio::test]
async fn names_of_accounts_that_are_none() -> Result<()> {
    all("bad-accounts", file("accounts.yaml")?).await
}

#[tokio::test]
async fn objects_that_cannot_be_made() -> Result<()> {
    all("bad-kinds", file("kinds.yaml")?).await
}

#[tokio::test]
async fn names_and_labels_that_cannot_be_given() -> Result<()> {
    all("bad-names", file("names.yaml")?).await
}

#[tokio::test]
async fn paths_that_lead_nowhere() -> Result<()> {
    all("bad-tags", file("tags.yaml")?).await
}

#[tokio::test]
async fn references_that_pick_nothing() -> Result<()> {
    all("bad-selectors", file("selectors.yaml")?).await
}

#[tokio::test]
async fn attempts_stops_and_waits_that_cannot_be_used() -> Result<()> {
    all("bad-lifecycles", file("lifecycle.yaml")?).await
}

#[tokio::test]
async fn sources_that_give_nothing() -> Result<()> {
    all("bad-sources", file("sources.yaml")?).await
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Hostile {
    what: String,
    value: Value,
}

impl Named for Hostile {
    fn what(&self) -> &str {
        &self.what
    }
}

#[tokio::test]
async fn inputs_are_values_whatever_they_look_like() -> Result<()> {
    let cases: Vec<Hostile> = file("values.yaml")?;
    each("hostile", cases, |world, index, case| async move {
        let value = &case.value;
        let name = format!("v{index}");
        let tag = "$(runnable.spec.inputs.value)$";
        let mut spec = json!({ "whole": tag, "inside": [{ "it": tag }] });
        if value.is_string() {
            spec["text"] = format!("<{tag}|{tag}>").into();
        }
        let template = world.another_template(&name, stamps(spec)).await?;
        let inputs = json!({ "value": value, "secret": "hidden" });
        let spec = json!({ "runTemplateRef": { "name": template }, "inputs": inputs });
        let subject = world.runnable(&name, spec.clone()).await?;
        let run = subject.run(1).await?;
        let mut wanted = json!({ "whole": value, "inside": [{ "it": value }] });
        if let Some(text) = value.as_str() {
            wanted["text"] = format!("<{text}|{text}>").into();
        }
        ensure!(run["spec"] == wanted, "{}", run["spec"]);
        let twin = world.runnable(&format!("twin{index}"), spec).await?;
        twin.run(1).await?;
        let hash = async |subject: &Subject| {
            let confirmed = |object: &Value| object["status"]["currentRun"]["phase"] == "Created";
            let object = subject.until("the run to be confirmed", confirmed).await?;
            anyhow::Ok(object["status"]["currentRun"]["inputHash"].clone())
        };
        ensure!(hash(&subject).await? == hash(&twin).await?);
        subject.stays_at(1).await
    })
    .await?;
    Ok(())
}

/// A status of a run, and the expected reading.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Said {
    what: String,
    status: Value,
    is: String,
    #[serde(default)]
    says: String,
    #[serde(default)]
    reason: Option<String>,
    /// Part of the message that goes with the reason.
    #[serde(default)]
    output: String,
    #[serde(default)]
    answer: Option<Value>,
}

impl Named for Said {
    fn what(&self) -> &str {
        &self.what
    }
}

#[tokio::test]
async fn runs_may_say_of_themselves_what_they_like() -> Result<()> {
    let cases: Vec<Said> = file("results.yaml")?;
    let told = each("odd-result", cases, |world, index, case| async move {
        let subject = world
            .runnable(&format!("s{index}"), json!({ "inputs": { "foo": 1 } }))
            .await?;
        subject.answer(1, json!("kept")).await?;
        subject.input("foo", 2).await?;
        let run = subject.run(2).await?;
        world.play(&run, case.status.clone()).await?;
        let answer = case.answer.clone().unwrap_or_else(|| json!("kept"));
        let reason = case.reason.as_deref().unwrap_or("Ready");
        subject
            .until(&case.what, |object| {
                let stamped = condition(object, "StampedObjectCondition");
                let template = condition(object, "RunTemplateReady");
                stamped["status"] == case.is
                    && text(&stamped["message"]).contains(&case.says)
                    && template["reason"] == reason
                    && text(&template["message"]).contains(&case.output)
                    && object["status"]["outputs"] == json!({ "answer": answer })
            })
            .await?;
        // An unchanged status may only not have been read yet.
        subject.stays_at(2).await?;
        let told = conditions_and_warnings(&subject, &subject.object().await?).await?;
        // In any case, the run is still followed, and no other is made.
        subject.answer(2, json!("mended")).await?;
        subject.stays_at(2).await?;
        Ok(told)
    })
    .await?;
    insta::assert_yaml_snapshot!("odd-result", told);
    Ok(())
}

/// Returns the conditions, a line each; a Warning has reported each that is False.
async fn conditions_and_warnings(subject: &Subject, object: &Value) -> Result<Vec<String>> {
    let conditions = object["status"]["conditions"].as_array().cloned();
    let mut lines = Vec::new();
    for told in conditions.unwrap_or_default() {
        let word = |field: &str| text(&told[field]).to_owned();
        let (kind, reason, message) = (word("type"), word("reason"), word("message"));
        if told["status"] == "False" && kind != "Ready" {
            // For a failed run, Ready says more than the condition of its engine, and the event also has the
            // cure.
            let of_run = kind == "StampedObjectCondition";
            let said = if of_run {
                text(&condition(object, "Ready")["message"]).to_owned()
            } else {
                message.clone()
            };
            let mut event = subject.event("Warning", &reason, &said).await?;
            if of_run {
                let (what, _) = text(&event["message"])
                    .split_once("; to do: ")
                    .with_context(|| format!("no cure: {event}"))?;
                event["message"] = what.into();
            }
            ensure!(tells(&event, &said), "condition: {said}\n{event}");
        }
        let line = format!("{kind}={} {reason}: {message}", word("status"));
        lines.push(subject.anonymous(object, &line));
    }
    Ok(lines)
}

/// An invalid object.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Refused {
    what: String,
    /// Spec of a Runnable.
    #[serde(default)]
    spec: Value,
    /// The spec of a template.
    #[serde(default)]
    template: Option<Value>,
    says: String,
}

impl Named for Refused {
    fn what(&self) -> &str {
        &self.what
    }
}

#[tokio::test]
async fn what_cannot_be_meant_is_refused_at_once() -> Result<()> {
    refused("refused", "refused.yaml").await
}

#[tokio::test]
async fn attempts_stops_and_waits_that_cannot_be_meant_are_refused_at_once() -> Result<()> {
    refused("refused-lifecycles", "lifecycle-refused.yaml").await
}

#[tokio::test]
async fn sources_that_cannot_be_meant_are_refused_at_once() -> Result<()> {
    refused("refused-sources", "sources-refused.yaml").await
}

async fn refused(prefix: &str, cases: &str) -> Result<()> {
    let cases: Vec<Refused> = file(cases)?;
    let told = each(prefix, cases, |world, index, case| async move {
        let name = format!("{}-x{index}", world.namespace);
        let (kind, spec) = match &case.template {
            Some(spec) => ("ClusterRunTemplate", spec),
            None => ("Runnable", &case.spec),
        };
        let object = json!({
            "apiVersion": "carto.run/v1alpha1", "kind": kind,
            "metadata": { "name": name }, "spec": spec,
        });
        let said = world.refused(&object).await?;
        ensure!(said.contains(&case.says), "{said}");
        Ok(said.replace(&world.namespace, "[namespace]"))
    })
    .await?;
    insta::assert_yaml_snapshot!(prefix, told);
    Ok(())
}
