//! A place in a text, and the characters from there on.

use std::ops::Range;

/// Position at which something begins or ends.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Mark {
    /// Bytes before it.
    pub(super) offset: usize,
    /// Characters before it.
    pub(super) index: usize,
    pub(super) line: usize,
    /// Characters before it in its line. Signed, as it is compared with an indentation, and that of none is below zero.
    pub(super) column: isize,
}

/// Returns the bytes between two marks.
pub(super) fn between(start: Mark, end: Mark) -> Range<usize> {
    start.offset..end.offset.max(start.offset)
}

/// The text from a place on. Behind its end stands NUL, which no text holds.
#[derive(Debug)]
pub(super) struct Cursor<'a> {
    text: &'a str,
    pub(super) mark: Mark,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(text: &'a str, offset: usize) -> Self {
        let mark = Mark {
            offset,
            ..Mark::default()
        };
        Self { text, mark }
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.mark.offset..).unwrap_or_default()
    }

    pub(super) fn starts_with(&self, start: &str) -> bool {
        self.rest().starts_with(start)
    }

    /// Returns the next byte.
    pub(super) fn peek(&self) -> u8 {
        self.ahead(0)
    }

    /// Returns the byte this many bytes ahead.
    pub(super) fn ahead(&self, bytes: usize) -> u8 {
        let bytes = self.text.as_bytes().get(self.mark.offset + bytes);
        bytes.copied().unwrap_or_default()
    }

    fn skip_bytes(&mut self, bytes: usize) {
        self.mark.offset += bytes;
        self.mark.index += 1;
        self.mark.column += 1;
    }

    /// Skips a character.
    pub(super) fn skip(&mut self) {
        if let Some(next) = self.rest().chars().next() {
            self.skip_bytes(next.len_utf8());
        }
    }

    pub(super) fn skip_by(&mut self, characters: usize) {
        for _ in 0..characters {
            self.skip();
        }
    }

    /// Skips a character and adds it to a text.
    pub(super) fn read_into(&mut self, text: &mut String) {
        if let Some(next) = self.rest().chars().next() {
            text.push(next);
            self.skip_bytes(next.len_utf8());
        }
    }

    pub(super) fn skip_while(&mut self, is_meant: impl Fn(&Self) -> bool) {
        while !self.is_end() && is_meant(self) {
            self.skip();
        }
    }

    /// Skips a line break and adds to a text what YAML makes of it.
    pub(super) fn read_break_into(&mut self, text: &mut String) {
        let (bytes, characters, read) = match (self.peek(), self.ahead(1), self.ahead(2)) {
            (b'\r', b'\n', _) => (2, 2, '\n'),
            (b'\r' | b'\n', ..) => (1, 1, '\n'),
            (0xC2, 0x85, _) => (2, 1, '\n'),
            (0xE2, 0x80, 0xA8) => (3, 1, '\u{2028}'),
            (0xE2, 0x80, 0xA9) => (3, 1, '\u{2029}'),
            _ => return,
        };
        text.push(read);
        self.mark.offset += bytes;
        self.mark.index += characters;
        self.mark.column = 0;
        self.mark.line += 1;
    }

    pub(super) fn skip_break(&mut self) {
        self.read_break_into(&mut String::new());
    }

    pub(super) fn is_end(&self) -> bool {
        self.mark.offset >= self.text.len()
    }

    pub(super) fn is_break(&self) -> bool {
        self.is_break_at(0)
    }

    pub(super) fn is_break_at(&self, bytes: usize) -> bool {
        let next = (
            self.ahead(bytes),
            self.ahead(bytes + 1),
            self.ahead(bytes + 2),
        );
        matches!(
            next,
            (b'\r' | b'\n', ..) | (0xC2, 0x85, _) | (0xE2, 0x80, 0xA8 | 0xA9)
        )
    }

    pub(super) fn is_break_or_end(&self) -> bool {
        self.peek() == 0 || self.is_break()
    }

    /// Returns true if a blank or a tab is next.
    pub(super) fn is_blank(&self) -> bool {
        matches!(self.peek(), b' ' | b'\t')
    }

    /// Returns true if a blank, a tab, a line break or the end is this many bytes ahead.
    pub(super) fn is_space_at(&self, bytes: usize) -> bool {
        matches!(self.ahead(bytes), b' ' | b'\t' | 0) || self.is_break_at(bytes)
    }

    pub(super) fn is_space(&self) -> bool {
        self.is_space_at(0)
    }

    /// Returns true if a character of a name is next: of an anchor, or of the handle of a tag.
    pub(super) fn is_of_name(&self) -> bool {
        let next = self.peek();
        next.is_ascii_alphanumeric() || matches!(next, b'_' | b'-')
    }

    /// Returns true at the start of a line with the mark that begins or ends a document.
    pub(super) fn is_at_document(&self) -> bool {
        self.mark.column == 0
            && (self.starts_with("---") || self.starts_with("..."))
            && self.is_space_at(3)
    }
}
