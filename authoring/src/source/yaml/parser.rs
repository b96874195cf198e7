//! Makes a tree of the words of a document. Aliases stay aliases in it.

mod collections;

use std::{collections::HashMap, ops::Range};

use super::{
    super::refusal::{MAX_DEPTH, Refusal},
    cursor::{Mark, between},
    scanner::Scanner,
    token::Word,
};

/// The number of a part of a tree.
pub(super) type PartId = usize;

/// The parts of a document.
#[derive(Debug)]
pub(super) struct Tree {
    parts: Vec<YamlPart>,
    pub(super) root: PartId,
}

/// A part of a document, and where it stands. Collections stand where they begin: those without brackets take no room
/// there.
#[derive(Debug)]
pub(super) struct YamlPart {
    pub(super) span: Range<usize>,
    pub(super) form: Form,
}

#[derive(Debug)]
pub(super) enum Form {
    Scalar(Scalar),
    Sequence(Vec<PartId>),
    Mapping(Vec<(PartId, PartId)>),
    Alias(PartId),
}

#[derive(Debug)]
pub(super) struct Scalar {
    pub(super) text: String,
    pub(super) tag: Option<String>,
    /// True if its type follows from its notation: it has no quotes and no tag but `!`.
    pub(super) is_implicit: bool,
}

impl Scalar {
    pub(super) fn is_plain(&self) -> bool {
        self.is_implicit && self.tag.is_none()
    }
}

impl Tree {
    pub(super) fn part(&self, id: PartId) -> Option<&YamlPart> {
        self.parts.get(id)
    }
}

/// Reads the document that begins at some byte of a text. Returns `None` if there is none.
pub(super) fn read(text: &str, start: usize) -> Result<Option<Tree>, Refusal> {
    let mut parser = YamlParser {
        scanner: Scanner::new(text, start),
        parts: Vec::new(),
        anchors: HashMap::new(),
        depth: 0,
    };
    parser.document()
}

/// Kind of place that a value stands at.
#[derive(Clone, Copy)]
enum ValuePlace {
    /// Within brackets.
    Flow,
    Block,
    /// Behind a key, where a list needs no indentation.
    Entry,
}

struct YamlParser<'a> {
    scanner: Scanner<'a>,
    parts: Vec<YamlPart>,
    anchors: HashMap<String, PartId>,
    depth: usize,
}

/// Properties before a value: its start, its anchor and its tag.
struct Properties {
    start: Mark,
    end: Mark,
    anchor: Option<String>,
    tag: Option<String>,
}

impl YamlParser<'_> {
    fn document(&mut self) -> Result<Option<Tree>, Refusal> {
        let root = match self.scanner.peek()?.word {
            Word::StreamEnd => return Ok(None),
            Word::DocumentStart => {
                let start = self.scanner.take()?;
                match self.scanner.peek()?.word {
                    Word::DocumentStart | Word::DocumentEnd | Word::StreamEnd => {
                        self.empty(between(start.start, start.end))
                    }
                    _ => self.node(ValuePlace::Block)?,
                }
            }
            _ => self.node(ValuePlace::Block)?,
        };
        self.document_end()?;
        let parts = std::mem::take(&mut self.parts);
        Ok(Some(Tree { parts, root }))
    }

    /// Refuses text behind the end of a document: kubectl ignores it, and taking it silently would lose it.
    fn document_end(&mut self) -> Result<(), Refusal> {
        let mut has_ended = false;
        loop {
            let span = match self.scanner.peek() {
                Ok(next) if next.word == Word::StreamEnd => return Ok(()),
                Ok(next) if next.word == Word::DocumentEnd => {
                    self.scanner.take()?;
                    has_ended = true;
                    continue;
                }
                Ok(next) => between(next.start, next.end),
                Err(refusal) if has_ended => refusal.span,
                Err(refusal) => return Err(refusal),
            };
            let message = "the document has ended before this, and kubectl reads nothing of it";
            return Err(Refusal::new(message, span)
                .help("write --- in a line of its own between two objects"));
        }
    }

    fn add(&mut self, span: Range<usize>, form: Form) -> PartId {
        self.parts.push(YamlPart { span, form });
        self.parts.len() - 1
    }

    /// Adds a null that is not written, at the place of the word before it.
    fn empty(&mut self, span: Range<usize>) -> PartId {
        let scalar = Scalar {
            text: String::new(),
            tag: None,
            is_implicit: true,
        };
        self.add(span, Form::Scalar(scalar))
    }

    fn node(&mut self, place: ValuePlace) -> Result<PartId, Refusal> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            let next = self.scanner.peek()?;
            return Err(Refusal::too_deep(between(next.start, next.end)));
        }
        let next = self.scanner.peek()?;
        let id = if let Word::Alias(name) = &next.word {
            let span = between(next.start, next.end);
            let Some(&target) = self.anchors.get(name) else {
                let message = format!("unknown anchor '{name}' referenced");
                return Err(Refusal::new(message, span));
            };
            self.scanner.take()?;
            self.add(span, Form::Alias(target))
        } else {
            let properties = self.properties()?;
            self.content(place, properties)?
        };
        self.depth -= 1;
        Ok(id)
    }

    fn properties(&mut self) -> Result<Properties, Refusal> {
        let start = self.scanner.peek()?.start;
        let mut properties = Properties {
            start,
            end: start,
            anchor: None,
            tag: None,
        };
        loop {
            let is_next = match self.scanner.peek()?.word {
                Word::Anchor(_) => properties.anchor.is_none(),
                Word::Tag { .. } => properties.tag.is_none(),
                _ => false,
            };
            if !is_next {
                return Ok(properties);
            }
            let token = self.scanner.take()?;
            properties.end = token.end;
            match token.word {
                Word::Anchor(name) => properties.anchor = Some(name),
                Word::Tag { handle, suffix } => {
                    let tag = match handle.as_str() {
                        "" => suffix,
                        "!" => format!("!{suffix}"),
                        "!!" => format!("tag:yaml.org,2002:{suffix}"),
                        _ => {
                            let span = between(token.start, token.end);
                            return Err(Refusal::new("found undefined tag handle", span));
                        }
                    };
                    properties.tag = Some(tag);
                }
                _ => {}
            }
        }
    }

    fn content(&mut self, place: ValuePlace, properties: Properties) -> Result<PartId, Refusal> {
        let next = self.scanner.peek()?;
        let span = between(next.start, next.end);
        let id = match (&next.word, place) {
            (Word::Scalar { .. }, _) => return self.scalar(properties),
            (Word::BlockEntry, ValuePlace::Entry) => {
                self.add(span.start..span.start, Form::Sequence(Vec::new()))
            }
            (Word::FlowSequenceStart, _)
            | (Word::BlockSequenceStart, ValuePlace::Block | ValuePlace::Entry) => {
                self.add(span, Form::Sequence(Vec::new()))
            }
            (Word::FlowMappingStart, _)
            | (Word::BlockMappingStart, ValuePlace::Block | ValuePlace::Entry) => {
                self.add(span, Form::Mapping(Vec::new()))
            }
            _ if properties.anchor.is_some() || properties.tag.is_some() => {
                return Ok(self.empty_with(properties));
            }
            _ => return Err(Refusal::new("did not find expected node content", span)),
        };
        // Noted before its contents are read, since these may refer to the whole.
        if let Some(name) = properties.anchor {
            self.anchors.insert(name, id);
        }
        let form = match &self.scanner.peek()?.word {
            Word::BlockEntry => Form::Sequence(self.list_without_indentation()?),
            Word::BlockSequenceStart => Form::Sequence(self.block_sequence()?),
            Word::BlockMappingStart => Form::Mapping(self.block_mapping()?),
            Word::FlowSequenceStart => Form::Sequence(self.flow_sequence()?),
            _ => Form::Mapping(self.flow_mapping()?),
        };
        if let Some(part) = self.parts.get_mut(id) {
            part.form = form;
        }
        Ok(id)
    }

    fn scalar(&mut self, properties: Properties) -> Result<PartId, Refusal> {
        let token = self.scanner.take()?;
        let span = between(token.start, token.end);
        let Word::Scalar { text, is_plain } = token.word else {
            return Err(Refusal::new("did not find expected node content", span));
        };
        let tag = properties.tag;
        let is_implicit = tag.as_deref().map_or(is_plain, |tag| tag == "!");
        let scalar = Scalar {
            text,
            tag,
            is_implicit,
        };
        let id = self.add(span, Form::Scalar(scalar));
        if let Some(name) = properties.anchor {
            self.anchors.insert(name, id);
        }
        Ok(id)
    }

    /// Adds a value that is only an anchor or a tag.
    fn empty_with(&mut self, properties: Properties) -> PartId {
        let scalar = Scalar {
            text: String::new(),
            is_implicit: properties.tag.is_none(),
            tag: properties.tag,
        };
        let span = between(properties.start, properties.end);
        let id = self.add(span, Form::Scalar(scalar));
        if let Some(name) = properties.anchor {
            self.anchors.insert(name, id);
        }
        id
    }
}
