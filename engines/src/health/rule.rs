//! The `healthRule` of a template.

use cartouche_crds::{
    ConditionMatch, FieldMatch, FieldOperator, HealthMatchRule, HealthRule, MultiMatch,
};
use cartouche_language::{
    Diagnostic, DiagnosticKind,
    bounds::{self, Work},
    json_text,
    object::{conditions, text},
    path::{Path, shorten},
};
use serde_json::Value;

use super::{ALWAYS_HEALTHY, by_condition};
use crate::verdict::{Health, Verdict};

const MATCHED_CONDITION: &str = "MatchedCondition";
const MATCHED_FIELD: &str = "MatchedField";

/// A rule, with its paths parsed.
#[derive(Clone, Debug)]
pub enum CompiledRule {
    /// A run has succeeded once it exists.
    AlwaysHealthy,
    /// One condition says how a run fares.
    SingleCondition {
        /// Its type.
        kind: String,
        /// The reason of a run that it decides.
        reason: String,
    },
    /// Conditions and fields say it together.
    MultiMatch {
        /// Those of a run that has succeeded.
        healthy: Matches,
        /// Those of a run that has failed.
        unhealthy: Matches,
    },
}

/// Conditions and fields to check, with the required values.
#[derive(Clone, Debug)]
pub struct Matches {
    pub(super) conditions: Vec<ConditionMatch>,
    pub(super) fields: Vec<Field>,
}

#[derive(Clone, Debug)]
pub(super) struct Field {
    pub(super) key: Path,
    pub(super) operator: FieldOperator,
    pub(super) values: Vec<String>,
    message: Option<Path>,
}

impl CompiledRule {
    /// Compiles a rule; what is wrong is put with the `problems`.
    pub fn compile(rule: &HealthRule, problems: &mut Vec<Diagnostic>) -> Option<Self> {
        let HealthRule {
            always_healthy,
            single_condition_type,
            multi_match,
        } = rule;
        match (always_healthy, single_condition_type, multi_match) {
            (Some(_), None, None) => Some(Self::AlwaysHealthy),
            (None, Some(kind), None) => {
                if kind.is_empty() {
                    let field = "healthRule.singleConditionType";
                    problems.push(Diagnostic::in_spec(field, "it is empty"));
                }
                Some(Self::SingleCondition {
                    kind: kind.clone(),
                    reason: condition_reason(kind),
                })
            }
            (None, None, Some(MultiMatch { healthy, unhealthy })) => Some(Self::MultiMatch {
                healthy: Matches::compile(healthy, "healthRule.multiMatch.healthy", problems),
                unhealthy: Matches::compile(unhealthy, "healthRule.multiMatch.unhealthy", problems),
            }),
            _ => {
                let kind = DiagnosticKind::NotOneRule;
                problems.push(Diagnostic::in_spec("healthRule", kind));
                None
            }
        }
    }

    /// Returns the paths to the parts of a run that the rule shows, each with the field of the template.
    pub(crate) fn list_paths(&self) -> Vec<(String, Path)> {
        match self {
            Self::AlwaysHealthy => Vec::new(),
            Self::SingleCondition { kind, .. } => {
                let field = "healthRule.singleConditionType".to_owned();
                message_of(kind)
                    .map(|path| (field, path))
                    .into_iter()
                    .collect()
            }
            Self::MultiMatch { healthy, unhealthy } => {
                let sides = [("healthy", healthy), ("unhealthy", unhealthy)].into_iter();
                let shown = sides.flat_map(|(side, matches)| {
                    matches.list_paths(&format!("healthRule.multiMatch.{side}"))
                });
                shown.collect()
            }
        }
    }

    pub(super) fn judge(&self, run: &Value) -> Health {
        match self {
            Self::AlwaysHealthy => Health::new(Verdict::Succeeded, ALWAYS_HEALTHY, ""),
            Self::SingleCondition { kind, reason } => by_condition(run, kind, reason)
                .unwrap_or_else(|| {
                    Health::unknown(&format!("the run has no {kind} condition yet"))
                }),
            Self::MultiMatch { healthy, unhealthy } => {
                let mut work = Work::new();
                if let Some((reason, message)) = unhealthy.any(run, &mut work) {
                    Health::new(Verdict::Failed, reason, &message)
                } else if let Some((reason, message)) = healthy.all(run, &mut work) {
                    Health::new(Verdict::Succeeded, reason, &message)
                } else {
                    Health::unknown("")
                }
            }
        }
    }
}

/// Returns the path to the message of a condition.
fn message_of(condition: &str) -> Option<Path> {
    let of_type = format!(".status.conditions[?(@.type==\"{condition}\")].message");
    let of_any = || Path::parse(".status.conditions[*].message");
    Path::parse(&of_type).or_else(|_| of_any()).ok()
}

/// Returns `<type>Condition`, with the characters that a reason permits: no prefix, only letters, digits and `_`.
fn condition_reason(kind: &str) -> String {
    let name = kind.rsplit('/').next().unwrap_or_default();
    let kept: String = name
        .chars()
        .filter(|c| c.is_ascii_alphanumeric() || *c == '_')
        .skip_while(|c| !c.is_ascii_alphabetic())
        .collect();
    format!("{kept}Condition")
}

impl Matches {
    fn compile(rule: &HealthMatchRule, at: &str, problems: &mut Vec<Diagnostic>) -> Self {
        let conditions = rule.match_conditions.clone().unwrap_or_default();
        let declared = rule.match_fields.as_deref().unwrap_or_default();
        if conditions.is_empty() && declared.is_empty() {
            problems.push(Diagnostic::in_spec(at, DiagnosticKind::NothingMatched));
        }
        let fields = declared.iter().enumerate().filter_map(|(index, field)| {
            Field::compile(field, &format!("{at}.matchFields[{index}]"), problems)
        });
        Self {
            fields: fields.collect(),
            conditions,
        }
    }

    fn list_paths(&self, at: &str) -> Vec<(String, Path)> {
        let conditions = self.conditions.iter().enumerate();
        let conditions = conditions.filter_map(|(index, wanted)| {
            let path = message_of(&wanted.condition_type)?;
            Some((format!("{at}.matchConditions[{index}]"), path))
        });
        let fields = self.fields.iter().enumerate();
        let fields = fields.filter_map(|(index, field)| {
            let path = field.message.clone()?;
            Some((format!("{at}.matchFields[{index}].messagePath"), path))
        });
        conditions.chain(fields).collect()
    }

    /// Returns the reason and message of the first match.
    fn any(&self, run: &Value, work: &mut Work) -> Option<(&'static str, String)> {
        let mut conditions = self.conditions.iter();
        if let Some(message) = conditions.find_map(|wanted| matched(run, wanted)) {
            return Some((MATCHED_CONDITION, message));
        }
        let field = self.fields.iter().find(|field| field.matches(run, work))?;
        Some((MATCHED_FIELD, field.message(run, work)))
    }

    /// Returns the reason and message of the first match, if all match.
    fn all(&self, run: &Value, work: &mut Work) -> Option<(&'static str, String)> {
        let conditions = self.conditions.iter();
        let messages: Option<Vec<String>> = conditions.map(|wanted| matched(run, wanted)).collect();
        let messages = messages?;
        if !self.fields.iter().all(|field| field.matches(run, work)) {
            return None;
        }
        if let Some(message) = messages.into_iter().next() {
            return Some((MATCHED_CONDITION, message));
        }
        let field = self.fields.first()?;
        Some((MATCHED_FIELD, field.message(run, work)))
    }
}

/// Returns the message of the condition, if the run has it with the wanted status.
fn matched(run: &Value, wanted: &ConditionMatch) -> Option<String> {
    conditions(run, &wanted.condition_type)
        .find(|condition| text(condition, "status") == wanted.status)
        .map(|condition| text(condition, "message").to_owned())
}

impl Field {
    fn compile(field: &FieldMatch, at: &str, problems: &mut Vec<Diagnostic>) -> Option<Self> {
        let values = field.values.clone().unwrap_or_default();
        let needs_values = matches!(field.operator, FieldOperator::In | FieldOperator::NotIn);
        if needs_values && values.is_empty() {
            let kind = DiagnosticKind::NoValues(format!("{:?}", field.operator));
            problems.push(Diagnostic::in_spec(&format!("{at}.values"), kind));
        }
        let mut parse = |name: &str, raw: &str| match Path::parse(raw) {
            Ok(path) => Some(path),
            Err(error) => {
                let path = shorten(raw).into_owned();
                let kind = DiagnosticKind::Path { path, error };
                problems.push(Diagnostic::in_spec(&format!("{at}.{name}"), kind));
                None
            }
        };
        let key = parse("key", &field.key);
        let message = field
            .message_path
            .as_deref()
            .and_then(|raw| parse("messagePath", raw));
        Some(Self {
            key: key?,
            operator: field.operator,
            values,
            message,
        })
    }

    /// Returns true if the field matches. One that cannot be read does not exist.
    pub(super) fn matches(&self, run: &Value, work: &mut Work) -> bool {
        let found = self.key.evaluate(run, work).ok();
        let is_listed =
            |value: &Value| as_text(value).is_some_and(|text| self.values.contains(&text));
        match self.operator {
            FieldOperator::In => found.is_some_and(is_listed),
            FieldOperator::NotIn => found.is_some_and(|value| !is_listed(value)),
            FieldOperator::Exists => found.is_some(),
            FieldOperator::DoesNotExist => found.is_none(),
        }
    }

    fn message(&self, run: &Value, work: &mut Work) -> String {
        let path = self.message.as_ref();
        let found = path.and_then(|path| path.evaluate(run, work).ok());
        found.and_then(as_text).unwrap_or_default()
    }
}

/// Returns a text unchanged, any other value as JSON, or `None` if it is nested too deep.
fn as_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        value if bounds::is_shallow(value) => Some(json_text::json(value, json_text::float)),
        _ => None,
    }
}
