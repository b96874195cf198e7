//! Elements of two lists that correspond, by their positions.

use std::{borrow::Cow, collections::BTreeSet};

use cartouche_authoring::source::Segment;
use cartouche_engines::merge_keys;
use serde_json::Value;

/// Returns the positions in both lists that are compared. Elements with a merge key of pods are paired by it, unless
/// their order differs.
pub(super) fn match_up(left: &[Value], right: &[Value]) -> Vec<(Option<usize>, Option<usize>)> {
    let by_name = merge_keys().find_map(|key| by_name(left, right, key));
    by_name.unwrap_or_else(|| {
        let position = |index: usize, list: &[Value]| Some(index).filter(|it| *it < list.len());
        let all = 0..left.len().max(right.len());
        all.map(|index| (position(index, left), position(index, right)))
            .collect()
    })
}

fn by_name(
    left: &[Value],
    right: &[Value],
    field: &str,
) -> Option<Vec<(Option<usize>, Option<usize>)>> {
    let (olds, news) = (names(left, field)?, names(right, field)?);
    let kept = olds.iter().filter(|name| news.contains(name));
    if !kept.eq(news.iter().filter(|name| olds.contains(name))) {
        return None;
    }
    let gone = olds.iter().enumerate();
    let gone = gone.filter(|(_, name)| !news.contains(name));
    let gone = gone.map(|(index, _)| (Some(index), None));
    let present = news.iter().enumerate().map(|(index, name)| {
        let before = olds.iter().position(|it| it == name);
        (before, Some(index))
    });
    Some(gone.chain(present).collect())
}

/// Returns the names of all elements, or `None` if one has no name or two have the same.
fn names<'a>(list: &'a [Value], field: &str) -> Option<Vec<Cow<'a, str>>> {
    let names: Option<Vec<_>> = list.iter().map(|it| name(it, field)).collect();
    let names = names?;
    let different: BTreeSet<&str> = names.iter().map(AsRef::as_ref).collect();
    (different.len() == names.len()).then_some(names)
}

/// Returns the value of this field of an element, if it is a text or a number.
fn name<'a>(element: &'a Value, field: &str) -> Option<Cow<'a, str>> {
    match element.get(field)? {
        Value::String(text) => Some(text.into()),
        Value::Number(number) => Some(number.to_string().into()),
        _ => None,
    }
}

/// Returns the value that these steps lead to.
pub(crate) fn at_mut<'a>(value: &'a mut Value, steps: &[Segment]) -> Option<&'a mut Value> {
    steps.iter().try_fold(value, |value, step| match step {
        Segment::Key(key) => value.get_mut(key),
        Segment::Index(index) => value.get_mut(index),
    })
}

/// Translates steps in `like` into steps in the similar `object`, where named elements may have other positions.
/// Returns `None` if `object` has nothing there.
pub(crate) fn steps_like(steps: &[Segment], like: &Value, object: &Value) -> Option<Vec<Segment>> {
    let (mut like, mut object) = (Some(like), object);
    let mut found = Vec::new();
    for step in steps {
        let step = match step {
            Segment::Key(key) => {
                like = like.and_then(|it| it.get(key));
                Segment::Key(key.clone())
            }
            Segment::Index(index) => {
                like = like.and_then(|it| it.get(index));
                Segment::Index(position_like(*index, like, object))
            }
        };
        object = match &step {
            Segment::Key(key) => object.get(key)?,
            Segment::Index(index) => object.get(index)?,
        };
        found.push(step);
    }
    Some(found)
}

fn position_like(index: usize, like: Option<&Value>, list: &Value) -> usize {
    let found = merge_keys().find_map(|key| {
        let wanted = name(like?, key)?;
        let mut all = list.as_array()?.iter();
        all.position(|it| name(it, key).as_ref() == Some(&wanted))
    });
    found.unwrap_or(index)
}
