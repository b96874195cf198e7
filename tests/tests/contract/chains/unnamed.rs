//! Runnables further up that an account may not read.

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use super::{from, head, reader, world};
use crate::world::{RUNNABLE, Subject};

fn of_namespace(name: &str, namespace: &str) -> Value {
    let mut source = from(name);
    source["runnableRef"]["namespace"] = json!(namespace);
    source
}

/// Checks that neither a condition nor an event has this text.
async fn says_nothing_of(subject: &Subject, text: &str) -> Result<()> {
    let conditions = subject.status().await?["conditions"].to_string();
    ensure!(!conditions.contains(text), "{conditions}");
    let events = serde_json::to_string(&subject.events().await?)?;
    ensure!(!events.contains(text), "{events}");
    Ok(())
}

#[tokio::test]
async fn one_that_the_account_may_not_read_is_waited_for_and_not_named() -> Result<()> {
    let (there, here) = (world("there").await?, world("here").await?);
    let hidden = head(&there, "hidden").await?;
    hidden.answer(1, json!("h1")).await?;
    let middle = reader(&there, "middle", &["hidden"]).await?;
    middle.answer(1, json!("m1")).await?;
    there.let_read(RUNNABLE, "middle", &here.namespace).await?;
    let source = of_namespace("middle", &there.namespace);
    let spec = json!({ "inputs": { "own": 1 }, "inputsFrom": [source] });
    let end = here.runnable("end", spec).await?;
    end.answer(1, json!("e1")).await?;
    hidden.input("own", 2).await?;
    hidden.run(2).await?;
    end.input("own", 2).await?;
    let waits = "derives from something that is still changing, and that this account may not read";
    end.says("RunTemplateReady", "Unknown", "DependencyNotReady", waits)
        .await?;
    says_nothing_of(&end, "hidden").await?;
    // In its own namespace, with the same account, it is named.
    let near = reader(&there, "near", &["middle"]).await?;
    near.says(
        "RunTemplateReady",
        "Unknown",
        "DependencyNotReady",
        "/hidden",
    )
    .await?;
    hidden.answer(2, json!("h2")).await?;
    middle.answer(2, json!("m2")).await?;
    end.run(2).await?;
    says_nothing_of(&end, "hidden").await
}

#[tokio::test]
async fn a_claim_to_read_one_tells_others_nothing_of_it() -> Result<()> {
    let (there, here) = (world("there").await?, world("here").await?);
    let hidden = head(&there, "hidden").await?;
    let asks = head(&here, "asks").await?;
    asks.answer(1, json!("one")).await?;
    let source = of_namespace("hidden", &there.namespace);
    asks.edit(|it| it["spec"]["inputsFrom"] = json!([source.clone()]))
        .await?;
    asks.fails("SourceError", "may not get runnables.carto.run")
        .await?;
    // It is at work, and would be named if `asks` derived from it.
    hidden.run(1).await?;
    let listens = reader(&here, "listens", &["asks"]).await?;
    let waits = "/asks is blocked (SourceError)";
    listens
        .says("RunTemplateReady", "Unknown", "DependencyNotReady", waits)
        .await?;
    says_nothing_of(&listens, "hidden").await
}
