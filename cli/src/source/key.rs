//! Keys and values as kubectl reads them: by YAML 1.1, where more than text is a key, and a key is text again afterwards.

use std::str::FromStr;

/// What kubectl makes of a key without quotes, if it is not what is written.
pub(crate) fn as_kubectl_reads(written: &str) -> Option<String> {
    read(written, single)
}

/// What kubectl makes of a value without quotes, if it is not what is written.
pub(crate) fn value_as_kubectl_reads(written: &str) -> Option<String> {
    read(written, double)
}

fn read(written: &str, float: fn(&str) -> Option<String>) -> Option<String> {
    let number = || number(written, float);
    let read = truth(written).map_or_else(number, |truth| Some(truth.to_string()))?;
    (read != written).then_some(read)
}

fn truth(written: &str) -> Option<bool> {
    match written {
        "y" | "Y" | "yes" | "Yes" | "YES" | "on" | "On" | "ON" | "true" | "True" | "TRUE" => {
            Some(true)
        }
        "n" | "N" | "no" | "No" | "NO" | "off" | "Off" | "OFF" | "false" | "False" | "FALSE" => {
            Some(false)
        }
        _ => None,
    }
}

fn number(written: &str, float: fn(&str) -> Option<String>) -> Option<String> {
    if !written.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '.')) {
        return None;
    }
    let plain = written.replace('_', "");
    integer(&plain)
        .map(|integer| integer.to_string())
        .or_else(|| float(&plain))
}

/// An integer with the prefix of its base: a zero alone is one of base eight.
fn integer(text: &str) -> Option<i64> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    let lower = digits.to_ascii_lowercase();
    let based = |prefix: &str, base| Some((lower.strip_prefix(prefix)?, base));
    let (digits, base) = based("0x", 16)
        .or_else(|| based("0b", 2))
        .or_else(|| based("0o", 8))
        .or_else(|| based("0", 8).filter(|(rest, _)| !rest.is_empty()))
        .unwrap_or((&lower, 10));
    if !digits.starts_with(|c: char| c.is_ascii_alphanumeric()) {
        return None;
    }
    i64::from_str_radix(&format!("{sign}{digits}"), base).ok()
}

/// A number with a point or an exponent, in the fewest digits that tell it from others of single precision: with an
/// exponent from a million on. So keys become text again.
fn single(text: &str) -> Option<String> {
    let value: f32 = float(text)?;
    if !value.is_finite() {
        return None;
    }
    let scientific = format!("{value:e}");
    let (mantissa, exponent) = scientific.split_once('e')?;
    let exponent: i32 = exponent.parse().ok()?;
    if (-4..=5).contains(&exponent) {
        return Some(value.to_string());
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    Some(format!("{mantissa}e{sign}{:02}", exponent.abs()))
}

/// The same of double precision, as Go writes it in JSON: with an exponent only if it is very large or very small.
fn double(text: &str) -> Option<String> {
    let value = float(text).filter(|value: &f64| value.is_finite())?;
    if value == 0.0 || (1e-6..1e21).contains(&value.abs()) {
        return Some(value.to_string());
    }
    let scientific = format!("{value:e}");
    let is_large = !scientific.contains("e-");
    Some(if is_large {
        scientific.replace('e', "e+")
    } else {
        scientific
    })
}

fn float<T: FromStr>(text: &str) -> Option<T> {
    let is_of_number = |c: char| c.is_ascii_digit() || matches!(c, '.' | '+' | '-' | 'e' | 'E');
    let is_number = text.chars().all(is_of_number);
    is_number.then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_for_truth_and_numbers_in_another_spelling_are_read_as_kubectl_does() {
        for (written, read) in [
            ("y", "true"),
            ("On", "true"),
            ("TRUE", "true"),
            ("n", "false"),
            ("off", "false"),
            ("0755", "493"),
            ("0x1F", "31"),
            ("1_000", "1000"),
            ("+1", "1"),
            ("1.10", "1.1"),
            ("1.0", "1"),
            (".5", "0.5"),
            ("1e6", "1e+06"),
        ] {
            assert_eq!(
                as_kubectl_reads(written).as_deref(),
                Some(read),
                "{written}"
            );
        }
    }

    #[test]
    fn values_keep_the_digits_that_keys_lose() {
        for (written, value, key) in [
            ("2024.10", "2024.1", "2024.1"),
            ("20241231.10", "20241231.1", "2.0241232e+07"),
            ("3185e12", "3185000000000000", "3.185e+15"),
            ("3185e99", "3.185e+102", ""),
            ("0.00000010", "1e-7", "1e-07"),
            ("0089", "89", "89"),
            ("no", "false", "false"),
        ] {
            assert_eq!(value_as_kubectl_reads(written).as_deref(), Some(value));
            let read = as_kubectl_reads(written);
            assert_eq!(read.unwrap_or_default(), key);
        }
    }

    #[test]
    fn what_is_text_to_kubectl_stays_as_it_is() {
        for written in [
            "true",
            "false",
            "yEs",
            "oN",
            "yes!",
            "1",
            "-2",
            "1.5",
            "1.2.3",
            "2024-01-02",
            "10m",
            "app",
            ".x",
            "-",
            "+-1",
            "09x",
            "0x",
            "1e",
            "",
        ] {
            assert_eq!(as_kubectl_reads(written), None, "{written}");
        }
    }
}
