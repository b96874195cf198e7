//! Numbers of JSON by their value, whether or not they are written with a fraction.

use std::cmp::Ordering;

use serde_json::Number;

/// Returns the number as an integer, if it is one of at most 64 bits.
#[must_use]
pub fn integer(number: &Number) -> Option<i128> {
    if let Some(integer) = number.as_i128() {
        return Some(integer);
    }
    let float = number.as_f64()?;
    let fits = float.fract() == 0.0 && float >= -(2f64.powi(63)) && float < 2f64.powi(64);
    // The range was checked, and there is no fraction to lose.
    #[expect(clippy::cast_possible_truncation)]
    fits.then_some(float as i128)
}

/// Compares integers as integers, so that those above 2^53 stay distinct, and all others as floats.
pub(crate) fn compare(left: &Number, right: &Number) -> Ordering {
    if let (Some(left), Some(right)) = (integer(left), integer(right)) {
        return left.cmp(&right);
    }
    // JSON has no NaN, so every pair is ordered.
    left.as_f64()
        .partial_cmp(&right.as_f64())
        .unwrap_or(Ordering::Equal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_compare_by_value_and_exactly() {
        let order = |left: &str, right: &str| {
            let number = |text| serde_json::from_str::<Number>(text).unwrap();
            compare(&number(left), &number(right))
        };
        for (smaller, larger) in [
            ("1", "2"),
            ("1.5", "2"),
            ("-1e300", "0"),
            ("9007199254740992", "9007199254740993"),
            ("9007199254740992.0", "9007199254740993"),
        ] {
            assert_eq!(order(smaller, larger), Ordering::Less, "{smaller} {larger}");
            assert_eq!(order(larger, smaller), Ordering::Greater);
        }
        for (one, other) in [("1", "1.0"), ("100", "1e2"), ("0.5", "5e-1"), ("0", "-0.0")] {
            assert_eq!(order(one, other), Ordering::Equal, "{one} {other}");
        }
    }
}
