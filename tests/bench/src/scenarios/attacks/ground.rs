//! The namespace of the attacker, and the attacker's requests.

use std::net::SocketAddr;

use anyhow::{Context, Result};
use cartouche_tests::cluster::{AuditEvent, AuditLog};
use futures::{AsyncBufRead, StreamExt, TryStreamExt, stream};
use http::Request;
use kube::Client;
use serde_json::{Value, json};
use tokio::{task::JoinSet, time::interval};

use super::many::FIFTIETH;
use crate::{
    api,
    kinds::RunKind,
    load::name,
    site::{Running, Site},
};

/// Requests that are under way at the same time.
const IN_FLIGHT: usize = 32;
/// Maximum number of tries of a create that the API server has no time for.
const TRIES: usize = 6;
const ATTACKER: &str = "cartouche-bench-attacker";

pub(super) struct Ground<'a> {
    pub(super) client: Client,
    pub(super) namespace: String,
    pub(super) health: Option<SocketAddr>,
    /// User of the controller, and the namespace where it serves others.
    user: &'a str,
    others: String,
}

impl<'a> Ground<'a> {
    /// Makes a namespace whose accounts may read the objects that the attacks name.
    pub(super) async fn prepare(
        site: &Site,
        controller: &'a Running,
        others: &str,
    ) -> Result<Self> {
        let namespace = site.cluster.namespace("attacker").await?;
        let role = json!({
            "metadata": { "name": ATTACKER },
            "rules": [
                { "apiGroups": ["carto.run"], "resources": ["runnables"], "verbs": ["get", "list"] },
                { "apiGroups": [""], "resources": ["configmaps", "secrets"], "verbs": ["get"] },
                { "apiGroups": ["batch"], "resources": ["jobs"], "verbs": ["get", "list", "create", "delete"] },
            ],
        });
        let roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
        api::ensure(&site.client(), roles, &role).await?;
        let accounts = format!("system:serviceaccounts:{namespace}");
        site.bind(ATTACKER, ATTACKER, "Group", &accounts).await?;
        Ok(Self {
            client: site.client(),
            health: controller.health,
            user: &controller.user,
            namespace,
            others: others.to_owned(),
        })
    }

    pub(super) fn runnables(&self) -> String {
        let namespace = &self.namespace;
        format!("/apis/carto.run/v1alpha1/namespaces/{namespace}/runnables")
    }

    pub(super) fn runs(&self) -> String {
        RunKind::number(0).path(&self.namespace)
    }

    pub(super) fn config_maps(&self) -> String {
        format!("/api/v1/namespaces/{}/configmaps", self.namespace)
    }

    /// Makes an object out of its text: some are too deep for a client to read.
    pub(super) async fn create(&self, path: &str, text: &str) -> Result<()> {
        for attempt in 1.. {
            let request = Request::post(path)
                .header(http::header::CONTENT_TYPE, "application/json")
                .body(text.as_bytes().to_vec())?;
            match self.client.request_text(request).await {
                Err(kube::Error::Api(status)) if status.is_already_exists() => break,
                // A text of 1 MB takes an API server long, and its work goes on when the request has timed
                // out.
                Err(error) if attempt < TRIES && format!("{error:?}").contains("imeout") => {}
                answered => {
                    answered.with_context(|| format!("creating at {path}"))?;
                    break;
                }
            }
        }
        Ok(())
    }

    /// Returns the watch of the Runnables from now on, as text: some are too deep for a client to read.
    pub(super) async fn watch_runnables(&self) -> Result<impl AsyncBufRead + use<>> {
        let request = Request::get(format!("{}?watch=true", self.runnables())).body(Vec::new())?;
        Ok(self.client.request_stream(request).await?)
    }

    /// Applies a merge patch to an object.
    pub(super) async fn patch(&self, path: &str, text: String) -> Result<()> {
        let request = Request::patch(path)
            .header(http::header::CONTENT_TYPE, "application/merge-patch+json")
            .body(text.into_bytes())?;
        let answered = self.client.request_text(request).await;
        answered.with_context(|| format!("patching {path}"))?;
        Ok(())
    }

    /// Makes a `ConfigMap` of two keys, one of which changes 50 times a second.
    pub(super) async fn changing_map(&self, tasks: &mut JoinSet<Result<()>>) -> Result<()> {
        let map = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "it" },
            "data": { "fixed": "f", "count": "0" },
        });
        let maps = self.config_maps();
        self.create(&maps, &map.to_string()).await?;
        let client = self.client.clone();
        tasks.spawn(async move {
            let mut ticks = interval(FIFTIETH);
            for count in 1_u64.. {
                ticks.tick().await;
                let body = json!({ "data": { "count": count.to_string() } });
                let path = format!("{maps}/it");
                api::send::<serde::de::IgnoredAny>(&client, "PATCH", &path, &body).await?;
            }
            Ok(())
        });
        Ok(())
    }

    /// Makes a Runnable, with `"HEAVY"` in its text replaced.
    pub(super) async fn runnable(&self, name: &str, spec: Value, heavy: &str) -> Result<()> {
        let object = json!({
            "apiVersion": "carto.run/v1alpha1", "kind": "Runnable",
            "metadata": { "name": name, "labels": { "is": name } }, "spec": spec,
        });
        let text = object.to_string().replace(r#""HEAVY""#, heavy);
        self.create(&self.runnables(), &text).await
    }

    /// Makes many of them at once.
    pub(super) async fn many(&self, count: usize, spec: impl Fn(usize) -> Value) -> Result<()> {
        let names: Vec<_> = (0..count).map(name).collect();
        let creates = names.iter().enumerate();
        let creates = creates.map(|(index, name)| self.runnable(name, spec(index), ""));
        stream::iter(creates)
            .buffer_unordered(IN_FLIGHT)
            .try_collect::<Vec<()>>()
            .await?;
        Ok(())
    }

    pub(super) async fn template(&self, name: &str, spec: &Value) -> Result<()> {
        let path = "/apis/carto.run/v1alpha1/clusterruntemplates";
        let object = json!({
            "apiVersion": "carto.run/v1alpha1", "kind": "ClusterRunTemplate",
            "metadata": { "name": name }, "spec": spec,
        });
        api::ensure(&self.client, path, &object).await
    }

    /// Returns the requests of the controller, without those for others.
    pub(super) fn requests(&self, audit: &AuditLog) -> Result<Vec<AuditEvent>> {
        let mut events = audit.events()?;
        events.retain(|it| it.user() == self.user && it.namespace() != self.others);
        Ok(events)
    }
}

pub(super) fn is_status_write(event: &AuditEvent) -> bool {
    event.resource() == "runnables.carto.run/status"
        && matches!(event.verb.as_str(), "update" | "patch")
}
