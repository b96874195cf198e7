//! JSON as text inside a longer string, written as Go's `encoding/json` writes it: templates made for
//! Cartographer hash and compare such strings.

use std::fmt::Write as _;

use serde_json::{Number, Value};

/// Appends the value as compact JSON: keys sorted; `<`, `>`, `&`, U+2028 and U+2029 escaped. Only for
/// values that are shallow.
pub(crate) fn append_json(out: &mut String, value: &Value) {
    append_json_with(out, value, append_number);
}

/// The same with numbers written in a way of one's own.
pub(crate) fn append_json_with(
    out: &mut String,
    value: &Value,
    append_number: fn(&mut String, &Number),
) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(flag) => out.push_str(if *flag { "true" } else { "false" }),
        Value::Number(number) => append_number(out, number),
        Value::String(text) => append_string(out, text),
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                append_json_with(out, item, append_number);
            }
            out.push(']');
        }
        Value::Object(map) => {
            out.push('{');
            for (index, (key, item)) in map.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                append_string(out, key);
                out.push(':');
                append_json_with(out, item, append_number);
            }
            out.push('}');
        }
    }
}

/// Integers exactly, however large; other numbers by the rule of ECMAScript, as Go does.
pub(crate) fn append_number(out: &mut String, number: &Number) {
    // Writing to a string cannot fail.
    let _ = match number.as_f64() {
        Some(float) if number.is_f64() => {
            let size = float.abs();
            if size != 0.0 && !(1e-6..1e21).contains(&size) {
                let text = format!("{float:e}");
                match text.split_once('e') {
                    Some((digits, exponent)) if !exponent.starts_with('-') => {
                        write!(out, "{digits}e+{exponent}")
                    }
                    _ => write!(out, "{text}"),
                }
            } else {
                write!(out, "{float}")
            }
        }
        _ => write!(out, "{number}"),
    };
}

fn append_string(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' | '\0'..='\u{1f}' => {
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            _ => out.push(c),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn text(value: &Value) -> String {
        let mut out = String::new();
        append_json(&mut out, value);
        out
    }

    #[test]
    fn numbers_read_as_go_writes_them() {
        for (value, expected) in [
            (json!(3), "3"),
            (json!(3.0), "3"),
            (json!(1.5), "1.5"),
            (json!(1_000_000), "1000000"),
            (json!(1e20), "100000000000000000000"),
            (json!(1e21), "1e+21"),
            (json!(-2.5e300), "-2.5e+300"),
            (json!(1e-6), "0.000001"),
            (json!(1e-7), "1e-7"),
            (json!(1.25e-9), "1.25e-9"),
            (json!(0.0), "0"),
            (json!(-7), "-7"),
        ] {
            assert_eq!(text(&value), expected);
        }
    }

    #[test]
    fn integers_beyond_the_precision_of_a_float_are_exact() {
        assert_eq!(text(&json!(9_007_199_254_740_993_u64)), "9007199254740993");
        assert_eq!(text(&json!(u64::MAX)), "18446744073709551615");
        assert_eq!(text(&json!(i64::MIN)), "-9223372036854775808");
    }

    #[test]
    fn what_could_end_a_script_in_a_page_is_escaped() {
        assert_eq!(
            text(&json!("a<b>&\u{2028}\u{2029}\"\\\n\t\r\u{1}é")),
            r#""a\u003cb\u003e\u0026\u2028\u2029\"\\\n\t\r\u0001é""#
        );
    }

    #[test]
    fn keys_are_sorted_and_nothing_is_spaced() {
        assert_eq!(
            text(&json!({"b": [1, null, true], "a": {"<": false}})),
            r#"{"a":{"\u003c":false},"b":[1,null,true]}"#
        );
    }
}
