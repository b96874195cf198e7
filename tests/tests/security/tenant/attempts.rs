//! Runnables that a tenant makes to reach foreign objects.

use anyhow::Result;
use serde_json::{Value, json};

use super::{Tenant, elsewhere, forgeries};
use crate::ground::echo;

/// The required result of an attempt.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Outcome {
    /// Not ready, and no run was made.
    Refused,
    /// A run is made, but nothing is read from it.
    WithoutOutputs,
    /// A run is made without the forged parts; [`super::forgeries::look`] checks that.
    Genuine,
    /// A run is made, and its outputs are written to no object.
    Unwritten,
}

pub(crate) struct Attempt {
    pub(crate) group: &'static str,
    pub(crate) what: String,
    pub(crate) template: &'static str,
    pub(crate) inputs: Value,
    pub(crate) account: Option<String>,
    pub(crate) selector: Option<Value>,
    /// Further fields of the spec.
    pub(crate) further: Value,
    pub(crate) outcome: Outcome,
}

impl Attempt {
    /// Returns the spec of its Runnable.
    pub(crate) fn spec(&self) -> Value {
        let mut spec =
            json!({ "runTemplateRef": { "name": self.template }, "inputs": self.inputs });
        if let Some(account) = &self.account {
            spec["serviceAccountName"] = json!(account);
        }
        if let Some(selector) = &self.selector {
            spec["selector"] = selector.clone();
        }
        for (field, value) in self.further.as_object().into_iter().flatten() {
            spec[field] = value.clone();
        }
        spec
    }
}

/// Returns templates that no operator should write: they make anything that the inputs demand.
pub(crate) fn templates() -> [(&'static str, Value); 7] {
    let free = |fields: &[&str]| {
        let mut document = json!({});
        for field in ["apiVersion", "kind", "metadata"].iter().chain(fields) {
            document[*field] = format!("$(runnable.spec.inputs.{field})$").into();
        }
        json!({ "template": document, "outputs": { "data": ".data", "meta": ".metadata.annotations" } })
    };
    // Of a kind with a status: otherwise the API server would drop it unseen.
    let any_status = json!({
        "template": {
            "apiVersion": "v1", "kind": "ResourceQuota",
            "metadata": { "generateName": "forged-" }, "spec": {},
            "status": "$(runnable.spec.inputs.status)$",
        },
        "healthRule": { "alwaysHealthy": {} },
    });
    let selected = json!({
        "template": {
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": { "generateName": "run-" },
            "data": { "stolen": "x$(selected)$" },
        },
    });
    [
        ("echo", echo()),
        ("any-data", free(&["data"])),
        ("any-secret", free(&["data", "type"])),
        ("any-status", any_status),
        ("any-spec", free(&["spec"])),
        ("any-role", free(&["rules", "roleRef", "subjects"])),
        ("selected", selected),
    ]
}

pub(super) fn attempt(
    group: &'static str,
    what: impl Into<String>,
    template: &'static str,
    inputs: Value,
) -> Attempt {
    Attempt {
        group,
        what: what.into(),
        template,
        inputs,
        account: None,
        selector: None,
        further: json!({}),
        outcome: Outcome::Refused,
    }
}

/// Returns a config map of the tenant, with further metadata.
pub(super) fn config_map(metadata: &Value) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": { "a": "b" } })
}

/// Returns every attempt through a Runnable.
pub(crate) async fn all(tenant: &Tenant) -> Result<Vec<Attempt>> {
    let mut all = accounts(tenant);
    all.extend(namespaces(tenant));
    all.extend(kinds(tenant).await?);
    all.extend(selectors(tenant).await?);
    all.extend(secrets());
    all.extend(elsewhere::all(tenant));
    all.extend(forgeries::names());
    all.extend(forgeries::metadata(tenant));
    all.extend(bombs());
    Ok(all)
}

fn accounts(tenant: &Tenant) -> Vec<Attempt> {
    let victim = &tenant.others.namespace;
    let names = [
        "mighty".to_owned(),
        format!("{victim}:mighty"),
        format!("{victim}/mighty"),
        format!("../{victim}/mighty"),
        format!("system:serviceaccount:{victim}:mighty"),
        format!("mighty,system:serviceaccount:{victim}:mighty"),
        "system:masters".into(),
        "system:admin".into(),
        "system:kube-controller-manager".into(),
        "system:anonymous".into(),
        "cartouche-controller".into(),
        "cartouche-system:cartouche-controller".into(),
        "clusterrole-aggregation-controller".into(),
        "generic-garbage-collector".into(),
        "kube-system:namespace-controller".into(),
        "runner\r\nImpersonate-Group: system:masters".into(),
        "runner\nImpersonate-User: system:admin".into(),
        "runner\0".into(),
        "runner ".into(),
        " ".into(),
        "*".into(),
        "RUNNER".into(),
        "rünner".into(),
        "runner%2f".into(),
        "a".repeat(254),
    ];
    names
        .into_iter()
        .map(|name| Attempt {
            account: Some(name.clone()),
            ..attempt(
                "account",
                format!("{name:.60?}"),
                "echo",
                json!({ "say": "x" }),
            )
        })
        .collect()
}

fn namespaces(tenant: &Tenant) -> Vec<Attempt> {
    let victim = tenant.others.namespace.as_str();
    let own = format!("{}/../{victim}", tenant.own.namespace);
    let wanted = [
        json!(victim),
        json!("kube-system"),
        json!("cartouche-system"),
        json!("default"),
        json!("*"),
        json!(".."),
        json!(own),
        json!(" "),
        json!(7),
        json!([victim]),
        json!({ "name": victim }),
        json!(true),
    ];
    wanted
        .into_iter()
        .map(|namespace| {
            let metadata = json!({ "generateName": "x-", "namespace": namespace });
            attempt(
                "namespace",
                namespace.to_string(),
                "any-data",
                config_map(&metadata),
            )
        })
        .collect()
}

/// A resource that the API server serves.
struct Served {
    api_version: String,
    namespaced: bool,
    kind: String,
}

async fn served(tenant: &Tenant, verb: &str) -> Result<Vec<Served>> {
    let verbs = format!("--verbs={verb}");
    let table = tenant
        .own
        .cluster
        .kubectl(&["api-resources", "--no-headers", &verbs])
        .await?;
    let line = |line: &str| {
        let mut words = line.split_whitespace().rev();
        let (kind, namespaced, api_version) = (words.next()?, words.next()?, words.next()?);
        Some(Served {
            api_version: api_version.to_owned(),
            namespaced: namespaced == "true",
            kind: kind.to_owned(),
        })
    };
    Ok(table.lines().filter_map(line).collect())
}

/// Returns attempts for every creatable kind, except those that the account may create.
async fn kinds(tenant: &Tenant) -> Result<Vec<Attempt>> {
    let mut attempts = Vec::new();
    for Served {
        api_version,
        namespaced,
        kind,
    } in served(tenant, "create").await?
    {
        if kind == "ConfigMap" {
            continue;
        }
        let grants = json!({
            "rules": [{ "apiGroups": ["*"], "resources": ["*"], "verbs": ["*"] }],
            "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin" },
            "subjects": [{ "kind": "ServiceAccount", "name": "runner", "namespace": tenant.own.namespace }],
        });
        let (template, mut inputs) = if api_version.starts_with("rbac") {
            ("any-role", grants)
        } else {
            ("any-spec", json!({ "spec": {} }))
        };
        inputs["apiVersion"] = json!(api_version);
        inputs["kind"] = json!(kind);
        inputs["metadata"] = json!({ "generateName": "x-" });
        let group = if namespaced {
            "kind without rights"
        } else {
            "cluster-scoped kind"
        };
        attempts.push(attempt(
            group,
            format!("{kind} of {api_version}"),
            template,
            inputs,
        ));
    }
    Ok(attempts)
}

/// Returns attempts for every listable kind, except those that the account may list.
async fn selectors(tenant: &Tenant) -> Result<Vec<Attempt>> {
    let mut attempts = Vec::new();
    for Served {
        api_version, kind, ..
    } in served(tenant, "list").await?
    {
        if kind == "ConfigMap" {
            continue;
        }
        for labels in [json!({}), json!({ "pick": "me" })] {
            // One object is enough, except for the planted Secret.
            if kind != "Secret" && labels != json!({}) {
                continue;
            }
            let resource = json!({ "apiVersion": api_version, "kind": kind });
            attempts.push(Attempt {
                selector: Some(json!({ "resource": resource, "matchingLabels": labels })),
                ..attempt(
                    "selected object",
                    format!("{kind} of {api_version} {labels}"),
                    "selected",
                    json!({}),
                )
            });
        }
    }
    Ok(attempts)
}

/// Returns attempts with Secrets: the right to make one is not the right to read one. The account may make
/// them; `runner` may not, so that it would prove nothing.
fn secrets() -> Vec<Attempt> {
    let secret = |what: &str, kind: &str, metadata: Value, outcome: Outcome| {
        let inputs = json!({
            "apiVersion": "v1", "kind": "Secret", "type": kind, "metadata": metadata,
            "data": { "a": "cGxhbnRlZA==" },
        });
        Attempt {
            account: Some("smith".to_owned()),
            outcome,
            ..attempt("secret as an output", what, "any-secret", inputs)
        }
    };
    let token = json!({ "kubernetes.io/service-account.name": "person" });
    vec![
        secret(
            "one of its own",
            "Opaque",
            json!({ "generateName": "x-" }),
            Outcome::WithoutOutputs,
        ),
        secret(
            "one that is there",
            "Opaque",
            json!({ "name": "own" }),
            Outcome::Refused,
        ),
        secret(
            "a token",
            "kubernetes.io/service-account-token",
            json!({ "generateName": "x-", "annotations": token }),
            Outcome::WithoutOutputs,
        ),
    ]
}

fn bombs() -> Vec<Attempt> {
    let deep = (0..90).fold(json!("x"), |inner, _| json!([inner]));
    let wide = |count: usize| json!(vec![0; count]);
    [
        ("90 lists in each other", deep),
        ("30,000 leaves", wide(30_000)),
        ("a text of 600,000 bytes", json!("x".repeat(600_000))),
        ("a text of 1,100,000 bytes", json!("x".repeat(1_100_000))),
    ]
    .into_iter()
    .map(|(what, spec)| {
        let inputs = json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": { "generateName": "x-" }, "spec": spec,
        });
        attempt("bomb", what, "any-spec", inputs)
    })
    .collect()
}
