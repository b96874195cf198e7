//! JSON as text inside a longer string, in the form of Go's `encoding/json`: templates made for Cartographer hash
//! and compare such strings.

use std::io::{self, Write};

use serde::Serialize as _;
use serde_json::{Serializer, Value, ser::Formatter};

/// Formats a value as compact JSON, its fractions by `float`: keys sorted; `<`, `>`, `&`, U+2028 and U+2029
/// escaped. Only for values that are shallow.
#[must_use]
pub fn json(value: &Value, float: fn(f64) -> String) -> String {
    let mut out = Vec::new();
    let mut serializer = Serializer::with_formatter(&mut out, AsGo { float });
    // Writing to memory does not fail, and keys are strings.
    let _ = value.serialize(&mut serializer);
    String::from_utf8(out).unwrap_or_default()
}

/// Formats a number that is no integer by the rule of ECMAScript, as Go does.
#[must_use]
pub fn float(float: f64) -> String {
    let size = float.abs();
    if size == 0.0 || (1e-6..1e21).contains(&size) {
        return float.to_string();
    }
    let text = format!("{float:e}");
    match text.split_once('e') {
        Some((digits, exponent)) if !exponent.starts_with('-') => format!("{digits}e+{exponent}"),
        _ => text,
    }
}

struct AsGo {
    float: fn(f64) -> String,
}

impl Formatter for AsGo {
    fn write_f64<W: ?Sized + Write>(&mut self, out: &mut W, float: f64) -> io::Result<()> {
        out.write_all((self.float)(float).as_bytes())
    }

    fn write_string_fragment<W: ?Sized + Write>(
        &mut self,
        out: &mut W,
        text: &str,
    ) -> io::Result<()> {
        const ESCAPED: [char; 5] = ['<', '>', '&', '\u{2028}', '\u{2029}'];
        for piece in text.split_inclusive(ESCAPED) {
            let plain = piece.trim_end_matches(ESCAPED);
            out.write_all(plain.as_bytes())?;
            for c in piece[plain.len()..].chars() {
                write!(out, "\\u{:04x}", u32::from(c))?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn text(value: &Value) -> String {
        json(value, float)
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
