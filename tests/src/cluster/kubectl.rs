//! Runs kubectl as users do.

use std::{path::Path, process::Stdio};

use anyhow::{Context, Result, bail};
use tokio::{io::AsyncWriteExt, process::Command};

use super::Cluster;

impl Cluster {
    /// Runs kubectl and returns its standard output. Fails with its output if its exit code is not 0.
    pub async fn kubectl(&self, arguments: &[&str]) -> Result<String> {
        self.kubectl_with_input(arguments, "").await
    }

    /// Runs kubectl as [`Self::kubectl`] does, with `input` as its standard input.
    pub async fn kubectl_with_input(&self, arguments: &[&str], input: &str) -> Result<String> {
        let what = || format!("kubectl {}", arguments.join(" "));
        let mut command = Command::new(&self.kubectl);
        command.arg("--kubeconfig").arg(&self.kubeconfig);
        if let Some(context) = &self.context {
            command.arg("--context").arg(context);
        }
        let mut kubectl = command
            .args(arguments)
            // Other clusters on the same port must not share a cache of discovery.
            .env("KUBECACHEDIR", self.folder.join("kubectl-cache"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("starting {}", self.kubectl.display()))?;
        if let Some(mut pipe) = kubectl.stdin.take() {
            pipe.write_all(input.as_bytes()).await.with_context(what)?;
        }
        let output = kubectl.wait_with_output().await.with_context(what)?;
        if !output.status.success() {
            bail!(
                "{} failed ({}): {}",
                what(),
                output.status,
                String::from_utf8_lossy(&output.stderr).trim()
            );
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Applies the objects of a YAML text, those with a namespace into this one.
    pub async fn apply_yaml(&self, namespace: &str, yaml: &str) -> Result<String> {
        self.kubectl_with_input(&["--namespace", namespace, "apply", "-f", "-"], yaml)
            .await
    }

    /// Applies a file, or the files of a folder, as `kubectl apply -f` does.
    pub async fn apply_files(&self, path: &Path) -> Result<String> {
        let path = path.display().to_string();
        self.kubectl(&["apply", "--server-side", "-f", &path]).await
    }

    /// Applies a kustomization, as `kubectl apply -k` does.
    pub async fn apply_kustomization(&self, folder: &Path) -> Result<String> {
        let folder = folder.display().to_string();
        self.kubectl(&["apply", "-k", &folder]).await
    }
}
