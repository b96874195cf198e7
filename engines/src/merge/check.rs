//! Checks of a profile that are independent of the run.

use cartouche_crds::{GROUP, ProfilePatch};
use cartouche_language::{Diagnostic, DiagnosticKind, Segment, own_metadata::STRIPPED_METADATA};
use serde_json::{Map, Value};

use super::{POD_TEMPLATE, Shape, Walk};

/// Metadata that only the template of a run may set.
const OF_THE_RUN: [&str; 3] = ["name", "generateName", "namespace"];
/// Metadata with texts.
const TEXTS: [&str; 2] = ["labels", "annotations"];
/// The prefix of keys that kubectl treats as directives.
const DIRECTIVE: char = '$';

/// Returns all problems of a pod template, by path.
#[must_use]
pub fn check(pod_template: &Value) -> Vec<Diagnostic> {
    let mut walk = Walk::new(POD_TEMPLATE);
    walk.pod_template(pod_template);
    walk.problems
}

/// Returns all problems of one of the patches, by path.
#[must_use]
pub fn check_patch(index: usize, patch: &Value) -> Vec<Diagnostic> {
    let mut walk = Walk::new("patches");
    walk.within(Segment::Index(index), |it| {
        it.within("patch", |it| it.patch(patch));
    });
    walk.problems
}

/// Returns the patches of a kind that already has one, by path.
#[must_use]
pub fn check_kinds(patches: &[ProfilePatch]) -> Vec<Diagnostic> {
    let mut walk = Walk::new("patches");
    for (index, patch) in patches.iter().enumerate() {
        let is_same = |other: &ProfilePatch| {
            (&other.api_version, &other.kind) == (&patch.api_version, &patch.kind)
        };
        if patches[..index].iter().any(is_same) {
            walk.within(Segment::Index(index), |it| {
                it.refuse("another patch is of this kind: put both into one");
            });
        }
    }
    walk.problems
}

/// The only merge key that is a number.
const CONTAINER_PORT: &str = "containerPort";

/// The checks.
impl Walk {
    /// Visits the members of a value that must be an object.
    fn members(&mut self, value: &Value, mut visit: impl FnMut(&mut Self, &str, &Value)) {
        let Some(members) = value.as_object() else {
            return self.refuse("it is not an object");
        };
        for (key, member) in members {
            self.within(key.as_str(), |it| visit(it, key, member));
        }
    }

    fn pod_template(&mut self, pod_template: &Value) {
        self.members(pod_template, |it, key, member| match key {
            "metadata" => it.members(member, |it, key, texts| {
                if TEXTS.contains(&key) {
                    it.texts(texts);
                } else {
                    it.refuse("a profile sets labels and annotations of pods, and nothing else of their metadata");
                }
            }),
            "spec" => it.check_map(member, Shape::PodSpec),
            _ => it.refuse("there is no such field: a pod template has metadata and spec"),
        });
    }

    /// Checks labels or annotations.
    fn texts(&mut self, texts: &Value) {
        if texts.is_null() {
            // Some may be Cartouche's own, or contain files.
            return self.refuse("name the keys that are to go");
        }
        self.members(texts, |it, key, text| {
            if is_own(key) {
                it.refuse(DiagnosticKind::with_cure(
                    format!("keys of {GROUP} are set by Cartouche"),
                    "use a key of your own",
                ));
            } else if !text.is_string() && !text.is_null() {
                it.refuse("it is not a string");
            }
        });
    }

    fn check_map(&mut self, value: &Value, shape: Shape) {
        self.members(value, |it, key, member| {
            if key.starts_with(DIRECTIVE) {
                return it.refuse(
                    "directives of kubectl are not supported: null removes a field, and lists without names are replaced",
                );
            }
            match (shape.merge_key(key), member) {
                (Some(merge_key), Value::Array(elements)) => {
                    it.check_elements(elements, merge_key, shape.descend(key));
                }
                _ if shape.descend(key) == Shape::Container => {
                    it.refuse("it is not a list of containers; a profile can change containers, but not add or remove them");
                }
                (Some(_), Value::Null) => {}
                (Some(_), _) => it.refuse("it is not a list"),
                (None, Value::Object(_)) => it.check_map(member, shape.descend(key)),
                (None, _) => {}
            }
        });
    }

    fn check_elements(&mut self, elements: &[Value], key: &str, shape: Shape) {
        for (index, element) in elements.iter().enumerate() {
            self.within(Segment::Index(index), |it| {
                let Some(members) = element.as_object() else {
                    return it.refuse("it is not an object");
                };
                it.name(elements, index, members, key);
                it.check_map(element, shape);
            });
        }
    }

    fn name(&mut self, all: &[Value], index: usize, members: &Map<String, Value>, key: &str) {
        // The value of a tag is checked once more.
        let is_name = |name: &&Value| match name {
            Value::String(text) => !text.is_empty(),
            Value::Number(_) => key == CONTAINER_PORT,
            _ => false,
        };
        let name = members.get(key).filter(is_name);
        let Some(name) = name else {
            return self.refuse(DiagnosticKind::plain(format!(
                "it has no {key}, which identifies the element that it is merged into"
            )));
        };
        if all[..index]
            .iter()
            .any(|other| other.get(key) == Some(name))
        {
            self.refuse_member(key, "it occurs here twice");
        }
    }

    /// Checks a patch for a whole run.
    fn patch(&mut self, patch: &Value) {
        self.members(patch, |it, key, member| match key {
            "apiVersion" | "kind" => it.refuse("only the template sets apiVersion and kind"),
            "status" => it.refuse("only the controller of a run sets its status"),
            "metadata" => it.members(member, |it, key, member| {
                if TEXTS.contains(&key) {
                    it.texts(member);
                } else if OF_THE_RUN.contains(&key) || STRIPPED_METADATA.contains(&key) {
                    it.refuse("a profile cannot set this");
                }
            }),
            _ => {}
        });
    }
}

/// Returns true if a key of labels or annotations is of the group of Cartouche.
fn is_own(key: &str) -> bool {
    let prefix = key.split_once('/').map(|(prefix, _)| prefix);
    prefix == Some(GROUP)
}
