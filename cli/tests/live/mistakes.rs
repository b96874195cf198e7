//! What is told of mistakes that only a cluster can know.

use anyhow::{Context as _, Result, ensure};
use cartouche_tests::{cluster::Cluster, repository};

use super::{cartouche, contains, support, well};

/// What is told when something is wrong.
pub async fn are_told(cluster: &Cluster) -> Result<()> {
    let wrong = cartouche(cluster, &["why", "helo"]);
    ensure!(
        wrong.code == 2 && wrong.err.contains("did you mean 'hello'?"),
        "{}",
        wrong.err
    );
    cluster
        .kubectl(&[
            "patch",
            "runnable",
            "hello",
            "--namespace",
            "cartouche-examples",
            "--type",
            "merge",
            "--patch",
            r#"{"spec":{"runTemplateRef":{"name":"gone"}}}"#,
        ])
        .await?;
    let waited = cartouche(cluster, &["wait", "hello", "--timeout", "20s"]);
    ensure!(waited.code == 1, "{}{}", waited.out, waited.err);
    contains(
        &well(cluster, &["why", "hello"])?,
        &[
            "blocked by RunTemplateReady",
            "to do: make the ClusterRunTemplate",
            "there is no ClusterRunTemplate gone",
        ],
    )
}

/// The cluster knows the fields of kinds that no file describes.
pub async fn against_schemas_of_the_cluster(cluster: &Cluster) -> Result<()> {
    let example = repository().join("examples/health-rule");
    cluster.apply_files(&example.join("crd.yaml")).await?;
    cluster.definitions_served().await?;
    let folder = tempfile::tempdir()?;
    let template = std::fs::read_to_string(example.join("template.yaml"))?;
    let misspelt = template.replacen("    spec:\n", "    spec:\n      retries: 1\n", 1);
    ensure!(misspelt != template, "{template}");
    let file = folder.path().join("template.yaml");
    std::fs::write(&file, misspelt)?;
    let file = file.to_str().context("a path of text")?;
    let kubeconfig = cluster.kubeconfig().to_str().context("a path of text")?;
    let validate = |more: &[&str]| {
        let mut command = support::command(&repository(), &["validate", file]);
        command.args(more);
        support::finish(&mut command)
    };
    let blind = validate(&[]);
    ensure!(
        blind.code == 0 && blind.out.contains("were not checked"),
        "{}",
        blind.out
    );
    let seeing = validate(&["--schemas", "cluster", "--kubeconfig", kubeconfig]);
    ensure!(
        seeing.code == 1 && seeing.out.contains("unknown field 'retries' in spec"),
        "{}{}",
        seeing.out,
        seeing.err
    );
    // Kinds of Kubernetes are those of this cluster's version then, and still count as known.
    let job = repository().join("examples/job");
    let job = job.to_str().context("a path of text")?;
    let good = support::cartouche(&[
        "validate",
        job,
        "--schemas",
        "cluster",
        "--kubeconfig",
        kubeconfig,
    ]);
    ensure!(
        good.code == 0 && good.out.is_empty(),
        "{}{}",
        good.out,
        good.err
    );
    Ok(())
}
