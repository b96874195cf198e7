//! The fields of a run that derive from the object that a Runnable selects.

use cartouche_authoring::source;
use cartouche_language::{
    Segment,
    syntax::{self, steps},
};
use serde_json::Value;

use crate::live::object_diff::FieldChange;

/// Texts of a template that derive from the selected object alone, with their paths in the run.
pub(super) struct Origins {
    /// Kind and name, such as `ConfigMap app-settings`.
    selected: String,
    tags: Vec<(String, String)>,
}

/// Returns the fields of the selected object in a text, or `None` if its tags read anything else, which may be what
/// has changed.
fn only_selected(text: &str) -> Option<String> {
    let mut fields = Vec::new();
    for tag in syntax::tags(text) {
        syntax::below(&steps(&tag.path), &["selected"])?;
        let field = tag.path.trim_start_matches(['.', '{']);
        let field = field.trim_end_matches('}');
        let field = field.strip_prefix("selected").unwrap_or(field).to_owned();
        if !fields.contains(&field) {
            fields.push(field);
        }
    }
    (!fields.is_empty()).then(|| fields.join(", "))
}

impl Origins {
    /// Finds them in a template's document, for the object that is selected now.
    pub(super) fn trace(template: &Value, selected: &Value) -> Self {
        let text = |pointer: &str| selected.pointer(pointer).and_then(Value::as_str);
        let kind = text("/kind").unwrap_or("the selected object");
        let mut origins = Self {
            selected: match text("/metadata/name") {
                Some(name) => format!("{kind} {name}"),
                None => kind.to_owned(),
            },
            tags: Vec::new(),
        };
        origins.collect(template, &mut Vec::new());
        origins
    }

    fn collect(&mut self, value: &Value, at: &mut Vec<Segment>) {
        match value {
            Value::Object(members) => {
                for (key, member) in members {
                    at.push(Segment::Key(key.clone()));
                    self.collect(member, at);
                    at.pop();
                }
            }
            Value::Array(elements) => {
                for (index, element) in elements.iter().enumerate() {
                    at.push(Segment::Index(index));
                    self.collect(element, at);
                    at.pop();
                }
            }
            Value::String(text) => {
                if let Some(fields) = only_selected(text) {
                    self.tags.push((source::field_path(at), fields));
                }
            }
            _ => {}
        }
    }

    /// Notes at each change the fields of the selected object that its value derives from.
    pub(super) fn name(&self, changes: &mut [FieldChange]) {
        for change in changes {
            // A tag may stand for more than one value.
            let is_at = |at: &&(String, String)| {
                let rest = change.path.strip_prefix(&at.0);
                let rest = rest.filter(|_| change.file.is_none());
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
            };
            let tag = self.tags.iter().find(is_at);
            change.from = tag.map(|(_, fields)| format!("{} {fields}", self.selected));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn named(template: &Value, path: &str) -> Option<String> {
        let selected = json!({ "kind": "ConfigMap", "metadata": { "name": "rel" } });
        let mut changes = [FieldChange {
            path: path.to_owned(),
            ..FieldChange::default()
        }];
        Origins::trace(template, &selected).name(&mut changes);
        changes[0].from.clone()
    }

    #[test]
    fn a_change_that_the_selected_object_caused_names_object_and_field() {
        let template = json!({ "spec": {
            "version": "$(selected.data.version)$",
            "all": "$(selected.data)$",
            "both": "$(selected.data.a)$-$(selected.data.b)$",
            "mixed": "$(selected.data.a)$-$(runnable.spec.inputs.a)$",
            "own": "$(runnable.spec.inputs.a)$",
            "steps": [{ "image": "app:$(selected.data['tag'])$" }],
        } });
        let cases = [
            ("spec.version", Some("ConfigMap rel .data.version")),
            ("spec.all.b", Some("ConfigMap rel .data")),
            ("spec.steps[0].image", Some("ConfigMap rel .data['tag']")),
            ("spec.both", Some("ConfigMap rel .data.a, .data.b")),
            ("spec.mixed", None),
            ("spec.own", None),
            ("spec.versions", None),
            ("spec", None),
        ];
        for (path, wanted) in cases {
            assert_eq!(named(&template, path).as_deref(), wanted, "{path}");
        }
    }
}
