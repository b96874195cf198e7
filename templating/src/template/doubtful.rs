//! Values that become part of a run, and hardly mean what their author meant.
//!
//! The run works, and may even succeed: only the value tells. These are looked for when a run is made, never when it is rendered.
//! Most of what a tag may give is for its author alone to judge, so that only what is hardly ever meant is reported.

use std::collections::HashSet;

use serde_json::Value;

use super::{CompiledRunner, Template, input, leading_steps};
use crate::{
    bounds::Work,
    context::Context,
    diagnostic::Segment,
    json_text,
    path::{Path, shown},
    tag::{Leaf, Piece},
};

/// Values that are reported of one run, at most.
const MOST: usize = 3;
/// Bytes of a text that may be a name that was to be filled in.
const LONGEST: usize = 128;
/// Values of a list or an object that are looked at, at most.
const INSIDE: usize = 256;
/// Words in the names of inputs that hold versions.
const VERSIONS: [&str; 5] = ["version", "tag", "release", "revision", "branch"];

/// A value that hardly means what its author meant. It shows nothing of the value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("$({path})$ {doubt}")]
pub struct DoubtfulValue {
    /// The path of the tag that reads it, cut if it is long.
    pub path: String,
    /// The reason, with what to do.
    pub doubt: Doubt,
}

/// Each kind of value that hardly means what its author meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Doubt {
    /// A number with one decimal where a version stands: YAML drops zeros at its end.
    #[error(
        "is a number where a version stands, and YAML reads 1.10 as 1.1: write the version in quotes"
    )]
    Number,
    /// A text that is a name for another tool to fill in.
    #[error(
        "gives a name in ${{}} or {{{{ }}}} that no tool has filled in, and Cartouche does not: write the value"
    )]
    Unfilled,
    /// A reference to a Secret inside a text.
    #[error(
        "puts the name and key of a Secret into a text, and never its value: write valueFrom: {{secretKeyRef: $(...)$}}, or mount it"
    )]
    Reference,
}

impl Template {
    /// The values of a completed context that hardly mean what their author meant: the first few, each path once.
    #[must_use]
    pub fn doubtful_values(&self, context: &Context) -> Vec<DoubtfulValue> {
        let mut leaves = Vec::new();
        self.body.leaves(&mut leaves);
        let of_runner = self.runner.iter().flat_map(CompiledRunner::bodies);
        of_runner.for_each(|body| body.leaves(&mut leaves));
        let secrets = context.secrets().keys().map(|name| input(name));
        let mut search = Search {
            context,
            secrets: secrets.collect(),
            // A template that declares its inputs says which are numbers.
            judges_numbers: self.inputs.is_none(),
            work: Work::new(),
            seen: HashSet::new(),
            found: Vec::new(),
        };
        for leaf in leaves {
            search.leaf(leaf);
        }
        search.found
    }
}

struct Search<'a> {
    context: &'a Context,
    /// The steps to inputs that are references to Secrets.
    secrets: Vec<Vec<Segment>>,
    judges_numbers: bool,
    work: Work,
    /// Paths with whether they stand where a version does: what was looked at.
    seen: HashSet<(&'a str, bool)>,
    found: Vec<DoubtfulValue>,
}

impl<'a> Search<'a> {
    fn leaf(&mut self, leaf: &'a Leaf) {
        match leaf {
            Leaf::Plain(_) | Leaf::Open(_) => {}
            Leaf::Value { tag, .. } => self.tag(tag, None),
            Leaf::Mixed(pieces) => {
                let mut before = "";
                for piece in pieces {
                    if let Piece::Tag(tag) = piece {
                        self.tag(tag, Some(before));
                    }
                    before = match piece {
                        Piece::Text(text) => text,
                        Piece::Tag(_) | Piece::Open(_) => "",
                    };
                }
            }
        }
    }

    /// Looks at what a tag gives; where it stands in a text, with what stands before it.
    fn tag(&mut self, tag: &'a Path, before: Option<&str>) {
        let path = tag.raw();
        let is_version = before.is_some_and(|it| is_of_version(path, it));
        if self.found.len() == MOST || !self.seen.insert((path, is_version)) {
            return;
        }
        let Ok(value) = self.context.find(tag, &mut self.work) else {
            return;
        };
        let doubt = match value {
            Value::Number(number) if self.judges_numbers && is_version => {
                let float = number.as_f64().filter(|_| number.is_f64());
                float
                    .filter(|it| has_one_decimal(*it))
                    .map(|_| Doubt::Number)
            }
            Value::Object(_) if before.is_some() && self.is_reference(path) => {
                Some(Doubt::Reference)
            }
            value => holds_unfilled(value, &mut INSIDE.clone()).then_some(Doubt::Unfilled),
        };
        let path = shown(path);
        if let Some(doubt) = doubt
            && !self
                .found
                .iter()
                .any(|it| it.path == path && it.doubt == doubt)
        {
            let path = path.into_owned();
            self.found.push(DoubtfulValue { path, doubt });
        }
    }

    fn is_reference(&self, path: &str) -> bool {
        !self.secrets.is_empty() && self.secrets.contains(&leading_steps(path))
    }
}

/// True for the input of a version, and for what stands where the names of images and files have one.
fn is_of_version(path: &str, before: &str) -> bool {
    let inputs = path.split_once("inputs").map_or("", |(_, below)| below);
    let variable = before.strip_suffix('=').unwrap_or_default();
    let variable = variable.rsplit(|it: char| !it.is_ascii_alphanumeric() && it != '_');
    let follows = |ending: &str, is: fn(char) -> bool| {
        let word = before.strip_suffix(ending);
        word.is_some_and(|word| word.ends_with(is))
    };
    names_a_version(inputs)
        || variable.take(1).any(names_a_version)
        || follows("-", |it| it.is_ascii_alphabetic())
        || [":", "@", "=="]
            .iter()
            .any(|ending| follows(ending, |it| it.is_ascii_alphanumeric()))
}

/// True of a name of several words of which one says it: `imageTag`, `GO_VERSION`, and not `stage`.
fn names_a_version(name: &str) -> bool {
    let bytes = name.as_bytes();
    let is_word = |word: &str| {
        name.to_ascii_lowercase()
            .match_indices(word)
            .any(|(at, _)| {
                let end = at + word.len();
                let begins = at == 0
                    || !bytes[at - 1].is_ascii_alphabetic()
                    || bytes[at].is_ascii_uppercase() && bytes[at - 1].is_ascii_lowercase();
                let rest = name[end..].strip_prefix('s').unwrap_or(&name[end..]);
                let ends = !rest.starts_with(|it: char| it.is_ascii_lowercase());
                begins && ends
            })
    };
    VERSIONS.into_iter().any(is_word)
}

fn has_one_decimal(number: f64) -> bool {
    let text = json_text::float(number);
    text.split_once('.')
        .is_some_and(|(_, decimals)| decimals.len() == 1)
}

/// Looks for such a name in a value that is shallow, and in so many values of it.
fn holds_unfilled(value: &Value, left: &mut usize) -> bool {
    *left = left.saturating_sub(1);
    match value {
        _ if *left == 0 => false,
        Value::String(text) => is_unfilled(text),
        Value::Array(items) => items.iter().any(|it| holds_unfilled(it, left)),
        Value::Object(fields) => fields.values().any(|it| holds_unfilled(it, left)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// True of a text that is nothing but `${NAME}`, with or without a default, or a value of Helm, and a `v` before it: a longer one may be
/// a script, or a format.
fn is_unfilled(text: &str) -> bool {
    if text.len() > LONGEST {
        return false;
    }
    let text = text.strip_prefix('v').unwrap_or(text);
    let inside = |opening: &str, closing: &str| {
        let inside = text.strip_prefix(opening)?.strip_suffix(closing)?;
        (!inside.contains(['{', '}', '$', '\n'])).then_some(inside)
    };
    let variable = inside("${", "}").map(|it| it.split([':', '=', '-']).next().unwrap_or_default());
    let is_variable = variable.is_some_and(|name| {
        name.starts_with(|it: char| it.is_ascii_alphabetic() || it == '_')
            && name
                .bytes()
                .all(|it| it.is_ascii_alphanumeric() || it == b'_')
    });
    let of_helm = inside("{{", "}}").map(|it| it.trim_start_matches(['-', ' ']));
    let roots = [".Values.", ".Release.", ".Chart."];
    is_variable || of_helm.is_some_and(|it| roots.iter().any(|root| it.starts_with(root)))
}

#[cfg(test)]
mod tests;
