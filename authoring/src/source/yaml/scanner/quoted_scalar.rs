//! Texts in quotes.

use super::{
    super::{super::refusal::Refusal, cursor::Mark, token::Word},
    Scanner,
    plain_scalar::Gap,
};

impl Scanner<'_> {
    pub(super) fn quoted_scalar(&mut self, is_single: bool) -> Result<(), Refusal> {
        self.save_possible_key()?;
        self.may_begin_key = false;
        let start = self.cursor.mark;
        let quote = self.cursor.peek();
        self.cursor.skip();
        let (mut text, mut gap) = (String::new(), Gap::default());
        loop {
            if self.cursor.is_at_document() {
                return refuse("found unexpected document indicator", start);
            }
            if self.cursor.is_end() {
                return refuse("found unexpected end of stream", start);
            }
            gap.is_broken = if is_single {
                self.single_quoted(&mut text);
                false
            } else {
                self.double_quoted(&mut text)?
            };
            if self.cursor.peek() == quote {
                break;
            }
            self.read_gap(&mut gap, None)?;
            gap.join_into(&mut text);
        }
        self.cursor.skip();
        let is_plain = false;
        self.push(Word::Scalar { text, is_plain }, start);
        Ok(())
    }

    /// Reads up to a blank or the quote.
    fn single_quoted(&mut self, text: &mut String) {
        while !self.cursor.is_space() {
            if self.cursor.peek() == b'\'' {
                if self.cursor.ahead(1) != b'\'' {
                    return;
                }
                self.cursor.skip();
            }
            self.cursor.read_into(text);
        }
    }

    /// Reads up to a blank or the quote. Returns true if it ended with a line break behind a backslash, which stands
    /// for nothing.
    fn double_quoted(&mut self, text: &mut String) -> Result<bool, Refusal> {
        while !self.cursor.is_space() {
            match self.cursor.peek() {
                b'"' => return Ok(false),
                b'\\' if self.cursor.is_break_at(1) => {
                    self.cursor.skip();
                    self.cursor.skip_break();
                    return Ok(true);
                }
                b'\\' => text.push(self.escape()?),
                _ => self.cursor.read_into(text),
            }
        }
        Ok(false)
    }

    fn escape(&mut self) -> Result<char, Refusal> {
        let escape = self.cursor.mark;
        let digits = match self.cursor.ahead(1) {
            b'x' => 2,
            b'u' => 4,
            b'U' => 8,
            letter => {
                let Some(meant) = meant_by(letter) else {
                    return refuse("found unknown escape character", escape);
                };
                self.cursor.skip_by(2);
                return Ok(meant);
            }
        };
        self.cursor.skip_by(2);
        let mut value = 0;
        for _ in 0..digits {
            let Some(digit) = char::from(self.cursor.peek()).to_digit(16) else {
                return refuse("did not find expected hexadecimal number", escape);
            };
            value = value << 4 | digit;
            self.cursor.skip();
        }
        match char::from_u32(value) {
            Some(meant) => Ok(meant),
            None => refuse("found invalid Unicode character escape code", escape),
        }
    }
}

/// Returns the character that a letter behind a backslash stands for.
fn meant_by(letter: u8) -> Option<char> {
    Some(match letter {
        b'0' => '\0',
        b'a' => '\u{07}',
        b'b' => '\u{08}',
        b't' | b'\t' => '\t',
        b'n' => '\n',
        b'v' => '\u{0B}',
        b'f' => '\u{0C}',
        b'r' => '\r',
        b'e' => '\u{1B}',
        b' ' | b'"' | b'\'' | b'\\' => char::from(letter),
        b'N' => '\u{85}',
        b'_' => '\u{A0}',
        b'L' => '\u{2028}',
        b'P' => '\u{2029}',
        _ => return None,
    })
}

fn refuse<T>(message: &str, at: Mark) -> Result<T, Refusal> {
    Err(Refusal::new(message, at.offset..at.offset))
}
