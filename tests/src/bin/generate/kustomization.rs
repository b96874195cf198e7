//! The objects of a kustomization in `config/`, built as `kubectl kustomize` builds them.
//!
//! It knows the fields that `config/default` uses and refuses all others, so that the fast loop needs no
//! kubectl. `tests/tests/control_plane/install_file.rs` compares the result with that of the real one.

use std::{
    fs, io,
    path::{Component, Path, PathBuf},
};

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::Generated;

/// File names of a kustomization, in the order in which kubectl looks for them.
const NAMES: [&str; 2] = ["kustomization.yaml", "Kustomization"];

/// A file `kustomization.yaml`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Kustomization {
    #[serde(rename = "apiVersion")]
    _api_version: String,
    #[serde(rename = "kind")]
    _kind: String,
    #[serde(default)]
    resources: Vec<String>,
    #[serde(default)]
    components: Vec<String>,
    #[serde(default)]
    labels: Vec<Labels>,
    #[serde(default)]
    images: Vec<Image>,
}

/// Labels that are added to the metadata of all objects.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Labels {
    pairs: Map<String, Value>,
}

/// A tag for an image.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Image {
    name: String,
    new_tag: String,
}

/// The files of the repository, of which some are about to be written.
pub struct Files<'a> {
    root: &'a Path,
    generated: &'a [Generated],
}

impl<'a> Files<'a> {
    /// Returns the files below `root`. Those in `generated` have their new text.
    pub fn new(root: &'a Path, generated: &'a [Generated]) -> Self {
        Self { root, generated }
    }

    /// Returns the text of a file, by its path from the root.
    pub fn read(&self, path: &Path) -> io::Result<String> {
        let whole = self.root.join(path);
        match self.generated.iter().find(|file| file.path == whole) {
            Some(file) => Ok(file.text.clone()),
            None => fs::read_to_string(&whole).map_err(|error| crate::at(&whole, &error)),
        }
    }

    /// Returns the names in a folder, by its path from the root.
    pub fn names(&self, folder: &Path) -> io::Result<Vec<String>> {
        let whole = self.root.join(folder);
        let entries = fs::read_dir(&whole).map_err(|error| crate::at(&whole, &error))?;
        let name = |entry: fs::DirEntry| entry.file_name().to_string_lossy().into_owned();
        entries.map(|entry| entry.map(name)).collect()
    }

    /// Returns the objects of a kustomization, by the path of its folder from the root.
    pub fn build(&self, folder: &Path) -> io::Result<Vec<Value>> {
        let mut objects = Vec::new();
        self.add(folder, &mut objects)?;
        Ok(objects)
    }

    /// Adds the objects of a kustomization to those that there are.
    fn add(&self, folder: &Path, objects: &mut Vec<Value>) -> io::Result<()> {
        let mut names = NAMES.iter().map(|name| folder.join(name));
        let file = names.find(|file| self.root.join(file).is_file());
        let file = file.ok_or_else(|| fault(folder, "has no kustomization"))?;
        let kustomization: Kustomization = parsed(&file, &self.read(&file)?)?;
        let mut own = Vec::new();
        for entry in &kustomization.resources {
            let path = resolved(folder, entry);
            if self.root.join(&path).is_dir() {
                self.add(&path, &mut own)?;
            } else {
                own.extend(documents(&path, &self.read(&path)?)?);
            }
        }
        for entry in &kustomization.components {
            // A component of other fields than resources would change the objects before it.
            self.add(&resolved(folder, entry), &mut own)?;
        }
        for object in &mut own {
            for labels in &kustomization.labels {
                label(object, &labels.pairs);
            }
            for image in &kustomization.images {
                tag(object, image);
            }
        }
        objects.append(&mut own);
        Ok(())
    }
}

/// Returns the objects of a YAML file.
pub fn documents(path: &Path, text: &str) -> io::Result<Vec<Value>> {
    let objects: Vec<Value> =
        serde_saphyr::from_multiple(text).map_err(|error| fault(path, &error.to_string()))?;
    Ok(objects.into_iter().filter(Value::is_object).collect())
}

fn parsed(path: &Path, text: &str) -> io::Result<Kustomization> {
    serde_saphyr::from_str(text).map_err(|error| fault(path, &error.to_string()))
}

/// Returns an error about a file or folder.
pub fn fault(path: &Path, what: &str) -> io::Error {
    io::Error::other(format!("{}: {what}", path.display()))
}

/// Returns the path that an entry of a kustomization names, without `..`.
fn resolved(folder: &Path, entry: &str) -> PathBuf {
    let mut path = folder.to_owned();
    for component in Path::new(entry).components() {
        match component {
            Component::ParentDir => drop(path.pop()),
            Component::CurDir => {}
            other => path.push(other),
        }
    }
    path
}

fn label(object: &mut Value, pairs: &Map<String, Value>) {
    let metadata = &mut object["metadata"];
    if !metadata["labels"].is_object() {
        metadata["labels"] = json!({});
    }
    for (name, value) in pairs {
        metadata["labels"][name] = value.clone();
    }
}

fn tag(object: &mut Value, image: &Image) {
    let containers = object.pointer_mut("/spec/template/spec/containers");
    for container in containers
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
    {
        if container["image"] == image.name {
            container["image"] = json!(format!("{}:{}", image.name, image.new_tag));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_found_from_its_folder() {
        let folder = Path::new("config/default");
        assert_eq!(resolved(folder, "../crd"), Path::new("config/crd"));
        assert_eq!(
            resolved(folder, "a.yaml"),
            Path::new("config/default/a.yaml")
        );
        assert_eq!(resolved(folder, "./a"), Path::new("config/default/a"));
    }

    #[test]
    fn a_field_without_an_implementation_is_refused() {
        let text = "apiVersion: v1\nkind: Kustomization\nnamePrefix: a-\n";
        assert!(parsed(Path::new("k"), text).is_err());
        let text = "apiVersion: v1\nkind: Kustomization\nresources: [a]\n";
        assert!(parsed(Path::new("k"), text).is_ok());
    }

    #[test]
    fn labels_and_tags_reach_their_places() {
        let mut object = json!({ "metadata": { "name": "a" }, "spec": { "template": { "spec": {
            "containers": [{ "image": "one" }, { "image": "two" }],
        } } } });
        let image = Image {
            name: "two".to_owned(),
            new_tag: "3".to_owned(),
        };
        tag(&mut object, &image);
        let pairs = json!({ "b": "c" });
        label(&mut object, pairs.as_object().unwrap());
        let containers = &object["spec"]["template"]["spec"]["containers"];
        assert_eq!(
            containers,
            &json!([{ "image": "one" }, { "image": "two:3" }])
        );
        assert_eq!(object["metadata"]["labels"], pairs);
    }
}
