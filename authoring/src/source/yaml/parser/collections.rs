//! Lists and objects, with and without brackets.

use std::ops::Range;

use super::{
    super::{super::refusal::Refusal, cursor::between, token::Word},
    Form, PartId, ValuePlace, YamlParser,
};

impl YamlParser<'_> {
    fn is_next(&mut self, words: &[Word]) -> Result<bool, Refusal> {
        let next = self.scanner.peek()?;
        Ok(words.contains(&next.word))
    }

    /// Skips a word if it is next, and returns its place.
    fn took(&mut self, word: &Word) -> Result<Option<Range<usize>>, Refusal> {
        if self.scanner.peek()?.word != *word {
            return Ok(None);
        }
        let token = self.scanner.take()?;
        Ok(Some(between(token.start, token.end)))
    }

    fn refuse_next<T>(&mut self, message: &str) -> Result<T, Refusal> {
        let next = self.scanner.peek()?;
        Err(Refusal::new(message, between(next.start, next.end)))
    }

    /// Reads a value, or null at a place if one of these words follows.
    fn value_unless(
        &mut self,
        words: &[Word],
        at: Range<usize>,
        place: ValuePlace,
    ) -> Result<PartId, Refusal> {
        if self.is_next(words)? {
            return Ok(self.empty(at));
        }
        self.node(place)
    }

    pub(super) fn block_sequence(&mut self) -> Result<Vec<PartId>, Refusal> {
        const ENDS: [Word; 2] = [Word::BlockEntry, Word::BlockEnd];
        self.scanner.take()?;
        let mut items = Vec::new();
        while let Some(at) = self.took(&Word::BlockEntry)? {
            items.push(self.value_unless(&ENDS, at, ValuePlace::Block)?);
        }
        match self.took(&Word::BlockEnd)? {
            Some(_) => Ok(items),
            None => self.refuse_next("did not find expected '-' indicator"),
        }
    }

    /// Reads a list whose dashes stand in the column of the key.
    pub(super) fn list_without_indentation(&mut self) -> Result<Vec<PartId>, Refusal> {
        const ENDS: [Word; 4] = [Word::BlockEntry, Word::Key, Word::Value, Word::BlockEnd];
        let mut items = Vec::new();
        while let Some(at) = self.took(&Word::BlockEntry)? {
            items.push(self.value_unless(&ENDS, at, ValuePlace::Block)?);
        }
        Ok(items)
    }

    pub(super) fn block_mapping(&mut self) -> Result<Vec<(PartId, PartId)>, Refusal> {
        const ENDS: [Word; 3] = [Word::Key, Word::Value, Word::BlockEnd];
        self.scanner.take()?;
        let mut entries = Vec::new();
        while let Some(at) = self.took(&Word::Key)? {
            let key = self.value_unless(&ENDS, at, ValuePlace::Entry)?;
            let value = match self.took(&Word::Value)? {
                Some(at) => self.value_unless(&ENDS, at, ValuePlace::Entry)?,
                None => self.empty_here()?,
            };
            entries.push((key, value));
        }
        match self.took(&Word::BlockEnd)? {
            Some(_) => Ok(entries),
            None => self.refuse_next("did not find expected key"),
        }
    }

    fn empty_here(&mut self) -> Result<PartId, Refusal> {
        let at = self.scanner.peek()?.start;
        Ok(self.empty(between(at, at)))
    }

    pub(super) fn flow_sequence(&mut self) -> Result<Vec<PartId>, Refusal> {
        self.scanner.take()?;
        let mut items = Vec::new();
        while !self.is_next(&[Word::FlowSequenceEnd])? {
            if !items.is_empty() && self.took(&Word::FlowEntry)?.is_none() {
                return self.refuse_next("did not find expected ',' or ']'");
            }
            if self.is_next(&[Word::Key])? {
                items.push(self.pair()?);
            } else if !self.is_next(&[Word::FlowSequenceEnd])? {
                items.push(self.node(ValuePlace::Flow)?);
            }
        }
        self.scanner.take()?;
        Ok(items)
    }

    /// Reads an object of one key, as an element of a list in brackets.
    fn pair(&mut self) -> Result<PartId, Refusal> {
        const ENDS: [Word; 2] = [Word::FlowEntry, Word::FlowSequenceEnd];
        let start = self.scanner.take()?;
        let span = between(start.start, start.end);
        let pair = self.add(span, Form::Mapping(Vec::new()));
        let is_empty = self.is_next(&ENDS)? || self.is_next(&[Word::Value])?;
        let key = if is_empty {
            // go-yaml skips any word here.
            let over = self.scanner.take()?;
            self.empty(between(over.start, over.end))
        } else {
            self.node(ValuePlace::Flow)?
        };
        let value = match self.took(&Word::Value)? {
            Some(at) => self.value_unless(&ENDS, at, ValuePlace::Flow)?,
            None => self.empty_here()?,
        };
        if let Some(part) = self.parts.get_mut(pair) {
            part.form = Form::Mapping(vec![(key, value)]);
        }
        Ok(pair)
    }

    pub(super) fn flow_mapping(&mut self) -> Result<Vec<(PartId, PartId)>, Refusal> {
        const ENDS: [Word; 2] = [Word::FlowEntry, Word::FlowMappingEnd];
        self.scanner.take()?;
        let mut entries = Vec::new();
        while !self.is_next(&[Word::FlowMappingEnd])? {
            if !entries.is_empty() && self.took(&Word::FlowEntry)?.is_none() {
                return self.refuse_next("did not find expected ',' or '}'");
            }
            if let Some(at) = self.took(&Word::Key)? {
                let key = if self.is_next(&[Word::Value])? {
                    self.empty(at)
                } else {
                    self.value_unless(&ENDS, at, ValuePlace::Flow)?
                };
                let value = match self.took(&Word::Value)? {
                    Some(at) => self.value_unless(&ENDS, at, ValuePlace::Flow)?,
                    None => self.empty_here()?,
                };
                entries.push((key, value));
            } else if !self.is_next(&[Word::FlowMappingEnd])? {
                let key = self.node(ValuePlace::Flow)?;
                entries.push((key, self.empty_here()?));
            }
        }
        self.scanner.take()?;
        Ok(entries)
    }
}
