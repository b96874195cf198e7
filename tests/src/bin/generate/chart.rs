//! The generated files of the Helm chart `charts/cartouche`.
//!
//! Rights, definitions and policies have one home, `config/`: the templates with them are written here. Files
//! that people write keep their text, except for the version, the schema of the flags and the table of values.

mod flags;
mod lines;
mod templates;
mod values;

use std::{
    io,
    path::{Path, PathBuf},
};

use serde_json::Value;

use crate::kustomization::{Files, fault};

const FOLDER: &str = "charts/cartouche";
/// Templates that people write.
const BY_HAND: [&str; 4] = [
    "NOTES.txt",
    "_names.tpl",
    "deployment.yaml",
    "extra-kinds.yaml",
];
const SCHEMA: &str = "charts/cartouche/values.schema.json";

/// Returns the generated files, each by its path from the root.
pub fn files(sources: &Files<'_>) -> io::Result<Vec<(PathBuf, String)>> {
    let folder = Path::new(FOLDER);
    let mut found = Vec::new();
    let templates = templates::all(sources)?;
    let known: Vec<&str> = templates.iter().map(|(name, _)| *name).collect();
    check_names(&sources.names(&folder.join("templates"))?, &known)?;
    for (name, text) in templates {
        found.push((folder.join("templates").join(name), text));
    }
    let definition = folder.join("Chart.yaml");
    let text = with_version(&sources.read(&definition)?);
    found.push((definition, text));

    let schema = with_flags(&sources.read(Path::new(SCHEMA))?)?;
    let written = sources.read(&folder.join("values.yaml"))?;
    let rows = values::rows(&written)?;
    values::check(&written, &rows, &schema)?;
    let schema = serde_json::to_string_pretty(&schema).map_err(io::Error::other)?;
    found.push((SCHEMA.into(), schema + "\n"));

    let page = folder.join("README.md");
    let text = values::with_table(&sources.read(&page)?, &rows)?;
    found.push((page, text));
    Ok(found)
}

/// Returns an error for a template that is neither generated nor written by hand: Helm would render it all the same.
fn check_names(present: &[String], generated: &[&str]) -> io::Result<()> {
    let is_known = |name: &str| generated.contains(&name) || BY_HAND.contains(&name);
    match present.iter().find(|name| !is_known(name)) {
        Some(name) => Err(fault(
            &Path::new(FOLDER).join("templates").join(name),
            "is not generated any more: delete it, or add it to BY_HAND in tests/src/bin/generate/chart.rs",
        )),
        None => Ok(()),
    }
}

/// Sets the version of the chart, which is that of the controller.
fn with_version(chart: &str) -> String {
    let version = env!("CARGO_PKG_VERSION");
    let line = |line: &str| match line.split_once(": ") {
        Some(("version", _)) => format!("version: {version}\n"),
        Some(("appVersion", _)) => format!("appVersion: \"{version}\"\n"),
        _ => format!("{line}\n"),
    };
    chart.lines().map(line).collect()
}

/// Sets the schema of the flags.
fn with_flags(schema: &str) -> io::Result<Value> {
    let path = Path::new(SCHEMA);
    let mut schema: Value =
        serde_json::from_str(schema).map_err(|error| fault(path, &error.to_string()))?;
    for (pointer, part) in [
        ("/properties/flags", flags::schema()?),
        ("/properties/identity/properties/mode", flags::identity()?),
    ] {
        let place = schema.pointer_mut(pointer);
        *place.ok_or_else(|| fault(path, &format!("has no {pointer}")))? = part;
    }
    Ok(schema)
}

#[cfg(test)]
mod tests {
    use super::{BY_HAND, check_names, with_version};

    #[test]
    fn a_template_that_is_not_generated_any_more_is_refused() {
        let mut present: Vec<String> = BY_HAND.map(str::to_owned).to_vec();
        present.push("crds.yaml".to_owned());
        check_names(&present, &["crds.yaml"]).unwrap();
        let error = check_names(&present, &["users.yaml"]).unwrap_err();
        assert!(error.to_string().contains("templates/crds.yaml"), "{error}");
    }

    #[test]
    fn both_versions_of_the_chart_are_set() {
        let version = env!("CARGO_PKG_VERSION");
        let chart = "name: a\nversion: 0.0.0\nappVersion: \"0\"\nkubeVersion: b\n";
        let expected =
            format!("name: a\nversion: {version}\nappVersion: \"{version}\"\nkubeVersion: b\n");
        assert_eq!(with_version(chart), expected);
    }
}
