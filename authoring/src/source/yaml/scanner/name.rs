//! Anchors, aliases and tags.

use super::{
    super::{super::refusal::Refusal, token::Word},
    Scanner,
};

impl Scanner<'_> {
    /// Reads an anchor or an alias.
    pub(super) fn name(&mut self, word: fn(String) -> Word) -> Result<(), Refusal> {
        self.save_possible_key()?;
        self.may_begin_key = false;
        let start = self.cursor.mark;
        self.cursor.skip();
        let mut name = String::new();
        while self.cursor.is_of_name() {
            self.cursor.read_into(&mut name);
        }
        let is_ended = self.cursor.is_space()
            || matches!(
                self.cursor.peek(),
                b'?' | b':' | b',' | b']' | b'}' | b'%' | b'@' | b'`'
            );
        if name.is_empty() || !is_ended {
            return self.refuse(
                "the name of an anchor or alias holds something else than letters, digits, _ and -",
            );
        }
        self.push(word(name), start);
        Ok(())
    }

    /// Reads a tag: `!suffix`, `!handle!suffix` or `!<suffix>`.
    pub(super) fn tag(&mut self) -> Result<(), Refusal> {
        self.save_possible_key()?;
        self.may_begin_key = false;
        let start = self.cursor.mark;
        let (handle, suffix) = if self.cursor.ahead(1) == b'<' {
            self.cursor.skip_by(2);
            let suffix = self.uri(String::new(), false)?;
            if self.cursor.peek() != b'>' {
                return self.refuse("did not find the expected '>'");
            }
            self.cursor.skip();
            (String::new(), suffix)
        } else {
            self.shorthand()?
        };
        if !self.cursor.is_space() {
            return self.refuse("did not find expected whitespace or line break");
        }
        self.push(Word::Tag { handle, suffix }, start);
        Ok(())
    }

    fn shorthand(&mut self) -> Result<(String, String), Refusal> {
        let mut handle = String::new();
        self.cursor.read_into(&mut handle);
        while self.cursor.is_of_name() {
            self.cursor.read_into(&mut handle);
        }
        if self.cursor.peek() == b'!' {
            self.cursor.read_into(&mut handle);
            let suffix = self.uri(String::new(), false)?;
            return Ok((handle, suffix));
        }
        // It was no handle, but the begin of the tag itself.
        let begin = handle.split_off(1);
        let suffix = self.uri(begin, true)?;
        Ok(if suffix.is_empty() {
            (suffix, handle)
        } else {
            (handle, suffix)
        })
    }

    fn uri(&mut self, begin: String, may_be_empty: bool) -> Result<String, Refusal> {
        let mut uri = begin;
        let mut is_empty = !may_be_empty;
        while self.cursor.is_of_name() || b";/?:@&=+$,.!~*'()[]%".contains(&self.cursor.peek()) {
            if self.cursor.peek() == b'%' {
                uri.push(self.escaped()?);
            } else {
                self.cursor.read_into(&mut uri);
            }
            is_empty = false;
        }
        if is_empty {
            return self.refuse("did not find expected tag URI");
        }
        Ok(uri)
    }

    /// Reads one character in hexadecimal bytes, each behind a percent sign.
    fn escaped(&mut self) -> Result<char, Refusal> {
        let mut bytes = Vec::new();
        loop {
            let digit = |at: usize| char::from(self.cursor.ahead(at)).to_digit(16);
            let (b'%', Some(high), Some(low)) = (self.cursor.peek(), digit(1), digit(2)) else {
                return self.refuse("did not find URI escaped octet");
            };
            bytes.extend(u8::try_from(high * 16 + low));
            self.cursor.skip_by(3);
            let read = str::from_utf8(&bytes);
            match read.map(|text| text.chars().next()) {
                Ok(Some(read)) => return Ok(read),
                Err(error) if error.error_len().is_none() => {}
                _ => return self.refuse("found an incorrect UTF-8 octet"),
            }
        }
    }
}
