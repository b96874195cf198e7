//! Templates that give all their runs one name.

use anyhow::Result;
use serde_json::json;

use crate::world::{TEST_OBJ, World, answers, name_of};

#[tokio::test]
async fn a_fixed_name_works_once_and_then_asks_for_generate_name() -> Result<()> {
    let mut spec = answers();
    spec["template"]["metadata"] = json!({ "name": "only" });
    let (world, subject) = World::with("fixed", spec).await?;
    assert_eq!(name_of(&subject.run(1).await?), "only");
    subject.answer(1, json!("first")).await?;
    subject.input("foo", 2).await?;
    let said = subject.fails("NameConflict", "").await?;
    let wanted = format!(
        "TestObj {}/only exists already, from an earlier run, and the template gives every run this name; \
         to do: use metadata.generateName in the template instead of metadata.name, or delete that object",
        world.namespace
    );
    assert_eq!(said, wanted);
    subject.outputs(json!({ "answer": "first" })).await?;
    assert_eq!(
        subject.run(1).await?["spec"]["foo"],
        1,
        "the first run stays"
    );

    world.template(answers()).await?;
    assert_eq!(subject.run(2).await?["spec"]["foo"], 2);
    Ok(())
}

#[tokio::test]
async fn a_fixed_name_is_free_again_once_its_object_is_gone() -> Result<()> {
    let mut spec = answers();
    spec["template"]["metadata"] = json!({ "name": "only" });
    let (world, subject) = World::with("freed", spec).await?;
    subject.answer(1, json!(1)).await?;
    world.delete(TEST_OBJ, "only").await?;
    subject.input("foo", 2).await?;
    subject
        .until("the second run", |object| {
            object["status"]["currentRun"]["sequence"] == 2
        })
        .await?;
    assert_eq!(subject.run(1).await?["spec"]["foo"], 2);
    subject.outputs(json!({ "answer": 1 })).await
}
