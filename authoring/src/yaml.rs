//! YAML as this command writes it.

use anyhow::Context as _;
use serde::{Serialize, Serializer};
use serde_json::Value;
use serde_saphyr::DoubleQuoted;

use crate::foreign::{has_commands, in_one_line, in_yaml, may_have_commands};

/// Writes a document, with keys in alphabetical order as the API server returns them.
pub fn text(value: &Value) -> anyhow::Result<String> {
    const UNWRITABLE: &str = "the object cannot be written as YAML";
    let mut text = serde_saphyr::to_string(value).context(UNWRITABLE)?;
    if has_commands(&text) {
        // YAML has escapes only in double quotes. The library cannot be asked to quote a key, and in JSON every key is
        // quoted.
        text = if has_commands_in_keys(value) {
            format!("{value:#}")
        } else {
            serde_saphyr::to_string(&Quoted(value)).context(UNWRITABLE)?
        };
        text = in_yaml(&text).into_owned();
    }
    Ok(if text.ends_with('\n') {
        text
    } else {
        text + "\n"
    })
}

/// Returns a text as a comment line of YAML.
#[must_use]
pub fn comment(text: &str) -> String {
    let text = format!("# {}", in_one_line(text));
    format!("{}\n", text.trim_end())
}

/// A value whose texts are in double quotes if they hold something to escape.
struct Quoted<'a>(&'a Value);

impl Serialize for Quoted<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::String(text) if may_have_commands(text) => {
                DoubleQuoted(text).serialize(serializer)
            }
            Value::Array(items) => serializer.collect_seq(items.iter().map(Quoted)),
            Value::Object(fields) => {
                serializer.collect_map(fields.iter().map(|(key, value)| (key, Quoted(value))))
            }
            other => other.serialize(serializer),
        }
    }
}

fn has_commands_in_keys(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().any(has_commands_in_keys),
        Value::Object(fields) => fields
            .iter()
            .any(|(key, value)| may_have_commands(key) || has_commands_in_keys(value)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_document_with_what_a_terminal_acts_upon_is_escaped_and_stays_the_same() {
        for character in [
            '\u{1b}',
            '\u{7f}',
            '\u{9b}',
            '\u{202e}',
            '\u{200b}',
            '\u{feff}',
            '\u{2028}',
            '\u{e0041}',
        ] {
            for value in [
                json!({ "a": format!("x{character}y"), "b": ["plain", 1] }),
                json!({ "a": format!("x\n{character}: '\"\\\n"), "b": { "c": format!("{character}") } }),
                json!([
                    format!("{character}x"),
                    "long ".repeat(40) + &character.to_string()
                ]),
                json!({ format!("x{character}y"): { "a": format!("{character}"), "b": "two\nlines" } }),
            ] {
                let text = text(&value).unwrap();
                assert!(!has_commands(&text), "{text:?}");
                let read: Value = serde_saphyr::from_str(&text).unwrap();
                assert_eq!(read, value, "{text}");
            }
        }
    }

    #[test]
    fn a_document_has_no_line_that_a_log_takes_for_a_command() {
        let long = format!("{} ::error::x", "long ".repeat(30));
        for value in [
            json!("::error::x"),
            json!({ "a": "b\n::error::x\n" }),
            json!({ "a": ["::error::x", "c\n  ::error::x\nd"] }),
            json!({ "::error::x": "::error::y", "a": { "::b": 1 } }),
            json!({ "a": "##[error]x", "b": "c ##vso[d]e", "##[e]": "f\ng" }),
            json!({ "a": long, "b": "c\n::d" }),
        ] {
            let text = text(&value).unwrap();
            assert!(!has_commands(&text), "{text}");
            let read: Value = serde_saphyr::from_str(&text).unwrap();
            assert_eq!(read, value, "{text}");
        }
        let plain = json!({ "a": "Vec::new", "b": "x\ny :: z" });
        assert!(!text(&plain).unwrap().contains("\\u"));
    }

    #[test]
    fn what_reads_like_an_escape_is_none() {
        let value = json!({ "a": r"\u202e", "b": format!(r"\u202e{}", '\u{202e}') });
        let read: Value = serde_saphyr::from_str(&text(&value).unwrap()).unwrap();
        assert_eq!(read, value);
    }

    #[test]
    fn a_comment_ends_with_its_line() {
        assert_eq!(comment("a\nb\u{85}c"), "# a b\\u0085c\n");
    }
}
