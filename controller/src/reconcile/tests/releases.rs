//! Tests of the output of other releases of the controller or of the definitions.

use std::sync::{Arc, Mutex};

use cartouche_crds::Runnable;
use cartouche_protocol::{
    category::Category,
    messages::reconcile_error::{ReconcileError, Requeue},
};
use http::{Method, StatusCode};
use kube::api::ObjectMeta;
use serde_json::{Value, json};

use super::super::{
    ControllerContext,
    reconciliation::{End, Reconciliation},
};
use super::{API_VERSION, KIND, key, kinds, runnable, serving, users};
use crate::clock::moment;

/// A controller whose API server knows one kind and accepts each status, with the requests except those for events.
fn asked() -> (Arc<ControllerContext>, Arc<Mutex<Vec<String>>>) {
    let asked = Arc::<Mutex<Vec<String>>>::default();
    let noted = asked.clone();
    let ctx = serving(move |request| {
        let uri = request.uri().to_string();
        if !uri.contains("/events") {
            noted
                .lock()
                .unwrap()
                .push(format!("{} {uri}", request.method()));
        }
        if request.uri().path() == format!("/apis/{API_VERSION}") {
            return (StatusCode::OK, kinds(API_VERSION, KIND, "builds"));
        }
        if *request.method() == Method::PUT {
            let version = json!({ "metadata": { "resourceVersion": "7" } });
            return (StatusCode::OK, version);
        }
        (StatusCode::NOT_FOUND, Value::Null)
    });
    (ctx, asked)
}

fn needing(word: &str) -> Runnable {
    let mut needing = runnable("first");
    // Newer than what this process has written.
    needing.metadata.resource_version = Some("9".to_owned());
    if let Some(status) = &mut needing.status {
        status.needs = vec![word.to_owned()];
    }
    needing
}

#[tokio::test]
async fn nothing_is_asked_written_or_watched_for_one_that_a_newer_release_serves() {
    let (ctx, asked) = asked();
    ctx.reconcile(Arc::new(runnable("first")), moment()).await;
    assert_eq!(users(&ctx), [key()]);
    let before = asked.lock().unwrap().len();
    assert!(before > 0);
    let mut deleted = needing("ticks");
    let now = serde_json::from_value(json!("2026-01-01T00:00:00Z")).unwrap();
    deleted.metadata.deletion_timestamp = Some(now);
    for newer in [needing("ticks"), needing(""), deleted] {
        let again = ctx.reconcile(Arc::new(newer), moment()).await;
        assert_eq!(again, None, "the watch brings what changes");
        assert!(users(&ctx).is_empty());
    }
    let asked = asked.lock().unwrap();
    assert_eq!(asked[before..], [""; 0]);
    let counted = r#"cartouche_reconcile_problems_total{reason="NewerRelease"} 3"#;
    assert!(ctx.metrics.text().contains(counted));
}

/// Ends a reconciliation with an error of this category, and returns the status writes.
async fn written(
    ctx: &ControllerContext,
    asked: &Mutex<Vec<String>>,
    category: Category,
) -> Vec<String> {
    asked.lock().unwrap().clear();
    let error = ReconcileError::new(category, Requeue::OnChange, format!("{category} is wrong"));
    let begun = Reconciliation::begin(ctx, Arc::new(runnable("r")), moment()).unwrap();
    let _ = begun.finish(End::Stuck(error, None)).await;
    let asked = asked.lock().unwrap();
    let written = asked.iter().filter(|it| it.starts_with("PUT"));
    written.cloned().collect()
}

#[tokio::test]
async fn under_definitions_without_a_number_a_status_is_tried_before_it_is_written() {
    let (ctx, asked) = asked();
    ctx.definitions.list(&[ObjectMeta {
        name: Some("runnables.carto.run".to_owned()),
        ..ObjectMeta::default()
    }]);
    // A controller of the former release may make the run: no status stands in its way.
    let told = written(&ctx, &asked, Category::DefinitionsOutdated).await;
    assert_eq!(told, [""; 0]);
    let written = written(&ctx, &asked, Category::TemplateStampFailure).await;
    let are_tries: Vec<bool> = written.iter().map(|it| it.contains("dryRun=All")).collect();
    assert_eq!(are_tries, [true, false], "{written:?}");
}
