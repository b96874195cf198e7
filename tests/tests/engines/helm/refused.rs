//! Wrong values are refused with a message that names them, and the chart has nothing that `helm lint` finds.

use anyhow::Result;
use cartouche_tests::engines::Helm;

use super::{REPOSITORY, command, helm3, helm4};
use crate::scene::cluster;

/// A setting that is wrong, and words of the message about it.
const WRONG: [(&str, &[&str]); 21] = [
    (
        "replica=2",
        &["additional properties 'replica' not allowed"],
    ),
    ("image.version=1", &["/image", "'version' not allowed"]),
    ("replicas=9", &["/replicas", "maximum"]),
    ("replicas=two", &["/replicas", "got string, want integer"]),
    ("image.digest=latest", &["/image/digest", "pattern"]),
    ("image.repository=a:1", &["/image/repository", "pattern"]),
    (
        "image.repository=host:5000/a:1",
        &["/image/repository", "pattern"],
    ),
    (
        "identity.mode=tokens",
        &["/identity/mode", "'impersonate', 'token'"],
    ),
    (
        "flags.concurency=4",
        &["/flags", "'concurency' not allowed"],
    ),
    ("flags.concurrency=0", &["/flags/concurrency", "minimum"]),
    (
        "flags.poll-seconds=3601",
        &["/flags/poll-seconds", "maximum"],
    ),
    ("flags.namespace=a", &["/flags", "'namespace' not allowed"]),
    (
        "flags.log-format=xml",
        &["/flags/log-format", "'text', 'json'"],
    ),
    ("kinds.tekton=yes", &["/kinds/tekton", "want boolean"]),
    (
        "policies.writers.users={it's}",
        &["/policies/writers/users/0", "pattern"],
    ),
    ("namespace=Team", &["/namespace", "pattern"]),
    ("crds.enabled=1", &["/crds/enabled", "want boolean"]),
    ("identity.namespaces={a,a}", &["/identity/namespaces"]),
    (
        r"podLabels.app\.kubernetes\.io/name=a",
        // Helm's library names another place for these.
        &["invalid propertyName 'app.kubernetes.io/name'"],
    ),
    (
        r"commonLabels.helm\.sh/chart=a",
        &["invalid propertyName 'helm.sh/chart'"],
    ),
    (
        r"commonLabels.carto\.run/aggregate-to-controller=yes",
        &["invalid propertyName 'carto.run/aggregate-to-controller'"],
    ),
];

async fn names_wrong_values(helm: &Helm) -> Result<()> {
    let cluster = cluster().await?;
    let chart = Helm::chart().display().to_string();
    let words = ["template", "--kube-version", "1.36.0"];
    for (setting, expected) in WRONG {
        let arguments = command(&words, &chart, &[REPOSITORY, setting]);
        let message = helm.refused(&cluster, &arguments).await?;
        for part in expected {
            assert!(message.contains(part), "{setting}: {part}: {message}");
        }
    }
    let message = helm
        .refused(&cluster, &command(&words, &chart, &[]))
        .await?;
    assert!(
        message.contains("image.repository is required"),
        "{message}"
    );
    let both = [REPOSITORY, "identity.mode=token", "identity.namespaces={a}"];
    let message = helm
        .refused(&cluster, &command(&words, &chart, &both))
        .await?;
    assert!(
        message.contains("it needs identity.mode=impersonate"),
        "{message}"
    );
    let old = ["template", "--kube-version", "1.29.0"];
    let message = helm
        .refused(&cluster, &command(&old, &chart, &[REPOSITORY]))
        .await?;
    assert!(message.contains("requires kubeVersion"), "{message}");

    helm.run(&cluster, &["lint", "--strict", &chart]).await?;
    Ok(())
}

#[tokio::test]
async fn helm_4_names_wrong_values_and_finds_no_fault_in_the_chart() -> Result<()> {
    let Some(helm) = helm4().await? else {
        return Ok(());
    };
    names_wrong_values(helm).await
}

#[tokio::test]
async fn helm_3_names_wrong_values_and_finds_no_fault_in_the_chart() -> Result<()> {
    let Some(helm) = helm3().await? else {
        return Ok(());
    };
    names_wrong_values(helm).await
}
