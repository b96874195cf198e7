//! Numbers as the API server keeps them, and as kubectl makes texts of them.

use serde_json::{Number, Value};

/// Returns a float as it comes back from the API server, which writes it as Go does: a float without a fraction is an
/// integer then, unless it is very large. `None` if JSON has no such number.
pub(super) fn normalize(float: f64) -> Option<Value> {
    let text = as_json(float)?;
    // Zero has no sign when it is an integer.
    let text = if text == "-0" { "0" } else { &text };
    serde_json::from_str::<Number>(text).ok().map(Value::Number)
}

/// Returns a float in the fewest digits that distinguish it from others: with an exponent only if it is very large or
/// very small.
pub(crate) fn as_json(float: f64) -> Option<String> {
    if !float.is_finite() {
        return None;
    }
    if float == 0.0 || (1e-6..1e21).contains(&float.abs()) {
        return Some(float.to_string());
    }
    let scientific = format!("{float:e}");
    let is_small = scientific.contains("e-");
    Some(if is_small {
        scientific
    } else {
        scientific.replace('e', "e+")
    })
}

/// Returns the text that kubectl makes of a key that is a float: in the fewest digits that distinguish it from others
/// of single precision, and with an exponent from a million on.
pub(super) fn as_key(float: f64) -> String {
    // Digits are lost, and a too large number becomes infinite, as in kubectl.
    #[expect(clippy::cast_possible_truncation)]
    let single = float as f32;
    if single.is_nan() {
        return ".nan".to_owned();
    }
    if single.is_infinite() {
        return if single > 0.0 { ".inf" } else { "-.inf" }.to_owned();
    }
    let scientific = scientific(single);
    let Some((mantissa, exponent)) = scientific.split_once('e') else {
        return scientific;
    };
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if (-4..6).contains(&exponent) {
        // Rust writes no exponent of a float of double precision here, and no other digits.
        return scientific.parse::<f64>().unwrap_or_default().to_string();
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.abs())
}

/// Returns the fewest digits with an exponent. Of two that are as near, Go takes the even one, and Rust the larger one.
fn scientific(single: f32) -> String {
    let larger = format!("{single:e}");
    let digits = larger.bytes().take_while(|it| *it != b'e');
    let count = digits.filter(u8::is_ascii_digit).count();
    let even = format!("{single:.*e}", count.saturating_sub(1));
    if even.parse() == Ok(single) {
        even
    } else {
        larger
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_come_back_from_the_api_server_as_go_writes_them() {
        for (float, text) in [
            (1.0, "1"),
            (-0.0, "0"),
            (1000.5, "1000.5"),
            (1e20, "100000000000000000000"),
            (18_446_744_073_709_551_615.0, "18446744073709552000"),
            (1e21, "1e+21"),
            (1e-7, "1e-7"),
        ] {
            let read: Number = serde_json::from_str(text).unwrap();
            assert_eq!(normalize(float), Some(Value::Number(read)), "{text}");
        }
        assert_eq!(normalize(f64::INFINITY), None);
        assert_eq!(normalize(f64::NAN), None);
    }

    #[test]
    fn keys_lose_the_digits_that_values_keep() {
        for (float, key) in [
            (1.1, "1.1"),
            (1.0, "1"),
            (-0.0, "-0"),
            (123_456.0, "123456"),
            (1e6, "1e+06"),
            (20_241_231.1, "2.0241232e+07"),
            (304_210.63, "304210.62"),
            (0.0001, "0.0001"),
            (0.000_000_1, "1e-07"),
            (1e300, ".inf"),
            (f64::NAN, ".nan"),
        ] {
            assert_eq!(as_key(float), key);
        }
    }
}
