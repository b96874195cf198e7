//! Limits on the size of a template, its context and its rendered document, and on the work for a path.
//!
//! Every limit is checked before the recursion or the allocation that it bounds: a stack overflow ends the
//! process, while an error only ends the reconciliation of one Runnable.

use std::io;

use cartouche_crds::stored_bytes;
use serde_json::Value;

use crate::weight::{in_mib, weight};

const MIB: usize = 1024 * 1024;

/// Maximum [weight](weight()) of one object, and of all that one reconciliation holds beside its rendered
/// document.
pub const MAX_WEIGHT: usize = 16 * MIB;
/// Maximum weight of a template, and of a rendered document.
pub const MAX_RENDERED_WEIGHT: usize = 8 * MIB;
/// Maximum weight of all outputs of a run.
pub const MAX_OUTPUTS_WEIGHT: usize = MIB;
/// Maximum weight of all failure outputs together.
pub const MAX_FAILURE_WEIGHT: usize = MIB / 4;
/// Maximum weight of a light value: many of these may be held at the same time.
pub const LIGHT: usize = MIB;
/// Maximum bytes of a template as compact JSON.
pub const MAX_TEMPLATE_BYTES: usize = 256 * 1024;
/// Maximum bytes of a profile's settings for runs, as compact JSON.
pub const MAX_PROFILE_BYTES: usize = 256 * 1024;
/// Maximum bytes of a template's context, as compact JSON.
pub const MAX_CONTEXT_BYTES: usize = 1024 * 1024;
/// Maximum bytes of a rendered document as compact JSON.
pub const MAX_RENDERED_BYTES: usize = 512 * 1024;
/// Maximum nesting of objects and arrays in a template, a context, a rendered document or an output.
pub const MAX_DEPTH: usize = 64;
/// Maximum number of leaves in a template or a rendered document: values other than objects and arrays, and empty
/// ones.
pub const MAX_LEAVES: usize = 20_000;
/// Maximum number of tags in a template.
pub const MAX_TAGS: usize = 1_000;
/// Maximum bytes of one path.
pub const MAX_PATH_BYTES: usize = 1024;
/// Maximum nesting of filters, unions and quoted keys: `[?(@['a','b'])]` needs three.
pub(crate) const MAX_NESTING: usize = 3;
/// Maximum number of outputs of one template.
pub const MAX_OUTPUTS: usize = 64;
/// Maximum bytes of one output in the API server's store.
pub const MAX_OUTPUT_BYTES: usize = 64 * 1024;
/// Maximum bytes of all outputs of a run in the API server's store.
pub const MAX_OUTPUTS_BYTES: usize = 256 * 1024;
/// Maximum bytes of all failure outputs together in the API server's store.
pub const MAX_FAILURE_BYTES: usize = 16 * 1024;
/// Maximum bytes of an input schema as compact JSON.
pub const MAX_INPUT_SCHEMA_BYTES: usize = 64 * 1024;
/// Maximum bytes that the defaults of a schema may add to the inputs of a Runnable.
pub const MAX_DEFAULTED_BYTES: usize = 256 * 1024;
/// Maximum number of diagnostics that are collected for one Runnable's inputs.
pub(crate) const MAX_MISFITS: usize = 100;
/// Maximum length of a pattern in an input schema, in bytes.
pub(crate) const MAX_PATTERN_BYTES: usize = 1024;
/// Maximum bytes of a compiled pattern.
pub(crate) const MAX_COMPILED_BYTES: usize = 256 * 1024;
/// Maximum number of nodes that one path may visit.
pub(crate) const MAX_PATH_VISITS: usize = 100_000;
/// Maximum number of nodes that all paths of one rendering (or of one reading of outputs) may visit.
pub const MAX_RENDER_VISITS: usize = 1_000_000;

/// Counter of the nodes that paths visit. A count, unlike a clock, gives every machine the same result.
#[derive(Debug)]
pub struct Work {
    in_all: usize,
    this_path: usize,
}

/// The budget of visits is used up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Exhausted {
    /// The budget of one path.
    #[error("the path visits more than {MAX_PATH_VISITS} nodes: make it more specific")]
    Path,
    /// The budget of all paths of a rendering.
    #[error(
        "the paths together visit more than {MAX_RENDER_VISITS} nodes: make them more specific"
    )]
    Render,
}

impl Default for Work {
    fn default() -> Self {
        Self::new()
    }
}

impl Work {
    /// The whole budget.
    #[must_use]
    pub fn new() -> Self {
        Self {
            in_all: MAX_RENDER_VISITS,
            this_path: 0,
        }
    }

    pub(crate) fn start_path(&mut self) {
        self.this_path = MAX_PATH_VISITS;
    }

    pub(crate) fn spend(&mut self, visits: usize) -> Result<(), Exhausted> {
        self.this_path = self.this_path.checked_sub(visits).ok_or(Exhausted::Path)?;
        self.in_all = self.in_all.checked_sub(visits).ok_or(Exhausted::Render)?;
        Ok(())
    }
}

/// Returns the message for a value that is too heavy, or `None`.
#[must_use]
pub fn too_heavy(value: &Value, most: usize) -> Option<String> {
    let weight = weight(value);
    (weight > most).then(|| takes(weight, most))
}

/// Formats the message for an excess weight.
#[must_use]
pub fn takes(weight: usize, most: usize) -> String {
    format!(
        "takes {} of memory as a tree of values, more than {}",
        in_mib(weight),
        in_mib(most)
    )
}

/// Returns true if at most [`MAX_DEPTH`] objects and arrays are nested. Does not recurse deeper itself.
#[must_use]
pub fn is_shallow(value: &Value) -> bool {
    fn within(value: &Value, room: usize) -> bool {
        match value {
            Value::Array(items) => room > 0 && items.iter().all(|item| within(item, room - 1)),
            Value::Object(map) => room > 0 && map.values().all(|item| within(item, room - 1)),
            _ => true,
        }
    }
    within(value, MAX_DEPTH)
}

/// Counts leaves. Only for values that are shallow.
#[must_use]
pub fn leaves(value: &Value) -> usize {
    match value {
        Value::Array(items) if !items.is_empty() => items.iter().map(leaves).sum(),
        Value::Object(map) if !map.is_empty() => map.values().map(leaves).sum(),
        _ => 1,
    }
}

/// Returns the length of the value as compact JSON, or `None` above the limit (in which case the rest is skipped).
/// Only for values that are shallow.
#[must_use]
pub fn json_bytes_within(value: &Value, limit: usize) -> Option<usize> {
    bytes_within(value, limit, <[u8]>::len)
}

/// Returns the length of the value in the API server's store, or `None` above the limit.
#[must_use]
pub fn stored_bytes_within(value: &Value, limit: usize) -> Option<usize> {
    bytes_within(value, limit, stored_bytes)
}

fn bytes_within(value: &Value, limit: usize, count: fn(&[u8]) -> usize) -> Option<usize> {
    let mut counter = Counter {
        bytes: 0,
        limit,
        count,
    };
    serde_json::to_writer(&mut counter, value).ok()?;
    Some(counter.bytes)
}

struct Counter {
    bytes: usize,
    limit: usize,
    count: fn(&[u8]) -> usize,
}

impl io::Write for Counter {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        self.bytes = self.bytes.saturating_add((self.count)(text));
        if self.bytes > self.limit {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn nested(levels: usize) -> Value {
        (0..levels).fold(json!(1), |inner, _| Value::Array(vec![inner]))
    }

    #[test]
    fn sixty_four_levels_are_shallow_and_one_more_is_not() {
        assert!(is_shallow(&nested(MAX_DEPTH)));
        assert!(!is_shallow(&nested(MAX_DEPTH + 1)));
    }

    #[test]
    fn a_document_of_thousands_of_levels_is_refused_without_following_it() {
        assert!(!is_shallow(&nested(3_000)));
    }

    #[test]
    fn empty_containers_count_as_leaves() {
        assert_eq!(
            leaves(&json!({"a": [], "b": {}, "c": [1, 2, {"d": null}]})),
            5
        );
    }

    #[test]
    fn the_length_is_that_of_compact_json() {
        let value = json!({"a": "é\n", "b": [1, 2.5]});
        let text = value.to_string();
        assert_eq!(json_bytes_within(&value, text.len()), Some(text.len()));
        assert_eq!(json_bytes_within(&value, text.len() - 1), None);
    }

    #[test]
    fn what_the_store_escapes_counts_as_it_stands_there() {
        let value = json!({ "a<": ["&", "\u{2028}", "é"] });
        let text = value.to_string();
        assert_eq!(json_bytes_within(&value, text.len()), Some(text.len()));
        let stored = text.len() + 2 * 5 + 3;
        assert_eq!(stored_bytes_within(&value, stored), Some(stored));
        assert_eq!(stored_bytes_within(&value, stored - 1), None);
    }

    #[test]
    fn one_path_may_not_use_the_whole_budget() {
        let mut work = Work::new();
        work.start_path();
        assert_eq!(work.spend(MAX_PATH_VISITS), Ok(()));
        assert_eq!(work.spend(1), Err(Exhausted::Path));
    }

    #[test]
    fn many_paths_share_one_budget() {
        let mut work = Work::new();
        for _ in 0..MAX_RENDER_VISITS / MAX_PATH_VISITS {
            work.start_path();
            assert_eq!(work.spend(MAX_PATH_VISITS), Ok(()));
        }
        work.start_path();
        assert_eq!(work.spend(1), Err(Exhausted::Render));
    }
}
