//! The chain of examples/supply-chain: a commit is tested by Tekton, built by Argo Workflows beside a Job
//! that scans it, and deployed by a Job once both have succeeded.

use std::{fmt::Write, time::Duration};

use anyhow::{Context, Result};
use cartouche_tests::{cluster::Seen, fixture::Fixture, kind::RUNNABLE, repository};
use serde_json::{Value, json};

use crate::scene::{cluster_with_argo, cluster_with_tekton, condition, examples, ready};

const LINKS: [&str; 4] = ["cart-test", "cart-build", "cart-scan", "cart-deploy"];

/// Waits until a commit has reached the end of the chain, and returns its image.
async fn deployed(chain: &Fixture, commit: &str) -> Result<Value> {
    let look = || async {
        let last = chain.get(RUNNABLE, "cart-deploy").await?;
        let outputs = &last["status"]["outputs"];
        let ready = condition(&last, "Ready")["status"] == "True";
        Ok(if outputs["commit"] == commit && ready {
            Seen::Done(outputs["image"].clone())
        } else {
            Seen::NotYet(links(chain).await?)
        })
    };
    let what = format!("{commit} to be deployed");
    chain.eventually(&what, look).await
}

/// Returns all links, for the message of a failure.
async fn links(chain: &Fixture) -> Result<String> {
    let mut text = String::new();
    for link in LINKS {
        let runnable = chain.get(RUNNABLE, link).await?;
        writeln!(text, "{link}: {:#}", runnable["status"])?;
    }
    Ok(text)
}

async fn push(chain: &Fixture, commit: &str) -> Result<()> {
    chain.change("cart-test", json!({ "commit": commit })).await
}

/// Returns the number of runs of each link.
async fn runs(chain: &Fixture) -> Result<[i64; 4]> {
    let mut counts = [0; 4];
    for (count, link) in counts.iter_mut().zip(LINKS) {
        let runnable = chain.get(RUNNABLE, link).await?;
        let sequence = &runnable["status"]["currentRun"]["sequence"];
        *count = sequence.as_i64().context("a link has no run")?;
    }
    Ok(counts)
}

/// Returns the build's image of a commit: the SHA-256 of its name.
fn image(commit: &str) -> String {
    let digest = match commit {
        "4d1f0a7" => "9831e03240c107afe5a07c595fe842aeba8f9d7a7c689f2fb9bf0a18b4df6098",
        "9c2b4e1" => "4a912b26005aba3a1395e92c69199b2ca720488fae516ca40bfe003e1745189a",
        "0e77c52" => "2f73dae72e7b2c3c6bee6638f09deee69196ebaf432514f060a227faf2ab1401",
        other => other,
    };
    format!("registry.example.com/cart@sha256:{digest}")
}

#[tokio::test]
async fn a_good_commit_is_deployed_and_a_bad_one_stops_at_its_test() -> Result<()> {
    let (Some(_), Some(cluster)) = (cluster_with_tekton().await?, cluster_with_argo().await?)
    else {
        return Ok(());
    };
    let example = repository().join("examples/supply-chain");
    cluster.apply_kustomization(&example).await?;
    let chain = examples(&cluster);
    assert_eq!(deployed(&chain, "4d1f0a7").await?, image("4d1f0a7"));
    assert_eq!(runs(&chain).await?, [1, 1, 1, 1]);

    push(&chain, "9c2b4e1").await?;
    assert_eq!(deployed(&chain, "9c2b4e1").await?, image("9c2b4e1"));
    assert_eq!(runs(&chain).await?, [2, 2, 2, 2]);

    push(&chain, "bad0001").await?;
    let test = ready(&chain, "cart-test", "False").await?;
    let message = test.message("Ready");
    assert!(
        message.contains(r#""step-test" exited with code 1"#),
        "{message}"
    );
    assert_eq!(test.output("commit"), "9c2b4e1");
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert_eq!(runs(&chain).await?, [3, 2, 2, 2]);
    assert_eq!(deployed(&chain, "9c2b4e1").await?, image("9c2b4e1"));
    let carts = ["get", "runnables", "-l", "example.com/app=cart"];
    let table = [&["-n", &chain.namespace], &carts[..]].concat();
    let table = cluster.kubectl(&table).await?;
    let not_ready: Vec<_> = table.lines().filter(|l| l.contains("False")).collect();
    assert_eq!(not_ready.len(), 1, "{table}");
    assert!(not_ready[0].starts_with("cart-test"), "{table}");

    push(&chain, "0e77c52").await?;
    assert_eq!(deployed(&chain, "0e77c52").await?, image("0e77c52"));
    assert_eq!(runs(&chain).await?, [4, 3, 3, 3]);
    Ok(())
}
