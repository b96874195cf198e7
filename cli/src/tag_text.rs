//! Where the tags of a text are. What they mean is for `cartouche-templating` to say; this only finds
//! them again, by the same rule, to point at them.

use std::ops::Range;

const START: &str = "$(";
const END: &str = ")$";
const QUOTED_START: &str = "$('";
const QUOTED_END: &str = "')$";

/// A tag in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tag {
    /// The path between the markers.
    pub(crate) path: String,
    /// The bytes of the text, markers included.
    pub(crate) span: Range<usize>,
    /// Whether it is the whole text, so that it keeps the type of its value.
    pub(crate) alone: bool,
}

/// The tags of a text, from left to right.
pub(crate) fn tags(text: &str) -> Vec<Tag> {
    if let Some(path) = only_tag(text) {
        return vec![Tag {
            path: path.to_owned(),
            span: 0..text.len(),
            alone: true,
        }];
    }
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(start) = text
        .get(at..)
        .and_then(|rest| rest.find(START))
        .map(|offset| at + offset)
    {
        let from = text.get(start..).unwrap_or_default();
        if let Some(end) = quoted_end(from) {
            at = start + end;
            continue;
        }
        let inner = start + START.len();
        let Some(end) = text.get(inner..).and_then(|rest| rest.find(END)) else {
            break;
        };
        let path = text.get(inner..inner + end).unwrap_or_default();
        if path.contains(START) {
            at = inner;
            continue;
        }
        at = inner + end + END.len();
        found.push(Tag {
            path: path.to_owned(),
            span: start..at,
            alone: false,
        });
    }
    found
}

fn only_tag(text: &str) -> Option<&str> {
    let inner = text.strip_prefix(START)?;
    if quoted_end(text).is_some() || inner.contains(START) {
        return None;
    }
    inner.strip_suffix(END)
}

/// The length of the quoted text that a text begins with.
fn quoted_end(text: &str) -> Option<usize> {
    let (content, _) = text.strip_prefix(QUOTED_START)?.split_once(QUOTED_END)?;
    Some(QUOTED_START.len() + content.len() + QUOTED_END.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(text: &str) -> Vec<String> {
        tags(text).into_iter().map(|tag| tag.path).collect()
    }

    #[test]
    fn a_tag_that_is_the_whole_text_is_alone() {
        let tags = tags("$(a.b)$");
        assert_eq!(tags.len(), 1);
        assert!(tags[0].alone);
        assert_eq!(tags[0].path, "a.b");
    }

    #[test]
    fn tags_inside_a_text_are_found_with_their_places() {
        let text = "x$(a)$-$(b)$";
        let found = tags(text);
        let cut: Vec<_> = found.iter().map(|tag| &text[tag.span.clone()]).collect();
        assert_eq!(cut, ["$(a)$", "$(b)$"]);
        assert!(found.iter().all(|tag| !tag.alone));
    }

    #[test]
    fn what_no_tag_closes_is_text() {
        assert_eq!(paths("$(params.a) and $(b)$"), ["b"]);
        assert_eq!(paths("$(date) $((1+2))"), Vec::<String>::new());
    }

    #[test]
    fn quoted_text_is_no_tag() {
        assert_eq!(paths("$('$(')$ $(a)$"), ["a"]);
    }

    #[test]
    fn a_single_tag_goes_on_to_the_last_marker() {
        assert_eq!(paths("$(a)$)$"), ["a)$"]);
    }
}
