//! Values that may be shown to nobody.

use std::{collections::BTreeMap, fmt};

use serde_json::Value;

/// Outputs by name whose values go into Secrets, and nowhere else: what shows them shows their names.
#[derive(Clone, Default, PartialEq)]
pub struct Sensitive(BTreeMap<String, Value>);

impl Sensitive {
    /// These values.
    #[must_use]
    pub fn new(values: BTreeMap<String, Value>) -> Self {
        Self(values)
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The names of the outputs.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// The value of one of them, which is for a Secret.
    #[must_use]
    pub fn reveal(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }
}

impl fmt::Debug for Sensitive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.names()).finish()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Sensitive;

    #[test]
    fn names_are_shown_and_values_are_not() {
        let values = [("password".to_owned(), json!("7731"))].into();
        let shown = format!("{:?}", Sensitive::new(values));
        assert_eq!(shown, r#"{"password"}"#);
    }
}
