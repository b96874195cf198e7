//! JSON, which kubectl reads by rules of its own where a file begins with a brace.

use std::{collections::HashSet, ops::Range};

use serde_json::Value;

use super::{
    node::{Content, MapEntry, Node},
    number,
    refusal::{MAX_DEPTH, Refusal},
};

/// A value of JSON.
pub(super) struct Read {
    pub(super) node: Node,
    /// The byte behind it.
    pub(super) end: usize,
    /// Reason to refuse the value although it is valid JSON.
    pub(super) refusal: Option<Refusal>,
}

/// Reads the value that begins at some byte of a text, behind blanks. Returns `None` if there are only blanks, and an
/// error if the text there is no JSON.
pub(super) fn read(text: &str, start: usize) -> Result<Option<Read>, Refusal> {
    let mut reader = JsonReader {
        text,
        at: start,
        depth: 0,
        refusal: None,
    };
    reader.skip_blanks();
    if reader.peek().is_none() {
        return Ok(None);
    }
    let node = reader.value()?;
    Ok(Some(Read {
        node,
        end: reader.at,
        refusal: reader.refusal,
    }))
}

struct JsonReader<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    refusal: Option<Refusal>,
}

impl JsonReader<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_while(&mut self, is_meant: impl Fn(u8) -> bool) -> usize {
        let start = self.at;
        while self.peek().is_some_and(&is_meant) {
            self.at += 1;
        }
        self.at - start
    }

    fn skip_blanks(&mut self) {
        self.skip_while(|it| matches!(it, b' ' | b'\t' | b'\n' | b'\r'));
    }

    /// Skips a character if it is next.
    fn took(&mut self, character: u8) -> bool {
        let is_next = self.peek() == Some(character);
        self.at += usize::from(is_next);
        is_next
    }

    fn refuse<T>(&self, message: &str) -> Result<T, Refusal> {
        Err(Refusal::new(message, self.at..self.at))
    }

    fn written(&self, span: Range<usize>) -> &str {
        self.text.get(span).unwrap_or_default()
    }

    fn value(&mut self) -> Result<Node, Refusal> {
        let start = self.at;
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return self.refuse("objects and lists are nested too deeply");
        }
        let content = match self.peek() {
            Some(b'{') => return self.object(),
            Some(b'[') => return self.array(),
            Some(b'"') => Content::Scalar(Value::String(self.string()?)),
            Some(b'-' | b'0'..=b'9') => Content::Scalar(self.number()?),
            _ => Content::Scalar(self.word()?),
        };
        self.depth -= 1;
        let is_plain = !matches!(content, Content::Scalar(Value::String(_)));
        Ok(Node {
            span: start..self.at,
            content,
            is_plain,
        })
    }

    fn word(&mut self) -> Result<Value, Refusal> {
        let start = self.at;
        self.skip_while(|it| it.is_ascii_alphabetic());
        match self.written(start..self.at) {
            "null" => Ok(Value::Null),
            "true" => Ok(Value::Bool(true)),
            "false" => Ok(Value::Bool(false)),
            _ => {
                self.at = start;
                self.refuse("this is not a JSON value")
            }
        }
    }

    /// Reads a number. An integer stays one within 64 bits; all others are floats, and have to be in their range.
    fn number(&mut self) -> Result<Value, Refusal> {
        let start = self.at;
        self.took(b'-');
        let is_digit = |it: u8| it.is_ascii_digit();
        let mut is_number = self.took(b'0') || self.skip_while(is_digit) > 0;
        let mut is_integer = true;
        if self.took(b'.') {
            is_integer = false;
            is_number &= self.skip_while(is_digit) > 0;
        }
        if self.took(b'e') || self.took(b'E') {
            is_integer = false;
            let _ = self.took(b'+') || self.took(b'-');
            is_number &= self.skip_while(is_digit) > 0;
        }
        if !is_number {
            return self.refuse("this is not a JSON number");
        }
        let text = self.written(start..self.at);
        if let Some(integer) = text.parse::<i64>().ok().filter(|_| is_integer) {
            return Ok(integer.into());
        }
        let float = text.parse().ok().and_then(number::normalize);
        if float.is_none() {
            let refusal = Refusal::new("this number is too large", start..self.at);
            self.refusal.get_or_insert(refusal);
        }
        Ok(float.unwrap_or_default())
    }

    fn string(&mut self) -> Result<String, Refusal> {
        let start = self.at;
        self.at += 1;
        loop {
            self.skip_while(|it| it != b'"' && it != b'\\');
            if self.took(b'"') {
                break;
            }
            if self.at + 1 >= self.text.len() {
                return Err(Refusal::new("this text has no end", start..start + 1));
            }
            self.at += 2;
        }
        let written = self.written(start..self.at);
        let read = serde_json::from_str(written);
        read.or_else(|_| serde_json::from_str(&without_halves(written)))
            .map_err(|_| {
                let message = "a character, or the escape after a backslash, is not valid JSON";
                Refusal::new(message, start..self.at)
            })
    }

    fn array(&mut self) -> Result<Node, Refusal> {
        let start = self.at;
        self.at += 1;
        let mut items = Vec::new();
        self.skip_blanks();
        while !self.took(b']') {
            if !items.is_empty() {
                self.comma()?;
            }
            items.push(self.value()?);
            self.skip_blanks();
        }
        self.depth -= 1;
        Ok(Node::collection(start..start + 1, Content::Array(items)))
    }

    fn object(&mut self) -> Result<Node, Refusal> {
        let start = self.at;
        self.at += 1;
        let mut entries: Vec<MapEntry> = Vec::new();
        let mut keys = HashSet::new();
        self.skip_blanks();
        while !self.took(b'}') {
            if !entries.is_empty() {
                self.comma()?;
            }
            let entry = self.entry()?;
            if !keys.insert(entry.key.clone()) {
                let refusal = Refusal::duplicate(&entry, false);
                self.refusal.get_or_insert(refusal);
            }
            entries.push(entry);
            self.skip_blanks();
        }
        self.depth -= 1;
        Ok(Node::collection(start..start + 1, Content::Object(entries)))
    }

    fn entry(&mut self) -> Result<MapEntry, Refusal> {
        let start = self.at;
        if self.peek() != Some(b'"') {
            return self.refuse("a key of JSON is in double quotes");
        }
        let key = self.string()?;
        let key_span = start..self.at;
        self.skip_blanks();
        if !self.took(b':') {
            return self.refuse("a colon is missing after a key of JSON");
        }
        self.skip_blanks();
        Ok(MapEntry {
            key,
            written: None,
            key_span,
            value: self.value()?,
        })
    }

    fn comma(&mut self) -> Result<(), Refusal> {
        if !self.took(b',') {
            return self.refuse("a comma or the end is missing");
        }
        self.skip_blanks();
        Ok(())
    }
}

/// Returns the text in quotes without halves of UTF-16 characters: Go replaces those without their other half.
fn without_halves(written: &str) -> String {
    let half = |at: usize| {
        let digits = written.get(at..at + 6)?.strip_prefix("\\u")?;
        u16::from_str_radix(digits, 16).ok()
    };
    let (mut text, mut at) = (String::new(), 0);
    while let Some(next) = written.get(at..).and_then(|rest| rest.chars().next()) {
        let length = match (half(at), half(at + 6)) {
            (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => 12,
            (Some(0xD800..=0xDFFF), _) => {
                text.push_str("\\ufffd");
                at += 6;
                continue;
            }
            _ if next == '\\' => 2,
            _ => next.len_utf8(),
        };
        text.push_str(written.get(at..at + length).unwrap_or_default());
        at += length;
    }
    text
}
