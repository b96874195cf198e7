//! Comparison of two values in a filter.
//!
//! Numbers compare by value, exactly, whether or not they have a fraction (kubectl refuses to compare 2 with 2.5).
//! Any other value compares only with its own kind.

use serde_json::Value;

use super::step::Operator;
use crate::number;

const NOT_COMPARABLE: &str = "invalid type for comparison";
const DIFFERENT_KINDS: &str = "incompatible types for comparison";

/// Returns true if `left operator right` holds.
pub(super) fn holds(operator: Operator, left: &Value, right: &Value) -> Result<bool, &'static str> {
    let is_equality = matches!(operator, Operator::Equal | Operator::NotEqual);
    let order = match (left, right) {
        (Value::Number(left), Value::Number(right)) => number::compare(left, right),
        (Value::String(left), Value::String(right)) => left.cmp(right),
        (Value::Bool(left), Value::Bool(right)) if is_equality => left.cmp(right),
        (Value::Bool(_), Value::Bool(_)) => return Err(NOT_COMPARABLE),
        _ if is_scalar(left) && is_scalar(right) => return Err(DIFFERENT_KINDS),
        _ => return Err(NOT_COMPARABLE),
    };
    Ok(match operator {
        Operator::Equal => order.is_eq(),
        Operator::NotEqual => order.is_ne(),
        Operator::Less => order.is_lt(),
        Operator::LessOrEqual => order.is_le(),
        Operator::Greater => order.is_gt(),
        Operator::GreaterOrEqual => order.is_ge(),
    })
}

fn is_scalar(value: &Value) -> bool {
    value.is_number() || value.is_string() || value.is_boolean()
}
