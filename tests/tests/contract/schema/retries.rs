//! What the API server makes of `retry`.

use anyhow::Result;
use serde_json::{Value, json};

use super::{runnable, stored, template};
use crate::world::{TEST_OBJ, World, document};

/// The API server says what is wrong, and where.
#[tokio::test]
async fn a_retry_that_cannot_be_meant_is_refused() -> Result<()> {
    let world = World::new("retries").await?;
    let initial = |initial: &str| json!({ "backoff": { "initial": initial } });
    let digits = "9".repeat(30) + "h";
    let pause = "spec.retry.backoff";
    for (retry, wanted) in [
        (json!({ "limit": 21 }), "spec.retry.limit"),
        (json!({ "limit": -1 }), "spec.retry.limit"),
        (json!({ "limit": "three" }), "spec.retry.limit"),
        (initial("soon"), pause),
        (initial("-5s"), pause),
        (initial("1d"), pause),
        (initial(&digits), pause),
        (
            json!({ "backoff": { "max": "" } }),
            "spec.retry.backoff.max",
        ),
        (
            json!({ "backoff": { "factor": 0 } }),
            "spec.retry.backoff.factor",
        ),
        (
            json!({ "backoff": { "factor": 11 } }),
            "spec.retry.backoff.factor",
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
    ] {
        let made = stored(&world, runnable(&world, json!({ "retry": retry }))).await?;
        assert_eq!(made["spec"]["retry"], retry);
    }
    let plain = stored(&world, runnable(&world, json!({}))).await?;
    assert_eq!(plain["spec"]["retry"], Value::Null);
    Ok(())
}
