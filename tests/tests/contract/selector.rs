//! The selected object: the choice, and the reaction when it comes, changes or goes.

use anyhow::Result;
use serde_json::{Value, json};

use crate::world::{
    CLUSTER_OBJ, CONFIG_MAP, GUARDED_OBJ, Kind, SECONDS, Subject, TEST_OBJ, UNWATCHED_OBJ, World,
    config_map, document, stamps,
};

fn selector(kind: Kind, labels: Value) -> Value {
    json!({
        "resource": { "apiVersion": kind.api_version(), "kind": kind.name }, "matchingLabels": labels,
    })
}

fn labelled(kind: Kind, name: &str, labels: Value, answer: Value) -> Value {
    let mut object = document(kind, json!({ "value": { "answer": answer } }));
    object["metadata"] = json!({ "name": name, "labels": labels });
    object
}

/// Puts such an object there, and returns it.
async fn put(world: &World, kind: Kind, name: &str, labels: Value, answer: i64) -> Result<Value> {
    let object = labelled(kind, name, labels, json!(answer));
    world.put(object.clone()).await?;
    Ok(object)
}

/// Makes a Runnable, and two objects, `one` and `two` by name and answer, that it selects.
async fn selecting_two(world: &World, labels: Value) -> Result<Subject> {
    put(world, TEST_OBJ, "one", labels.clone(), 1).await?;
    put(world, TEST_OBJ, "two", labels.clone(), 2).await?;
    selecting(world, selector(TEST_OBJ, labels)).await
}

/// Makes a Runnable whose run has the answer of the selected object.
async fn selecting(world: &World, selector: Value) -> Result<Subject> {
    world
        .template(stamps(
            json!({ "answer": "$(selected.spec.value.answer)$" }),
        ))
        .await?;
    world.runnable("r", json!({ "selector": selector })).await
}

fn unresolved(labels: &str, kind: Kind, cause: &str) -> String {
    let version = kind.api_version();
    format!(
        "unable to resolve selector [map[{labels}]], apiVersion [{version}], kind [{}]: {cause}",
        kind.name
    )
}

#[tokio::test]
async fn the_one_match_in_the_own_namespace_is_selected() -> Result<()> {
    let (world, other) = (World::new("own").await?, World::new("other").await?);
    put(&world, TEST_OBJ, "mine", json!({ "a": "b", "c": "d" }), 42).await?;
    put(&world, TEST_OBJ, "unlike", json!({ "a": "c" }), 7).await?;
    put(&other, TEST_OBJ, "theirs", json!({ "a": "b" }), 7).await?;
    let subject = selecting(&world, selector(TEST_OBJ, json!({ "a": "b" }))).await?;
    assert_eq!(subject.run(1).await?["spec"]["answer"], 42);
    subject.stays_at(1).await
}

#[tokio::test]
async fn all_labels_must_match() -> Result<()> {
    let world = World::new("labels").await?;
    let shared = json!({ "app": "shop" });
    let both = json!({ "app": "shop", "tier": "web" });
    world
        .put(config_map("one", shared, json!({ "x": "wrong" })))
        .await?;
    world
        .put(config_map("two", both.clone(), json!({ "x": "right" })))
        .await?;
    let template =
        json!({ "selected": "$(selected.data.x)$", "input": "$(runnable.spec.inputs.i)$" });
    world.template(stamps(template)).await?;
    let spec = json!({ "selector": selector(CONFIG_MAP, both), "inputs": { "i": 1 } });
    let subject = world.runnable("r", spec).await?;
    assert_eq!(
        subject.run(1).await?["spec"],
        json!({ "selected": "right", "input": 1 })
    );
    Ok(())
}

#[tokio::test]
async fn a_cluster_scoped_object_is_selected_by_its_labels() -> Result<()> {
    let world = World::new("cluster").await?;
    let labels = json!({ "of": world.namespace });
    world
        .put(labelled(
            CLUSTER_OBJ,
            &world.namespace,
            labels.clone(),
            json!("wide"),
        ))
        .await?;
    let subject = selecting(&world, selector(CLUSTER_OBJ, labels)).await?;
    assert_eq!(subject.run(1).await?["spec"]["answer"], "wide");
    subject.stays_at(1).await
}

#[tokio::test]
async fn no_labels_at_all_match_everything() -> Result<()> {
    let world = World::new("all").await?;
    put(&world, GUARDED_OBJ, "only", json!({}), 1).await?;
    world
        .allow("default", &[GUARDED_OBJ.rights(&["list"])])
        .await?;
    let subject = selecting(&world, selector(GUARDED_OBJ, json!({}))).await?;
    assert_eq!(subject.run(1).await?["spec"]["answer"], 1);
    Ok(())
}

#[tokio::test]
async fn without_a_match_a_runnable_waits_for_one() -> Result<()> {
    let world = World::new("appears").await?;
    let labels = json!({ "k1": "v1", "k2": "v2" });
    let subject = selecting(&world, selector(TEST_OBJ, labels.clone())).await?;
    let said = subject.fails_in_full("TemplateStampFailure", "").await?;
    let wanted = unresolved(
        "k1:v1 k2:v2",
        TEST_OBJ,
        "selector did not match any objects",
    );
    assert_eq!(said, wanted);
    subject
        .event("Warning", "TemplateStampFailure", &wanted)
        .await?;
    subject.stays_at(0).await?;
    put(&world, TEST_OBJ, "late", labels, 42).await?;
    assert_eq!(subject.run(1).await?["spec"]["answer"], 42);
    subject
        .says("RunTemplateReady", "True", "Ready", "")
        .await?;
    Ok(())
}

#[tokio::test]
async fn of_several_matches_none_is_taken_until_one_is_left() -> Result<()> {
    let world = World::new("several").await?;
    let subject = selecting_two(&world, json!({ "a": "b" })).await?;
    let said = subject.fails_in_full("TemplateStampFailure", "").await?;
    let wanted = unresolved("a:b", TEST_OBJ, "selector matched multiple objects");
    assert_eq!(said, wanted);
    world.delete(TEST_OBJ, "one").await?;
    assert_eq!(subject.run(1).await?["spec"]["answer"], 2);
    Ok(())
}

#[tokio::test]
async fn of_several_matches_one_is_left_when_the_others_lose_their_label() -> Result<()> {
    let world = World::new("unlabel").await?;
    let subject = selecting_two(&world, json!({ "a": "b" })).await?;
    subject
        .fails("TemplateStampFailure", "selector matched multiple objects")
        .await?;
    unlabel(&world, "one").await?;
    assert_eq!(subject.run(1).await?["spec"]["answer"], 2);
    subject.stays_at(1).await
}

#[tokio::test]
async fn a_label_that_moves_to_another_object_selects_that_one() -> Result<()> {
    let world = World::new("moves").await?;
    let labels = json!({ "a": "b" });
    put(&world, TEST_OBJ, "one", labels.clone(), 1).await?;
    put(&world, TEST_OBJ, "two", json!({}), 2).await?;
    let subject = selecting(&world, selector(TEST_OBJ, labels.clone())).await?;
    subject.run(1).await?;
    let two = labelled(TEST_OBJ, "two", json!({}), json!(2));
    world
        .patch_object(&two, json!({ "metadata": { "labels": labels } }))
        .await?;
    subject
        .fails("TemplateStampFailure", "selector matched multiple objects")
        .await?;
    unlabel(&world, "one").await?;
    assert_eq!(subject.run(2).await?["spec"]["answer"], 2);
    subject.stays_at(2).await
}

async fn unlabel(world: &World, name: &str) -> Result<()> {
    let object = world.get(TEST_OBJ, name).await?;
    world
        .patch_object(&object, json!({ "metadata": { "labels": { "a": null } } }))
        .await?;
    Ok(())
}

#[tokio::test]
async fn a_change_of_the_selected_object_makes_a_run_if_it_is_read() -> Result<()> {
    let world = World::new("changes").await?;
    let labels = json!({ "a": "b" });
    let object = put(&world, TEST_OBJ, "it", labels.clone(), 1).await?;
    let subject = selecting(&world, selector(TEST_OBJ, labels)).await?;
    subject.run(1).await?;
    world
        .patch_object(&object, json!({ "spec": { "unread": true } }))
        .await?;
    world
        .patch_object(
            &object,
            json!({ "metadata": { "annotations": { "a": "b" } } }),
        )
        .await?;
    subject.stays_at(1).await?;
    world
        .patch_object(&object, json!({ "spec": { "value": { "answer": 2 } } }))
        .await?;
    assert_eq!(subject.run(2).await?["spec"]["answer"], 2);
    subject.stays_at(2).await
}

#[tokio::test]
async fn a_whole_selected_object_is_read_without_what_every_write_changes() -> Result<()> {
    let world = World::new("whole").await?;
    let labels = json!({ "a": "b" });
    put(&world, TEST_OBJ, "it", labels.clone(), 1).await?;
    world
        .template(stamps(json!({ "all": "$(selected)$" })))
        .await?;
    let spec = json!({ "selector": selector(TEST_OBJ, labels) });
    let subject = world.runnable("r", spec).await?;
    let all = subject.run(1).await?["spec"]["all"].take();
    assert_eq!(all["kind"], "TestObj");
    assert_eq!(all["metadata"]["name"], "it");
    assert_eq!(all["metadata"]["resourceVersion"], Value::Null);
    assert_eq!(all["metadata"]["managedFields"], Value::Null);
    Ok(())
}

#[tokio::test]
async fn a_selected_object_that_goes_is_missed_and_its_outputs_stay() -> Result<()> {
    let world = World::new("goes").await?;
    let labels = json!({ "a": "b" });
    let object = put(&world, TEST_OBJ, "it", labels.clone(), 1).await?;
    let mut spec = stamps(json!({ "answer": "$(selected.spec.value.answer)$" }));
    spec["outputs"] = json!({ "answer": ".status.answer" });
    world.template(spec).await?;
    let spec = json!({ "selector": selector(TEST_OBJ, labels.clone()) });
    let subject = world.runnable("r", spec).await?;
    subject.answer(1, json!("kept")).await?;
    for gone in ["label", "object"] {
        if gone == "label" {
            unlabel(&world, "it").await?;
        } else {
            world.delete(TEST_OBJ, "it").await?;
        }
        subject
            .fails("TemplateStampFailure", "selector did not match any objects")
            .await?;
        subject.outputs(json!({ "answer": "kept" })).await?;
        world.put(object.clone()).await?;
        subject.ready("True").await?;
    }
    subject.stays_at(1).await
}

#[tokio::test]
async fn another_selector_selects_another_object() -> Result<()> {
    let world = World::new("reselect").await?;
    for (name, answer) in [("one", 1), ("two", 2)] {
        world
            .put(labelled(
                TEST_OBJ,
                name,
                json!({ "is": name }),
                json!(answer),
            ))
            .await?;
    }
    let subject = selecting(&world, selector(TEST_OBJ, json!({ "is": "one" }))).await?;
    assert_eq!(subject.run(1).await?["spec"]["answer"], 1);
    // The watch is at work by now, and the selected object is remembered.
    subject.stays_at(1).await?;
    let two = json!({ "is": "two" });
    subject
        .edit(|object| object["spec"]["selector"]["matchingLabels"] = two.clone())
        .await?;
    assert_eq!(subject.run(2).await?["spec"]["answer"], 2);
    Ok(())
}

#[tokio::test]
async fn the_value_of_a_label_is_never_read_as_more_than_a_value() -> Result<()> {
    let world = World::new("injected").await?;
    put(&world, TEST_OBJ, "it", json!({ "a": "x", "b": "y" }), 1).await?;
    let subject = selecting(&world, selector(TEST_OBJ, json!({ "a": "x,b=y" }))).await?;
    let said = subject.fails_in_full("TemplateStampFailure", "").await?;
    let cause = "\"x,b=y\" is not a valid label value";
    assert!(
        said.starts_with(&unresolved("a:x,b=y", TEST_OBJ, cause)),
        "{said}"
    );
    subject.stays_at(0).await
}

#[tokio::test]
async fn kinds_that_are_not_there_are_named() -> Result<()> {
    let world = World::new("kinds").await?;
    world
        .template(stamps(
            json!({ "answer": "$(selected.spec.value.answer)$" }),
        ))
        .await?;
    for (index, (version, kind)) in [
        ("test.run/v1", "Nope"),
        ("nope.run/v1", "TestObj"),
        ("", ""),
        ("../x", "TestObj"),
    ]
    .into_iter()
    .enumerate()
    {
        let resource = json!({ "apiVersion": version, "kind": kind });
        let spec = json!({ "selector": { "resource": resource, "matchingLabels": { "a": "b" } } });
        let subject = world.runnable(&format!("r{index}"), spec).await?;
        let wanted = format!(
            "unable to resolve selector [map[a:b]], apiVersion [{version}], kind [{kind}]: failed to list server api resources: "
        );
        let said = subject.fails("TemplateStampFailure", &wanted).await?;
        assert!(said.contains(&format!("{kind:?}")), "{said}");
    }
    Ok(())
}

#[tokio::test]
async fn an_account_that_may_not_list_the_kind_selects_once_it_may() -> Result<()> {
    let world = World::new("forbidden").await?;
    let labels = json!({ "a": "b" });
    put(&world, GUARDED_OBJ, "it", labels.clone(), 42).await?;
    let subject = selecting(&world, selector(GUARDED_OBJ, labels)).await?;
    let cause = format!(
        "failed to list objects in namespace matching selector [map[a:b]]: guardedobjs.test.run is forbidden: User \
         \"system:serviceaccount:{0}:default\" cannot list resource \"guardedobjs\" in API group \"test.run\" in the namespace \"{0}\"",
        world.namespace
    );
    let said = subject.fails_in_full("TemplateStampFailure", "").await?;
    assert_eq!(said, unresolved("a:b", GUARDED_OBJ, &cause));
    world
        .allow("default", &[GUARDED_OBJ.rights(&["list"])])
        .await?;
    let begin = std::time::Instant::now();
    assert_eq!(subject.run(1).await?["spec"]["answer"], 42);
    assert!(begin.elapsed() < SECONDS, "{:?}", begin.elapsed());
    Ok(())
}

#[tokio::test]
async fn a_kind_that_the_controller_may_not_watch_is_looked_at_now_and_then() -> Result<()> {
    let world = World::new("unwatched").await?;
    let labels = json!({ "a": "b" });
    let subject = selecting(&world, selector(UNWATCHED_OBJ, labels.clone())).await?;
    subject
        .fails("TemplateStampFailure", "selector did not match any objects")
        .await?;
    let object = put(&world, UNWATCHED_OBJ, "it", labels, 1).await?;
    assert_eq!(subject.run(1).await?["spec"]["answer"], 1);
    world
        .patch_object(&object, json!({ "spec": { "value": { "answer": 2 } } }))
        .await?;
    assert_eq!(subject.run(2).await?["spec"]["answer"], 2);
    Ok(())
}
