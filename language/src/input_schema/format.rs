//! Patterns and formats of texts and numbers.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    sync::LazyLock,
};

use regex::{Regex, RegexBuilder};
use serde_json::Value;

use crate::bounds::{MAX_COMPILED_BYTES, MAX_PATTERN_BYTES};

/// Compiles a pattern. Fails with its problem.
pub(super) fn pattern(text: &str) -> Result<Regex, String> {
    if text.len() > MAX_PATTERN_BYTES {
        return Err(format!("it is longer than {MAX_PATTERN_BYTES} bytes"));
    }
    let built = RegexBuilder::new(text)
        .size_limit(MAX_COMPILED_BYTES)
        .build();
    built.map_err(|error| match error {
        regex::Error::CompiledTooBig(_) => {
            "it is too large once its repetitions are written out: make them smaller".to_owned()
        }
        // The first lines repeat the pattern.
        other => {
            let text = other.to_string();
            let reason = text.lines().last().unwrap_or_default();
            reason.trim_start_matches("error: ").to_owned()
        }
    })
}

/// Returns true if a text contains a match of a pattern, as `pattern` of `OpenAPI` does. Returns `None` if the
/// pattern cannot be compiled here, so that the result is unknown.
#[must_use]
pub fn matches_pattern(text: &str, pattern: &str) -> Option<bool> {
    Some(self::pattern(pattern).ok()?.is_match(text))
}

/// Returns true if a value has a format of `OpenAPI`. An unknown format accepts any value, as in Kubernetes.
#[must_use]
pub fn fits_format(format: &str, value: &Value) -> bool {
    match (format, value) {
        ("int32", Value::Number(number)) => number
            .as_f64()
            .is_some_and(|number| (f64::from(i32::MIN)..=f64::from(i32::MAX)).contains(&number)),
        ("int64", Value::Number(number)) => number.is_i64() || number.is_f64(),
        (format, Value::String(text)) => text_fits(format, text),
        _ => true,
    }
}

fn text_fits(format: &str, text: &str) -> bool {
    match format {
        "ipv4" => text.parse::<Ipv4Addr>().is_ok(),
        "ipv6" => text.parse::<Ipv6Addr>().is_ok(),
        "ip" => text.parse::<IpAddr>().is_ok(),
        "cidr" => is_cidr(text),
        _ => TEXTS
            .iter()
            .find(|(name, _)| *name == format)
            .is_none_or(|(_, shape)| shape.as_ref().is_none_or(|shape| shape.is_match(text))),
    }
}

fn is_cidr(text: &str) -> bool {
    text.split_once('/').is_some_and(|(address, bits)| {
        let most = match address.parse::<IpAddr>() {
            Ok(IpAddr::V4(_)) => 32,
            Ok(IpAddr::V6(_)) => 128,
            Err(_) => return false,
        };
        bits.parse::<u8>().is_ok_and(|bits| bits <= most)
    })
}

/// Formats that a regular expression recognises well enough: they catch a value in the wrong place, but do not
/// decide whether a day exists.
static TEXTS: LazyLock<Vec<(&str, Option<Regex>)>> = LazyLock::new(|| {
    let shapes = [
        ("date", r"^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])$"),
        (
            "date-time",
            r"^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])[Tt]([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)(\.\d+)?([Zz]|[+-]([01]\d|2[0-3]):[0-5]\d)$",
        ),
        (
            "duration",
            r"^[+-]?(0|(\d+(\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h))+$",
        ),
        ("email", r"^[^\s@]+@[^\s@]+$"),
        (
            "hostname",
            r"^[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*$",
        ),
        ("uri", r"^[A-Za-z][A-Za-z0-9+.-]*:[^\s]+$"),
        (
            "uuid",
            r"^[0-9A-Fa-f]{8}-?[0-9A-Fa-f]{4}-?[0-9A-Fa-f]{4}-?[0-9A-Fa-f]{4}-?[0-9A-Fa-f]{12}$",
        ),
    ];
    shapes
        .into_iter()
        .map(|(name, shape)| (name, Regex::new(shape).ok()))
        .collect()
});
