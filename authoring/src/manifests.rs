//! Manifests as they are read: of files, of folders and of standard input. No other room reads or writes files.

mod boundary;

use std::{
    io::Read as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::{Context as _, bail};

pub(crate) use boundary::remove;
pub use boundary::{Boundary, replace};

use crate::{
    finding::{Finding, Rule},
    source::{Document, Node, Refusal, SourceSpan, SourceText},
    unrendered,
};

/// The name of standard input on the command line.
pub const STANDARD_INPUT: &str = "-";

/// The documents and findings of files that were read.
#[derive(Debug, Default)]
pub(crate) struct Loaded {
    pub(crate) documents: Vec<Document>,
    /// Findings about files that are no valid YAML.
    pub(crate) findings: Vec<Finding>,
}

/// Reads files, folders (all `.yaml`, `.yml` and `.json` below them) and `-`, standard input. Files of a folder that
/// hold no Kubernetes object are passed over; a file that is named has to hold some. Links in a folder lead nowhere
/// outside of its [`Boundary`].
pub(crate) fn load(paths: &[PathBuf]) -> anyhow::Result<Loaded> {
    let mut loaded = Loaded::default();
    for path in paths {
        if path.as_os_str() == STANDARD_INPUT {
            let mut text = String::new();
            std::io::stdin()
                .read_to_string(&mut text)
                .context("standard input cannot be read")?;
            loaded.add("<stdin>", text, true);
        } else if path.is_dir() {
            for file in files_below(path, &Boundary::around(path)?)? {
                match read(&file) {
                    Ok(text) => loaded.add(&shown_path(&file), text, false),
                    Err(error) => loaded.findings.push(not_read(&error)),
                }
            }
        } else {
            loaded.add(&shown_path(path), read(path)?, true);
        }
    }
    Ok(loaded)
}

/// Returns a path as people write it.
fn shown_path(path: &Path) -> String {
    path.strip_prefix(".").unwrap_or(path).display().to_string()
}

/// Returns the finding about an unreadable file of a folder, so that it hides none of the others.
fn not_read(error: &anyhow::Error) -> Finding {
    Finding::error(Rule::Yaml, format!("{error:#}"))
        .help("correct the file, or remove it from the folder")
}

/// Returns the text of a file.
pub(crate) fn read(path: &Path) -> anyhow::Result<String> {
    std::fs::read_to_string(path).with_context(|| format!("{} cannot be read", path.display()))
}

/// The files by which a folder is a test of a template: the run that has to come out, why none may, settings.
pub(crate) const TEST_FILES: [&str; 3] = ["expected.yaml", "expected-error.txt", "case.yaml"];

/// Returns true for a test case: its expected result is no manifest, and its inputs may repeat one.
fn is_test_case(folder: &Path) -> bool {
    TEST_FILES.iter().any(|file| folder.join(file).is_file())
}

/// Returns the paths in a folder, sorted; hidden files and folders are left out.
pub(crate) fn entries(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let unreadable = || format!("the folder {} cannot be read", folder.display());
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder).with_context(unreadable)? {
        let entry = entry.with_context(unreadable)?;
        if !entry.file_name().to_string_lossy().starts_with('.') {
            paths.push(entry.path());
        }
    }
    paths.sort();
    Ok(paths)
}

/// Returns the manifests below a folder, sorted. Test cases are left out.
fn files_below(folder: &Path, boundary: &Boundary) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for path in entries(folder)? {
        let extension = path
            .extension()
            .map(|it| it.to_string_lossy().to_lowercase());
        if path.is_dir() {
            if boundary.enters(&path)? && !is_test_case(&path) {
                files.extend(files_below(&path, boundary)?);
            }
        } else if matches!(extension.as_deref(), Some("yaml" | "yml" | "json")) {
            boundary.check_link(&path)?;
            files.push(path);
        }
    }
    Ok(files)
}

/// Loads one file of a test case: exactly one YAML document, of any kind.
pub(crate) fn load_one(
    path: &Path,
    boundary: &Boundary,
) -> anyhow::Result<Result<Document, Box<Finding>>> {
    boundary.check_found(path)?;
    let source = SourceText::new(shown_path(path), read(path)?);
    let mut nodes = match parse(&source) {
        Ok(nodes) => nodes,
        Err(finding) => return Ok(Err(finding)),
    };
    match (nodes.pop(), nodes.pop()) {
        (Some(node), None) => Ok(Ok(Document::new(&source, node))),
        (None, _) => bail!("{} is empty", source.name),
        (Some(_), Some(_)) => bail!("{} holds more than one document", source.name),
    }
}

impl Loaded {
    fn add(&mut self, name: &str, text: String, must_be_objects: bool) {
        let source = SourceText::new(name.to_owned(), text);
        match parse(&source) {
            Ok(nodes) => {
                for node in nodes {
                    self.add_node(&source, node, must_be_objects);
                }
            }
            Err(finding) => self.findings.push(*finding),
        }
    }

    fn add_node(&mut self, source: &Arc<SourceText>, node: Node, must_be_objects: bool) {
        let text = |key: &str| node.get(key).and_then(Node::text);
        match (text("apiVersion"), text("kind")) {
            (Some(_), Some("List"))
                if !node
                    .at(&["items"])
                    .is_none_or(|items| items.items().is_empty()) =>
            {
                for item in node.into_items_at("items") {
                    self.add_node(source, item, true);
                }
            }
            (Some(_), Some(_)) => self.documents.push(Document::new(source, node)),
            _ if must_be_objects => {
                let finding = unrendered::name_generator(no_object(source, &node));
                self.findings.push(finding);
            }
            _ => {}
        }
    }
}

fn no_object(source: &Arc<SourceText>, node: &Node) -> Finding {
    let missing = ["apiVersion", "kind"]
        .into_iter()
        .filter(|key| node.get(key).and_then(Node::text).is_none())
        .collect::<Vec<_>>();
    let is = if missing.len() == 1 { "is" } else { "are" };
    let missing = missing.join(" and ");
    let place = SourceSpan {
        source: Arc::clone(source),
        span: node.span.clone(),
    };
    Finding::error(
        Rule::Manifest,
        format!("this is not a Kubernetes object: {missing} {is} missing"),
    )
    .at(place)
    .help(
        "every object begins with its apiVersion and kind, such as carto.run/v1alpha1 and Runnable",
    )
}

fn parse(source: &Arc<SourceText>) -> Result<Vec<Node>, Box<Finding>> {
    source
        .nodes()
        .map_err(|refusal| Box::new(unreadable(source, refusal)))
}

fn unreadable(source: &Arc<SourceText>, refusal: Refusal) -> Finding {
    let message = format!("this is not valid YAML: {}", refusal.message);
    let place = SourceSpan {
        source: Arc::clone(source),
        span: refusal.span,
    };
    let finding = Finding::error(Rule::Yaml, message).at(place);
    unrendered::name_generator(finding.maybe_help(refusal.help.map(str::to_owned)))
}
