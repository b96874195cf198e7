//! The YAML of docs/how-to/flux.md, exactly as the page has it.

use std::{fs, path::Path};

use anyhow::{Context, Result};
use cartouche_tests::repository;

/// URL of the repository in the page.
const URL: &str = "https://git.example.com/platform/fleet";

/// Returns the blocks of YAML of the page.
fn blocks() -> Result<Vec<String>> {
    let page = fs::read_to_string(repository().join("docs/how-to/flux.md"))?;
    let blocks = page.split("```yaml\n").skip(1);
    let blocks = blocks.filter_map(|rest| rest.split("```").next());
    Ok(blocks.map(str::to_owned).collect())
}

/// Returns the files of the page's repository: a block names its file in its first line.
pub(super) fn files() -> Result<Vec<(String, String)>> {
    let named = |block: String| {
        let name = block.lines().next()?.strip_prefix("# ")?.to_owned();
        let is_file = Path::new(&name).extension().is_some();
        is_file.then_some((name, block))
    };
    Ok(blocks()?.into_iter().filter_map(named).collect())
}

/// Returns the page's objects of Flux, with the URL of the repository here.
pub(super) fn objects(url: &str) -> Result<String> {
    let whole = |block: &String| block.contains(URL) && block.contains("kind: Kustomization");
    let block = blocks()?.into_iter().find(whole);
    let block = block.context("the page has no such block")?;
    Ok(block.replace(URL, url))
}

/// Returns what the page leaves to its reader: a list of templates, and an application.
pub(super) fn rest(version: &str) -> Vec<(String, String)> {
    let kustomization = |more: &str| {
        format!("apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n{more}\n")
    };
    let app = format!(
        "apiVersion: apps/v1
kind: Deployment
metadata: {{name: orders}}
spec:
  selector: {{matchLabels: {{app: orders}}}}
  template:
    metadata: {{labels: {{app: orders}}}}
    spec:
      containers: [{{name: orders, image: \"registry.example.com/orders:{version}\"}}]
"
    );
    let files = [
        (
            "platform/templates/kustomization.yaml",
            kustomization("resources: [migrate-database.yaml]"),
        ),
        (
            "teams/orders/app/kustomization.yaml",
            kustomization("namespace: orders\nresources: [deployment.yaml]"),
        ),
        ("teams/orders/app/deployment.yaml", app),
    ];
    files.map(|(name, text)| (name.to_owned(), text)).to_vec()
}
