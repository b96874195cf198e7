//! The API server's handling of `retry`.

use anyhow::Result;
use serde_json::{Value, json};

use super::{runnable, stored, template};
use crate::world::{TEST_OBJ, World, document};

/// It refuses only unknown words and wrong types. The controller refuses the rest: a tool that replaces by
/// force what the API server refuses as invalid would delete the Runnable.
#[tokio::test]
async fn a_retry_that_cannot_be_meant_is_refused() -> Result<()> {
    let world = World::new("retries").await?;
    for (retry, wanted) in [
        (json!({ "limit": "three" }), "spec.retry.limit"),
        (
            json!({ "backoff": { "initial": 30 } }),
            "spec.retry.backoff.initial",
        ),
        (json!({ "retryOn": ["Succeeded"] }), "spec.retry.retryOn"),
        (
            json!({ "retryOn": ["Failed", "Failed"] }),
            "spec.retry.retryOn",
        ),
        (json!({ "retryOn": [] }), "spec.retry.retryOn"),
    ] {
        let template =
            template(&json!({ "template": document(TEST_OBJ, json!({})), "retry": retry }));
        for object in [runnable(&world, json!({ "retry": retry })), template] {
            let said = match stored(&world, object).await {
                Ok(stored) => format!("it was taken: {stored}"),
                Err(refused) => format!("{refused:#}"),
            };
            assert!(said.contains(wanted), "{retry}: {said:?} lacks {wanted:?}");
        }
    }
    Ok(())
}

#[tokio::test]
async fn a_retry_is_stored_as_it_is_written() -> Result<()> {
    let world = World::new("retried").await?;
    for retry in [
        json!({}),
        json!({ "limit": 0 }),
        json!({
            "limit": 20, "retryOn": ["Failed", "Lost"],
            "backoff": { "initial": "1.5h", "factor": 1, "max": "8760h" },
        }),
        json!({ "limit": 99, "backoff": { "initial": "soon", "factor": 0, "max": "9".repeat(300) } }),
    ] {
        let made = stored(&world, runnable(&world, json!({ "retry": retry }))).await?;
        assert_eq!(made["spec"]["retry"], retry);
    }
    let plain = stored(&world, runnable(&world, json!({}))).await?;
    assert_eq!(plain["spec"]["retry"], Value::Null);
    Ok(())
}
