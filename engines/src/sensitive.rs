//! Values that must not be shown.

use std::{
    borrow::Cow,
    cell::OnceCell,
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use cartouche_language::{
    bounds::{MAX_OUTPUTS_BYTES, json_bytes_within},
    json_text,
};
use k8s_openapi::ByteString;
use serde_json::{Value, json};

/// Outputs whose values go only into Secrets, by name. Formatting them for debugging shows their names alone.
#[derive(Clone, Default, PartialEq)]
pub struct Sensitive(BTreeMap<String, Value>);

impl Sensitive {
    /// Creates a set of these values.
    #[must_use]
    pub fn new(values: BTreeMap<String, Value>) -> Self {
        Self(values)
    }

    /// Returns true if there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Iterates over the names of the outputs.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Returns the value of an output, which is for a Secret.
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

/// Minimum bytes of a text that is searched for: a shorter one occurs in too many others by chance.
const SHORTEST: usize = 4;
/// Minimum characters of base64 that are searched for inside a longer one.
const SHORTEST_INSIDE: usize = 6;

/// Bytes of a text that are searched for first: its occurrence contains its beginning.
const BEGINNING: usize = 256;
/// Maximum bytes of search patterns. The automaton takes some fifty times as many, and is built for each look at a
/// run.
const MOST_PATTERNS: usize = 64 * 1024;
/// Maximum number of beginnings that are checked in a text. Each text is searched for as a whole once.
const MOST_BEGINNINGS: usize = 1_000;

/// Search for sensitive values in texts that will be shown: for the texts and numbers in them, plain, as JSON, and
/// as base64 of them or of a text that contains them.
#[derive(Default)]
pub struct Search<'a> {
    /// Texts of sensitive values, each with its output.
    texts: Vec<(&'a str, String)>,
    /// An output whose texts are unknown, or too many, so that any text may be one.
    anywhere: Option<&'a str>,
    /// Built for the first search.
    beginnings: OnceCell<Option<Beginnings>>,
}

impl<'a> Search<'a> {
    /// Creates the search for these values of outputs. If they are too large together, they may be anywhere.
    pub(crate) fn new<'v>(values: impl Iterator<Item = (&'a str, &'v Value)>) -> Self {
        let (mut texts, mut room) = (Vec::new(), MAX_OUTPUTS_BYTES);
        for (name, value) in values {
            let Some(bytes) = json_bytes_within(value, room) else {
                return Self::anywhere(name);
            };
            room -= bytes;
            each_text(value, &mut |text| texts.push((name, text.to_owned())));
        }
        Self {
            texts,
            ..Self::default()
        }
    }

    /// Creates the search for an output whose value is unknown.
    pub(crate) fn anywhere(name: &'a str) -> Self {
        Self {
            anywhere: Some(name),
            ..Self::default()
        }
    }

    /// Returns the output whose value a text contains, or may contain.
    pub(crate) fn found_in_text(&self, text: &str) -> Option<&'a str> {
        self.found_among(&[Cow::Borrowed(text)])
    }

    /// Returns the output whose value occurs in the texts, numbers and keys of a value, or may.
    pub(crate) fn found_in(&self, value: &Value) -> Option<&'a str> {
        let mut shown = Vec::new();
        each_shown(value, &mut shown);
        self.found_among(&shown)
    }

    fn found_among(&self, shown: &[Cow<'_, str>]) -> Option<&'a str> {
        if shown.iter().all(|text| text.is_empty()) {
            return None;
        }
        if self.anywhere.is_some() || self.texts.is_empty() {
            return self.anywhere;
        }
        let beginnings = self.beginnings.get_or_init(|| Beginnings::new(&self.texts));
        let Some(beginnings) = beginnings else {
            return self.texts.first().map(|(name, _)| *name);
        };
        let found = beginnings.first(shown, |at| {
            let (_, text) = &self.texts[at];
            let is_whole = text.len() <= BEGINNING;
            is_whole || forms(text).iter().any(|form| contain(shown, form))
        })?;
        self.texts.get(found).map(|(name, _)| *name)
    }
}

fn contain(shown: &[Cow<'_, str>], form: &str) -> bool {
    shown.iter().any(|text| text.contains(form))
}

/// The beginnings of all forms of all texts.
struct Beginnings {
    automaton: AhoCorasick,
    /// The index of the text for each pattern.
    texts: Vec<usize>,
}

impl Beginnings {
    /// Builds the automaton, or returns `None` if there are too many patterns.
    fn new(texts: &[(&str, String)]) -> Option<Self> {
        let (mut patterns, mut of, mut bytes) = (Vec::new(), Vec::new(), 0);
        for (at, (_, text)) in texts.iter().enumerate() {
            for form in forms(&text[..text.floor_char_boundary(BEGINNING)]) {
                bytes += form.len();
                if bytes > MOST_PATTERNS {
                    return None;
                }
                patterns.push(form);
                of.push(at);
            }
        }
        // Faster kinds take some hundred bytes for each byte of a pattern.
        let kind = Some(AhoCorasickKind::ContiguousNFA);
        let automaton = AhoCorasick::builder().kind(kind).build(&patterns).ok()?;
        Some(Self {
            automaton,
            texts: of,
        })
    }

    /// Returns the first text whose beginning is shown and for which the predicate holds, or which may be shown if
    /// there are too many beginnings.
    fn first(&self, shown: &[Cow<'_, str>], mut holds: impl FnMut(usize) -> bool) -> Option<usize> {
        let found = shown
            .iter()
            .flat_map(|text| self.automaton.find_overlapping_iter(text.as_ref()));
        let mut seen = BTreeSet::new();
        for (count, found) in found.enumerate() {
            let text = *self.texts.get(found.pattern().as_usize())?;
            if count >= MOST_BEGINNINGS || seen.insert(text) && holds(text) {
                return Some(text);
            }
        }
        None
    }
}

/// Collects the texts, numbers and keys in a value.
fn each_shown<'v>(value: &'v Value, shown: &mut Vec<Cow<'v, str>>) {
    match value {
        Value::String(text) => shown.push(text.into()),
        Value::Number(number) => shown.push(number.to_string().into()),
        Value::Array(items) => items.iter().for_each(|item| each_shown(item, shown)),
        Value::Object(fields) => {
            for (key, field) in fields {
                shown.push(key.into());
                each_shown(field, shown);
            }
        }
        Value::Null | Value::Bool(_) => {}
    }
}

/// Returns the message in place of a text that shows an output.
pub(crate) fn withheld(name: &str) -> String {
    format!("withheld: it contains the value of the sensitive output [{name}]")
}

/// Visits the texts and numbers in a value that are long enough.
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

/// Returns the forms in which a text may occur in another one.
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

/// Returns the characters of base64 that depend on a text alone, after so many unknown bytes.
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

    fn long(size: usize) -> Value {
        let numbers = (0..size / 8).map(|number| format!("{number:08x}"));
        json!(numbers.collect::<String>())
    }

    #[test]
    fn what_is_long_is_found_by_its_beginning_and_what_is_too_long_may_be_anywhere() {
        let (one, other) = (long(64 * 1024), json!("second-value"));
        let search = Search::new([("one", &one), ("other", &other)].into_iter());
        let shown = |value: &Value| format!("<{}>", base64(value.as_str().unwrap()));
        assert_eq!(search.found_in_text(&shown(&one)), Some("one"));
        assert_eq!(search.found_in_text(&shown(&other)), Some("other"));
        assert_eq!(search.found_in_text(&"-".repeat(200_000)), None);
        let beginning = &one.as_str().unwrap()[..BEGINNING];
        assert_eq!(search.found_in_text(beginning), None, "not all of it");
        assert_eq!(search.found_in_text(&beginning.repeat(2_000)), Some("one"));
        let huge = long(MAX_OUTPUTS_BYTES);
        let search = Search::new([("huge", &huge)].into_iter());
        assert_eq!(search.found_in_text("a"), Some("huge"));
    }

    /// An account that may write a run's report decides how many texts are searched for, and how often.
    #[test]
    fn many_texts_are_looked_for_by_one_automaton_and_too_many_may_be_anywhere() {
        let texts = |many: usize| -> Value {
            let texts = (0..many).map(|text| format!("{text:060}"));
            texts.collect::<Vec<_>>().into()
        };
        let some = texts(100);
        let search = Search::new([("some", &some)].into_iter());
        assert_eq!(search.found_in_text("none of them"), None);
        let first = std::ptr::from_ref(search.beginnings.get().unwrap());
        let shown = json!([format!("{:060}", 99)]);
        assert_eq!(search.found_in(&shown), Some("some"));
        assert!(std::ptr::eq(first, search.beginnings.get().unwrap()));
        let many = texts(1_000);
        let search = Search::new([("many", &many)].into_iter());
        assert_eq!(search.found_in_text("none of them"), Some("many"));
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
