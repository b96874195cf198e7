//! The rule that judges a run, and the part of it that the run does not meet yet: for people who wait for it.

use cartouche_crds::{ConditionMatch, FieldOperator};
use cartouche_language::{
    bounds::Work,
    explained,
    object::{SUCCEEDED, conditions, text},
    path::shorten,
};
use serde::Serialize;
use serde_json::Value;

use super::rule::{CompiledRule, Field, Matches};
use crate::{
    kinds::{self, HealthFrom},
    verdict::{Health, Verdict},
};

/// Maximum number of a run's conditions that are named if one is missing.
const NAMED: usize = 8;
/// Maximum bytes of a displayed value.
const SHOWN: usize = 64;

/// The rule for a run that has neither succeeded nor failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Judged {
    /// The part of the `healthRule`, or the built-in rule.
    pub by: String,
    /// The parts that a succeeding run meets, and this one does not.
    pub missing: Vec<String>,
}

impl Judged {
    fn new(by: impl Into<String>, missing: Vec<String>) -> Self {
        Self {
            by: by.into(),
            missing,
        }
    }
}

/// Returns the rule for a run of that `apiVersion` and kind.
#[must_use]
pub fn choose_rule(
    rule: Option<&CompiledRule>,
    (api_version, kind): (&str, &str),
    run: &Value,
    has_sensitive_outputs: bool,
) -> Judged {
    match rule {
        Some(CompiledRule::AlwaysHealthy) => Judged::new("healthRule.alwaysHealthy", Vec::new()),
        Some(CompiledRule::SingleCondition { kind, .. }) => {
            let by = "healthRule.singleConditionType";
            Judged::new(by, vec![not_decided(run, kind)])
        }
        Some(CompiledRule::MultiMatch { healthy, .. }) => {
            let may_show = !kinds::holds_secrets(kind) && !has_sensitive_outputs;
            Judged::new("healthRule.multiMatch", healthy.missing(run, may_show))
        }
        None => built_in((api_version, kind), run),
    }
}

fn built_in((api_version, kind): (&str, &str), run: &Value) -> Judged {
    let by_condition = || {
        let by = format!("the condition {SUCCEEDED}, as the template has no healthRule");
        Judged::new(by, vec![not_decided(run, SUCCEEDED)])
    };
    if conditions(run, SUCCEEDED).next().is_some() {
        return by_condition();
    }
    let ends = |what: String| Judged::new(what, Vec::new());
    match kinds::find_kind(api_version, kind).map(|known| known.health) {
        None | Some(HealthFrom::SucceededCondition) => by_condition(),
        Some(HealthFrom::Conditions { .. }) => {
            ends(format!("the conditions that a {kind} ends with"))
        }
        Some(HealthFrom::Phase { .. }) => ends(format!("the phase of the {kind}")),
        Some(HealthFrom::Existence) => ends(format!("nothing: a {kind} succeeds once it is made")),
    }
}

/// Returns the message for a run that has ended by the rule of its kind, while the `healthRule` decides neither
/// success nor failure, which will hardly change. Returns `None` for a kind that is done once it exists.
pub(super) fn ended_undecided(
    rule: &CompiledRule,
    health: &Health,
    (api_version, kind): (&str, &str),
    run: &Value,
) -> Option<String> {
    let known = kinds::find_kind(api_version, kind)?;
    if health.verdict != Verdict::Unknown || known.health == HealthFrom::Existence {
        return None;
    }
    let missing = match rule {
        CompiledRule::AlwaysHealthy => return None,
        // The message of an existing condition is better.
        CompiledRule::SingleCondition { kind, .. } if conditions(run, kind).next().is_some() => {
            return None;
        }
        CompiledRule::SingleCondition { kind, .. } => vec![not_appeared(run, kind)],
        CompiledRule::MultiMatch { healthy, .. } => healthy.missing(run, false),
    };
    let ended = super::health(None, (api_version, kind), run).verdict;
    (ended != Verdict::Unknown).then(|| {
        format!(
            "the {kind} has ended, and by the healthRule of its template it has neither succeeded nor failed: {}; to do: correct \
             healthRule, or remove it: a {kind} is judged {}",
            missing.join(", "),
            known.judged_by()
        )
    })
}

/// Explains why one condition has not decided.
fn not_decided(run: &Value, kind: &str) -> String {
    let mut found = conditions(run, kind);
    let Some(condition) = found.next() else {
        return not_appeared(run, kind);
    };
    if found.next().is_some() {
        return format!("there is more than one condition {kind}");
    }
    format!(
        "condition {kind} is {}, neither True nor False",
        cut(text(condition, "status"))
    )
}

/// Reports a missing condition with the existing ones: the name may be misspelt.
fn not_appeared(run: &Value, kind: &str) -> String {
    let all = run.pointer("/status/conditions").and_then(Value::as_array);
    let types = all.into_iter().flatten().map(|one| text(one, "type"));
    let types: Vec<String> = types
        .filter(|one| !one.is_empty())
        .take(NAMED)
        .map(cut)
        .collect();
    let missing = format!("condition {kind} has not appeared");
    if types.is_empty() {
        missing
    } else {
        format!("{missing}, only {}", types.join(", "))
    }
}

fn cut(text: &str) -> String {
    text[..text.floor_char_boundary(SHOWN)].to_owned()
}

impl Matches {
    /// Returns the parts that must match, and do not.
    fn missing(&self, run: &Value, may_show: bool) -> Vec<String> {
        let mut work = Work::new();
        let of_conditions = self.conditions.iter().filter_map(|it| unmatched(run, it));
        let mut missing: Vec<String> = of_conditions.collect();
        for field in self.fields.iter().filter(|it| !it.matches(run, &mut work)) {
            missing.push(field.missing(run, may_show));
        }
        missing
    }
}

fn unmatched(run: &Value, wanted: &ConditionMatch) -> Option<String> {
    let ConditionMatch {
        condition_type,
        status,
    } = wanted;
    let found: Vec<String> = conditions(run, condition_type)
        .map(|condition| cut(text(condition, "status")))
        .collect();
    match found.first() {
        None => Some(not_appeared(run, condition_type)),
        Some(_) if found.contains(status) => None,
        Some(other) => Some(format!(
            "condition {condition_type} is {other}, not {status}"
        )),
    }
}

impl Field {
    /// Explains why the field does not match.
    fn missing(&self, run: &Value, may_show: bool) -> String {
        let path = shorten(self.key.raw());
        let found = self.key.evaluate(run, &mut Work::new()).ok();
        let Some(found) = found else {
            let dots = explained::unescaped_dots(self.key.raw(), None);
            let dots = dots.map_or_else(String::new, |dots| format!(": {dots}"));
            return format!("field {path} is not there{dots}");
        };
        let is = match found {
            Value::String(text) if may_show && text.len() <= SHOWN => format!("is {text:?}"),
            Value::Bool(_) | Value::Number(_) if may_show => format!("is {found}"),
            _ => "is there".to_owned(),
        };
        match self.operator {
            FieldOperator::In => format!("field {path} {is}, none of {}", self.values.join(", ")),
            FieldOperator::NotIn | FieldOperator::Exists | FieldOperator::DoesNotExist => {
                format!("field {path} {is}")
            }
        }
    }
}
