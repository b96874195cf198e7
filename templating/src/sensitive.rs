//! Values that may be shown to nobody.

use std::{collections::BTreeMap, fmt};

use aho_corasick::AhoCorasick;
use k8s_openapi::ByteString;
use serde_json::{Value, json};

use crate::json_text;

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

/// Bytes of a text that is looked for: a shorter one stands in too many others by chance.
const SHORTEST: usize = 4;
/// Characters of base64 that are looked for inside of a longer one.
const SHORTEST_INSIDE: usize = 6;

/// Finds sensitive values in texts that are to be shown: the texts and numbers in them, as they are, as JSON has them, and as
/// base64 of them or of a text that they are in.
#[derive(Default)]
pub(crate) struct Search<'a> {
    texts: Option<AhoCorasick>,
    /// The output that each of the texts is of.
    names: Vec<&'a str>,
    /// An output of which the texts are not known, so that any text may be one.
    anywhere: Option<&'a str>,
}

impl<'a> Search<'a> {
    /// That for these values of outputs.
    pub(crate) fn new<'v>(values: impl Iterator<Item = (&'a str, &'v Value)>) -> Self {
        let (mut texts, mut names) = (Vec::new(), Vec::new());
        for (name, value) in values {
            each_text(value, &mut |text| {
                texts.extend(forms(text));
                names.resize(texts.len(), name);
            });
        }
        let Some(first) = names.first().copied() else {
            return Self::default();
        };
        match AhoCorasick::new(texts) {
            Ok(texts) => Self {
                texts: Some(texts),
                names,
                anywhere: None,
            },
            // Too much to look for.
            Err(_) => Self::anywhere(first),
        }
    }

    /// That for an output of which the value is not known.
    pub(crate) fn anywhere(name: &'a str) -> Self {
        Self {
            anywhere: Some(name),
            ..Self::default()
        }
    }

    /// The output whose value a text contains, or may.
    pub(crate) fn found_in_text(&self, text: &str) -> Option<&'a str> {
        if text.is_empty() {
            return None;
        }
        let found = || self.texts.as_ref()?.find(text);
        let of = || self.names.get(found()?.pattern().as_usize()).copied();
        self.anywhere.or_else(of)
    }

    /// The same of the texts and numbers in a value, and of its keys.
    pub(crate) fn found_in(&self, value: &Value) -> Option<&'a str> {
        match value {
            Value::String(text) => self.found_in_text(text),
            Value::Number(number) => self.found_in_text(&number.to_string()),
            Value::Array(items) => items.iter().find_map(|item| self.found_in(item)),
            Value::Object(fields) => fields
                .iter()
                .find_map(|(key, field)| self.found_in_text(key).or_else(|| self.found_in(field))),
            Value::Null | Value::Bool(_) => None,
        }
    }
}

/// What is said in the place of a text that shows an output.
pub(crate) fn withheld(name: &str) -> String {
    format!("withheld: it contains the value of the sensitive output [{name}]")
}

/// The texts and numbers in a value that are long enough.
fn each_text(value: &Value, see: &mut impl FnMut(&str)) {
    match value {
        Value::String(text) if text.trim().len() >= SHORTEST => see(text.trim()),
        Value::Number(number) => {
            let text = number.to_string();
            if text.len() >= SHORTEST {
                see(&text);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| each_text(item, see)),
        Value::Object(fields) => fields.values().for_each(|field| each_text(field, see)),
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

/// A text as it may stand in another one.
fn forms(text: &str) -> Vec<String> {
    let quoted = [
        json!(text).to_string(),
        json_text::json(&text.into(), json_text::float),
    ];
    let quoted = quoted.iter().filter_map(|it| it.get(1..it.len() - 1));
    let mut forms: Vec<String> = [text]
        .into_iter()
        .chain(quoted)
        .map(str::to_owned)
        .collect();
    for before in 0..3 {
        let encoded = encoded(text, before);
        forms.push(encoded.replace('+', "-").replace('/', "_"));
        forms.push(encoded);
    }
    forms.retain(|form| form.len() >= SHORTEST);
    forms.sort();
    forms.dedup();
    forms
}

/// The characters of base64 that follow from a text alone, behind so many bytes that are not known.
fn encoded(text: &str, before: usize) -> String {
    let bytes = [&vec![0; before], text.as_bytes()].concat();
    let characters = (before * 8).div_ceil(6)..bytes.len() * 8 / 6;
    let encoded = json!(ByteString(bytes));
    let encoded = encoded.as_str().and_then(|it| it.get(characters));
    let is_long = |it: &&str| before == 0 || it.len() >= SHORTEST_INSIDE;
    encoded.filter(is_long).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_are_shown_and_values_are_not() {
        let values = [("password".to_owned(), json!("7731"))].into();
        let shown = format!("{:?}", Sensitive::new(values));
        assert_eq!(shown, r#"{"password"}"#);
    }

    fn found(sensitive: &Value, shown: &Value) -> bool {
        Search::new([("it", sensitive)].into_iter())
            .found_in(shown)
            .is_some()
    }

    fn base64(text: &str) -> String {
        let encoded = json!(ByteString(text.as_bytes().to_vec()));
        encoded.as_str().unwrap().to_owned()
    }

    #[test]
    fn a_value_is_found_wherever_it_stands() {
        let pin = json!("s3cr\"t\\\n");
        for shown in [
            json!("s3cr\"t\\"),
            json!("the pin is s3cr\"t\\, keep it"),
            json!(json!({ "pin": "s3cr\"t\\\n" }).to_string()),
            json!({ "a": [{ "b": "xs3cr\"t\\x" }] }),
            json!({ "s3cr\"t\\": 1 }),
            json!(base64("s3cr\"t\\")),
            json!(base64("user:s3cr\"t\\")),
            json!(base64("a s3cr\"t\\ b")),
            json!(format!("Basic {}", base64("me:s3cr\"t\\"))),
        ] {
            assert!(found(&pin, &shown), "{shown}");
        }
        for shown in [json!("s3cr t"), json!(null), json!(""), json!({ "a": [1] })] {
            assert!(!found(&pin, &shown), "{shown}");
        }
    }

    #[test]
    fn each_text_and_number_in_a_value_counts_that_has_four_bytes() {
        let sensitive = json!({ "db": [{ "pin": 7306, "user": "shop", "on": true, "of": "abc" }], "none": null });
        for shown in [
            json!("7306"),
            json!(7306),
            json!("at 17306"),
            json!("workshop"),
        ] {
            assert!(found(&sensitive, &shown), "{shown}");
        }
        for shown in [
            json!("true"),
            json!(true),
            json!("abc"),
            json!("730"),
            json!("db, pin, null"),
        ] {
            assert!(!found(&sensitive, &shown), "{shown}");
        }
    }

    #[test]
    fn short_texts_are_found_in_base64_by_itself() {
        assert!(found(&json!("7306"), &json!(base64("7306"))));
        assert!(found(&json!("7306"), &json!(base64("7306\n"))));
        for before in ["", "x", "xy", "xyz"] {
            let shown = base64(&format!("{before}73065 and more"));
            assert!(found(&json!("73065"), &json!(shown)), "{before}");
        }
        // The other alphabet.
        let odd = "\u{3e}\u{3f}\u{3e}\u{3f}~~~~";
        assert!(base64(odd).contains(['+', '/']), "{}", base64(odd));
        let shown = base64(odd).replace('+', "-").replace('/', "_");
        assert!(found(&json!(odd), &json!(shown)));
    }

    #[test]
    fn the_output_is_named_and_where_its_value_is_not_known_it_may_be_anywhere() {
        let (one, other) = (json!("first-value"), json!("second-value"));
        let search = Search::new([("one", &one), ("other", &other)].into_iter());
        assert_eq!(search.found_in_text("a second-value b"), Some("other"));
        assert_eq!(search.found_in_text("a first-value b"), Some("one"));
        let anywhere = Search::anywhere("one");
        assert_eq!(anywhere.found_in_text("a"), Some("one"));
        assert_eq!(anywhere.found_in_text(""), None);
        assert_eq!(Search::default().found_in_text("a"), None);
    }
}
