//! Tests of records that another release has put otherwise, in a reconciliation that ends before it rewrites them.

use std::time::Duration;

use cartouche_protocol::{decide::Waiting, trace::Sources};
use http::StatusCode;
use serde_json::Value;

use super::super::{
    ControllerContext,
    reconciliation::{End, Reconciliation},
};
use super::{Arc, runnable, serving};
use crate::{
    clock::{boot_time, moment},
    lock::lock,
};

/// Ends before any of these waits.
const SOON: Duration = Duration::from_secs(3);
/// Longer than the pause between two writes of the same sources.
const LONG: Duration = Duration::from_mins(2);
const WAITS: [Waiting; 3] = [
    Waiting::FirstList,
    // This process knows no end for this one.
    Waiting::GracePeriod,
    Waiting::OtherRelease(LONG),
];

fn begin(ctx: &ControllerContext) -> Box<Reconciliation<'_>> {
    Reconciliation::begin(ctx, Arc::new(runnable("r")), moment()).unwrap()
}

#[tokio::test]
async fn what_is_contested_is_looked_at_in_its_time_whatever_is_waited_for() {
    let ctx = serving(|_| (StatusCode::NOT_FOUND, Value::Null));
    for waiting in WAITS {
        let mut begun = begin(&ctx);
        begun.contested_after = Some(SOON);
        let again = begun.finish(End::Waiting(waiting)).await;
        assert_eq!(again, Some(SOON), "{waiting:?}");
    }
}

#[tokio::test]
async fn that_sources_moved_is_looked_at_in_its_time_whatever_is_waited_for() {
    let ctx = serving(|_| (StatusCode::NOT_FOUND, Value::Null));
    let long = Waiting::OtherRelease(LONG);
    for (revision, waiting) in [("1", Waiting::GracePeriod), ("2", long)] {
        let written = [("v1/ConfigMap/sizes".to_owned(), revision.to_owned())];
        let sources = Sources::read(&written.into());
        let begun = begin(&ctx);
        {
            let telling = &mut lock(&begun.memory).telling;
            telling.moved_on(&sources, boot_time());
            assert!(telling.puts_off(&sources, boot_time()));
        }
        let again = begun.finish(End::Waiting(waiting)).await;
        assert!(again.is_some_and(|again| again < LONG), "{again:?}");
    }
}
