//! The inputs that a template takes: a structural `OpenAPI` v3 schema, as in a `CustomResourceDefinition`.
//!
//! Missing inputs get their defaults before anything is rendered, and what does not fit makes no run.
//! The keywords are those of Kubernetes. Two things differ, for the sake of those who write inputs:
//! an input that no property describes is refused only where `additionalProperties: false` says so,
//! instead of being taken away in silence; and a null that the schema neither allows nor replaces by
//! a default is an error.
//!
//! No reference is followed, nothing is fetched, regular expressions need linear time, and what
//! defaults may add is bounded.

mod breach;
mod compile;
mod defaults;
mod fit;
mod format;
mod type_cure;

use std::{collections::BTreeMap, sync::Arc};

use regex::Regex;
use serde_json::{Number, Value};

use crate::{
    bounds::{self, MAX_INPUT_SCHEMA_BYTES},
    diagnostic::{Diagnostic, DiagnosticKind, Diagnostics, Root, SegmentRef, kept},
};
pub use breach::{NumberLimit, count_breach};
pub use format::{fits_format, matches_pattern};
pub use type_cure::TypeCure;

/// The field of the template that holds the schema.
const FIELD: &str = "inputSchema";
/// Where inputs are, as a template reads them.
const INPUTS: [SegmentRef<'static>; 3] = [
    SegmentRef::Key("runnable"),
    SegmentRef::Key("spec"),
    SegmentRef::Key("inputs"),
];

/// A schema of inputs that can be used.
#[derive(Clone, Debug)]
pub(crate) struct InputSchema {
    root: SchemaNode,
}

/// What a value may be.
#[derive(Clone, Debug, Default)]
struct SchemaNode {
    kind: SchemaType,
    nullable: bool,
    description: String,
    default: Option<Value>,
    properties: BTreeMap<String, SchemaNode>,
    others: Others,
    required: Vec<String>,
    items: Option<Box<SchemaNode>>,
    limits: Limits,
    all_of: Vec<SchemaNode>,
    any_of: Vec<SchemaNode>,
    one_of: Vec<SchemaNode>,
    not: Option<Box<SchemaNode>>,
}

/// The type of a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SchemaType {
    /// Anything: `x-kubernetes-preserve-unknown-fields`, or a part of a combination such as `anyOf`.
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

/// The members of an object that no property describes.
#[derive(Clone, Debug, Default)]
enum Others {
    /// They may be anything.
    #[default]
    Open,
    /// There may be none.
    Closed,
    /// Each fits this.
    Each(Box<SchemaNode>),
}

/// What a value of the right type must keep to.
#[derive(Clone, Debug, Default)]
struct Limits {
    allowed: Option<Arc<[Value]>>,
    pattern: Option<Regex>,
    format: Option<String>,
    minimum: Option<Number>,
    maximum: Option<Number>,
    exclusive_minimum: bool,
    exclusive_maximum: bool,
    multiple_of: Option<f64>,
    min_length: Option<u64>,
    max_length: Option<u64>,
    min_items: Option<u64>,
    max_items: Option<u64>,
    unique_items: bool,
    min_properties: Option<u64>,
    max_properties: Option<u64>,
}

impl InputSchema {
    /// Finds everything that is wrong with a schema: what no structural schema has, what cannot be
    /// read, defaults that do not fit.
    pub(crate) fn compile(schema: &Value, problems: &mut Vec<Diagnostic>) -> Option<Self> {
        let refused = if !bounds::is_shallow(schema) {
            Some(DiagnosticKind::too_deep())
        } else if bounds::json_bytes_within(schema, MAX_INPUT_SCHEMA_BYTES).is_none() {
            let message = format!("it is larger than {MAX_INPUT_SCHEMA_BYTES} bytes");
            Some(DiagnosticKind::Limit(message))
        } else {
            None
        };
        if let Some(kind) = refused {
            problems.push(Diagnostic::in_spec(FIELD, kind));
            return None;
        }
        let root = compile::root(schema, problems);
        problems.extend(compile::misfits(&root));
        // What could not be read of it lets everything pass, so that the rest can be checked.
        Some(Self { root })
    }

    /// The inputs with what the schema adds; `None` when it adds nothing. Fails with everything that
    /// does not fit.
    pub(crate) fn complete(&self, inputs: Option<&Value>) -> Result<Option<Value>, Diagnostics> {
        let (completed, added, problems) = self.fill(inputs);
        Diagnostics::check(problems)?;
        Ok((added > 0).then_some(completed))
    }

    /// The inputs with what the schema adds, whether or not they fit, and everything that does not.
    pub(crate) fn attempt(&self, inputs: Option<&Value>) -> (Value, Vec<Diagnostic>) {
        let (completed, _, problems) = self.fill(inputs);
        (completed, problems)
    }

    /// The completed inputs, how many values were added, and what does not fit.
    fn fill(&self, inputs: Option<&Value>) -> (Value, usize, Vec<Diagnostic>) {
        let given = inputs.filter(|inputs| !inputs.is_null());
        let mut completed = given
            .cloned()
            .unwrap_or_else(|| Value::Object(serde_json::Map::new()));
        match defaults::add(&self.root, &mut completed) {
            Err(error) => {
                let problem = Diagnostic::new(Root::Context, kept(&INPUTS), error);
                (completed, 0, vec![problem])
            }
            Ok(added) => {
                let problems = fit::problems(&self.root, &completed, &INPUTS);
                (completed, added, problems)
            }
        }
    }
}

impl SchemaType {
    const NAMED: [(&'static str, Self); 6] = [
        ("object", Self::Object),
        ("array", Self::Array),
        ("string", Self::String),
        ("integer", Self::Integer),
        ("number", Self::Number),
        ("boolean", Self::Boolean),
    ];

    /// The type that a schema calls so.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let named = Self::NAMED.iter().find(|(known, _)| *known == name);
        named.map(|(_, kind)| *kind)
    }

    /// As a schema has it.
    fn name(self) -> &'static str {
        let named = Self::NAMED.iter().find(|(_, kind)| *kind == self);
        named.map_or("", |(name, _)| name)
    }

    /// As people say it.
    fn with_article(self) -> &'static str {
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

#[cfg(test)]
mod tests;
