//! Inputs that a tenant requests from foreign objects, and foreign places for its outputs.

use serde_json::{Value, json};

use super::{
    Tenant,
    attempts::{Attempt, Outcome, attempt},
};

/// Returns every attempt of both sorts.
pub(super) fn all(tenant: &Tenant) -> Vec<Attempt> {
    let mut all = sources(tenant);
    all.extend(sinks());
    all
}

fn sources(tenant: &Tenant) -> Vec<Attempt> {
    let victim = tenant.others.namespace.as_str();
    let runnable = |namespace: &str| json!({ "runnableRef": { "name": "theirs", "namespace": namespace, "output": "said" } });
    let object = |kind: &str, namespace: Option<&str>, name: &str| {
        let version = if kind == "ClusterRole" {
            "rbac.authorization.k8s.io/v1"
        } else {
            "v1"
        };
        json!({ "objectRef": {
            "apiVersion": version, "kind": kind, "namespace": namespace, "name": name, "path": ".metadata.uid",
        } })
    };
    let sources = [
        (
            "a Secret that its account may not read",
            json!({ "secretKeyRef": { "name": "own", "key": "password" } }),
        ),
        ("an output of another namespace", runnable(victim)),
        (
            "an output by way of a path",
            runnable(&format!("../{victim}")),
        ),
        (
            "an output of a namespace and a resource",
            runnable(&format!("{victim}/runnables/theirs/status?x=")),
        ),
        (
            "a ConfigMap of another namespace",
            object("ConfigMap", Some(victim), "kube-root-ca.crt"),
        ),
        ("a Secret by objectRef", object("Secret", None, "own")),
        (
            "a Secret of another namespace by objectRef",
            object("Secret", Some(victim), "own"),
        ),
        (
            "an object by way of a path",
            object(
                "ConfigMap",
                None,
                &format!("../../{victim}/configmaps/kube-root-ca.crt"),
            ),
        ),
        (
            "an object of the cluster",
            object("ClusterRole", None, "cluster-admin"),
        ),
    ];
    let of = |(what, mut source): (&'static str, Value)| {
        source["name"] = json!("say");
        Attempt {
            further: json!({ "inputsFrom": [source] }),
            ..attempt("source", what, "echo", json!({}))
        }
    };
    sources.into_iter().map(of).collect()
}

fn sinks() -> Vec<Attempt> {
    let sinks = [
        ("another's ConfigMap", "ConfigMap", "kube-root-ca.crt"),
        ("a Secret that its account may not read", "Secret", "own"),
        ("a name with a path", "ConfigMap", "../x"),
    ];
    let of = |(what, kind, name)| Attempt {
        further: json!({ "writeOutputsTo": [{ "kind": kind, "name": name }] }),
        outcome: Outcome::Unwritten,
        ..attempt("sink", what, "echo", json!({ "say": "mine" }))
    };
    sinks.into_iter().map(of).collect()
}
