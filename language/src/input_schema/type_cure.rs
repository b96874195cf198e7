//! Cures for a value of another type than its schema requires.

use std::fmt;

use serde_json::Value;

use super::node::SchemaType;

/// The most frequent error in a YAML file. It is shown without the value, which may be confidential.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TypeCure {
    /// The value must be a text.
    AddQuotes,
    /// The text would fit without its quotes.
    TakeQuotesAway,
    /// The value must be an element of a list.
    AddDashes,
    /// There is no value.
    GiveValue,
}

impl TypeCure {
    /// Returns the cure that makes a value fit the required type, if it is obvious. Of an unknown or partial
    /// value, only its different type counts as known.
    #[must_use]
    pub fn find(wanted: SchemaType, value: Option<&Value>) -> Option<Self> {
        match (wanted, value) {
            (_, Some(Value::Null)) => Some(Self::GiveValue),
            (SchemaType::Array, _) => Some(Self::AddDashes),
            (SchemaType::String, Some(Value::Number(_) | Value::Bool(_))) => Some(Self::AddQuotes),
            (_, Some(Value::String(text))) if fits_bare(wanted, text) => Some(Self::TakeQuotesAway),
            _ => None,
        }
    }
}

impl fmt::Display for TypeCure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::AddQuotes => "put it in quotes",
            Self::TakeQuotesAway => "take the quotes away",
            Self::AddDashes => "begin every element with a dash, or put it in [brackets]",
            Self::GiveValue => "give it a value, or leave the key out",
        })
    }
}

/// Returns true if a text without its quotes has the type. Not every parser accepts `1.0` as an integer.
fn fits_bare(wanted: SchemaType, text: &str) -> bool {
    let bare = serde_json::from_str(text);
    bare.is_ok_and(|bare: Value| match wanted {
        SchemaType::Integer => bare.is_i64() || bare.is_u64(),
        SchemaType::Number => bare.is_number(),
        SchemaType::Boolean => bare.is_boolean(),
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_cure_is_named_for_a_type_only_where_it_mends_the_value() {
        use SchemaType::{Any, Array, Boolean, IntOrString, Integer, Number, Object, String};
        use TypeCure::{AddDashes, AddQuotes, GiveValue, TakeQuotesAway};
        let values = [
            json!("true"),
            json!("5"),
            json!("1.5"),
            json!("nan"),
            json!(5),
            json!(true),
            json!({}),
            json!(null),
        ];
        let (none, quote) = (None, Some(AddQuotes));
        let (bare, dash) = (Some(TakeQuotesAway), Some(AddDashes));
        // If the type fits, the cure is never asked for, so the answer does not matter: that of a text for String.
        let cases = [
            (Boolean, [bare, none, none, none, none, none, none]),
            (Integer, [none, bare, none, none, none, none, none]),
            (Number, [none, bare, bare, none, none, none, none]),
            (String, [none, none, none, none, quote, quote, none]),
            (IntOrString, [none; 7]),
            (Array, [dash; 7]),
            (Object, [none; 7]),
            (Any, [none; 7]),
        ];
        for (wanted, cures) in cases {
            let cures = cures.into_iter().chain([Some(GiveValue)]);
            for (value, cure) in values.iter().zip(cures) {
                assert_eq!(
                    TypeCure::find(wanted, Some(value)),
                    cure,
                    "{wanted:?} {value}"
                );
            }
        }
        assert_eq!(TypeCure::find(Array, None), Some(AddDashes));
        assert_eq!(TypeCure::find(Integer, None), None);
    }
}
