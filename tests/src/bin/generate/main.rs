//! `cargo generate`: writes the files that derive from the code.
//!
//! - `config/crd/*.yaml`: the definitions that are installed on a cluster;
//! - `docs/reference/api.md`: the reference of every field;
//! - `docs/reference/diagnoses.md`: what can be wrong with a Runnable, and what to do;
//! - tables in `docs/reference`, between markers: flags, labels and annotations, metrics, reasons;
//! - `dist/install.yaml`: the objects of `config/default` in one file;
//! - `charts/cartouche`: templates of the Helm chart from `config/`, the schema of its values and their table.
//!
//! With `--check` it writes nothing and fails if a file differs from what it is made from. A template of the chart
//! that is neither generated nor written by hand is always an error.

mod api_reference;
mod chart;
mod diagnoses;
mod flags;
mod install_file;
mod keys;
mod kustomization;
mod manifest;
mod metrics;
mod page;
mod reasons;

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::ExitCode,
};

use page::Block;
use serde_json::Value;

/// Function from a page to its generated blocks.
type MakeBlocks = fn(&str) -> io::Result<Vec<Block>>;

/// Pages in `docs/reference` with generated blocks.
const PAGES: [(&str, MakeBlocks); 4] = [
    ("flags.md", |_| Ok(flags::blocks())),
    ("labels-and-annotations.md", |_| Ok(keys::blocks())),
    ("metrics.md", |_| Ok(metrics::blocks())),
    ("reasons.md", reasons::blocks),
];

/// A file and its expected text.
struct Generated {
    path: PathBuf,
    text: String,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => generated().and_then(|files| write(&files)),
        ["--check"] => generated().and_then(|files| check(&files)),
        _ => Err(io::Error::other(
            "unknown arguments\nusage: cargo generate [--check]",
        )),
    };
    match outcome {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

fn generated() -> io::Result<Vec<Generated>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let plain = |definition| io::Result::Ok(manifest::plain(serde_json::to_value(definition)?));
    let templates = plain(cartouche_crds::cluster_run_template())?;
    let definitions = [
        plain(cartouche_crds::runnable())?,
        templates,
        plain(cartouche_crds::cluster_run_profile())?,
    ];
    let mut files = Vec::new();
    for definition in &definitions {
        files.push(Generated {
            path: root
                .join("config/crd")
                .join(manifest::file_name(definition)),
            text: manifest::yaml(definition)?,
        });
    }
    files.push(Generated {
        path: root.join("docs/reference/api.md"),
        text: api_reference::markdown(&definitions),
    });
    files.push(Generated {
        path: root.join("docs/reference/diagnoses.md"),
        text: diagnoses::markdown(),
    });
    files.extend(of_manifests(&root, &files)?);
    for (name, blocks) in PAGES {
        files.push(with_blocks(root.join("docs/reference").join(name), blocks)?);
    }
    Ok(files)
}

/// Returns the page with these blocks between its markers.
fn with_blocks(path: PathBuf, blocks: MakeBlocks) -> io::Result<Generated> {
    let page = fs::read_to_string(&path).map_err(|e| at(&path, &e))?;
    let text = blocks(&page).and_then(|blocks| page::fill(&page, &blocks));
    let text = text.map_err(|e| at(&path, &e))?;
    Ok(Generated { path, text })
}

/// Returns the files that derive from `config/`, of which `definitions` are about to be written.
fn of_manifests(root: &Path, definitions: &[Generated]) -> io::Result<Vec<Generated>> {
    let files = kustomization::Files::new(root, definitions);
    let mut found = vec![Generated {
        path: root.join("dist/install.yaml"),
        text: install_file::yaml(&files)?,
    }];
    for (path, text) in chart::files(&files)? {
        found.push(Generated {
            path: root.join(path),
            text,
        });
    }
    Ok(found)
}

fn write(files: &[Generated]) -> io::Result<ExitCode> {
    for file in files {
        if let Some(folder) = file.path.parent() {
            fs::create_dir_all(folder).map_err(|e| at(folder, &e))?;
        }
        fs::write(&file.path, &file.text).map_err(|e| at(&file.path, &e))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn check(files: &[Generated]) -> io::Result<ExitCode> {
    let mut differs = false;
    for file in files {
        let present = match fs::read_to_string(&file.path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(at(&file.path, &error)),
        };
        if present != file.text {
            differs = true;
            eprintln!("{} is not what it is generated from", shown(&file.path));
        }
    }
    if differs {
        eprintln!("run `cargo generate` and commit the result");
        return Ok(ExitCode::FAILURE);
    }
    Ok(ExitCode::SUCCESS)
}

fn at(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", shown(path)))
}

/// Returns the path from the root of the repository.
fn shown(path: &Path) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let path = path.strip_prefix(root).unwrap_or(path);
    path.display().to_string()
}

/// Returns the text at `pointer`, or an empty one.
fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
}
