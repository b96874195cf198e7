//! What GitOps tools make of objects, told by their own libraries in a Go program.

use std::{
    path::{Path, PathBuf},
    process::Stdio,
};

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;
use serde_json::Value;
use tokio::{io::AsyncWriteExt, process::Command};

use super::module::EngineError;
use crate::{cluster::Cluster, repository};

/// What a tool says about an object.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
pub struct Verdict {
    /// `Current`, `InProgress`, `Failed` (kstatus); `Healthy`, `Progressing`, `Degraded` (Argo CD).
    pub status: String,
    /// Why.
    pub message: String,
}

/// The program of `tests/control-plane/gitops`.
#[derive(Clone, Debug)]
pub struct GitOps {
    program: PathBuf,
}

impl GitOps {
    /// Builds the program, in a second if Go has built its libraries before.
    pub async fn build(cluster: &Cluster) -> Result<Self, EngineError> {
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
            return Ok(Self { program });
        }
        Err(EngineError::of_go(
            String::from_utf8_lossy(&output.stderr).into_owned(),
        ))
    }

    /// The status of an object as Flux, kpt and Helm compute it.
    pub async fn kstatus(&self, object: &Value) -> Result<Verdict> {
        self.ask(&["kstatus".as_ref()], object).await
    }

    /// The health of an object by a script for Argo CD.
    pub async fn argo_cd(&self, script: &Path, object: &Value) -> Result<Verdict> {
        self.ask(&["argocd".as_ref(), script], object).await
    }

    async fn ask(&self, arguments: &[&Path], object: &Value) -> Result<Verdict> {
        let mut child = Command::new(&self.program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        if let Some(mut pipe) = child.stdin.take() {
            pipe.write_all(object.to_string().as_bytes()).await?;
        }
        let output = child.wait_with_output().await?;
        if !output.status.success() {
            bail!("{}", String::from_utf8_lossy(&output.stderr).trim());
        }
        ensure!(!output.stdout.is_empty(), "no verdict about {object}");
        serde_json::from_slice(&output.stdout).context("reading a verdict")
    }
}
