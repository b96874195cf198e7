//! The API server's handling of `approval`.

use anyhow::Result;
use serde_json::{Value, json};

use super::{runnable, stored, template};
use crate::world::{TEST_OBJ, World, document};

fn templated(approval: &Value) -> Value {
    template(&json!({ "template": document(TEST_OBJ, json!({})), "approval": approval }))
}

#[tokio::test]
async fn an_approval_is_stored_as_it_is_written() -> Result<()> {
    let world = World::new("approvals").await?;
    for approval in ["Automatic", "Manual"] {
        let approval = json!(approval);
        let own = runnable(&world, json!({ "approval": approval }));
        for object in [own, templated(&approval)] {
            let made = stored(&world, object).await?;
            assert_eq!(made["spec"]["approval"], approval);
        }
    }
    for unsaid in [json!({}), json!({ "approval": null })] {
        let plain = stored(&world, runnable(&world, unsaid)).await?;
        let own = &plain["spec"]["approval"];
        assert_eq!(own, &Value::Null, "the template may say it");
    }
    Ok(())
}

/// An unknown word would otherwise count as the one that needs no approval.
#[tokio::test]
async fn an_approval_of_another_word_is_refused() -> Result<()> {
    let world = World::new("words").await?;
    for approval in [
        json!("manual"),
        json!("MANUAL"),
        json!(" Manual"),
        json!("Required"),
        json!("Never"),
        json!(""),
        json!(true),
        json!(1),
        json!(["Manual"]),
        json!({ "policy": "Manual" }),
    ] {
        let own = runnable(&world, json!({ "approval": approval }));
        for object in [own, templated(&approval)] {
            let said = world.refused(&object).await?;
            assert!(said.contains("spec.approval: "), "{approval}: {said}");
        }
    }
    Ok(())
}
