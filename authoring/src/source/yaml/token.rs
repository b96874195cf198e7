//! The words of YAML.

use super::cursor::Mark;

/// A word, and where it stands.
#[derive(Debug)]
pub(super) struct Token {
    pub(super) word: Word,
    pub(super) start: Mark,
    pub(super) end: Mark,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Word {
    StreamEnd,
    DocumentStart,
    DocumentEnd,
    BlockSequenceStart,
    BlockMappingStart,
    BlockEnd,
    FlowSequenceStart,
    FlowSequenceEnd,
    FlowMappingStart,
    FlowMappingEnd,
    BlockEntry,
    FlowEntry,
    Key,
    Value,
    Alias(String),
    Anchor(String),
    Tag { handle: String, suffix: String },
    Scalar { text: String, is_plain: bool },
}
