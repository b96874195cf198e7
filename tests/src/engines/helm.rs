//! Helm, as users run it.

use std::{
    path::{Path, PathBuf},
    process::{Output, Stdio},
};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use tokio::process::Command;

use super::module::{self, EngineError};
use crate::{cluster::Cluster, control_plane::Part, repository};

/// A version of Helm.
#[derive(Clone, Debug)]
pub struct Helm {
    program: PathBuf,
}

impl Helm {
    /// Builds [`Part::Helm4`] or [`Part::Helm3`] if it is not built yet. `demo` is the demo binary.
    pub async fn build(demo: &Path, part: Part) -> Result<Self, EngineError> {
        let program = module::program(demo, part).await?;
        Ok(Self { program })
    }

    /// Returns the chart of this repository.
    #[must_use]
    pub fn chart() -> PathBuf {
        repository().join("charts/cartouche")
    }

    /// Runs Helm on a cluster and returns its standard output. Fails with its messages if its exit code is
    /// not 0.
    pub async fn run(&self, cluster: &Cluster, arguments: &[&str]) -> Result<String> {
        let output = self.output(cluster, arguments).await?;
        if !output.status.success() {
            bail!(
                "helm {} failed ({}): {}",
                arguments.join(" "),
                output.status,
                String::from_utf8_lossy(&output.stderr).trim()
            );
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Returns the messages of a command that has to fail.
    pub async fn refused(&self, cluster: &Cluster, arguments: &[&str]) -> Result<String> {
        let output = self.output(cluster, arguments).await?;
        let line = arguments.join(" ");
        ensure!(!output.status.success(), "helm {line} did not fail");
        Ok(String::from_utf8_lossy(&output.stderr).into_owned())
    }

    /// Returns the objects that a chart renders.
    pub async fn template(&self, cluster: &Cluster, arguments: &[&str]) -> Result<Vec<Value>> {
        let text = self.run(cluster, arguments).await?;
        let objects: Vec<Value> = serde_saphyr::from_multiple(&text).context("reading objects")?;
        Ok(objects.into_iter().filter(Value::is_object).collect())
    }

    async fn output(&self, cluster: &Cluster, arguments: &[&str]) -> Result<Output> {
        let folder = cluster.folder().join("helm");
        Command::new(&self.program)
            .args(arguments)
            .env("KUBECONFIG", cluster.kubeconfig())
            // Other clusters on the same port must not share a cache of discovery.
            .env("KUBECACHEDIR", folder.join("discovery"))
            .env("HELM_CACHE_HOME", folder.join("cache"))
            .env("HELM_CONFIG_HOME", folder.join("config"))
            .env("HELM_DATA_HOME", folder.join("data"))
            .stdin(Stdio::null())
            .kill_on_drop(true)
            .output()
            .await
            .with_context(|| format!("helm {}", arguments.join(" ")))
    }
}
