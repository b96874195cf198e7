//! What docs/gitops.md has one write, as it stands there.

use std::{fs, path::Path};

use anyhow::{Context, Result};
use cartouche_tests::repository;

/// Where the page says that the repository is.
const URL: &str = "https://git.example.com/platform/fleet";

/// The blocks of YAML of the page.
fn blocks() -> Result<Vec<String>> {
    let page = fs::read_to_string(repository().join("docs/gitops.md"))?;
    let blocks = page.split("```yaml\n").skip(1);
    let blocks = blocks.filter_map(|rest| rest.split("```").next());
    Ok(blocks.map(str::to_owned).collect())
}

/// The files of the page's repository: a block names its file in its first line.
pub(super) fn files() -> Result<Vec<(String, String)>> {
    let named = |block: String| {
        let name = block.lines().next()?.strip_prefix("# ")?.to_owned();
        let is_file = Path::new(&name).extension().is_some();
        is_file.then_some((name, block))
    };
    Ok(blocks()?.into_iter().filter_map(named).collect())
}

/// The page's objects of Flux, with the repository where it is here.
pub(super) fn objects(url: &str) -> Result<String> {
    let whole = |block: &String| block.contains(URL) && block.contains("kind: Kustomization");
    let block = blocks()?.into_iter().find(whole);
    let block = block.context("the page has no such block")?;
    Ok(block.replace(URL, url))
}

/// What the page leaves to its reader: which templates there are, and an application.
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
