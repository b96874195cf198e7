//! Messages about mistakes that only a cluster can know.

use std::fs;

use anyhow::{Context as _, Result, ensure};
use cartouche_tests::repository;
use serde_json::json;

use crate::{
    story::Story,
    support::{self, Output},
};

/// Mistakes in names and references are reported.
pub async fn are_told(story: &Story) -> Result<()> {
    story.warns(&["why", "helo"], 2, "did you mean 'hello'?")?;
    let gone = json!({ "spec": { "runTemplateRef": { "name": "gone" } } });
    story.patch("hello", gone).await?;
    let waited = story.cartouche(&["wait", "hello", "--timeout", "20s"]);
    ensure!(waited.code == 1, "{}{}", waited.out, waited.err);
    story.says(
        &["why", "hello"],
        &[
            "there is no ClusterRunTemplate",
            "to do: create it, or correct spec.runTemplateRef.name",
            "there is no ClusterRunTemplate gone",
        ],
    )
}

/// The cluster knows the fields of kinds that no file describes.
pub async fn against_schemas_of_the_cluster(story: &Story) -> Result<()> {
    let example = repository().join("examples/health-rule");
    let definition = example.join("crd.yaml");
    story.cluster.apply_files(&definition).await?;
    story.cluster.definitions_served().await?;
    let folder = tempfile::tempdir()?;
    let template = fs::read_to_string(example.join("template.yaml"))?;
    let misspelt = template.replacen("    spec:\n", "    spec:\n      retries: 1\n", 1);
    ensure!(misspelt != template, "{template}");
    let file = folder.path().join("template.yaml");
    fs::write(&file, misspelt)?;
    let file = file.to_str().context("a path of text")?;
    let kubeconfig = story.cluster.kubeconfig();
    let kubeconfig = kubeconfig.to_str().context("a path of text")?;
    let seeing = ["--schemas", "cluster", "--kubeconfig", kubeconfig];
    let validate = |path: &str, more: &[&str], wanted: i32, part: &str| {
        let arguments = [&["validate", path], more].concat();
        let Output { out, err, code } = support::cartouche(&arguments);
        ensure!(code == wanted && out.contains(part), "{out}{err}");
        anyhow::Ok(out)
    };
    validate(file, &["--notes"], 0, "were not checked")?;
    let unknown = "unknown field 'retries' in spec";
    validate(file, &seeing, 1, unknown)?;
    // Kinds of Kubernetes are those of this cluster's version then, and still count as known.
    let job = repository().join("examples/job");
    let job = job.to_str().context("a path of text")?;
    let said = validate(job, &seeing, 0, "")?;
    ensure!(said.is_empty(), "{said}");
    Ok(())
}
