//! Schemas out of files and folders.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde_json::Value;

use crate::manifests::{self, Boundary};
use crate::schema::catalog::Catalog;

/// Reads every schema below a folder, or in a file: custom resource definitions as YAML or JSON, and
/// OpenAPI documents as `kubectl get --raw /openapi/v3/apis/...` and `/openapi/v2` give them.
pub fn read(path: &Path, catalog: &mut Catalog) -> anyhow::Result<()> {
    let loaded = manifests::load(&[path.to_owned()]).context("reading schemas")?;
    catalog.add(&loaded.documents);
    let mut files = Vec::new();
    if path.is_dir() {
        json_files(path, &Boundary::around(path)?, &mut files)?;
    } else if is_json(path) {
        files.push(path.to_owned());
    }
    for file in files {
        let document: Value = serde_json::from_str(&manifests::read(&file)?)
            .with_context(|| format!("{} is not valid JSON", file.display()))?;
        if is_open_api(&document) {
            catalog.add_open_api(document);
        }
    }
    Ok(())
}

fn json_files(folder: &Path, boundary: &Boundary, files: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    for path in manifests::entries(folder)? {
        if path.is_dir() {
            if boundary.enters(&path)? {
                json_files(&path, boundary, files)?;
            }
        } else if is_json(&path) {
            boundary.check_link(&path)?;
            files.push(path);
        }
    }
    Ok(())
}

fn is_json(path: &Path) -> bool {
    path.extension().is_some_and(|it| it == "json")
}

fn is_open_api(document: &Value) -> bool {
    document.get("openapi").is_some() || document.get("swagger").is_some()
}
