//! Comparison of inputs with their schema.
//!
//! Messages contain types, but no values: they are shown in conditions and events, and an input may be
//! confidential.

use std::{cell::Cell, collections::HashSet, sync::Arc};

use serde_json::{Map, Number, Value};

use super::{
    breach::{NumberLimit, count_breach},
    format,
    node::{Limits, Others, SchemaNode, SchemaType},
    type_cure::TypeCure,
};
use crate::{
    bounds::{MAX_MISFITS, MAX_RENDER_VISITS},
    diagnostic::{Diagnostic, DiagnosticKind, Root, SegmentRef, copy_steps},
};

/// Returns all problems of a value; their paths begin with the given segments.
pub(super) fn problems(node: &SchemaNode, value: &Value, at: &[SegmentRef<'_>]) -> Vec<Diagnostic> {
    let steps = Cell::new(MAX_RENDER_VISITS);
    let mut found = part(node, value, at, &steps);
    if steps.get() == 0 {
        let what = format!("they take more than {MAX_RENDER_VISITS} steps to check");
        let kind = DiagnosticKind::with_cure(what, "make them, or inputSchema, smaller");
        found = vec![Diagnostic::new(Root::Context, copy_steps(at), kind)];
    }
    found
}

/// Returns the problems with one alternative of a combination, within the remaining steps.
fn part(
    node: &SchemaNode,
    value: &Value,
    at: &[SegmentRef<'_>],
    steps: &Cell<usize>,
) -> Vec<Diagnostic> {
    let mut walk = FitCheck {
        at: at.to_vec(),
        problems: Vec::new(),
        steps,
    };
    walk.value(node, value);
    walk.problems
}

struct FitCheck<'a, 's> {
    at: Vec<SegmentRef<'a>>,
    problems: Vec<Diagnostic>,
    /// Remaining steps: a count, unlike a clock, gives every machine the same result.
    steps: &'s Cell<usize>,
}

impl<'a> FitCheck<'a, '_> {
    fn say(&mut self, kind: impl Into<DiagnosticKind>) {
        if !self.has_said_enough() {
            self.problems
                .push(Diagnostic::new(Root::Context, copy_steps(&self.at), kind));
        }
    }

    /// Returns true if no more problems are reported, so that their texts need not be composed.
    fn has_said_enough(&self) -> bool {
        self.problems.len() >= MAX_MISFITS
    }

    fn below(&mut self, segment: SegmentRef<'a>, visit: impl FnOnce(&mut Self)) {
        self.at.push(segment);
        visit(self);
        self.at.pop();
    }

    fn value(&mut self, node: &'a SchemaNode, value: &'a Value) {
        let left = self.steps.get().saturating_sub(1);
        self.steps.set(left);
        if left == 0 {
            return;
        }
        if value.is_null() && node.nullable {
            return;
        }
        if !is(node.kind, value) {
            let (wanted, is) = (node.kind.with_article(), name_of(value));
            return self.say(DiagnosticKind::Other {
                what: format!("it has to be {wanted}, and is {is}"),
                cure: TypeCure::find(node.kind, Some(value)).map(|cure| cure.to_string()),
            });
        }
        if let Some(allowed) = &node.limits.allowed
            && !allowed.contains(value)
        {
            let allowed = Arc::clone(allowed);
            self.say(DiagnosticKind::NotAllowed { allowed });
        }
        for message in node.limits.breaches(value) {
            self.say(DiagnosticKind::plain(message));
        }
        match value {
            Value::Object(members) => self.object(node, members),
            Value::Array(items) => {
                if let Some(item) = &node.items {
                    for (index, value) in items.iter().enumerate() {
                        self.below(SegmentRef::Index(index), |walk| walk.value(item, value));
                    }
                }
            }
            _ => {}
        }
        self.combinations(node, value);
    }

    fn object(&mut self, node: &'a SchemaNode, members: &'a Map<String, Value>) {
        for (key, value) in members {
            self.below(SegmentRef::Key(key), |walk| {
                match (node.properties.get(key), &node.others) {
                    (Some(property), _) => walk.value(property, value),
                    (None, Others::Each(each)) => walk.value(each, value),
                    (None, Others::Open) => {}
                    // The list of names would be composed only for a message.
                    (None, Others::Closed) if walk.has_said_enough() => {}
                    (None, Others::Closed) => walk.say(unknown(node)),
                }
            });
        }
        for key in &node.required {
            if !members.contains_key(key) {
                self.say(missing(key, node.properties.get(key)));
            }
        }
    }

    fn combinations(&mut self, node: &'a SchemaNode, value: &'a Value) {
        for all in &node.all_of {
            self.value(all, value);
        }
        // Each alternative is checked once: twice would be a thousand times ten levels down.
        let tried = |alternatives: &[SchemaNode]| -> Vec<Vec<Diagnostic>> {
            let outcome = |node| part(node, value, &[], self.steps);
            alternatives.iter().map(outcome).collect()
        };
        let (any, one) = (tried(&node.any_of), tried(&node.one_of));
        let excluded = node
            .not
            .as_deref()
            .is_some_and(|not| part(not, value, &[], self.steps).is_empty());
        if !any.is_empty() && !any.iter().any(Vec::is_empty) {
            self.say(DiagnosticKind::with_cure(
                "it has to fit one of anyOf, and fits none",
                reasons(&any),
            ));
        }
        match one.iter().filter(|problems| problems.is_empty()).count() {
            1 => {}
            0 if one.is_empty() => {}
            0 => self.say(DiagnosticKind::with_cure(
                "it has to fit one of oneOf, and fits none",
                reasons(&one),
            )),
            several => self.say(DiagnosticKind::with_cure(
                format!("it has to fit exactly one of oneOf, and fits {several}"),
                "give only what belongs to one of them",
            )),
        }
        if excluded {
            self.say("it fits what `not` excludes");
        }
    }
}

/// Lists the first problem with each alternative.
fn reasons(alternatives: &[Vec<Diagnostic>]) -> String {
    let first = alternatives.iter().filter_map(|problems| problems.first());
    first
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(", or ")
}

fn unknown(node: &SchemaNode) -> DiagnosticKind {
    DiagnosticKind::UnknownInput {
        known: node.properties.keys().cloned().collect(),
    }
}

fn missing(key: &str, property: Option<&SchemaNode>) -> DiagnosticKind {
    let kind = property.map(|property| property.kind);
    let description = property.map(|property| property.description.as_str());
    let about = description.and_then(|text| text.split_inclusive(". ").next());
    let about = about.filter(|sentence| !sentence.is_empty());
    DiagnosticKind::MissingInput {
        key: key.to_owned(),
        wanted: kind
            .filter(|kind| *kind != SchemaType::Any)
            .map(SchemaType::with_article),
        allowed: property.and_then(|property| property.limits.allowed.clone()),
        about: about.map(|sentence| sentence.trim().trim_end_matches('.').to_owned()),
    }
}

fn is(kind: SchemaType, value: &Value) -> bool {
    let integral = |number: &Number| {
        !number.is_f64() || number.as_f64().is_some_and(|number| number.fract() == 0.0)
    };
    match (kind, value) {
        (SchemaType::Any, _)
        | (SchemaType::Object, Value::Object(_))
        | (SchemaType::Array, Value::Array(_))
        | (SchemaType::String | SchemaType::IntOrString, Value::String(_))
        | (SchemaType::Number, Value::Number(_))
        | (SchemaType::Boolean, Value::Bool(_)) => true,
        (SchemaType::Integer | SchemaType::IntOrString, Value::Number(number)) => integral(number),
        _ => false,
    }
}

fn name_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(number) if number.is_f64() => "a number with a fraction",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

impl Limits {
    /// Returns the other limits that a value of the right type breaks.
    fn breaches(&self, value: &Value) -> Vec<String> {
        let mut breaches = Vec::new();
        let format = self.format.as_deref();
        if let Some(format) = format.filter(|format| !format::fits_format(format, value)) {
            breaches.push(format!("it has to have the format {format}"));
        }
        match value {
            Value::String(text) => self.text(text, &mut breaches),
            Value::Number(number) => self.number(number, &mut breaches),
            Value::Array(items) => {
                let (least, most) = (self.min_items, self.max_items);
                let count = count_breach(least, most, items.len(), "element");
                breaches.extend(count.as_deref().map(of_it));
                if self.unique_items && !all_differ(items) {
                    breaches.push("no two of its elements may be equal".to_owned());
                }
            }
            Value::Object(members) => {
                let (least, most) = (self.min_properties, self.max_properties);
                let count = count_breach(least, most, members.len(), "key");
                breaches.extend(count.as_deref().map(of_it));
            }
            Value::Null | Value::Bool(_) => {}
        }
        breaches
    }

    fn text(&self, text: &str, breaches: &mut Vec<String>) {
        let (least, most) = (self.min_length, self.max_length);
        let count = count_breach(least, most, text.chars().count(), "character");
        breaches.extend(count.as_deref().map(of_it));
        let pattern = self.pattern.as_ref();
        if let Some(pattern) = pattern.filter(|pattern| !pattern.is_match(text)) {
            breaches.push(format!("it has to match the pattern {pattern}"));
        }
    }

    fn number(&self, value: &Number, breaches: &mut Vec<String>) {
        let least = self.minimum.as_ref();
        let least = least.map(|it| NumberLimit::least(it, self.exclusive_minimum));
        let most = self.maximum.as_ref();
        let most = most.map(|it| NumberLimit::most(it, self.exclusive_maximum));
        let limits = least.into_iter().chain(most);
        breaches.extend(limits.filter_map(|limit| Some(of_it(&limit.breach(value)?))));
        if let Some(step) = self.multiple_of
            && let Some(number) = value.as_f64()
            && ((number / step).round() * step - number).abs() > number.abs().max(1.0) * 1e-9
        {
            breaches.push(format!("it has to be a multiple of {step}"));
        }
    }
}

/// Formats a breach as a sentence that does not contain the value.
fn of_it(breach: &str) -> String {
    format!("it {breach}")
}

fn all_differ(items: &[Value]) -> bool {
    let mut seen = HashSet::new();
    items.iter().all(|item| seen.insert(item.to_string()))
}
