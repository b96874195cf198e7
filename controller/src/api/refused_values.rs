//! Removes values from messages in which the API server refuses an object.
//!
//! The values may come from a Secret that only the account may read. Their form is that of
//! `k8s.io/apimachinery/pkg/util/validation/field`: a mark, the value in quotes, as JSON or as Go writes it, and `: `
//! with more text.

/// Text of a parser before it repeats the first unexpected letter.
pub(crate) const UNPARSED: &str = "invalid character";

/// Maximum number of bytes read of a refusal: conditions and events hold no more, and the API server sends it in full.
const MOST_READ: usize = 4 * cartouche_protocol::messages::format::TEXT_BYTES;
/// Length in bytes above which a value is left out of every message.
const LONG: usize = 64;
const WITHHELD: &str = "(withheld)";

/// Texts before a value.
const MARKS: [&str; 4] = [
    "Invalid value: ",
    "Unsupported value: ",
    "Duplicate value: ",
    "Not found: ",
];

/// Returns a message without its long values.
pub(super) fn long_withheld(message: &str) -> String {
    with_values(message, |value| {
        (value.len() > LONG).then(|| format!("(a value of {} bytes)", value.len()))
    })
}

/// Returns a message without any value, and without anything else in quotes.
pub(super) fn all_withheld(message: &str) -> String {
    let text = with_values(message, |_| Some(WITHHELD.to_owned()));
    let (mut kept, mut rest) = (String::new(), text.as_str());
    // The rest of the sentence is about the unexpected letter.
    if let Some(at) = rest.find(UNPARSED) {
        let (before, _) = rest.split_at(at + UNPARSED.len());
        rest = before;
    }
    while let Some(at) = rest.find('"') {
        let end = closing_quote(&rest[at..]);
        kept.push_str(&rest[..at]);
        kept.push_str(WITHHELD);
        rest = &rest[at + end..];
    }
    kept + rest
}

/// Returns the beginning of a message with some of its values replaced.
fn with_values(message: &str, instead: impl Fn(&str) -> Option<String>) -> String {
    let (mut text, mut rest) = (String::new(), message);
    while text.len() < MOST_READ
        && let Some(at) = first_value(rest)
    {
        let (before, from) = rest.split_at(at);
        let (value, after) = from.split_at(end_of_value(from));
        text.push_str(before);
        text.push_str(instead(value).as_deref().unwrap_or(value));
        rest = after;
    }
    if text.len() < MOST_READ {
        text.push_str(&rest[..rest.floor_char_boundary(MOST_READ)]);
    }
    text
}

/// Returns the position of the first value in a text.
fn first_value(text: &str) -> Option<usize> {
    let ends = MARKS
        .iter()
        .filter_map(|mark| Some(text.find(mark)? + mark.len()));
    ends.min()
}

/// Returns the length in bytes of the value at the start of a text: to the end of its quotes, or to a `: ` outside of
/// quotes and brackets.
fn end_of_value(text: &str) -> usize {
    if text.starts_with('"') {
        return closing_quote(text);
    }
    let (mut depth, mut at) = (0_usize, 0);
    while let Some(char) = text[at..].chars().next() {
        match char {
            '"' => {
                at += closing_quote(&text[at..]);
                continue;
            }
            '{' | '[' | '(' => depth += 1,
            '}' | ']' | ')' => depth = depth.saturating_sub(1),
            ':' if depth == 0 && text[at..].starts_with(": ") => return at,
            _ => {}
        }
        at += char.len_utf8();
    }
    text.len()
}

/// Returns the length in bytes of the quotes at the start of a text.
fn closing_quote(text: &str) -> usize {
    let mut escaped = false;
    for (at, char) in text.char_indices().skip(1) {
        match char {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_values_in_admission_errors_are_left_out() {
        let long = "s3cr\\\"et".repeat(20);
        let text = long_withheld(&format!(
            "x is invalid: spec.a: Invalid value: \"{long}\": must be short, spec.b: Invalid value: \"ab\": no"
        ));
        assert_eq!(
            text,
            format!(
                "x is invalid: spec.a: Invalid value: (a value of {} bytes): must be short, spec.b: Invalid value: \"ab\": no",
                long.len() + 2
            )
        );
    }

    /// With a recursive call for each of them, the stack would overflow.
    #[test]
    fn of_a_refusal_without_end_the_beginning_is_told() {
        let one = "spec.a: Invalid value: \"x\": no, ";
        let text = long_withheld(&one.repeat(1_000_000));
        assert!(
            text.starts_with(one) && text.len() < MOST_READ + one.len(),
            "{}",
            text.len()
        );
        let long = format!("Invalid value: \"{}", "s3cret".repeat(1_000_000));
        assert_eq!(
            long_withheld(&long),
            "Invalid value: (a value of 6000001 bytes)"
        );
        assert_eq!(long_withheld(&"é".repeat(1_000_000)).len(), MOST_READ);
    }

    #[test]
    fn objects_and_lists_are_left_out_to_their_end() {
        let secret = format!("user: hunter2, {}", "x".repeat(LONG));
        for value in [
            format!(r#"{{"v":"{secret}"}}"#),
            format!(r#"[{{"v":"a \" quote: {secret}"}}]"#),
            format!(r#"map[string]interface {{}}{{"v":"{secret}"}}"#),
            format!("map[v:{secret}]"),
            format!(r#"{{"cut":"{secret}"#),
        ] {
            let cut = value.starts_with("{\"cut");
            let more = if cut { "" } else { ": must be short" };
            let text = long_withheld(&format!("spec.a: Duplicate value: {value}{more}"));
            let expected = format!(
                "spec.a: Duplicate value: (a value of {} bytes){more}",
                value.len()
            );
            assert_eq!(text, expected);
        }
        let short = r#"spec.a: Invalid value: {"a":"b: c"}: no, spec.b: Invalid value: 7: no"#;
        assert_eq!(long_withheld(short), short);
        assert_eq!(
            all_withheld(short),
            "spec.a: Invalid value: (withheld): no, spec.b: Invalid value: (withheld): no"
        );
        assert_eq!(
            all_withheld("a: Invalid value: map[v:hunter2]: no"),
            "a: Invalid value: (withheld): no"
        );
    }

    #[test]
    fn brackets_without_end_are_read_once() {
        let message = format!("a: Invalid value: {}", "{[\"".repeat(1_000_000));
        assert_eq!(
            long_withheld(&message),
            "a: Invalid value: (a value of 3000000 bytes)"
        );
    }
}
