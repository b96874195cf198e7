//! Marks of ytt in a text.

/// Beginning of everything that ytt reads. For YAML it is a comment.
pub(crate) const YTT: &str = "#@";

/// The places of marks of ytt in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ytt {
    Nowhere,
    Somewhere,
    /// At the start of a line.
    AtLineStart,
}

impl Ytt {
    pub(crate) fn scan(text: &str) -> Self {
        if text.lines().any(begins_with_ytt) {
            Self::AtLineStart
        } else if text.contains(YTT) {
            Self::Somewhere
        } else {
            Self::Nowhere
        }
    }
}

/// Returns true if a line begins with such a mark.
pub(crate) fn begins_with_ytt(line: &str) -> bool {
    line.trim_start().starts_with(YTT)
}
