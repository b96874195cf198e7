//! Engines from Go modules: builds their programs and reads their manifests.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};
use thiserror::Error;
use tokio::process::Command;

use crate::{
    cluster::Cluster,
    control_plane::{Part, Parts, PartsError},
    progress::Progress,
    repository,
};

/// Reason why an engine does not run.
#[derive(Debug, Error)]
pub enum EngineError {
    /// The module is not available here: tests with it are skipped.
    #[error("{0}")]
    Absent(String),
    /// Another error.
    #[error(transparent)]
    Other(#[from] anyhow::Error),
}

impl From<io::Error> for EngineError {
    fn from(error: io::Error) -> Self {
        Self::Other(error.into())
    }
}

impl From<PartsError> for EngineError {
    fn from(error: PartsError) -> Self {
        match error {
            PartsError::NoGo { .. } | PartsError::LeftOut { .. } => Self::Absent(error.to_string()),
            PartsError::Build { reason, .. } => Self::of_go(reason),
            other => Self::Other(other.into()),
        }
    }
}

impl EngineError {
    /// Classifies a failure of Go.
    pub(super) fn of_go(reason: String) -> Self {
        if is_about_download(&reason) {
            Self::Absent(reason)
        } else {
            Self::Other(anyhow::anyhow!(reason))
        }
    }
}

/// Returns true if Go failed because it could not fetch something. Its message then has the address, or says
/// that lookups are disabled.
fn is_about_download(reason: &str) -> bool {
    reason.contains("https://") || reason.contains("lookup disabled")
}

/// Returns the path of an engine's program and builds it if necessary.
pub(super) async fn program(demo: &Path, part: Part) -> Result<PathBuf, EngineError> {
    let demo = demo.to_owned();
    let prepare = move || Parts::prepare(&demo, &[part], Progress::for_stderr());
    let parts = tokio::task::spawn_blocking(prepare)
        .await
        .map_err(anyhow::Error::from)??;
    Ok(parts.path(part)?.to_owned())
}

/// Returns the folder of a module, in the version that `tests/control-plane/<source>/go.mod` requires.
pub(super) async fn folder(source: &str, module: &str) -> Result<PathBuf, EngineError> {
    let output = Command::new("go")
        .args(["mod", "download", "-json", module])
        .current_dir(repository().join("tests/control-plane").join(source))
        .env("GOFLAGS", "-mod=readonly")
        .output()
        .await
        .map_err(|error| EngineError::Absent(format!("go: {error}")))?;
    let said: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    if let Some(folder) = said["Dir"].as_str() {
        return Ok(PathBuf::from(folder));
    }
    let standard_error = String::from_utf8_lossy(&output.stderr);
    let why = said["Error"].as_str().unwrap_or(&standard_error);
    Err(EngineError::Absent(format!("{module}: {}", why.trim())))
}

/// Returns the objects in a YAML file, or in those files of a folder whose names are wanted.
pub(super) fn objects(path: &Path, wanted: impl Fn(&str) -> bool) -> anyhow::Result<Vec<Value>> {
    let mut files = vec![path.to_owned()];
    if path.is_dir() {
        files = fs::read_dir(path)?
            .map(|entry| Ok(entry?.path()))
            .collect::<io::Result<_>>()?;
        files.retain(|file| {
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            name.ends_with(".yaml") && name != "kustomization.yaml" && wanted(&name)
        });
        files.sort();
    }
    let mut objects = Vec::new();
    for file in files {
        let found: Vec<Value> = serde_saphyr::from_multiple(&fs::read_to_string(&file)?)?;
        objects.extend(found.into_iter().filter(Value::is_object));
    }
    Ok(objects)
}

/// Removes the conversion webhook from definitions: its server does not run here, and only one version of
/// each kind is used.
pub(super) fn without_conversion(mut objects: Vec<Value>) -> Vec<Value> {
    for object in &mut objects {
        if let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) {
            spec.remove("conversion");
        }
    }
    objects
}

/// Applies objects in their order.
pub(super) async fn apply(cluster: &Cluster, objects: &[Value]) -> anyhow::Result<()> {
    let list = json!({ "apiVersion": "v1", "kind": "List", "items": objects });
    let arguments = ["apply", "--server-side", "-f", "-"];
    cluster
        .kubectl_with_input(&arguments, &list.to_string())
        .await
        .map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_failed_download_makes_an_engine_absent() {
        let build = |reason: &str| {
            EngineError::from(PartsError::Build {
                binary: "engine",
                reason: reason.to_owned(),
            })
        };
        let refused = "go: example.com/x@v1.0.0: reading https://proxy.example.com: 403 Forbidden";
        assert!(matches!(build(refused), EngineError::Absent(_)));
        let broken = "x.go:3:1: syntax error: non-declaration statement outside function body";
        assert!(matches!(build(broken), EngineError::Other(_)));
    }
}
