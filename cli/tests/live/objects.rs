//! Inputs that come from objects other than Runnables: the commands name the one that caused a run.

use anyhow::{Result, ensure};

use crate::story::Story;

/// An input of each kind, of which the template makes something.
const SIZED: &str = r"
apiVersion: v1
kind: ServiceAccount
metadata: { name: sized }
---
apiVersion: carto.run/v1alpha1
kind: ClusterRunTemplate
metadata: { name: sized }
spec:
  healthRule: { alwaysHealthy: {} }
  template:
    apiVersion: v1
    kind: ConfigMap
    metadata: { generateName: sized- }
    data:
      size: $(runnable.spec.inputs.size)$
      pin: $(runnable.spec.inputs.pin.name)$
      image: $(runnable.spec.inputs.image)$
---
apiVersion: carto.run/v1alpha1
kind: Runnable
metadata: { name: sized }
spec:
  runTemplateRef: { name: sized }
  serviceAccountName: sized
  inputsFrom:
    - { name: size, configMapKeyRef: { name: sizes, key: small } }
    - { name: pin, secretKeyRef: { name: db, key: pin } }
    - name: image
      objectRef:
        apiVersion: v1
        kind: ConfigMap
        matchingLabels: { release: shop }
        path: .data.image
        revisionPath: .data.version
";

const OBJECTS: &str = r"
apiVersion: v1
kind: ConfigMap
metadata: { name: sizes }
data: { small: SIZE }
---
apiVersion: v1
kind: Secret
metadata: { name: db }
stringData: { pin: PIN }
---
apiVersion: v1
kind: ConfigMap
metadata: { name: release, labels: { release: shop } }
data: { image: 'app:VERSION', version: vVERSION }
";

async fn given(story: &Story, size: &str, pin: &str, version: &str) -> Result<()> {
    let objects = OBJECTS.replace("SIZE", size).replace("PIN", pin);
    story.apply(&objects.replace("VERSION", version)).await?;
    Ok(())
}

/// Each change makes a run, and the changed object is named with the input that it gives.
pub async fn are_named(story: &Story) -> Result<()> {
    given(story, "s", "one", "1").await?;
    story.apply(SIZED).await?;
    let role = story.well(&["rbac", "-r", "sized", "-o", "json"])?;
    story.apply(&role).await?;
    story.says(&["wait", "sized", "--timeout", "2m"], &["ready"])?;
    story.says(&["why", "sized"], &["it is the first run"])?;

    let own = &story.namespace;
    let had = "these sources of its inputs had changed:\n    ";
    let size = format!("{had}ConfigMap {own}/sizes, key small, which gives the input size: ");
    given(story, "m", "one", "1").await?;
    story
        .why_says("sized", &["run 2: ConfigMap", &size, " became "])
        .await?;
    let unseen = "made because something that no field shows has changed since run 2:\n    ";
    let pin = format!("{unseen}Secret {own}/db, key pin, which gives the input pin: ");
    given(story, "m", "two", "1").await?;
    story.why_says("sized", &["run 3: ConfigMap", &pin]).await?;
    let release = format!("ConfigMap {own}/release, by .data.version, which gives the input image");
    let moved = format!("{had}{release}: v1 became v2");
    given(story, "m", "two", "2").await?;
    story
        .why_says("sized", &["run 4: ConfigMap", &moved])
        .await?;
    let why = story.json(&["why", "sized", "-o", "json"])?;
    let sources = &why["run"]["because"]["sources"];
    ensure!(
        sources[0]["inputs"][0] == "image" && sources[1].is_null(),
        "{why}"
    );

    // Later changes are reported as well, while no run is made for them.
    story.well(&["suspend", "sized"])?;
    given(story, "l", "two", "3").await?;
    let size = format!("ConfigMap {own}/sizes, key small, which gives the input size: ");
    let since = "changed since its run: ";
    let (size, release) = (
        format!("{since}{size}"),
        format!("{since}{release}: v2 became v3"),
    );
    story.why_says("sized", &[&size, &release]).await?;
    story.well(&["resume", "sized"])?;
    Ok(())
}
