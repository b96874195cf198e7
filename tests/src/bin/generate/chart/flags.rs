//! The schema of the flags of the controller, as the parser of the command line takes them.

use std::{any::TypeId, io};

use cartouche_controller::flags::Flags;
use clap::{Arg, Command, CommandFactory};
use serde_json::{Map, Value, json};

use crate::flags::help;

/// Flags that the chart sets itself: the port is that of the Service, and the others come with rights.
const SET_BY_CHART: [&str; 3] = ["health-address", "identity", "namespace"];
/// Flags that end the controller.
const NO_SETTINGS: [&str; 2] = ["help", "version"];

/// Returns the schema of the map of flags, by their names without dashes.
pub fn schema() -> io::Result<Value> {
    let command = Flags::command();
    let mut properties = Map::new();
    for flag in command.get_arguments() {
        let name = flag.get_long().unwrap_or_default();
        if !SET_BY_CHART.contains(&name) && !NO_SETTINGS.contains(&name) {
            properties.insert(name.to_owned(), of_flag(&command, flag, name)?);
        }
    }
    Ok(json!({ "type": "object", "additionalProperties": false, "properties": properties }))
}

/// Returns the schema of the ways to act as a ServiceAccount.
pub fn identity() -> io::Result<Value> {
    let command = Flags::command();
    let mut flags = command.get_arguments();
    let flag = flags.find(|flag| flag.get_long() == Some("identity"));
    let flag = flag.ok_or_else(|| io::Error::other("there is no flag --identity"))?;
    Ok(json!({ "type": "string", "enum": names(flag) }))
}

fn of_flag(command: &Command, flag: &Arg, name: &str) -> io::Result<Value> {
    let mut schema = of_values(command, flag, name)?;
    schema["description"] = json!(help(flag));
    Ok(schema)
}

fn of_values(command: &Command, flag: &Arg, name: &str) -> io::Result<Value> {
    let kind = flag.get_value_parser().type_id();
    if kind == TypeId::of::<bool>() {
        return Ok(json!({ "type": "boolean" }));
    }
    if kind == TypeId::of::<String>() {
        return Ok(json!({ "type": "string", "minLength": 1 }));
    }
    let names = names(flag);
    if !names.is_empty() {
        return Ok(json!({ "type": "string", "enum": names }));
    }
    let default = flag.get_default_values().first();
    let default: Option<i64> = default.and_then(|it| it.to_str()?.parse().ok());
    let default = default.ok_or_else(|| io::Error::other(format!("--{name} is no number")))?;
    let accepts = |value: i64| {
        let arguments = ["controller".to_owned(), format!("--{name}={value}")];
        command.clone().try_get_matches_from(arguments).is_ok()
    };
    let (least, most) = (last(default, 0, accepts), last(default, i64::MAX, accepts));
    Ok(json!({ "type": "integer", "minimum": least, "maximum": most }))
}

fn names(flag: &Arg) -> Vec<String> {
    let values = flag.get_possible_values();
    values.iter().map(|it| it.get_name().to_owned()).collect()
}

/// Returns the last number that is accepted on the way from an accepted one to an end. The parser does not
/// show its bounds, but it applies them.
fn last(accepted: i64, end: i64, accepts: impl Fn(i64) -> bool) -> i64 {
    if accepts(end) {
        return end;
    }
    let (mut inside, mut outside) = (accepted, end);
    while inside.abs_diff(outside) > 1 {
        let middle = inside.midpoint(outside);
        if accepts(middle) {
            inside = middle;
        } else {
            outside = middle;
        }
    }
    inside
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_those_of_the_parser() {
        assert_eq!(last(16, 0, |it| (1..=1024).contains(&it)), 1);
        assert_eq!(last(16, i64::MAX, |it| (1..=1024).contains(&it)), 1024);
        assert_eq!(last(5, 0, |it| it >= 0), 0);
    }

    #[test]
    fn each_kind_of_flag_has_its_schema() {
        let schema = schema().unwrap();
        let of = |name: &str, field: &str| schema["properties"][name][field].clone();
        assert_eq!(of("concurrency", "minimum"), 1);
        assert_eq!(of("concurrency", "maximum"), 1024);
        assert_eq!(of("max-watched-objects", "minimum"), 0);
        assert_eq!(of("no-cross-namespace-refs", "type"), "boolean");
        assert_eq!(of("log-format", "enum"), json!(["text", "json"]));
        assert_eq!(of("log", "type"), "string");
        for name in SET_BY_CHART {
            assert!(schema["properties"][name].is_null(), "{name}");
        }
        assert_eq!(identity().unwrap()["enum"], json!(["impersonate", "token"]));
    }
}
