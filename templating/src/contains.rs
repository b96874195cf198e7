//! Comparison of an existing object with a rendered document.
//!
//! Runs made by Cartographer have no hash, so they are recognised by content. The API server adds defaults to an
//! object, drops nulls and empty lists and maps, and writes `1.0` as `1`. So an object is recognised if it
//! contains everything that was rendered.

use cartouche_engines::kinds::{self, Admission};
use cartouche_language::{bounds, number::integer, object::text, own_metadata::is_own_label};
use serde_json::Value;

use crate::rendered::Rendered;

/// Returns true if a live object contains the rendered document. The comparison ignores its name, its namespace,
/// its owner, labels and annotations that Cartouche sets, values that are filled in when a run is made, and the
/// fields that a queue writes. It is false for references to secret values: no object contains the values that
/// they had when it was made.
#[must_use]
pub fn contains(live: &Value, rendered: &Rendered) -> bool {
    if rendered.has_secrets() {
        return false;
    }
    if rendered.open().is_empty() {
        return contains_document(live, rendered.document());
    }
    let mut document = rendered.document().clone();
    for place in rendered.open() {
        if let Some(open) = document.pointer_mut(&place.pointer()) {
            *open = Value::Null;
        }
    }
    contains_document(live, &document)
}

/// Returns the same as [`contains`] for a document that was not rendered here, such as the API server's answer to
/// a dry run. Its status is ignored, too.
#[must_use]
pub fn contains_document(live: &Value, document: &Value) -> bool {
    let Some(admission) = kinds::admission(live, document) else {
        return holds_document(live, document);
    };
    let mut document = document.clone();
    take_admitted(live, &mut document, &admission) && holds_document(live, &document)
}

/// Returns true if the fields that a queue changes on admission are as rendered, or follow from that. Removes them
/// from the document.
fn take_admitted(live: &Value, document: &mut Value, admission: &Admission) -> bool {
    let mut take = |place: &str| {
        let expected = document.pointer_mut(place).map(Value::take);
        expected.filter(bounds::is_shallow).unwrap_or_default()
    };
    let lists = admission
        .lists
        .iter()
        .all(|list| begins_with(live.pointer(list), &take(list)));
    let least = admission.least;
    let mut counts = admission.counts.iter();
    lists && counts.all(|count| is_at_most(live.pointer(count), &take(count), least))
}

/// Returns true if a list begins with the expected items: a queue adds items at the end.
fn begins_with(found: Option<&Value>, expected: &Value) -> bool {
    match (found, expected) {
        (Some(Value::Array(found)), Value::Array(expected)) => {
            let mut pairs = found.iter().zip(expected);
            found.len() >= expected.len() && pairs.all(|(found, it)| holds(Some(found), it))
        }
        _ => holds(found, expected),
    }
}

/// Returns true if a number is at most the expected one: a queue may admit fewer pods, but never more.
fn is_at_most(found: Option<&Value>, expected: &Value, least: i128) -> bool {
    let number = |value: &Value| value.as_number().and_then(integer);
    match (found.and_then(number), number(expected)) {
        (Some(found), Some(expected)) => (least..=expected).contains(&found) || found == expected,
        _ => holds(found, expected),
    }
}

fn holds_document(live: &Value, document: &Value) -> bool {
    let queue = kinds::queue_of(text(document, "apiVersion"), text(document, "kind"));
    let queues = queue.and_then(|queue| queue.owned);
    let (Some(live), Some(document)) = (live.as_object(), document.as_object()) else {
        return false;
    };
    document.iter().all(|(key, expected)| {
        bounds::is_shallow(expected) && part((key, queues), live.get(key), expected)
    })
}

/// Compares a part of an object. `queues` is the field of its `spec` that queues write.
fn part((key, queues): (&str, Option<&str>), found: Option<&Value>, expected: &Value) -> bool {
    match key {
        "spec" => match (queues, expected.as_object()) {
            (Some(queues), Some(fields)) if fields.contains_key(queues) => {
                let mut rest = fields.clone();
                rest.remove(queues);
                holds(found, &Value::Object(rest))
            }
            _ => holds(found, expected),
        },
        "status" => true,
        // The items of a list need not have these fields.
        "apiVersion" | "kind" => found.is_none_or(|found| found == expected),
        "metadata" => ["labels", "annotations"].into_iter().all(|field| {
            let found = found.and_then(|metadata| metadata.get(field));
            contains_texts(found, expected.get(field))
        }),
        _ => holds(found, expected),
    }
}

/// Compares labels or annotations, except those that Cartouche sets.
fn contains_texts(found: Option<&Value>, expected: Option<&Value>) -> bool {
    let expected = expected.and_then(Value::as_object);
    expected.into_iter().flatten().all(|(key, expected)| {
        is_own_label(key) || holds(found.and_then(|found| found.get(key)), expected)
    })
}

fn holds(found: Option<&Value>, expected: &Value) -> bool {
    let Some(found) = found.filter(|found| !found.is_null()) else {
        return may_be_left_out(expected);
    };
    match (found, expected) {
        (_, Value::Null) => true,
        (Value::Object(found), Value::Object(expected)) => expected
            .iter()
            .all(|(key, expected)| holds(found.get(key), expected)),
        (Value::Array(found), Value::Array(expected)) => {
            found.len() == expected.len()
                && found
                    .iter()
                    .zip(expected)
                    .all(|(found, expected)| holds(Some(found), expected))
        }
        (Value::Number(found), Value::Number(expected)) => {
            found == expected
                || integer(found).is_some_and(|number| Some(number) == integer(expected))
        }
        _ => found == expected,
    }
}

/// Returns true if the API server may drop a value: nulls, empty lists and maps, and maps of nothing else.
#[must_use]
pub fn may_be_left_out(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(map) => map.values().all(may_be_left_out),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
