//! Quantities as numbers.

use serde_json::Value;

/// A quantity with its suffix.
pub(super) struct Quantity<'a> {
    pub(super) number: f64,
    pub(super) suffix: &'a str,
}

/// The factor of each suffix.
const SUFFIXES: [(&str, f64); 16] = [
    ("", 1.0),
    ("n", 1e-9),
    ("u", 1e-6),
    ("m", 1e-3),
    ("k", 1e3),
    ("M", 1e6),
    ("G", 1e9),
    ("T", 1e12),
    ("P", 1e15),
    ("E", 1e18),
    ("Ki", 1024.0),
    ("Mi", 1_048_576.0),
    ("Gi", 1_073_741_824.0),
    ("Ti", 1_099_511_627_776.0),
    ("Pi", 1_125_899_906_842_624.0),
    ("Ei", 1_152_921_504_606_846_976.0),
];

impl Quantity<'_> {
    pub(super) fn amount(&self) -> f64 {
        let factor = SUFFIXES.iter().find(|(suffix, _)| *suffix == self.suffix);
        self.number * factor.map_or(1.0, |(_, factor)| *factor)
    }

    /// Returns true if it is more, and not the same in another notation.
    pub(super) fn is_more_than(&self, other: &Self) -> bool {
        self.amount() > other.amount() * (1.0 + 1e-9)
    }
}

/// Reads a quantity, or returns `None` if it is not one.
pub(super) fn read(value: &Value) -> Option<Quantity<'_>> {
    let text = match value {
        Value::Number(number) => {
            let (number, suffix) = (number.as_f64()?, "");
            return Some(Quantity { number, suffix });
        }
        Value::String(text) => text.as_str(),
        _ => return None,
    };
    let end = text.find(|it: char| !it.is_ascii_digit() && it != '.' && it != '+' && it != '-');
    let (number, suffix) = text.split_at(end.unwrap_or(text.len()));
    if let Ok(number) = text.parse() {
        return Some(Quantity { number, suffix: "" });
    }
    let is_known = SUFFIXES.iter().any(|(known, _)| *known == suffix);
    let number = number.parse().ok().filter(|_| is_known)?;
    Some(Quantity { number, suffix })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_quantity_is_the_same_however_it_is_written() {
        let is_more = |a: Value, b: Value| read(&a).unwrap().is_more_than(&read(&b).unwrap());
        for (more, less) in [
            ("2", "1500m"),
            ("1Gi", "1G"),
            ("1Mi", "1000k"),
            ("1e3", "999"),
        ] {
            assert!(is_more(json!(more), json!(less)), "{more} {less}");
            assert!(!is_more(json!(less), json!(more)), "{less} {more}");
        }
        for (one, other) in [("300m", "0.3"), ("1Ki", "1024"), ("1e3", "1k")] {
            assert!(!is_more(json!(one), json!(other)), "{one} {other}");
            assert!(!is_more(json!(other), json!(one)), "{other} {one}");
        }
        assert!(!is_more(json!(1), json!("1")));
        assert!(read(&json!("2GB")).is_none());
    }
}
