//! Tests of the memory held for rendering, and of the rendering.

use std::{
    convert::Infallible,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use cartouche_crds::Runnable;
use cartouche_protocol::compiled::Compiled;
use clap::Parser;
use http::{Response, StatusCode};
use kube::{Client, client::Body, runtime::reflector};
use serde_json::{Value, json};

use super::*;
use crate::{
    api::Connection, clock::moment, endpoints::ProcessReadiness, flags::Flags, metrics::Metrics,
    reconcile::ControllerContext, serve::wire, watch::Enqueuer,
};

/// A controller whose API server has this object under any name, and nothing else.
pub(in crate::reconcile) fn having(object: &Value) -> ControllerContext {
    counted(object, Arc::default())
}

/// Likewise, but any labels find the object twice, and reads of it are counted.
fn counted(object: &Value, reads: Arc<AtomicUsize>) -> ControllerContext {
    let text = object.to_string().into_bytes();
    let twice = json!({ "metadata": {}, "items": [object, object] });
    let kinds = json!({ "kind": "APIResourceList", "groupVersion": "v1", "resources": [{
        "name": "configmaps", "singularName": "", "namespaced": true, "kind": "ConfigMap", "verbs": ["get", "list", "watch"],
    }] });
    let service = tower::service_fn(move |request: http::Request<Body>| {
        let (mut status, mut body) = (StatusCode::OK, text.clone());
        match request.uri().path() {
            "/api/v1" => body = kinds.to_string().into_bytes(),
            path if path.contains("/configmaps/") => _ = reads.fetch_add(1, Ordering::Relaxed),
            path if path.ends_with("/configmaps") => {
                body = twice.to_string().into_bytes();
                reads.fetch_add(1, Ordering::Relaxed);
            }
            _ => status = StatusCode::NOT_FOUND,
        }
        let mut response = Response::new(Body::from(body));
        *response.status_mut() = status;
        async move { Ok::<_, Infallible>(response) }
    });
    let metrics = Metrics::default();
    wire(
        &Flags::parse_from(["cartouche-controller"]),
        &Connection::over(Client::new(service, "default"), metrics.clone()),
        &metrics,
        reflector::store().0,
        reflector::store().0,
        Enqueuer::new().0,
        &ProcessReadiness::default(),
    )
}

/// Begins a reconciliation of a Runnable with this in its spec.
pub(in crate::reconcile) fn begun(
    ctx: &ControllerContext,
    mut spec: Value,
) -> (Box<Reconciliation<'_>>, Requests) {
    spec["runTemplateRef"] = json!({ "name": "t" });
    let object = json!({
        "metadata": { "namespace": "ns", "name": "app", "uid": "r", "resourceVersion": "1" }, "spec": spec,
    });
    let runnable: Runnable = serde_json::from_value(object).unwrap();
    let begun = Reconciliation::begin(ctx, Arc::new(runnable), moment()).unwrap();
    let account = ctx.identity.own().clone().within(begun.budget.clone());
    (begun, account)
}

/// Many chains of nested maps: a megabyte as a tree for ten kilobytes of text.
fn chains(count: usize) -> Value {
    let chain = (0..50).fold(json!(1), |inside, _| json!({ "a": inside }));
    let chains = (0..count).map(|at| (format!("c{at}"), chain.clone()));
    Value::Object(chains.collect())
}

/// Returns the number of inputs read out of this text, as JSON or not, or the error, and whether the reconciliation was
/// heavy.
async fn reads(inputs: usize, text: &Value, read_as: &str) -> (Result<usize, String>, bool) {
    let ctx = having(&json!({ "metadata": { "uid": "m" }, "data": { "key": text.to_string() } }));
    let from = (0..inputs).map(|at| {
        json!({ "name": format!("i{at}"), "configMapKeyRef": { "name": "m", "key": "key", "as": read_as } })
    });
    let (mut begun, account) = begun(&ctx, json!({ "inputsFrom": from.collect::<Value>() }));
    let sourced = begun.read_inputs(&account, false).await;
    let sourced = sourced.map(|all| all.len()).map_err(|error| error.message);
    (sourced, begun.budget.was_heavy())
}

#[tokio::test]
async fn a_text_that_is_read_as_json_is_held_as_the_tree_that_it_becomes() {
    assert_eq!(
        reads(32, &json!({ "cpu": 1 }), "JSON").await,
        (Ok(32), false)
    );
    assert_eq!(reads(2, &chains(90), "Text").await, (Ok(2), false));
    assert_eq!(reads(1, &chains(90), "JSON").await, (Ok(1), true));
    let (refused, _) = reads(6, &chains(90), "JSON").await;
    let refused = refused.unwrap_err();
    assert!(
        refused.contains("what is read of ConfigMap m takes 17.9 MiB of memory as a tree of values, more than 16 MiB"),
        "{refused}"
    );
}

#[tokio::test]
async fn no_object_is_read_after_one_that_is_too_heavy() {
    let by_name = |at: i32| json!({ "name": format!("m{at}") });
    let by_label = |at: i32| json!({ "matchingLabels": { "at": format!("{at}") } });
    for (is_by_label, count) in [(false, 1), (false, 600), (true, 1), (true, 600)] {
        let is_heavy = count > 1;
        let reads = Arc::<AtomicUsize>::default();
        let object = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "uid": "m" }, "data": chains(count) });
        let ctx = counted(&object, reads.clone());
        let from = (0..4).map(|at| {
            let mut object = if is_by_label {
                by_label(at)
            } else {
                by_name(at)
            };
            object["apiVersion"] = json!("v1");
            object["kind"] = json!("ConfigMap");
            object["path"] = json!(".data");
            json!({ "name": format!("i{at}"), "objectRef": object })
        });
        let (mut begun, account) = begun(&ctx, json!({ "inputsFrom": from.collect::<Value>() }));
        let sourced = begun.read_inputs(&account, false).await;
        // Two matches are one too many, however light they are.
        assert_eq!(sourced.is_err(), is_heavy || is_by_label, "{sourced:?}");
        // Heavy objects are read once more with the place for heavy ones.
        let expected = if is_heavy { 2 } else { 4 };
        assert_eq!(reads.load(Ordering::Relaxed), expected);
    }
}

#[tokio::test]
async fn what_is_heavy_once_it_is_rendered_waits_for_its_place() {
    let ctx = having(&Value::Null);
    for (count, is_heavy) in [(1, false), (90, true)] {
        let template = json!({
            "metadata": { "name": "t" },
            "spec": { "template": {
                "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "generateName": "r-" }, "data": chains(count),
            } },
        });
        let compiled = Compiled::new(&serde_json::from_value(template).unwrap());
        let (begun, _) = begun(&ctx, json!({}));
        let (template, inputs) = (compiled.template.as_ref().unwrap(), BTreeMap::new());
        let rendered = begun.document_in_place(template, None, &inputs).await;
        assert!(rendered.is_ok());
        assert_eq!(begun.budget.was_heavy(), is_heavy);
        assert_eq!(begun.budget.has_place(), is_heavy);
    }
}
