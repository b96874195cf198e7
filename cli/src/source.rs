//! Manifests: files, folders and standard input, with the place of everything in them.

mod boundary;
mod json;
mod kubectl;
mod node;
mod number;
mod refusal;
mod yaml;

use std::{
    io::Read as _,
    ops::Range,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};

use anyhow::{Context as _, bail};
use serde::de::DeserializeOwned;
use serde_json::Value;

pub(crate) use boundary::{Boundary, replace};
pub(crate) use cartouche_templating::{Segment, field_path as shown};
pub(crate) use node::{Content, MapEntry, Node};
pub(crate) use number::as_json;
use refusal::Refusal;

use crate::{
    finding::{Finding, Rule},
    unrendered::{self, Ytt},
};

/// Objects and arrays inside each other in a file. Templates allow fewer; this bounds the recursion.
const MAX_DEPTH: usize = 200;
/// The mark with which some editors begin a file.
const BYTE_ORDER_MARK: char = '\u{feff}';
/// The name of standard input on the command line.
pub(crate) const STANDARD_INPUT: &str = "-";

/// A text and its name.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) name: String,
    /// Without the byte order mark that it may begin with.
    pub(crate) text: String,
    is_marked: bool,
    /// Looked for once, whatever is asked of the file.
    ytt: OnceLock<Ytt>,
}

impl Source {
    fn new(name: String, text: String) -> Arc<Self> {
        let unmarked = text.strip_prefix(BYTE_ORDER_MARK).map(str::to_owned);
        Arc::new(Self {
            name,
            is_marked: unmarked.is_some(),
            text: unmarked.unwrap_or(text),
            ytt: OnceLock::new(),
        })
    }

    /// The same text by another name.
    pub(crate) fn renamed(&self, name: String) -> Arc<Self> {
        Arc::new(Self {
            name,
            text: self.text.clone(),
            is_marked: self.is_marked,
            ytt: OnceLock::new(),
        })
    }

    /// The marks of ytt in all of the text.
    pub(crate) fn ytt(&self) -> Ytt {
        *self.ytt.get_or_init(|| Ytt::of(&self.text))
    }
}

/// Some bytes of a text.
#[derive(Clone, Debug)]
pub(crate) struct SourceSpan {
    pub(crate) source: Arc<Source>,
    pub(crate) span: Range<usize>,
}

impl SourceSpan {
    /// Line and column (in characters), both from 1.
    pub(crate) fn line_and_column(&self) -> (usize, usize) {
        let text = &self.source.text;
        let before = text
            .get(..self.span.start.min(text.len()))
            .unwrap_or_default();
        let line = before.rsplit('\n').next().unwrap_or_default();
        (before.matches('\n').count() + 1, line.chars().count() + 1)
    }

    /// The text that stands there.
    pub(crate) fn text(&self) -> &str {
        self.source.text.get(self.span.clone()).unwrap_or_default()
    }

    /// True if values of a Secret may stand in the same line, as where a list is written as JSON in one.
    pub(crate) fn is_beside_secret(&self) -> bool {
        let (before, behind) = self
            .source
            .text
            .split_at_checked(self.span.start)
            .unwrap_or_default();
        let end = behind.find('\n').unwrap_or(behind.len());
        let begin = before.rfind('\n').map_or(0, |at| at + 1);
        let line = self.source.text.get(begin..before.len() + end);
        line.is_some_and(|line| line.contains("Secret") && line.contains("data"))
    }

    /// `file:line:column`.
    pub(crate) fn shown(&self) -> String {
        let (line, column) = self.line_and_column();
        format!("{}:{line}:{column}", self.source.name)
    }
}

/// One object of a manifest.
#[derive(Clone, Debug)]
pub(crate) struct Document {
    pub(crate) source: Arc<Source>,
    pub(crate) root: Node,
    /// The same as the API server holds it.
    pub(crate) value: Value,
}

impl Document {
    fn new(source: &Arc<Source>, root: Node) -> Self {
        Self {
            source: Arc::clone(source),
            value: root.to_value(),
            root,
        }
    }

    /// A field of its spec. `None` where it is not there, or cannot be read: what its schema says of that has another finding.
    pub(crate) fn field<T: DeserializeOwned>(&self, name: &str) -> Option<T> {
        let value = self.value.get("spec")?.get(name)?;
        let value = Some(value).filter(|value| !value.is_null())?;
        serde_json::from_value(value.clone()).ok()
    }

    pub(crate) fn place(&self, span: &Range<usize>) -> SourceSpan {
        SourceSpan {
            source: Arc::clone(&self.source),
            span: span.clone(),
        }
    }

    /// The place of what is at the end of some keys; of the whole where nothing is.
    pub(crate) fn place_of(&self, keys: &[&str]) -> SourceSpan {
        self.place(&self.root.at(keys).unwrap_or(&self.root).span)
    }

    /// The same of the last key.
    pub(crate) fn place_of_key(&self, keys: &[&str]) -> SourceSpan {
        let key = keys
            .split_last()
            .and_then(|(key, above)| self.root.at(above)?.entry(key));
        self.place(key.map_or(&self.root.span, |entry| &entry.key_span))
    }

    /// The place of what is at the end of some steps.
    pub(crate) fn place_at(&self, steps: &[Segment]) -> SourceSpan {
        self.place_below(&self.root, steps, false)
    }

    /// The place of what some steps lead to from one of its nodes, or of the deepest part of the way that is there: of its
    /// key where the key is meant, or where the value goes over several lines.
    pub(crate) fn place_below(&self, root: &Node, at: &[Segment], on_key: bool) -> SourceSpan {
        let (node, key, taken) = root.follow(at);
        let whole = taken == at.len();
        let long = !matches!(node.content, Content::Scalar(_));
        let span = match key {
            Some(key) if (on_key && whole) || long => key,
            _ if node.span.is_empty() => node.first_key().unwrap_or(&node.span),
            _ => &node.span,
        };
        self.place(span)
    }

    fn text(&self, pointer: &str) -> &str {
        self.value
            .pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_default()
    }

    pub(crate) fn api_version(&self) -> &str {
        self.text("/apiVersion")
    }

    pub(crate) fn kind(&self) -> &str {
        self.text("/kind")
    }

    pub(crate) fn name(&self) -> &str {
        self.text("/metadata/name")
    }

    pub(crate) fn namespace(&self) -> &str {
        self.text("/metadata/namespace")
    }

    /// True if it is of the API group of Cartouche and of this kind.
    pub(crate) fn is_ours(&self, kind: &str) -> bool {
        self.api_version().split('/').next() == Some(cartouche_crds::GROUP) && self.kind() == kind
    }
}

/// The documents and findings of what was read.
#[derive(Debug, Default)]
pub(crate) struct Loaded {
    pub(crate) documents: Vec<Document>,
    /// What could not be read as YAML.
    pub(crate) findings: Vec<Finding>,
}

/// Reads files, folders (all `.yaml`, `.yml` and `.json` below them) and `-`, standard input. Files of
/// a folder that hold no Kubernetes object are passed over; a file that is named has to hold some. Links in a folder lead
/// nowhere outside of its [`Boundary`].
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

/// A path as people write it.
fn shown_path(path: &Path) -> String {
    path.strip_prefix(".").unwrap_or(path).display().to_string()
}

/// A file of a folder that hides none of the others.
fn not_read(error: &anyhow::Error) -> Finding {
    Finding::error(Rule::Yaml, format!("{error:#}"))
        .help("correct the file, or take it out of the folder")
}

fn read(path: &Path) -> anyhow::Result<String> {
    std::fs::read_to_string(path).with_context(|| format!("{} cannot be read", path.display()))
}

/// The files by which a folder is a test of a template: the run that has to come out, why none may, settings.
pub(crate) const TEST_FILES: [&str; 3] = ["expected.yaml", "expected-error.txt", "case.yaml"];

/// The result that a test expects is no manifest, and what it is played with may repeat one.
fn is_test_case(folder: &Path) -> bool {
    TEST_FILES.iter().any(|file| folder.join(file).is_file())
}

/// The paths in a folder, sorted; hidden files and folders are left out.
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

/// The manifests below a folder, sorted. Test cases are left out.
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

/// One file of a test case: exactly one YAML document, of any kind.
pub(crate) fn load_one(
    path: &Path,
    boundary: &Boundary,
) -> anyhow::Result<Result<Document, Box<Finding>>> {
    boundary.check_found(path)?;
    let source = Source::new(shown_path(path), read(path)?);
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
        let source = Source::new(name.to_owned(), text);
        match parse(&source) {
            Ok(nodes) => {
                for node in nodes {
                    self.add_node(&source, node, must_be_objects);
                }
            }
            Err(finding) => self.findings.push(*finding),
        }
    }

    fn add_node(&mut self, source: &Arc<Source>, node: Node, must_be_objects: bool) {
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
                let finding = unrendered::explained(no_object(source, &node));
                self.findings.push(finding);
            }
            _ => {}
        }
    }
}

fn no_object(source: &Arc<Source>, node: &Node) -> Finding {
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
        format!("this is no Kubernetes object: {missing} {is} missing"),
    )
    .at(place)
    .help(
        "every object begins with its apiVersion and kind, such as carto.run/v1alpha1 and Runnable",
    )
}

fn parse(source: &Arc<Source>) -> Result<Vec<Node>, Box<Finding>> {
    kubectl::documents(&source.text, source.is_marked)
        .map_err(|refusal| Box::new(unreadable(source, refusal)))
}

fn unreadable(source: &Arc<Source>, refusal: Refusal) -> Finding {
    let message = format!("this is no valid YAML: {}", refusal.message);
    let place = SourceSpan {
        source: Arc::clone(source),
        span: refusal.span,
    };
    let finding = Finding::error(Rule::Yaml, message).at(place);
    unrendered::explained(finding.maybe_help(refusal.help.map(str::to_owned)))
}

/// The documents of a text as the API server would hold them, or why there are none: what the test asks that asks kubectl the
/// same.
pub(crate) fn values(text: &str) -> Result<Vec<Value>, String> {
    let source = Source::new(String::new(), text.to_owned());
    let nodes = kubectl::documents(&source.text, source.is_marked);
    let nodes = nodes.map_err(|refusal| refusal.message)?;
    Ok(nodes.iter().map(Node::to_value).collect())
}
