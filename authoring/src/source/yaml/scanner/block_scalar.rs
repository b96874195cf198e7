//! Texts behind `|` and `>`.

use super::{
    super::{super::refusal::Refusal, cursor::Mark, token::Word},
    Scanner,
};

/// Treatment of the line breaks at the end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Chomping {
    Strip,
    Clip,
    Keep,
}

impl Scanner<'_> {
    pub(super) fn block_scalar(&mut self, is_literal: bool) -> Result<(), Refusal> {
        self.forget_possible_key()?;
        self.may_begin_key = true;
        let start = self.cursor.mark;
        self.cursor.skip();
        let (chomping, increment) = self.block_header()?;
        let mut end = self.cursor.mark;
        let mut indent = increment.map(|increment| self.indent.max(0) + increment);
        let (mut text, mut first_break, mut breaks) = (String::new(), String::new(), String::new());
        self.block_breaks(&mut indent, &mut breaks, &mut end)?;
        let mut was_blank = false;
        while Some(self.cursor.mark.column) == indent && !self.cursor.is_end() {
            let is_blank = self.cursor.is_blank();
            let folds = !is_literal && !was_blank && !is_blank && first_break.starts_with('\n');
            if !folds {
                text.push_str(&first_break);
            } else if breaks.is_empty() {
                text.push(' ');
            }
            first_break.clear();
            text.push_str(&breaks);
            breaks.clear();
            was_blank = is_blank;
            while !self.cursor.is_break_or_end() {
                self.cursor.read_into(&mut text);
            }
            self.cursor.read_break_into(&mut first_break);
            self.block_breaks(&mut indent, &mut breaks, &mut end)?;
        }
        if chomping != Chomping::Strip {
            text.push_str(&first_break);
        }
        if chomping == Chomping::Keep {
            text.push_str(&breaks);
        }
        let is_plain = false;
        let word = Word::Scalar { text, is_plain };
        self.push_until(word, start, end);
        Ok(())
    }

    /// Reads the rest of the line behind the indicator: how much further the text is indented, and how it ends.
    fn block_header(&mut self) -> Result<(Chomping, Option<isize>), Refusal> {
        let mut chomping = self.chomping();
        let increment = match self.cursor.peek() {
            b'0' => return self.refuse("found an indentation indicator equal to 0"),
            digit @ b'1'..=b'9' => {
                self.cursor.skip();
                Some(isize::from(digit - b'0'))
            }
            _ => None,
        };
        if increment.is_some() {
            chomping = chomping.or_else(|| self.chomping());
        }
        self.cursor
            .skip_while(super::super::cursor::Cursor::is_blank);
        self.skip_comment();
        if !self.cursor.is_break_or_end() {
            return self.refuse("did not find expected comment or line break");
        }
        self.cursor.skip_break();
        Ok((chomping.unwrap_or(Chomping::Clip), increment))
    }

    fn chomping(&mut self) -> Option<Chomping> {
        let chomping = match self.cursor.peek() {
            b'+' => Chomping::Keep,
            b'-' => Chomping::Strip,
            _ => return None,
        };
        self.cursor.skip();
        Some(chomping)
    }

    /// Skips indentation and empty lines. Finds the indentation of the text if it is not known yet.
    fn block_breaks(
        &mut self,
        indent: &mut Option<isize>,
        breaks: &mut String,
        end: &mut Mark,
    ) -> Result<(), Refusal> {
        *end = self.cursor.mark;
        let mut furthest = 0;
        loop {
            let limit = indent.unwrap_or(isize::MAX);
            self.cursor
                .skip_while(|it| it.mark.column < limit && it.peek() == b' ');
            furthest = furthest.max(self.cursor.mark.column);
            if self.cursor.mark.column < limit && self.cursor.peek() == b'\t' {
                return self.refuse("found a tab character where an indentation space is expected");
            }
            if !self.cursor.is_break() {
                break;
            }
            self.cursor.read_break_into(breaks);
            *end = self.cursor.mark;
        }
        indent.get_or_insert(furthest.max(self.indent + 1).max(1));
        Ok(())
    }
}
