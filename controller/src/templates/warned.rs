//! Warnings of the API server to creates of runs, as far as the template itself is the cause.

use std::{collections::HashMap, sync::Mutex};

use cartouche_crds::ClusterRunTemplate;
use cartouche_protocol::compiled::Compiled;
use futures::channel::mpsc::{self, Receiver, Sender};
use serde_json::Value;

use crate::lock::lock;

/// Maximum number of warnings of one template that are kept.
const MOST: usize = 5;
/// Maximum number of templates with new warnings that wait.
const QUEUE: usize = 1_000;

/// Warnings of one state of a template.
#[derive(Debug, Default)]
struct Warnings {
    uid: String,
    generation: i64,
    texts: Vec<String>,
}

/// Warnings of all templates.
pub(super) struct TemplateWarnings {
    all: Mutex<HashMap<String, Warnings>>,
    news: Mutex<Sender<String>>,
    unread: Mutex<Option<Receiver<String>>>,
}

impl Default for TemplateWarnings {
    fn default() -> Self {
        let (news, unread) = mpsc::channel(QUEUE);
        Self {
            all: Mutex::default(),
            news: Mutex::new(news),
            unread: Mutex::new(Some(unread)),
        }
    }
}

impl TemplateWarnings {
    /// Returns the names of templates as they get another warning. Only the first call returns the receiver.
    pub(super) fn news(&self) -> Option<Receiver<String>> {
        lock(&self.unread).take()
    }

    /// Returns the warnings of this state of a template.
    pub(super) fn texts(&self, compiled: &Compiled) -> Vec<String> {
        let all = lock(&self.all);
        let known = all
            .get(&compiled.name)
            .filter(|known| known.is_of(compiled));
        known.map(|known| known.texts.clone()).unwrap_or_default()
    }

    /// Records the warnings that the template itself has caused.
    pub(super) fn add(&self, object: &ClusterRunTemplate, compiled: &Compiled, texts: &[String]) {
        let own = |text: &&String| is_of_template(object, compiled, text);
        let own: Vec<&String> = texts.iter().filter(own).collect();
        if own.is_empty() {
            return;
        }
        let mut all = lock(&self.all);
        let known = all.entry(compiled.name.clone()).or_default();
        if !known.is_of(compiled) {
            *known = Warnings {
                uid: compiled.uid.clone(),
                generation: compiled.generation,
                texts: Vec::new(),
            };
        }
        let before = known.texts.len();
        // The separator of warnings must not be in one.
        for text in own.into_iter().map(|text| text.replace(" / ", "/")) {
            if known.texts.len() < MOST && !known.texts.contains(&text) {
                known.texts.push(text);
            }
        }
        if known.texts.len() > before {
            // If too many wait, the next event of the template has it reported.
            let _ = lock(&self.news).try_send(compiled.name.clone());
        }
    }

    /// Forgets templates that were deleted.
    pub(super) fn retain(&self, exists: impl Fn(&str) -> bool) {
        lock(&self.all).retain(|name, _| exists(name));
    }
}

impl Warnings {
    fn is_of(&self, compiled: &Compiled) -> bool {
        self.uid == compiled.uid && self.generation == compiled.generation
    }
}

/// Returns true if a warning is about the template's own text: the inputs of a tenant are not shown to others.
fn is_of_template(object: &ClusterRunTemplate, compiled: &Compiled, text: &str) -> bool {
    let template = compiled.template.as_ref().ok();
    // If a tag decides the kind of a run, so does a tenant.
    let Some((api_version, kind)) = template.and_then(|template| template.literal_kind()) else {
        return false;
    };
    if text.starts_with(&format!("{api_version} {kind} is deprecated")) {
        return true;
    }
    let field = text
        .strip_prefix("unknown field \"")
        .and_then(|rest| rest.strip_suffix('"'));
    field.is_some_and(|field| is_written(&object.spec.template, field))
}

/// Returns true if a document has a field of this path, such as `spec.steps[0].name`.
fn is_written(document: &Value, path: &str) -> bool {
    let mut value = document;
    for step in path.split('.') {
        let (name, indexes) = step.split_once('[').unwrap_or((step, ""));
        let Some(member) = value.get(name) else {
            return false;
        };
        value = member;
        for index in indexes.split(['[', ']']).filter(|index| !index.is_empty()) {
            let element = index.parse().ok().and_then(|index: usize| value.get(index));
            let Some(element) = element else {
                return false;
            };
            value = element;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn template(generation: i64) -> (ClusterRunTemplate, Compiled) {
        let object = json!({
            "apiVersion": "carto.run/v1alpha1", "kind": "ClusterRunTemplate",
            "metadata": { "name": "t", "uid": "u", "generation": generation },
            "spec": { "template": {
                "apiVersion": "batch/v1", "kind": "Job", "metadata": { "generateName": "a-" },
                "spec": {
                    "activeDeadlineSecond": 1, "given": "$(runnable.spec.inputs.all)$",
                    "steps": [{ "naem": "a" }],
                },
            } },
        });
        let object = serde_json::from_value(object).unwrap();
        let compiled = Compiled::new(&object);
        (object, compiled)
    }

    fn told(texts: &[&str]) -> Vec<String> {
        let (object, compiled) = template(1);
        let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
        let warned = TemplateWarnings::default();
        warned.add(&object, &compiled, &texts);
        warned.texts(&compiled)
    }

    #[test]
    fn what_stands_in_the_template_is_told_and_nothing_that_came_from_an_input() {
        let own = [
            "unknown field \"spec.activeDeadlineSecond\"",
            "unknown field \"spec.steps[0].naem\"",
            "batch/v1 Job is deprecated in v9",
        ];
        assert_eq!(told(&own), own);
        let others = [
            "unknown field \"spec.given.secret\"",
            "unknown field \"spec.steps[1].naem\"",
            "unknown field \"spec.steps[x].naem\"",
            "unknown field \"\"",
            "a webhook says: batch/v1 Job is deprecated",
        ];
        assert!(told(&others).is_empty(), "{:?}", told(&others));
    }

    #[test]
    fn a_warning_is_not_read_as_two() {
        let warned = told(&["batch/v1 Job is deprecated / use v2"]);
        assert_eq!(warned, ["batch/v1 Job is deprecated/use v2"]);
    }

    #[test]
    fn where_a_tag_decides_of_the_kind_nothing_is_told() {
        let (mut object, _) = template(1);
        object.spec.template["kind"] = "$(runnable.spec.inputs.kind)$".into();
        let compiled = Compiled::new(&object);
        let warned = TemplateWarnings::default();
        warned.add(
            &object,
            &compiled,
            &["unknown field \"spec.activeDeadlineSecond\"".to_owned()],
        );
        assert!(warned.texts(&compiled).is_empty());
    }

    #[test]
    fn warnings_are_those_of_one_state_and_each_is_news_once() {
        let (object, compiled) = template(1);
        let warned = TemplateWarnings::default();
        let mut news = warned.news().unwrap();
        let texts = ["unknown field \"spec.activeDeadlineSecond\"".to_owned()];
        warned.add(&object, &compiled, &texts);
        warned.add(&object, &compiled, &texts);
        assert_eq!(news.try_recv().ok().as_deref(), Some("t"));
        assert!(news.try_recv().is_err());
        let (_, later) = template(2);
        assert!(warned.texts(&later).is_empty());
        warned.retain(|_| false);
        assert!(warned.texts(&compiled).is_empty());
    }
}
