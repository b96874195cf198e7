//! Evaluation of label selectors by the rules of Kubernetes.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::core::{Selector, SelectorExt as _};

/// Returns true if the selector matches the labels. An empty selector matches all labels; one with an unknown
/// operator matches none.
#[must_use]
pub fn selects(selector: &LabelSelector, labels: &BTreeMap<String, String>) -> bool {
    Selector::try_from(selector.clone()).is_ok_and(|selector| selector.matches(labels))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn is_selected(selector: Value) -> bool {
        let labels = [("env", "production"), ("team", "a")];
        let labels = labels.map(|(key, value)| (key.to_owned(), value.to_owned()));
        selects(&serde_json::from_value(selector).unwrap(), &labels.into())
    }

    #[test]
    fn a_selector_selects_what_all_of_it_holds_of() {
        for (selector, expected) in [
            (json!({}), true),
            (
                json!({ "matchLabels": { "env": "production", "team": "a" } }),
                true,
            ),
            (
                json!({ "matchLabels": { "env": "production", "team": "b" } }),
                false,
            ),
            (json!({ "matchLabels": { "missing": "" } }), false),
            (
                json!({ "matchLabels": { "team": "a" }, "matchExpressions": [{ "key": "env", "operator": "Exists" }] }),
                true,
            ),
            (
                json!({ "matchLabels": { "team": "b" }, "matchExpressions": [{ "key": "env", "operator": "Exists" }] }),
                false,
            ),
        ] {
            assert_eq!(is_selected(selector.clone()), expected, "{selector}");
        }
    }

    #[test]
    fn a_label_that_is_missing_is_in_no_list_and_so_not_in_it() {
        for (key, operator, values, expected) in [
            ("env", "In", json!(["test", "production"]), true),
            ("env", "In", json!(["test"]), false),
            ("missing", "In", json!([""]), false),
            ("env", "NotIn", json!(["test"]), true),
            ("env", "NotIn", json!(["production"]), false),
            ("missing", "NotIn", json!(["test"]), true),
            ("env", "Exists", Value::Null, true),
            ("missing", "Exists", Value::Null, false),
            ("env", "DoesNotExist", Value::Null, false),
            ("missing", "DoesNotExist", Value::Null, true),
            ("env", "Gt", json!(["1"]), false),
            ("env", "In", Value::Null, false),
        ] {
            let selector = json!({ "matchExpressions": [{ "key": key, "operator": operator, "values": values }] });
            assert_eq!(is_selected(selector.clone()), expected, "{selector}");
        }
    }
}
