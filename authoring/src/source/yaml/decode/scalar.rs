//! Types of scalars, by their notation or their tag: the rules of go-yaml v2, in its order.

use super::{super::parser::Scalar, base64::decode, timestamp::is_timestamp};

const TAGS: &str = "tag:yaml.org,2002:";

/// Value of a scalar as go-yaml reads it.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Resolved {
    Null,
    Truth(bool),
    Integer(i64),
    /// An integer of 2^63 and more.
    Large(u64),
    Float(f64),
    Text(String),
}

/// Resolves a scalar, or returns the reason why it cannot be resolved.
pub(super) fn resolve(scalar: &Scalar) -> Result<Resolved, String> {
    let text = scalar.text.as_str();
    match scalar.tag.as_deref() {
        None if scalar.is_implicit => Ok(by_looks(text)),
        None => Ok(Resolved::Text(text.to_owned())),
        Some(tag) => match tag.strip_prefix(TAGS) {
            Some(kind) => by_tag(kind, text),
            None => Ok(Resolved::Text(text.to_owned())),
        },
    }
}

fn by_tag(kind: &str, text: &str) -> Result<Resolved, String> {
    let found = by_looks(text);
    let is_meant = match (kind, &found) {
        ("bool", Resolved::Truth(_))
        | ("int", Resolved::Integer(_) | Resolved::Large(_))
        | ("null", Resolved::Null)
        | ("float", Resolved::Float(_)) => true,
        // The range is that of 64 bits, as a float has them: digits may be lost, as in go-yaml.
        #[expect(clippy::cast_precision_loss)]
        ("float", Resolved::Integer(integer)) => return Ok(Resolved::Float(*integer as f64)),
        ("timestamp", _) if is_timestamp(text) => return Ok(Resolved::Text(text.to_owned())),
        ("bool" | "int" | "null" | "float" | "timestamp", _) => false,
        ("binary", _) => return binary(text),
        _ => return Ok(Resolved::Text(text.to_owned())),
    };
    if is_meant {
        return Ok(found);
    }
    Err(format!(
        "this is not of the type {kind}, which its tag names"
    ))
}

fn by_looks(text: &str) -> Resolved {
    let known = match text {
        "" | "~" | "null" | "Null" | "NULL" => Some(Resolved::Null),
        ".nan" | ".NaN" | ".NAN" => Some(Resolved::Float(f64::NAN)),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => {
            Some(Resolved::Float(f64::INFINITY))
        }
        "-.inf" | "-.Inf" | "-.INF" => Some(Resolved::Float(f64::NEG_INFINITY)),
        _ => truth(text).map(Resolved::Truth),
    };
    let number = || match text.bytes().next() {
        Some(b'.') => float(text),
        Some(b'0'..=b'9' | b'+' | b'-') => number(text),
        _ => None,
    };
    known
        .or_else(number)
        .unwrap_or_else(|| Resolved::Text(text.to_owned()))
}

fn truth(text: &str) -> Option<bool> {
    match text {
        "y" | "Y" | "yes" | "Yes" | "YES" | "on" | "On" | "ON" | "true" | "True" | "TRUE" => {
            Some(true)
        }
        "n" | "N" | "no" | "No" | "NO" | "off" | "Off" | "OFF" | "false" | "False" | "FALSE" => {
            Some(false)
        }
        _ => None,
    }
}

fn number(text: &str) -> Option<Resolved> {
    let plain = text.replace('_', "");
    integer(&plain)
        .or_else(|| plain_float(&plain))
        .or_else(|| signed_binary(&plain))
}

/// Parses an integer with the prefix of its base: a zero alone is a prefix of base eight.
fn integer(text: &str) -> Option<Resolved> {
    let (sign, digits) = match text.split_at_checked(1) {
        Some((sign @ ("-" | "+"), digits)) => (sign, digits),
        _ => ("", text),
    };
    let (digits, base) = match digits.as_bytes() {
        [b'0', b'x' | b'X', _, ..] => (digits.get(2..)?, 16),
        [b'0', b'o' | b'O', _, ..] => (digits.get(2..)?, 8),
        [b'0', b'b' | b'B', _, ..] => (digits.get(2..)?, 2),
        [b'0', _, ..] => (digits.get(1..)?, 8),
        _ => (digits, 10),
    };
    if !digits.starts_with(|it: char| it.is_ascii_alphanumeric()) {
        return None;
    }
    match i64::from_str_radix(&format!("{sign}{digits}"), base) {
        Ok(integer) => Some(Resolved::Integer(integer)),
        Err(_) if sign.is_empty() => u64::from_str_radix(digits, base).ok().map(Resolved::Large),
        Err(_) => None,
    }
}

/// Parses a number with a point, an exponent or too many digits: it needs digits before the point or behind it.
fn plain_float(text: &str) -> Option<Resolved> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let begins = |text: &str| text.starts_with(|it: char| it.is_ascii_digit());
    let is_number = begins(unsigned) || unsigned.strip_prefix('.').is_some_and(begins);
    is_number.then(|| parsed(text)).flatten()
}

/// Parses a number that begins with a point. Underscores may stand between its digits.
fn float(text: &str) -> Option<Resolved> {
    let is_between = |(at, _): (usize, &str)| {
        let is_digit = |it: Option<&u8>| it.is_some_and(u8::is_ascii_digit);
        let bytes = text.as_bytes();
        let before = at.checked_sub(1).and_then(|it| bytes.get(it));
        is_digit(before) && is_digit(bytes.get(at + 1))
    };
    let is_well_formed = text.match_indices('_').all(is_between);
    is_well_formed
        .then(|| parsed(&text.replace('_', "")))
        .flatten()
}

/// Parses a float, or returns `None` if it is beyond the range.
fn parsed(text: &str) -> Option<Resolved> {
    let is_of_number = |c: char| c.is_ascii_digit() || matches!(c, '.' | '+' | '-' | 'e' | 'E');
    let is_number = text.chars().all(is_of_number);
    let value = is_number.then(|| text.parse::<f64>().ok()).flatten();
    value.filter(|it| it.is_finite()).map(Resolved::Float)
}

/// Parses `0b-1`: go-yaml takes a sign behind the prefix too.
fn signed_binary(text: &str) -> Option<Resolved> {
    let digits = text.strip_prefix("0b")?;
    let integer = i64::from_str_radix(digits, 2).ok()?;
    Some(Resolved::Integer(integer))
}

/// Decodes text in base 64. Each byte that belongs to no character is replaced, as Go does it for JSON.
fn binary(text: &str) -> Result<Resolved, String> {
    let bytes = decode(text).ok_or("!!binary value contains invalid base64 data")?;
    let mut text = String::new();
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        let replaced = chunk.invalid().iter().map(|_| char::REPLACEMENT_CHARACTER);
        text.extend(replaced);
    }
    Ok(Resolved::Text(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn looks(text: &str) -> Resolved {
        by_looks(text)
    }

    #[test]
    fn words_for_truth_are_those_of_yaml_1_1_in_three_spellings() {
        for text in ["y", "Yes", "ON", "true", "TRUE"] {
            assert_eq!(looks(text), Resolved::Truth(true), "{text}");
        }
        for text in ["n", "No", "OFF", "False"] {
            assert_eq!(looks(text), Resolved::Truth(false), "{text}");
        }
        for text in ["tRue", "oN", "yEs", "nO", "nULL"] {
            assert_eq!(looks(text), Resolved::Text(text.to_owned()));
        }
    }

    #[test]
    fn integers_have_a_base_and_underscores() {
        for (text, integer) in [
            ("0755", 0o755),
            ("0x1F", 31),
            ("0O17", 15),
            ("-0b11", -3),
            ("0b-1", -1),
            ("1_000", 1000),
            ("-_1", -1),
            ("+1", 1),
            ("-9223372036854775808", i64::MIN),
        ] {
            assert_eq!(looks(text), Resolved::Integer(integer), "{text}");
        }
        let large = Resolved::Large(u64::MAX);
        assert_eq!(looks("18446744073709551615"), large);
        assert_eq!(looks("0xFFFFFFFFFFFFFFFF"), large);
    }

    #[test]
    fn floats_beyond_their_range_are_texts() {
        for (text, float) in [
            ("1_000.5", 1000.5),
            ("0_820", 820.0),
            ("1e3", 1000.0),
            (".5", 0.5),
            ("5.", 5.0),
            (".5_0", 0.5),
            ("18446744073709551616", 18_446_744_073_709_551_616.0),
            ("1e-999", 0.0),
        ] {
            assert_eq!(looks(text), Resolved::Float(float), "{text}");
        }
        for text in [
            "83e2010",
            "-7e999",
            "1e999",
            ".5_",
            "._5",
            ".",
            "1e",
            "0x",
            "0x1p4",
            "1.2.3",
            "+-1",
            "2024-01-02",
            "0xFFFFFFFFFFFFFFFFFF",
            "inf",
        ] {
            assert_eq!(looks(text), Resolved::Text(text.to_owned()));
        }
    }

    #[test]
    fn a_tag_says_what_a_scalar_has_to_be() {
        let tagged = |tag: &str, text: &str| {
            resolve(&Scalar {
                text: text.to_owned(),
                tag: Some(format!("{TAGS}{tag}")),
                is_implicit: false,
            })
        };
        let text = |text: &str| Ok(Resolved::Text(text.to_owned()));
        assert_eq!(tagged("str", "12"), text("12"));
        assert_eq!(tagged("int", "12"), Ok(Resolved::Integer(12)));
        assert_eq!(tagged("float", "12"), Ok(Resolved::Float(12.0)));
        assert_eq!(tagged("timestamp", "2024-01-02"), text("2024-01-02"));
        assert_eq!(tagged("binary", "aGVsbG8="), text("hello"));
        assert_eq!(tagged("other", "12"), text("12"));
        for (tag, value) in [
            ("int", "x"),
            ("timestamp", "2024-13-02"),
            ("binary", "a"),
            ("null", "x"),
        ] {
            assert!(tagged(tag, value).is_err(), "!!{tag} {value}");
        }
    }
}
