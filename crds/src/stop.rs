//! Stopping a running run: the method of a template, and the request.

use std::{borrow::Cow, fmt};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    line::{short_message, time},
    plain_json, schema,
    unknown_fields::{UnknownFields, open},
};

open!(Stop);

/// Maximum length of a reason, in bytes. Only another release writes a longer one.
const REASON_BYTES: usize = 64;

/// Method to stop a run of the template's kind so that it ends. Set one of `mergePatch` and `delete`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StopMethod {
    /// A JSON merge patch (RFC 7386) of the run's `spec`, for example `{spec: {paused: true}}`. Tags are not
    /// evaluated in it.
    #[serde(
        default,
        deserialize_with = "plain_json::option",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(schema_with = "schema::any_object")]
    pub merge_patch: Option<Value>,

    /// Deletes the run, for engines that cannot stop it otherwise. It then counts as failed, and is not made
    /// again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delete: Option<DeleteRun>,
}

/// Deletes the run, and with it the objects that it owns. The value is `{}`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeleteRun {}

/// A request to stop a run. The controller records it before it acts. It is not taken back while the run is at work,
/// except `Withdrawn`, which is removed once the run is found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(remote = "Stop")]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct Stop {
    /// The reason: `TimedOut`, `Replaced`, `Withdrawn` or `Cancelled`.
    pub reason: StopReason,
    /// Time at which the controller recorded the request, by the API server's clock.
    pub at: Time,
    /// Fields of the object that this release does not know.
    #[serde(skip)]
    pub unknown_fields: UnknownFields,
}

impl Stop {
    /// Creates a request to stop a run.
    #[must_use]
    pub fn new(reason: StopReason, at: Time) -> Self {
        Self {
            reason,
            at,
            unknown_fields: UnknownFields::default(),
        }
    }

    /// Formats the request for a line of the history, for example `TimedOut@2026-01-01T00:00:00Z`.
    #[must_use]
    pub fn word(&self) -> String {
        format!("{}@{}", self.reason, time(&self.at))
    }

    /// Parses the form of [`Self::word`]. Returns `None` if the text has another form.
    #[must_use]
    pub fn of_word(word: &str) -> Option<Self> {
        let (reason, at) = word.rsplit_once('@')?;
        Some(Self::new(reason.to_owned().into(), Time(at.parse().ok()?)))
    }
}

/// Formats `stopped by its timeout at 2026-01-01T00:00:00Z`.
impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.reason {
            StopReason::TimedOut => f.write_str("stopped by its timeout")?,
            StopReason::Replaced => f.write_str("stopped for a later run")?,
            StopReason::Withdrawn => f.write_str("given up for a later run")?,
            StopReason::Cancelled => f.write_str("stopped on request")?,
            StopReason::Other(reason) => write!(f, "stopped ({})", short_message(reason))?,
        }
        write!(f, " at {}", time(&self.at))
    }
}

/// Reason of a request to stop a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum StopReason {
    /// The run has exceeded its timeout.
    TimedOut,
    /// Another document is to run, and no run may begin beside this one.
    Replaced,
    /// As `Replaced`, for a run that is not known to exist: the controller sends no further create of it. If the
    /// run appears all the same, this record is removed, and the run is followed like any other.
    Withdrawn,
    /// A user has asked for it.
    Cancelled,
    /// A reason of another release.
    Other(String),
}

impl StopReason {
    /// Returns the reason as it is written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::TimedOut => "TimedOut",
            Self::Replaced => "Replaced",
            Self::Withdrawn => "Withdrawn",
            Self::Cancelled => "Cancelled",
            Self::Other(reason) => reason,
        }
    }
}

impl From<String> for StopReason {
    fn from(mut reason: String) -> Self {
        match reason.as_str() {
            "TimedOut" => Self::TimedOut,
            "Replaced" => Self::Replaced,
            "Withdrawn" => Self::Withdrawn,
            "Cancelled" => Self::Cancelled,
            _ => {
                reason.truncate(reason.floor_char_boundary(REASON_BYTES));
                Self::Other(reason)
            }
        }
    }
}

impl From<StopReason> for String {
    fn from(reason: StopReason) -> Self {
        reason.as_str().to_owned()
    }
}

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Accepts any word, because an older release must be able to write back the word of a newer one.
impl JsonSchema for StopReason {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "StopReason".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "maxLength": REASON_BYTES })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at() -> Time {
        Time("2026-01-01T00:00:00Z".parse().unwrap())
    }

    #[test]
    fn what_another_release_knows_is_written_back_as_it_was_read() {
        for reason in [
            "TimedOut",
            "Replaced",
            "Withdrawn",
            "Cancelled",
            "Later",
            "",
        ] {
            let text = format!(r#"{{"reason":"{reason}","at":"2026-01-01T00:00:00Z"}}"#);
            let stop: Stop = serde_json::from_str(&text).unwrap();
            assert_eq!(serde_json::to_string(&stop).unwrap(), text);
            assert_eq!(Stop::of_word(&stop.word()), Some(stop));
        }
    }

    #[test]
    fn a_word_that_is_no_reason_is_bounded() {
        let reason = StopReason::from("é".repeat(1_000));
        assert_eq!(reason.as_str().len(), REASON_BYTES);
    }

    #[test]
    fn a_word_without_a_time_is_none() {
        for word in ["", "TimedOut", "TimedOut@", "TimedOut@soon", "@"] {
            assert_eq!(Stop::of_word(word), None, "{word}");
        }
        let stop = Stop::new(StopReason::Other("a@b".to_owned()), at());
        assert_eq!(Stop::of_word(&stop.word()), Some(stop));
    }
}
