//! Elements of two lists that are one and the same, and their positions.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::source::Segment;

/// The fields that elements of lists are told apart by.
const NAMES: [&str; 2] = ["mountPath", "name"];

/// The positions in both lists of what is compared with each other. Elements with names are paired by them, unless they stand in
/// another order.
pub(super) fn of(left: &[Value], right: &[Value]) -> Vec<(Option<usize>, Option<usize>)> {
    let by_name = NAMES.iter().find_map(|name| by_name(left, right, name));
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
    let known: BTreeSet<&str> = olds.iter().copied().collect();
    let wanted: BTreeSet<&str> = news.iter().copied().collect();
    let kept = olds.iter().filter(|name| wanted.contains(*name));
    if !kept.eq(news.iter().filter(|name| known.contains(*name))) {
        return None;
    }
    let gone = olds.iter().enumerate();
    let gone = gone.filter(|(_, name)| !wanted.contains(*name));
    let gone = gone.map(|(index, _)| (Some(index), None));
    let present = news.iter().enumerate().map(|(index, name)| {
        let before = olds.iter().position(|it| it == name);
        (before, Some(index))
    });
    Some(gone.chain(present).collect())
}

/// The names of all elements; nothing if one has none, or two have the same.
fn names<'a>(list: &'a [Value], field: &str) -> Option<Vec<&'a str>> {
    let names: Option<Vec<&str>> = list.iter().map(|it| it.get(field)?.as_str()).collect();
    let names = names?;
    let different: BTreeSet<&str> = names.iter().copied().collect();
    (different.len() == names.len()).then_some(names)
}

/// The value that these steps lead to.
pub(crate) fn at_mut<'a>(value: &'a mut Value, steps: &[Segment]) -> Option<&'a mut Value> {
    steps.iter().try_fold(value, |value, step| match step {
        Segment::Key(key) => value.get_mut(key),
        Segment::Index(index) => value.get_mut(index),
    })
}

/// The steps in an object to what these lead to in another one that is like it: elements with names may stand elsewhere. They end
/// where the other one has nothing.
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
    let found = NAMES.iter().find_map(|field| {
        let name = like?.get(field)?.as_str()?;
        let mut all = list.as_array()?.iter();
        all.position(|it| it.get(field).and_then(Value::as_str) == Some(name))
    });
    found.unwrap_or(index)
}
