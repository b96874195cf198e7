//! Waiting until custom resources can be used.

use std::time::Duration;

use anyhow::{Context, Result};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{ResourceExt, api::ListParams};
use serde_json::Value;

use super::{Cluster, Seen};
use crate::control_plane::http_get;

const SERVED: Duration = Duration::from_mins(1);

impl Cluster {
    /// Waits until the API server serves every defined custom resource and publishes its schema. The schema
    /// comes later; KWOK and kubectl need it too.
    pub async fn definitions_served(&self) -> Result<()> {
        let what = "every custom resource to be served";
        self.eventually(what, SERVED, || async {
            let definitions = self.all::<CustomResourceDefinition>();
            let definitions = definitions.list(&ListParams::default()).await?;
            let published: Value = self.client().request(http_get("/openapi/v3")?).await?;
            let published = published
                .pointer("/paths")
                .context("/openapi/v3 has no paths")?;
            let missing = definitions
                .items
                .iter()
                .filter(|definition| {
                    !established(definition) || !schema_published(published, definition)
                })
                .map(ResourceExt::name_any)
                .collect::<Vec<_>>();
            Ok(if missing.is_empty() {
                Seen::Done(())
            } else {
                Seen::NotYet(format!("not yet: {}", missing.join(", ")))
            })
        })
        .await
    }
}

fn established(definition: &CustomResourceDefinition) -> bool {
    let status = definition.status.as_ref();
    status
        .and_then(|status| status.conditions.as_ref())
        .into_iter()
        .flatten()
        .any(|condition| condition.type_ == "Established" && condition.status == "True")
}

fn schema_published(published: &Value, definition: &CustomResourceDefinition) -> bool {
    let spec = &definition.spec;
    let mut served = spec.versions.iter().filter(|version| version.served);
    served.all(|version| {
        let path = format!("apis/{}/{}", spec.group, version.name);
        published.get(path).is_some()
    })
}
