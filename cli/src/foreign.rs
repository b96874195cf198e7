//! Texts that others have written, such as files of a proposal, messages of webhooks and outputs of runs: a terminal
//! takes some of their characters for commands, shows others in another order, or does not show them at all.
//!
//! All of it is escaped here, and everything that is printed comes through [`to_a_terminal`]. An escape is one of JSON, so
//! that a document in JSON stays the same; [`crate::yaml`] has those of YAML.

use std::{borrow::Cow, fmt::Write as _};

/// A text in one line that is nothing but text to a terminal. Line breaks and tabs become blanks.
pub(crate) fn in_one_line(text: &str) -> String {
    let text = text.replace(['\n', '\r', '\t'], " ");
    escaped(&text, nothing, as_json).into_owned()
}

/// The same, with its lines and tabs as they are.
pub(crate) fn in_lines(text: &str) -> String {
    escaped(text, nothing, as_json).into_owned()
}

/// YAML in which all that has to be escaped stands in double quotes.
pub(crate) fn in_yaml(text: &str) -> Cow<'_, str> {
    escaped(text, nothing, as_yaml)
}

/// What may be printed: lines, tabs, and the colours that this command paints with.
pub(crate) fn to_a_terminal(text: &str) -> Cow<'_, str> {
    escaped(text, colour, as_json)
}

/// Whether something of it has to be escaped.
pub(crate) fn has_commands(text: &str) -> bool {
    text.chars().any(is_escaped)
}

/// Escapes what a terminal does not show as it is, but for where `kept` says otherwise of the rest of the text.
fn escaped(
    text: &str,
    kept: impl Fn(&str) -> bool,
    escape: impl Fn(&mut String, char),
) -> Cow<'_, str> {
    let mut out = String::new();
    let mut copied = 0;
    for (at, character) in text.char_indices().filter(|(_, it)| is_escaped(*it)) {
        if kept(text.get(at..).unwrap_or_default()) {
            continue;
        }
        out.push_str(text.get(copied..at).unwrap_or_default());
        escape(&mut out, character);
        copied = at + character.len_utf8();
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(text.get(copied..).unwrap_or_default());
    Cow::Owned(out)
}

fn as_json(out: &mut String, character: char) {
    for unit in character.encode_utf16(&mut [0; 2]) {
        // Writing to a string cannot fail.
        let _ = write!(out, "\\u{unit:04x}");
    }
}

/// YAML knows no pairs of escapes.
fn as_yaml(out: &mut String, character: char) {
    let code = u32::from(character);
    let _ = match code {
        ..=0xffff => write!(out, "\\u{code:04x}"),
        _ => write!(out, "\\U{code:08x}"),
    };
}

fn nothing(_: &str) -> bool {
    false
}

/// Whether a text begins with bold, a colour that can be read on black and on white, or the end of both. Nothing hides
/// or moves a text with these.
fn colour(text: &str) -> bool {
    let Some(code) = text.strip_prefix("\u{1b}[") else {
        return false;
    };
    let digits = code.bytes().take_while(u8::is_ascii_digit).take(3).count();
    let (code, rest) = code.split_at(digits);
    rest.starts_with('m') && matches!(code.parse(), Ok(0 | 1 | 31..=36 | 91..=96))
}

fn is_escaped(character: char) -> bool {
    !matches!(character, '\n' | '\t') && is_command(character)
}

/// Whether a terminal does something with it, shows what stands beside it in another order, or shows nothing of it.
fn is_command(character: char) -> bool {
    let is_break = matches!(character, '\u{2028}' | '\u{2029}');
    let is_direction = matches!(
        character,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    );
    // Default_Ignorable_Code_Point of Unicode 16 (DerivedCoreProperties.txt), what annotates, and the blank of Braille.
    let is_unseen = matches!(
        character,
        '\u{ad}' | '\u{34f}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}' | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200d}' | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}'
    );
    character.is_control() || is_break || is_direction || is_unseen
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Characters and their escapes.
    const COMMANDS: [(&str, &str); 16] = [
        ("\u{1b}", "\\u001b"),
        ("\u{9b}", "\\u009b"),
        ("\u{8}", "\\u0008"),
        ("\u{7}", "\\u0007"),
        ("\u{7f}", "\\u007f"),
        ("\u{61c}", "\\u061c"),
        ("\u{2028}", "\\u2028"),
        ("\u{202e}", "\\u202e"),
        ("\u{2066}", "\\u2066"),
        ("\u{200b}", "\\u200b"),
        ("\u{e0041}", "\\udb40\\udc41"),
        ("\u{e01ef}", "\\udb40\\uddef"),
        ("\u{3164}", "\\u3164"),
        ("\u{ad}", "\\u00ad"),
        ("\u{fe0f}", "\\ufe0f"),
        ("\u{feff}", "\\ufeff"),
    ];

    #[test]
    fn a_terminal_is_told_to_do_nothing() {
        for (command, escape) in COMMANDS {
            let text = format!("a{command}2Jb");
            let shown = format!("a{escape}2Jb");
            assert_eq!(in_one_line(&text), shown);
            assert_eq!(in_lines(&text), shown);
            assert_eq!(to_a_terminal(&text), shown);
        }
        assert_eq!(in_one_line("é – 漢\n字\r\n"), "é – 漢 字  ");
        assert_eq!(in_lines("a\n\tb\r"), "a\n\tb\\u000d");
    }

    #[test]
    fn an_escape_is_one_of_json() {
        for (command, _) in COMMANDS {
            let value = serde_json::json!({ command: [command] });
            let shown = format!("{value:#}");
            let read: serde_json::Value = serde_json::from_str(&to_a_terminal(&shown)).unwrap();
            assert_eq!(read, value);
        }
    }

    #[test]
    fn colours_of_this_command_are_kept_and_nothing_else_that_begins_like_one() {
        for own in ["\u{1b}[1m\u{1b}[31ma\u{1b}[0m", "\u{1b}[94m|\u{1b}[0m"] {
            assert_eq!(to_a_terminal(own), own);
            assert!(!in_lines(own).contains('\u{1b}'));
        }
        for other in [
            "[8m",
            "[7m",
            "[30m",
            "[1;31m",
            "[m",
            "[2J",
            "[31",
            "]0;title\u{7}",
            "[+1m",
        ] {
            let shown = to_a_terminal(&format!("\u{1b}{other}")).into_owned();
            assert!(shown.starts_with("\\u001b"), "{shown:?}");
        }
    }
}
