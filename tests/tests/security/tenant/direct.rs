//! Requests of a tenant to the API server itself.

use anyhow::Result;
use serde_json::{Value, json};

use super::Tenant;

const RUNS: &str = "/apis/carto.run/v1alpha1";

/// A request: verb, path, body.
type Asked = (&'static str, String, Value);

/// Returns the requests with their answers: the code and the message.
pub(crate) async fn attempts(tenant: &Tenant) -> Result<Vec<(String, String)>> {
    let client = tenant.own.cluster.client_of(&tenant.account).await?;
    let (own, victim) = (&tenant.own.namespace, &tenant.others.namespace);
    let mut answers = Vec::new();
    for (verb, path, body) in [templates(own), runnables(victim), beside(victim)].concat() {
        let body = if body.is_null() {
            Vec::new()
        } else {
            serde_json::to_vec(&body)?
        };
        let kind = if verb == "PATCH" {
            "application/merge-patch+json"
        } else {
            "application/json"
        };
        let request = http::Request::builder()
            .method(verb)
            .uri(&path)
            .header("content-type", kind);
        let answer = match client.request::<Value>(request.body(body)?).await {
            Ok(_) => "200".to_owned(),
            Err(kube::Error::Api(status)) => format!("{} {}", status.code, status.message),
            Err(error) => return Err(error.into()),
        };
        answers.push((format!("{verb} {path}"), answer));
    }
    Ok(answers)
}

fn status() -> Value {
    json!({ "status": { "currentRun": null, "outputs": { "a": "b" } } })
}

/// Returns requests for templates, and for the ledger of its own Runnables.
fn templates(own: &str) -> Vec<Asked> {
    let template = json!({
        "apiVersion": "carto.run/v1alpha1", "kind": "ClusterRunTemplate",
        "metadata": { "name": "mine" }, "spec": { "template": {} },
    });
    let all = format!("{RUNS}/clusterruntemplates");
    vec![
        ("POST", all.clone(), template),
        (
            "PATCH",
            format!("{all}/echo"),
            json!({ "spec": { "outputs": null } }),
        ),
        ("DELETE", format!("{all}/echo"), Value::Null),
        ("PATCH", format!("{all}/echo/status"), status()),
        (
            "PATCH",
            format!("{RUNS}/namespaces/{own}/runnables/t0/status"),
            status(),
        ),
        ("GET", format!("{RUNS}/runnables"), Value::Null),
    ]
}

/// Returns requests for Runnables of others.
fn runnables(victim: &str) -> Vec<Asked> {
    let runnable = json!({
        "apiVersion": "carto.run/v1alpha1", "kind": "Runnable",
        "metadata": { "name": "mine", "namespace": victim },
        "spec": { "runTemplateRef": { "name": "echo" }, "inputs": { "say": "x" } },
    });
    let all = format!("{RUNS}/namespaces/{victim}/runnables");
    vec![
        ("GET", all.clone(), Value::Null),
        ("POST", all.clone(), runnable),
        ("GET", format!("{all}/theirs"), Value::Null),
        (
            "PATCH",
            format!("{all}/theirs"),
            json!({ "spec": { "inputs": { "say": "mine" } } }),
        ),
        ("DELETE", format!("{all}/theirs"), Value::Null),
        ("PATCH", format!("{all}/theirs/status"), status()),
    ]
}

/// Returns requests for the objects around them.
fn beside(victim: &str) -> Vec<Asked> {
    let token =
        || json!({ "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {} });
    let ours = "/api/v1/namespaces/cartouche-system";
    let theirs = format!("/api/v1/namespaces/{victim}");
    let roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
    vec![
        ("GET", format!("{theirs}/secrets/own"), Value::Null),
        ("GET", format!("{theirs}/configmaps"), Value::Null),
        (
            "POST",
            format!("{theirs}/serviceaccounts/mighty/token"),
            token(),
        ),
        (
            "POST",
            format!("{ours}/serviceaccounts/cartouche-controller/token"),
            token(),
        ),
        ("GET", format!("{ours}/secrets"), Value::Null),
        ("GET", format!("{roles}/cartouche-controller"), Value::Null),
    ]
}
