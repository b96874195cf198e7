//! Values that are known in part.

use serde_json::Value;

/// A value of which some parts are decided later, by tags.
#[derive(Clone, Debug)]
pub(crate) enum Partial {
    /// Nothing is known of it.
    Open,
    /// Only its type is known, as JSON Schema calls it.
    Typed(String),
    Scalar(Value),
    Array(Vec<Partial>),
    Object(Vec<(String, Partial)>),
}

impl From<&Value> for Partial {
    fn from(value: &Value) -> Self {
        match value {
            Value::Array(items) => Self::Array(items.iter().map(Self::from).collect()),
            Value::Object(fields) => {
                let fields = fields
                    .iter()
                    .map(|(key, value)| (key.clone(), value.into()));
                Self::Object(fields.collect())
            }
            scalar => Self::Scalar(scalar.clone()),
        }
    }
}
