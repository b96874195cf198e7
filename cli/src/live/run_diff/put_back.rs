//! Tags that were filled in when a run was made, put back into place.

use cartouche_language::{OpenPlace, RunFacts, syntax::Tag};
use serde_json::Value;

use crate::live::object_diff::pairs::{at_mut, steps_like};

/// Puts the open tags of a document back into a run made from it or from a similar one. Values that no such tag can
/// have become stay.
pub(super) fn places(object: &mut Value, document: &Value, open: &[OpenPlace], own: &RunFacts<'_>) {
    for place in open {
        let steps = steps_like(&place.at, document, object);
        let Some(found) = steps.and_then(|steps| at_mut(object, &steps)) else {
            continue;
        };
        if let Some(json) = &place.json {
            let text = found.as_str().unwrap_or_default();
            if let Ok(mut inside) = serde_json::from_str(text) {
                places(&mut inside, &json.document, &json.open, own);
                *found = inside.to_string().into();
            }
        } else if let Some(written) = document.pointer(&place.pointer())
            && may_become(
                written.as_str().unwrap_or_default(),
                &place.tags,
                own,
                found,
            )
        {
            *found = written.clone();
        }
    }
}

/// Returns true if a text with these tags can become this value for a run. A tag of a profile may give any value.
fn may_become(written: &str, tags: &[Tag], own: &RunFacts<'_>, value: &Value) -> bool {
    if let [tag] = tags
        && tag.alone
    {
        return own.value(&tag.path, None).is_none_or(|it| it == *value);
    }
    let Some(text) = value.as_str() else {
        return false;
    };
    // The fixed texts between unknown values.
    let mut fixed = vec![String::new()];
    let mut push = |part: Option<&str>| match part {
        Some(part) => {
            if let Some(last) = fixed.last_mut() {
                last.push_str(part);
            }
        }
        None => fixed.push(String::new()),
    };
    let mut at = 0;
    for tag in tags {
        push(written.get(at..tag.span.start));
        match own.value(&tag.path, None) {
            Some(Value::String(text)) => push(Some(&text)),
            Some(other) => push(Some(&other.to_string())),
            None => push(None),
        }
        at = tag.span.end;
    }
    push(written.get(at..));
    is_of(text, &fixed)
}

/// Returns true if a text consists of these parts in this order, with anything between them.
pub(super) fn is_of(text: &str, fixed: &[String]) -> bool {
    let [first, between @ ..] = fixed else {
        return text.is_empty();
    };
    let Some((last, between)) = between.split_last() else {
        return text == first;
    };
    let rest = text.strip_prefix(first.as_str());
    let rest = rest.and_then(|rest| rest.strip_suffix(last.as_str()));
    let found = between
        .iter()
        .try_fold(rest.unwrap_or_default(), |rest, part| {
            Some(rest.split_once(part.as_str())?.1)
        });
    rest.is_some() && found.is_some()
}

/// Puts the tags back for the run's name and hash, wherever they occur, unless the other run has the same.
pub(super) fn own(object: &mut Value, own: &RunFacts<'_>, other: &RunFacts<'_>) {
    let facts = [
        ("$(run.name)$", own.name, other.name),
        ("$(run.inputHash)$", own.input_hash, other.input_hash),
    ];
    for (tag, text, of_other) in facts {
        if !text.is_empty() && !of_other.is_empty() && text != of_other {
            replace(object, text, tag);
        }
    }
}

fn replace(value: &mut Value, text: &str, tag: &str) {
    match value {
        Value::String(found) if found.contains(text) => *found = found.replace(text, tag),
        Value::Array(items) => {
            for item in items {
                replace(item, text, tag);
            }
        }
        Value::Object(fields) => {
            for (_, field) in fields {
                replace(field, text, tag);
            }
        }
        _ => {}
    }
}
