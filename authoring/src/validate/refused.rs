//! Parts of an object that the API server refuses regardless of its schema.

use crate::{
    finding::{Finding, Rule},
    source::{Document, Node, Segment},
};

/// A part of an object that is not allowed.
pub(super) struct Refused {
    pub(super) at: Vec<Segment>,
    pub(super) rule: Rule,
    pub(super) because: String,
    pub(super) help: String,
}

impl Refused {
    /// Returns the finding about it, at its place in the object.
    pub(super) fn finding(&self, document: &Document, object: &Node) -> Finding {
        let (node, key, _) = object.follow(&self.at);
        let span = key.filter(|_| node.text().is_none()).unwrap_or(&node.span);
        Finding::error(self.rule, self.because.clone())
            .at(document.place(span))
            .label("the API server refuses this")
            .help(self.help.clone())
    }
}
