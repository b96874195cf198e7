//! Texts without quotes.

use super::{
    super::{super::refusal::Refusal, token::Word},
    Scanner,
};

/// Gap between two parts of a text: blanks, or line breaks.
#[derive(Default)]
pub(super) struct Gap {
    blanks: String,
    first_break: String,
    breaks: String,
    /// True if there is a line break, even one behind a backslash.
    pub(super) is_broken: bool,
}

impl Gap {
    /// Adds the gap to a text as YAML reads it: one line break becomes a blank, of several the others stay.
    pub(super) fn join_into(&mut self, text: &mut String) {
        if !self.is_broken {
            text.push_str(&self.blanks);
        } else if !self.first_break.starts_with('\n') {
            text.push_str(&self.first_break);
            text.push_str(&self.breaks);
        } else if self.breaks.is_empty() {
            text.push(' ');
        } else {
            text.push_str(&self.breaks);
        }
        *self = Self::default();
    }
}

impl Scanner<'_> {
    pub(super) fn plain_scalar(&mut self) -> Result<(), Refusal> {
        self.save_possible_key()?;
        self.may_begin_key = false;
        let (start, mut end) = (self.cursor.mark, self.cursor.mark);
        let indent = self.indent + 1;
        let (mut text, mut gap) = (String::new(), Gap::default());
        while !self.cursor.is_at_document() && self.cursor.peek() != b'#' {
            while !self.cursor.is_space() && !self.ends_plain_scalar() {
                gap.join_into(&mut text);
                self.cursor.read_into(&mut text);
                end = self.cursor.mark;
            }
            if !self.cursor.is_blank() && !self.cursor.is_break() {
                break;
            }
            self.read_gap(&mut gap, Some(indent))?;
            if self.flow_level == 0 && self.cursor.mark.column < indent {
                break;
            }
        }
        if gap.is_broken {
            self.may_begin_key = true;
        }
        let is_plain = true;
        self.push_until(Word::Scalar { text, is_plain }, start, end);
        Ok(())
    }

    fn ends_plain_scalar(&self) -> bool {
        match self.cursor.peek() {
            b':' => self.cursor.is_space_at(1),
            b',' | b'?' | b'[' | b']' | b'{' | b'}' => self.flow_level > 0,
            _ => false,
        }
    }

    /// Reads blanks and line breaks. Behind a line break no tab may stand before the indentation.
    pub(super) fn read_gap(&mut self, gap: &mut Gap, indent: Option<isize>) -> Result<(), Refusal> {
        loop {
            if self.cursor.is_break() {
                let into = if gap.is_broken {
                    &mut gap.breaks
                } else {
                    &mut gap.first_break
                };
                self.cursor.read_break_into(into);
                gap.is_broken = true;
            } else if !self.cursor.is_blank() {
                return Ok(());
            } else if !gap.is_broken {
                self.cursor.read_into(&mut gap.blanks);
            } else {
                let is_tab = self.cursor.peek() == b'\t';
                if is_tab && indent.is_some_and(|it| self.cursor.mark.column < it) {
                    return self.refuse("found a tab character that violates indentation");
                }
                self.cursor.skip();
            }
        }
    }
}
