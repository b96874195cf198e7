//! The restart policy of Jobs and Pods: no schema says what it may be, and the API server refuses the rest.

use serde_json::Value;

use super::names::Refused;
use crate::{finding::Rule, nearest, source::Step};

const FIELD: &str = "restartPolicy";

/// What the API server would refuse of a run.
pub(super) fn check(object: &Value) -> Option<Refused> {
    let text = |field: &str| object.get(field).and_then(Value::as_str);
    let (path, allowed): (&[&str], &[&str]) = match (text("apiVersion")?, text("kind")?) {
        ("batch/v1", "Job") => (&["spec", "template", "spec"], &["OnFailure", "Never"]),
        ("v1", "Pod") => (&["spec"], &["Always", "OnFailure", "Never"]),
        _ => return None,
    };
    let pod = path
        .iter()
        .try_fold(object, |value, key| value.get(key))?
        .as_object()?;
    let mut at: Vec<Step> = path
        .iter()
        .map(|key| Step::Key((*key).to_owned()))
        .collect();
    let help = if allowed.len() == 2 {
        "it is OnFailure or Never; with Never every failed pod counts against backoffLimit"
    } else {
        "it is Always, OnFailure or Never; a run that is to end needs OnFailure or Never"
    };
    let because = match pod.get(FIELD) {
        // Of a Pod it is then Always.
        None | Some(Value::Null) if allowed.contains(&"Always") => return None,
        // A misspelt one is told as an unknown field.
        None if nearest::nearest(FIELD, pod.keys().map(String::as_str)).is_some() => return None,
        None | Some(Value::Null) => format!("a Job needs a {FIELD} in {}", path.join(".")),
        Some(Value::String(policy)) if !allowed.contains(&policy.as_str()) => {
            at.push(Step::Key(FIELD.to_owned()));
            format!("{} cannot be '{policy}'", crate::source::shown(&at))
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
