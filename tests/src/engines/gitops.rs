//! Effects of GitOps tools on objects, computed by their own libraries in a Go program.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    process::Stdio,
};

use anyhow::{Context, Result, bail, ensure};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;
use tokio::{io::AsyncWriteExt, process::Command};

use super::module::EngineError;
use crate::{cluster::Cluster, control_plane::leaves_engines_out, repository};

/// Verdict of a tool on an object.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
pub struct Verdict {
    /// `Current`, `InProgress`, `Failed` (kstatus); `Healthy`, `Progressing`, `Degraded` (Argo CD).
    pub status: String,
    /// Reason of the status.
    pub message: String,
}

/// Result of a comparison of a namespace with Git by Argo CD, and of its sync. Objects are written
/// `Kind/name`.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ArgoSync {
    /// Objects that Argo CD takes for the application's.
    pub managed: Vec<String>,
    /// Objects with the mark of the application, whether Argo CD takes them or not.
    pub carrying: Vec<String>,
    /// Objects that differ from Git, or are not in Git.
    pub out_of_sync: Vec<String>,
    /// Result of each object: `Synced`, `Pruned`, `SyncFailed`.
    pub results: BTreeMap<String, String>,
}

/// Result of a reconciliation of a namespace by Flux. Objects are written `Kind/name`.
#[derive(Clone, Debug, Deserialize)]
pub struct FluxSync {
    /// Objects in Git: `created`, `configured` or `unchanged`.
    pub applied: BTreeMap<String, String>,
    /// Objects that Git no longer has: `deleted` or `skipped`.
    pub pruned: BTreeMap<String, String>,
    /// Inventory for the next reconciliation.
    pub inventory: Vec<String>,
}

/// The program of `tests/control-plane/gitops`.
#[derive(Clone, Debug)]
pub struct GitOps {
    program: PathBuf,
    kubeconfig: PathBuf,
}

impl GitOps {
    /// Builds the program: this takes minutes on a machine that has not built it before, and otherwise a
    /// second.
    pub async fn build(cluster: &Cluster) -> Result<Self, EngineError> {
        if leaves_engines_out() {
            let why = "they are not kept after a build".to_owned();
            return Err(EngineError::Absent(why));
        }
        let program = cluster.folder().join("gitops");
        let output = Command::new("go")
            .args(["build", "-o"])
            .arg(&program)
            .arg(".")
            .current_dir(repository().join("tests/control-plane/gitops"))
            .env("CGO_ENABLED", "0")
            .env("GOFLAGS", "-mod=readonly")
            .output()
            .await
            .map_err(|error| EngineError::Absent(format!("go: {error}")))?;
        if output.status.success() {
            return Ok(Self {
                program,
                kubeconfig: cluster.kubeconfig().to_owned(),
            });
        }
        Err(EngineError::of_go(
            String::from_utf8_lossy(&output.stderr).into_owned(),
        ))
    }

    /// Returns the same program for this cluster.
    #[must_use]
    pub fn on(&self, cluster: &Cluster) -> Self {
        Self {
            program: self.program.clone(),
            kubeconfig: cluster.kubeconfig().to_owned(),
        }
    }

    /// Returns the status of an object as Flux, kpt and Helm compute it.
    pub async fn kstatus(&self, object: &Value) -> Result<Verdict> {
        self.ask(&["kstatus"], &object.to_string()).await
    }

    /// Returns the health of an object by a script for Argo CD.
    pub async fn argo_cd(&self, script: &Path, object: &Value) -> Result<Verdict> {
        let script = script.display().to_string();
        self.ask(&["argocd", &script], &object.to_string()).await
    }

    /// Runs a self-healing sync of an application that prunes, by Argo CD's engine. `tracking` is the way in
    /// which it knows its objects, `label` or `annotation`.
    pub async fn argo_cd_sync(
        &self,
        tracking: &str,
        application: &str,
        namespace: &str,
        objects: &[Value],
    ) -> Result<ArgoSync> {
        let arguments = ["argocd-sync", tracking, application, namespace];
        self.ask(&arguments, &lines(objects)).await
    }

    /// Runs a reconciliation of a Kustomization with prune, by Flux's library. `inventory` is that of the
    /// previous reconciliation.
    pub async fn flux_sync(
        &self,
        name: &str,
        namespace: &str,
        inventory: &[String],
        objects: &[Value],
    ) -> Result<FluxSync> {
        let mut arguments = vec!["flux-sync", name, namespace];
        arguments.extend(inventory.iter().map(String::as_str));
        self.ask(&arguments, &lines(objects)).await
    }

    async fn ask<T: DeserializeOwned>(&self, arguments: &[&str], objects: &str) -> Result<T> {
        let mut child = Command::new(&self.program)
            .args(arguments)
            .env("KUBECONFIG", &self.kubeconfig)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        if let Some(mut pipe) = child.stdin.take() {
            pipe.write_all(objects.as_bytes()).await?;
        }
        let output = child.wait_with_output().await?;
        if !output.status.success() {
            bail!("{}", String::from_utf8_lossy(&output.stderr).trim());
        }
        ensure!(!output.stdout.is_empty(), "no answer about {objects}");
        serde_json::from_slice(&output.stdout).context("reading the answer")
    }
}

fn lines(objects: &[Value]) -> String {
    let lines: Vec<String> = objects.iter().map(Value::to_string).collect();
    lines.join("\n")
}
