//! A document with the place of every key and value.

use std::ops::Range;

use cartouche_language::Segment;
use serde_json::{Map, Value};

/// A value and the bytes that it stands on. Objects and arrays written over several lines stand where
/// their first entry does.
#[derive(Clone, Debug)]
pub struct Node {
    /// Bytes of the text.
    pub span: Range<usize>,
    /// Value with the places of its parts.
    pub content: Content,
    /// True if its type follows from its notation: it has neither quotes nor a tag.
    pub is_plain: bool,
}

/// Content of a node.
#[derive(Clone, Debug)]
pub enum Content {
    /// As the API server keeps it.
    Scalar(Value),
    /// List.
    Array(Vec<Node>),
    /// Map.
    Object(Vec<MapEntry>),
}

/// A key with its value, in the order of the file.
#[derive(Clone, Debug)]
pub struct MapEntry {
    /// As kubectl reads it.
    pub key: String,
    /// As it is written, if that is something else.
    pub written: Option<String>,
    /// Bytes of the key.
    pub key_span: Range<usize>,
    /// Value of the key.
    pub value: Node,
}

impl Node {
    pub(super) fn collection(span: Range<usize>, content: Content) -> Self {
        Self {
            span,
            content,
            is_plain: false,
        }
    }

    /// Returns the entries of a map; none for anything else.
    #[must_use]
    pub fn entries(&self) -> &[MapEntry] {
        match &self.content {
            Content::Object(entries) => entries,
            _ => &[],
        }
    }

    /// Returns the entry of a key.
    #[must_use]
    pub fn entry(&self, key: &str) -> Option<&MapEntry> {
        self.entries().iter().find(|entry| entry.key == key)
    }

    /// Returns the value of a key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.entry(key).map(|entry| &entry.value)
    }

    /// Returns the elements of a list; none for anything else.
    #[must_use]
    pub fn items(&self) -> &[Node] {
        match &self.content {
            Content::Array(items) => items,
            _ => &[],
        }
    }

    /// Returns the elements of the list at a key, or none if there is no such list.
    pub(crate) fn into_items_at(self, key: &str) -> Vec<Node> {
        let Content::Object(entries) = self.content else {
            return Vec::new();
        };
        let entry = entries.into_iter().find(|entry| entry.key == key);
        match entry.map(|entry| entry.value.content) {
            Some(Content::Array(items)) => items,
            _ => Vec::new(),
        }
    }

    /// Returns the text of a string.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        match &self.content {
            Content::Scalar(Value::String(text)) => Some(text),
            _ => None,
        }
    }

    /// Returns the node at the end of some keys.
    #[must_use]
    pub fn at(&self, keys: &[&str]) -> Option<&Node> {
        keys.iter().try_fold(self, |node, key| node.get(key))
    }

    /// Returns the place of the first key, or of the first element of a list.
    #[must_use]
    pub fn first_key(&self) -> Option<&Range<usize>> {
        match &self.content {
            Content::Object(entries) => entries.first().map(|entry| &entry.key_span),
            Content::Array(items) => items
                .first()
                .map(|item| item.first_key().unwrap_or(&item.span)),
            Content::Scalar(_) => None,
        }
    }

    /// Returns the value that the API server holds after this was applied.
    #[must_use]
    pub fn to_value(&self) -> Value {
        match &self.content {
            Content::Scalar(value) => value.clone(),
            Content::Array(items) => items.iter().map(Node::to_value).collect(),
            Content::Object(entries) => {
                let fields = entries
                    .iter()
                    .map(|entry| (entry.key.clone(), entry.value.to_value()));
                Value::Object(fields.collect::<Map<_, _>>())
            }
        }
    }

    /// Returns the node that some steps lead to, or the deepest one on the way, and the steps taken.
    #[must_use]
    pub fn follow(&self, steps: &[Segment]) -> (&Node, Option<&Range<usize>>, usize) {
        let (mut node, mut key, mut taken) = (self, None, 0);
        for step in steps {
            let next = match step {
                Segment::Key(name) => node
                    .entry(name)
                    .map(|entry| (&entry.value, Some(&entry.key_span))),
                Segment::Index(index) => node.items().get(*index).map(|item| (item, None)),
            };
            let Some((below, below_key)) = next else {
                break;
            };
            (node, key, taken) = (below, below_key, taken + 1);
        }
        (node, key, taken)
    }
}
