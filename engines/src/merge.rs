//! Merge of a profile's pod template into a run.
//!
//! Lists whose elements have names are merged element by element, by the merge keys of Kubernetes, as
//! `kubectl patch --type strategic` does; a test compares the two. The merge works on plain JSON, and not on the
//! types of a library: those drop unknown fields, and cannot distinguish a null, which removes a field, from its
//! absence.
//!
//! Some differences from kubectl are intended. Its directives (`$patch`, `$retainKeys`, `$setElementOrder` and the
//! like) are refused. A repeated name in one list, or one that leads to several elements, is an error; so is a
//! container that the run does not have. Labels or annotations cannot all be removed at once, since some may be of
//! a run's files. `*` stands for each container, and is applied before an element for one.

mod check;

use std::collections::{HashMap, HashSet};

use cartouche_language::{
    Diagnostic, DiagnosticKind, Diagnostics, Root, Segment,
    bounds::{MAX_RENDERED_WEIGHT, takes},
    weight::weight,
};
use serde_json::{Map, Value};

use crate::kinds;

pub use check::{check, check_kinds, check_patch};

/// Name that stands for each container of a run.
pub const EACH: &str = "*";
const NAME: &str = "name";
/// Maximum number of containers of a run for an element that applies to all of them. No pod has as many.
const MOST_CONTAINERS: usize = 1_000;
/// Maximum number of containers that a message names.
const MOST_NAMED: usize = 20;
/// The lists of containers of a pod.
pub const CONTAINERS: [&str; 2] = ["containers", "initContainers"];
/// The field of a profile that is merged into pods.
const POD_TEMPLATE: &str = "podTemplate";

/// The kind of object at a place of a pod template, which decides which of its lists are merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    PodTemplate,
    PodSpec,
    Container,
    /// An object without a list that is merged.
    Other,
}

impl Shape {
    /// Returns the shape of a field.
    fn descend(self, field: &str) -> Self {
        match self {
            Self::PodTemplate if field == "spec" => Self::PodSpec,
            Self::PodSpec if CONTAINERS.contains(&field) => Self::Container,
            _ => Self::Other,
        }
    }

    /// Returns the key that identifies the elements of a list, or `None` if the list is replaced as a whole.
    fn merge_key(self, field: &str) -> Option<&'static str> {
        let mut lists = LISTS.iter();
        let found = lists.find(|(shape, list, _)| (*shape, *list) == (self, field));
        found.map(|(_, _, key)| *key)
    }
}

/// The lists that are merged element by element, with their merge keys.
const LISTS: [(Shape, &str, &str); 12] = [
    (Shape::PodSpec, "containers", NAME),
    (Shape::PodSpec, "initContainers", NAME),
    (Shape::PodSpec, "volumes", NAME),
    (Shape::PodSpec, "imagePullSecrets", NAME),
    (Shape::PodSpec, "resourceClaims", NAME),
    (Shape::PodSpec, "schedulingGates", NAME),
    (Shape::PodSpec, "hostAliases", "ip"),
    (Shape::PodSpec, "topologySpreadConstraints", "topologyKey"),
    (Shape::Container, "env", NAME),
    (Shape::Container, "volumeMounts", "mountPath"),
    (Shape::Container, "volumeDevices", "devicePath"),
    (Shape::Container, "ports", "containerPort"),
];

/// Iterates over the keys that identify elements of pod lists. Others precede `name`, which elements may also
/// have.
pub fn merge_keys() -> impl Iterator<Item = &'static str> {
    let keys = LISTS.iter().map(|(_, _, key)| *key);
    keys.filter(|key| *key != NAME).chain([NAME])
}

/// Merges a profile's pod template into a run, if the kind of the run has a pod. The template has passed
/// [`check()`]. Fails with every part that does not fit.
pub fn merge(document: &mut Value, pod_template: &Value) -> Result<(), Diagnostics> {
    let known = kinds::known_fields_of(document);
    let Some(pointer) = known.and_then(|known| known.pod_template) else {
        return Ok(());
    };
    let Some(patch) = pod_template.as_object() else {
        return Ok(());
    };
    let mut walk = Walk::new(POD_TEMPLATE);
    match document.pointer_mut(pointer) {
        Some(Value::Object(pod)) => walk.map(pod, patch, Shape::PodTemplate),
        _ => walk.refuse(DiagnosticKind::plain("the run has no pod to merge it into")),
    }
    Diagnostics::check(walk.problems)
}

/// A walk through a profile, with the problems found so far.
struct Walk {
    /// The current place.
    at: Vec<Segment>,
    problems: Vec<Diagnostic>,
}

impl Walk {
    fn new(field: &str) -> Self {
        Self {
            at: vec![field.into()],
            problems: Vec::new(),
        }
    }

    fn refuse(&mut self, kind: impl Into<DiagnosticKind>) {
        let problem = Diagnostic::new(Root::Profile, self.at.clone(), kind);
        self.problems.push(problem);
    }

    fn refuse_member(&mut self, key: &str, kind: impl Into<DiagnosticKind>) {
        self.within(key, |it| it.refuse(kind));
    }

    fn within(&mut self, step: impl Into<Segment>, visit: impl FnOnce(&mut Self)) {
        self.at.push(step.into());
        visit(self);
        self.at.pop();
    }
}

/// The merge.
impl Walk {
    fn map(&mut self, target: &mut Map<String, Value>, patch: &Map<String, Value>, shape: Shape) {
        for (field, wanted) in patch {
            self.within(field.as_str(), |it| it.field(target, field, wanted, shape));
        }
    }

    fn field(
        &mut self,
        target: &mut Map<String, Value>,
        field: &str,
        wanted: &Value,
        shape: Shape,
    ) {
        let of_containers = shape.descend(field) == Shape::Container;
        match (target.get_mut(field), wanted) {
            (_, Value::Null) => {
                target.remove(field);
            }
            (Some(Value::Object(target)), Value::Object(patch)) => {
                self.map(target, patch, shape.descend(field));
            }
            (Some(Value::Array(target)), Value::Array(patch)) if of_containers => {
                self.containers(target, patch);
            }
            (_, Value::Array(patch)) if of_containers => self.containers(&mut Vec::new(), patch),
            (Some(Value::Array(target)), Value::Array(patch)) => match shape.merge_key(field) {
                Some(key) => self.elements(target, patch, (key, Shape::Other), |index| index),
                None => *target = patch.iter().map(without_nulls).collect(),
            },
            _ => {
                target.insert(field.to_owned(), without_nulls(wanted));
            }
        }
    }

    /// Merges a list of containers, to which a profile cannot add. An element for each container comes first, so
    /// that one for a single container wins.
    fn containers(&mut self, target: &mut Vec<Value>, patch: &[Value]) {
        let known: Vec<&str> = target
            .iter()
            .filter_map(|it| it.get(NAME)?.as_str())
            .collect();
        let there: HashSet<&str> = known.iter().copied().collect();
        let is_each = |element: &Value| element.get(NAME).is_some_and(|name| name == EACH);
        let (mut for_each, mut named, mut places) = (Vec::new(), Vec::new(), Vec::new());
        let mut missing = Vec::new();
        for (index, element) in patch.iter().enumerate() {
            if is_each(element) {
                // The template, or an input, decides how often it is copied.
                if known.len() > MOST_CONTAINERS {
                    let all = known.len();
                    let what = format!("the run has {all} containers, more than {MOST_CONTAINERS}");
                    let refuse = |it: &mut Self| it.refuse(DiagnosticKind::Limit(what));
                    return self.within(Segment::Index(index), refuse);
                }
                let weight = weight(element).saturating_mul(known.len());
                if weight > MAX_RENDERED_WEIGHT {
                    let (all, takes) = (known.len(), takes(weight, MAX_RENDERED_WEIGHT));
                    let what = format!("in each of the {all} containers of the run it {takes}");
                    let refuse = |it: &mut Self| it.refuse(DiagnosticKind::Limit(what));
                    return self.within(Segment::Index(index), refuse);
                }
                let of = |name: &&str| {
                    let mut one = element.clone();
                    one[NAME] = (*name).into();
                    // For each of them, this is the place in the profile.
                    (index, one)
                };
                for_each.extend(known.iter().map(of));
                continue;
            }
            if let Some(name) = element.get(NAME).and_then(Value::as_str)
                && !there.contains(name)
            {
                missing.push((index, unknown_container(name, &known)));
            }
            named.push(element.clone());
            places.push(index);
        }
        if missing.is_empty() {
            let (at, each): (Vec<usize>, Vec<Value>) = for_each.into_iter().unzip();
            self.elements(target, &each, (NAME, Shape::Container), |index| at[index]);
            return self.elements(target, &named, (NAME, Shape::Container), |index| {
                places[index]
            });
        }
        for (index, kind) in missing {
            self.within(Segment::Index(index), |it| it.refuse_member(NAME, kind));
        }
    }

    /// Merges lists by the key of their elements, which have this shape. `place` returns the place of an element
    /// of the patch in the profile.
    fn elements(
        &mut self,
        target: &mut Vec<Value>,
        patch: &[Value],
        (key, shape): (&str, Shape),
        place: impl Fn(usize) -> usize,
    ) {
        let mut merged = Vec::new();
        let places = places(target, key);
        for (index, wanted) in patch.iter().enumerate() {
            let (name, mut element) = (wanted.get(key), None);
            let found = name.and_then(|name| places.get(name));
            let first = found.map(|found| found.first);
            let second = found.filter(|found| found.is_repeated);
            self.within(Segment::Index(place(index)), |it| match (first, second) {
                (Some(_), Some(_)) => {
                    let what = format!(
                        "the run has several here whose {key} is {}",
                        format_name(name)
                    );
                    it.refuse_member(key, DiagnosticKind::plain(what));
                }
                (Some(at), None) => {
                    let mut present = target[at].clone();
                    if let (Value::Object(present), Value::Object(patch)) = (&mut present, wanted) {
                        it.map(present, patch, shape);
                    }
                    element = Some(present);
                }
                (None, _) => element = Some(without_nulls(wanted)),
            });
            merged.extend(element.map(|element| (first, element)));
        }
        drop(places);
        *target = in_order(target, merged);
    }
}

/// The place of the elements with one name in a list.
struct ElementPlace {
    first: usize,
    is_repeated: bool,
}

/// Indexes a list by the key of its elements. A rendered list may be long, and is not searched for each of them.
fn places<'a>(list: &'a [Value], key: &str) -> HashMap<&'a Value, ElementPlace> {
    let mut places: HashMap<&Value, ElementPlace> = HashMap::new();
    for (at, element) in list.iter().enumerate() {
        let Some(name) = element.get(key) else {
            continue;
        };
        let of_name = places.entry(name);
        of_name
            .and_modify(|it| it.is_repeated = true)
            .or_insert(ElementPlace {
                first: at,
                is_repeated: false,
            });
    }
    places
}

fn format_name(name: Option<&Value>) -> String {
    name.map_or_else(String::new, |name| match name {
        Value::String(text) => format!("'{text}'"),
        other => other.to_string(),
    })
}

/// Returns the problem of a container name that the run lacks, with the names that it has.
#[must_use]
pub fn unknown_container(name: &str, known: &[&str]) -> DiagnosticKind {
    let what = format!("the run has no such container '{name}'");
    match known {
        [] => DiagnosticKind::plain(what),
        _ if known.len() > MOST_NAMED => {
            let (first, more) = (known[..MOST_NAMED].join(", "), known.len() - MOST_NAMED);
            DiagnosticKind::with_cure(
                what,
                format!("name one that it has: {first} and {more} more"),
            )
        }
        _ => DiagnosticKind::with_cure(what, format!("name one that it has: {}", known.join(", "))),
    }
}

/// Orders the elements of the patch and the others, each in their own order. Relative to each other they keep
/// their order in the run, and new ones come as early as that permits. This is the result of kubectl.
fn in_order(target: &[Value], patched: Vec<(Option<usize>, Value)>) -> Vec<Value> {
    let found: HashSet<usize> = patched.iter().filter_map(|(found, _)| *found).collect();
    let others: Vec<usize> = (0..target.len()).filter(|at| !found.contains(at)).collect();
    let mut others = others.into_iter().peekable();
    let mut ordered = Vec::new();
    for (stood, element) in patched {
        while let Some(other) = others.next_if(|other| stood.is_some_and(|stood| *other < stood)) {
            ordered.push(target[other].clone());
        }
        ordered.push(element);
    }
    ordered.extend(others.map(|other| target[other].clone()));
    ordered
}

/// Removes nulls from a value that is new: there is nothing to remove.
fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let kept = map.iter().filter(|(_, value)| !value.is_null());
            kept.map(|(key, value)| (key.clone(), without_nulls(value)))
                .collect()
        }
        Value::Array(items) => items.iter().map(without_nulls).collect(),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests;
