//! YAML 1.1 as kubectl reads it: where everything begins, which texts are keys, what is refused.
//!
//! kubectl reads with go-yaml v2, which follows YAML 1.1: it takes much that YAML 1.2 refuses, and the other way round.
//! Only the same steps give the same result, so this follows go-yaml v2 step by step: its scanner, its parser and, in
//! [`decode`], its decoder. `docs/internals/adr/0013-own-yaml-reader.md` explains why no library does it.

mod cursor;
mod decode;
mod parser;
mod scanner;
#[cfg(test)]
mod tests;
mod token;

use super::{node::Node, refusal::Refusal};

/// The mark with which some editors begin a file.
pub(super) const BYTE_ORDER_MARK: char = '\u{feff}';

/// Reads a document, which begins at some byte of a text and ends with it. `None` if there is nothing in it.
pub(super) fn read(text: &str, start: usize) -> Result<Option<Node>, Refusal> {
    let start = behind_byte_order_mark(text, start)?;
    check_characters(text, start)?;
    let tree = parser::read(text, start)?;
    tree.map(|tree| decode::decode(&tree)).transpose()
}

/// Returns the position behind the mark, if a document begins with one.
fn behind_byte_order_mark(text: &str, start: usize) -> Result<usize, Refusal> {
    let rest = text.get(start..).unwrap_or_default();
    match rest.strip_prefix(BYTE_ORDER_MARK) {
        Some(rest) => {
            check_unmarked(rest, start)?;
            Ok(start + BYTE_ORDER_MARK.len_utf8())
        }
        None => Ok(start),
    }
}

/// Refuses a second such mark behind the first one, in a document that begins at some byte.
pub(super) fn check_unmarked(behind: &str, start: usize) -> Result<(), Refusal> {
    if behind.starts_with(BYTE_ORDER_MARK) {
        let message = "a document begins with more than one byte order mark";
        return Err(Refusal::new(message, start..start));
    }
    Ok(())
}

/// Refuses characters that YAML may hold only in escaped form.
fn check_characters(text: &str, start: usize) -> Result<(), Refusal> {
    let text = text.get(start..).unwrap_or_default();
    let control = text.char_indices().find(|(_, it)| !is_allowed(*it));
    match control {
        Some((at, control)) => {
            let at = start + at;
            let message = format!(
                "control characters such as U+{:04X} are not allowed",
                u32::from(control)
            );
            Err(Refusal::new(message, at..at + control.len_utf8())
                .help("write it with a backslash, in double quotes"))
        }
        None => Ok(()),
    }
}

fn is_allowed(character: char) -> bool {
    matches!(
        character,
        '\t' | '\n' | '\r' | ' '..='~' | '\u{85}' | '\u{A0}'..='\u{D7FF}' | '\u{E000}'..='\u{FFFD}' | '\u{10000}'..
    )
}
