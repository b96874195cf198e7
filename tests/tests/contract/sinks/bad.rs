//! Impossible sinks: each beside a Runnable that goes on.

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use super::{ALL, CONFIG_MAP, SECRET, data, holds, to, world, writing};
use crate::world::{Kind, Subject, World, answers, document, specless};

/// Makes a Runnable that works beside the others and must not notice.
async fn bystander(world: &World) -> Result<Subject> {
    let spec = json!({ "inputs": { "foo": 1 }, "writeOutputsTo": [to(SECRET, "good")] });
    let subject = world.runnable("bystander", spec).await?;
    subject.answer(1, json!("good")).await?;
    Ok(subject)
}

async fn goes_on(world: &World, bystander: &Subject) -> Result<()> {
    holds(world, SECRET, "good", json!({ "answer": "good" })).await?;
    bystander.ready("True").await?;
    bystander.input("foo", 2).await?;
    bystander.answer(2, json!("better")).await?;
    holds(world, SECRET, "good", json!({ "answer": "better" }))
        .await
        .map(drop)
}

#[tokio::test]
async fn a_schema_refuses_what_can_be_no_sink() -> Result<()> {
    let world = World::new("refused").await?;
    let keyed = |key: &str| json!([{ "kind": "Secret", "name": "db", "keys": { "answer": key } }]);
    let long = "x".repeat(300);
    for (sinks, part) in [
        (json!([to(SECRET, "a"), to(SECRET, "a")]), "Duplicate value"),
        (json!([{ "kind": "Job", "name": "a" }]), "Unsupported value"),
        (json!([to(SECRET, "")]), "spec.writeOutputsTo[0].name"),
        (json!([to(SECRET, &long)]), "spec.writeOutputsTo[0].name"),
        (keyed(""), "spec.writeOutputsTo[0].keys"),
        (keyed("x y"), "spec.writeOutputsTo[0].keys"),
        (keyed("ключ"), "spec.writeOutputsTo[0].keys"),
        (keyed(&long), "spec.writeOutputsTo[0].keys"),
        (
            json!(
                (0..5)
                    .map(|n| to(SECRET, &format!("s{n}")))
                    .collect::<Vec<_>>()
            ),
            "must have at most 4",
        ),
    ] {
        let manifest = world.manifest("r", json!({ "writeOutputsTo": sinks }));
        let refused = world.refused(&manifest).await?;
        ensure!(refused.contains(part), "{sinks}: {refused}");
    }
    Ok(())
}

#[tokio::test]
async fn what_can_never_be_written_is_told_and_the_run_is_made_all_the_same() -> Result<()> {
    let world = world("never").await?;
    let bystander = bystander(&world).await?;
    let keyed = |keys: Value| json!({ "kind": "Secret", "name": "db", "keys": keys });
    for (index, (sink, part)) in [
        (to(SECRET, "../x"), "which is not a valid name of a Secret"),
        (to(SECRET, "Upper"), "which is not a valid name of a Secret"),
        (
            keyed(json!({ "unknown": "A" })),
            "the template declares no such output",
        ),
        (
            keyed(json!({ "answer": ".." })),
            "no object can have this key",
        ),
    ]
    .into_iter()
    .enumerate()
    {
        let spec = json!({ "inputs": { "foo": 1 }, "writeOutputsTo": [sink] });
        let subject = world.runnable(&format!("bad-{index}"), spec).await?;
        subject.answer(1, json!("one")).await?;
        subject.fails("OutputSinkFailed", part).await?;
        subject
            .says("Stalled", "True", "OutputSinkFailed", part)
            .await?;
        subject.stays_at(1).await?;
    }
    goes_on(&world, &bystander).await
}

#[tokio::test]
async fn a_run_is_no_sink_of_its_own_runnable() -> Result<()> {
    let world = World::new("itself").await?;
    let mut run = document(CONFIG_MAP, json!({}));
    run.as_object_mut()
        .into_iter()
        .for_each(|run| drop(run.remove("spec")));
    run["metadata"] = json!({ "name": "itself" });
    run["data"] = json!({ "a": "b" });
    world
        .template(json!({ "template": run, "outputs": { "answer": ".data.a" } }))
        .await?;
    let rights = ["get", "list", "create", "update", "delete"];
    world
        .allow("default", &[CONFIG_MAP.rights(&rights)])
        .await?;
    let subject = writing(&world, json!([to(CONFIG_MAP, "itself")])).await?;
    subject
        .fails("OutputSinkFailed", "is a run of this Runnable")
        .await?;
    let run = world.get(CONFIG_MAP, "itself").await?;
    assert_eq!(data(&run), json!({ "a": "b" }));
    Ok(())
}

/// Spoils an object of ours so that it cannot be written.
async fn spoilt(prefix: &str, spoil: Value, part: &str) -> Result<()> {
    let world = world(prefix).await?;
    let bystander = bystander(&world).await?;
    let subject = writing(&world, json!([to(SECRET, "db")])).await?;
    subject.answer(1, json!("one")).await?;
    let mut object = world.get(SECRET, "db").await?;
    let kept = object["metadata"].clone();
    object["metadata"] = json!({
        "name": "db", "annotations": kept["annotations"], "ownerReferences": kept["ownerReferences"],
    });
    for (field, value) in spoil.as_object().into_iter().flatten() {
        object[field] = value.clone();
    }
    object["metadata"]["annotations"]["carto.run/outputs-sequence"] = json!("1");
    // Without the right to write it, it is not made anew in between.
    world.allow("default", &[SECRET.rights(&["get"])]).await?;
    world.delete(SECRET, "db").await?;
    world.put(object).await?;
    world.allow("default", &[SECRET.rights(ALL)]).await?;
    subject.input("foo", 2).await?;
    subject.answer(2, json!("two")).await?;
    subject.fails("OutputSinkFailed", part).await?;
    subject
        .says("Reconciling", "True", "OutputSinkFailed", part)
        .await?;
    subject.stays_at(2).await?;
    goes_on(&world, &bystander).await?;
    world.delete(SECRET, "db").await?;
    holds(&world, SECRET, "db", json!({ "answer": "two" })).await?;
    subject.ready("True").await.map(drop)
}

#[tokio::test]
async fn an_immutable_secret_is_told_and_ends_with_its_deletion() -> Result<()> {
    spoilt("immutable", json!({ "immutable": true }), "immutable").await
}

#[tokio::test]
async fn a_secret_of_a_type_that_wants_other_keys_is_told() -> Result<()> {
    let spoil = json!({
        "type": "kubernetes.io/tls", "data": { "tls.crt": "eA==", "tls.key": "eA==" },
    });
    spoilt("tls", spoil, "tls.crt").await
}

#[tokio::test]
async fn a_quota_is_told_and_ends_with_room() -> Result<()> {
    const QUOTA: Kind = Kind::new("", "v1", "ResourceQuota", "resourcequotas");
    let world = world("quota").await?;
    world.template(answers()).await?;
    let bystander = bystander(&world).await?;
    let mut quota = specless(QUOTA, "spec", json!({ "hard": { "count/secrets": "1" } }));
    quota["metadata"] = json!({ "name": "few" });
    world.put(quota).await?;
    let is_counted = |quota: &Value| quota["status"]["used"]["count/secrets"] == "1";
    let counted = || async {
        let quota = world.get(QUOTA, "few").await?;
        Ok(if is_counted(&quota) {
            cartouche_tests::cluster::Seen::Done(())
        } else {
            cartouche_tests::cluster::Seen::NotYet(quota["status"].to_string())
        })
    };
    // Without the controller that counts, the API server admits nothing at all, with another message.
    let _ = tokio::time::timeout(
        std::time::Duration::from_secs(3),
        world.eventually("a count", counted),
    )
    .await;
    let subject = writing(&world, json!([to(SECRET, "db")])).await?;
    subject.answer(1, json!("one")).await?;
    subject.fails("OutputSinkFailed", "quota").await?;
    subject.stays_at(1).await?;
    world.delete(QUOTA, "few").await?;
    subject.input("foo", 2).await?;
    subject.answer(2, json!("two")).await?;
    holds(&world, SECRET, "db", json!({ "answer": "two" })).await?;
    goes_on(&world, &bystander).await
}
