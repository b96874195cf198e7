//! Texts that others have written, such as files of a proposal, messages of webhooks and outputs of runs: a terminal
//! takes some of their characters for commands, shows others in another order, or does not show them at all.
//!
//! All of it is escaped here, and everything that is printed comes through [`to_a_terminal`]. An escape is one of JSON,
//! so that a document in JSON stays the same; [`crate::yaml`] has those of YAML.
//!
//! Output may also be the log of a CI system, which takes some lines for commands: see `is_order`.

use std::{borrow::Cow, fmt::Write as _};

/// The text that follows the level in annotations of this command.
pub(crate) const OF_THIS_COMMAND: &str = " title=cartouche";

/// Returns a text in one line that is only text to a terminal. Line breaks and tabs become blanks.
#[must_use]
pub fn in_one_line(text: &str) -> String {
    let text = text.replace(['\n', '\r', '\t'], " ");
    escaped(&text, nothing, as_json).into_owned()
}

/// Returns such a text with its lines and tabs kept.
#[must_use]
pub fn in_lines(text: &str) -> String {
    escaped(text, nothing, as_json).into_owned()
}

/// Escapes YAML in which everything to escape stands in double quotes.
pub(crate) fn in_yaml(text: &str) -> Cow<'_, str> {
    escaped(text, nothing, as_yaml)
}

/// Escapes a text for a terminal. Lines, tabs, the colours of this command and its own annotations stay as they are.
#[must_use]
pub fn to_a_terminal(text: &str) -> Cow<'_, str> {
    escaped(text, own, as_json)
}

/// Returns true if a part of the text has to be escaped.
pub(crate) fn has_commands(text: &str) -> bool {
    matches!(escaped(text, nothing, as_json), Cow::Owned(_))
}

/// Returns true if a part of the text has to be escaped at any position in a line.
pub(crate) fn may_have_commands(text: &str) -> bool {
    text.contains("::") || has_commands(text)
}

/// Escapes the characters that must not be shown as they are. `kept` returns the number of bytes to keep at the start
/// of the rest.
fn escaped(
    text: &str,
    kept: impl Fn(&str) -> usize,
    escape: impl Fn(&mut String, char),
) -> Cow<'_, str> {
    let mut out = String::new();
    let (mut copied, mut kept_until) = (0, 0);
    let mut is_blank_so_far = true;
    for (at, character) in text.char_indices() {
        if at < kept_until {
            continue;
        }
        let rest = text.get(at..).unwrap_or_default();
        if is_escaped(character) || is_order(rest, is_blank_so_far) {
            kept_until = at + kept(rest);
            if at < kept_until {
                is_blank_so_far &= character == '\u{1b}';
                continue;
            }
            out.push_str(text.get(copied..at).unwrap_or_default());
            escape(&mut out, character);
            copied = at + character.len_utf8();
        }
        is_blank_so_far = character == '\n' || (is_blank_so_far && character.is_whitespace());
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

/// Escapes a character for YAML, which has no pairs of escapes.
fn as_yaml(out: &mut String, character: char) {
    let code = u32::from(character);
    let _ = match code {
        ..=0xffff => write!(out, "\\u{code:04x}"),
        _ => write!(out, "\\U{code:08x}"),
    };
}

fn nothing(_: &str) -> usize {
    0
}

/// Returns the number of bytes at the beginning of a text that this command wrote itself.
fn own(text: &str) -> usize {
    colour(text).max(annotation(text))
}

/// Returns the length of the code that a text begins with: bold, a colour that can be read on black and on white, or
/// the end of both. Nothing hides or moves a text with these. A log that is no terminal does not have them.
fn colour(text: &str) -> usize {
    const START: &str = "\u{1b}[";
    let Some(code) = text.strip_prefix(START) else {
        return 0;
    };
    let digits = code.bytes().take_while(u8::is_ascii_digit).take(3).count();
    let (code, rest) = code.split_at(digits);
    let is_own = rest.starts_with('m') && matches!(code.parse(), Ok(0 | 1 | 31..=36 | 91..=96));
    if is_own { START.len() + digits + 1 } else { 0 }
}

/// Returns the length of the beginning of an annotation of GitHub Actions, as `--output github` writes it. An imitation
/// can only annotate under the same name.
fn annotation(text: &str) -> usize {
    let begins = |level: &&str| text.starts_with(&format!("::{level}{OF_THIS_COMMAND}"));
    let level = ["error", "warning", "notice"].into_iter().find(begins);
    level.map_or(0, |level| "::".len() + level.len() + OF_THIS_COMMAND.len())
}

/// Returns true if the log of a CI system takes the beginning of a text for a command: for GitHub Actions `::` with
/// only blanks before it in its line, and `##[` anywhere; for Azure Pipelines and `TeamCity` also with a word between.
fn is_order(text: &str, begins_its_line: bool) -> bool {
    // A third colon would be the first letter of the command's name, and no name begins with one: the places of
    // findings do.
    if begins_its_line && text.starts_with("::") && !text.starts_with(":::") {
        return true;
    }
    let word = text.strip_prefix("##");
    let after = word.map(|it| it.trim_start_matches(|c: char| c.is_ascii_alphanumeric()));
    after.is_some_and(|it| it.starts_with('['))
}

fn is_escaped(character: char) -> bool {
    !matches!(character, '\n' | '\t') && is_command(character)
}

/// Returns true if a terminal acts on the character, shows its neighbours in another order, or does not show it.
fn is_command(character: char) -> bool {
    let is_break = matches!(character, '\u{2028}' | '\u{2029}');
    let is_direction = matches!(
        character,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    );
    // Default_Ignorable_Code_Point of Unicode 16 (DerivedCoreProperties.txt), annotation characters, and the blank of
    // Braille.
    let is_unseen = matches!(
        character,
        '\u{ad}' | '\u{34f}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}' | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200d}' | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}'
    );
    // No character at all, and none that XML or YAML may have.
    let is_none = matches!(character, '\u{fffe}' | '\u{ffff}');
    character.is_control() || is_break || is_direction || is_unseen || is_none
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Characters and their escapes.
    const COMMANDS: [(&str, &str); 18] = [
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
        ("\u{fffe}", "\\ufffe"),
        ("\u{ffff}", "\\uffff"),
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
    fn the_log_of_a_ci_system_has_no_command() {
        for order in [
            "::error::x",
            "::add-mask::x",
            "  \u{a0}::stop-commands::x",
            "a\n::group::x",
            "a\n\t ::group::x",
            "##[error]x",
            "a ##[add-path]x",
            "##vso[task.setvariable variable=a]x",
            "a##teamcity[message text='x']",
        ] {
            let lines = in_lines(order);
            assert!(has_commands(order) && !has_commands(&lines), "{lines}");
            assert_eq!(lines.matches("\\u00").count(), 1, "{lines}");
            assert!(!has_commands(&in_one_line(order)), "{order}");
            assert!(!has_commands(&to_a_terminal(order)), "{order}");
            // A colour is taken out of a log.
            let painted = to_a_terminal(&format!("\u{1b}[31m{order}")).into_owned();
            assert!(!has_commands(painted.trim_start_matches("\u{1b}[31m")));
            let read: String = serde_json::from_str(&format!(
                "\"{}\"",
                lines.replace('\n', "\\n").replace('\t', "\\t")
            ))
            .unwrap();
            assert_eq!(read, order);
        }
        for text in [
            "a::b",
            "a: ::b",
            "## title",
            "### [x](y)",
            "# [x]",
            ": :",
            "-::",
            "  ::: a.yaml:1:2",
            ":::error::x",
        ] {
            assert_eq!(in_lines(text), text);
            assert_eq!(to_a_terminal(text), text);
        }
    }

    #[test]
    fn annotations_of_this_command_are_kept_and_no_others() {
        let own = "::error title=cartouche yaml,file=a,line=1::x\n::notice title=cartouche::y\n";
        assert_eq!(to_a_terminal(own), own);
        assert!(!has_commands(&in_lines(own)));
        for other in [
            "::error title=x::y",
            "::debug title=cartouche::y",
            "::error::",
        ] {
            assert!(to_a_terminal(other).starts_with("\\u003a:"), "{other}");
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
