//! Values of another type than their field, as the JSON decoder of Go reports them to the API
//! server.

use serde_json::Value;

/// The field, the type found and the type wanted, from a message such as
/// `cannot unmarshal number into Go struct field EnvVar.spec.template.spec.containers.env.value of type string`.
/// Go names no place in a list, and no key of a map.
pub(super) struct WrongType<'a> {
    field: &'a str,
    found: &'a str,
    wanted: &'static str,
}

impl<'a> WrongType<'a> {
    /// Parses a message, or returns `None` if it is another one.
    pub(super) fn parse(said: &'a str) -> Option<Self> {
        let (_, rest) = said.split_once("json: cannot unmarshal ")?;
        let (found, rest) = rest.split_once(" into Go struct field ")?;
        let (field, wanted) = rest.split_once(" of type ")?;
        // It begins with the name of a Go type of the API server.
        let (_, field) = field.split_once('.')?;
        let wanted = wanted.split(|c: char| c.is_whitespace()).next()?;
        let is_known = !field.is_empty() && !field.contains(char::is_whitespace);
        // For a number that does not fit, Go says more than a sentence could hold.
        (is_known && !found.contains(' ')).then_some(Self {
            field,
            found,
            wanted: in_manifests(wanted, found)?,
        })
    }

    /// Returns the sentence.
    pub(super) fn what(&self) -> String {
        let found = match self.found {
            "bool" => "a boolean",
            "number" => "a number",
            "array" => "a list",
            "object" => "an object",
            _ => "a string",
        };
        // Go names no index, so this one was looked up.
        let about = if self.field.contains('[') {
            ""
        } else {
            ", or in it,"
        };
        format!(
            "at {}{about} there must be {}, but there is {found}",
            self.field, self.wanted
        )
    }

    /// Returns the cure.
    pub(super) fn cure(&self) -> &'static str {
        match (self.wanted, self.found) {
            ("a string", "number" | "bool") => {
                "put the value in quotes, in the template or in the input that it comes from; for a value that is not written by hand, such as an output, \"$('')$$(...)$\" in the template makes a string of it"
            }
            ("a string", "array") => {
                "a list cannot replace a single string: make the tag the whole list"
            }
            ("a string", _) => {
                "give a single string there, or a path to one of its members; an input from a Secret is a reference, {name, key}: `valueFrom: {secretKeyRef: $(...)$}` takes it"
            }
            ("a list", _) => "write a list there, each element after a dash",
            ("an object", _) => "write its members there; an input that is an object has no quotes",
            ("a number" | "a boolean", "string") => {
                "take the quotes away, in the template or in the input that it comes from"
            }
            _ => "give it such a value, in the template or in the input that it comes from",
        }
    }
}

/// Returns the API server's message about a value of another type, with its place in the lists of
/// what was sent, or `None` if the place is not certain. A list or an object has none: a right one
/// of that type may come before the wrong one.
#[must_use]
pub fn add_place(said: &str, sent: impl FnOnce() -> Option<Value>) -> Option<String> {
    let wrong = WrongType::parse(said)?;
    let steps: Vec<&str> = wrong.field.split('.').collect();
    let place = place(&sent()?, &steps, wrong.found)?;
    // The name of a Go type of the API server comes before it.
    let (field, placed) = (
        format!(".{} of type ", wrong.field),
        format!(".{place} of type "),
    );
    (place != wrong.field).then(|| said.replacen(&field, &placed, 1))
}

/// Returns the first place of a boolean, a number or a string at the end of a path that names no
/// list index.
fn place(value: &Value, steps: &[&str], found: &str) -> Option<String> {
    if let Value::Array(items) = value {
        let mut items = items.iter().enumerate();
        return items.find_map(|(index, item)| {
            let below = place(item, steps, found)?;
            Some(joined(&format!("[{index}]"), &below))
        });
    }
    let Some((first, rest)) = steps.split_first() else {
        let is = match value {
            Value::Bool(_) => "bool",
            Value::Number(_) => "number",
            Value::String(_) => "string",
            Value::Array(_) | Value::Object(_) | Value::Null => return None,
        };
        return (is == found).then(String::new);
    };
    let below = place(value.get(first)?, rest, found)?;
    Some(joined(first, &below))
}

fn joined(step: &str, below: &str) -> String {
    let dot = match below {
        "" => "",
        below if below.starts_with('[') => "",
        _ => ".",
    };
    format!("{step}{dot}{below}")
}

/// Returns the name of a Go type in a manifest, or `None` if it is not certain. A named type may be
/// a string or an object, and bytes are a string.
fn in_manifests(wanted: &str, found: &str) -> Option<&'static str> {
    Some(match wanted.trim_start_matches('*') {
        "string" => "a string",
        "bool" => "a boolean",
        "[]uint8" | "[]byte" => return None,
        kind if kind.starts_with("int") || kind.starts_with("float") => "a number",
        kind if kind.starts_with("[]") => "a list",
        kind if kind.contains('.') && found == "string" => "an object",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{WrongType, add_place};

    #[test]
    fn the_place_in_lists_is_looked_up() {
        let env = json!([{ "name": "A", "value": "a" }, { "name": "B", "value": true }]);
        let job = json!({ "spec": { "template": { "spec": { "containers": [{ "name": "a" }, { "env": env }] } } } });
        let said = "Job in version \"v1\" cannot be handled as a Job: json: cannot unmarshal bool into Go struct field EnvVar.spec.template.spec.containers.env.value of type string";
        let placed_said = add_place(said, || Some(job.clone())).unwrap();
        assert_eq!(
            WrongType::parse(&placed_said).unwrap().what(),
            "at spec.template.spec.containers[1].env[1].value there must be a string, but there is a boolean"
        );
        assert_eq!(add_place(said, || Some(json!({ "spec": {} }))), None);
        assert_eq!(add_place("it is none", || Some(job)), None);
    }

    #[test]
    fn a_list_in_a_list_and_an_object_have_no_place() {
        for (found, value) in [
            ("array", json!(["a", ["b"]])),
            ("object", json!({ "a": {} })),
        ] {
            let said = format!(
                "Job in version \"v1\" cannot be handled as a Job: json: cannot unmarshal {found} into Go struct field Container.spec.containers.args of type string"
            );
            let sent = json!({ "spec": { "containers": [{ "args": value }] } });
            assert_eq!(add_place(&said, || Some(sent)), None, "{found}");
            let what = WrongType::parse(&said).unwrap().what();
            assert!(
                what.starts_with("at spec.containers.args, or in it, "),
                "{what}"
            );
        }
    }

    fn said(found: &str, field: &str, wanted: &str) -> Option<(String, &'static str)> {
        let text = format!(
            "Job in version \"v1\" cannot be handled as a Job: json: cannot unmarshal {found} into Go struct field {field} of type {wanted}"
        );
        WrongType::parse(&text).map(|wrong| (wrong.what(), wrong.cure()))
    }

    #[test]
    fn what_go_says_of_types_is_told_in_the_words_of_manifests() {
        for (found, wanted, told, cure) in [
            (
                "number",
                "string",
                "a string, but there is a number",
                "put the value in quotes",
            ),
            (
                "bool",
                "string",
                "a string, but there is a boolean",
                "put the value in quotes",
            ),
            (
                "array",
                "string",
                "a string, but there is a list",
                "a list cannot",
            ),
            (
                "object",
                "string",
                "a string, but there is an object",
                "give a single string",
            ),
            (
                "string",
                "int64",
                "a number, but there is a string",
                "take the quotes away",
            ),
            (
                "string",
                "*bool",
                "a boolean, but there is a string",
                "take the quotes away",
            ),
            (
                "string",
                "[]string",
                "a list, but there is a string",
                "write a list",
            ),
            (
                "object",
                "[]v1.EnvVar",
                "a list, but there is an object",
                "write a list",
            ),
            (
                "string",
                "v1.ResourceRequirements",
                "an object, but there is a string",
                "write its members",
            ),
        ] {
            let (what, does) = said(found, "EnvVar.spec.env.value", wanted).unwrap();
            assert_eq!(
                what,
                format!("at spec.env.value, or in it, there must be {told}")
            );
            assert!(does.starts_with(cure), "{does}");
            // Quotes are of no use if an output gives the value.
            let is_quoted = does.starts_with("put the value in quotes");
            let made = "for a value that is not written by hand, such as an output, \"$('')$$(...)$\" in the template makes a string of it";
            assert_eq!(does.ends_with(made), is_quoted, "{does}");
        }
    }

    #[test]
    fn whatever_else_is_said_is_left_as_it_is() {
        assert!(said("number", "value", "string").is_none());
        assert!(said("number", "T.a b", "string").is_none());
        for (found, wanted) in [
            ("number 1.5", "int32"),
            ("bool", "v1.RestartPolicy"),
            ("number", "[]uint8"),
        ] {
            assert!(said(found, "T.a", wanted).is_none(), "{wanted}");
        }
        for text in ["", "json: cannot unmarshal ", "spec.a: Required value"] {
            assert!(WrongType::parse(text).is_none(), "{text}");
        }
    }
}
