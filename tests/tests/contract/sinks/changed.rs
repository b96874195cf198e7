//! Sinks that others change.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use cartouche_tests::cluster::Seen;
use serde_json::{Value, json};

use super::{CONFIG_MAP, SECRET, data, holds, to, world, writing};
use crate::world::{answered, condition};

#[tokio::test]
async fn a_fight_over_a_sink_is_told_and_costs_few_writes() -> Result<()> {
    let world = world("fight").await?;
    let subject = writing(&world, json!([to(CONFIG_MAP, "db")])).await?;
    subject.answer(1, json!("one")).await?;
    subject.ready("True").await?;
    let (began, mut right, mut told) = (Instant::now(), 0, false);
    // Each time that it is right, a user makes it wrong at once.
    while right < 5 {
        let object = world.get(CONFIG_MAP, "db").await?;
        if data(&object) == json!({ "answer": "one" }) {
            right += 1;
            let patch = json!({ "data": { "answer": "mine" } });
            world.patch_of(CONFIG_MAP, "db", patch).await?;
        }
        let object = subject.object().await?;
        let said = condition(&object, "RunTemplateReady");
        told |= said["reason"] == "OutputSinkFailed"
            && said["message"]
                .as_str()
                .is_some_and(|it| it.contains("another client changes ConfigMap db"));
        ensure!(began.elapsed() < Duration::from_mins(2), "{object}");
    }
    ensure!(told, "nobody was told");
    // After the first time it takes a second, then two, and four, plus or minus a fifth.
    ensure!(
        began.elapsed() >= Duration::from_millis(5_600),
        "{:?}",
        began.elapsed()
    );
    holds(&world, CONFIG_MAP, "db", json!({ "answer": "one" })).await?;
    subject.ready("True").await?;
    // Outputs of another run do not wait for that.
    subject.input("foo", 2).await?;
    subject.answer(2, json!("two")).await?;
    holds(&world, CONFIG_MAP, "db", json!({ "answer": "two" })).await?;
    subject.stays_at(2).await
}

#[tokio::test]
async fn a_sink_that_is_ahead_of_a_run_that_has_given_nothing_is_put_back_after_a_while()
-> Result<()> {
    let world = world("ahead").await?;
    let subject = writing(&world, json!([to(CONFIG_MAP, "db")])).await?;
    subject.answer(1, json!("one")).await?;
    holds(&world, CONFIG_MAP, "db", json!({ "answer": "one" })).await?;
    subject.input("foo", 2).await?;
    let run = subject.run(2).await?;
    let ahead = json!({
        "metadata": { "annotations": { "carto.run/outputs-sequence": "2" } }, "data": { "answer": "forged" },
    });
    world.patch_of(CONFIG_MAP, "db", ahead).await?;
    let seen = || async {
        let object = world.get(CONFIG_MAP, "db").await?;
        let is_back = data(&object) == json!({ "answer": "one" });
        Ok(if is_back {
            Seen::Done(object)
        } else {
            Seen::NotYet(object["data"].to_string())
        })
    };
    let object = world
        .cluster
        .eventually("the outputs of run 1", Duration::from_mins(2), seen)
        .await?;
    let sequence = &object["metadata"]["annotations"]["carto.run/outputs-sequence"];
    assert_eq!(*sequence, "1");
    subject
        .event(
            "Warning",
            "OutputSinkOverwritten",
            "ConfigMap db had the outputs of run 2",
        )
        .await?;
    world.play(&run, answered("two")).await?;
    holds(&world, CONFIG_MAP, "db", json!({ "answer": "two" })).await?;
    subject.ready("True").await.map(drop)
}

#[tokio::test]
async fn without_the_template_no_secret_is_written_and_all_others_are() -> Result<()> {
    let world = super::sensitive::with_pin("untemplated").await?;
    let sinks = json!([to(SECRET, "db"), to(CONFIG_MAP, "db")]);
    let subject = writing(&world, sinks).await?;
    super::sensitive::gives(&world, &subject, 1, "one", "7731").await?;
    subject.ready("True").await?;
    let spec = world
        .get(crate::world::TEMPLATE, &world.template_name())
        .await?["spec"]
        .take();
    world
        .delete(crate::world::TEMPLATE, &world.template_name())
        .await?;
    subject.fails("RunTemplateNotFound", "").await?;
    let changed = |kind: crate::world::Kind, answer: &'static str| {
        let patch: Value = json!({ "data": { "answer": answer } });
        world.patch_of(kind, "db", patch)
    };
    changed(SECRET, "dHdv").await?;
    changed(CONFIG_MAP, "two").await?;
    // The controller checks the ConfigMap together with the Secret.
    holds(&world, CONFIG_MAP, "db", json!({ "answer": "one" })).await?;
    let secret = world.get(SECRET, "db").await?;
    assert_eq!(data(&secret), json!({ "answer": "two", "pin": "7731" }));
    world.template(spec).await?;
    holds(
        &world,
        SECRET,
        "db",
        json!({ "answer": "one", "pin": "7731" }),
    )
    .await?;
    subject.stays_at(1).await
}
