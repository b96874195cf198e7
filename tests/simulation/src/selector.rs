//! Label selectors and the one field selector that the controller uses.

use serde_json::Value;

/// The selection of a list or a watch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selector {
    labels: Vec<(String, Option<String>)>,
    name: Option<String>,
}

impl Selector {
    /// Parses `key`, `key=value` and `metadata.name=value`.
    #[must_use]
    pub fn parse(labels: &str, fields: &str) -> Self {
        let parts = labels.split(',').filter(|part| !part.is_empty());
        Self {
            labels: parts
                .map(|part| match part.split_once('=') {
                    Some((key, value)) => (
                        key.to_owned(),
                        Some(value.trim_start_matches('=').to_owned()),
                    ),
                    None => (part.to_owned(), None),
                })
                .collect(),
            name: fields.strip_prefix("metadata.name=").map(str::to_owned),
        }
    }

    /// Returns true if it selects an object.
    #[must_use]
    pub fn matches(&self, object: &Value) -> bool {
        let metadata = &object["metadata"];
        let labelled = self.labels.iter().all(|(key, value)| {
            let has = metadata["labels"].get(key).and_then(Value::as_str);
            match value {
                None => has.is_some(),
                Some(value) => has == Some(value),
            }
        });
        let named = self.name.as_deref();
        labelled && named.is_none_or(|name| metadata["name"].as_str() == Some(name))
    }
}

#[cfg(test)]
mod tests {
    use super::Selector;
    use serde_json::json;

    #[test]
    fn a_selector_asks_for_labels_and_for_a_name() {
        let object = json!({ "metadata": { "name": "a", "labels": { "x/y": "1" } } });
        assert!(Selector::parse("x/y", "").matches(&object));
        assert!(Selector::parse("x/y=1", "metadata.name=a").matches(&object));
        assert!(!Selector::parse("x/y=2", "").matches(&object));
        assert!(!Selector::parse("", "metadata.name=b").matches(&object));
    }
}
