//! Texts of manifests, and the documents in them with the place of everything.

mod json;
mod kubectl;
mod node;
mod number;
mod refusal;
mod yaml;
pub(crate) mod ytt;

use std::{
    ops::Range,
    sync::{Arc, OnceLock},
};

use serde::de::DeserializeOwned;
use serde_json::Value;

pub use cartouche_language::{Segment, field_path};
pub use node::{Content, MapEntry, Node};
pub(crate) use number::as_json;
pub use refusal::Refusal;
use yaml::BYTE_ORDER_MARK;
use ytt::Ytt;

/// A text and its name.
#[derive(Debug)]
pub struct SourceText {
    /// Path of the file, or `<stdin>`.
    pub name: String,
    /// Without the byte order mark that it may begin with.
    pub text: String,
    is_marked: bool,
    /// Searched for once per file.
    ytt: OnceLock<Ytt>,
}

impl SourceText {
    /// Returns a text under a name.
    #[must_use]
    pub fn new(name: String, text: String) -> Arc<Self> {
        let unmarked = text.strip_prefix(BYTE_ORDER_MARK).map(str::to_owned);
        Arc::new(Self {
            name,
            is_marked: unmarked.is_some(),
            text: unmarked.unwrap_or(text),
            ytt: OnceLock::new(),
        })
    }

    /// Returns the same text with another name.
    #[must_use]
    pub fn with_name(&self, name: String) -> Arc<Self> {
        Arc::new(Self {
            name,
            text: self.text.clone(),
            is_marked: self.is_marked,
            ytt: OnceLock::new(),
        })
    }

    /// Returns the documents of the text, but for those that are null.
    pub fn nodes(&self) -> Result<Vec<Node>, Refusal> {
        kubectl::documents(&self.text, self.is_marked)
    }

    /// Returns the marks of ytt in all of the text.
    pub(crate) fn ytt(&self) -> Ytt {
        *self.ytt.get_or_init(|| Ytt::scan(&self.text))
    }
}

/// Some bytes of a text.
#[derive(Clone, Debug)]
pub struct SourceSpan {
    /// Text that it is in.
    pub source: Arc<SourceText>,
    /// Bytes of the text.
    pub span: Range<usize>,
}

impl SourceSpan {
    /// Returns line and column (in characters), both from 1.
    #[must_use]
    pub fn line_and_column(&self) -> (usize, usize) {
        let text = &self.source.text;
        let before = text
            .get(..self.span.start.min(text.len()))
            .unwrap_or_default();
        let line = before.rsplit('\n').next().unwrap_or_default();
        (before.matches('\n').count() + 1, line.chars().count() + 1)
    }

    /// Returns the text at the place.
    #[must_use]
    pub fn text(&self) -> &str {
        self.source.text.get(self.span.clone()).unwrap_or_default()
    }

    /// Returns true if values of a Secret may stand in the same line, as where a list is written as JSON in one.
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

    /// Returns `file:line:column`.
    #[must_use]
    pub fn describe(&self) -> String {
        let (line, column) = self.line_and_column();
        format!("{}:{line}:{column}", self.source.name)
    }
}

/// One object of a manifest.
#[derive(Clone, Debug)]
pub struct Document {
    /// Text that it is in.
    pub source: Arc<SourceText>,
    /// Object with the places of its keys and values.
    pub root: Node,
    /// The same as the API server holds it.
    pub value: Value,
}

impl Document {
    /// Returns the document of a node.
    #[must_use]
    pub fn new(source: &Arc<SourceText>, root: Node) -> Self {
        Self {
            source: Arc::clone(source),
            value: root.to_value(),
            root,
        }
    }

    /// Returns a field of the spec, or `None` if it is missing or cannot be read. The schema check reports the latter.
    #[must_use]
    pub fn field<T: DeserializeOwned>(&self, name: &str) -> Option<T> {
        let value = self.value.get("spec")?.get(name)?;
        let value = Some(value).filter(|value| !value.is_null())?;
        serde_json::from_value(value.clone()).ok()
    }

    /// Returns the place of some bytes of the text.
    #[must_use]
    pub fn place(&self, span: &Range<usize>) -> SourceSpan {
        SourceSpan {
            source: Arc::clone(&self.source),
            span: span.clone(),
        }
    }

    /// Returns the place of the value at the end of some keys, or of the whole object if there is none.
    #[must_use]
    pub fn place_of(&self, keys: &[&str]) -> SourceSpan {
        self.place(&self.root.at(keys).unwrap_or(&self.root).span)
    }

    /// Returns the place of the last key.
    #[must_use]
    pub fn place_of_key(&self, keys: &[&str]) -> SourceSpan {
        let key = keys
            .split_last()
            .and_then(|(key, above)| self.root.at(above)?.entry(key));
        self.place(key.map_or(&self.root.span, |entry| &entry.key_span))
    }

    /// Returns the place of the value at the end of some steps.
    #[must_use]
    pub fn place_at(&self, steps: &[Segment]) -> SourceSpan {
        self.place_below(&self.root, steps, false)
    }

    /// Returns the place of the value that some steps lead to from a node, or of the deepest part of the way that is
    /// there. It is the place of the key if the key is meant, or if the value spans several lines.
    #[must_use]
    pub fn place_below(&self, root: &Node, at: &[Segment], on_key: bool) -> SourceSpan {
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

    /// Returns `apiVersion`, or an empty text.
    #[must_use]
    pub fn api_version(&self) -> &str {
        self.text("/apiVersion")
    }

    /// Returns `kind`, or an empty text.
    #[must_use]
    pub fn kind(&self) -> &str {
        self.text("/kind")
    }

    /// Returns `metadata.name`, or an empty text.
    #[must_use]
    pub fn name(&self) -> &str {
        self.text("/metadata/name")
    }

    /// Returns `metadata.namespace`, or an empty text.
    #[must_use]
    pub fn namespace(&self) -> &str {
        self.text("/metadata/namespace")
    }

    /// Returns true if it is of the API group of Cartouche and of this kind.
    #[must_use]
    pub fn is_ours(&self, kind: &str) -> bool {
        self.api_version().split('/').next() == Some(cartouche_crds::GROUP) && self.kind() == kind
    }
}

/// Returns the documents of a text as the API server would hold them, or the reason why there are none. Used by the
/// test that compares with kubectl.
pub fn values(text: &str) -> Result<Vec<Value>, String> {
    let source = SourceText::new(String::new(), text.to_owned());
    let nodes = source.nodes().map_err(|refusal| refusal.message)?;
    Ok(nodes.iter().map(Node::to_value).collect())
}
