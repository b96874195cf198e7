//! Pages of lists, item by item.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::{Value, value::RawValue};

use cartouche_protocol::object::Object;

/// A page of a list. Its items are still text: an unreadable one spoils no other, and only one at a time is a tree,
/// which takes many times the memory.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Page<'a> {
    #[serde(borrow, default)]
    api_version: Cow<'a, str>,
    #[serde(borrow, default)]
    kind: Cow<'a, str>,
    #[serde(default)]
    metadata: Meta,
    #[serde(borrow, default)]
    items: Option<Vec<&'a RawValue>>,
}

#[derive(Default, Deserialize)]
pub(super) struct Meta {
    #[serde(rename = "continue")]
    next: Option<String>,
}

/// A list, reduced to its continuation.
#[derive(Deserialize)]
pub(super) struct PageRest {
    #[serde(default)]
    metadata: Meta,
}

impl PageRest {
    /// Returns the token of the next page, if there is one.
    pub(super) fn next(self) -> Option<String> {
        self.metadata.next.filter(|token| !token.is_empty())
    }
}

impl Page<'_> {
    /// Returns the token of the next page, if there is one.
    pub(super) fn next(&self) -> Option<&str> {
        let token = self.metadata.next.as_deref();
        token.filter(|token| !token.is_empty())
    }

    /// Returns its items as text.
    pub(super) fn items(&self) -> impl Iterator<Item = &str> {
        let items = self.items.iter().flatten();
        items.map(|text| text.get())
    }

    /// Parses one of its items.
    pub(super) fn object(&self, text: &str) -> serde_json::Result<Value> {
        let Object(mut item) = serde_json::from_str(text)?;
        // Items in a list of a built-in kind have neither field.
        if let Value::Object(fields) = &mut item {
            let kind = self.kind.trim_end_matches("List");
            fields
                .entry("apiVersion")
                .or_insert_with(|| self.api_version.as_ref().into());
            fields.entry("kind").or_insert_with(|| kind.into());
        }
        Ok(item)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::Page;

    #[test]
    fn items_know_their_kind_and_one_that_is_too_deep_spoils_no_other() {
        let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
        let text = format!(
            r#"{{"apiVersion":"batch/v1","kind":"JobList","metadata":{{"continue":"x"}},"items":[{{"a":{deep}}},{{"kind":"Own"}}]}}"#
        );
        let page: Page<'_> = serde_json::from_str(&text).unwrap();
        assert_eq!(page.next(), Some("x"));
        let kinds: Vec<Value> = page
            .items()
            .map(|text| page.object(text).unwrap()["kind"].clone())
            .collect();
        assert_eq!(kinds, [json!("Job"), json!("Own")]);
    }
}
