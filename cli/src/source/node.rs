//! YAML with the place of every key and value.

use std::{fmt, ops::Range};

use cartouche_templating::Segment;
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use serde_saphyr::{Location, Spanned};

use super::key::as_kubectl_reads;

/// A value and the bytes that it stands on. Objects and arrays written over several lines stand where
/// their first entry does.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) span: Range<usize>,
    pub(crate) content: Content,
}

#[derive(Clone, Debug)]
pub(crate) enum Content {
    Scalar(Value),
    Array(Vec<Node>),
    Object(Vec<MapEntry>),
}

/// A key with its value, in the order of the file.
#[derive(Clone, Debug)]
pub(crate) struct MapEntry {
    /// As kubectl reads it.
    pub(crate) key: String,
    /// As it is written, if that is something else.
    pub(crate) written: Option<String>,
    pub(crate) key_span: Range<usize>,
    pub(crate) value: Node,
}

impl Node {
    pub(crate) fn entries(&self) -> &[MapEntry] {
        match &self.content {
            Content::Object(entries) => entries,
            _ => &[],
        }
    }

    pub(crate) fn entry(&self, key: &str) -> Option<&MapEntry> {
        self.entries().iter().find(|entry| entry.key == key)
    }

    pub(crate) fn get(&self, key: &str) -> Option<&Node> {
        self.entry(key).map(|entry| &entry.value)
    }

    pub(crate) fn items(&self) -> &[Node] {
        match &self.content {
            Content::Array(items) => items,
            _ => &[],
        }
    }

    pub(crate) fn text(&self) -> Option<&str> {
        match &self.content {
            Content::Scalar(Value::String(text)) => Some(text),
            _ => None,
        }
    }

    /// The node at the end of some keys.
    pub(crate) fn at(&self, keys: &[&str]) -> Option<&Node> {
        keys.iter().try_fold(self, |node, key| node.get(key))
    }

    /// Where its first key is, or the first element of a list.
    pub(crate) fn first_key(&self) -> Option<&Range<usize>> {
        match &self.content {
            Content::Object(entries) => entries.first().map(|entry| &entry.key_span),
            Content::Array(items) => items
                .first()
                .map(|item| item.first_key().unwrap_or(&item.span)),
            Content::Scalar(_) => None,
        }
    }

    /// What the API server holds after this was applied: an integral float is an integer there.
    pub(crate) fn to_value(&self) -> Value {
        match &self.content {
            Content::Scalar(Value::Number(number)) => Value::Number(as_stored(number)),
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

    /// The node that some steps lead to, or the deepest one on the way, and the steps taken.
    pub(crate) fn follow(&self, steps: &[Segment]) -> (&Node, Option<&Range<usize>>, usize) {
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

/// `1.0` and `1e2` come back from the API server as integers.
fn as_stored(number: &Number) -> Number {
    let integral = number.as_f64().filter(|float| {
        number.as_i64().is_none()
            && number.as_u64().is_none()
            && float.fract() == 0.0
            && float.abs() < 2f64.powi(63)
    });
    // The range was checked, and there is no fraction to lose.
    #[expect(clippy::cast_possible_truncation)]
    integral.map_or_else(|| number.clone(), |float| Number::from(float as i64))
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let spanned = Spanned::<Bare>::deserialize(deserializer)?;
        Ok(Self {
            span: bytes(&spanned.referenced),
            content: spanned.value.0,
        })
    }
}

fn bytes(location: &Location) -> Range<usize> {
    let span = location.span();
    let number = |value: Option<u64>| {
        value
            .and_then(|value| usize::try_from(value).ok())
            .unwrap_or_default()
    };
    let start = number(span.byte_offset());
    start..start + number(span.byte_len())
}

/// What stands at a place.
struct Bare(Content);

impl<'de> Deserialize<'de> for Bare {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyContent).map(Self)
    }
}

struct AnyContent;

impl<'de> Visitor<'de> for AnyContent {
    type Value = Content;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("YAML")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Content, E> {
        Ok(Content::Scalar(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Content, E> {
        Ok(Content::Scalar(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Content, E> {
        Ok(Content::Scalar(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Content, E> {
        Ok(Content::Scalar(value.into()))
    }

    fn visit_str<E>(self, value: &str) -> Result<Content, E> {
        Ok(Content::Scalar(value.into()))
    }

    fn visit_unit<E>(self) -> Result<Content, E> {
        Ok(Content::Scalar(Value::Null))
    }

    fn visit_none<E>(self) -> Result<Content, E> {
        Ok(Content::Scalar(Value::Null))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Content, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = access.next_element()? {
            items.push(item);
        }
        Ok(Content::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Content, A::Error> {
        let mut entries = Vec::new();
        while let Some(key) = access.next_key::<Spanned<String>>()? {
            let key_span = bytes(&key.referenced);
            // Quotes, an anchor or a tag would take more room than the key.
            let is_plain = key_span.len() == key.value.len();
            let read = is_plain.then(|| as_kubectl_reads(&key.value)).flatten();
            let (key, written) = match read {
                Some(read) => (read, Some(key.value)),
                None => (key.value, None),
            };
            entries.push(MapEntry {
                key,
                written,
                key_span,
                value: access.next_value()?,
            });
        }
        Ok(Content::Object(entries))
    }
}
