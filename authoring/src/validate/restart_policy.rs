//! The restart policy of Jobs and Pods: no schema lists its values, and the API server refuses all others.

use cartouche_engines::kinds;
use cartouche_language::suggestion;
use serde_json::Value;

use super::refused::Refused;
use crate::{finding::Rule, source::Segment};

const FIELD: &str = "restartPolicy";

/// Returns the part of a run that the API server would refuse.
pub(super) fn check(object: &Value) -> Option<Refused> {
    let text = |field: &str| object.get(field).and_then(Value::as_str);
    let kind = text("kind")?;
    let rule = kinds::known_fields(text("apiVersion")?, kind)?.restart_policy?;
    let pod = rule
        .pod_spec
        .iter()
        .try_fold(object, |value, key| value.get(key))?
        .as_object()?;
    let mut at: Vec<Segment> = rule
        .pod_spec
        .iter()
        .map(|key| Segment::Key((*key).to_owned()))
        .collect();
    let mut help = rule.advice.to_owned();
    let because = match pod.get(FIELD) {
        None | Some(Value::Null) if !rule.required => return None,
        // A misspelt one is reported as an unknown field.
        None if suggestion::nearest(FIELD, pod.keys().map(String::as_str)).is_some() => {
            return None;
        }
        None | Some(Value::Null) => {
            format!("a {kind} needs a {FIELD} in {}", rule.pod_spec.join("."))
        }
        Some(Value::String(policy)) if !rule.allowed.contains(&policy.as_str()) => {
            at.push(Segment::Key(FIELD.to_owned()));
            if let Some(meant) = suggestion::nearest(policy, rule.allowed.iter().copied()) {
                help = format!("did you mean '{meant}'? {help}");
            }
            format!("{} cannot be '{policy}'", crate::source::field_path(&at))
        }
        Some(_) => return None,
    };
    Some(Refused {
        at,
        rule: Rule::FieldType,
        because,
        help,
    })
}
