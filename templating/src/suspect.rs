//! Texts that look like tags, but are none.

use cartouche_crds::ClusterRunTemplateSpec;
use cartouche_engines::kinds;
use cartouche_language::{
    Root, Segment, Warning, WarningKind, bounds,
    diagnostic::{SegmentRef, copy_steps},
    foreign_tag, tag,
};
use serde_json::{Value, json};

/// Returns warnings for tags in keys, tags without an end and text with the markers of a tag, in a shallow
/// document at this place.
pub(crate) fn warnings(document: &Value, root: Root, at: &[Segment]) -> Vec<Warning> {
    let mut found = Found {
        root,
        is_kubernetes: kinds::known_fields_of(document).is_some_and(|it| it.pod_template.is_some()),
        warnings: Vec::new(),
    };
    let mut at: Vec<SegmentRef<'_>> = at.iter().map(Segment::to_ref).collect();
    found.visit(document, &mut at);
    found.warnings
}

/// Returns the same for other parts of a template that have tags.
pub(crate) fn beside(spec: &ClusterRunTemplateSpec) -> Vec<Warning> {
    let runner = spec.runner.as_ref().map(|it| ("runner", json!(it)));
    let requires = spec.requires.as_ref().map(|it| ("requires", json!(it)));
    let parts = runner.into_iter().chain(requires);
    // Deeper ones are refused.
    let parts = parts.filter(|(_, part)| bounds::is_shallow(part));
    parts
        .flat_map(|(field, part)| warnings(&part, Root::Spec, &[field.into()]))
        .collect()
}

struct Found {
    root: Root,
    /// True for a Job or a Pod, no part of which an engine fills in.
    is_kubernetes: bool,
    warnings: Vec<Warning>,
}

impl Found {
    fn add(&mut self, at: &[SegmentRef<'_>], kind: WarningKind) {
        let (root, at) = (self.root, copy_steps(at));
        self.warnings.push(Warning { root, at, kind });
    }

    fn visit<'a>(&mut self, value: &'a Value, at: &mut Vec<SegmentRef<'a>>) {
        match value {
            Value::String(text) => self.text(text, at),
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    at.push(SegmentRef::Index(index));
                    self.visit(item, at);
                    at.pop();
                }
            }
            Value::Object(fields) => {
                for (key, field) in fields {
                    at.push(SegmentRef::Key(key));
                    if tag::has_tag(key) && !is_of_metadata(at) {
                        self.add(at, WarningKind::TagInKey);
                    }
                    self.visit(field, at);
                    at.pop();
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// Returns the text from the first tag on that another tool would fill in.
    fn of_another<'t>(&self, text: &'t str) -> Option<&'t str> {
        let of_engines = || of_an_engine(text).filter(|_| self.is_kubernetes);
        of_another_tool(text).or_else(of_engines)
    }

    fn text(&mut self, text: &str, at: &[SegmentRef<'_>]) {
        if !tag::find_unclosed(text).is_empty() {
            self.add(at, WarningKind::UnclosedTag);
        } else if let Some(found) = self.of_another(text) {
            self.add(at, WarningKind::ForeignTag(foreign_tag::cure(found)));
        }
        if let Some(first) = tag::left_alone(text).into_iter().next() {
            let first = text.get(first).unwrap_or_default();
            self.add(at, WarningKind::LeftAlone(tag::in_short(first)));
        }
    }
}

/// Returns true for the key of a label or an annotation of the run, which has an error of its own.
fn is_of_metadata(at: &[SegmentRef<'_>]) -> bool {
    matches!(
        at,
        [
            SegmentRef::Key("metadata"),
            SegmentRef::Key("labels" | "annotations"),
            SegmentRef::Key(_),
        ]
    )
}

/// Finds `{{inputs.parameters...}}` of Argo, `$(params...)` of Tekton and `${{ inputs... }}` of GitHub Actions. A
/// text of several lines, or of JSON, may be meant for these.
fn of_an_engine(text: &str) -> Option<&str> {
    const ARGO: [&str; 6] = [
        "inputs.",
        "outputs.",
        "workflow.",
        "tasks.",
        "steps.",
        "params.",
    ];
    const ACTIONS: [&str; 4] = ["inputs.", "github.", "secrets.", "vars."];
    if text.trim_end().contains('\n') {
        return None;
    }
    let of_tekton = || {
        let mut all = text.match_indices("$(").map(|(at, _)| &text[at..]);
        // Each ends where the next begins, so the work is linear in the text.
        all.find(|from| from[2..].split("$(").next().is_some_and(is_of_tekton))
    };
    let is_json = || serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok();
    let found = begins(text, "{{", &ARGO)
        .or_else(of_tekton)
        .or_else(|| begins(text, "${{", &ACTIONS));
    found.filter(|_| tag::left_alone(text).is_empty() && !is_json())
}

/// Returns true for the text after `$(` if Tekton fills it in, and it is no shell command such as
/// `$(params.sh -x)`.
fn is_of_tekton(behind: &str) -> bool {
    const SCRIPTS: [&str; 7] = ["bash", "js", "php", "pl", "py", "rb", "sh"];
    const OF_WORKSPACES: [&str; 4] = ["bound", "claim", "path", "volume"];
    let Some((path, _)) = behind.split_once(')') else {
        return false;
    };
    let is_path = path.bytes().all(|it| it.is_ascii_graphic());
    let Some(names) = foreign_tag::names(path) else {
        return false;
    };
    let is_script = names.last().is_some_and(|last| SCRIPTS.contains(last));
    is_path
        && !is_script
        && match names.as_slice() {
            ["params", _]
            | ["inputs", "params", _, ..]
            | ["params" | "tasks" | "context", _, _, ..]
            | ["results", _, "path"]
            | ["step", "results", _, "path"]
            | ["steps", _, "results" | "outputs", _] => true,
            ["workspaces", _, part] => OF_WORKSPACES.contains(part),
            _ => false,
        }
}

/// Finds `${runnable...}` and `{{ .Values... }}`, written out of habit. Engines have such placeholders, but none
/// that reads data of a Runnable or a chart.
fn of_another_tool(text: &str) -> Option<&str> {
    let of_go = [".Values.", ".runnable.", ".selected."];
    let roots = ["runnable.", "selected."];
    begins(text, "${", &roots)
        .or_else(|| begins(text, "{{", &roots))
        .or_else(|| begins(text, "{{", &of_go))
}

/// Returns the text from an opening on that is followed by one of these names.
fn begins<'t>(text: &'t str, opening: &str, names: &[&str]) -> Option<&'t str> {
    let mut all = text.match_indices(opening).map(|(at, _)| &text[at..]);
    all.find(|from| {
        let inside = from[opening.len()..].trim_start();
        names.iter().any(|name| inside.starts_with(name))
    })
}
