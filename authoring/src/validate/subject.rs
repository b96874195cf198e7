//! The Runnable that a finding about a template is for.

use super::shape;
use crate::{
    inputs_from::place_of_input,
    source::{Document, Segment, SourceSpan},
};

/// Returns the place of a part of the Runnable, or of its name if that part is missing.
pub(super) fn place(runnable: &Document, at: &[Segment]) -> SourceSpan {
    if let Some(place) = place_of_input(runnable, at) {
        return place;
    }
    let (_, _, taken) = runnable.root.follow(at);
    if at.is_empty() || taken < at.len() {
        return runnable.place_of(&["metadata", "name"]);
    }
    shape::place(runnable, &runnable.root, at, true)
}
