//! A parsed schema.

use std::{collections::BTreeMap, sync::Arc};

use regex::Regex;
use serde_json::{Number, Value};

/// The permitted values of a schema.
#[derive(Clone, Debug, Default)]
pub(crate) struct SchemaNode {
    pub(crate) kind: SchemaType,
    pub(crate) nullable: bool,
    pub(crate) description: String,
    pub(crate) default: Option<Value>,
    pub(crate) properties: BTreeMap<String, SchemaNode>,
    pub(crate) others: Others,
    pub(crate) required: Vec<String>,
    pub(crate) items: Option<Box<SchemaNode>>,
    pub(crate) limits: Limits,
    pub(crate) all_of: Vec<SchemaNode>,
    pub(crate) any_of: Vec<SchemaNode>,
    pub(crate) one_of: Vec<SchemaNode>,
    pub(crate) not: Option<Box<SchemaNode>>,
}

/// The type of a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SchemaType {
    /// Any value: `x-kubernetes-preserve-unknown-fields`, or a part of a combination such as `anyOf`.
    #[default]
    Any,
    /// `object`.
    Object,
    /// `array`.
    Array,
    /// `string`.
    String,
    /// `integer`.
    Integer,
    /// `number`.
    Number,
    /// `boolean`.
    Boolean,
    /// `x-kubernetes-int-or-string`.
    IntOrString,
}

/// The undeclared members of an object.
#[derive(Clone, Debug, Default)]
pub(crate) enum Others {
    /// They may have any value.
    #[default]
    Open,
    /// None are permitted.
    Closed,
    /// Each must fit this schema.
    Each(Box<SchemaNode>),
}

/// Limits of a value of the right type.
#[derive(Clone, Debug, Default)]
pub(crate) struct Limits {
    pub(crate) allowed: Option<Arc<[Value]>>,
    pub(crate) pattern: Option<Regex>,
    pub(crate) format: Option<String>,
    pub(crate) minimum: Option<Number>,
    pub(crate) maximum: Option<Number>,
    pub(crate) exclusive_minimum: bool,
    pub(crate) exclusive_maximum: bool,
    pub(crate) multiple_of: Option<f64>,
    pub(crate) min_length: Option<u64>,
    pub(crate) max_length: Option<u64>,
    pub(crate) min_items: Option<u64>,
    pub(crate) max_items: Option<u64>,
    pub(crate) unique_items: bool,
    pub(crate) min_properties: Option<u64>,
    pub(crate) max_properties: Option<u64>,
}

impl SchemaType {
    pub(crate) const NAMED: [(&'static str, Self); 6] = [
        ("object", Self::Object),
        ("array", Self::Array),
        ("string", Self::String),
        ("integer", Self::Integer),
        ("number", Self::Number),
        ("boolean", Self::Boolean),
    ];

    /// Returns the type with this name in a schema.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        let named = Self::NAMED.iter().find(|(known, _)| *known == name);
        named.map(|(_, kind)| *kind)
    }

    /// Returns the name of the type in a schema.
    pub(crate) fn name(self) -> &'static str {
        let named = Self::NAMED.iter().find(|(_, kind)| *kind == self);
        named.map_or("", |(name, _)| name)
    }

    /// Returns the name of the type with its article, for messages.
    pub(crate) fn with_article(self) -> &'static str {
        match self {
            Self::Any => "anything",
            Self::Object => "an object",
            Self::Array => "an array",
            Self::String => "a string",
            Self::Integer => "an integer",
            Self::Number => "a number",
            Self::Boolean => "a boolean",
            Self::IntOrString => "an integer or a string",
        }
    }
}
