//! Tests of the object that a selector picks.

use std::sync::Arc;

use cartouche_protocol::messages::reconcile_error::Requeue;
use http::StatusCode;
use serde_json::json;

use super::super::reconciliation::Reconciliation;
use super::{runnable, serving};
use crate::clock::moment;

#[tokio::test]
async fn a_kind_that_may_not_be_looked_up_is_looked_up_again_when_permissions_change() {
    let ctx = serving(|_| {
        let said = json!({
            "kind": "Status", "status": "Failure", "code": 403, "reason": "Forbidden", "message": "you may not",
        });
        (StatusCode::FORBIDDEN, said)
    });
    let begun = Reconciliation::begin(&ctx, Arc::new(runnable("r")), moment()).unwrap();
    let selector = json!({
        "resource": { "apiVersion": "example.dev/v1", "kind": "Build" }, "matchingLabels": { "a": "b" },
    });
    let selector = serde_json::from_value(selector).unwrap();
    let picked = begun.select(ctx.identity.own(), &selector, false).await;
    assert_eq!(picked.unwrap_err().requeue, Requeue::OnRbac);
}
