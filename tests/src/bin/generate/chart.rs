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
const SCHEMA: &str = "charts/cartouche/values.schema.json";

/// Returns the generated files, each by its path from the root.
pub fn files(sources: &Files<'_>) -> io::Result<Vec<(PathBuf, String)>> {
    let folder = Path::new(FOLDER);
    let mut found = Vec::new();
    for (name, text) in templates::all(sources)? {
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
    use super::with_version;

    #[test]
    fn both_versions_of_the_chart_are_set() {
        let version = env!("CARGO_PKG_VERSION");
        let chart = "name: a\nversion: 0.0.0\nappVersion: \"0\"\nkubeVersion: b\n";
        let expected =
            format!("name: a\nversion: {version}\nappVersion: \"{version}\"\nkubeVersion: b\n");
        assert_eq!(with_version(chart), expected);
    }
}
