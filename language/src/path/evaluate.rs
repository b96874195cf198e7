//! Evaluation of steps in a document.

use serde_json::Value;

use super::{
    PathError, SearchError, compare,
    error::NULL,
    step::{Filter, PathNode, Slice},
};
use crate::bounds::Work;

/// Returns the value of an absent field, if it has one; called with all keys down to the field.
pub(super) type Absent = fn(&[&str]) -> Option<&'static Value>;

/// Number of characters compared for the cost of one visit.
const TEXT_A_VISIT: usize = 64;

/// Results of some steps: nearly always one value.
pub(super) enum Values<'a> {
    One([&'a Value; 1]),
    Many(Vec<&'a Value>),
}

impl<'a> Values<'a> {
    pub(super) fn as_slice(&self) -> &[&'a Value] {
        match self {
            Self::One(value) => value,
            Self::Many(values) => values,
        }
    }
}

/// Follows keys and single indexes without an allocation, and hands over at the first other step.
pub(super) fn evaluate<'a>(
    nodes: &'a [PathNode],
    root: &'a Value,
    absent: Absent,
    work: &mut Work,
) -> Result<Values<'a>, PathError> {
    if let [PathNode::Literal(literal)] = nodes {
        return Ok(Values::One([literal]));
    }
    let mut value = root;
    let mut typed = true;
    for (index, node) in nodes.iter().enumerate() {
        let next = match node {
            PathNode::Key(key) => {
                work.spend(1)?;
                let present = value.get(key);
                let stand_in = || {
                    let above: Option<Vec<&str>> =
                        nodes.get(..=index)?.iter().map(PathNode::key).collect();
                    absent(&above?)
                };
                match present {
                    None | Some(Value::Null) if typed && value.is_object() => {
                        stand_in().or(present)
                    }
                    _ => present,
                }
            }
            PathNode::Slice(slice) if slice.single => {
                work.spend(1)?;
                typed = false;
                element(slice, value)?
            }
            _ => {
                let rest = nodes.get(index..).unwrap_or_default();
                return follow(rest, vec![value], work).map(Values::Many);
            }
        };
        let Some(next) = next else {
            // The next step may still be a text, which stands for itself whatever precedes it.
            let rest = nodes.get(index + 1..).unwrap_or_default();
            return follow(rest, Vec::new(), work).map(Values::Many);
        };
        value = next;
    }
    Ok(Values::One([value]))
}

/// Follows any steps from any number of values.
fn follow<'a>(
    nodes: &'a [PathNode],
    mut values: Vec<&'a Value>,
    work: &mut Work,
) -> Result<Vec<&'a Value>, PathError> {
    for node in nodes {
        values = step(node, &values, work)?;
    }
    Ok(values)
}

fn step<'a>(
    node: &'a PathNode,
    values: &[&'a Value],
    work: &mut Work,
) -> Result<Vec<&'a Value>, PathError> {
    work.spend(1 + values.len())?;
    match node {
        PathNode::Key(key) => Ok(values.iter().filter_map(|value| value.get(key)).collect()),
        PathNode::Slice(slice) => elements(slice, values, work),
        PathNode::Wildcard => children(values, work),
        PathNode::Descend => descend(values, work),
        PathNode::Union(members) => union(members, values, work),
        PathNode::Filter(filter) => keep(filter, values, work),
        // As in kubectl: a text is one result, a number or bool one for each value.
        PathNode::Literal(text @ Value::String(_)) => Ok(vec![text]),
        PathNode::Literal(literal) => Ok(vec![literal; values.len()]),
    }
}

fn children<'a>(values: &[&'a Value], work: &mut Work) -> Result<Vec<&'a Value>, PathError> {
    let mut found = Vec::new();
    for value in values {
        work.spend(child_count(value))?;
        push_children(&mut found, value);
    }
    Ok(found)
}

fn child_count(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.len(),
        Value::Object(map) => map.len(),
        _ => 0,
    }
}

fn push_children<'a>(found: &mut Vec<&'a Value>, value: &'a Value) {
    match value {
        Value::Array(items) => found.extend(items),
        Value::Object(map) => found.extend(map.values()),
        _ => {}
    }
}

/// Returns the values and everything below them that has children, each before its descendants.
fn descend<'a>(values: &[&'a Value], work: &mut Work) -> Result<Vec<&'a Value>, PathError> {
    let mut found = Vec::new();
    let mut waiting: Vec<&Value> = values.iter().rev().copied().collect();
    while let Some(value) = waiting.pop() {
        let count = child_count(value);
        work.spend(1 + count)?;
        if count > 0 {
            found.push(value);
            let first = waiting.len();
            push_children(&mut waiting, value);
            if let Some(children) = waiting.get_mut(first..) {
                children.reverse();
            }
        }
    }
    Ok(found)
}

fn union<'a>(
    members: &'a [Vec<PathNode>],
    values: &[&'a Value],
    work: &mut Work,
) -> Result<Vec<&'a Value>, PathError> {
    let mut found = Vec::new();
    for member in members {
        work.spend(values.len())?;
        found.extend(follow(member, values.to_vec(), work)?);
    }
    Ok(found)
}

/// Returns the element of a single index; `None` below a null.
fn element<'a>(slice: &Slice, value: &'a Value) -> Result<Option<&'a Value>, PathError> {
    match value {
        Value::Null => Ok(None),
        Value::Array(items) => {
            Ok(range(slice, items.len())?.and_then(|(start, _)| items.get(start)))
        }
        other => Err(not_an_array(other, false)),
    }
}

fn elements<'a>(
    slice: &Slice,
    values: &[&'a Value],
    work: &mut Work,
) -> Result<Vec<&'a Value>, PathError> {
    let mut found = Vec::new();
    for value in values {
        let items = match value {
            Value::Null => continue,
            Value::Array(items) => items,
            other => return Err(not_an_array(other, false)),
        };
        let Some((start, end)) = range(slice, items.len())? else {
            // As in kubectl, an empty range also ends the search in the other values.
            return Ok(found);
        };
        let step = match slice.step {
            None => 1,
            Some(step) => usize::try_from(step)
                .ok()
                .filter(|step| *step > 0)
                .ok_or(SearchError::Step)?,
        };
        let range = items.get(start..end).unwrap_or_default();
        work.spend(range.len())?;
        found.extend(range.iter().step_by(step));
    }
    Ok(found)
}

/// Returns the start and the end of a slice in an array of that length, or `None` if it selects no element.
fn range(slice: &Slice, length: usize) -> Result<Option<(usize, usize)>, PathError> {
    let Ok(length) = i64::try_from(length) else {
        return Ok(None);
    };
    let from_end = |position: i64| {
        if position < 0 {
            position.wrapping_add(length)
        } else {
            position
        }
    };
    let start = from_end(slice.start.unwrap_or(0));
    let end = match slice.end {
        None => length,
        // [-1] means the last element: its end, 0, is the end of the array.
        Some(0) if slice.single => length,
        Some(end) => from_end(end),
    };
    if start == end {
        return Ok(None);
    }
    let outside = |index: i64| PathError::from(SearchError::OutOfBounds { index, length });
    if start >= length || start < 0 {
        return Err(outside(start));
    }
    if end > length || end < 0 {
        return Err(outside(end.wrapping_sub(1)));
    }
    if start > end {
        return Err(SearchError::Backwards { start, end }.into());
    }
    Ok(usize::try_from(start).ok().zip(usize::try_from(end).ok()))
}

fn keep<'a>(
    filter: &'a Filter,
    values: &[&'a Value],
    work: &mut Work,
) -> Result<Vec<&'a Value>, PathError> {
    let mut found = Vec::new();
    for value in values {
        let Value::Array(items) = value else {
            return Err(not_an_array(value, true));
        };
        for item in items {
            work.spend(1)?;
            if passes(filter, item, work)? {
                found.push(item);
            }
        }
    }
    Ok(found)
}

fn passes<'a>(filter: &'a Filter, item: &'a Value, work: &mut Work) -> Result<bool, PathError> {
    let left = evaluate(&filter.left, item, |_| None, work);
    let Some((operator, right)) = &filter.comparison else {
        return match left {
            Ok(found) => Ok(!found.as_slice().is_empty()),
            // As in kubectl, a path that fails counts as one that exists.
            Err(PathError::Find(_)) => Ok(true),
            Err(other) => Err(other),
        };
    };
    let Some(left) = one(&left?)? else {
        return Ok(false);
    };
    let Some(right) = one(&evaluate(right, item, |_| None, work)?)? else {
        return Ok(false);
    };
    if let (Value::String(left), Value::String(right)) = (left, right) {
        work.spend(left.len().min(right.len()) / TEXT_A_VISIT)?;
    }
    compare::holds(*operator, left, right).map_err(|reason| SearchError::Comparison(reason).into())
}

fn one<'a>(found: &Values<'a>) -> Result<Option<&'a Value>, PathError> {
    match found.as_slice() {
        [] => Ok(None),
        [value] => Ok(Some(value)),
        _ => Err(SearchError::Several.into()),
    }
}

fn not_an_array(value: &Value, filtered: bool) -> PathError {
    let kind = match value {
        Value::Null => NULL,
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    SearchError::NotAnArray { kind, filtered }.into()
}
