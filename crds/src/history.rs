//! Earlier runs: in memory one entry each. In the status a run is an object while it has no result, and a line of
//! text once it has one.
//!
//! A field of the status costs the API server as much as four whole lines, at every write of the Runnable
//! (docs/internals/performance.md). The form of a line, which `docs/reference/api.md` documents for users:
//!
//! ```text
//! <number> <result> <apiVersion>/<kind>/<name> <uid|-> <started|-> <finished|-> <hash> [key=value …] : <message>
//! ```
//!
//! No value contains a blank: blanks, control characters and `%` are written as `%` and two hexadecimal digits.
//! The message is the engine's own. It comes last, on one line, and is never parsed.

mod unknown;

use std::{
    collections::BTreeMap,
    fmt::{self, Write},
    str::FromStr,
};

use k8s_openapi::{apimachinery::pkg::apis::meta::v1::Time, jiff::Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    line::{short_message, time},
    run::{MAX_SEQUENCE, RunResult, first_attempt, is_first_attempt},
    schema,
    stop::Stop,
    unknown_fields::{UnknownFields, open},
};

open!(HistoryEntry);

/// Placeholder of an absent value.
const NONE: &str = "-";
/// Separator before the message.
const MESSAGE: &str = ":";
const TAKEN_BY: &str = "takenBy";
const INTENT_AT: &str = "intentAt";
const RULES_HASH: &str = "rulesHash";
const RERUN_TOKEN: &str = "rerunToken";
const ATTEMPT: &str = "attempt";
const STOP: &str = "stop";

/// An earlier run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", remote = "HistoryEntry")]
#[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
pub struct HistoryEntry {
    /// The number of the run.
    #[schemars(range(min = 1, max = MAX_SEQUENCE))]
    pub sequence: i64,
    /// The hash of the document that was rendered for the run.
    pub input_hash: String,
    /// The `apiVersion` of the run's object.
    pub api_version: String,
    /// The kind of the run's object.
    pub kind: String,
    /// The name of the run's object.
    pub name: String,
    /// The uid of the run's object; absent while it is unknown whether the object was ever created.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
    /// The result of the run; absent while it runs. An entry with a result is stored in `history`.
    #[serde(skip)]
    pub result: Option<RunResult>,
    /// Creation time of the run's object. Until that is known, the time of the last attempt to create it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Time>,
    /// Time at which the run was intended, unless it is known to have been created by the time of its last
    /// attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intent_at: Option<Time>,
    /// The uid of a foreign object that held the run's name: the number was given up. If a run appears under that
    /// name later, it gives no outputs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub taken_by: Option<String>,
    /// Number of the attempt at the same document and re-run request; absent for the first.
    #[serde(default = "first_attempt", skip_serializing_if = "is_first_attempt")]
    #[schemars(range(min = 1), transform = schema::without_default)]
    pub attempt: i64,
    /// The re-run request that the run answered, if it was ever created; at most 256 bytes of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    pub rerun_token: Option<String>,
    /// The request to stop the run, with its reason; absent if there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<Stop>,
    /// Time at which the controller first saw the end of the run.
    #[serde(skip)]
    pub finished_at: Option<Time>,
    /// The last message of the run's engine, at most 256 bytes.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 256))]
    pub message: String,
    /// Hash of the template's `outputs`, `optionalOutputs`, `sensitiveOutputs` and `healthRule` when the run was
    /// made; absent once it has ended. If these have changed since, its `Succeeded` condition, or the built-in rule of its kind,
    /// decides how it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rules_hash: Option<String>,
    /// Sources of the run, as in `currentRun`; absent once it has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sources: Option<BTreeMap<String, String>>,
    /// Pairs `key=value` of the line whose keys this release does not know, as they were read.
    #[serde(skip)]
    pub unknown: Vec<String>,
    /// Fields of the object that this release does not know.
    #[serde(skip)]
    pub unknown_fields: UnknownFields,
}

/// Reason for which a line cannot be parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnreadableLine {
    /// The line has fewer than seven values.
    Short,
    /// The first value is not the number of a run.
    Number,
    /// The second value is none of `Succeeded`, `Failed` and `Lost`.
    Result,
    /// The third value is not `<apiVersion>/<kind>/<name>`.
    Object,
    /// A time cannot be parsed.
    Time,
    /// A value after the hash is not a pair `key=value`.
    Key,
    /// `attempt=` is not a number of at least 1.
    Attempt,
    /// `stop=` is not a reason with a time.
    Stop,
    /// A `%` is not followed by two hexadecimal digits of a character.
    Escape,
    /// A value contains a blank or a control character, which is never written unescaped.
    Blank,
}

impl fmt::Display for UnreadableLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Short => "it has fewer than seven values",
            Self::Number => "its first value is not the number of a run",
            Self::Result => "its second value is none of Succeeded, Failed and Lost",
            Self::Object => "its third value is not <apiVersion>/<kind>/<name>",
            Self::Time => "its fifth and sixth values, intentAt= too, are times or -",
            Self::Key => "the text after the hash is not key=value",
            Self::Attempt => "attempt= is not a number from 1 on",
            Self::Stop => "stop= is not <reason>@<time>",
            Self::Escape => "a % is not followed by two hexadecimal digits",
            Self::Blank => "a value has a blank or a control character, which would be written as % and two digits",
        })
    }
}

impl HistoryEntry {
    /// Formats the line. Returns `None` without a result: then the run is an object in `unfinishedRuns`.
    #[must_use]
    pub fn line(&self) -> Option<String> {
        let result = self.result?;
        let mut line = format!("{} {}", self.sequence, result.as_str());
        line.push(' ');
        escape(&mut line, &self.api_version, "%");
        for part in [&self.kind, &self.name] {
            line.push('/');
            escape(&mut line, part, "/%");
        }
        push_or_none(&mut line, self.uid.as_deref());
        push_or_none(&mut line, self.started_at.as_ref().map(time).as_deref());
        push_or_none(&mut line, self.finished_at.as_ref().map(time).as_deref());
        push(&mut line, &self.input_hash);
        let intent_at = self.intent_at.as_ref().map(time);
        let attempt = Some(self.attempt).filter(|attempt| !is_first_attempt(attempt));
        let attempt = attempt.map(|attempt| attempt.to_string());
        let stop = self.stop.as_ref().map(Stop::word);
        let keys = [
            (TAKEN_BY, &self.taken_by),
            (INTENT_AT, &intent_at),
            (RULES_HASH, &self.rules_hash),
            (RERUN_TOKEN, &self.rerun_token),
            (ATTEMPT, &attempt),
            (STOP, &stop),
        ];
        for (key, value) in keys {
            if let Some(value) = value {
                push(&mut line, &format!("{key}={value}"));
            }
        }
        for pair in &self.unknown {
            line.push(' ');
            line.push_str(pair);
        }
        if !self.message.is_empty() {
            let _ = write!(line, " {MESSAGE} {}", short_message(&self.message));
        }
        Some(line)
    }

    /// Parses one `key=value` pair of a line into its field.
    fn add(&mut self, pair: &str) -> Result<(), UnreadableLine> {
        let (key, value) = pair.split_once('=').ok_or(UnreadableLine::Key)?;
        match key {
            TAKEN_BY => self.taken_by = Some(unescaped(value)?),
            INTENT_AT => self.intent_at = Some(time_of(value)?),
            RULES_HASH => self.rules_hash = Some(unescaped(value)?),
            RERUN_TOKEN => self.rerun_token = Some(unescaped(value)?),
            ATTEMPT => self.attempt = attempt(value).ok_or(UnreadableLine::Attempt)?,
            STOP => {
                let stop = Stop::of_word(&unescaped(value)?);
                self.stop = Some(stop.ok_or(UnreadableLine::Stop)?);
            }
            _ => {
                unescaped(value)?;
                self.unknown.push(pair.to_owned());
            }
        }
        Ok(())
    }
}

impl FromStr for HistoryEntry {
    type Err = UnreadableLine;

    fn from_str(line: &str) -> Result<Self, Self::Err> {
        let (values, message) = parted(line);
        let mut values = values.into_iter();
        let mut next = || values.next().ok_or(UnreadableLine::Short);
        let (number, result, object) = (next()?, next()?, next()?);
        let (uid, started, finished, hash) = (next()?, next()?, next()?, next()?);
        let sequence = number.parse().map_err(|_| UnreadableLine::Number)?;
        if !(1..=MAX_SEQUENCE).contains(&sequence) {
            return Err(UnreadableLine::Number);
        }
        let (kind, name) = object.rsplit_once('/').ok_or(UnreadableLine::Object)?;
        let (api_version, kind) = kind.rsplit_once('/').ok_or(UnreadableLine::Object)?;
        let mut entry = Self {
            sequence,
            input_hash: unescaped(hash)?,
            api_version: unescaped(api_version)?,
            kind: unescaped(kind)?,
            name: unescaped(name)?,
            uid: unless_none(uid).map(unescaped).transpose()?,
            result: Some(RunResult::from_name(result).ok_or(UnreadableLine::Result)?),
            started_at: unless_none(started).map(time_of).transpose()?,
            intent_at: None,
            taken_by: None,
            finished_at: unless_none(finished).map(time_of).transpose()?,
            message: message.to_owned(),
            rules_hash: None,
            rerun_token: None,
            stop: None,
            attempt: first_attempt(),
            sources: None,
            unknown: Vec::new(),
            unknown_fields: UnknownFields::default(),
        };
        values.try_for_each(|pair| entry.add(pair))?;
        Ok(entry)
    }
}

fn attempt(value: &str) -> Option<i64> {
    value.parse().ok().filter(|attempt| *attempt >= 1)
}

/// Splits a line into its values and its message.
fn parted(line: &str) -> (Vec<&str>, &str) {
    let mut values = Vec::new();
    let mut rest = line;
    while !rest.is_empty() {
        let (value, after) = rest.split_once(' ').unwrap_or((rest, ""));
        // The first seven values may be anything.
        if value == MESSAGE && values.len() >= 7 {
            return (values, after);
        }
        values.push(value);
        rest = after;
    }
    (values, "")
}

fn push(line: &mut String, value: &str) {
    line.push(' ');
    // An empty value and a literal `-` must not be read as an absent value.
    if matches!(value, "" | NONE) {
        let _ = write!(line, "%{}", if value.is_empty() { "" } else { "2D" });
        return;
    }
    escape(line, value, "%");
}

fn push_or_none(line: &mut String, value: Option<&str>) {
    if let Some(value) = value {
        push(line, value);
    } else {
        line.push(' ');
        line.push_str(NONE);
    }
}

/// Appends a value with the reserved characters, blanks and control characters escaped.
fn escape(line: &mut String, value: &str, reserved: &str) {
    if is_plain(value) && !reserved.chars().any(|c| value.contains(c)) {
        line.push_str(value);
        return;
    }
    for c in value.chars() {
        if reserved.contains(c) || c.is_whitespace() || c.is_control() {
            let mut bytes = [0; 4];
            for byte in c.encode_utf8(&mut bytes).bytes() {
                let _ = write!(line, "%{byte:02X}");
            }
        } else {
            line.push(c);
        }
    }
}

/// Returns true if a value consists of visible ASCII characters only, as nearly all values do.
fn is_plain(value: &str) -> bool {
    value.bytes().all(|byte| byte.is_ascii_graphic())
}

fn unescaped(value: &str) -> Result<String, UnreadableLine> {
    if is_plain(value) && !value.contains('%') {
        return Ok(value.to_owned());
    }
    // Escaped again, it would be longer, and in the end longer than a line may be.
    if value.contains(|c: char| c.is_whitespace() || c.is_control()) {
        return Err(UnreadableLine::Blank);
    }
    if value == "%" {
        return Ok(String::new());
    }
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
        let (high, low) = (digit(rest.next()), digit(rest.next()));
        let byte = high.zip(low).map(|(high, low)| high * 16 + low);
        let byte = byte.and_then(|byte| u8::try_from(byte).ok());
        bytes.push(byte.ok_or(UnreadableLine::Escape)?);
    }
    String::from_utf8(bytes).map_err(|_| UnreadableLine::Escape)
}

fn unless_none(value: &str) -> Option<&str> {
    (value != NONE).then_some(value)
}

fn time_of(value: &str) -> Result<Time, UnreadableLine> {
    let time: Result<Timestamp, _> = value.parse();
    time.map(Time).map_err(|_| UnreadableLine::Time)
}

#[cfg(test)]
mod tests;
