//! Values that become part of a run, and hardly mean what their author meant.
//!
//! The run works, and may even succeed: only the value tells. These are looked for when a run is made, never when it is rendered.

use serde_json::Value;

use super::{CompiledRunner, Template, input, leading_steps};
use crate::{
    bounds::Work,
    context::Context,
    diagnostic::Segment,
    json_text,
    path::Path,
    tag::{Leaf, Piece},
};

/// Values that are reported of one run, at most.
const MOST: usize = 4;
/// Bytes of a text that may be a name that was to be filled in.
const LONGEST: usize = 256;
/// Parts of the names of inputs that hold versions.
const VERSIONS: [&str; 5] = ["version", "tag", "release", "revision", "branch"];
/// What to do where the value of a Secret was meant and its reference stands in a text.
pub const REFER: &str = "an input from a Secret is a reference, {name, key}, and no template can read the value: write valueFrom: {secretKeyRef: $(...)$}, or mount it";

/// A value that hardly means what its author meant.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("$({path})$ {doubt}")]
pub struct DoubtfulValue {
    /// The path of the tag that reads it.
    pub path: String,
    /// The reason, with what to do.
    pub doubt: Doubt,
}

/// Each kind of value that hardly means what its author meant.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Doubt {
    /// A number with one decimal where a version stands: YAML drops zeros at its end.
    #[error(
        "is the number {0}: YAML reads {0}0 as {0}; if you mean {0}0, write it in quotes, \"{0}0\""
    )]
    Number(String),
    /// A name that another tool fills in, and has not.
    #[error(
        "still holds {0}, which Cartouche does not fill in: write the value, or let the tool that fills it in run before"
    )]
    Unfilled(String),
    /// A reference to a Secret inside a text.
    #[error("puts {{name, key}} of a Secret into a text: {REFER}")]
    Reference,
}

impl Template {
    /// The values of a completed context that hardly mean what their author meant: the first few, each path once. None of
    /// them shows more of a text than the name in it that was to be filled in.
    #[must_use]
    pub fn doubtful_values(&self, context: &Context) -> Vec<DoubtfulValue> {
        let mut leaves = Vec::new();
        self.body.leaves(&mut leaves);
        let of_runner = self.runner.iter().flat_map(CompiledRunner::bodies);
        of_runner.for_each(|body| body.leaves(&mut leaves));
        let secrets: Vec<_> = context.secrets().keys().map(|name| input(name)).collect();
        let mut search = Search {
            context,
            secrets,
            work: Work::new(),
            found: Vec::new(),
        };
        for leaf in leaves {
            search.leaf(leaf);
        }
        search.found
    }
}

struct Search<'a> {
    context: &'a Context,
    /// The steps to inputs that are references to Secrets.
    secrets: Vec<Vec<Segment>>,
    work: Work,
    found: Vec<DoubtfulValue>,
}

impl Search<'_> {
    fn leaf(&mut self, leaf: &Leaf) {
        match leaf {
            Leaf::Plain(_) | Leaf::Open(_) => {}
            Leaf::Value { tag, .. } => self.tag(tag, None),
            Leaf::Mixed(pieces) => {
                let mut before = "";
                for piece in pieces {
                    match piece {
                        Piece::Text(text) => before = text,
                        Piece::Tag(tag) => {
                            self.tag(tag, Some(before));
                            before = "";
                        }
                        Piece::Open(_) => before = "",
                    }
                }
            }
        }
    }

    /// Looks at what a tag gives, inside a text behind what stands before it.
    fn tag(&mut self, tag: &Path, before: Option<&str>) {
        let path = tag.raw();
        if self.found.len() == MOST || self.found.iter().any(|it| it.path == path) {
            return;
        }
        let Ok(value) = self.context.find(tag, &mut self.work) else {
            return;
        };
        let doubt = match (value, before) {
            (Value::String(text), _) => unfilled(text).map(|it| Doubt::Unfilled(it.to_owned())),
            (Value::Number(number), Some(before)) if is_of_version(path, before) => {
                let float = number.as_f64().filter(|_| number.is_f64());
                float
                    .map(json_text::float)
                    .filter(|it| has_one_decimal(it))
                    .map(Doubt::Number)
            }
            (Value::Object(_), Some(_)) => self
                .secrets
                .contains(&leading_steps(path))
                .then_some(Doubt::Reference),
            _ => None,
        };
        if let Some(doubt) = doubt {
            let path = path.to_owned();
            self.found.push(DoubtfulValue { path, doubt });
        }
    }
}

/// True for the input of a version, and for what stands where names of images and files have one.
fn is_of_version(path: &str, before: &str) -> bool {
    let name = path
        .rsplit(['.', '['])
        .next()
        .unwrap_or_default()
        .to_ascii_lowercase();
    VERSIONS.iter().any(|it| name.contains(it)) || before.ends_with([':', '-', 'v', '@', '/'])
}

fn has_one_decimal(number: &str) -> bool {
    let decimals = number.split_once('.').map_or("", |(_, decimals)| decimals);
    decimals.len() == 1
}

/// The first `${NAME}` or `{{ .Name }}` of a text that is a single word but for these: a longer one may be a script.
#[must_use]
pub fn unfilled(text: &str) -> Option<&str> {
    if text.len() > LONGEST {
        return None;
    }
    let (mut rest, mut first) = (text, None);
    while let Some((before, found)) = next_unfilled(rest) {
        if before.contains(char::is_whitespace) {
            return None;
        }
        rest = &rest[before.len() + found.len()..];
        first = first.or(Some(found));
    }
    first.filter(|_| !rest.contains(char::is_whitespace))
}

/// The next such name, and what stands before it.
fn next_unfilled(text: &str) -> Option<(&str, &str)> {
    let places = text.match_indices(['$', '{']).map(|(at, _)| at);
    places.into_iter().find_map(|at| {
        let (before, from) = text.split_at(at);
        let length = variable(from).or_else(|| field(from))?;
        Some((before, &from[..length]))
    })
}

/// The bytes of a `${NAME}` that a text begins with.
fn variable(text: &str) -> Option<usize> {
    let (name, _) = text.strip_prefix("${")?.split_once('}')?;
    let is_name = |it: u8| it.is_ascii_alphanumeric() || it == b'_';
    let begins = name.starts_with(|it: char| it.is_ascii_alphabetic() || it == '_');
    (begins && name.bytes().all(is_name)).then_some(name.len() + 3)
}

/// The bytes of a `{{ .Name }}` that a text begins with, as Go's templates have it.
fn field(text: &str) -> Option<usize> {
    let (inside, _) = text.strip_prefix("{{")?.split_once("}}")?;
    let name = inside.trim_matches(['-', ' ']).strip_prefix('.')?;
    name.starts_with(|it: char| it.is_ascii_alphabetic())
        .then_some(inside.len() + 4)
}

#[cfg(test)]
mod tests {
    use cartouche_crds::ClusterRunTemplateSpec;
    use serde_json::json;

    use super::*;
    use crate::Sourced;

    fn doubts(command: &str, inputs: &Value) -> Vec<String> {
        let spec: ClusterRunTemplateSpec = serde_json::from_value(json!({ "template": {
            "apiVersion": "v1", "kind": "Pod", "metadata": { "generateName": "a-" },
            "spec": { "containers": [{ "name": "a", "image": command }] },
        } }))
        .unwrap();
        let template = Template::compile(&spec).unwrap();
        let runnable = json!({
            "metadata": { "name": "a", "namespace": "b" },
            "spec": { "runTemplateRef": { "name": "a" }, "inputs": inputs },
        });
        let context = Context::new(&runnable, None).unwrap();
        let doubts = template.doubtful_values(&context);
        doubts.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_version_that_lost_its_last_zero_is_named() {
        let inputs =
            json!({ "version": 1.1, "ratio": 0.5, "exact": 1.25, "whole": 2, "text": "1.1" });
        let said = doubts("echo $(runnable.spec.inputs.version)$", &inputs);
        assert_eq!(
            said,
            [
                r#"$(runnable.spec.inputs.version)$ is the number 1.1: YAML reads 1.10 as 1.1; if you mean 1.10, write it in quotes, "1.10""#
            ]
        );
        assert_eq!(
            doubts("app:$(runnable.spec.inputs.ratio)$", &inputs).len(),
            1
        );
        for command in [
            "$(runnable.spec.inputs.version)$",
            "--at-most=$(runnable.spec.inputs.ratio)$",
            "app:$(runnable.spec.inputs.exact)$",
            "app:$(runnable.spec.inputs.whole)$",
            "app:$(runnable.spec.inputs.text)$",
        ] {
            assert_eq!(doubts(command, &inputs), [""; 0], "{command}");
        }
    }

    #[test]
    fn a_name_that_no_tool_filled_in_is_named() {
        for (text, expected) in [
            ("${VERSION}", Some("${VERSION}")),
            ("v${version}-${x}", Some("${version}")),
            ("{{ .Values.tag }}", Some("{{ .Values.tag }}")),
            ("a{{- .tag -}}b", Some("{{- .tag -}}")),
            ("echo ${HOME}", None),
            ("${HOME} -x", None),
            ("${HOME:-/root}", None),
            ("${}", None),
            ("${1}", None),
            ("$HOME", None),
            ("{{workflow.name}}", None),
            ("{{ .", None),
            ("${A", None),
            ("é{$", None),
        ] {
            assert_eq!(unfilled(text), expected, "{text}");
            let said = doubts("app:$(runnable.spec.inputs.a)$", &json!({ "a": text }));
            assert_eq!(
                said.len(),
                usize::from(expected.is_some()),
                "{text}: {said:?}"
            );
        }
        let long = format!("${{A}}{}", "x".repeat(LONGEST));
        assert_eq!(unfilled(&long), None);
    }

    #[test]
    fn a_reference_to_a_secret_inside_a_text_is_named() {
        let spec: ClusterRunTemplateSpec = serde_json::from_value(json!({ "template": {
            "apiVersion": "v1", "kind": "Pod", "metadata": { "generateName": "a-" },
            "spec": {
                "text": "p=$(runnable.spec.inputs.password)$ $(runnable.spec.inputs.map)$",
                "name": "$(runnable.spec.inputs.password.name)$ of it",
                "ref": "$(runnable.spec.inputs.password)$",
            },
        } }))
        .unwrap();
        let runnable = json!({
            "metadata": { "name": "a", "namespace": "b" },
            "spec": { "runTemplateRef": { "name": "a" }, "inputs": { "map": { "name": "x", "key": "y" } } },
        });
        let secret = Sourced {
            value: json!({ "name": "db", "key": "password" }),
            secret: Some("mark".to_owned()),
        };
        let sourced = [("password".to_owned(), secret)].into();
        let context = Context::new(&runnable, None).unwrap();
        let context = context.with_sources(&sourced).unwrap();
        let template = Template::compile(&spec).unwrap();
        let found = template.doubtful_values(&context);
        let expected = DoubtfulValue {
            path: "runnable.spec.inputs.password".to_owned(),
            doubt: Doubt::Reference,
        };
        assert_eq!(found, [expected]);
    }

    #[test]
    fn each_path_is_named_once_and_only_some_are() {
        let names = ["a", "b", "c", "d", "e", "f"];
        let inputs = names.map(|name| (name.to_owned(), json!("${A}")));
        let inputs = Value::Object(inputs.into_iter().collect());
        let tags = names.map(|name| format!("$(runnable.spec.inputs.{name})$"));
        let said = doubts(&[tags.join(" "), tags.join(" ")].concat(), &inputs);
        assert_eq!(said.len(), MOST);
        assert!(
            said[3].starts_with("$(runnable.spec.inputs.d)$ still holds ${A}"),
            "{said:?}"
        );
    }
}
