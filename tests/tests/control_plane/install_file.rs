//! `dist/install.yaml`: the same objects as `config/default`, in one file that one command applies.

use std::{collections::BTreeMap, fs};

use anyhow::{Context, Result};
use cartouche_tests::{cluster::Cluster, control_plane::Options, repository};
use serde_json::Value;

use crate::DEMO;

const FILE: &str = "dist/install.yaml";

/// Objects by kind and name.
type Objects = BTreeMap<String, Value>;

fn by_name(objects: Vec<Value>) -> Objects {
    let name = |object: &Value| {
        let metadata = &object["metadata"];
        format!(
            "{}/{}/{}",
            object["kind"], metadata["namespace"], metadata["name"]
        )
    };
    let objects = objects.into_iter().filter(Value::is_object);
    objects.map(|object| (name(&object), object)).collect()
}

fn parsed(text: &str) -> Result<Objects> {
    let objects: Vec<Value> = serde_saphyr::from_multiple(text)?;
    Ok(by_name(objects))
}

/// Returns the resource versions of the objects of the file.
async fn versions(cluster: &Cluster) -> Result<BTreeMap<String, Value>> {
    let file = repository().join(FILE).display().to_string();
    let found = cluster
        .kubectl(&["get", "--output", "json", "-f", &file])
        .await?;
    let found: Value = serde_json::from_str(&found)?;
    let items = found["items"].as_array().context("kubectl has no items")?;
    let objects = by_name(items.clone()).into_iter();
    let version = |object: Value| object["metadata"]["resourceVersion"].clone();
    Ok(objects
        .map(|(name, object)| (name, version(object)))
        .collect())
}

#[tokio::test]
async fn the_file_has_the_objects_that_kubectl_builds() -> Result<()> {
    let cluster = Cluster::shared(DEMO).await?;
    let folder = repository().join("config/default").display().to_string();
    let built = parsed(&cluster.kubectl(&["kustomize", &folder]).await?)?;
    let file = parsed(&fs::read_to_string(repository().join(FILE))?)?;
    let names = |objects: &Objects| objects.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&file), names(&built));
    for (name, object) in &built {
        assert_eq!(&file[name], object, "{name}");
    }
    Ok(())
}

#[test]
fn the_image_has_one_place_in_the_file() -> Result<()> {
    let text = fs::read_to_string(repository().join(FILE))?;
    let image = concat!("image: cartouche-controller:", env!("CARGO_PKG_VERSION"));
    assert_eq!(text.matches(&format!("{image}\n")).count(), 1);
    // The command in its head names the same image.
    assert!(text.contains(&format!("sed 's|{image}|")), "{image}");
    Ok(())
}

#[tokio::test]
async fn one_apply_installs_everything_and_another_changes_nothing() -> Result<()> {
    let cluster = Cluster::start(DEMO, &Options::bare()).await?;
    let file = repository().join(FILE);
    cluster.apply_files(&file).await?;
    cluster.definitions_served().await?;
    let installed = versions(&cluster).await?;
    let wanted = parsed(&fs::read_to_string(&file)?)?;
    assert_eq!(installed.len(), wanted.len());
    cluster.apply_files(&file).await?;
    assert_eq!(versions(&cluster).await?, installed);
    Ok(())
}
