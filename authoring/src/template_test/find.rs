//! Finds the cases below a folder, and the settings that each inherits from the folders above it.

use std::path::{Component, Path, PathBuf};

use anyhow::{Context as _, bail};
use cartouche_protocol::profiles::Labels;
use serde::Deserialize;
use serde_json::Value;

use crate::manifests::{self, Boundary};
use crate::starter::{RUNNABLE_FILE, TEMPLATE_FILE};
use crate::template_test::{Case, EXPECTED, EXPECTED_ERROR, PLAYED, SETTINGS};

/// The file of a case that has settings of its own.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Settings {
    /// Description of the case.
    description: Option<String>,
    /// The template, relative to this file.
    template: Option<PathBuf>,
    /// The Runnable, relative to this file.
    runnable: Option<PathBuf>,
    /// The selected object, relative to this file.
    selected: Option<PathBuf>,
    /// The objects that inputs come from, relative to this file.
    sources: Option<PathBuf>,
    /// The profile that the run is made with, relative to this file.
    profile: Option<PathBuf>,
    /// The profiles that rules choose from, relative to this file: a file or a folder.
    profiles: Option<PathBuf>,
    /// The labels of the namespace.
    namespace_labels: Option<Labels>,
    /// Merged into the inputs of the Runnable; a null takes an input away.
    inputs: Option<Value>,
}

/// Returns all cases at or below a folder, sorted by name.
pub fn cases(root: &Path) -> anyhow::Result<Vec<Case>> {
    if !root.is_dir() {
        bail!(
            "{} is not a folder\nhint: a case is a folder with {EXPECTED} or {SETTINGS}",
            root.display()
        );
    }
    let boundary = Boundary::around(root)?;
    let mut folders = Vec::new();
    collect(root, &boundary, &mut folders)?;
    folders.sort();
    folders
        .iter()
        .map(|folder| case(root, folder, &boundary))
        .collect()
}

/// Collects cases. A folder is a case if it has an expected result, or settings and no cases below it.
fn collect(folder: &Path, boundary: &Boundary, found: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    let before = found.len();
    for path in manifests::entries(folder)? {
        if path.is_dir() && !path.ends_with(PLAYED) && boundary.enters(&path)? {
            collect(&path, boundary, found)?;
        }
    }
    let has = |file: &str| folder.join(file).is_file();
    if has(EXPECTED) || has(EXPECTED_ERROR) || (has(SETTINGS) && found.len() == before) {
        found.push(folder.to_owned());
    }
    Ok(())
}

fn case(root: &Path, folder: &Path, boundary: &Boundary) -> anyhow::Result<Case> {
    let below = folder
        .strip_prefix(root)
        .unwrap_or(folder)
        .display()
        .to_string();
    let mut case = Case {
        name: match (root.display().to_string(), below) {
            (root, below) if below.is_empty() => root,
            (root, below) if root == "." => below,
            (root, below) => format!("{}/{below}", root.trim_end_matches('/')),
        },
        folder: folder.to_owned(),
        boundary: boundary.clone(),
        description: None,
        template: None,
        runnable: None,
        selected: None,
        sources: None,
        profile: None,
        profiles: None,
        namespace_labels: None,
        inputs: None,
    };
    for ancestor in ancestors(folder, boundary) {
        inherit(&mut case, &ancestor)?;
    }
    Ok(case)
}

/// Returns the folder and those above it, up to the repository that it is in, or to where the search began. Relative
/// paths read better in what is printed.
fn ancestors(folder: &Path, boundary: &Boundary) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut next = Some(folder.to_owned());
    while let Some(path) = next.filter(|path| boundary.contains(path)) {
        next = match path.components().next_back() {
            Some(Component::Normal(_)) if !boundary.is_at(&path) => path.parent().map(named),
            _ => None,
        };
        found.push(path);
    }
    found
}

/// Returns the folder, or the current one if the path is empty.
fn named(folder: &Path) -> PathBuf {
    if folder.as_os_str().is_empty() {
        PathBuf::from(".")
    } else {
        folder.to_owned()
    }
}

/// Takes the settings that nearer folders do not give.
fn inherit(case: &mut Case, folder: &Path) -> anyhow::Result<()> {
    let boundary = case.boundary.clone();
    let settings = settings(folder, &boundary)?;
    let place = |path: Option<PathBuf>, files: &[&str]| -> anyhow::Result<Option<PathBuf>> {
        if let Some(path) = path.map(|path| folder.join(path)) {
            boundary.check_named(&path, &folder.join(SETTINGS))?;
            return Ok(Some(path));
        }
        let mut named = files.iter().map(|file| folder.join(file));
        let found = named.find(|path| path.is_file());
        found
            .as_deref()
            .map_or(Ok(()), |path| boundary.check_found(path))?;
        Ok(found)
    };
    let take = |slot: &mut Option<PathBuf>, path: Option<PathBuf>| {
        if slot.is_none() {
            *slot = path;
        }
    };
    take(
        &mut case.template,
        place(settings.template, &["template.yaml", TEMPLATE_FILE])?,
    );
    take(
        &mut case.runnable,
        place(settings.runnable, &[RUNNABLE_FILE])?,
    );
    take(
        &mut case.selected,
        place(settings.selected, &["selected.yaml"])?,
    );
    take(
        &mut case.sources,
        place(settings.sources, &["sources.yaml"])?,
    );
    // Neither has a default name: a profile beside a template may serve its real use. The nearest setting of either
    // counts.
    if case.profile.is_none() && case.profiles.is_none() {
        case.profile = place(settings.profile, &[])?;
        case.profiles = place(settings.profiles, &[])?;
    }
    if case.namespace_labels.is_none() {
        case.namespace_labels = settings.namespace_labels;
    }
    if folder == case.folder {
        case.description = settings.description;
    }
    if let Some(mut inputs) = settings.inputs {
        if let Some(nearer) = case.inputs.take() {
            merge(&mut inputs, nearer);
        }
        case.inputs = Some(inputs);
    }
    Ok(())
}

fn settings(folder: &Path, boundary: &Boundary) -> anyhow::Result<Settings> {
    let path = folder.join(SETTINGS);
    if !path.is_file() {
        return Ok(Settings::default());
    }
    let document = manifests::load_one(&path, boundary)?.map_err(|finding| finding.as_error())?;
    serde_json::from_value(document.value)
        .with_context(|| format!("{} cannot be used", path.display()))
}

/// Applies a JSON merge patch, but keeps nulls: the last merge takes them out.
pub(crate) fn merge(base: &mut Value, over: Value) {
    match (base, over) {
        (Value::Object(base), Value::Object(over)) => {
            for (key, value) in over {
                merge(base.entry(key).or_insert(Value::Null), value);
            }
        }
        (base, over) => *base = over,
    }
}

/// Applies a JSON merge patch: its nulls remove fields.
pub(crate) fn merge_patch(base: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *base = patch.clone();
        return;
    };
    if !base.is_object() {
        *base = Value::Object(serde_json::Map::new());
    }
    let Some(fields) = base.as_object_mut() else {
        return;
    };
    for (key, value) in patch {
        if value.is_null() {
            fields.remove(key);
        } else {
            merge_patch(fields.entry(key.clone()).or_insert(Value::Null), value);
        }
    }
}
