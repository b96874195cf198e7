//! Names and labels that the API server refuses.

use cartouche_crds::is_dns_subdomain;
use cartouche_language::{is_label_key, is_label_value, syntax};
use serde_json::Value;

use super::{refused::Refused, restart_policy};
use crate::{
    finding::{Finding, Rule},
    source::{Document, Segment},
    template_file,
};

/// Bytes of a DNS subdomain.
const MAX_NAME: usize = 253;

/// Checks names and labels that stand in the template as they are.
pub(super) fn check_template(document: &Document) -> Vec<Finding> {
    let Some(body) = template_file::body(document) else {
        return Vec::new();
    };
    let refused = check(&body.to_value());
    let is_decided = |refused: &&Refused| {
        let text = body.follow(&refused.at).0.text();
        !text.is_some_and(syntax::may_hold_tags)
    };
    refused
        .iter()
        .filter(is_decided)
        .map(|refused| refused.finding(document, body))
        .collect()
}

/// Checks names and labels of an object of Cartouche.
pub(super) fn check_own(document: &Document) -> Vec<Finding> {
    let refused = check(&document.value);
    let findings = refused
        .iter()
        .map(|refused| refused.finding(document, &document.root));
    findings.collect()
}

/// Returns the parts of an object that the API server would refuse regardless of its schema.
pub(super) fn check(object: &Value) -> Vec<Refused> {
    let mut refused = Vec::new();
    let metadata = object.get("metadata");
    for (field, is_prefix) in [("generateName", true), ("name", false)] {
        let name = metadata
            .and_then(|metadata| metadata.get(field))
            .and_then(Value::as_str);
        if let Some(name) = name.filter(|name| !name.is_empty() && !is_subdomain(name, is_prefix)) {
            refused.push(Refused {
                at: vec![Segment::Key("metadata".into()), Segment::Key(field.into())],
                rule: Rule::Name,
                because: format!("metadata.{field} '{name}' is not allowed as a name"),
                help: help(name),
            });
        }
    }
    let labels = metadata
        .and_then(|metadata| metadata.get("labels"))
        .and_then(Value::as_object);
    for (key, value) in labels.into_iter().flatten() {
        let at = Segment::keys(["metadata", "labels", key]);
        refused.extend(value.as_str().and_then(|text| label_value(at, key, text)));
    }
    refused.extend(restart_policy::check(object));
    refused
}

/// Returns the fault of the key of a label, if it has one.
pub(super) fn label_key(at: Vec<Segment>, key: &str) -> Option<Refused> {
    const ALLOWED: &str = "keys of labels have at most 63 letters, digits, -, _ and ., and begin and end with a letter or digit; a DNS name and a slash may come first";
    (!is_label_key(key)).then(|| Refused {
        at,
        rule: Rule::Name,
        because: format!("no label has the key '{key}'"),
        help: ALLOWED.to_owned(),
    })
}

/// Returns the fault of the value of a label, if it has one.
pub(super) fn label_value(at: Vec<Segment>, key: &str, text: &str) -> Option<Refused> {
    const ALLOWED: &str = "values of labels have at most 63 letters, digits, -, _ and ., and begin and end with a letter or digit";
    (!is_label_value(text)).then(|| Refused {
        at,
        rule: Rule::Name,
        because: format!("the label {key} cannot be '{text}'"),
        help: ALLOWED.to_owned(),
    })
}

fn help(name: &str) -> String {
    if MAX_NAME < name.len() {
        return format!(
            "names have at most {MAX_NAME} characters, and this has {}",
            name.len()
        );
    }
    "names consist of lower-case letters, digits, - and ., and begin with a letter or digit"
        .to_owned()
}

/// Returns true for a valid name, or for a valid beginning of one.
#[must_use]
pub fn is_subdomain(name: &str, is_prefix: bool) -> bool {
    // The part that is added ends the name.
    if is_prefix {
        is_dns_subdomain(&format!("{name}x"))
    } else {
        is_dns_subdomain(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_may_end_with_a_dash_and_a_name_may_not() {
        assert!(is_subdomain("build-", true));
        assert!(!is_subdomain("build-", false));
        assert!(is_subdomain("a.b-c", false));
    }

    #[test]
    fn upper_case_and_underscores_are_no_name() {
        for name in ["Build-", "my_run-", "-x", "a..b", "é"] {
            assert!(!is_subdomain(name, true), "{name}");
        }
    }

    #[test]
    fn of_a_name_that_is_too_long_the_length_is_told_and_not_the_letters() {
        let helps = |length| -> Vec<String> {
            let object = serde_json::json!({ "metadata": { "name": "a".repeat(length) } });
            check(&object)
                .into_iter()
                .map(|refused| refused.help)
                .collect()
        };
        assert!(helps(253).is_empty());
        assert_eq!(
            helps(254),
            ["names have at most 253 characters, and this has 254"]
        );
    }

    #[test]
    fn values_of_labels_have_at_most_63_characters() {
        assert!(is_label_value(&"a".repeat(63)));
        assert!(!is_label_value(&"a".repeat(64)));
        assert!(is_label_value("A_b.c-1"));
        assert!(!is_label_value("a b"));
        assert!(!is_label_value("a-"));
    }
}
