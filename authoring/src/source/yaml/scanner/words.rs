//! Finds the next word.

use super::{
    super::{super::refusal::Refusal, token::Word},
    NONE, Scanner,
};

impl Scanner<'_> {
    /// Reads the next word, and with it the ends of the blocks before it.
    pub(super) fn fetch(&mut self) -> Result<(), Refusal> {
        self.skip_to_word();
        self.end_blocks(self.cursor.mark.column);
        let is_followed = self.cursor.is_space_at(1);
        let in_flow = self.flow_level > 0;
        match self.cursor.peek() {
            0 => self.stream_end(),
            b'%' if self.cursor.mark.column == 0 => self.refuse("found a directive"),
            b'-' if self.cursor.is_at_document() => self.document(Word::DocumentStart),
            b'.' if self.cursor.is_at_document() => self.document(Word::DocumentEnd),
            b'[' => self.flow_start(Word::FlowSequenceStart),
            b'{' => self.flow_start(Word::FlowMappingStart),
            b']' => self.flow_end(Word::FlowSequenceEnd),
            b'}' => self.flow_end(Word::FlowMappingEnd),
            b',' => self.flow_entry(),
            b'-' if is_followed => self.block_entry(),
            b'?' if in_flow || is_followed => self.key(),
            b':' if in_flow || is_followed => self.value(),
            b'*' => self.name(Word::Alias),
            b'&' => self.name(Word::Anchor),
            b'!' => self.tag(),
            b'|' if !in_flow => self.block_scalar(true),
            b'>' if !in_flow => self.block_scalar(false),
            b'\'' => self.quoted_scalar(true),
            b'"' => self.quoted_scalar(false),
            b'\t' => self.refuse("found a tab where only blanks may indent"),
            _ if self.begins_plain_scalar() => self.plain_scalar(),
            _ => self.refuse("found character that cannot start any token"),
        }
    }

    fn begins_plain_scalar(&self) -> bool {
        match self.cursor.peek() {
            b'-' => !matches!(self.cursor.ahead(1), b' ' | b'\t'),
            b'?' | b':' => self.flow_level == 0 && !self.cursor.is_space_at(1),
            b'#' | b'|' | b'>' | b'%' | b'@' | b'`' => false,
            _ => !self.cursor.is_space(),
        }
    }

    /// Skips blanks, comments and line breaks. A tab is a blank only where no key may begin.
    fn skip_to_word(&mut self) {
        loop {
            let allows_tabs = self.flow_level > 0 || !self.may_begin_key;
            self.cursor
                .skip_while(|it| it.peek() == b' ' || allows_tabs && it.peek() == b'\t');
            self.skip_comment();
            if !self.cursor.is_break() {
                return;
            }
            self.cursor.skip_break();
            if self.flow_level == 0 {
                self.may_begin_key = true;
            }
        }
    }

    /// Skips a comment, if one is next, up to the end of its line.
    pub(super) fn skip_comment(&mut self) {
        if self.cursor.peek() == b'#' {
            self.cursor.skip_while(|it| !it.is_break_or_end());
        }
    }

    fn stream_end(&mut self) -> Result<(), Refusal> {
        if self.cursor.mark.column != 0 {
            self.cursor.mark.column = 0;
            self.cursor.mark.line += 1;
        }
        self.outermost(Word::StreamEnd, 0)
    }

    fn document(&mut self, word: Word) -> Result<(), Refusal> {
        self.outermost(word, 3)
    }

    /// Adds a word of this many characters that ends all blocks.
    fn outermost(&mut self, word: Word, characters: usize) -> Result<(), Refusal> {
        self.end_blocks(NONE);
        self.forget_possible_key()?;
        self.may_begin_key = false;
        self.push_indicator(word, characters);
        Ok(())
    }

    fn flow_start(&mut self, word: Word) -> Result<(), Refusal> {
        self.save_possible_key()?;
        self.open_flow();
        self.may_begin_key = true;
        self.push_indicator(word, 1);
        Ok(())
    }

    fn flow_end(&mut self, word: Word) -> Result<(), Refusal> {
        self.forget_possible_key()?;
        self.close_flow();
        self.may_begin_key = false;
        self.push_indicator(word, 1);
        Ok(())
    }

    fn flow_entry(&mut self) -> Result<(), Refusal> {
        self.forget_possible_key()?;
        self.may_begin_key = true;
        self.push_indicator(Word::FlowEntry, 1);
        Ok(())
    }

    /// Reads the `-` before an element. Within brackets the parser refuses it, since it knows what is expected there.
    fn block_entry(&mut self) -> Result<(), Refusal> {
        let block = Word::BlockSequenceStart;
        self.begin_block_here(
            block,
            "block sequence entries are not allowed in this context",
        )?;
        self.forget_possible_key()?;
        self.may_begin_key = true;
        self.push_indicator(Word::BlockEntry, 1);
        Ok(())
    }

    /// Reads the `?` before a key.
    fn key(&mut self) -> Result<(), Refusal> {
        let block = Word::BlockMappingStart;
        self.begin_block_here(block, "mapping keys are not allowed in this context")?;
        self.forget_possible_key()?;
        self.may_begin_key = self.flow_level == 0;
        self.push_indicator(Word::Key, 1);
        Ok(())
    }

    /// Reads the `:` behind a key. A possible key before it becomes one.
    fn value(&mut self) -> Result<(), Refusal> {
        let level = self.possible_keys.len().saturating_sub(1);
        if self.refresh_possible_key(level)? {
            let key = self.possible_keys.get(level).copied().unwrap_or_default();
            self.insert(key.number, Word::Key, key.mark);
            self.begin_block(key.number, Word::BlockMappingStart, key.mark);
            if let Some(key) = self.possible_keys.last_mut() {
                key.is_possible = false;
            }
            self.by_number.remove(&key.number);
            self.may_begin_key = false;
        } else {
            let block = Word::BlockMappingStart;
            self.begin_block_here(block, "mapping values are not allowed in this context")?;
            self.may_begin_key = self.flow_level == 0;
        }
        self.push_indicator(Word::Value, 1);
        Ok(())
    }

    /// Begins a block with the word that is next, if it stands outside of brackets and where a block may begin.
    fn begin_block_here(&mut self, block: Word, refusal: &str) -> Result<(), Refusal> {
        if self.flow_level > 0 {
            return Ok(());
        }
        if !self.may_begin_key {
            return self.refuse(refusal);
        }
        let (number, here) = (self.next_number(), self.cursor.mark);
        self.begin_block(number, block, here);
        Ok(())
    }
}
