//! The answer of `outputs` for a run that lacks an optional output.

use anyhow::{Result, ensure};

use crate::story::Story;

/// Its runs have no `more`.
const SHORT: &str = r"
apiVersion: carto.run/v1alpha1
kind: ClusterRunTemplate
metadata: { name: short }
spec:
  template:
    apiVersion: v1
    kind: ConfigMap
    metadata: { generateName: $(runnable.metadata.name)$- }
    data: { some: a word }
  outputs: { some: .data.some, more: .data.more }
  optionalOutputs: [more]
---
apiVersion: v1
kind: ServiceAccount
metadata: { name: short }
---
apiVersion: carto.run/v1alpha1
kind: Runnable
metadata: { name: short }
spec:
  serviceAccountName: short
  runTemplateRef: { name: short }
";

/// The others are printed; it is named beside them, and where it is asked for alone.
pub async fn are_named(story: &Story) -> Result<()> {
    story.apply(SHORT).await?;
    let role = story.well(&["rbac", "-r", "short"])?;
    story.apply(&role).await?;
    story.says(&["wait", "short", "--timeout", "2m"], &["ready"])?;
    let lacks = "gives no output more, which is optional";
    for arguments in [
        &["outputs", "short"][..],
        &["outputs", "short", "-o", "json"],
    ] {
        story.warns(arguments, 0, lacks)?;
    }
    ensure!(story.well(&["outputs", "short"])? == "some: a word\n");
    let alone = story.cartouche(&["outputs", "short", "more"]);
    ensure!(
        alone.code == 1 && alone.out.is_empty(),
        "{}{}",
        alone.out,
        alone.err
    );
    ensure!(alone.err.contains(lacks), "{}", alone.err);
    let other = ["outputs", "short", "somme"];
    story.warns(&other, 2, "did you mean 'some'?")
}
