//! Reads a text into words. The next word depends on the indentation and on what may be a key: only the colon behind a
//! key makes it one.

mod block_scalar;
mod name;
mod plain_scalar;
mod quoted_scalar;
mod words;

use std::{
    collections::{HashMap, VecDeque},
    ops::Range,
};

use super::{
    super::refusal::Refusal,
    cursor::{Cursor, Mark},
    token::{Token, Word},
};

/// A key stands in one line, and takes no more characters than this before its colon.
const LONGEST_KEY: usize = 1024;
/// The indentation outside of blocks.
const NONE: isize = -1;

/// Possible key, which begins with the word of this number.
#[derive(Clone, Copy, Debug, Default)]
struct PossibleKey {
    is_possible: bool,
    /// True if nothing else could stand here.
    is_required: bool,
    number: usize,
    mark: Mark,
}

/// The words of a text, each when it is asked for.
#[derive(Debug)]
pub(super) struct Scanner<'a> {
    cursor: Cursor<'a>,
    waiting: VecDeque<Token>,
    /// Number of words taken.
    taken: usize,
    indent: isize,
    /// The indentations around this one.
    outer: Vec<isize>,
    /// Brackets and braces that are open.
    flow_level: usize,
    may_begin_key: bool,
    /// Possible key in each of the open brackets, and outside of them.
    possible_keys: Vec<PossibleKey>,
    /// Index of the possible key that begins with the word of a number.
    by_number: HashMap<usize, usize>,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(text: &'a str, offset: usize) -> Self {
        Self {
            cursor: Cursor::new(text, offset),
            waiting: VecDeque::new(),
            taken: 0,
            indent: NONE,
            outer: Vec::new(),
            flow_level: 0,
            may_begin_key: true,
            possible_keys: vec![PossibleKey::default()],
            by_number: HashMap::new(),
        }
    }

    /// Returns the next word without taking it.
    pub(super) fn peek(&mut self) -> Result<&Token, Refusal> {
        while self.needs_more()? {
            self.fetch()?;
        }
        let at = self.here();
        self.waiting
            .front()
            .ok_or_else(|| Refusal::new("the text ends too early", at))
    }

    /// Takes the next word.
    pub(super) fn take(&mut self) -> Result<Token, Refusal> {
        self.peek()?;
        self.taken += 1;
        let at = self.here();
        self.waiting
            .pop_front()
            .ok_or_else(|| Refusal::new("the text ends too early", at))
    }

    /// Returns true if the next word is not certain: there is none, or it may turn out to be a key.
    fn needs_more(&mut self) -> Result<bool, Refusal> {
        if self.waiting.is_empty() {
            return Ok(true);
        }
        match self.by_number.get(&self.taken) {
            Some(&level) => self.refresh_possible_key(level),
            None => Ok(false),
        }
    }

    fn here(&self) -> Range<usize> {
        self.cursor.mark.offset..self.cursor.mark.offset
    }

    fn refuse<T>(&self, message: &str) -> Result<T, Refusal> {
        Err(Refusal::new(message, self.here()))
    }

    fn push(&mut self, word: Word, start: Mark) {
        self.push_until(word, start, self.cursor.mark);
    }

    fn push_until(&mut self, word: Word, start: Mark, end: Mark) {
        self.waiting.push_back(Token { word, start, end });
    }

    /// Adds a word of this many characters.
    fn push_indicator(&mut self, word: Word, characters: usize) {
        let start = self.cursor.mark;
        self.cursor.skip_by(characters);
        self.push(word, start);
    }

    /// Adds a word before the one with this number; at the end, if that was taken.
    fn insert(&mut self, number: usize, word: Word, mark: Mark) {
        let (start, end) = (mark, mark);
        let at = number.checked_sub(self.taken);
        let at = at.filter(|at| *at <= self.waiting.len());
        let at = at.unwrap_or(self.waiting.len());
        self.waiting.insert(at, Token { word, start, end });
    }

    fn next_number(&self) -> usize {
        self.taken + self.waiting.len()
    }

    /// Returns true if a possible key can still be one: not beyond its line, nor when it gets too long.
    fn refresh_possible_key(&mut self, level: usize) -> Result<bool, Refusal> {
        let here = self.cursor.mark;
        let Some(key) = self.possible_keys.get_mut(level) else {
            return Ok(false);
        };
        if key.is_possible
            && (key.mark.line < here.line || key.mark.index + LONGEST_KEY < here.index)
        {
            if key.is_required {
                return Err(no_colon(key.mark));
            }
            key.is_possible = false;
        }
        Ok(key.is_possible)
    }

    /// Notes that a key may begin here.
    fn save_possible_key(&mut self) -> Result<(), Refusal> {
        if !self.may_begin_key {
            return Ok(());
        }
        self.forget_possible_key()?;
        let key = PossibleKey {
            is_possible: true,
            is_required: self.flow_level == 0 && self.indent == self.cursor.mark.column,
            number: self.next_number(),
            mark: self.cursor.mark,
        };
        let level = self.possible_keys.len().saturating_sub(1);
        self.by_number.insert(key.number, level);
        if let Some(last) = self.possible_keys.last_mut() {
            *last = key;
        }
        Ok(())
    }

    /// Drops the possible key that began here.
    fn forget_possible_key(&mut self) -> Result<(), Refusal> {
        if let Some(key) = self.possible_keys.last_mut()
            && key.is_possible
        {
            if key.is_required {
                return Err(no_colon(key.mark));
            }
            key.is_possible = false;
            self.by_number.remove(&key.number);
        }
        Ok(())
    }

    fn open_flow(&mut self) {
        self.possible_keys.push(PossibleKey {
            number: self.next_number(),
            mark: self.cursor.mark,
            ..PossibleKey::default()
        });
        self.flow_level += 1;
    }

    fn close_flow(&mut self) {
        if self.flow_level > 0 {
            self.flow_level -= 1;
            if let Some(key) = self.possible_keys.pop() {
                self.by_number.remove(&key.number);
            }
        }
    }

    /// Begins a block that is indented further than the one around it, before the word with this number.
    fn begin_block(&mut self, number: usize, word: Word, mark: Mark) {
        if self.flow_level == 0 && self.indent < mark.column {
            self.outer.push(self.indent);
            self.indent = mark.column;
            self.insert(number, word, mark);
        }
    }

    /// Ends the blocks that are indented further than this.
    fn end_blocks(&mut self, column: isize) {
        while self.flow_level == 0 && self.indent > column {
            self.push(Word::BlockEnd, self.cursor.mark);
            self.indent = self.outer.pop().unwrap_or(NONE);
        }
    }
}

fn no_colon(key: Mark) -> Refusal {
    Refusal::new("could not find expected ':'", key.offset..key.offset)
}
