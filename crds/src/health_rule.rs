//! Rules for success and failure: the `healthRule` of Cartographer's templates, for any kind.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Rule that decides whether a run has succeeded or failed. Exactly one member is set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [{
    "rule": "(has(self.alwaysHealthy) ? 1 : 0) + (has(self.singleConditionType) ? 1 : 0) + (has(self.multiMatch) ? 1 : 0) == 1",
    "message": "exactly one of alwaysHealthy, singleConditionType and multiMatch must be set",
}]))]
pub struct HealthRule {
    /// The run succeeds as soon as it exists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub always_healthy: Option<AlwaysHealthy>,

    /// The type of the condition that decides: True means success, False means failure. Example: `Ready`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 316))]
    pub single_condition_type: Option<String>,

    /// Conditions and fields that decide.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub multi_match: Option<MultiMatch>,
}

/// An empty object: there is nothing to configure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AlwaysHealthy {}

/// Success and failure by conditions and fields. If both match, failure wins.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MultiMatch {
    /// Success: all of these must match.
    pub healthy: HealthMatchRule,
    /// Failure: any one of these must match.
    pub unhealthy: HealthMatchRule,
}

/// Conditions and fields to match.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [{
    "rule": "(has(self.matchConditions) && size(self.matchConditions) > 0) || (has(self.matchFields) && size(self.matchFields) > 0)",
    "message": "at least one of matchConditions and matchFields must be given",
}]))]
pub struct HealthMatchRule {
    /// Conditions in `.status.conditions` of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 32))]
    pub match_conditions: Option<Vec<ConditionMatch>>,
    /// Fields anywhere in the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 32))]
    pub match_fields: Option<Vec<FieldMatch>>,
}

/// A condition with a required status.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConditionMatch {
    /// The type of the condition.
    #[serde(rename = "type")]
    #[schemars(length(min = 1, max = 316))]
    pub condition_type: String,
    /// The required status: `True`, `False` or `Unknown`.
    #[schemars(length(min = 1, max = 64))]
    pub status: String,
}

/// A field with a required value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FieldMatch {
    /// The path of the field, for example `.status.phase`.
    #[schemars(length(min = 1, max = 1024))]
    pub key: String,
    /// The comparison.
    pub operator: FieldOperator,
    /// Values to compare with, for `In` and `NotIn`. A field that is not a string is compared as JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    pub values: Option<Vec<String>>,
    /// The path of a message in the run, shown if the field matches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    pub message_path: Option<String>,
}

/// Comparison of a field: `In`, `NotIn`, `Exists` or `DoesNotExist`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum FieldOperator {
    /// The value is one of `values`.
    In,
    /// The field exists, and its value is none of `values`.
    NotIn,
    /// The field exists.
    Exists,
    /// The field does not exist.
    DoesNotExist,
}
