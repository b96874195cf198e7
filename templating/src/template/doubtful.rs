//! Values that become part of a run, but hardly mean what their author meant.
//!
//! The run works, and may even succeed: only the value shows the error. The search happens when a run is made,
//! never when it is rendered. Most values are for their author alone to judge, so only those that are hardly ever
//! meant are reported.

use std::collections::HashSet;

use cartouche_language::{
    Segment,
    bounds::Work,
    json_text,
    path::{Path, shorten},
    tag::{Leaf, Piece},
};
use serde_json::Value;

use super::{CompiledRunner, Template, input, leading_steps};
use crate::context::Context;

/// Maximum number of values that are reported for one run.
const MOST: usize = 3;
/// Maximum bytes of a text that may be an unfilled placeholder.
const LONGEST: usize = 128;
/// Maximum number of texts in a list that are checked.
const INSIDE: usize = 64;
/// Words in the names of inputs that hold versions.
const VERSIONS: [&str; 5] = ["version", "tag", "release", "revision", "branch"];

/// A value that hardly means what its author meant. It shows nothing of the value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("$({path})$ {doubt}")]
pub struct DoubtfulValue {
    /// The path of the tag that reads it, cut if it is long.
    pub path: String,
    /// The reason, with its cure.
    pub doubt: Doubt,
}

/// Kind of a value that hardly means what its author meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Doubt {
    /// A number with one decimal in place of a version: YAML drops zeros at its end.
    #[error(
        "is a number where a version belongs, and YAML reads 1.10 as 1.1: write the version in quotes"
    )]
    Number,
    /// A text that is a placeholder of another tool.
    #[error(
        "gives ${{...}} or {{{{ ... }}}} unchanged, since Cartouche fills in no such name: if another tool should have done that, write the value"
    )]
    Unfilled,
    /// A reference to a Secret inside a text.
    #[error(
        "puts the name and key of a Secret into a text, and not its value: write valueFrom: {{secretKeyRef: $(...)$}}, or mount it"
    )]
    Reference,
}

impl Template {
    /// Returns the values of a completed context that hardly mean what their author meant: the first few, each
    /// path once.
    #[must_use]
    pub fn doubtful_values(&self, context: &Context) -> Vec<DoubtfulValue> {
        let mut leaves = Vec::new();
        self.body.leaves(&mut leaves);
        let of_runner = self.runner.iter().flat_map(CompiledRunner::bodies);
        of_runner.for_each(|body| body.leaves(&mut leaves));
        let secrets = context.secrets().keys().map(|name| input(name));
        let mut search = DoubtfulSearch {
            context,
            secrets: secrets.collect(),
            // A template that declares its inputs also declares which are numbers.
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

struct DoubtfulSearch<'a> {
    context: &'a Context,
    /// The steps to inputs that are references to Secrets.
    secrets: Vec<Vec<Segment>>,
    judges_numbers: bool,
    work: Work,
    /// Checked paths; the flags tell whether the tag is inside a text, and in place of a version.
    seen: HashSet<(&'a str, bool, bool)>,
    found: Vec<DoubtfulValue>,
}

impl<'a> DoubtfulSearch<'a> {
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

    /// Checks the value of a tag, with the text before it if it is inside a text.
    fn tag(&mut self, tag: &'a Path, before: Option<&str>) {
        let path = tag.raw();
        let is_version = before.is_some_and(|it| is_of_version(path, it));
        if self.found.len() == MOST || !self.seen.insert((path, before.is_some(), is_version)) {
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
            value => holds_unfilled(value).then_some(Doubt::Unfilled),
        };
        let path = shorten(path);
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

/// Returns true for the input of a version, and for the place of a version in a variable or an image name.
fn is_of_version(path: &str, before: &str) -> bool {
    let variable = before.strip_suffix('=').unwrap_or_default();
    let variable = variable.rsplit(|it: char| !it.is_ascii_alphanumeric() && it != '_');
    let is_word = !before.contains(|it: char| it.is_whitespace() || ",;\"'={}".contains(it));
    let follows = |ending: &str| {
        let word = before.strip_suffix(ending);
        word.is_some_and(|word| word.ends_with(|it: char| it.is_ascii_alphanumeric()))
    };
    names_a_version(last_key(path))
        || variable.take(1).any(names_a_version)
        || is_word && (follows(":") || follows("@"))
        || follows("==")
}

/// Returns the last key of a path, without an index.
fn last_key(path: &str) -> &str {
    let path = path.split('[').next().unwrap_or_default();
    path.rsplit('.').next().unwrap_or_default()
}

/// Returns true for a name whose last word means a version: `imageTag`, `GO_VERSION`, `versions`, but not `stage`.
fn names_a_version(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    let lower = lower.strip_suffix('s').unwrap_or(&lower);
    VERSIONS.into_iter().any(|word| {
        lower.strip_suffix(word).is_some_and(|before| {
            !before.ends_with(|it: char| it.is_ascii_alphabetic())
                || name[before.len()..].starts_with(|it: char| it.is_ascii_uppercase())
        })
    })
}

fn has_one_decimal(number: f64) -> bool {
    let text = json_text::float(number);
    let decimals = text.split_once('.').map_or("", |(_, decimals)| decimals);
    number > 0.0 && decimals.len() == 1
}

/// Returns true if a text, or one of the first texts in a list, is an unfilled placeholder.
fn holds_unfilled(value: &Value) -> bool {
    let is_unfilled = |value: &Value| value.as_str().is_some_and(is_unfilled);
    match value {
        Value::Array(items) => items.iter().take(INSIDE).any(is_unfilled),
        value => is_unfilled(value),
    }
}

/// Returns true for a text that is only `${NAME}`, with or without a default, or a value of Helm. A `v` or the
/// name of an image may precede it. A longer text may be a script, or a format.
fn is_unfilled(text: &str) -> bool {
    let Some(at) = text.find(['$', '{']).filter(|_| text.len() <= LONGEST) else {
        return false;
    };
    let (before, name) = text.split_at(at);
    let is_image = before.ends_with([':', '@']) && !before.contains(char::is_whitespace);
    if !(before.is_empty() || before == "v" || is_image) {
        return false;
    }
    let inside = |opening: &str, closing: &str| {
        let inside = name.strip_prefix(opening)?.strip_suffix(closing)?;
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
